"""Test vectors: given plan, record and random words, the exact bytes of a report.

    python -m tests.client.vectors     writes tests/golden/vectors/*.json anew

They are made by Python and met by every client, so that a change of them is a change of what leaves people's devices.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import bosket as bk
from bosket.client.memo import Memo
from bosket.client.records import records_of
from tests.client.played import Played, some_words

FOLDER = Path(__file__).parents[1] / "golden" / "vectors"
ITEMS = bk.Domain(["milk", "bread", "beer", 7, 2.5, ("pair", 1), "käse", "eggs", "rice", "tea"])
MANY = bk.Domain(range(8300))  # more than 128 words of 64 items
TABLE = bk.TableDomain(
    [
        bk.Attribute("sex", ["f", "m"]),
        bk.Attribute("age", ["young", "middle", "old"]),
        bk.Attribute("rooms", [1, 2, 3, 4, 5]),
    ]
)
SHORT: list[Any] = [[], ["milk"], ["beer", "bread"], [7, 2.5, {"tuple": ["pair", 1]}]]
LONG: list[Any] = [*SHORT, ["käse", "eggs", "rice", "tea", "milk", "bread"], ["milk", "bread", "beer", 7, "eggs"]]
ROWS: list[Any] = [
    {"sex": "f", "age": "old", "rooms": 4},
    {"sex": "m", "age": "young", "rooms": 1},
    {"sex": "m", "age": "middle", "rooms": 5},
]


def unit(max_size: int, **more: Any) -> bk.PrivacyUnit:
    return bk.PrivacyUnit(max_size=max_size, **more)


def ask(gamma: float, channel: str, *, merged: bool = False) -> bk.Ask:
    questions: list[Any] = [["age", "sex"], ["rooms"], ["rooms", "sex", "age"]]
    if merged:
        questions[1] = bk.Question(("sex", "age"), (0, 1, 1, 2, 0, 0))
    return bk.Ask(bk.Design(questions, shares=[3, 1, 2]), gamma, channel)


def baskets(by: str, **more: Any) -> bk.AskBaskets:
    given: dict[str, Any] = {"epsilon": 2.0, "length": 2, "by": by} | more
    return bk.AskBaskets(**given)


SETS = (("milk", "bread"), ("beer",), (7, 2.5, ("pair", 1)))
PLANS: dict[str, tuple[list[Any], list[bk.Plan]]] = {
    "flip": (
        LONG,
        [
            bk.Plan(ITEMS, bk.Flip(keep=0.9)),
            bk.Plan(ITEMS, bk.Flip(keep=0.5, keep_absent=0.95)),
            bk.Plan(
                ITEMS, bk.Flip(keep={"milk": 0.7, 7: 1.0, ("pair", 1): 0.6}, default=0.8, keep_absent={"tea": 0.0})
            ),
            bk.Plan(ITEMS, bk.Flip(keep=1 / 3), unit(3, longer="sample")),
            bk.Plan(ITEMS, bk.Flip(keep=0.75), unit(2, longer="sample", state_sizes_to=6)),
            bk.Plan(ITEMS, bk.Flip(keep=0.75), unit(2, longer="sample", state_sizes_to=6, size_epsilon=1.5)),
        ],
    ),
    "flip_of_a_table": (ROWS, [bk.Plan(TABLE, bk.Flip(keep={"sex=f": 0.6, "rooms=4": 0.7}, default=0.8))]),
    "flip_of_many_items": ([[1, 63, 64, 8191, 8192, 8299]], [bk.Plan(MANY, bk.Flip(keep=0.99, keep_absent=0.999))]),
    "select_a_size": (
        SHORT,
        [
            bk.Plan(
                ITEMS,
                bk.SelectASize(
                    {0: [1], 1: [0.3, 0.7], 2: [0.1, 0.2, 0.7], 3: [1 / 3, 1 / 3, 1 / 3, 0]},
                    {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.05},
                ),
            ),
        ],
    ),
    "cut_and_paste": (
        LONG,
        [
            bk.Plan(ITEMS, bk.CutAndPaste(3, 0.2), unit(6)),
            bk.Plan(ITEMS, bk.CutAndPaste(4, 0.1), unit(2, longer="sample", state_sizes_to=8, size_epsilon=2.0)),
        ],
    ),
    "replace": (LONG[:-2], [bk.Plan(ITEMS, bk.Replace(0.4), unit(5))]),
    "gamma_diagonal": (
        ROWS,
        [
            bk.Plan(TABLE, bk.GammaDiagonal(19.0)),
            bk.Plan(TABLE, bk.GammaDiagonal(1.5, spread=0.5)),
            bk.Plan(TABLE, bk.GammaDiagonal(1e9)),
        ],
    ),
    "ask": (
        ROWS,
        [
            bk.Plan(TABLE, ask(19.0, "response")),
            bk.Plan(TABLE, ask(3.0, "hashing", merged=True)),
            bk.Plan(TABLE, ask(4.0, "auto")),
        ],
    ),
    "ask_baskets_by_response": (LONG, [bk.Plan(ITEMS, baskets("response"))]),
    "ask_baskets_by_hashing": (
        LONG,
        [
            bk.Plan(ITEMS, baskets("hashing", epsilon=0.7, length=3)),
            bk.Plan(ITEMS, baskets("hashing", candidates=SETS, size=16), unit(4, longer="sample")),
        ],
    ),
    "ask_baskets_by_subset": (
        LONG,
        [
            bk.Plan(ITEMS, baskets("subset", size=3)),
            bk.Plan(ITEMS, baskets("subset", size=2, candidates=SETS, follows="ab" * 32)),
        ],
    ),
}

PYTHON_ONLY: frozenset[str] = frozenset()
"""Names of mechanisms that people use for themselves and that the browser's module does not have."""

WORDS = 64
"""Words of each stream: more than any of these records takes."""


def hexed(streams: list[list[int]]) -> list[str]:
    """A text for each stream, sixteen digits a word."""
    return ["".join(f"{word:016x}" for word in stream) for stream in streams]


def unhexed(streams: list[str]) -> list[list[int]]:
    return [[int(text[at : at + 16], 16) for at in range(0, len(text), 16)] for text in streams]


def frame(plan: bk.Plan, record: Any, streams: list[list[int]], filler: int = 0) -> tuple[bytes, int]:
    """The bytes, and how many streams were opened."""
    rng = Played(streams, filler)
    reports = plan.randomize(records_of(plan, [record]), rng=rng)
    return reports.to_bytes(), rng.opened


def made(name: str) -> dict[str, Any]:
    """The vectors of one kind."""
    records, plans = PLANS[name]
    found: list[dict[str, Any]] = []
    for number, plan in enumerate(plans):
        cases, memos = [], []
        for at, record in enumerate(records):
            if plan.domain is not MANY:  # which takes thousands of words: memoised coins will do
                streams = [some_words(f"{name} {number} {at}", stream, WORDS) for stream in range(6)]
                sent, opened = frame(plan, record, streams)
                cases.append({"record": record, "words": hexed(streams[:opened]), "frame": sent.hex()})
            memo = Memo(bytes(range(at, at + 32)), None if at == 0 else f"2027-{at:02} ü")
            memos.append(
                {
                    "record": record,
                    "secret": memo.secret.hex(),
                    "period": memo.period,
                    "frame": memoised(plan, record, memo).hex(),
                }
            )
        found.append({"plan": plan.json, "digest": plan.digest, "cases": cases, "memo": memos})
    return {"kind": name, "plans": found}


def memoised(plan: bk.Plan, record: Any, memo: Memo) -> bytes:
    records = records_of(plan, [record])
    packed = records.to_bits().view("u1")[0, : -(-len(plan.domain) // 8)].tobytes()
    return plan.randomize(records, rng=memo.coins(plan, packed)).to_bytes()


def written(name: str) -> str:
    return json.dumps(made(name), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for kind in sys.argv[1:] or PLANS:
        (FOLDER / f"{kind}.json").write_text(written(kind), "utf-8")
