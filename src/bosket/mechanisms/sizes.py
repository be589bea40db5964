"""Parameters that may depend on the size of a record, and what a mechanism that sends sizes promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from bosket.checks import check_integer
from bosket.data import Domain
from bosket.errors import ParameterError
from bosket.mechanisms.foreseen import foreseen_accuracy
from bosket.privacy import Accuracy, Amplification, Influence, LocalGuarantee
from bosket.privacy.guarantee import check_reports
from bosket.privacy.influence import CARD_SIZES
from bosket.privacy.stating import SIZES_IN_THE_CLEAR
from bosket.privacy.voices import ABOUT_AN_EXCHANGE

MOST_STEPS = 1 << 27
"""Most steps that a guarantee may take, each of about ten nanoseconds."""

_STEPS_A_SIZE = 4000  # whatever the record size


class SizedChannel(Protocol):
    """A channel that can say, for records of one size, the epsilon of one item exchanged and of any two records."""

    domain: Domain

    def takes(self, size: int) -> bool: ...

    def steps(self, size: int) -> int: ...

    def amplification(self, size: int) -> tuple[float, float]: ...

    def influence(self, k: int, max_size: int | None = None) -> Influence | None: ...

    def accuracy(self, k: int, max_size: int | None = None) -> Accuracy | None: ...


def declared_sizes(name: str, *values: Any) -> frozenset[int] | None:
    """The record sizes that every parameter given by size knows; None if none is given by size."""
    mappings = [frozenset(value) for value in values if isinstance(value, Mapping)]
    if not mappings:
        return None
    if any(sizes != mappings[0] for sizes in mappings):
        odd = sorted(frozenset.union(*mappings) - frozenset.intersection(*mappings))
        raise ParameterError(
            f"The parameters of {name} must all name the same record sizes, got some without size {odd[0]}.",
            parameter="sizes",
            value=odd,
        )
    return mappings[0]


def at(value: Any, size: int) -> Any:
    return value[size] if isinstance(value, Mapping) else value


def _check_work(mechanism: str, steps: int, most: int) -> None:
    """Refuse a promise that would take minutes to work out: plans come from other people."""
    if steps > MOST_STEPS:
        raise ParameterError(
            f"The promise of {mechanism} on records of up to {most} items must take at most {MOST_STEPS} steps to work "
            f"out, got about {steps}.",
            parameter="max_size",
            value=most,
            hint="Limit the records with max_size, or choose a smaller cutoff.",
        )


def same_size_guarantee(
    mechanism: str,
    channel: SizedChannel,
    sizes: Iterable[int],
    *,
    max_size: int | None,
    reports: int,
) -> LocalGuarantee:
    """The promise of a mechanism that sends the true size: only records of one size are alike.

    ``sizes`` are those among which the worst is.  In a table all records have one size, which tells nothing.
    """
    n_items = len(channel.domain)
    check_reports(reports)
    if max_size is not None:
        check_integer("max_size", max_size, least=1)
    groups = channel.domain.groups
    n_attributes = None if groups is None else int(groups[-1]) + 1
    if n_attributes is not None:
        sizes = [n_attributes] if channel.takes(n_attributes) else []
    most = n_items if max_size is None else min(n_items, max_size)
    sizes = [size for size in sizes if size <= most]
    _check_work(mechanism, sum(channel.steps(size) + _STEPS_A_SIZE for size in sizes), most)
    worst = {size: channel.amplification(size) for size in sizes}
    if not worst:
        raise ParameterError(
            f"No record of at most {most} items is taken by {mechanism}: there is nobody to promise anything to.",
            parameter="max_size",
            value=max_size,
        )
    item_at = max(worst, key=lambda size: worst[size][0])
    record_at = max(worst, key=lambda size: worst[size][1])
    item, record = worst[item_at][0], worst[record_at][1]
    over = "one item" if n_items == 1 else f"{n_items} items"
    size = f"any two records of the same size over {over} (worst at size {record_at})"
    exchanged = f"two records that differ in one item exchanged for another (worst at size {item_at})"
    about_an_item = ABOUT_AN_EXCHANGE
    notes = ["the domain, the number of reports and who sends one are not hidden; the coins are as good as AES-256"]
    if n_attributes is None:
        notes.insert(0, SIZES_IN_THE_CLEAR)
    else:
        size = f"any two records over {n_attributes} attributes"
        exchanged = "two records that differ in one attribute and nothing else"
        about_an_item = "the value of one attribute that had 5%, knowing all others,"
    sends = "one report" if reports == 1 else f"{reports} reports, randomized afresh"
    whole = Amplification(record, size)
    return LocalGuarantee(
        mechanism=mechanism,
        item=Amplification(item, exchanged),
        record=whole,
        person=whole.repeated(reports, f"a person who sends {sends}; {size}"),
        reports=reports,
        reveals=("the number of items in the record",) if n_attributes is None else (),
        about_an_item=about_an_item,
        assumptions=tuple(notes),
        influence=tuple(part for k in CARD_SIZES if (part := channel.influence(k, max_size)) is not None),
        accuracy=foreseen_accuracy(channel, max_size),
    )
