"""Ratios against peers and the machine's limit, all within one run; never a bare number of seconds to compare across
machines.
"""

from bosket.research.benchmarks.bars import Bar
from bosket.research.benchmarks.suite import BENCHMARKS, run

__all__ = ["BENCHMARKS", "Bar", "run"]
