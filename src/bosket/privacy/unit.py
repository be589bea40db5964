"""What one person puts into a study: how many records, how long, and what becomes of longer ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bosket import strict_json
from bosket.checks import check_choice, check_epsilon, check_integer, shown
from bosket.data.domain import MOST_ITEMS
from bosket.errors import ParameterError
from bosket.privacy.guarantee import MOST_REPORTS

_MOST_EPSILON = 100.0  # of a stated size: more hides nothing, and exponentials end near 700


@dataclass(frozen=True)
class PrivacyUnit:
    """What one person puts in: ``reports`` records, each of at most ``max_size`` items (None: any number).

    ``reports`` is at most ``MOST_REPORTS``, a thousand million, and ``max_size`` at most 2**31 - 1.

    A mechanism that sends sizes needs a ``max_size``: the weight of a report grows with the size that it states, so
    that a report which claims a long record could outweigh all others.  ``is_declared`` is False where it was read off
    the data.

    ``longer`` says what happens to a record with more items: ``"refuse"`` it, or ``"sample"`` max_size of its items,
    each choice equally likely, before it is randomized.  Supports are then those of the records as sampled.

    ``state_sizes_to`` makes a report of a record that was sampled down state how many items it had, in the clear;
    records of more items than this are refused.  Supports are then those of whole records.  With ``size_epsilon`` the
    size goes through randomized response first, whose epsilon adds to that of the record.  See docs/theory/cutting.md.
    """

    max_size: int | None = None
    reports: int = 1
    longer: Literal["refuse", "sample"] = "refuse"
    is_declared: bool = True
    state_sizes_to: int | None = None
    size_epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.max_size is not None:
            most = check_integer("max_size", self.max_size, least=1, most=MOST_ITEMS, of="PrivacyUnit")
            object.__setattr__(self, "max_size", most)
        reports = check_integer("reports", self.reports, least=1, most=MOST_REPORTS, of="PrivacyUnit")
        object.__setattr__(self, "reports", reports)
        check_choice("longer", self.longer, ("refuse", "sample"), of="PrivacyUnit")
        if not isinstance(self.is_declared, bool) or not (self.is_declared or self.max_size is not None):
            raise ParameterError(
                "The 'is_declared' parameter of PrivacyUnit must be True, or False beside a 'max_size' that was read "
                "off the data.",
                parameter="is_declared",
                value=self.is_declared,
            )
        self._check_stated()

    def _check_stated(self) -> None:
        """Sizes are stated of records that are sampled down, and randomized where they are stated."""
        if self.state_sizes_to is not None:
            least = 2 if self.max_size is None else self.max_size + 1
            most = check_integer("state_sizes_to", self.state_sizes_to, least=least, most=MOST_ITEMS, of="PrivacyUnit")
            object.__setattr__(self, "state_sizes_to", most)
            if self.longer != "sample":
                raise ParameterError(
                    "The 'state_sizes_to' parameter of PrivacyUnit must come with longer='sample': the size is that of "
                    "a record before it was sampled down.",
                    parameter="state_sizes_to",
                    value=most,
                )
        if self.size_epsilon is not None:
            epsilon = check_epsilon("size_epsilon", self.size_epsilon, of="PrivacyUnit")
            object.__setattr__(self, "size_epsilon", epsilon)
            if self.state_sizes_to is None or not 0 < epsilon <= _MOST_EPSILON:
                raise ParameterError(
                    f"The 'size_epsilon' parameter of PrivacyUnit must be above 0, at most {_MOST_EPSILON:g}, and "
                    f"beside a 'state_sizes_to', got {shown(epsilon)}.",
                    parameter="size_epsilon",
                    value=epsilon,
                )

    def to_json(self) -> dict[str, Any]:
        """What a plan says of its unit; what is as usual is left out."""
        value: dict[str, Any] = {"max_size": self.max_size, "reports": self.reports}
        if self.longer != "refuse":
            value["longer"] = self.longer
        for name in ("state_sizes_to", "size_epsilon"):
            if getattr(self, name) is not None:
                value[name] = getattr(self, name)
        if not self.is_declared:
            value["is_declared"] = False
        return value

    @classmethod
    def from_json(cls, value: Any) -> PrivacyUnit:
        """The unit that :meth:`to_json` wrote; the value may come from anybody."""
        of = "the unit of a plan"
        optional = ("longer", "is_declared", "state_sizes_to", "size_epsilon")
        known = strict_json.fields(value, of=of, required=("max_size", "reports"), optional=optional)
        most = known["max_size"]
        return cls(
            max_size=None if most is None else strict_json.whole(most, "max_size", of=of),
            reports=strict_json.whole(known["reports"], "reports", of=of),
            longer=strict_json.text(known.get("longer", "refuse"), "longer", of=of),  # type: ignore[arg-type]  # checked there
            is_declared=strict_json.truth(known.get("is_declared", True), "is_declared", of=of),
            state_sizes_to=strict_json.whole(known["state_sizes_to"], "state_sizes_to", of=of)
            if "state_sizes_to" in known
            else None,
            size_epsilon=strict_json.real(known["size_epsilon"], "size_epsilon", of=of)
            if "size_epsilon" in known
            else None,
        )
