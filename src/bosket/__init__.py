"""bosket: frequent itemsets and association rules from data that nobody should have to hand over."""

from bosket._version import __version__

__all__ = ["__version__"]
