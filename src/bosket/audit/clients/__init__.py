"""Does a client draw what its plan says?  Its reports against the law, another client, and each other."""
