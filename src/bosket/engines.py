"""Data that live in another engine, such as a Spark session: who answers for them.

An engine is known by the library that its frames come from.  Nothing of that library is imported to find out, and no
other module asks what a frame is: what mines, estimates or randomizes asks for the engine, and goes on with what it
gives.  An engine is a module that has the functions of :class:`Engine`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

ENGINES = {"pyspark": "bosket.spark.engine", "bosket.spark": "bosket.spark.engine"}
"""From the package that a frame's type is of to the module that answers for it; those that an engine made have its
own."""


class ForeignFrame(Protocol):
    """A DataFrame of another engine, as its library has it."""

    @property
    def sparkSession(self) -> Any:  # noqa: N802  # as PySpark calls it
        """The session that it lives in."""


class Engine(Protocol):
    """What an engine does with a frame of its library."""

    def source(self, frame: Any, sought: Any = None) -> Any:
        """What supports can be estimated from: reports, or raw records, as ``Collected`` or ``RawRecords``.

        ``sought`` is what will be asked of raw records next, a ``Sought``, where that is known: they may be searched
        while they are read.  Whoever makes no use of it gives the same.
        """

    def curated(self, frame: Any, domain: Any) -> Any:
        """Raw records over a declared vocabulary, for a curator: ``CuratedRecords``.  No record is refused."""

    def randomize(self, plan: Any, frame: Any, **options: Any) -> Any:
        """A frame of reports, one for each record."""

    def collected_reports(self, frame: Any, plan: Any, max_bytes: int | None) -> Any:
        """Reports of a frame, all in memory."""


def engine_of(data: object) -> Engine | None:
    """The engine that the data live in; None for data that are here."""
    for kind in type(data).__mro__:
        for package, engine in ENGINES.items():
            if f"{kind.__module__}.".startswith(f"{package}."):
                return cast(Engine, import_module(engine))
    return None
