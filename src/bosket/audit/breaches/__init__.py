"""Breaches counted in reports and the records that they were made from."""
