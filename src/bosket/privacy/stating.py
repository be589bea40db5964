"""What a person is promised whose record is cut to a few items, and who states how many it had."""

from __future__ import annotations

from dataclasses import replace

from bosket.privacy.guarantee import Amplification, LocalGuarantee, rounded_up
from bosket.privacy.voices import ABOUT_AN_EXCHANGE

_TOLD_APART = (
    ": a prior is one among records of that size, and two records of different sizes are told apart for certain"
)
SIZES_IN_THE_CLEAR = f"the size of a record is sent as it is{_TOLD_APART}"


def after_stating(
    promise: LocalGuarantee, *, limit: int, longest: int, epsilon: float | None, sends_sizes: bool
) -> LocalGuarantee:
    """The promise for records of at most ``limit`` items, where longer ones are cut to it and state their size.

    Cutting is a mixture of records of ``limit`` items, so that any two records stay within the record line.  Two
    records of one size that differ in one item exchanged for another can be cut alike but for one such exchange: two
    steps of the item line, unless that is about an exchange already.

    A size as it is tells records of different sizes apart for certain.  A size by randomized response of this
    ``epsilon`` has coins of its own, so that epsilon adds to that of the record; it does not add where the two records
    have one size, as where an item is exchanged for another.
    """
    item, record, about_an_item = promise.item, promise.record, promise.about_an_item
    if not sends_sizes:
        item = replace(item, epsilon=min(2 * item.epsilon, record.epsilon))
    whole = (
        f"of a record with more than {limit} items so many are drawn first, up to {longest} are stated and records of "
        "more are refused; supports and errors are of whole records"
    )
    if epsilon is None:
        notes = []
        if not sends_sizes:
            item = replace(item, unit=f"{item.unit}, of at most {limit} items; of longer ones, {_EXCHANGED}")
            record = replace(record, unit=f"{record.unit}; of longer ones, any two of the same size")
            about_an_item = ABOUT_AN_EXCHANGE  # who knows the size and all other items knows the last one
            notes = [
                f"the size of a record with more than {limit} items is sent as it is, and is not protected: a prior is "
                "one among records of that size, and two of different sizes are told apart for certain"
            ]
    else:
        amount = f"epsilon {rounded_up(epsilon)} for the size is part of it"
        if sends_sizes:
            told = f"the size of a record with fewer than {limit} items is sent as it is{_TOLD_APART}"
            promise = replace(
                promise, assumptions=tuple(told if note == SIZES_IN_THE_CLEAR else note for note in promise.assumptions)
            )
            unit = f"{record.unit}; of {limit} items or more, of any sizes; {amount}"
        else:
            item = Amplification(item.epsilon + epsilon, f"{item.unit}; where longer ones are cut, {amount}")
            unit = f"{record.unit}; longer ones, of any sizes, are cut to these; {amount}"
        record = Amplification(record.epsilon + epsilon, unit)
        notes = [f"sizes from {limit} to {longest} are stated by randomized response, with coins of their own"]
    sends = "one report" if promise.reports == 1 else f"{promise.reports} reports, randomized afresh"
    return replace(
        promise.noting(whole, *notes),
        item=item,
        record=record,
        person=record.repeated(promise.reports, f"a person who sends {sends}; {record.unit}"),
        about_an_item=about_an_item,
        reveals=_revealed(promise.reveals, limit, epsilon, sends_sizes),
    )


_EXCHANGED = "of one size, in one item exchanged for another"


def _revealed(known: tuple[str, ...], limit: int, epsilon: float | None, sends_sizes: bool) -> tuple[str, ...]:
    """What is sent as it is."""
    if sends_sizes:
        whole = "the number of items in the record, as it was before it was cut"
        return (
            (whole,)
            if epsilon is None
            else (f"the number of items in a record of fewer than {limit}, and that others have no fewer",)
        )
    if epsilon is None:
        return (*known, f"the number of items in a record of more than {limit}, and that others have no more")
    return known
