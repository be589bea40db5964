"""Records: baskets of items and tables of attributes, their domains, readers and writers, the Quest generator."""

from bosket.data.baskets.records import Baskets
from bosket.data.domain import Domain
from bosket.data.generator import quest
from bosket.data.tables.domain import Attribute, TableDomain
from bosket.data.tables.table import Table

__all__ = ["Attribute", "Baskets", "Domain", "Table", "TableDomain", "quest"]
