"""Long operations to be interrupted, each in a process of its own: ``python -m tests.interruption NAME``.

Everything is prepared and compiled on small data first; then the line "ready" is printed and the long work begins.  It
ends with "finished" where nobody interrupts it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt

import bosket as bk
import bosket.learning
import bosket.planning
from bosket.evidence import AnswersEvidence
from bosket.mechanisms.questions.answer_reports import Shown

Work = Callable[[], object]


def dense(records: int, items: int, share: float = 0.7, seed: int = 1) -> bk.Baskets:
    bits = np.random.default_rng(seed).random((records, items)) < share
    return bk.Baskets([np.flatnonzero(row).tolist() for row in bits], items=range(items))


def exact() -> tuple[Work, Work]:
    """A dense data set at a hopeless support."""
    small, large = dense(200, 10), dense(30_000, 60)
    return (
        lambda: bk.mine(small, min_support=0.2),
        lambda: bk.mine(large, min_support=1e-4, max_candidates=10**9, max_size=7),
    )


def exact_long_bitmaps() -> tuple[Work, Work]:
    """A million records, so that one prefix is much work."""
    bits = np.random.default_rng(1).integers(0, 1 << 63, (1 << 20, 4), np.uint64)
    large = bk.Baskets.from_bits(bits, range(256))
    return lambda: bk.mine(dense(200, 10), min_support=0.2), lambda: bk.mine(large, min_support=0.05, max_size=3)


def _flipped(records: int, items: int, keep: float = 0.6) -> bk.Reports:
    return bk.Flip(keep=keep).randomize(dense(records, items, 0.1), rng=bk.Seeded(1))


def reports() -> tuple[Work, Work]:
    small, large = _flipped(500, 20), _flipped(60_000, 300)
    return (
        lambda: bk.mine(small, min_support=0.01, max_size=4),
        lambda: bk.mine(large, min_support=0.001, max_candidates=10**8),
    )


def counting() -> tuple[Work, Work]:
    """Few candidates over many reports."""
    bits = np.random.default_rng(1).integers(0, 1 << 63, (1 << 22, 2), np.uint64)
    columns = bk.counting.Bitmaps.from_rows(bits, 128)
    rows = np.array([(i, j, k) for i in range(126) for j in range(i + 1, 127) for k in range(j + 1, 128)], np.int32)
    small = bk.counting.Bitmaps.from_rows(bits[:100], 128)
    return lambda: small.supports(rows[:50]), lambda: [columns.supports(rows) for _ in range(3)]


def joining() -> tuple[Work, Work]:
    """All pairs of many items, joined to triples that are merely counted."""
    from bosket.counting.table import ItemsetIndex
    from bosket.mining.candidates import count_candidates, pairs_of

    def pairs(n: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
        return np.stack(pairs_of(np.arange(n, dtype=np.int32), None), axis=1).astype(np.int32)

    return lambda: count_candidates(ItemsetIndex(pairs(9))), lambda: count_candidates(ItemsetIndex(pairs(4500)))


def rules() -> tuple[Work, Work]:
    small, large = (bk.mine(dense(n, items), min_support=0.05) for n, items in ((200, 8), (3000, 18)))
    return lambda: small.rules(min_threshold=0.0), lambda: large.rules(min_threshold=0.0, max_rules=10**9)


def rules_of_reports() -> tuple[Work, Work]:
    small, large = (
        bk.mine(_flipped(n, items, 0.9), min_support=1e-3, max_size=size)
        for n, items, size in ((500, 8, 3), (5000, 40, 4))
    )
    return (
        lambda: small.rules(min_threshold=0.0, measures="all"),
        lambda: [
            large.rules(min_threshold=-1e9, metric="leverage", measures="all", max_rules=10**9) for _ in range(20)
        ],
    )


def to_frame() -> tuple[Work, Work]:
    small, large = (bk.mine(dense(n, items), min_support=0.001) for n, items in ((200, 8), (400, 21)))
    return lambda: small.to_frame(), lambda: [large.to_frame() for _ in range(20)]


def to_frame_of_reports() -> tuple[Work, Work]:
    small, large = (
        bk.mine(_flipped(n, items, 0.8), min_support=1e-3, max_size=3) for n, items in ((500, 8), (5000, 150))
    )
    return lambda: small.to_frame(measures="lift"), lambda: [large.to_frame(measures="all") for _ in range(20)]


def randomize() -> tuple[Work, Work]:
    small, large = (bk.quest(records=n, items=500, seed=1) for n in (200, 200_000))
    mechanism = bk.CutAndPaste(cutoff=5, insert=0.1)
    return (
        lambda: mechanism.randomize(small[small.sizes > 0], rng=bk.Seeded(1)),
        lambda: [mechanism.randomize(large[large.sizes > 0], rng=bk.Seeded(1)) for _ in range(200)],
    )


def quest() -> tuple[Work, Work]:
    return lambda: bk.quest(records=100, seed=1), lambda: bk.quest(records=20_000_000, seed=1)


def dependence() -> tuple[Work, Work]:
    small, large = _flipped(500, 20), _flipped(20_000, 3000)
    return lambda: bk.dependent_pairs(small), lambda: bk.dependent_pairs(large)


def learning() -> tuple[Work, Work]:
    import pandas as pd

    def study(n: int, columns: int) -> bk.Reports:
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({f"a{j}": rng.integers(0, 5, n).astype(str) for j in range(columns)})
        return bk.GammaDiagonal(gamma=19).randomize(bk.Table.from_frame(frame), rng=bk.Seeded(1))

    small, large = study(300, 3), study(60_000, 6)
    tree = bk.learning.ReconstructedTreeClassifier
    return (
        lambda: tree().fit(small, label="a0"),
        lambda: [tree(max_depth=10).fit(large, label="a0") for _ in range(1000)],
    )


def tree() -> tuple[Work, Work]:
    """One tree of thousands of cells and values, which compiled code grows in one go."""

    def study(n: int, values: int) -> bk.learning.ByClassReports:
        domain = bk.TableDomain(
            [*(bk.Attribute(f"a{j}", range(values)) for j in range(4)), bk.Attribute("y", ["n", "p"])]
        )
        rng = np.random.default_rng(1)
        codes = np.hstack([rng.integers(0, values, (n, 4)), rng.integers(0, 2, (n, 1))])
        return bk.learning.randomize_by_class(
            bk.Table.from_codes(codes, domain), "y", bk.GammaDiagonal(1e6), rng=bk.Seeded(1)
        )

    small, large = study(300, 3), study(8000, 5000)
    classifier = bk.learning.ReconstructedTreeClassifier
    return lambda: classifier().fit(small), lambda: classifier(min_leaf=0).fit(large)


def breaches() -> tuple[Work, Work]:
    mechanism = bk.CutAndPaste(cutoff=5, insert=0.1)
    small, large = (bk.quest(records=n, items=100, seed=1) for n in (2000, 100_000))
    small, large = small[small.sizes > 0], large[large.sizes > 0]
    one, other = (mechanism.randomize(data, rng=bk.Seeded(1)) for data in (small, large))
    return (
        lambda: bk.audit.breaches(small, one, min_support=0.1),
        lambda: [bk.audit.breaches(large, other, min_support=0.002) for _ in range(50)],
    )


def curator() -> tuple[Work, Work]:
    from bosket.curator.truncation import count_candidates

    baskets = dense(20_000, 60, 0.4)
    rows = np.array([(i, j, k) for i in range(58) for j in range(i + 1, 59) for k in range(j + 1, 60)], np.int32)
    scores = np.arange(len(rows), dtype=float)
    return (
        lambda: count_candidates(baskets[:20], rows[:50], scores[:50], 5),
        lambda: [count_candidates(baskets, rows, scores, 12) for _ in range(50)],
    )


def sieve() -> tuple[Work, Work]:
    """Rounds of forty thousand itemsets in dense records: held by each, and what they add."""
    from bosket.curator.sieve.contributions import PURE, ActiveItemsets

    baskets = dense(40_000, 64, 0.5)
    rows = [np.array(list(combinations(range(64), size)), np.int32) for size in (1, 2, 3)]

    def measured(records: bk.Baskets, parts: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.int64]:
        active = ActiveItemsets(records, parts)
        return active.sums(PURE.units(active.held, 5000))

    return (
        lambda: measured(baskets[:200], [part[:9] for part in rows]),
        lambda: [measured(baskets, rows) for _ in range(50)],
    )


def answers() -> tuple[Work, Work]:
    """Two hundred questions about sixteen attributes: each itemset has thousands of combinations in each of them."""

    def evidence(attributes: int, questions: int) -> AnswersEvidence:
        domain = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(attributes)])
        channel = bk.Ask(bk.Design([domain.names] * questions), 19, "response").channel(domain)
        return AnswersEvidence(channel, Shown.one_each([np.ones(size, np.int64) for size in channel.sizes]))

    def rows(attributes: int) -> npt.NDArray[np.int32]:
        return 2 * np.array(list(combinations(range(attributes), 4)), np.int32)

    small, large = evidence(6, 2), evidence(16, 200)
    return lambda: small.supports(rows(6)), lambda: [large.supports(rows(16) + one) for one in (0, 1) * 20]


def planning() -> tuple[Work, Work]:
    supports = [0.1 / 2**k for k in range(8)]
    return (
        lambda: bk.planning.cut_and_paste({2: [0.1, 0.02]}, records=1000, cutoffs=[3]),
        lambda: bk.planning.cut_and_paste({m: supports[:m] for m in range(2, 20)}, records=100_000),
    )


OPERATIONS: dict[str, Callable[[], tuple[Work, Work]]] = {
    prepare.__name__: prepare
    for prepare in (
        exact, exact_long_bitmaps, reports, counting, joining, rules, rules_of_reports, to_frame, to_frame_of_reports,
        randomize, quest, dependence, learning, tree, breaches, curator, sieve, planning, answers,
    )
}  # fmt: skip


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is born deaf to it
    warm_up, work = OPERATIONS[sys.argv[1]]()
    warm_up()
    say("ready")
    try:
        work()
    except KeyboardInterrupt:
        say("interrupted")
    else:
        say("finished")
