"""Clients that look right and are not, one fault each; and what they are all made of, which is honest.

A client takes a record as a person states it and returns the bytes of a report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import bosket as bk

Client = Callable[[Any], bytes]
ITEMS = bk.Domain(["a", "b", "c", "d", "e", "f"])
TABLE = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in ("p", "q", "r", "s")])
FLIP = bk.Plan(ITEMS, bk.Flip(keep=0.9))
ASK = bk.Plan(TABLE, bk.Ask(bk.Design.pairs(TABLE), gamma=8))
CUT = bk.Plan(ITEMS, bk.CutAndPaste(cutoff=3, insert=0.3), bk.PrivacyUnit(max_size=4))
HASHED = bk.Plan(ITEMS, bk.AskBaskets(epsilon=2.0, length=2, size=4), bk.PrivacyUnit(max_size=2))


def flipping(seed: int, *, keep: float = 0.9, absent: float = 0.1) -> Client:
    """Every item on its own: honest at the plan's keep."""
    rng = np.random.default_rng(seed)

    def client(record: Any) -> bytes:
        truth = np.array([label in record for label in ITEMS.labels])
        shown = rng.random(len(truth)) < np.where(truth, keep, absent)
        return bytes([int(shown @ (1 << np.arange(6)))])

    return client


def one_coin_for_all(seed: int) -> Client:
    """The coins of a person are one coin: all items are told as they are, or none is."""
    rng = np.random.default_rng(seed)

    def client(record: Any) -> bytes:
        truth = sum(1 << at for at, label in enumerate(ITEMS.labels) if label in record)
        return bytes([truth if rng.random() < 0.9 else truth ^ 63])

    return client


def coins_of_the_last(seed: int) -> Client:
    """Every other person is given the coins of the one before."""
    rng, known = np.random.default_rng(seed), {"calls": 0, "coins": 0}

    def client(record: Any) -> bytes:
        if known["calls"] % 2 == 0:
            known["coins"] = int((rng.random(6) < 0.1) @ (1 << np.arange(6)))
        known["calls"] += 1
        truth = sum(1 << at for at, label in enumerate(ITEMS.labels) if label in record)
        return bytes([truth ^ known["coins"]])

    return client


def coins_of_a_pool(seed: int, *, size: int) -> Client:
    """Coins are drawn once, and the pool is begun again when it is used up."""
    pool = (np.random.default_rng(seed).random((size, 6)) < 0.1) @ (1 << np.arange(6))
    known = {"calls": 0}

    def client(record: Any) -> bytes:
        known["calls"] += 1
        truth = sum(1 << at for at, label in enumerate(ITEMS.labels) if label in record)
        return bytes([truth ^ int(pool[known["calls"] % size])])

    return client


def seeded_by_record(seed: int) -> Client:
    """The same record gives the same report each time."""

    def client(record: Any) -> bytes:
        truth = sum(1 << at for at, label in enumerate(ITEMS.labels) if label in record)
        coins = np.random.default_rng(seed + truth).random(6) < 0.1
        return bytes([truth ^ int(coins @ (1 << np.arange(6)))])

    return client


def always_ones(record: Any) -> bytes:
    return bytes([63])


def sent_twice(seed: int) -> Client:
    """Two reports in the place of one."""
    honest = flipping(seed)
    return lambda record: honest(record) * 2


def says_it_is_seeded(record: Any) -> bytes:
    """A report of this library that was drawn by a seed: it says so."""
    return FLIP.randomize(bk.Baskets([list(record)], items=ITEMS.labels), rng=bk.Seeded(1)).to_bytes()


def asking(
    seed: int,
    *,
    question: Callable[[np.random.Generator, Mapping[str, str]], int] | None = None,
    more: float = 0.0,
    answer: int | None = None,
) -> Client:
    """One question of six, the true answer 8 times as often as any other: honest without arguments."""
    rng = np.random.default_rng(seed)
    pairs = [tuple(one.attributes) for one in bk.Design.pairs(TABLE).questions]

    def client(record: Mapping[str, str]) -> bytes:
        at = int(rng.integers(6)) if question is None else question(rng, record)
        first, second = pairs[at]
        truth = 2 * (record[first] == "yes") + (record[second] == "yes")
        told = truth if rng.random() < 8 / 11 + more else (truth + int(rng.integers(1, 4))) % 4
        if answer is not None and rng.random() < 0.001:
            told = answer
        return np.array([at, told], "<i4").tobytes()

    return client


def by_the_record(rng: np.random.Generator, record: Mapping[str, str]) -> int:
    """Who says yes to p is asked about it less often."""
    at = int(rng.integers(6))
    return int(rng.integers(6)) if record["p"] == "yes" and at < 3 else at


def cutting(seed: int, *, stated: int = 0) -> Client:
    """This library's cut-and-paste; ``stated`` is added to the size that the report states of a record of two."""
    chance = bk.Seeded(seed)

    def client(record: Any) -> bytes:
        reports = CUT.randomize(bk.Baskets([list(record)], items=ITEMS.labels), rng=chance)
        row = bytearray(CUT.channel.payload.to_bytes(reports.batch))
        if row[1] == 2:
            row[1] += stated
        return bytes(row)

    return client


def hashing(seed: int, *, bucket: bool) -> Client:
    """This library's hashing; with ``bucket`` the seeds are even: a bit of a report is no longer drawn."""
    chance = bk.Seeded(seed)

    def client(record: Any) -> bytes:
        while True:
            reports = HASHED.randomize(bk.Baskets([list(record)], items=ITEMS.labels), rng=chance)
            if not bucket or int(reports.batch["seed"][0]) % 2 == 0:
                return HASHED.channel.payload.to_bytes(reports.batch)

    return client
