"""The way from a record to the bytes that leave: this library's, a function's, or a program's.

A client is a function of one record that returns the bytes of one report: those of the plan's payload, or those of
``Reports.to_bytes``, which name the plan.  A record is what a person would type: a list of items, or of a table a
mapping from attribute to value.  Whoever writes a client in another language gives a command that reads a record a
line, as JSON, and writes a report a line, in hexadecimal digits.
"""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bosket import report_bytes
from bosket.audit.clients.programs import ran
from bosket.audit.clients.showing import Record as Record
from bosket.checks import check_positive
from bosket.collected import checked_batch
from bosket.data import Baskets, Table, TableDomain
from bosket.data.domain import label_to_json
from bosket.errors import BosketError, DataError, HopelessPlanWarning, ParameterError
from bosket.mechanisms.payload import Batch
from bosket.plan import Plan
from bosket.randomness import Randomness
from bosket.threads import slices

Person = Sequence[Hashable] | Mapping[str, Hashable]
"""A record as a person states it."""
ClientPath = Callable[[Any], bytes]

MOST_BYTES = 1 << 30
"""Of the reports of a client that are held at once."""
_CELLS = 1 << 20  # items of records that are randomized together
_SHOWN = 120  # characters of what a client said
_LINE = 1 << 10  # characters of a line that it may write, at least


@dataclass(frozen=True)
class Command:
    """A program that randomizes: a record a line on its input, as JSON; a report a line on its output, in hexadecimal.

    A record is a list of items, or of a table an object by attribute.  The program ends when its input does.
    """

    words: tuple[str, ...]
    seconds: float = 600.0

    def __post_init__(self) -> None:
        if not self.words or not all(isinstance(word, str) for word in self.words):
            raise ParameterError(
                "The 'words' parameter of Command must be a program and its arguments.",
                parameter="words",
                value=self.words,
            )
        check_positive("seconds", self.seconds)

    def many(self, people: Sequence[Person], *, longest: int = _LINE) -> list[bytes]:
        """The reports of these records, in their order; ``longest`` is that of a line, in letters."""
        given = b"".join(f"{_written(person)}\n".encode() for person in people)
        most = len(people) * max(longest, _LINE)
        try:
            done = ran(self.words, given, seconds=self.seconds, most=most, most_said=4 * _SHOWN)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:  # a name with a NUL is a ValueError
            raise DataError(f"The client '{self.words[0]}' could not be run: {type(error).__name__}.") from None
        if len(done.output) > most:
            raise DataError(f"The client '{self.words[0]}' wrote more than {most} bytes for {len(people)} records.")
        if done.code:
            said = done.said.decode("utf-8", "replace")[-_SHOWN:]
            raise DataError(f"The client '{self.words[0]}' ended with {done.code}: {said!r}.")
        answers = done.output.split(maxsplit=len(people))  # no more parts than that: words of a letter would be many
        if len(answers) != len(people):
            number = "more" if len(answers) > len(people) else f"{len(answers)} lines"
            raise DataError(f"The client '{self.words[0]}' gave {number} for {len(people)} records.")
        try:
            return [bytes.fromhex(answer.decode("ascii")) for answer in answers]
        except ValueError:  # no text at all, or no such digits
            raise DataError(f"The client '{self.words[0]}' must write hexadecimal digits, a report a line.") from None


def _written(person: Person) -> str:
    """A record in a line; labels that JSON has no word for in the form that plans give them."""
    if isinstance(person, Mapping):
        return json.dumps({name: label_to_json(value) for name, value in person.items()}, ensure_ascii=False)
    return json.dumps([label_to_json(label) for label in person], ensure_ascii=False)


@dataclass(frozen=True)
class Sent:
    """What a client made of some records, in their order."""

    batch: Batch
    """The reports that the plan allows; for those that it does not, another stands in their place."""
    wrong: int = 0
    """How many were no single report of the plan."""
    why: str = ""
    """What was wrong with the first of these."""
    notes: frozenset[str] = frozenset()
    """What reports said of their chance."""


def person_of(plan: Plan, record: Record) -> Person:
    """A record as a person states it."""
    domain = plan.domain
    if isinstance(domain, TableDomain):
        values = {domain.attributes[int(domain.groups[item])].name: item for item in record}
        return {
            name: domain.attributes[domain.position(name)].values[item - int(domain.offsets[domain.position(name)])]
            for name, item in values.items()
        }
    return [domain.labels[item] for item in record]


def records_of(plan: Plan, records: Sequence[Record]) -> Baskets | Table:
    """Records of the plan's domain."""
    domain = plan.domain
    if isinstance(domain, TableDomain):
        codes = np.array(records, np.int64) - np.asarray(domain.offsets, np.int64)[: len(domain.attributes)]
        return Table.from_codes(codes, domain)
    sizes = [len(record) for record in records]
    indices = np.array([item for record in records for item in record], np.int32)
    return Baskets.from_csr(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]), indices, domain)


def by_library(plan: Plan, records: Sequence[Record], times: int, rng: Randomness | None) -> Sent:
    """Reports of the records in turn, ``times`` times over, by ``Plan.randomize`` and through bytes."""
    payload = plan.channel.payload
    step = times if plan.channel.belong_together else max(1, _CELLS // max(1, sum(map(len, records))))
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HopelessPlanWarning)  # nobody is going to estimate from these few
        for start, stop in slices(times, step):
            made = plan.randomize(records_of(plan, records).repeat(stop - start), rng=rng)
            parts.append(payload.from_bytes(payload.to_bytes(made.batch)))
    return Sent(Batch.concat(parts))


def refuse_many(plan: Plan, n_reports: int) -> None:
    """Refuse more reports than are held in memory: plans come from others, and a report may be long."""
    most = MOST_BYTES // plan.channel.payload.width
    if n_reports > most:
        raise ParameterError(
            f"The 'trials' parameter must be smaller for this plan: {n_reports} reports of "
            f"{plan.channel.payload.width} bytes would be held, and at most {most} are.",
            parameter="trials",
            value=n_reports,
        )


def by_client(plan: Plan, client: ClientPath | Command, records: Sequence[Record], times: int) -> Sent:
    """The same by a client that is not ours: one call for each record, or one program for all of them."""
    people = [person_of(plan, record) for record in records]
    if isinstance(client, Command):
        longest = 2 * report_bytes.frame_width(plan, named=True) + 2
        return read_reports(plan, client.many(people * times, longest=longest))
    return read_reports(plan, [client(person) for _ in range(times) for person in people])


def read_reports(plan: Plan, answers: Sequence[object]) -> Sent:
    """The reports in these bytes, one each; what is no report of the plan is counted and replaced."""
    payload, notes = plan.channel.payload, set()
    rows = np.zeros((len(answers), payload.width), np.uint8)
    is_wrong, why = np.zeros(len(answers), bool), ""
    for at, answer in enumerate(answers):
        try:
            row, note = _row(plan, answer)
            rows[at] = row
            notes.add(note)
        except BosketError as error:
            is_wrong[at], why = True, why or str(error)
    try:
        batch = checked_batch(plan, payload.from_rows(rows[~is_wrong])) if not is_wrong.all() else None
    except BosketError:  # look for those that are wrong
        for at in np.flatnonzero(~is_wrong).tolist():
            try:
                checked_batch(plan, payload.from_rows(rows[at : at + 1]))
            except BosketError as error:
                is_wrong[at], why = True, why or str(error)
        batch = checked_batch(plan, payload.from_rows(rows[~is_wrong])) if not is_wrong.all() else None
    if batch is None:
        return Sent(Batch({"report": np.zeros((0, 1), np.uint64)}), len(answers), why)
    if is_wrong.any():  # the report before it, or the first sound one
        place = np.maximum.accumulate(np.where(is_wrong, -1, np.cumsum(~is_wrong) - 1))
        batch = batch.take(np.maximum(place, 0))
    return Sent(batch, int(is_wrong.sum()), why, frozenset(notes))


def _row(plan: Plan, answer: object) -> tuple[Any, str]:
    """The bytes of the one report of an answer, and what it says of its chance."""
    width = plan.channel.payload.width
    if not isinstance(answer, bytes | bytearray):
        raise DataError(f"A client must return bytes, got a {type(answer).__name__}.")
    data, note = bytes(answer), ""
    if len(data) != width:
        frames = report_bytes.split(plan, data)
        if len(frames.rows) != 1:
            raise DataError(f"A client must send one report for a record, got {len(frames.rows)}.")
        batch, _ = frames.read()
        data, note = plan.channel.payload.to_bytes(batch), frames.randomness
    return np.frombuffer(data, np.uint8), note
