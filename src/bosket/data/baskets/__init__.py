"""Baskets: records that are sets of items."""
