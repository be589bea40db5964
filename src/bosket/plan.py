"""A study's contract: which items, randomized how, protecting what.

One plan, through its JSON form, configures both the client that randomizes and the analyst, so probabilities are
written in one place.  Its digest names it: reports made under another plan are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from bosket import strict_json
from bosket.checks import check_integer, shown
from bosket.data import Domain, Table
from bosket.engines import engine_of
from bosket.errors import DataError, HopelessPlanWarning, ParameterError, warn
from bosket.mechanisms.base import Channel, Mechanism, Records, as_domain, check_records
from bosket.mechanisms.cut import StatingChannel, stating_sizes
from bosket.mechanisms.foreseen import foreseen_accuracy
from bosket.mechanisms.hopeless import hopeless_text
from bosket.mechanisms.stated_sizes import StatedSizes
from bosket.privacy import Accuracy, LocalGuarantee
from bosket.privacy.influence import CARD_SIZES
from bosket.privacy.stating import after_stating
from bosket.privacy.unit import PrivacyUnit as PrivacyUnit
from bosket.randomness import Randomness, Secure, check_randomness
from bosket.respondents import refuse_repeated, tokens_of

if TYPE_CHECKING:
    from bosket.reports import Reports

VERSION = 1
_ANY_RECORD = PrivacyUnit()  # one of any size


def unit_for(
    mechanism: Mechanism,
    domain: Domain,
    data: Records,
    *,
    max_size: int | None = None,
    longer: Literal["refuse", "sample"] = "refuse",
    state_sizes_to: int | None = None,
    size_epsilon: float | None = None,
) -> PrivacyUnit:
    """The unit for data held in one place: where a largest size must be given and is not, that of these records.

    They tell it anyway, since sizes are sent; but a limit that depends on the data is none for those who send later.
    """
    if max_size is None and longer == "refuse" and mechanism.needs_max_size(domain):
        return PrivacyUnit(max_size=max(1, int(data.sizes.max(initial=0))), is_declared=False)
    return PrivacyUnit(max_size=max_size, longer=longer, state_sizes_to=state_sizes_to, size_epsilon=size_epsilon)


@dataclass(frozen=True)
class Plan:
    """Domain + mechanism + privacy unit + version."""

    domain: Domain
    mechanism: Mechanism
    unit: PrivacyUnit = _ANY_RECORD

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", as_domain(self.domain))  # labels will do
        if not isinstance(self.mechanism, Mechanism):
            raise ParameterError(
                f"The 'mechanism' parameter of Plan must be one such as Flip, got a {type(self.mechanism).__name__}.",
                parameter="mechanism",
                value=self.mechanism,
            )
        if not isinstance(self.unit, PrivacyUnit):
            raise ParameterError(
                f"The 'unit' parameter of Plan must be a PrivacyUnit, got a {type(self.unit).__name__}.",
                parameter="unit",
                value=self.unit,
                hint="Write PrivacyUnit(max_size=10).",
            )
        if len(self.domain) == 0:
            raise ParameterError(
                "The domain of a plan must have at least one item, got none.", parameter="domain", value=0
            )
        object.__setattr__(self, "mechanism", self.mechanism.settled(self.domain))
        sizes, most = self._of_mechanism.record_sizes, self.unit.max_size  # parameters must fit the domain: fail now
        if sizes is not None and min(sizes) > min(len(self.domain), len(self.domain) if most is None else most):
            raise ParameterError(
                f"The 'max_size' parameter of PrivacyUnit, and the number of items, must be at least {min(sizes)}, the "
                f"smallest record that the mechanism takes, got {most} and {len(self.domain)}.",
                parameter="max_size",
                value=most,
            )
        if self.domain.groups is not None and (most is not None or self.unit.longer == "sample"):
            raise ParameterError(
                "The 'max_size' parameter of PrivacyUnit is for baskets: records of a table all have the same size.",
                parameter="max_size",
                value=most,
            )
        if self.unit.longer == "sample" and self.max_size is None:
            raise ParameterError(
                "The 'longer' parameter of PrivacyUnit must come with a 'max_size' to sample down to.",
                parameter="longer",
                value=self.unit.longer,
            )
        if most is None and self.mechanism.needs_max_size(self.domain):
            raise ParameterError(
                f"The 'max_size' parameter of PrivacyUnit must be given for {self.mechanism}, which sends the size of "
                "a record: a report that states a long one outweighs all others.",
                parameter="max_size",
                value=None,
                hint="Write PrivacyUnit(max_size=20), with the largest record there can be; longer='sample' samples "
                "longer ones down.",
            )
        assert self.channel is not None  # sizes that cannot be stated: fail now

    @cached_property
    def _of_mechanism(self) -> Channel:
        """The channel of the mechanism, which records go through after they were sampled down."""
        return self.mechanism.channel(self.domain)

    @cached_property
    def channel(self) -> Channel:
        """What a record goes through: the mechanism, and before it the cutting where sizes are stated."""
        longest, limit, n_items = self.unit.state_sizes_to, self.max_size, len(self.domain)
        if longest is None:
            return self._of_mechanism
        assert limit is not None
        if not 1 <= limit < min(longest, n_items):
            raise ParameterError(
                f"The 'state_sizes_to' parameter of PrivacyUnit, and the number of items, must exceed the {limit} "
                f"items that records are sampled down to, at least 1, got {longest} and {n_items}.",
                parameter="state_sizes_to",
                value=longest,
            )
        stated = StatedSizes(limit, min(longest, n_items), self.unit.size_epsilon)
        return stating_sizes(self.mechanism, self._of_mechanism, stated)

    @property
    def max_size(self) -> int | None:
        """The largest record that is randomized as it is: the unit's limit, or the largest size the mechanism takes."""
        sizes, most = self._of_mechanism.record_sizes, self.unit.max_size
        return most if sizes is None else max(size for size in sizes if most is None or size <= most)

    @property
    def max_stated(self) -> int | None:
        """The largest size that a report may state."""
        longest = self.unit.state_sizes_to
        return self.max_size if longest is None else min(longest, len(self.domain))

    @property
    def support_of(self) -> str | None:
        """Whether supports are those of "whole records" or of "cut records"; None where no record is cut."""
        limit = self.max_size
        if self.unit.longer != "sample" or limit is None or limit >= len(self.domain):
            return None
        return "cut records" if self.unit.state_sizes_to is None else "whole records"

    @cached_property
    def guarantee(self) -> LocalGuarantee:
        promise = self.mechanism.guarantee(self.domain, max_size=self.unit.max_size, reports=self.unit.reports)
        if not promise.accuracy:  # a mechanism need not say it itself
            promise = replace(promise, accuracy=foreseen_accuracy(self.channel, self.unit.max_size))
        if isinstance(self.channel, StatingChannel):
            promise = self._stating(promise, self.channel.stated)
        elif self.unit.longer == "sample":
            promise = promise.after_sampling(
                f"of a record with more than {self.max_size} items so many are drawn first; supports and errors are of "
                "these"
            )
        elif self.max_size is not None and self.max_size < len(self.domain):
            promise = promise.noting(f"records of more than {self.max_size} items are refused")
        if not self.unit.is_declared:
            promise = promise.noting(
                f"the largest record, {self.unit.max_size} items, was read off the data: declare it"
            )
        if self.domain.of_categories:
            promise = promise.noting(
                "the items are the categories of a column, which tell what occurs if they were made of the data"
            )
        elif not self.domain.is_declared:
            promise = promise.noting(
                "the domain was read off the data, so the plan tells which items occur: declare it"
            )
        return promise

    def _stating(self, promise: LocalGuarantee, stated: StatedSizes) -> LocalGuarantee:
        """The promise where records are cut and state their size, with what such reports can do and tell."""
        channel = self.channel
        promise = replace(
            promise,
            influence=tuple(part for k in CARD_SIZES if (part := channel.influence(k)) is not None),
            accuracy=foreseen_accuracy(channel, stated.limit),
        )
        return after_stating(
            promise,
            limit=stated.limit,
            longest=stated.longest,
            epsilon=stated.epsilon,
            sends_sizes=self.mechanism.sends_sizes,
        )

    @cached_property
    def json(self) -> str:
        """Canonical JSON: sorted keys, no spaces, shortest decimal form of every number."""
        value: dict[str, Any] = {
            "bosket_plan": VERSION,
            "domain": self.domain.to_json(),
            "mechanism": {"name": self.mechanism.name, **self.mechanism.to_json()},
            "unit": self.unit.to_json(),
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON, in hexadecimal."""
        return hashlib.sha256(self.json.encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """The plan written by :attr:`json`.

        Whoever wrote the text, only a ``BosketError`` comes out, in bounded time and memory: its length, its depth and
        its numbers have limits, every field has its type, and no field may be unknown, missing or given twice.
        """
        value = strict_json.parse(text, what="the plan")
        version = value.get("bosket_plan") if isinstance(value, dict) else None
        if version is None:
            raise DataError("This is not the JSON of a bosket plan: it has no field 'bosket_plan'.")
        if strict_json.whole(version, "bosket_plan", of="a plan") != VERSION:
            raise DataError(f"A plan of version {shown(version)} cannot be read by this bosket, which knows {VERSION}.")
        known = strict_json.fields(value, of="a plan", required=("bosket_plan", "domain", "mechanism", "unit"))
        return cls(
            Domain.from_json(known["domain"]), _mechanism(known["mechanism"]), PrivacyUnit.from_json(known["unit"])
        )

    def with_unit(
        self,
        *,
        max_size: int | None = None,
        reports: int = 1,
        longer: Literal["refuse", "sample"] = "refuse",
        state_sizes_to: int | None = None,
        size_epsilon: float | None = None,
    ) -> Plan:
        unit = PrivacyUnit(max_size, reports, longer, state_sizes_to=state_sizes_to, size_epsilon=size_epsilon)
        return replace(self, unit=unit)

    @cached_property
    def _single(self) -> Accuracy | None:
        """How large errors of single items will be."""
        return self.channel.accuracy(1, self.unit.max_size)

    @overload
    def randomize(
        self,
        data: Records,
        *,
        rng: Randomness | None = None,
        people: int | None = None,
        respondents: Iterable[str | int] | None = None,
        folder: None = None,
    ) -> Reports: ...

    @overload
    def randomize(
        self,
        data: Any,
        *,
        rng: Randomness | None = None,
        people: int | None = None,
        respondents: Iterable[str | int] | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Any: ...

    def randomize(
        self,
        data: Any,
        *,
        rng: Randomness | None = None,
        people: int | None = None,
        respondents: Iterable[str | int] | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Any:
        """Randomize every record under this plan; secure chance unless ``rng=Seeded(...)``.

        A :class:`HopelessPlanWarning` says where nothing can be seen in the reports of ``people``, all that there will
        be: the records at hand, unless given.  There is none for a person who randomizes one record.

        An item that the plan does not know, or a record longer than it promises, is an error, unless the plan says
        that longer records are sampled down: nothing is dropped silently.

        ``respondents`` are tokens of the people whose records these are, one each.  They travel beside the reports, in
        the clear, and let a person be refused who sends more than ``unit.reports``: here, and wherever reports are put
        together.  See :mod:`bosket.respondents`.

        Of a Spark frame the result is a frame of reports, drawn on the workers: written to Parquet files in ``folder``,
        a new one that all workers can write to, or else held by the workers (:mod:`bosket.spark.randomizing`).
        """
        from bosket.reports import Reports

        engine = engine_of(data)
        if engine is not None:
            return engine.randomize(self, data, rng=rng, people=people, respondents=respondents, folder=folder)
        if folder is not None:
            raise ParameterError(
                "The 'folder' parameter is for records of a Spark session; write reports with reports.write(path).",
                parameter="folder",
                value=folder,
            )
        check_records(data)
        rng = Secure() if rng is None else check_randomness(rng)
        self.warn_of_hopeless(data.n_records if people is None else check_integer("people", people, least=1))
        if isinstance(data, Table) != (self.domain.groups is not None):
            raise DataError(
                "A table is randomized under a plan for its attributes, and baskets under one for items.",
                hint="Make the plan with the table's own domain, plan = Plan(table.domain, ...).",
            )
        if data.domain != self.domain:
            data = data.with_domain(self.domain)
        tokens = None if respondents is None else tokens_of(respondents, data.n_records)
        if tokens is not None:
            refuse_repeated([(tokens, self.unit.reports)])  # before anything is drawn
        bits = data.to_bits()
        limit = self.max_size
        if limit is not None and self.unit.longer == "refuse" and int(data.sizes.max(initial=0)) > limit:
            first = int(np.argmax(data.sizes > limit)) + 1
            raise DataError(
                f"Record {first} has more items than the {limit} that the plan allows for.",
                hint="Leave such records out, or make the plan with longer='sample'.",
            )
        is_cut_here = self.unit.longer == "sample" and self.unit.state_sizes_to is None
        if limit is not None and is_cut_here:  # all alike: time does not tell which were longer
            rng.keep_subset(bits, np.minimum(data.sizes, limit).astype(np.int64))
        randomized = self.channel.randomize(bits, rng)
        return Reports(self, randomized, randomness=rng.describe(), respondents=tokens)

    def warn_of_hopeless(self, people: int) -> None:
        """Warn whoever called the library where nothing can be seen in so many reports."""
        single = self._single
        if people <= 1 or single is None or not single.is_hopeless(people):
            return
        text = f"{hopeless_text(str(self.mechanism), single, people)} mine() will refuse them."
        warn(HopelessPlanWarning(text, stderr=single.best(people), people=people))

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the channel, which is made again."""
        return Plan, (self.domain, self.mechanism, self.unit)

    def __repr__(self) -> str:
        return f"Plan({len(self.domain)} items, {self.mechanism}, digest {self.digest[:12]})"


def _mechanism(value: Any) -> Mechanism:
    """The mechanism of a plan's JSON, whose name says who reads its parameters."""
    parameters = dict(value) if isinstance(value, dict) else {}
    name = strict_json.text(parameters.pop("name", None), "name", of="the mechanism of a plan")
    if name not in Mechanism.registry:
        raise DataError(
            f"The mechanism {shown(name)} of this plan is not known here.",
            hint=f"Known are {', '.join(sorted(Mechanism.registry))}. If it is from outside bosket, import its module "
            "first. A plan never imports anything itself.",
        )
    return Mechanism.registry[name].from_json(parameters)
