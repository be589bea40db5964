"""Records and frames that differ in one record, chosen by who knows the code, look alike from outside once curated.

Beside what ``outcomes`` compares, the itemsets of the release are compared: at this epsilon, and with a limit that one
record cannot reach or leave, they may only differ if one record changed how the others were read.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import bosket as bk
from bosket.budget.budgets import Budget
from bosket.data.formats.lookup import Lookup
from tests.curator.outcomes import SURE, Outcome, of_call
from tests.halves import few_quick

pytest.importorskip("opendp")

Read = Callable[[Any, list[Any]], bk.Baskets]
WORDS = ["milk", "tea"]
DAY = dt.datetime(2024, 1, 1)
SECOND = np.datetime64("2024-01-01T00:00:00")


class Hostile:
    """Makes an error wherever it is hashed, compared or shown."""

    def __hash__(self) -> int:
        raise ZeroDivisionError

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __str__(self) -> str:
        raise ZeroDivisionError


class Clinging:
    """Has the hash of the name of a record, and makes an error when it is compared with that."""

    def __hash__(self) -> int:
        return hash("r7")

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


def dropping(records: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets(records, items=items, unknown="drop")


def refusing(records: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets(records, items=items)


def guessing(records: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets(records)


def frame_dropping(frame: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets.from_frame(frame, items=items, unknown="drop")


def frame_refusing(frame: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets.from_frame(frame, items=items)


def frame_guessing(frame: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets.from_frame(frame)


def lists_dropping(frame: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets.from_frame(frame, layout="list", items=items, unknown="drop")


def text_dropping(csv: Any, items: list[Any]) -> bk.Baskets:
    return frame_dropping(pd.read_csv(io.StringIO(csv), dtype=str), items)


def inferred_dropping(csv: Any, items: list[Any]) -> bk.Baskets:
    return frame_dropping(pd.read_csv(io.StringIO(csv)), items)


def matrix_dropping(matrix: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets.from_scipy(matrix, items, unknown="drop")


def matrix_refusing(matrix: Any, items: list[Any]) -> bk.Baskets:
    return bk.Baskets.from_scipy(matrix, items)


def combining(table: Any, items: list[Any]) -> bk.Baskets:
    """The chunks of a column are put together, and where Arrow cannot, its cells are taken as they are."""
    cells = table["item"]
    try:
        labels = [cell if cell is None else cell.decode() for cell in cells.combine_chunks().to_pylist()]
    except pa.ArrowException:
        labels = cells.to_pylist()
    return bk.Baskets([[label] for label in labels], items=items, unknown="drop")


def one_by_one(table: Any, items: list[Any]) -> bk.Baskets:
    """The names of records become objects of Python's, all at once."""
    return frame_dropping(pd.DataFrame({name: objects(table[name].to_pylist()) for name in table.column_names}), items)


def table_dropping(table: Any, items: list[Any]) -> Any:
    """A table of one column, ``price``."""
    return bk.Table.from_frame(table, values={"price": items}, unknown="other")


def flattening(table: Any, items: list[Any]) -> bk.Baskets:
    """The cells of all lists are put into one array, however many there are."""
    column = table["items"].combine_chunks()
    cells = np.zeros(int(column.offsets[len(column)].as_py() - column.offsets[0].as_py()), np.int64)
    assert len(cells) == len(column.values)
    return frame_dropping(table, items)


def taking_all(records: Any, items: list[Any]) -> bk.Baskets:
    return dropping([np.array(record, object) for record in records], items)


def by_writing(self: Lookup, values: list[Any]) -> list[int]:
    """For ``Lookup.items``: 1.0 is not written as 1 is."""
    return [self.places.get(str(value), -1) for value in values]


@dataclass(frozen=True)
class Pair:
    """Two data sets, the second with one record more."""

    name: str
    without: Any
    with_it: Any
    mistake: Read
    sound: Read = dropping
    items: tuple[Any, ...] = ("milk", "tea")
    patches: tuple[tuple[str, Any], ...] = ()
    """Of the mistake."""

    def outcomes(self, read: Read) -> list[tuple[Outcome, list[str]]]:
        both = []
        for data in (self.without, self.with_it):
            found: list[str] = []

            def call(budget: Budget, data: Any = data, found: list[str] = found) -> Any:
                items = list(self.items)
                baskets = read(data, items)
                vocabulary = None if baskets.domain.is_declared else items
                release = bk.curator.mine(baskets, SURE, 0.3, budget=budget, vocabulary=vocabulary, method="truncation")
                found += sorted(repr(sorted(map(str, itemset))) for itemset, _ in release)
                return release

            both.append((of_call(call), found))
        return both


def records(first: Any, *, of: list[Any] = WORDS) -> tuple[list[Any], list[Any]]:
    rest = [[of[0]], [of[0], of[-1]], [of[-1]]] * 20
    return rest, [first, *rest]


def objects(values: list[Any]) -> Any:
    return pd.Series(values, dtype=object)


def lists(first: Any) -> tuple[Any, Any]:
    without, with_it = records(first)
    return pd.DataFrame({"items": objects(without)}), pd.DataFrame({"items": objects(with_it)})


def long(name: Any, item: Any, *, of: list[Any] = WORDS) -> tuple[Any, Any]:
    names, items = [f"r{at}" for at in range(60)], of * 30
    without = pd.DataFrame({"record": names, "item": items})
    return without, pd.DataFrame({"record": objects([name, *names]), "item": objects([item, *items])})


def one_hot(sign: Any) -> tuple[Any, Any]:
    cells = [1, 0, 1] * 20
    without = pd.DataFrame({"milk": cells, "tea": cells[::-1], "beer": cells})
    return without, pd.DataFrame({name: objects([sign, *column]) for name, column in without.items()})


def csv(words: list[str], odd: str) -> tuple[str, str]:
    lines = [f"r{at},{words[at % len(words)]}" for at in range(60)]
    return "\n".join(["record,item", *lines]), "\n".join(["record,item", f"x,{odd}", *lines])


def matrix(value: float) -> tuple[Any, Any]:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]] * 20)
    return sparse.csr_array(rows), sparse.csr_array(np.vstack([[value, 1.0], rows]))


def pairs_of_signs(first: list[int]) -> tuple[Any, Any]:
    rows = [[0, 1], [1, 0], [1, 1]] * 20
    return pd.DataFrame(rows, columns=["a", "b"]), pd.DataFrame([first, *rows], columns=["a", "b"])


def daily(n_words: int) -> Any:
    """Two days of bytes as codes of eight bits, each with a dictionary of its own."""
    words = [b"milk", b"tea", *(b"other %d" % at for at in range(n_words - 2))]
    codes = [pa.array([0, 1] * 300 + list(range(64)), pa.int8()), pa.array(range(n_words - 64), pa.int8())]
    known = [pa.array(part, pa.binary()) for part in (words[:64], words[64:])]
    items = pa.chunked_array([pa.DictionaryArray.from_arrays(*day) for day in zip(codes, known, strict=True)])
    return pa.table({"record": pa.array(range(len(items))), "item": items})


def by_day(*last: int) -> Any:
    """Records named by the day, in milliseconds."""
    days = pa.array([*(day * 86_400_000 for day in range(60)), *last], pa.int64()).cast(pa.date64())
    return pa.table({"record": days, "item": (WORDS * 31)[: len(days)]})


def priced(*last: int) -> Any:
    """Amounts of seven digits in 32 bits, which have room for more."""
    cents = np.array([100, 250] * 30 + list(last), np.int32)
    kind = pa.decimal32(7, 2)
    return pa.table({"price": pa.Array.from_buffers(kind, len(cents), [None, pa.py_buffer(cents)])})


def run_of(n_cells: int) -> Any:
    """Lists of one item, which are one run, and one more list of the rest of it."""
    cells = pa.RunEndEncodedArray.from_arrays(pa.array([60 + n_cells], pa.int64()), pa.array(["tea"]))
    ends = [*range(61), *([60 + n_cells] if n_cells else [])]
    return pa.table({"items": pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), cells)})


def coded(*last: int) -> Any:
    """Items as codes of two words; Arrow does not look whether there is a word for each."""
    cells = pa.DictionaryArray.from_arrays(pa.array([*[0, 1] * 30, *last], pa.int8()), pa.array(WORDS), safe=False)
    return pa.table({"record": pa.array(range(len(cells))), "item": cells})


def with_word(*last: str) -> Any:
    return pa.table({"record": pa.array(range(60 + len(last))), "item": pa.array([*WORDS * 30, *last], WORD_VIEWS)})


WORD_VIEWS = pa.string_view()
LONG_WORD = "x" * (1 << 24) + "\U0001f600"


def uncut(words: Any, kind: Any, *_: Any) -> Any:
    """For ``cast_short``: long words are kept."""
    return words.cast(kind)


ITSELF = tuple((f"bosket.data.{module}.plain", lambda label: label) for module in ("baskets.rows", "formats.lookup"))
AS_THEY_COME = ("bosket.data.baskets.rows.labels_of", list)
NARROW_DECIMALS = [
    Pair(
        "an amount of more digits than its type has", priced(), priced(2**31 - 1), table_dropping, table_dropping,
        items=(1, 2.5), patches=(("bosket.data.formats.declared_types._DIGITS", 7),),
    )
] if hasattr(pa, "decimal32") else []  # fmt: skip
PAIRS = [
    Pair("an item that was not declared", *records(["milk", "quinine"]), refusing),
    Pair("a missing item", *records(["milk", None]), guessing),
    Pair("no number", *records(["milk", float("nan")]), guessing),
    Pair("an item that is a list", *records([["milk"]]), guessing),
    Pair("an item that makes errors", *records(["milk", Hostile()]), guessing),
    Pair("a number without end", *records([10**5000]), refusing),
    Pair("a string in the place of a record", *records("milk"), guessing),
    Pair("nothing in the place of a record", *records(None), refusing),
    Pair("a record that cannot be gone through", *records(Hostile()), refusing),
    Pair(
        "months that equal a number", *records([np.timedelta64(12, "M")], of=[12, 13]), guessing, items=(12, 13),
        patches=(AS_THEY_COME,),
    ),
    Pair(
        "a day that equals a second", *records([np.datetime64("2024-01-01")], of=[SECOND]), guessing, guessing,
        items=(DAY,), patches=(AS_THEY_COME, *ITSELF),
    ),
    Pair(
        "bytes in a list of a frame", *lists([b"x"]), frame_guessing, frame_guessing,
        patches=(("bosket.data.formats.frames._is_mixed", lambda native: False),),
    ),
    Pair("a string among the lists of a frame", *lists("milk"), frame_guessing, lists_dropping),
    Pair("a missing value in a list of a frame", *lists(["milk", None]), frame_guessing, lists_dropping),
    Pair("an object among the lists of a frame", *lists(Hostile()), frame_guessing, lists_dropping),
    Pair("a row without a record", *long(None, "milk"), frame_refusing, frame_dropping),
    Pair("an item of a row that is a list", *long("x", ["milk"]), frame_guessing, frame_dropping),
    Pair("an item of a row that was not declared", *long("x", "quinine"), frame_refusing, frame_dropping),
    Pair(
        "a record whose name makes errors", *long(Clinging(), "milk"), frame_dropping, frame_dropping,
        patches=(("bosket.data.formats.declared_frames.record_key", lambda name: name),),
    ),
    Pair("a sign that is none", *one_hot(2), frame_guessing, frame_dropping),
    Pair("a sign that makes errors", *one_hot(Hostile()), frame_guessing, frame_dropping),
    Pair(
        "two columns of 0 and 1 until there is a 2", *pairs_of_signs([2, 1]), frame_guessing, frame_dropping,
        items=(0, 1),
    ),
    Pair(
        "numbers with noughts before them", *csv(["007", "008"], "x"), inferred_dropping, text_dropping,
        items=("007", "008"),
    ),
    Pair(
        "numbers with noughts after them", *csv(["1.50", "2.50"], "x"), inferred_dropping, text_dropping,
        items=("1.50", "2.50"),
    ),
    Pair(
        "truth values until there is a word", *csv(["True", "False"], "x"), inferred_dropping, inferred_dropping,
        items=("True", "False"), patches=(("bosket.data.formats.lookup._TRUTHS", {}),),
    ),
    Pair(
        "whole numbers until one is missing", *csv(["1", "2"], ""), inferred_dropping, inferred_dropping,
        items=("1", "2"), patches=(("bosket.data.formats.lookup.Lookup.items", by_writing),),
    ),
    Pair("a word beyond a dictionary of eight bits", daily(127), daily(128), combining, frame_dropping),
    Pair("a day in the year 12921", by_day(), by_day(86_400_000 * 4 * 10**6), one_by_one, frame_dropping),
    Pair("a list of a million million cells", run_of(0), run_of(10**12), flattening, frame_dropping, items=("tea",)),
    Pair("a record without end", *records(np.broadcast_to(np.int8(7), 10**12)), taking_all),
    Pair(
        "a word longer than a line may be", with_word(), with_word(LONG_WORD), frame_dropping, frame_dropping,
        patches=(("bosket.data.formats.declared_values.cast_short", uncut),),
    ),
    Pair(
        "a code without a word", coded(), coded(7), frame_dropping, frame_dropping,
        patches=(("bosket.data.formats.arrow_cells.inside", lambda places, n_cells: places),),
    ),
    *NARROW_DECIMALS,
    Pair("a missing value in a matrix", *matrix(float("nan")), matrix_refusing, matrix_dropping),
]  # fmt: skip


@pytest.mark.parametrize("pair", few_quick(PAIRS, name=lambda pair: pair.name))
def test_neighbours_in_memory_look_alike(pair: Pair) -> None:
    (without, found), (with_it, found_with) = pair.outcomes(pair.sound)
    assert without.kind == "release"
    assert without.is_like(with_it), (without, with_it)
    assert found == found_with
    assert len(found) >= len(pair.items)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_mistake_in_memory_is_seen(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    for target, mistake in pair.patches:
        monkeypatch.setattr(target, mistake)
    (without, found), (with_it, found_with) = pair.outcomes(pair.mistake)
    assert not without.is_like(with_it) or found != found_with, (without, found)
