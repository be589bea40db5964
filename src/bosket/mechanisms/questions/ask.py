"""Ask: one question to each person, answered with ratio gamma whatever the record.

The whole record is protected by gamma, as by the gamma-diagonal matrix, which is the design of one question about all
attributes.  A question about two attributes has few answers, so that far more of what is said is true: at gamma 19, two
yes/no questions are answered truly with probability 0.86, a record of sixteen with 0.0003.

How many questions there are costs people, not privacy: each person answers one.

A question of many answers is better told through a hash function than by randomized response
(:mod:`bosket.mechanisms.questions.table_channels`).  The JSON of a plan says so: where it does not name a channel, all
questions are answered by randomized response, as they were before there was another.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bosket import strict_json
from bosket.checks import shown
from bosket.data import Domain, TableDomain
from bosket.errors import ParameterError
from bosket.mechanisms.base import Mechanism, Records, as_domain
from bosket.mechanisms.foreseen import foreseen_accuracy
from bosket.mechanisms.parameters import Kind, Real, parameter
from bosket.mechanisms.questions import phases
from bosket.mechanisms.questions.baskets import AskBaskets, ask_baskets
from bosket.mechanisms.questions.channel import AskChannel
from bosket.mechanisms.questions.designs import Design
from bosket.mechanisms.questions.kinds import Word
from bosket.mechanisms.questions.table_channels import AUTO, HASHING, RESPONSE, TABLE_CHANNELS, hashing_is_better
from bosket.mechanisms.records import table_domain
from bosket.privacy import Amplification, LocalGuarantee
from bosket.privacy.guarantee import check_reports
from bosket.privacy.influence import CARD_SIZES


class Designs(Kind):
    """A design: what is asked, and how often."""

    takes_json = True

    @property
    def noun(self) -> str:
        return "file, written @FILE"

    @property
    def must(self) -> str:
        return "a Design: questions, one of which each person answers"

    def check(self, name: str, value: Any, *, of: str | None = None) -> Design:
        if isinstance(value, Design):
            return value
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ParameterError(
                f"The '{name}' parameter of {of} must be {self.must}, got {shown(value)}.",
                parameter=name,
                value=value,
                hint="bosket.Design.pairs(table.domain) asks each person about one pair of attributes.",
            )
        return Design(value)

    def to_json(self, value: Design) -> Any:
        return value.to_json()

    def from_json(self, value: Any, name: str, *, of: str) -> Design:
        return Design.from_json(value)

    def parse(self, text: str) -> Any:
        raise ValueError(text)

    def short(self, value: Design) -> str:
        return str(value)


class _LastMade:
    """The channel that was made last: a plan, its card and a planner ask for one of thousands of questions in turn."""

    def __init__(self) -> None:
        self._known: tuple[tuple[Design, TableDomain, float, str], AskChannel] | None = None

    def channel(self, design: Design, domain: TableDomain, gamma: float, by: str) -> AskChannel:
        """For the very same design and domain, which cannot be changed; others are not compared value by value."""
        last = self._known
        if last is not None and last[0][0] is design and last[0][1] is domain and last[0][2:] == (gamma, by):
            return last[1]
        found = AskChannel(domain, design, gamma, by)
        self._known = ((design, domain, gamma, by), found)
        return found


_last_made = _LastMade()


@dataclass(frozen=True, slots=True, init=False)
class Ask(Mechanism):
    """Ask each person one question of a design, and let the answer be true gamma times as likely as any other.

    design   a :class:`~bosket.Design`, or a list of questions, each a list of names of attributes
    gamma    the amplification between any two records, above 1; 19 keeps a property of prior 5% below 50%
    channel  how answers are told: "response", by randomized response; "hashing", through a hash function that the
             report names; or "auto", each question by the one with the smaller variance, which is hashing for
             questions of more than about 3 gamma + 2 answers
    """

    name = "ask"
    needs_table: ClassVar[bool] = True

    design: Design = field(metadata=parameter(Designs(), "what is asked: questions, one of which each person answers"))
    gamma: float = field(
        metadata=parameter(
            Real(
                above=1,
                most=2.0**1000,
                hint="bosket.planning.gamma_from(0.05, 0.5) is the gamma that keeps 5% below 50%: 19.",
            ),
            "amplification: how many times as likely the true answer is as any given other",
        )
    )
    by: str = field(
        default=AUTO,
        metadata=parameter(
            Word(TABLE_CHANNELS),
            "how answers are told: by randomized response, by hashing, or each by what has the smaller variance",
            name="channel",
        ),
    )

    def __init__(self, design: Design | Iterable[Any], gamma: float, channel: str = AUTO) -> None:
        for name, value in (("design", design), ("gamma", gamma), ("by", channel)):
            object.__setattr__(self, name, value)
        self.__post_init__()

    @staticmethod
    def baskets(
        domain: Domain | Records | Iterable[Hashable],
        *,
        epsilon: float = 3.0,
        expected_size: float | None = None,
        length: int | None = None,
        channel: str = "auto",
    ) -> AskBaskets:
        """One answer a person about a basket, at an epsilon for all of it: which item, of at most ``length``.

        domain         the items
        epsilon        ln of the ratio between any two baskets
        expected_size  the mean size of baskets, stated and not read off them, which gives the length
        length         how many items of a basket may be told of; instead of ``expected_size``
        channel        "hashing", "response", "subset", or "auto": the one with the smallest variance

        >>> import bosket as bk
        >>> bk.Ask.baskets(bk.Domain(range(5000)), epsilon=3, expected_size=5)
        AskBaskets(epsilon=3, length=6, size=128)
        """
        return ask_baskets(domain, epsilon=epsilon, expected_size=expected_size, length=length, channel=channel)

    @staticmethod
    def phases(
        domain: Domain | Records | Iterable[Hashable],
        n_people: int,
        *,
        epsilon: float = 3.0,
        expected_size: float = 4.0,
        top: int = 20,
        max_size: int = 2,
    ) -> phases.Phases:
        """How many of ``n_people`` should answer :meth:`baskets`, and how many what it is refined to.

        For the ``top`` itemsets of each size up to ``max_size``; by predicted variance, from public numbers alone.
        """
        n_items = len(as_domain(domain))
        return phases.split(n_people, n_items, epsilon=epsilon, expected_size=expected_size, top=top, max_size=max_size)

    def channel(self, domain: Domain) -> AskChannel:
        return _last_made.channel(self.design, table_domain(domain, of="Ask"), self.gamma, self.by)

    def settled(self, domain: Domain) -> Ask:
        """By one channel for all questions, where "auto" comes to that."""
        if self.by != AUTO or not isinstance(domain, TableDomain):
            return self
        sizes = dict(zip(domain.names, domain.sizes.tolist(), strict=True))
        known = [one for one in self.design.questions if sizes.keys() >= set(one.attributes)]
        numbers = {one.n_answers(sizes) for one in known}
        hashed = {hashing_is_better(self.gamma, number) for number in numbers}
        return self if len(hashed) != 1 else Ask(self.design, self.gamma, HASHING if hashed.pop() else RESPONSE)

    def to_json(self) -> dict[str, Any]:
        value = Mechanism.to_json(self)
        if self.by == RESPONSE:
            del value["channel"]
        return value

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Ask:
        strict_json.fields(value, of=cls.name, required=("design", "gamma"), optional=("channel",))
        return super(Ask, cls).from_json({"channel": RESPONSE} | value)

    def __str__(self) -> str:
        shown = f"design={self.design}, gamma={self.gamma:g}"
        return f"Ask({shown}, channel={HASHING})" if self.by == HASHING else f"Ask({shown})"

    def guarantee(
        self, domain: Domain | Records | Iterable[Hashable], *, max_size: int | None = None, reports: int = 1
    ) -> LocalGuarantee:
        """gamma between any two records, whatever is asked."""
        channel = self.channel(as_domain(domain))
        check_reports(reports)
        over = f"any two records over {len(channel.domain.attributes)} attributes"
        record = Amplification(channel.epsilon, over)
        sends = "one report" if reports == 1 else f"{reports} reports, drawn afresh, known to be theirs: epsilons add"
        n_hashed = int(channel.hashed.sum())
        hashing = (
            f"of {n_hashed} of {len(channel.asked)} questions a bucket of the answer is told, under a hash function "
            "that the report names; what is promised holds whatever the function is",
        )
        return LocalGuarantee(
            mechanism=str(self),
            item=Amplification(channel.epsilon, "two records that differ in one attribute and nothing else"),
            record=record,
            person=record.repeated(reports, f"a person who sends {sends}; {over}"),
            reports=reports,
            assumptions=(
                "which question a person is asked is drawn without a look at the record, and is not hidden; nor are "
                "the domain, the number of reports and who sends one; the coins are as good as AES-256",
                *(hashing if n_hashed else ()),
            ),
            about_an_item="the value of one attribute that had 5%, knowing all the others,",
            influence=tuple(part for k in CARD_SIZES if (part := channel.influence(k)) is not None),
            accuracy=foreseen_accuracy(channel, None),
        )
