"""What a mechanism is: a channel from a person's record to the report that leaves them.

A :class:`Mechanism` is a frozen value with a name and a JSON form; it speaks of items by label.  On a domain it
becomes a :class:`Channel`, which speaks of item ids and does the work: it randomizes packed records into reports, whose
shape its :class:`~bosket.mechanisms.payload.Payload` states, and gives the weights from which supports, variances and
covariances are made.  One that randomizes record by record, as nearly all do, is a :class:`RecordChannel`: it states
the transition probabilities of any few items once; the rest follows (:mod:`bosket.mechanisms.channels`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from bosket import strict_json
from bosket.checks import shown
from bosket.counting.base import Strata as Strata
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms.channels import Cells as Cells
from bosket.mechanisms.channels import Channel as Channel
from bosket.mechanisms.channels import RecordChannel as RecordChannel
from bosket.mechanisms.foreseen import foreseen_accuracy
from bosket.mechanisms.parameters import FileOption, declared_by, parameters_of
from bosket.mechanisms.records import Records as Records
from bosket.mechanisms.records import as_domain as as_domain
from bosket.mechanisms.records import check_records as check_records
from bosket.privacy import Accuracy, Influence, LocalGuarantee
from bosket.privacy.influence import CARD_SIZES
from bosket.randomness import Randomness
from bosket.statistics.estimates import Floats as Floats

if TYPE_CHECKING:
    from typing import Self

    from bosket.reports import Reports


class Mechanism(ABC):
    """A way to randomize records, valid from birth: a frozen dataclass whose fields declare its parameters.

    A field names its kind and says what it is for (:mod:`bosket.mechanisms.parameters`).  From that follow the checks,
    the JSON form, equality, hash, repr and the options of the command line.  A mechanism is registered under its
    ``name``, by which a plan's JSON finds it again.
    """

    name: ClassVar[str]
    registry: ClassVar[dict[str, type[Mechanism]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            _check_name(cls)
            Mechanism.registry[cls.name] = cls
        for method in ("__eq__", "__hash__", "__repr__"):  # @dataclass would write its own where a class has none
            if method not in cls.__dict__:
                setattr(cls, method, getattr(cls, method))

    file_option: ClassVar[FileOption | None] = None
    """How the command line gives parameters by item or by record size, for mechanisms of this package."""

    needs_table: ClassVar[bool] = False
    """Whether only records of a table can be randomized."""

    needs_curator: ClassVar[bool] = False
    """Whether someone has to see raw records to randomize them: then nobody can do it for themselves."""

    sends_sizes: ClassVar[bool] = False
    """Whether a report states the true size of its record, as it is."""

    @property
    def record_sizes(self) -> frozenset[int] | None:
        """The sizes of records that the mechanism takes; None for all."""
        return None

    def needs_max_size(self, domain: Domain) -> bool:
        """Whether a plan must declare the largest record: sizes are sent, and nothing else says which there can be.

        The weight of a report grows with the size that it states.  Records of a table all have one size.
        """
        return self.sends_sizes and self.record_sizes is None and domain.groups is None

    def settled(self, domain: Domain) -> Mechanism:
        """This mechanism as a plan for the domain writes it: what it leaves open is settled by public numbers."""
        return self

    @abstractmethod
    def channel(self, domain: Domain) -> Channel:
        """This mechanism on a domain; checks that the parameters fit it."""

    @abstractmethod
    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        """The promise to a person whose records have at most ``max_size`` items and who sends ``reports`` of them.

        ``item`` is about two records that differ in one item; in one attribute, on a table (``domain.groups`` is not
        None); in one item exchanged for another, where sizes are sent.  ``record`` is about any two records of at most
        ``max_size`` items each, which may differ in twice as many, and ``person`` about all ``reports`` of a record,
        randomized afresh: ``record.repeated(reports, unit)``.  Where items are randomized on their own,
        :mod:`bosket.privacy.product` finds the worst two records and rounds outward.
        """

    def influence(
        self,
        domain: Domain | Records | Iterable[Hashable],
        *,
        max_size: int | None = None,
        sizes: Iterable[int] = CARD_SIZES,
    ) -> tuple[Influence, ...]:
        """What one dishonest report can do to supports of itemsets of these ``sizes``; those that it cannot are left
        out.
        """
        channel = self.channel(as_domain(domain))
        found = (channel.influence(k, max_size) for k in sizes)
        return tuple(part for part in found if part is not None)

    def accuracy(
        self,
        domain: Domain | Records | Iterable[Hashable],
        *,
        max_size: int | None = None,
        sizes: Iterable[int] = CARD_SIZES,
    ) -> tuple[Accuracy, ...]:
        """How large errors of supports of itemsets of these ``sizes`` will be; those not known are left out."""
        return foreseen_accuracy(self.channel(as_domain(domain)), max_size, sizes)

    def __post_init__(self) -> None:
        for one in parameters_of(type(self)):
            object.__setattr__(self, one.attribute, one.check(getattr(self, one.attribute), of=type(self).__name__))
        self.check_together()

    def check_together(self) -> None:  # noqa: B027  # most mechanisms take any parameters that are right by themselves
        """Refuse parameters that do not fit each other; each one has been checked by its kind."""

    def to_json(self) -> dict[str, Any]:
        """The parameters as plain JSON values, without the name."""
        return {one.name: one.to_json(getattr(self, one.attribute)) for one in declared_by(type(self))}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """What ``to_json`` gave: all parameters and nothing else, each of its exact type."""
        declared = declared_by(cls)
        known = strict_json.fields(value, of=cls.name, required=[one.name for one in declared])
        return cls(**{one.name: one.from_json(known[one.name], of=cls.name) for one in declared})

    def __reduce__(self) -> tuple[Any, ...]:
        values = {one.name: getattr(self, one.attribute) for one in parameters_of(type(self))}
        plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()}
        return _make, (type(self), plain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and type(other) is type(self) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """The name with the parameters that are not as by default, in a few characters."""
        shown = (one.shown(getattr(self, one.attribute)) for one in parameters_of(type(self)))
        return f"{type(self).__name__}({', '.join(part for part in shown if part is not None)})"

    def randomize(
        self,
        data: Records,
        *,
        domain: Domain | Iterable[Hashable] | None = None,
        max_size: int | None = None,
        rng: Randomness | None = None,
        people: int | None = None,
        respondents: Iterable[str | int] | None = None,
    ) -> Reports:
        """Randomize every record, with secure chance unless ``rng=Seeded(...)`` is given; then the reports say so.

        Without ``domain`` the plan's domain is that of the data.  Declare it where it must not tell which items occur.
        Without ``max_size``, a mechanism that sends sizes takes the largest record of the data, and the plan says so:
        two batches then have two plans, and cannot be put together, unless it is declared.  ``people`` is the number of
        reports that there will be in all, where these are some of them: a plan that cannot see is warned of.
        ``respondents`` are tokens of the people, one for each record, in the clear: nobody is counted twice.
        """
        from bosket.plan import Plan, unit_for  # the one call up the house: a plan is this mechanism with a domain

        check_records(data)
        settled = as_domain(data if domain is None else domain)
        plan = Plan(settled, self, unit_for(self, settled, data, max_size=max_size))
        return plan.randomize(data, rng=rng, people=people, respondents=respondents)


def _make(mechanism: type[Mechanism], values: dict[str, Any]) -> Mechanism:
    """What ``__reduce__`` took apart."""
    return mechanism(**values)


def _check_name(mechanism: type[Mechanism]) -> None:
    """Refuse a name that another mechanism has: plans in the world mean that one.

    The same class may be defined again, as by a notebook's cell or by ``dataclass(slots=True)``.
    """
    name, where = mechanism.name, f"{mechanism.__module__}.{mechanism.__name__}"
    if not isinstance(name, str) or not name or ":" in name:
        raise ParameterError(
            f"The 'name' of the mechanism {where} must be text without ':', got {shown(name)}.",
            parameter="name",
            value=name,
        )
    known = Mechanism.registry.get(name)
    if known is not None and f"{known.__module__}.{known.__name__}" != where:
        raise ParameterError(
            f"The 'name' of the mechanism {where} must be one that no other has, got {name!r}, which is that of "
            f"{known.__module__}.{known.__name__}.",
            parameter="name",
            value=name,
        )
