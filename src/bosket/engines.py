"""Data that live in another engine, such as a Spark session: who answers for them.

An engine is known by the library that its frames come from.  Nothing of that library is imported to find out, and no
other module asks what a frame is: what mines, estimates or randomizes asks for the engine, and goes on with what it
gives.  An engine is a module that has the functions of :class:`Engine`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

ENGINES = {"pyspark": "bosket.spark.engine"}
"""From the first name of a library's modules to the module that answers for its frames."""


class Engine(Protocol):
    """What an engine does with a frame of its library."""

    def source(self, frame: Any) -> Any:
        """What supports can be estimated from: reports, or raw records, as ``Collected`` or ``RawRecords``."""

    def randomize(self, plan: Any, frame: Any, **options: Any) -> Any:
        """A frame of reports, one for each record."""

    def collected_reports(self, frame: Any, plan: Any) -> Any:
        """Reports of a frame, all in memory."""


def engine_of(data: object) -> Engine | None:
    """The engine that the data live in; None for data that are here."""
    for kind in type(data).__mro__:
        name = ENGINES.get(kind.__module__.partition(".")[0])
        if name is not None:
            return cast(Engine, import_module(name))
    return None
