"""What a classifier learns from: numbers of records by class and cell, or by class and value of each attribute.

Exact of raw tables (FRAPP's DIRECT), estimated of reports; a learner does not see the difference but in the variances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bosket.data import Attribute, Table, TableDomain
from bosket.errors import DataError
from bosket.evidence import Evidence, evidence_of
from bosket.learning.by_class import ByClassReports, in_the_clear, label_guarantee, split_domain
from bosket.learning.reconstruction import CellCounts, cell_counts
from bosket.mining import estimate
from bosket.models.room import NoLawError
from bosket.privacy import LocalGuarantee
from bosket.reports import Reports
from bosket.statistics.estimates import Floats
from bosket.threads import slices

MOST_MARGINALS = 1 << 22
"""Classes times values of attributes that marginals are worked out for: at this limit half a minute on one core, for
thousands of reports, and half a millisecond more for each class that has reports of its own."""
AT_ONCE = 1 << 16
"""Marginals that are estimated at once; each takes some 400 bytes meanwhile."""

Labels = npt.NDArray[Any]
"""Classes, or the class of each record."""


@dataclass(frozen=True)
class Labelled(ABC):
    """Estimates of numbers of records; all unbiased, with variances under the coins alone, and not clipped.

    domain     the attributes without the label
    classes    the values of the label
    n_records  how many records there are, of all classes together
    label      the name of the label, if it has one
    guarantee  what the people behind the records were promised; None for raw data
    """

    domain: TableDomain
    classes: Labels
    n_records: int
    label: str | None
    guarantee: LocalGuarantee | None

    @abstractmethod
    def class_counts(self) -> Floats:
        """Numbers of records by class."""

    @abstractmethod
    def cells(self) -> list[CellCounts]:
        """Numbers of records by cell of the attributes, for each class."""

    @abstractmethod
    def marginals(self) -> tuple[Floats, Floats]:
        """Numbers of records by class (rows) and value of an attribute (items of the domain), and their variances.

        These need no table of cells, and a value that many cells share is known better than any of them.
        """


@dataclass(frozen=True)
class ByClass(Labelled):
    """The label of every record is known: each class is estimated from its own reports, or counted."""

    parts: Sequence[Reports | Table]

    def class_counts(self) -> Floats:
        return np.array([len(part) for part in self.parts], float)

    def cells(self) -> list[CellCounts]:
        n_parts = sum(len(part) > 0 for part in self.parts)
        return [cell_counts(part, n_parts=n_parts) for part in self.parts]

    def marginals(self) -> tuple[Floats, Floats]:
        _check_marginals(len(self.parts), len(self.domain))
        labels = self.domain.labels
        value, variance = np.zeros((2, len(self.parts), len(labels)))
        for row, part in enumerate(self.parts):
            if len(part):
                evidence = evidence_of(part, model=None)  # single values need no law, which takes seconds a class
                share, spread = _estimated(evidence, ([label] for label in labels), len(labels))
                value[row], variance[row] = share * len(part), spread * len(part) ** 2
        return value, variance


@dataclass(frozen=True)
class Joint(Labelled):
    """The label was randomized as one more attribute: classes are estimated too, all from all reports."""

    reports: Reports
    attribute: Attribute

    @cached_property
    def _evidence(self) -> Evidence:
        return evidence_of(self.reports)

    def class_counts(self) -> Floats:
        wanted = [[label] for label in self.attribute.labels]
        try:
            found = estimate(self._evidence, wanted)
        except NoLawError:
            found = estimate(self.reports, wanted, model=None)
        return found.value * self.n_records

    def cells(self) -> list[CellCounts]:
        counts = cell_counts(self.reports)
        whole: TableDomain = self.reports.domain  # type: ignore[assignment]  # it has a label
        at = whole.position(self.attribute.name)
        parts = []
        for own in _places(counts.codes[:, at], len(self.attribute)):
            spare = 0 if counts.n_elsewhere == 0 else self.domain.n_cells - len(own)
            codes = np.delete(counts.codes[own], at, axis=1)
            part = replace(counts, codes=codes, value=counts.value[own], variance=counts.variance[own])
            parts.append(replace(part, n_elsewhere=spare))
        return parts

    def marginals(self) -> tuple[Floats, Floats]:
        _check_marginals(len(self.attribute), len(self.domain))
        shape = (len(self.attribute), len(self.domain))
        n = self.n_records
        try:
            value, variance = self._pairs(self._evidence)
        except NoLawError:  # of a block that only some of the pairs ask for
            value, variance = self._pairs(evidence_of(self.reports, model=None))
        return (value * n).reshape(shape), (variance * n**2).reshape(shape)

    def _pairs(self, evidence: Evidence) -> tuple[Floats, Floats]:
        """Supports of a class with a value, for all of both."""
        wanted = ([label, item] for label in self.attribute.labels for item in self.domain.labels)
        return _estimated(evidence, wanted, len(self.attribute) * len(self.domain))


def _estimated(evidence: Evidence, wanted: Iterator[list[Hashable]], n: int) -> tuple[Floats, Floats]:
    """Supports of ``n`` itemsets and their variances, some at a time."""
    value, variance = np.empty((2, n))
    for start, stop in slices(n, AT_ONCE):
        found = estimate(evidence, list(islice(wanted, stop - start)))
        value[start:stop], variance[start:stop] = found.value, found.variance
    return value, variance


def _places(codes: npt.NDArray[Any], classes: int) -> list[npt.NDArray[np.intp]]:
    """Where each class is found, in order; sorted once, so that many classes take no look at all records each."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(classes + 1))
    return [order[start:stop] for start, stop in pairwise(ends.tolist())]


def _check_marginals(classes: int, values: int) -> None:
    """Refuse more numbers than can be worked out in a bearable time."""
    if classes * values > MOST_MARGINALS:
        raise DataError(
            f"The classes times the values of attributes must be at most {MOST_MARGINALS:,}, got {classes:,} times "
            f"{values:,}.",
            hint="Group values of the label, or of the attributes with the most.",
        )


def labelled_of(
    data: ByClassReports | Reports | Table, labels: npt.ArrayLike | None = None, *, label: str | None = None
) -> Labelled:
    """The evidence in labelled records.

    ``ByClassReports``   as they are
    ``Reports``          with ``labels``, the class of each, in the clear; without, those of the attribute ``label``
                         (the last one if none is named), which was randomized with the others
    ``Table``            likewise, counted exactly
    """
    if labels is not None and (label is not None or isinstance(data, ByClassReports)):
        raise DataError("The classes of records must be given once: as an attribute, or as a list of labels.")
    evidence = _of_labels(data, labels) if labels is not None else _of_attribute(data, label)  # type: ignore[arg-type]
    if evidence.n_records == 0:
        raise DataError("There are no records to learn from.")
    return evidence


def _of_attribute(data: ByClassReports | Reports | Table, label: str | None) -> Labelled:
    if isinstance(data, ByClassReports):
        if label not in (None, data.label.name):
            raise DataError(f"The label of these reports is {data.label.name!r}, and no other.")
        parts = list(data.reports.values())
        classes = as_labels(data.classes)
        return ByClass(data.domain, classes, data.n_records, data.label.name, data.guarantee, parts)
    if label is None and isinstance(data, Reports):
        raise DataError(
            "Of plain reports it must be said which attribute is the label: fit(reports, label=...).",
            hint="Reports of randomize_by_class know their label.",
        )
    domain, attribute = split_domain(data.domain, label)
    classes = as_labels(attribute.values)
    if isinstance(data, Reports):
        promise = label_guarantee(data, label=attribute.name)
        return Joint(domain, classes, data.n_records, attribute.name, promise, data, attribute)
    codes = data.codes[:, data.domain.position(attribute.name)]
    rest = data.select(domain.names)
    parts_by_class = [rest[own] for own in _places(codes, len(attribute))]
    return ByClass(domain, classes, data.n_records, attribute.name, None, parts_by_class)


def _of_labels(data: Reports | Table, labels: npt.ArrayLike) -> Labelled:
    """Each record has its label beside it."""
    given = np.asarray(labels)
    if given.shape != (len(data),):
        raise DataError(f"There must be a label for each of the {len(data)} records.")
    if pd.isna(given).any():
        raise DataError("Every record must have a label; some are missing.")
    if not isinstance(data.domain, TableDomain):
        raise DataError("Only records of a table have a label: one value of each attribute.")
    try:
        classes, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise DataError("Labels must be of one kind, such as text or numbers: classes are sorted.") from None
    parts = [data[own] for own in _places(codes, len(classes))]
    guarantee = in_the_clear(data.guarantee, "the class label of the record") if isinstance(data, Reports) else None
    return ByClass(data.domain, classes, len(data), None, guarantee, parts)


def as_labels(values: Sequence[Hashable]) -> Labels:
    """The values of an attribute as an array: of their type if they have one in common, else of objects."""
    if len({type(value) for value in values}) == 1 and isinstance(values[0], str | bool | int | float):
        return np.array(values)
    result = np.empty(len(values), object)
    for at, value in enumerate(values):  # one by one: a tuple would be taken for a row
        result[at] = value
    return result
