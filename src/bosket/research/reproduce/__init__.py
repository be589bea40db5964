"""The papers' tables, run again."""
