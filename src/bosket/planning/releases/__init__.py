"""What a curator's release will say, foreseen by rehearsals on records that are public or simulated."""
