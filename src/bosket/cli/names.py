"""The subcommands by name, with a sentence each: enough for ``bosket --help``, which loads none of them."""

COMMANDS = {
    "demo": "Show the whole walk on synthetic baskets: randomize, mine, and compare with the truth.",
    "generate": "Generate synthetic baskets (IBM Quest, Agrawal and Srikant 1994).",
    "plan": "Say which mechanism fits a promise, and what it will see, before anybody is asked.",
    "ask": "Make a design of questions, one of which each person answers, and show what it will see.",
    "randomize": "Randomize raw records into reports, and say what privacy that gives.",
    "submit": "Randomize raw records here, and send their reports to a collector.",
    "mine": "Find the frequent itemsets of reports, or of raw records exactly.",
    "rules": "Find association rules in reports, or in raw records exactly.",
    "audit": "Test whether a client follows its plan, whether reports can be honest, and what they give away.",
    "budget": "Make budgets of epsilon for private releases, and show what is left.",
    "curate": "Publish frequent itemsets of raw baskets under differential privacy, from a budget.",
    "serve": "Collect reports over HTTP, and show what they say as they arrive.",
    "research": "Run the experiments of papers again (reproduce), or measure against peers (bench).",
    "reproduce": "Run the experiments of a paper again, beside its figures.",
    "bench": "Measure bosket against its peers and against this machine's limits.",
}
