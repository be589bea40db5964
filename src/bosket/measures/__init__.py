"""Interest measures of rules, as functions of their 2x2 tables."""

from bosket.measures.catalogue import CATALOGUE, MLXTEND, measure, measures
from bosket.measures.measure import Measure, Monotone, Scale
from bosket.measures.table import Contingency

__all__ = ["CATALOGUE", "MLXTEND", "Contingency", "Measure", "Monotone", "Scale", "measure", "measures"]
