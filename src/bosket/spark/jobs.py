"""Jobs of a Spark session: started from here, with what goes wrong told in our words.

Errors of Spark may quote cells of the data, and tracebacks of its workers are long: neither is passed on.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from traceback import walk_tb
from typing import Any, ParamSpec, TypeVar

from bosket.errors import BosketError, DataError

Frame = Any
"""A DataFrame of PySpark, of a session here or of Spark Connect."""

T = TypeVar("T")
P = ParamSpec("P")

UNFINISHED = "Spark could not finish a job"
"""How a message begins that does not know why."""
MISCOUNTED = "a row of other cells than the header"
"""What a job ends with where a row of a CSV file is not one of its header."""
_MAY_MERGE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
_CHANGING = threading.Lock()
_LIBRARIES = ("pyspark", "py4j", "grpc")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_LOST = re.compile(r"CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND|Checkpoint block \w+ not found")
_GONE = re.compile(
    r"SparkContext was shut down|stopped SparkContext|Connection refused|Answer from Java side is empty|"
    r"All masters are unresponsive|UNAVAILABLE|Master removed our application|cancelled because",
)


def spark_session(master: str) -> Any:
    """A session of the cluster at this address, such as ``local[2]``, ``spark://host:7077`` or ``sc://host``."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise BosketError("PySpark is not installed.", hint="pip install 'bosket[spark]'") from None
    builder: Any = SparkSession.builder.appName("bosket")
    if master.startswith("sc://"):
        return started(lambda: builder.remote(master).getOrCreate())
    if master.startswith("local"):  # workers are processes of this machine, and their log is nobody's
        quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        for name, value in quiet.items():
            builder = builder.config(name, value)
    return started(lambda: builder.master(master).getOrCreate())


def is_connected(frame: Frame) -> bool:
    """Whether a frame is of Spark Connect, where what a job observed may not come back."""
    return type(frame).__module__.startswith("pyspark.sql.connect")


def collected(frame: Callable[[], Frame]) -> Any:
    """Run the job of a frame, which is made inside, and give its rows as an Arrow table."""
    return started(lambda: frame().toArrow())


def persisted(make: Callable[[], Frame]) -> Frame:
    """A frame, made inside, that the workers keep.

    Adaptive execution merges small partitions, of a shuffle into 200 of a few records say, but not those of a frame
    that is kept, unless the session allows for it: each of them would start a task of Python in every job.
    """

    def job() -> Frame:
        frame = make()
        with _CHANGING, _may_merge(frame.sparkSession.conf):  # a second thread would put back what the first has set
            return frame.persist()

    return started(job)


@contextmanager
def _may_merge(settings: Any) -> Iterator[None]:
    """Allow for merging for a while; where the setting is not known or cannot be set, partitions stay as they are."""
    was, is_changed = None, False
    with contextlib.suppress(Exception):
        if settings.get("spark.sql.adaptive.enabled") == "true":
            was = settings.get(_MAY_MERGE, None)
            settings.set(_MAY_MERGE, "true")
            is_changed = True
    try:
        yield
    finally:
        if is_changed:
            with contextlib.suppress(Exception):  # the frame is kept by now, and must come back
                if was is None:
                    settings.unset(_MAY_MERGE)
                else:
                    settings.set(_MAY_MERGE, was)


def started(job: Callable[[], T]) -> T:
    """What a job gives; where Spark fails, a ``DataError`` that quotes nothing."""
    fault = hint = None
    try:
        with _without_advice():
            return job()
    except BosketError:
        raise
    except Exception as problem:
        if not _is_foreign(problem):
            raise
        fault, hint = _told(problem)
    raise DataError(fault, hint=hint)


def telling(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, all of which is a job: the least question to a session that is gone fails."""

    @wraps(function)
    def asked(*arguments: P.args, **options: P.kwargs) -> T:
        return started(lambda: function(*arguments, **options))

    return asked


@contextmanager
def _without_advice() -> Iterator[None]:
    """Without PySpark's warning that it does not know this pandas: frames travel as Arrow here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _is_foreign(problem: BaseException) -> bool:
    roots = {kind.__module__.partition(".")[0] for kind in type(problem).__mro__}
    return bool(roots & set(_LIBRARIES)) or isinstance(problem, ConnectionError | EOFError) or _is_stopped(problem)


def _is_stopped(problem: BaseException) -> bool:
    """Whether PySpark itself stumbled over a session that was stopped: it has no error of its own for all of it."""
    if not isinstance(problem, AssertionError | AttributeError):
        return False
    *_, (last, _) = walk_tb(problem.__traceback__)
    return str(last.f_globals.get("__name__", "")).partition(".")[0] in _LIBRARIES


def _told(problem: Exception) -> tuple[str, str]:
    text, name = str(problem), type(problem).__name__
    missing = _MISSING.search(text)
    if missing is not None:
        return (
            f"The workers of Spark have no module '{missing[1]}'.",
            "Install bosket[spark] where they run, and name their Python: spark.pyspark.python, or PYSPARK_PYTHON.",
        )
    if _LOST.search(text):
        return (
            "What workers of Spark held is lost with one of them.",
            "Compute a checkpointed frame again; randomize reports again where nobody knows them, with folder=..., "
            "which outlives a worker.",
        )
    if MISCOUNTED in text:
        return (
            "Every row of a CSV file must have as many values as the header has.",
            "Which row does not is told where the file is read without Spark; cells do not go on in another line here.",
        )
    if "PATH_ALREADY_EXISTS" in text:
        return "The folder for reports exists already.", "Give a new one: reports are never added to others."
    is_gone = isinstance(problem, ConnectionError | EOFError) or _is_stopped(problem) or name == "Py4JNetworkError"
    if is_gone or _GONE.search(text):
        return f"The Spark session went away ({name}).", "Start another one, and ask again: nothing was kept."
    return f"{UNFINISHED} ({name}).", "Its log says why; this message quotes no data."
