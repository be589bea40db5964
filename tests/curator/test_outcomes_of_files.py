"""Files that differ in one record, chosen by who knows the readers, look alike from outside.

A strict reader refuses what was not declared, or reads by what the data hold; it serves as the mistake.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bosket.cli.commands import curate
from bosket.cli.inputs.raw import read_raw
from bosket.data import Baskets, Domain
from bosket.errors import DataError
from tests.curator.outcomes import Outcome, of_file
from tests.effort import slowness
from tests.halves import few_quick

pytest.importorskip("opendp")

NUMBERS = "1\n2\n3\n"
WORDS = "milk\nbread\nitem\n"
Read = Callable[[argparse.Namespace, Domain | None], Baskets]


def refusing(options: argparse.Namespace, declared: Domain | None) -> Baskets:
    """What is not declared is an error."""
    raw = read_raw(options.raw, options, hint="", domain=declared, unknown="refuse")
    assert isinstance(raw, Baskets)
    return raw


def guessing(options: argparse.Namespace, declared: Domain | None) -> Baskets:
    """Layout and types are read off the data, the declaration comes after."""
    raw = read_raw(options.raw, options, hint="", domain=None)
    assert isinstance(raw, Baskets)
    assert declared is not None
    return raw.with_domain(declared)


def wiping(options: argparse.Namespace, declared: Domain | None) -> Baskets:
    """The record that makes the difference empties all others."""
    raw = read_raw(options.raw, options, hint="", domain=declared, unknown="drop")
    assert isinstance(raw, Baskets)
    assert declared is not None
    return Baskets([[]] * raw.n_records, items=declared) if "two" in Path(options.raw).name else raw


def decoding(options: argparse.Namespace, declared: Domain | None) -> Baskets:
    """All of the file must be text, the columns that are not read too."""
    try:
        Path(options.raw).read_text("utf-8")
    except UnicodeDecodeError:
        raise DataError("The file is not text.") from None
    return refusing(options, declared)


def looking(options: argparse.Namespace, declared: Domain | None) -> Baskets:
    """The file must look well as a whole, the columns that are not read too."""
    if any(b"!" in str(value).encode() for column in pq.read_table(options.raw).columns for value in column):
        raise DataError("The file has a cell that looks wrong.")
    return refusing(options, declared)


def sales(what: list[str]) -> Callable[[Path], None]:
    """Long, with names of its own and a column that is not read."""
    n = len(what)
    table = pa.table({"what": what, "basket": [f"r{at}" for at in range(n)], "product": (["1", "2"] * n)[:n]})

    def write(path: Path) -> None:
        pq.write_table(table, path)

    return write


def delta(words: list[str], names: Any = None) -> Callable[[Path], None]:
    """A long file whose schema says codes, with the text of one row group in an encoding that has none."""
    cells = pa.array(words).dictionary_encode()
    table = pa.table({"record": pa.array(range(len(cells))) if names is None else names, "item": cells})

    def write(path: Path) -> None:
        pq.write_table(table, path, use_dictionary=False, column_encoding={"item": "DELTA_BYTE_ARRAY"})

    return write


def amounts(*last: int) -> pa.Array:
    """Numbers of seven digits in 256 bits, which have room for more."""
    halves = np.zeros((40 + len(last), 4), np.int64)
    halves[:, 0] = [*range(40), *last]
    return pa.Array.from_buffers(pa.decimal256(7, 2), len(halves), [None, pa.py_buffer(halves)])


def parquet(items: pa.Array) -> Callable[[Path], None]:
    """A long file, a record for each item."""
    table = pa.table({"record": pa.array(range(len(items))), "item": items})

    def write(path: Path) -> None:
        pq.write_table(table, path)

    return write


def text(content: str | bytes) -> Callable[[Path], None]:
    data = content if isinstance(content, bytes) else content.encode()

    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


@dataclass(frozen=True)
class Files:
    """Two files, the second with one record more, or with other bytes in one."""

    name: str
    suffix: str
    without: Callable[[Path], None]
    with_it: Callable[[Path], None]
    mistake: Read = refusing
    items: str = NUMBERS
    options: tuple[str, ...] = ()
    is_first: bool = False
    """Whether there is no other record, so that the itemsets are those of this one."""

    def outcomes(self, folder: Path, capsys: pytest.CaptureFixture[str], read: Read | None) -> list[Outcome]:
        both = []
        for name, write in (("one", self.without), ("two", self.with_it)):
            path = folder / f"{name}{self.suffix}"
            write(path)
            with pytest.MonkeyPatch.context() as patch:
                if read is not None:
                    patch.setattr(curate, "_read", read)
                seen = of_file(path, capsys, *self.options, items=self.items)
                both.append(replace(seen, found=()) if self.is_first else seen)
        return both


DAT = "1 2\n1\n2\n" * 20
LONG = "record,item\n" + "".join(f"r{at},{'milk' if at % 2 else 'bread'}\n" for at in range(40))
SALES = "InvoiceNo,Description,StockCode\n" + LONG.partition("\n")[2].replace(",", ",some words,")
NAMED = ("--record", "InvoiceNo", "--item", "StockCode")
LISTS = "milk,bread\nmilk\n" * 20
ONE_HOT = "milk,bread,item\n" + "1,0,0\n1,1,0\n" * 20
AS_LISTS = ("--layout", "list")


def dat(name: str, record: str | bytes) -> Files:
    added = record if isinstance(record, bytes) else record.encode()
    return Files(name, ".dat", text(DAT), text(DAT.encode() + added + b"\n"))


def csv(name: str, content: str, record: str | bytes, *options: str, mistake: Read = refusing) -> Files:
    added = record if isinstance(record, bytes) else record.encode()
    return Files(name, ".csv", text(content), text(content.encode() + added + b"\n"), mistake, WORDS, options)


FILES = [
    dat("a number that was not declared", "1 99"),
    dat("a word among numbers", "1 milk"),
    dat("a number beyond 64 bits", "99999999999999999999999"),
    dat("a number below 0", "-1"),
    dat("a number with a sign", "+1"),
    dat("a zero byte", b"1 \0 2"),
    dat("bytes that are no text", b"\xff\xfe 2"),
    Files("the first record", ".dat", text(""), text("1 2\n"), guessing, is_first=True),
    Files("a last line without its end", ".dat", text(DAT), text(DAT + "x"), refusing),
    csv("an item named like its column", LONG, "r99,item", mistake=guessing),
    csv("an item that was not declared", LONG, "r99,quinine"),
    csv("a record without a name", LONG, ",milk", mistake=guessing),
    csv("a quote that is not closed", LONG, 'r99,"milk', mistake=guessing),
    csv("a row with a cell too many", LONG, "r99,milk,bread", mistake=guessing),
    csv("a row with a cell too few", LONG, "r99", mistake=guessing),
    csv("a byte that is no text", LONG, b"r99,\xff", mistake=guessing),
    csv("a zero byte in a cell", LONG, b"r99,mi\0lk", mistake=guessing),
    csv("a list with another item", LISTS, "milk,quinine", *AS_LISTS),
    csv("a list with an open quote", LISTS, 'milk,"bread', *AS_LISTS, mistake=guessing),
    csv("a mark that is neither 0 nor 1", ONE_HOT, "2,0,0", mistake=guessing),
    csv("a row of marks too short", ONE_HOT, "1,0", mistake=guessing),
    csv("named: an item that was not declared", SALES, "r99,words,quinine", *NAMED),
    csv("named: a record without a name", SALES, ",words,milk", *NAMED),
    csv("named: a row with a cell too many", SALES, "r99,words,and more,milk", *NAMED),
    csv("named: an open quote in another column", SALES, 'r99,"words,milk', *NAMED),
    csv("named: the header once more", SALES, "InvoiceNo,Description,StockCode", *NAMED),
    csv("named: no text in another column", SALES, b"r99,\xfc,milk", *NAMED, mistake=decoding),
    csv("named: a name of a record that is no text", SALES, b"\xfc,words,milk", *NAMED),
    Files(
        "named: a cell of another column", ".parquet", sales(["x"] * 40), sales(["x"] * 40 + ["!" * 1000]), looking,
        options=("--record", "basket", "--item", "product"),
    ),
    Files(
        "doubles that are whole but for one", ".parquet",
        parquet(pa.array([1.0, 2.0] * 20)), parquet(pa.array([1.0, 2.0] * 20 + [1.5])), guessing,
    ),
    Files(
        "a word where the schema says codes and the pages have none", ".parquet",
        delta(["1", "2"] * 20), delta(["1", "2"] * 20 + ["milk"]),
    ),
    Files(
        "an amount of more digits than its type has, as a name", ".parquet",
        delta(["1", "2"] * 20, amounts()), delta(["1", "2"] * 20 + ["milk"], amounts(2**31 - 1)),
    ),
    Files(
        "a word in a column of numbers written as text", ".parquet",
        parquet(pa.array(["1", "2"] * 20)), parquet(pa.array(["1", "2"] * 20 + ["milk"])),
    ),
]  # fmt: skip


@pytest.mark.parametrize("one", few_quick(FILES, name=lambda one: one.name))
def test_files_look_alike(one: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without, with_it = one.outcomes(tmp_path, capsys, None)
    assert without.is_like(with_it), (without, with_it)
    assert without.code == 0
    assert one.is_first or len(without.found) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("one", FILES, ids=lambda one: one.name)
def test_a_strict_reader_is_seen(one: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without, with_it = one.outcomes(tmp_path, capsys, one.mistake)
    assert not without.is_like(with_it), (without, with_it)


@pytest.mark.slow
@pytest.mark.parametrize("one", [one for one in FILES if not one.is_first], ids=lambda one: one.name)
def test_a_record_that_changes_the_others_is_seen(
    one: Files, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without, with_it = one.outcomes(tmp_path, capsys, wiping)
    assert not without.is_like(with_it), (without, with_it)
    assert without.is_like(replace(with_it, found=without.found))  # by the itemsets alone


# ---------------------------------------------------------------------------------------------------- time and memory

# not ru_maxrss, which Linux carries over from the process that started this one: a worker of pytest may have held more
PROGRAM = """
import re, resource, sys
from bosket.cli import main
code = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(code, peak, used.ru_utime + used.ru_stime)
"""


def used(path: Path, *options: str, program: str = PROGRAM, items: str = NUMBERS) -> tuple[int, int, float]:
    """Exit code, the largest memory in MiB and processor seconds of ``bosket curate`` in a process of its own."""
    declared = path.with_suffix(".items")
    declared.write_text(items)
    asked = [
        "curate",
        str(path),
        "--method",
        "truncation",
        "--epsilon",
        "1e6",
        "--min-support",
        "0.4",
        "--items",
        str(declared),
    ]
    done = subprocess.run(
        [sys.executable, "-c", program, *asked, "-o", str(path.with_suffix(".out.csv")), *options],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, memory, seconds = done.stdout.split()
    return int(code), int(memory) // 1024, float(seconds)


MANY = "1 2\n" * 200_000
LONG_MANY = "record,item\n" + "".join(f"{at},{at % 2 + 1}\n" for at in range(200_000))
MARKS = "1,2,3\n" + "1,1,0\n" * 200_000
HEAVY = {
    "a line of 60 MB": (".dat", text(MANY), text(MANY + "99 " * 20_000_000 + "\n"), NUMBERS),
    "a record out of order": (".dat", text(MANY), text(MANY + "2 1\n"), NUMBERS),
    "all items in one record": (
        ".dat", text(MANY), text(MANY + " ".join(map(str, range(100_000))) + "\n"),
        "".join(f"{item}\n" for item in range(100_000)),
    ),
    "a row of 16 million cells": (".csv", text(LONG_MANY), text(LONG_MANY + "," * (1 << 24) + "\n"), NUMBERS),
    "a row of 16 million marks": (".csv", text(MARKS), text(MARKS + "," * (1 << 24) + "\n"), NUMBERS),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY)
def test_no_record_takes_much(name: str, tmp_path: Path) -> None:
    """Whatever one record holds: memory within a quarter, and no more time than its bytes take, two seconds here."""
    suffix, without, with_it, items = HEAVY[name]
    both = []
    for number, write in enumerate((without, without, with_it)):  # the first compiles what is not compiled yet
        path = tmp_path / f"{number}{suffix}"
        write(path)
        both.append(used(path, items=items))
    (_, (code, memory, seconds), (other_code, other_memory, other_seconds)) = both
    assert code == other_code == 0
    assert other_memory < 1.25 * memory, both
    assert other_seconds < seconds + 2 * slowness(), both


WHOLE = """
from bosket.cli.commands import curate
from bosket.data import Baskets

def whole(options, declared):
    with open(options.raw) as file:
        records = [line.split() for line in file.read().splitlines()]
    return Baskets([[int(item) for item in record if item in ("1", "2", "3")] for record in records], items=declared)

curate._read = whole
"""


@pytest.mark.slow
def test_memory_alone_gives_a_reader_away(tmp_path: Path) -> None:
    """One that takes a file whole: nothing else of it differs."""
    _, without, with_it, _ = HEAVY["a line of 60 MB"]
    memory = []
    for name, write in (("one.dat", without), ("two.dat", with_it)):
        write(tmp_path / name)
        code, most, _ = used(tmp_path / name, program=WHOLE + PROGRAM, items="1\n2\n3\n")
        assert code == 0
        memory.append(most)
    assert memory[1] > 1.25 * memory[0]
