"""The sieve: rounds of bounded contributions over the itemsets that are still undecided."""
