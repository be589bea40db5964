"""Dense records: what they lack is measured, and all that was measured is read through one fitted population."""
