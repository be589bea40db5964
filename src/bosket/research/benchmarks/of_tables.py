"""Categorical tables: perturbing and mining a table of CENSUS's shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bosket.counting import Bitmaps
from bosket.data import Attribute, Table, TableDomain
from bosket.evidence import LinearEvidence
from bosket.mechanisms import GammaDiagonal, IdentityChannel
from bosket.mining import Search, mine_evidence
from bosket.plan import Plan
from bosket.randomness import Secure, Seeded
from bosket.research.benchmarks.bars import Bar, medians

N = 2_500_000
SIZES = (5, 2, 2, 4, 5, 5)
SECONDS = 1.5


def tables() -> list[Bar]:
    """DET-GD on 2.5 million records; then mining every legal itemset of up to four items, perturbed and exact."""
    domain = TableDomain([Attribute(f"a{j}", range(size)) for j, size in enumerate(SIZES)])
    generator = np.random.default_rng(5)
    codes = np.stack([np.minimum(generator.geometric(0.6, N) - 1, size - 1) for size in SIZES], axis=1)
    table = Table.from_codes(codes, domain)
    plan = Plan(domain, GammaDiagonal(19))
    bits = table.to_bits()
    perturbing = medians(
        {"whole": lambda: plan.randomize(table), "channel": lambda: plan.channel.randomize_bits(bits.copy(), Secure())}
    )
    reports = plan.randomize(table, rng=Seeded(5))
    everything = Search(
        min_support=1e-9, slack=1e9, max_size=4, keep_hopeless=True
    )  # keeps all candidates, so both count as many
    counters = {"perturbed": reports.counter(), "exact": Bitmaps.from_rows(bits, len(domain))}
    channels = {"perturbed": reports.channel, "exact": IdentityChannel(domain)}

    def search(name: str) -> Callable[[], object]:
        return lambda: mine_evidence(LinearEvidence(channels[name], counters[name]), everything)

    mining = medians({name: search(name) for name in counters}, repeats=5)
    return [
        Bar(
            "DET-GD, 2 500 000 records of six attributes, of 1.5 s",
            perturbing["whole"] / SECONDS,
            1.0,
            False,
            {"seconds": perturbing},
        ),
        Bar(
            "mine a perturbed table, over exact mining of as many candidates",
            mining["perturbed"] / mining["exact"],
            1.2,
            False,
            {"seconds": mining},
        ),
    ]
