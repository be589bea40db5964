"""Level-wise mining with the sensitivity of whole records: what truncation is there to avoid.

Zeng, Naughton and Cai (2012) report no figures for it "because its performance was uniformly poor"; their naive method
(section 5.2) cuts records at random and is `bosket.curator.NAIVE`.

The same levels, limits and shares as `bosket.curator.miner`, but whole records are counted, so that one of them may
hold

    min(C(L, i), number of candidates)

of the candidates of i items, L being the longest record that is allowed, which is public: all items unless declared.
Records longer than a declared L lose items at random, each on its own (Theorem 7): to refuse them would tell of them.
No record, however long, makes a search fail, which would tell of it too: what `bosket.curator.pool` counts, and how
many candidates there are, follows from noisy counts.
"""

from __future__ import annotations

import numpy as np

from bosket.checks import check_fraction, check_integer
from bosket.counting.base import ItemsetRows
from bosket.counting.table import ItemsetIndex
from bosket.curator.cardinality import noisy_cardinality
from bosket.curator.levels import sensitivity
from bosket.curator.miner import parts, ranked_pool
from bosket.curator.noise import Composition, noisy
from bosket.curator.settings import Settings
from bosket.curator.truncation import count_candidates, count_items, random_truncation
from bosket.data import Baskets
from bosket.errors import TooManyCandidatesError
from bosket.mining.candidates import next_candidates
from bosket.randomness import Randomness
from bosket.research.rivals.base import Purse, Rival


def frequent(
    baskets: Baskets,
    *,
    epsilon: float,
    min_support: float,
    longest_record: int | None = None,
    settings: Settings | None = None,
    rng: Randomness | None = None,
) -> Rival:
    """Itemsets whose noisy count reaches ``min_support`` of the noisy number of records.

    The share that the miner spends on lengths buys the number of records here, which is all that is needed of them.
    """
    known = settings or Settings()
    min_support = check_fraction("min_support", min_support)
    longest = baskets.n_items
    if longest_record is not None:
        longest = min(longest, check_integer("longest_record", longest_record, least=1))
    purse = Purse(epsilon)
    share = purse.pay("total", epsilon * known.share_of_lengths)
    total = int(noisy([baskets.n_records], epsilon=share, sensitivity=1)[0])
    min_count = max(1.0, min_support * max(total, 1))
    short = baskets if longest == baskets.n_items else random_truncation(baskets, longest, rng=rng)
    cap = min(known.cap, max(1, longest))
    share = purse.pay("cardinality", epsilon * known.share_of_cardinality)
    granted = Composition(share)
    of_ranking, of_comparisons = parts(share)
    pool = ranked_pool(short, longest, total, granted=granted, epsilon=of_ranking, per_person=1)
    largest = noisy_cardinality(pool.largest, cap, min_count, granted=granted, epsilon=of_comparisons)
    each = epsilon * (1 - known.share_of_lengths - known.share_of_cardinality) / largest
    items, counts, kappas = [], [], []
    candidates: ItemsetRows | None = np.arange(baskets.n_items, dtype=np.int32)[:, None]
    while candidates is not None and len(candidates):
        size = candidates.shape[1]
        kappa = sensitivity(longest, size, len(candidates), 1)
        share = purse.pay(f"size {size}", each)
        if size == 1:
            exact = count_items(short)
        else:
            exact = count_candidates(short, candidates, np.zeros(len(candidates)), longest)
        values = noisy(exact, epsilon=share, sensitivity=kappa)
        kept = values >= min_count
        items.append(candidates[kept])
        counts.append(values[kept].astype(float))
        kappas.append(kappa)
        candidates = _extended(items[-1], known.max_candidates) if size < largest else None
    about = {
        "method": "level-wise without truncation", "epsilon": epsilon, "spent": purse.spent, "n_records": total,
        "min_count": min_count, "longest_record": longest, "largest": largest, "sensitivities": kappas,
    }  # fmt: skip
    return Rival(items, counts, about)


def _extended(rows: ItemsetRows, max_candidates: int) -> ItemsetRows | None:
    if not len(rows):
        return None
    try:
        return next_candidates(ItemsetIndex(rows), max_candidates=max_candidates)
    except TooManyCandidatesError:  # their number follows from noisy counts: it may be told
        return None
