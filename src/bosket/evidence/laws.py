"""Laws fitted to the reports of this package's mechanisms: what each report has to do with the cells of a table."""

from __future__ import annotations

import math

import numpy as np

from bosket.collected import Collected
from bosket.counting.base import Counts, Words
from bosket.counting.distinct_rows import (
    AT_ONCE,
    Multiplicities,
    RowColumns,
    added,
    alike_together,
    joined_by_bytes,
    joined_by_order,
)
from bosket.data import Table, TableDomain
from bosket.errors import ParameterError
from bosket.evidence.answers import AnswersEvidence
from bosket.evidence.base import Evidence
from bosket.evidence.block_laws import MOST_ANSWERS, MOST_CELLS, refuse_any_law
from bosket.evidence.fitted import FittedEvidence
from bosket.evidence.of import evidence_of, fitted_by, no_law
from bosket.mechanisms.flip import FlipChannel
from bosket.mechanisms.gamma_diagonal import GammaDiagonalChannel
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.channel import AskChannel
from bosket.models.loglinear import LogLinear
from bosket.models.projection import Heard
from bosket.models.room import too_large
from bosket.models.weighed import FlippedBits
from bosket.threads import slices

FEW_CHANCES = 1 << 25
"""Different reports times cells, up to which reports of bits have one law."""
_NARROW = 4  # words of a report, up to which sorting by one after another is faster


def law_of_answers(unbiased: AnswersEvidence, model: LogLinear) -> FittedEvidence:
    """A law fitted to answers."""
    heard = [
        Heard(
            one.attributes,
            one.shape,
            one.answers,
            shown,
            one.keep,
            one.by_chance,
            int(n) if one.told.is_hashed else None,
        )
        for one, shown, n in zip(unbiased.channel.asked, unbiased.numbers, unbiased.asked, strict=True)
        if n
    ]
    return FittedEvidence(unbiased.channel.domain, heard, unbiased, model)


def law_of_table(table: Table, model: LogLinear | None = None) -> FittedEvidence:
    """A law fitted to raw records, all of them told: a pilot."""
    unbiased = evidence_of(table)
    sizes = tuple(int(size) for size in table.domain.sizes)
    n_cells = _few_cells(sizes)
    cells = np.ravel_multi_index(tuple(np.asarray(table.codes).T), sizes)
    shown: Counts = np.bincount(cells, minlength=n_cells)
    heard = Heard(tuple(range(len(sizes))), sizes, np.arange(n_cells), shown, 1.0, 0.0)
    return FittedEvidence(table.domain, [heard], unbiased, model or LogLinear())


def _few_cells(sizes: tuple[int, ...]) -> int:
    n_cells = math.prod(sizes)
    if n_cells > MOST_CELLS:
        raise ParameterError(
            f"A law of whole records can be fitted to tables of at most {MOST_CELLS} cells, got {n_cells}.",
            parameter="model",
            value=n_cells,
        )
    return n_cells


@fitted_by.register(AskChannel)
def _of_answers(channel: AskChannel, reports: Collected, unbiased: AnswersEvidence, model: LogLinear) -> FittedEvidence:
    return law_of_answers(unbiased, model)


@fitted_by.register(GammaDiagonalChannel)
def _of_cells(
    channel: GammaDiagonalChannel, reports: Collected, unbiased: Evidence, model: LogLinear
) -> FittedEvidence:
    """The gamma-diagonal matrix is one question about everything."""
    sizes = tuple(int(size) for size in channel.domain.sizes)
    n_cells = _few_cells(sizes)

    def histogram(batch: Batch, counts: Multiplicities | None) -> Counts:
        shown: Counts = np.zeros(n_cells, np.int64)
        for start, stop in slices(len(batch), AT_ONCE):
            cells = _cells(batch["report"][start:stop], channel, sizes)
            shown += added(cells, None if counts is None else counts[start:stop], n_cells)
        return shown

    shown = reports.summed("cells", histogram)
    attributes = tuple(range(len(sizes)))
    heard = Heard(attributes, sizes, np.arange(n_cells), shown, channel.keep, (1 - channel.keep) / n_cells)
    return FittedEvidence(channel.domain, [heard], unbiased, model)


@fitted_by.register(FlipChannel)
def _of_bits(channel: FlipChannel, reports: Collected, unbiased: Evidence, model: LogLinear) -> FittedEvidence:
    """FlippedBits of a table, whose coins are apart; reports of baskets have no cells."""
    if not isinstance(channel.domain, TableDomain):
        raise no_law(reports, model)
    sizes = tuple(int(size) for size in channel.domain.sizes)
    refuse_any_law(sizes)  # before reports are told apart, which takes long where they are wide
    found = alike_together([reports.batch["report"]], reports.multiplicities, _joined, most=MOST_ANSWERS)
    if found is None:
        raise too_large(f"a law is fitted to at most {MOST_ANSWERS} answers, and there are more different reports")
    (words,), shown = found
    bits = FlippedBits(sizes, words, shown, channel.present, channel.absent)
    most_cells = max(1, FEW_CHANCES // len(words))
    return FittedEvidence(channel.domain, [bits], unbiased, model, most_cells=most_cells)


def _joined(columns: RowColumns, numbers: Multiplicities) -> tuple[RowColumns, Multiplicities]:
    """The different rows of words, in the order of their values: of wide ones as bytes, which are sorted once."""
    (words,) = columns
    if words.shape[1] <= _NARROW:
        found, sums = joined_by_order(list(words.T), numbers)
        return [np.stack(found, axis=1)], sums
    (rows,), sums = joined_by_bytes([words.astype(">u8")], numbers)
    return [rows.astype(np.uint64)], sums


def _cells(words: Words, channel: GammaDiagonalChannel, sizes: tuple[int, ...]) -> Counts:
    """The cell that each report names."""
    cell: Counts = np.zeros(len(words), np.int64)
    offsets = channel.domain.offsets.tolist()
    for size, start in zip(sizes, offsets, strict=False):
        value = np.zeros(len(words), np.int64)
        for at in range(size):
            item = start + at
            value += at * (words[:, item // 64] >> np.uint64(item % 64) & np.uint64(1)).astype(np.int64)
        cell = cell * size + value
    return cell
