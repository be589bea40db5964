"""The one source of chance: secure unless seeded, with exact probabilities."""

from bosket.randomness.streams import (
    Keyed,
    Randomness,
    Secure,
    Seeded,
    Stream,
    Thresholds,
    check_randomness,
    secret_bytes,
)

__all__ = ["Keyed", "Randomness", "Secure", "Seeded", "Stream", "Thresholds", "check_randomness", "secret_bytes"]
