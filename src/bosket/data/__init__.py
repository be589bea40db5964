"""Records: baskets of items and tables of attributes, their domains, readers and writers, the Quest generator."""

from bosket.data.baskets import Baskets
from bosket.data.domain import Domain
from bosket.data.quest import quest
from bosket.data.table import Table
from bosket.data.table_domain import Attribute, TableDomain

__all__ = ["Attribute", "Baskets", "Domain", "Table", "TableDomain", "quest"]
