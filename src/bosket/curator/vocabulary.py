"""Records over the declared vocabulary: what is asked about is public, and nothing else of a record is looked at.

Each record becomes its own items that were declared, whatever else it holds and whatever the other records hold.  So a
record more or less is a record more or less, and no record can end in an error.  A label may come as text or as a
number, and as which is often decided by other records: a reader of text takes labels for numbers if all of them are, a
frame makes 1.0 of 1 where a value is missing, and Python keeps of 1, 1.0 and True the one that it saw first.  So a
label stands for the declared item that it *equals*, as a number or as text, or whose writing it is.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Number

import numpy as np

from bosket.data import Baskets, Domain
from bosket.data.vocabulary import written
from bosket.errors import DataError, ParameterError

_NUMBER = object()
"""Marks the key of a number; no label of anybody's equals it."""


def declared(baskets: Baskets, vocabulary: Domain | Iterable[Hashable] | None) -> Baskets:
    """The records over the vocabulary, or over their own domain where that was declared."""
    if not isinstance(baskets, Baskets):
        raise DataError(
            f"Baskets can be curated, a {type(baskets).__name__} cannot.",
            hint="Baskets(records) or Baskets.from_frame(frame) makes them; of a Table, table.to_baskets() does.",
        )
    if vocabulary is None and not baskets.domain.is_declared:
        raise ParameterError(
            "The 'vocabulary' parameter must be given: the items were read off the data, and which occur is private.",
            parameter="vocabulary",
            value=None,
            hint="Name all items that may occur; if which do occur is public anyway, vocabulary=baskets.domain.",
        )
    domain = baskets.domain
    if vocabulary is not None:
        domain = vocabulary if isinstance(vocabulary, Domain) else Domain(vocabulary)
    if not len(domain):
        raise ParameterError("The 'vocabulary' parameter must name an item.", parameter="vocabulary", value=())
    return baskets if domain is baskets.domain else restricted(baskets, domain)


def restricted(baskets: Baskets, domain: Domain) -> Baskets:
    """The records without the items that ``domain`` does not have, and with its labels.

    >>> list(restricted(Baskets([[1, 2.0], [3, "milk"]]), Domain(["2", "3", "bread"])))
    [('2',), ('3',)]
    """
    places = _places(domain)
    ids = np.array([places.get(_key(label), -1) for label in baskets.domain.labels], np.int32)
    items = np.append(ids, np.int32(-1))[baskets.indices]
    indptr = np.concatenate([[0], np.cumsum(items >= 0)])[baskets.indptr]
    return Baskets.from_csr(indptr, items[items >= 0], domain)


def _places(domain: Domain) -> dict[Hashable, int]:
    """From a label, as text and as a number, to the item that was declared."""
    places: dict[Hashable, int] = {}
    for at, label in enumerate(domain.labels):
        for key in {_key(label), *_other_ways(label)}:
            if places.setdefault(key, at) != at:
                raise ParameterError(
                    "The 'vocabulary' parameter must not name two items that are written alike, such as 1 and '1'.",
                    parameter="vocabulary",
                    value=label,
                    hint="Whether a file holds numbers or text is decided by all its records together.",
                )
    return places


def _key(label: Hashable) -> Hashable:
    """Labels of one key are one item: numbers of one value, as 1, 1.0 and True are, and others that are equal."""
    return (_NUMBER, label) if isinstance(label, Number | np.bool_) else label


def _other_ways(label: Hashable) -> Iterable[Hashable]:
    """A number as it is written, and a text that is the writing of a number as that number."""
    text = written(label)
    if text is None:
        return
    if not isinstance(label, str):
        yield text
        return
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:  # also of thousands of digits
            continue
        if written(value) == text:
            yield _key(value)
