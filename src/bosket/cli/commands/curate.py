"""``bosket curate``: frequent itemsets of raw baskets under differential privacy.

Nothing exact is said: no number of records, no count, no time of a step.
"""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bosket.cli.commands.budget import in_options
from bosket.cli.inputs.attributes import add_table, check_table
from bosket.cli.inputs.files import STANDARD_INPUT, check_output, content_of
from bosket.cli.inputs.options import (
    Commands,
    add_command,
    add_input,
    add_report,
    add_result,
    clash,
    fraction,
    not_negative,
    positive,
    whole,
)
from bosket.cli.views.console import Work, say
from bosket.cli.views.results import check_result, is_table, write_result
from bosket.cli.views.tables import print_table, print_text
from bosket.data.formats.atomic import atomic_path
from bosket.errors import BosketError
from bosket.reporting.export import ResultKind
from bosket.reporting.text import count_text

if TYPE_CHECKING:
    import pandas as pd

    from bosket.budget.budgets import Budget
    from bosket.curator import Release
    from bosket.data import Domain
    from bosket.data.formats.vocabulary import Unknown
    from bosket.mechanisms.base import Records

RELEASE = ResultKind("release", ("itemsets",))
UNKNOWN = "unknown"
"""The value that cells of a table have which stand for no declared one."""
_ROWS = 20
_READ_OFF = "note: which items, or values, occur was read off the records as known to everybody, and is not protected"


def add_parser(commands: Commands) -> None:
    command = add_command(commands, run)
    command.usage = (
        "%(prog)s [options] RAW --epsilon E (--min-support S | --top-k K) (--items FILE | --items-are-public | --table)"
    )
    command.add_argument(
        "raw", metavar="RAW", help="a file of raw baskets, or with --table of a raw table; '-' for standard input"
    )
    command.add_argument("--epsilon", type=positive("epsilon"), required=True, metavar="E", help="all that this costs")
    wanted = command.add_mutually_exclusive_group(required=True)
    wanted.add_argument(
        "--min-support", type=fraction("min_support"), metavar="S", help="all itemsets above this, a fraction in (0, 1]"
    )
    wanted.add_argument("--top-k", type=whole("k", 1), metavar="K", help="the K most frequent itemsets")
    items = command.add_mutually_exclusive_group()
    items.add_argument(
        "--items",
        type=Path,
        metavar="FILE",
        help="the items asked about, a label a line; all others are left out of the records, without a word",
    )
    items.add_argument(
        "--items-are-public",
        action="store_true",
        help="which items, or values of a table, occur in the file is known to all anyway",
    )
    command.add_argument(
        "--method",
        choices=("sieve", "truncation"),
        default="sieve",
        help="sieve (default): rounds over itemsets that are undecided; truncation: one size of itemsets after "
        "another, in records that are cut",
    )
    command.add_argument(
        "--delta",
        type=not_negative("delta"),
        default=0.0,
        metavar="D",
        help="(epsilon, delta) by Gaussian noise, for instance 1e-6 (default: 0, pure); not with --method truncation",
    )
    command.add_argument(
        "--max-size", type=whole("max_size", 1), metavar="K", help="no itemset has more items (default: any number)"
    )
    command.add_argument(
        "--person",
        metavar="NAME",
        help="protect all records of a person together: the column that says whose a row is, in a CSV file of baskets "
        "with a row per item; rows without one are left out",
    )
    command.add_argument(
        "--max-records-per-person",
        type=whole("max_records_per_person", 1),
        metavar="M",
        help="with --person: of each person so many records are used at most, drawn at random",
    )
    command.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger to pay from; see 'bosket budget'")
    command.add_argument("--budget", metavar="NAME", help="the budget in the ledger")
    command.add_argument(
        "--neighbours",
        choices=("add-remove", "replace"),
        help="data sets that must look alike: one record more or less (default), or one in place of another",
    )
    add_input(command)
    add_result(command)
    add_report(command)
    add_table(command)


def run(options: argparse.Namespace) -> None:
    from bosket import curator

    _check_declared(options)
    _check_method(options)
    _check_persons(options)
    files = (options.raw, options.items, options.ledger, options.schema)
    inputs = [path for path in files if path not in (None, STANDARD_INPUT)]
    check_result(options, RELEASE, inputs=inputs)
    if options.report is not None:
        check_output(options.report, suffixes=(".html", ".htm"), inputs=[*inputs, options.output])
    if (options.ledger is None) != (options.budget is None):
        given, other = ("budget", "--ledger FILE") if options.budget else ("ledger", "--budget NAME")
        raise clash(given, f"come with {other}", options)
    _check_can_be_written(options.output)
    _check_can_be_written(options.report)
    budget = _budget(options)
    work = Work(options, is_timed=False)
    declared = _declared(options)
    asked: dict[str, Any] = {
        name: getattr(options, name) for name in ("epsilon", "delta", "method", "max_size", "neighbours")
    }
    asked["budget"] = budget
    with _telling_what_was_paid(budget), contextlib.nullcontext() if budget is None else budget.at_one_time():
        with work.step(f"reading {options.raw}"):
            if options.person is None:
                raw = _read(options, declared)
            else:
                raw, asked["persons"] = _read_persons(options, declared)
                asked["max_records_per_person"] = options.max_records_per_person
        asked["vocabulary"] = raw.domain if options.items_are_public else declared
        with work.levels("curating") as asked["on_progress"]:
            release: curator.Release
            if options.top_k is None:
                release = curator.mine(raw, min_support=options.min_support, **asked)
            else:
                release = curator.top_k(raw, k=options.top_k, **asked)
    frame = release.to_frame()
    about = release.about
    say(
        f"{count_text(len(release), 'itemset')} under {_costs(about)} "
        f"({about['neighbours']}), of about {release.n_records:,} records"
    )
    if options.ledger is not None:
        entries = _entries([entry["number"] for entry in about["entries"]])
        say(f"paid from the budget {about['budget']!r}: {entries}{_left(budget)}")
    for note in _notes(about, len(release)):
        say(note)
    say(_READ_OFF if options.items_are_public else _left_out(options))
    if options.ledger is None:
        say("note: paid from no ledger: whoever runs this again spends as much again, and nobody counts")
    say(f"guarantee: {release.guarantee.sentence}")
    _deliver(release, frame, options)


def _deliver(release: Release, frame: pd.DataFrame, options: argparse.Namespace) -> None:
    """The table, text or file, then the page: the release itself comes first, as it is paid for."""
    if is_table(options):
        _show(frame)
        _write_page(release, frame, options)
        return
    try:
        write_result(frame, RELEASE, options)
    except BosketError:  # it is paid for, and cannot be had again
        print_text(frame, RELEASE, "json")
        raise
    _write_page(release, frame, options)


def _write_page(release: Release, frame: pd.DataFrame, options: argparse.Namespace) -> None:
    if options.report is not None:
        from bosket.reporting.released import release_page

        release_page(frame, sizes=release.sizes, guarantee=release.guarantee).write(options.report)
        say(f"wrote {options.report}")


def _costs(about: dict[str, Any]) -> str:
    from bosket.privacy.guarantee import rounded_up

    names = ("epsilon", "delta") if about.get("delta") else ("epsilon",)
    return ", ".join(f"{name} {rounded_up(about[name], 6)}" for name in names)


def _left(budget: Budget | None) -> str:
    """What the ledger has left; a release that is paid for is not lost where that cannot be read, and says why."""
    try:
        return "" if budget is None else f"; {_remaining(budget)} is left"
    except BosketError as problem:
        return f"; what is left cannot be read: {problem}"


def _remaining(budget: Budget) -> str:
    """With the delta, if one was ever granted."""
    left = budget.remaining
    return f"epsilon {left.epsilon!r}" + (f", delta {left.delta!r}" if budget.delta else "")


@contextlib.contextmanager
def _telling_what_was_paid(budget: Budget | None) -> Iterator[None]:
    """After Ctrl-C: whether anything was paid by then, which stays spent."""
    before = 0 if budget is None else len(budget.entries())
    try:
        yield
    except KeyboardInterrupt:
        entries = () if budget is None else budget.entries()[before:]
        if budget is None or not entries:
            say("nothing was paid" if budget is not None else "paid from no ledger")
        else:
            verb = "was" if len(entries) == 1 else "were"
            paid = _entries([entry.number for entry in entries])
            say(f"{paid} {verb} paid and stay{'s' if len(entries) == 1 else ''} spent; {_remaining(budget)} is left")
        raise


def _entries(numbers: Sequence[int]) -> str:
    """``entry 6`` of a ledger, or ``entries 1, 2``."""
    return f"{'entry' if len(numbers) == 1 else 'entries'} {', '.join(map(str, numbers))}"


def _check_can_be_written(path: Path | None) -> None:
    """Before anything is paid: a release that cannot be written is lost."""

    class Tried(Exception):  # noqa: N818 - no fault, but the way to undo a file
        pass

    if path is not None:
        with contextlib.suppress(Tried), atomic_path(path):
            raise Tried


def _notes(about: dict[str, Any], n_itemsets: int) -> Iterator[str]:
    """What the release leaves out, and why; all of it follows from noisy numbers."""
    if about.get("method") == "sieve":
        announced = about["announced"]
        if not n_itemsets and "k" not in about:
            yield f"note: nothing is frequent, with a probability of about {announced['f']:.0%}, by what was measured"
            return
        yield (
            f"note: about {announced['precision']:.0%} of these are expected to be frequent, and they to be "
            f"{announced['recall']:.0%} of all that are, by all that was measured"
            if "k" not in about
            else f"note: about {announced['precision']:.0%} of these are expected to be among the {about['k']:,} most "
            "frequent, by all that was measured"
        )
        return
    asked = about.get("min_support")
    if asked is not None and asked < about["discoverable"]:
        yield f"note: single items below a support of {about['discoverable']:.2g} cannot be told from noise here"
    most = min(about["settings"]["cap"], about.get("n_attributes", math.inf))  # a record of a table has no more items
    if about["cap"] == about["largest"] < most:
        sizes = count_text(about["cap"], "item")
        yield f"note: itemsets of more than {sizes} were not looked for: the noise would have drowned them"
    if "stopped" in about:
        yield f"note: {about['stopped']}, which were not counted"


def _check_declared(options: argparse.Namespace) -> None:
    """What may occur is declared: by a file of items, or of a table by values, bins or a schema; or it is public."""
    check_table(options)
    if options.table and options.items is not None:
        raise clash(
            "items", "not come with --table, whose values are declared with --values, --bins or --schema", options
        )
    if not options.table and options.items is None and not options.items_are_public:
        raise clash("items", "be given, or --items-are-public, or --table", options)


def _check_method(options: argparse.Namespace) -> None:
    if options.delta and options.method != "sieve":
        raise clash("delta", "not come with --method truncation", options)


def _check_persons(options: argparse.Namespace) -> None:
    if (options.person is None) != (options.max_records_per_person is None):
        given, other = ("max_records_per_person", "--person NAME") if options.person is None else (
            "person", "--max-records-per-person M"
        )  # fmt: skip
        raise clash(given, f"come with {other}", options)
    if options.person is None:
        return
    if options.method != "sieve":
        raise clash("person", "not come with --method truncation", options)
    is_csv = options.raw.lower().removesuffix(".gz").endswith(".csv") or options.input_format == "csv"
    if options.table or not is_csv or options.input_format not in (None, "csv") or options.layout not in (None, "long"):
        raise clash("person", "come with a CSV file of baskets that has a row per item", options)
    if options.raw == STANDARD_INPUT:
        raise clash("person", "come with a file, which is read twice, not with standard input", options)


def _left_out(options: argparse.Namespace) -> str:
    if options.table:
        return (
            f"note: cells that stand for no declared value, if there were any, are of the value {UNKNOWN!r}; if that "
            "is frequent, look at spelling and bins"
        )
    return (
        f"note: what {options.items} does not name was left out of the records, if there was any; if much is missing, "
        "look at spelling, blanks, --layout, and --record and --item"
    )


def _budget(options: argparse.Namespace) -> Budget | None:
    from bosket.budget.budgets import Budget

    with in_options():
        return None if options.ledger is None else Budget.open(options.ledger, options.budget)


def _declared(options: argparse.Namespace) -> Domain | None:
    """The items that may occur, before the data are looked at: what they are must not hang on these."""
    from bosket.cli.inputs.plans import read_items

    if options.items is None:
        return None
    return read_items(options.items, max_bytes=options.max_bytes)


def _read(options: argparse.Namespace, declared: Domain | None) -> Records:
    """The raw records; under declared items or values nothing in a record is refused, as a refusal would tell of it."""
    from bosket.cli.inputs.raw import read_raw

    hint = "Curate raw records; mine reports with 'bosket mine'."
    unknown: Unknown = "refuse" if declared is None else "drop"
    category = None if options.items_are_public else UNKNOWN
    return read_raw(options.raw, options, hint=hint, domain=declared, unknown=unknown, category=category)


def _read_persons(options: argparse.Namespace, declared: Domain | None) -> tuple[Records, list[bytes]]:
    """The raw records of persons, and whose each is; where items are public they are told by a first reading."""
    from bosket.data import Baskets
    from bosket.data.formats.declared_persons import read_csv_of_persons

    domain = _read(options, None).domain if declared is None else declared
    names = {name: getattr(options, name) for name in ("person", "record", "item")}
    csr, persons = read_csv_of_persons(content_of(options.raw, options), domain, **names)
    return Baskets.from_csr(csr.indptr, csr.indices, csr.domain), persons


def _show(frame: pd.DataFrame) -> None:
    from bosket.reporting.text import itemset_text, number

    best = frame.sort_values("support", ascending=False, kind="stable").head(_ROWS)
    rows = [
        [
            itemset_text(row["itemsets"]),
            number(row["support"], 4),
            f"{number(row['low'], 4)} to {number(row['high'], 4)}",
        ]
        for _, row in best.iterrows()
    ]
    print_table("Frequent itemsets, under differential privacy", ["itemset", "support", "95% interval"], rows)
    if len(frame) > len(best):
        say(f"{len(frame) - len(best):,} more; --format csv or -o FILE has all")
