"""Mechanisms from outside the package, as somebody else would write them."""
