"""Records over the declared vocabulary: what is asked about is public, and nothing else of a record is looked at.

Each record becomes its own items that were declared, whatever else it holds and whatever the other records hold.  So a
record more or less is a record more or less, and no record can end in an error.  A label may come as text or as a
number, and as which is often decided by other records: a reader of text takes labels for numbers if all of them are, a
frame makes 1.0 of 1 where a value is missing, and Python keeps of 1, 1.0 and True the one that it saw first.  So a
label stands for the declared item that it *equals*, as a number or as text, or whose writing it is (``data.lookup``).
What frames change in other ways must be declared before the records are read, and is refused here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from bosket.curator.sieve.records import CuratedRecords
from bosket.data import Baskets, Domain, Table
from bosket.data.formats.lookup import Lookup, may_change_in_frames
from bosket.engines import Engine, ForeignFrame, engine_of
from bosket.errors import DataError, ParameterError

_UNDER_ITEMS = (
    "Name all items that may occur when the records are read: Baskets(records, items=..., unknown='drop'), and so "
    "Baskets.from_frame(frame, ...) and Baskets.read(path, ...)."
)
_UNDER_VALUES = (
    "Name all values that may occur when a table is read: Table.read(path, values=..., bins=..., unknown='other'), and "
    "so Table.from_frame(frame, ...)."
)


def records_over(
    baskets: Baskets | Table | ForeignFrame, vocabulary: Domain | Iterable[Hashable] | None
) -> Baskets | CuratedRecords:
    """The records over the vocabulary, or over their own domain where that was declared."""
    if isinstance(baskets, Table):
        return _of_table(baskets, vocabulary)
    if not isinstance(baskets, Baskets) and (engine := engine_of(baskets)) is not None:
        return _elsewhere(engine, baskets, vocabulary)
    if not isinstance(baskets, Baskets):
        raise DataError(
            f"Baskets and tables in memory can be curated, and frames of Spark, got {type(baskets).__name__}.",
            hint=f"{_UNDER_ITEMS} {_UNDER_VALUES}",
        )
    if vocabulary is None and not baskets.domain.is_declared:
        of_categories = "are the categories of a column, which may have been made of the data"
        origin = of_categories if baskets.domain.of_categories else "were read off the data"
        raise ParameterError(
            f"The 'vocabulary' parameter must be given: the items {origin}, and which occur is private.",
            parameter="vocabulary",
            value=None,
            hint=f"{_UNDER_ITEMS} If the items are public anyway, vocabulary=baskets.domain.",
        )
    domain = baskets.domain
    if vocabulary is not None:
        domain = _named(vocabulary)
    if not len(domain):
        raise ParameterError("The 'vocabulary' parameter must name an item.", parameter="vocabulary", value=())
    return baskets if domain is baskets.domain else restricted(baskets, domain)


def _named(vocabulary: Domain | Iterable[Hashable]) -> Domain:
    if isinstance(vocabulary, Domain):
        return vocabulary
    if isinstance(vocabulary, str | bytes) or not isinstance(vocabulary, Iterable):
        raise ParameterError(
            f"The 'vocabulary' parameter must be a list of items, got a {type(vocabulary).__name__}.",
            parameter="vocabulary",
            value=vocabulary,
        )
    return Domain(vocabulary)


def _elsewhere(engine: Engine, frame: ForeignFrame, vocabulary: Domain | Iterable[Hashable] | None) -> CuratedRecords:
    """The records of a frame of another engine, which are read under the vocabulary."""
    if vocabulary is None:
        raise ParameterError(
            "The 'vocabulary' parameter must be given for a frame of Spark: which items occur is private.",
            parameter="vocabulary",
            value=None,
            hint="Name all items that are asked about: vocabulary=[...].",
        )
    domain = _named(vocabulary)
    if not len(domain):
        raise ParameterError("The 'vocabulary' parameter must name an item.", parameter="vocabulary", value=())
    Lookup.of(domain, parameter="vocabulary")
    found: CuratedRecords = engine.curated(frame, domain)
    return found


def _of_table(table: Table, vocabulary: Domain | Iterable[Hashable] | None) -> Baskets:
    """The records of a table as sets of items, over the values that were declared."""
    if vocabulary is not None and vocabulary is not table.domain:
        raise ParameterError(
            "The 'vocabulary' parameter must be left out for a table, which has a domain of its own.",
            parameter="vocabulary",
            value=vocabulary,
            hint="Choose attributes with table.select([...]).",
        )
    if vocabulary is None and not table.domain.is_declared:
        raise ParameterError(
            "The values of a table must be declared to be curated: these were read off the data, and which occur is "
            "private.",
            parameter="vocabulary",
            value=None,
            hint=f"{_UNDER_VALUES} If which values occur is public anyway, vocabulary=table.domain.",
        )
    return table.to_baskets()


def restricted(baskets: Baskets, domain: Domain) -> Baskets:
    """The records without the items that ``domain`` does not have, and with its labels.

    >>> list(restricted(Baskets([[1, 2.0], [3, "milk"]]), Domain(["2", "3", "bread"])))
    [('2',), ('3',)]
    """
    lookup = Lookup.of(domain, parameter="vocabulary")
    if not baskets.domain.is_declared:
        _check_certain(domain)
    ids = np.array(lookup.items(list(baskets.domain.labels)), np.int32)
    items = np.append(ids, np.int32(-1))[baskets.indices]
    indptr = np.concatenate([[0], np.cumsum(items >= 0)])[baskets.indptr]
    return Baskets.from_csr(indptr, items[items >= 0], domain)


def _check_certain(domain: Domain) -> None:
    """Refuse items that a frame holds in one way or another, for what its other cells are."""
    label = next(filter(may_change_in_frames, domain.labels), None)
    if label is not None:
        raise ParameterError(
            "The 'vocabulary' parameter must not name an item that frames change by what their other cells are, such "
            "as '007', '1.50', 'true' or a number of more than 15 digits, unless the baskets were read under it.",
            parameter="vocabulary",
            value=label,
            hint=_UNDER_ITEMS,
        )
