"""What is said of the columns of a file before it is read: their layout, and which of them hold records and items."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from bosket.checks import check_choice, check_text
from bosket.data.formats.column_names import position
from bosket.data.formats.columns import Columns
from bosket.data.formats.layouts import Layout, check_named
from bosket.errors import ParameterError

Names: TypeAlias = Literal["none", "both", "both or item"]
"""Which names of columns a format takes: those of the two columns of a long file, or also that of a column of lists."""


class Arrangement(NamedTuple):
    """The layout of a file, and the names of its columns where they are given; these settle the layout."""

    layout: Layout | None = None
    record: str | None = None
    item: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read, where they are named."""
        return tuple(name for name in (self.record, self.item) if name is not None)

    def places(self, columns: Columns) -> list[int]:
        """Where the columns are that are named, that of records first."""
        named = (("record", self.record), ("item", self.item))
        return [position(columns, parameter, name) for parameter, name in named if name is not None]

    def settled(self, layouts: tuple[Layout, ...], names: Names, *, suffix: str) -> Arrangement:
        """The same with the layout that the names imply; what a format does not have is refused."""
        if self.layout is not None:
            check_choice("layout", self.layout, layouts)
        for parameter, name in (("record", self.record), ("item", self.item)):
            if name is not None:
                check_text(parameter, name)
            if name is not None and names == "none":
                raise ParameterError(
                    f"The '{parameter}' parameter must be left out for a {suffix} file, which has no columns.",
                    parameter=parameter,
                    value=name,
                )
        if not self.columns:
            return self
        if self.item is None or (self.record is None and (names == "both" or self.layout == "long")):
            raise self._half(names)
        layout: Layout = self.layout or ("list" if self.record is None else "long")
        check_named(layout, self.record, self.item)
        return self._replace(layout=layout)

    def _half(self, names: Names) -> ParameterError:
        missing, given = ("item", "record") if self.item is None else ("record", "item")
        lists = " A column of lists is named by 'item' alone." if names == "both or item" else ""
        return ParameterError(
            f"The '{missing}' parameter must be given where '{given}' is, got None.",
            parameter=missing,
            value=None,
            hint=f"Name the column of records and that of items.{lists}",
        )


UNTOLD = Arrangement()
"""Nothing is said, and the columns tell their layout."""
