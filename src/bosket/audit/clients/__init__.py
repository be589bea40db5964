"""Does a client draw what its plan says?  Its reports against the law, against another client, and against each other."""
