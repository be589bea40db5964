"""Readers and writers of baskets and tables: text, CSV, Parquet and frames."""
