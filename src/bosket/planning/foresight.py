"""What a study will see, before anybody answers: one question for every mechanism, any matrix, and the curator."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

from bosket.checks import check_integer
from bosket.data import Baskets, Domain, Table, TableDomain
from bosket.errors import ParameterError
from bosket.mechanisms import Channel, Mechanism
from bosket.mechanisms.base import as_domain
from bosket.mechanisms.matrix import Matrix
from bosket.plan import Plan, PrivacyUnit
from bosket.planning.discoverability import Overlaps
from bosket.planning.foreseen import SupportsForeseen
from bosket.planning.laws import checked_sizes
from bosket.planning.matrices import MatrixForesight
from bosket.planning.releases.asked import Curator
from bosket.planning.rule_errors import rule_covariance
from bosket.planning.spreads import Spread, spread
from bosket.privacy import LocalGuarantee
from bosket.progress import Progress
from bosket.statistics.estimates import Floats

if TYPE_CHECKING:
    from bosket.planning.releases.foresight import ReleaseForesight

RELEASES = 20
"""Of a curator, that are rehearsed."""


@dataclass(frozen=True)
class Foresight(SupportsForeseen):
    """What reports of a plan from so many people will say of supports and rules."""

    plan: Plan
    people: int
    sizes: Mapping[int, float] | None = None
    """Shares of records by size, where they are guessed."""
    _known: dict[int, Spread | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        return str(self.plan.mechanism)

    @property
    def longest(self) -> int:
        return len(self.plan.domain)

    @property
    def channel(self) -> Channel:
        return self.plan.channel

    @cached_property
    def guarantee(self) -> LocalGuarantee:
        """What a person is promised; its card states the errors among these people."""
        return self.plan.guarantee.among(self.people)

    def spread(self, itemset_size: int) -> Spread | None:
        k = check_integer("itemset_size", itemset_size, least=1)
        if k not in self._known:
            self._known[k] = spread(self.channel, k, sizes=self.sizes, people=self.people)
        return self._known[k]

    def _rule(self, a: int, b: int, support: float, confidence: float, assumption: Overlaps) -> Floats | None:
        return rule_covariance(
            self.channel, a, b, support=support, confidence=confidence, sizes=self.sizes, people=self.people,
            assumption=assumption,
        )  # fmt: skip


@overload
def foresee(
    mechanism: Mechanism | Plan,
    domain: Domain | Baskets | Table | Iterable[Hashable] | None = None,
    *,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    max_size: int | None = None,
) -> Foresight: ...


@overload
def foresee(
    mechanism: Matrix, domain: TableDomain | Table | None = None, *, people: int, pilot: Table | None = None
) -> MatrixForesight: ...


@overload
def foresee(
    mechanism: Curator,
    domain: Domain | Baskets | Table | Iterable[Hashable] | None = None,
    *,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    releases: int | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> ReleaseForesight: ...


def foresee(
    mechanism: Mechanism | Plan | Matrix | Curator,
    domain: Domain | Baskets | Table | Iterable[Hashable] | None = None,
    *,
    people: int,
    sizes: Mapping[int, float] | None = None,
    pilot: Baskets | Table | None = None,
    max_size: int | None = None,
    releases: int | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> Foresight | MatrixForesight | ReleaseForesight:
    """What reports of a mechanism, a plan or a matrix will say from so many people, or a curator's release of theirs.

    mechanism  a mechanism, or a :class:`~bosket.Matrix`, with a ``domain``; a plan, which has one; or a
               :class:`Curator`, what a release is asked for
    sizes      shares, or numbers, of records by size: needed where reports state it or where records are simulated,
               used where long baskets are cut
    pilot      records of other people that the sizes are taken from, and the domain where none is given; a curator's
               release is rehearsed on them.  They must be public, or of people who agreed to that
    max_size   the largest record, of a plan for baskets
    releases   how many releases of a curator are rehearsed (20)
    seed       of the records that are drawn or simulated for rehearsals; the noise of releases has none

    What is foreseen of reports follows from formulas.  What is foreseen of a release is a rehearsal, on the pilot or on
    simulated records, and takes as long as so many releases: :class:`ReleaseForesight`.

    >>> import bosket as bk
    >>> seen = foresee(bk.Flip(keep=0.9), bk.Domain(range(16)), people=21_000)
    >>> round(seen.stderr(1, 0.05), 5), round(seen.stderr(2, 0.05), 5)
    (0.00259, 0.00198)
    """
    n = check_integer("people", people, least=1)
    if isinstance(mechanism, Curator):
        from bosket.planning.releases.foreseeing import foresee_release

        _refuse(max_size=max_size)
        number = RELEASES if releases is None else releases
        return foresee_release(
            mechanism, domain, people=n, sizes=sizes, pilot=pilot, releases=number, seed=seed, on_progress=on_progress
        )
    _refuse(releases=releases)
    if isinstance(mechanism, Plan):
        if domain is not None:
            raise ParameterError(
                "The 'domain' parameter must not come with a plan, which has one.", parameter="domain", value=None
            )
        return Foresight(mechanism, n, _sizes(sizes, pilot))
    if domain is None and pilot is None:
        raise ParameterError(
            "The 'domain' parameter must be given: the items, or the attributes of a table, that reports are about.",
            parameter="domain",
            value=None,
        )
    settled = as_domain(pilot if domain is None else domain)  # type: ignore[arg-type]  # one of them is given
    if isinstance(mechanism, Matrix):
        _refuse(sizes=sizes, max_size=max_size)
        return MatrixForesight(mechanism, settled, n)  # type: ignore[arg-type]  # which refuses other domains
    known = _sizes(sizes, pilot)
    if max_size is None and mechanism.needs_max_size(settled) and known is not None:
        max_size = max(1, *known)
    return Foresight(Plan(settled, mechanism, PrivacyUnit(max_size=max_size)), n, known)


def _refuse(**given: object) -> None:
    """Refuse arguments that another kind of question has."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"The '{name}' parameter must not be given here.",
                parameter=name,
                value=value,
                hint="'releases' is for a Curator, 'sizes' for baskets, 'max_size' for a mechanism and its plan.",
            )


def _sizes(sizes: Mapping[int, float] | None, pilot: Baskets | Table | None) -> dict[int, float] | None:
    """Shares of records by size, as stated or as in the pilot."""
    if sizes is not None:
        return checked_sizes(sizes)
    return None if pilot is None else sizes_of(pilot)


def sizes_of(pilot: Baskets | Table) -> dict[int, float] | None:
    """Shares of records by size; None for a table, whose records all have one."""
    if isinstance(pilot, Table):
        return None
    found: dict[int, float] = {}
    for size in pilot.sizes.tolist():
        found[size] = found.get(size, 0.0) + 1.0
    return checked_sizes(found)
