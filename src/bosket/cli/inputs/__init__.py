"""What commands read: options, files, plans, raw records."""
