"""Tables: records with one value of each attribute."""
