"""What the curator decides without looking at the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb

from bosket.checks import check_fraction, check_integer, check_not_negative
from bosket.curator.levels import Heuristics
from bosket.curator.truncation import MOST_TAKEN
from bosket.errors import ParameterError

_MOST = 0.9  # of epsilon, for the first looks
_LEAST = 1e-3  # of epsilon, for each of them: less would tell nothing


@dataclass(frozen=True)
class Settings:
    """What truncation decides without looking at the data; every field is public, and stands in ``about``."""

    share_of_lengths: float = 0.05
    """Of epsilon, for how long records are and how many there are; at least 0.001."""
    share_of_cardinality: float = 0.1
    """Of epsilon: half of it ranks the items, half finds how large frequent itemsets get; at least 0.001, and at most
    0.9 with ``share_of_lengths``."""
    whole: float = 0.85
    """The share of records that the first cut, of items at random, should leave whole: a fraction in (0, 1]."""
    longest: int = 100
    """Lengths up to this are told apart, longer ones by powers of two."""
    cap: int = 15
    """Frequent itemsets are taken to have no more items."""
    extra: int = 3
    """Records are cut to i + extra items when itemsets of i items are counted (psi of Algorithm 3), i >= 2.

    Set once, on public benchmark files, as was the correction of the heuristics; 1 and a full correction are nearer to
    the paper (``AS_PUBLISHED``).  No more than lets one record be cut in some tens of milliseconds: C(i + extra, i) is
    at most 4096 for i up to ``cap``."""
    heuristics: Heuristics = field(default_factory=Heuristics)
    """What is kept of a record that is cut, and how the loss is reckoned."""
    false_share: float | None = 0.1
    """Of the itemsets of one size that are reported, this share at most is expected to be noise alone; None: any.

    By the noisy counts of all candidates (Benjamini and Hochberg 1995): many candidates need a higher count."""
    clear: float = 4.0
    """Sizes at which the scale of the noise is above the limit over this are not counted, and cost nothing.

    0: all sizes up to the largest."""
    max_candidates: int = 2_000_000
    """Of one size: where there are more the search ends before it, and ``about["stopped"]`` says so."""

    def __post_init__(self) -> None:
        for name in ("share_of_lengths", "share_of_cardinality"):
            check_fraction(name, getattr(self, name), of="Settings")
            if getattr(self, name) < _LEAST:
                raise ParameterError(
                    f"The '{name}' parameter of Settings must be at least {_LEAST:g}, got {getattr(self, name):g}.",
                    parameter=name,
                    value=getattr(self, name),
                )
        if self.share_of_lengths + self.share_of_cardinality > _MOST:
            raise ParameterError(
                f"The 'share_of_lengths' parameter of Settings must leave something for the counts: at most {_MOST:g} "
                f"together with 'share_of_cardinality', got {self.share_of_lengths + self.share_of_cardinality:g}.",
                parameter="share_of_lengths",
                value=self.share_of_lengths,
            )
        check_fraction("whole", self.whole, of="Settings")
        check_integer("longest", self.longest, least=1, of="Settings")
        check_integer("cap", self.cap, least=1, of="Settings")
        check_integer("extra", self.extra, least=0, of="Settings")
        self._check_work()
        if not isinstance(self.heuristics, Heuristics):
            raise ParameterError(
                "The 'heuristics' parameter of Settings must be Heuristics.",
                parameter="heuristics",
                value=self.heuristics,
            )
        check_not_negative("clear", self.clear, of="Settings")
        if self.false_share is not None:
            check_fraction("false_share", self.false_share, of="Settings")
        check_integer("max_candidates", self.max_candidates, least=1, of="Settings")

    def _check_work(self) -> None:
        """Refuse to keep so many items that one record could take seconds, whatever the data are."""
        longest = self.cap + self.extra  # C(cap + extra, cap) is no less, unless one of the two is 1 or 0
        if min(self.cap - 1, self.extra) == 0 or (longest <= MOST_TAKEN and comb(longest, self.cap) <= MOST_TAKEN):
            return
        raise ParameterError(
            f"The 'extra' parameter of Settings must be such that C(cap + extra, cap) is at most {MOST_TAKEN}, got "
            f"{self.extra} with a cap of {self.cap}.",
            parameter="extra",
            value=self.extra,
            hint="One record would take seconds otherwise. A lower 'cap' leaves more room.",
        )


AS_PUBLISHED = Settings(extra=1, heuristics=Heuristics(correction=1.0, by_length=False), false_share=None, clear=0.0)
NAIVE = Settings(heuristics=Heuristics(smart=False, double_standards=False), false_share=None, clear=0.0)
"""Section 5.2: records cut at random once, one limit for everything."""
