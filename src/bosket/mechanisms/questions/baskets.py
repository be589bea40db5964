"""Ask.baskets: one answer about a basket, at an epsilon for all of it.

A first phase asks "which item of your basket"; from its answers, :meth:`AskBaskets.refine` makes the question for other
people: "which of these itemsets does your basket hold".  Nobody answers twice, and who is asked what does not depend on
any basket, so that each person's guarantee is epsilon, for the whole basket.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bosket.checks import check_choice, check_integer
from bosket.data import Domain
from bosket.errors import DataError, ParameterError, PlanMismatchError
from bosket.mechanisms.base import Mechanism, Records, as_domain
from bosket.mechanisms.parameters import Real, Whole, parameter
from bosket.mechanisms.questions import phases
from bosket.mechanisms.questions.answer_channels import CHANNELS, best_buckets, best_response, response, size_of
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.hash_kernels import MOST_BUCKETS
from bosket.mechanisms.questions.kinds import MOST_SETS, Digest, Itemsets, Word
from bosket.mechanisms.questions.responses import (
    MOST_LENGTH,
    MOST_VALUES,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
)
from bosket.privacy import Amplification, LocalGuarantee
from bosket.privacy.guarantee import check_reports

if TYPE_CHECKING:
    from bosket.collected import Collected

MOST_EPSILON = 600.0
EXPECTED_SIZE = 4.0
"""The mean size of baskets where nobody states one."""


@dataclass(frozen=True, slots=True)
class AskBaskets(Mechanism):
    """Tell one of at most `length` items of a basket, or of candidate itemsets that it holds, through a channel whose
    ratio between any two baskets is e^epsilon.

    epsilon     ln of the ratio between any two baskets
    length      a basket that holds more is cut to so many, each choice equally likely; supports are of baskets as cut
    by          "hashing", whose message is a seed and a value; "response", which tells an item or a dummy; or "subset",
                which tells several of them
    size        buckets of a hash, a power of two above ``length``, the best one unless given; or values of a subset
    candidates  the itemsets to ask about; all items unless given
    follows     the digest of the plan whose answers the candidates were chosen by

    :meth:`bosket.Ask.baskets` makes it from public numbers, and :meth:`refine` the second phase.
    """

    name = "ask_baskets"

    epsilon: float = field(
        metadata=parameter(Real(above=0, most=MOST_EPSILON), "ln of the ratio between any two baskets")
    )
    length: int = field(
        metadata=parameter(
            Whole(least=1, most=MOST_LENGTH), "how many of the items, or itemsets, of a basket may be told of at most"
        )
    )
    by: str = field(
        default=LocalHashing.name,
        metadata=parameter(Word(CHANNELS), "the answer channel: hashing, randomized response or subset selection"),
    )
    size: int | None = field(
        default=None,
        metadata=parameter(
            Whole(least=1, most=MOST_BUCKETS),
            "buckets of a hash, a power of two, the best by default; or values of a subset",
        ),
    )
    candidates: tuple[tuple[Hashable, ...], ...] | None = field(
        default=None, metadata=parameter(Itemsets(), "itemsets that are asked about; all items by default")
    )
    follows: str | None = field(
        default=None, metadata=parameter(Digest(), "the plan of the phase before, whose answers chose the candidates")
    )

    def check_together(self) -> None:
        size = self.size
        if self.by == LocalHashing.name:
            if size is None:
                object.__setattr__(self, "size", best_buckets(self.epsilon, self.length))
            elif size & (size - 1) or size <= self.length:
                raise self._wrong_size(f"a power of two above the length, {self.length}")
        elif self.by == SubsetSelection.name and size is None:
            raise self._wrong_size("given for subset selection: Ask.baskets(domain, channel='subset') finds the best")
        elif self.by == RandomizedResponse.name and size is not None:
            raise self._wrong_size("left out for randomized response")

    def _wrong_size(self, must: str) -> ParameterError:
        return ParameterError(
            f"The 'size' parameter of AskBaskets must be {must}, got {self.size}.", parameter="size", value=self.size
        )

    def channel(self, domain: Domain) -> BasketChannel:
        if domain.groups is not None:
            raise ParameterError(
                "The 'domain' parameter of AskBaskets must be items of baskets, got that of a table.",
                parameter="domain",
                value=None,
                hint="bosket.Ask(bosket.Design.pairs(domain), gamma=19) asks about a table.",
            )
        itemsets = None if self.candidates is None else tuple(map(domain.itemset, self.candidates))
        n_keys = len(domain) if itemsets is None else len(itemsets)
        if self.by == SubsetSelection.name:
            check_subset(n_keys + min(self.length, n_keys))
            if (self.size or 0) > n_keys:
                raise self._wrong_size(f"at most the number of items, or of candidates, {n_keys}")
        told = response(self.by, n_keys, self.length, self.epsilon, self.size)
        told.check(of="AskBaskets")
        return BasketChannel(domain, itemsets, told)

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        """epsilon between any two baskets, whatever they hold."""
        channel = self.channel(as_domain(domain))
        if max_size is not None:
            check_integer("max_size", max_size, least=1)
        check_reports(reports)
        over = f"any two baskets over {len(channel.domain)} items"
        record = Amplification(self.epsilon, over)
        sends = "one report" if reports == 1 else f"{reports} reports, drawn afresh, known to be theirs: epsilons add"
        keys = "items" if self.candidates is None else "candidates"
        return LocalGuarantee(
            mechanism=str(self),
            item=Amplification(self.epsilon, "two baskets that differ in one item and nothing else"),
            record=record,
            person=record.repeated(reports, f"a person who sends {sends}; {over}"),
            reports=reports,
            assumptions=(
                f"of a basket with more than {channel.response.length} {keys} so many are drawn first; supports are of "
                "these",
                "what a person is asked does not depend on the basket, and is not hidden; nor are the domain, the "
                "number of reports and who sends one; the coins are as good as AES-256",
            ),
            influence=self.influence(channel.domain),
            accuracy=self.accuracy(channel.domain, max_size=max_size),
        )

    def refine(self, reports: Collected, *, top: int = 20, max_size: int = 2, length: int | None = None) -> AskBaskets:
        """The question for other people: which of the itemsets that the answers of the first make likely.

        top       how many itemsets of each size are looked for; twice as many are asked about
        max_size  the largest of them, up to 3
        length    how many candidates of a basket may be told of; by how many it is expected to hold, unless given

        The epsilon is the same.  The second plan names the first by its digest.
        """
        top = check_integer("top", top, least=1, most=phases.MOST_TOP)
        max_size = check_integer("max_size", max_size, least=1, most=MOST_SETS)
        if reports.plan.mechanism != self:
            raise PlanMismatchError(f"Reports of {reports.plan.mechanism} cannot refine {self}.")
        if self.candidates is not None:
            raise ParameterError(
                "The 'reports' parameter of refine must be those of a first phase, which asked about all items.",
                parameter="reports",
                value=None,
            )
        if reports.n_records == 0:
            raise DataError("There are no reports to choose candidates by: the first phase is empty.")
        channel = reports.plan.channel
        assert isinstance(channel, BasketChannel)
        shares = channel.shares(reports.batch, np.arange(channel.response.n_keys), reports.counts)
        chosen = phases.candidates(shares, top=top, max_size=max_size)
        n_keys = len(chosen.itemsets)
        if length is None:
            length = phases.best_length(n_keys, self.epsilon, max(chosen.expected, 1e-9), from_zero=True)
        length = check_integer("length", length, least=1, most=MOST_LENGTH, of="refine")
        told = best_response(n_keys, length, self.epsilon)
        labels = channel.domain.labels
        return AskBaskets(
            epsilon=self.epsilon,
            length=told.length,
            by=told.name,
            size=size_of(told),
            candidates=tuple(tuple(labels[item] for item in itemset) for itemset in chosen.itemsets),
            follows=reports.plan.digest,
        )


def check_subset(n_values: int) -> None:
    """Refuse subsets of more values than a report should have bits."""
    if n_values > MOST_VALUES:
        raise ParameterError(
            f"The 'domain' of subset selection must have at most {MOST_VALUES} items and dummies, got {n_values}.",
            parameter="domain",
            value=n_values,
            hint="Hashing takes any number of items, in a message of twelve bytes.",
        )


def ask_baskets(
    domain: Domain | Records | Iterable[Hashable],
    *,
    epsilon: float = 3.0,
    expected_size: float | None = None,
    length: int | None = None,
    channel: str = "auto",
) -> AskBaskets:
    """What :meth:`bosket.Ask.baskets` gives."""
    n_items = len(as_domain(domain))
    if n_items == 0:
        raise ParameterError("The 'domain' parameter must have at least one item.", parameter="domain", value=0)
    epsilon = Real(above=0, most=MOST_EPSILON).check("epsilon", epsilon, of="Ask.baskets")
    check_choice("channel", channel, ("auto", *CHANNELS), of="Ask.baskets")
    if length is None:
        stated = EXPECTED_SIZE if expected_size is None else expected_size
        mean = Real(above=0, most=phases.MOST_SIZE).check("expected_size", stated, of="Ask.baskets")
        length = phases.best_length(n_items, epsilon, max(mean, 1.0))
    elif expected_size is not None:
        raise ParameterError(
            "The 'length' parameter of Ask.baskets must not be given beside 'expected_size', which it is made of.",
            parameter="length",
            value=length,
        )
    length = check_integer("length", length, least=1, most=MOST_LENGTH, of="Ask.baskets")
    if channel == SubsetSelection.name:
        check_subset(n_items + min(length, n_items))
    auto = channel == "auto"
    told = best_response(n_items, length, epsilon) if auto else response(channel, n_items, length, epsilon)
    return AskBaskets(epsilon=epsilon, length=told.length, by=told.name, size=size_of(told))
