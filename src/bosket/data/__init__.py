"""Records: baskets of items, their domain, readers and writers, the Quest generator."""
