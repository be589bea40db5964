"""What a mechanism takes: raw records, and the domain that they are over."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from bosket.data import Baskets, Domain, Table, TableDomain
from bosket.errors import DataError, ParameterError

Records = Baskets | Table
"""What people hold: sets of items, or a value of each attribute."""


def check_records(data: object) -> None:
    """Refuse what is not raw records, with a word on how to make some."""
    if not isinstance(data, Baskets | Table):
        name = type(data).__name__
        hint = (
            "Reports are randomized already."
            if name == "Reports"
            else "Make Baskets(...) or Baskets.from_frame(...); of a table with attributes, Table.from_frame(...)."
        )
        raise DataError(f"Baskets and tables can be randomized, a {name} cannot.", hint=hint)


def as_domain(value: Domain | Records | Iterable[Hashable]) -> Domain:
    """A domain from what people have at hand: a domain, baskets, a table, or labels."""
    if isinstance(value, Domain):
        return value
    if isinstance(value, Baskets | Table):
        return value.domain
    return Domain(value)


def table_domain(domain: Domain, *, of: str) -> TableDomain:
    """The domain of a table, for a mechanism that randomizes nothing else."""
    if not isinstance(domain, TableDomain):
        raise ParameterError(
            f"The 'domain' parameter of {of} must be that of a table: attributes with values.",
            parameter="domain",
            value=domain,
            hint="Make a Table with bosket.Table.from_frame or bosket.Table.read.",
        )
    return domain
