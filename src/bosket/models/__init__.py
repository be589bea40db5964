"""Distributions fitted to what people reported: one law of all attributes, from answers about a few of them each."""
