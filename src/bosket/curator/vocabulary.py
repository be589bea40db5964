"""Records over the declared vocabulary: what is asked about is public, and nothing else of a record is looked at.

Each record becomes its own items that were declared, by how labels are written, whatever else it holds and whatever the
other records hold.  So a record more or less is a record more or less, and no record can end in an error.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from bosket.data import Baskets, Domain
from bosket.errors import DataError, ParameterError


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
    return baskets if domain == baskets.domain else restricted(baskets, domain)


def restricted(baskets: Baskets, domain: Domain) -> Baskets:
    """The records without the items that ``domain`` does not have.

    A label is the declared one that it equals, or else that is written like it: a reader of text takes labels for
    numbers if all of them are, and one record with "milk" must not decide that.

    >>> list(restricted(Baskets([[1, 2], [3]]), Domain(["2", "3", "milk"])))
    [('2',), ('3',)]
    """
    written = {str(label): at for at, label in enumerate(domain.labels)}
    if len(written) < len(domain):  # 1 and "1" are both declared: no two ways to read a label
        written = {}
    places = np.array(
        [domain.index.get(label, written.get(str(label), -1)) for label in baskets.domain.labels], np.int32
    )
    items = places[baskets.indices]
    indptr = np.concatenate([[0], np.cumsum(items >= 0)])[baskets.indptr]
    return Baskets.from_csr(indptr, items[items >= 0], domain)
