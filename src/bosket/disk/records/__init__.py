"""Raw baskets in files that need not fit in memory."""
