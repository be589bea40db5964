"""Data for Evfimievski, Srikant, Agrawal and Gehrke (2004): two real streams, and stand-ins for the paper's own.

The paper's soccer and mailorder data are not to be had.  What it prints of them is the number of records, the largest
size, and the parameters of section 5.4; the numbers by size are in a picture only (its Fig. 10), so the mixes below,
which fall with the size and have mailorder's mean of about 2.6 items, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bosket.data import Baskets, Domain
from bosket.mechanisms import CutAndPaste
from bosket.research.reproduce.datasets import find

CUTOFF = 7
SOCCER = {1: 0.047, 2: 0.168, 3: 0.214, 4: 0.322, 5: 0.353, 6: 0.429, 7: 0.461, 8: 0.420, 9: 0.409, 10: 0.395}
MAILORDER = {1: 0.089, 2: 0.204, 3: 0.250, 4: 0.334, 5: 0.435, 6: 0.505, 7: 0.592}
"""Section 5.4: the randomization level for each record size, at a cutoff of 7."""


@dataclass(frozen=True, slots=True)
class Stand:
    """A simulated stand-in: the paper's parameters and number of records, a mix of sizes, and its items."""

    name: str
    insert: dict[int, float]
    n_records: int
    mix: dict[int, float]
    n_items: int

    @property
    def mechanism(self) -> CutAndPaste:
        return CutAndPaste(CUTOFF, self.insert)


SOCCER_STAND = Stand("soccer", SOCCER, 6_525_879, {m: 0.75**m for m in SOCCER}, 200)
MAILORDER_STAND = Stand("mailorder", MAILORDER, 2_859_314, {m: 0.6**m for m in MAILORDER}, 96)


def simulate(stand: Stand, n_records: int, *, seed: int) -> Baskets:
    """Records with the mix of sizes; popular items, and pairs and triples that go together, at all sizes.

    The popularity of an item falls with its rank; a third of the records begins with one of sixty small groups of
    items, and the rest is drawn one by one.
    """
    rng = np.random.default_rng(seed)
    sizes = np.array(list(stand.mix))
    shares = np.array(list(stand.mix.values()))
    drawn = rng.choice(sizes, size=n_records, p=shares / shares.sum())
    popularity = 1 / (np.arange(stand.n_items) + 8.0)
    ranks = np.argsort(rng.exponential(size=(n_records, stand.n_items)) / popularity, axis=1)[:, : sizes.max()]
    groups = [rng.choice(stand.n_items, size=3, replace=False) for _ in range(60)]
    records = []
    for size, order, group in zip(
        drawn.tolist(), ranks.tolist(), rng.integers(0, 180, n_records).tolist(), strict=True
    ):
        begin = groups[group].tolist() if group < len(groups) else []
        records.append(list(dict.fromkeys([*begin, *order]))[:size])
    return Baskets(records, items=range(stand.n_items))


@dataclass(frozen=True, slots=True)
class RealStream:
    """A real stream as it is used: which items were left out, and why."""

    name: str
    baskets: Baskets
    common: int
    """Items left out because more than a tenth of all records have them, as the paper leaves out front pages."""
    rare: int
    """Items left out because they are too rare to be found or to be mistaken for frequent ones."""


def read_stream(name: str, data: str | Path | None = None, *, rarest: float, commonest: float = 0.1) -> RealStream:
    """Records of 1 to 10 items of a benchmark file, over the items between two supports."""
    whole = Baskets.read(find(f"{name}.dat.gz", data))
    share = whole.item_counts() / whole.n_records
    kept = (share >= rarest) & (share <= commonest)
    chosen = kept[whole.indices]
    indptr = np.concatenate([[0], np.cumsum(chosen)])[whole.indptr]
    ids = np.cumsum(kept) - 1
    domain = Domain([label for label, keep in zip(whole.domain.labels, kept, strict=True) if keep])
    baskets = Baskets.from_csr(indptr, ids[whole.indices[chosen]].astype(np.int32), domain)
    short = baskets[(baskets.sizes >= 1) & (baskets.sizes <= 10)]
    return RealStream(name, short, int((share > commonest).sum()), int((share < rarest).sum()))
