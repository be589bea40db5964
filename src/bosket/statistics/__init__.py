"""Estimates, ratios, intervals, exact tests and multiple testing."""
