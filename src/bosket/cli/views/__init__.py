"""What commands show: the terminal, tables, results, drawings."""
