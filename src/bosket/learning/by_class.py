"""Reports of records that have a class label.

ByClass: Agrawal and Srikant (SIGMOD 2000), section 4, as FRAPP uses it (Agrawal, Haritsa and Prakash, Data Mining and
Knowledge Discovery 18, 2009, section 8.2).  The label goes out in the clear; the other attributes are randomized, all
classes under one plan, and are reconstructed class by class.  The other way is to randomize the label as one more
attribute, which hides it too and costs accuracy: the domain has as many times more cells as there are classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bosket.data import Attribute, Table, TableDomain
from bosket.data.tables.domain import refused
from bosket.errors import DataError, ParameterError, PlanMismatchError
from bosket.mechanisms.base import Mechanism
from bosket.plan import Plan
from bosket.privacy import LocalGuarantee
from bosket.randomness import Randomness, Secure, check_randomness
from bosket.report_files import MAX_BYTES
from bosket.reports import Compared, Reports, compared, refuse_duplicates

if TYPE_CHECKING:
    from typing import Self


def split_domain(domain: object, label: str | None) -> tuple[TableDomain, Attribute]:
    """The attributes without the label, and the label; the last attribute is the label if none is named."""
    if not isinstance(domain, TableDomain):
        raise DataError("Only records of a table have a label: one value of each attribute.")
    name = domain.names[-1] if label is None else label
    if name not in domain.names or domain.n_attributes < 2:
        raise refused("label", "The 'label' parameter must name one of several attributes", name)
    return domain.select(other for other in domain.names if other != name), domain.attribute(name)


@dataclass(frozen=True)
class ByClassReports:
    """Randomized attributes of labelled records, class by class; ``len()`` is the number of records.

    label     the attribute that is sent in the clear; its values are the classes
    reports   from every class to its reports, all of one plan; a class without records has none
    """

    label: Attribute
    reports: Mapping[Hashable, Reports]

    def __post_init__(self) -> None:
        if not isinstance(self.label, Attribute):
            raise refused("label", "The 'label' parameter of ByClassReports must be an Attribute", self.label)
        if set(self.reports) != set(self.label.values):
            must = "The 'reports' parameter of ByClassReports must have an entry for each class, and no other"
            raise refused("reports", must, list(self.reports))
        ordered = {value: self.reports[value] for value in self.label.values}
        object.__setattr__(self, "reports", ordered)
        if len({reports.plan.digest for reports in ordered.values()}) > 1:
            raise PlanMismatchError("The reports of all classes must be made under one plan.")
        if not isinstance(self.domain, TableDomain):
            raise DataError("Reports by class must be those of a table.")
        if any(reports.respondents is not None for reports in ordered.values()):
            raise DataError(
                "Reports by class name no respondents: a file of them has no column for it.",
                hint="Take the names away: reports.without_respondents().",
            )
        if self.label.name in self.domain.names:
            raise ParameterError(
                f"The label must not be randomized too: {self.label.name!r} is an attribute of the plan.",
                parameter="label",
                value=self.label.name,
            )

    @classmethod
    def concat(cls, parts: Iterable[ByClassReports], *, allow_duplicates: bool = False) -> ByClassReports:
        """Reports of one study put together, as a collector does.

        A batch that is given twice is refused: as a whole, or all reports of one class.
        """
        parts = list(parts)
        if not parts:
            raise DataError("There are no reports to put together.")
        label = parts[0].label
        if any(part.label != label for part in parts):
            raise PlanMismatchError("Reports by class can be put together only when they have the same label.")
        together = {
            value: Reports.concat((part.reports[value] for part in parts), allow_duplicates=allow_duplicates)
            for value in label.values
        }
        if not allow_duplicates:
            refuse_duplicates([_compared(part) for part in parts])  # few reports of a class may come twice, all do not
        return cls(label, together)

    @property
    def classes(self) -> tuple[Hashable, ...]:
        return self.label.values

    @property
    def plan(self) -> Plan:
        """That of the attributes without the label."""
        return self.reports[self.classes[0]].plan

    @property
    def domain(self) -> TableDomain:
        """The attributes without the label."""
        domain: TableDomain = self.plan.domain  # type: ignore[assignment]  # as checked at birth
        return domain

    @property
    def n_records(self) -> int:
        return sum(map(len, self.reports.values()))

    def __len__(self) -> int:
        return self.n_records

    @property
    def is_simulation(self) -> bool:
        """Whether the chance was seeded: such reports protect nobody.  Not authenticated where it comes from a file."""
        return any(reports.is_simulation for reports in self.reports.values())

    @property
    def randomness(self) -> str:
        return next((part.randomness for part in self.reports.values() if part.is_simulation), "secure")

    @property
    def guarantee(self) -> LocalGuarantee:
        """That of the mechanism on the attributes; the label is in the clear, and the card says so."""
        simulated = [part for part in self.reports.values() if part.is_simulation]
        promise = (simulated or list(self.reports.values()))[0].guarantee
        return in_the_clear(promise, f"the class label {self.label.name!r} of the record")

    def write(self, path: str | Path) -> None:
        """Write one Parquet file; an existing one is replaced only when the new one is complete."""
        from bosket.learning.by_class_files import write

        write(self, path)

    @classmethod
    def read(cls, path: str | Path, *, plan: Plan | None = None, max_bytes: int | None = MAX_BYTES) -> Self:
        """Read what ``write`` wrote; with ``plan``, refuse reports made under any other.

        The file may be anyone's, as for ``Reports.read``; ``max_bytes`` is the most memory that its reports may take.
        """
        from bosket.learning.by_class_files import read

        return cls(*read(path, plan, max_bytes))

    def __repr__(self) -> str:
        label = f"label {self.label.name!r} of {len(self.classes)} classes in the clear"
        return f"ByClassReports({self.n_records} records, {label}, {self.plan}, {self.randomness})"


def in_the_clear(promise: LocalGuarantee, what: str) -> LocalGuarantee:
    """The same promise where a label is sent beside the report."""
    note = (
        "the promise is between records of the same class, and its percentages start from what the label already tells "
        "about the attributes; the label itself is not hidden"
    )
    return replace(promise.noting(note), reveals=(*promise.reveals, what))


def label_guarantee(reports: Reports, *, label: str | None = None) -> LocalGuarantee:
    """The guarantee of reports whose label, the last attribute or the one named, was randomized with the others."""
    _, attribute = split_domain(reports.domain, label)
    return reports.guarantee.noting(
        f"the class label {attribute.name!r} is randomized as one more attribute, and protected like the others"
    )


def randomize_by_class(
    table: Table, label: str | None, mechanism: Mechanism, *, rng: Randomness | None = None
) -> ByClassReports:
    """Randomize every attribute but the label, class by class; the label stays in the clear.

    ``label=None`` is the last attribute.  Secure chance unless ``rng=Seeded(...)``.

    >>> import bosket as bk
    >>> from bosket.learning import randomize_by_class
    >>> people = [("young", "town", "no"), ("old", "town", "yes"), ("old", "land", "no")]
    >>> table = bk.Table([dict(zip(("age", "home", "owner"), one)) for one in people])
    >>> reports = randomize_by_class(table, "owner", bk.GammaDiagonal(19), rng=bk.Seeded(1))
    >>> reports.classes, [len(part) for part in reports.reports.values()]
    (('no', 'yes'), [2, 1])
    >>> reports.guarantee.reveals
    ("the class label 'owner' of the record",)
    """
    domain, attribute = _split(table, label)
    rng = Secure() if rng is None else check_randomness(rng)
    plan = Plan(domain, mechanism)
    codes = table.codes[:, table.domain.position(attribute.name)]
    rest = table.select(domain.names)
    parts = {value: plan.randomize(rest[codes == code], rng=rng) for code, value in enumerate(attribute.values)}
    return ByClassReports(attribute, parts)


def randomize_with_label(table: Table, mechanism: Mechanism, *, rng: Randomness | None = None) -> Reports:
    """Randomize the label as one more attribute: plain reports of the whole table.

    ``label_guarantee`` is their promise with a word on the label; the classifiers take them with ``label=``.
    """
    _split(table, None)
    return mechanism.randomize(table, rng=rng)


def _split(table: object, label: str | None) -> tuple[TableDomain, Attribute]:
    if not isinstance(table, Table):
        raise DataError(
            f"A table has a label, a {type(table).__name__} has none.",
            hint="Make a table with bosket.Table.from_frame or bosket.Table.read.",
        )
    return split_domain(table.domain, label)


def _compared(part: ByClassReports) -> Compared:
    """All reports with their classes, as words that can be compared."""
    whole = []
    for number, reports in enumerate(part.reports.values()):
        words, strata = compared(reports.channel.payload, reports.batch)
        beside = [] if strata is None else [strata.astype(np.uint64)]
        whole.append(np.column_stack([words, *beside, np.full(len(words), number, np.uint64)]))
    return np.concatenate(whole), None
