"""What a study's file says: which tasks there are, where reports are kept, and what may be sent.

    store = "sqlite:///study.db"            # or postgresql://user@host/name
    folder = "."                            # where the signing key and the first admin token are kept

    [[tasks]]
    id = "shop"
    title = "What is bought together"
    plan = "plan.json"
    min_batch = 100

Names are relative to the file, that of a store of SQLite too.  The environment goes before the file: BOSKET_STORE,
BOSKET_FOLDER, BOSKET_HOST, BOSKET_PORT.  A field that is not known is refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from bosket.checks import check_choice, check_fraction, check_integer, check_limits, check_probability, shown
from bosket.data.formats.sources import load
from bosket.errors import DataError, ParameterError
from bosket.plan import Plan
from bosket.service.periods import Periods

ENVIRONMENT = {"store": "BOSKET_STORE", "folder": "BOSKET_FOLDER", "host": "BOSKET_HOST", "port": "BOSKET_PORT"}
MOST_FILE = 1 << 20
MOST_BODY = 192 << 20
"""Bytes that are held of all large bodies at once: one that is larger could never come."""
_MOST_PLAN = 1 << 26
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
_TASK = {
    "id",
    "title",
    "plan",
    "min_batch",
    "batch_size",
    "tokens",
    "submit_token",
    "closes",
    "period",
    "periods",
    "max_body",
    "max_reports",
    "rate",
    "min_support",
    "min_confidence",
    "second",
    "simulation",
}
_SERVICE = {"store", "folder", "host", "port", "origins", "tasks"}
_SECOND = {"people", "min_support", "top", "max_size"}
_PERIODS = {"first", "every", "number", "reports", "versions"}
_SQLITE = "sqlite:///"


@dataclass(frozen=True)
class SecondPhase:
    """How the questions of a second phase are made by the answers of the first.

    Tables take ``people`` and ``min_support`` (:meth:`bosket.Design.refine`), baskets ``top`` and ``max_size``
    (:meth:`bosket.AskBaskets.refine`).
    """

    people: int = 10_000
    min_support: float = 0.05
    top: int = 20
    max_size: int = 2

    def __post_init__(self) -> None:
        for name in ("people", "top", "max_size"):
            check_integer(name, getattr(self, name), least=1, most=1 << 31, of="a second phase")
        check_fraction("min_support", self.min_support, of="a second phase")


@dataclass(frozen=True)
class TaskSettings:
    """One task: a plan, and how its reports are taken.

    min_batch       fewest reports of which anything is shown, and by which two pictures differ
    batch_size      reports after which an open batch is shuffled as a whole and sealed; at least ``min_batch``
    tokens          "one-time": each submission spends a token that was issued for it
    submit_token    whether a submission needs a token with the scope submit
    closes          when the task closes by itself; None for never
    period          what a period is in words, for the page, where people answer once in each
    periods         periods that the collector keeps: it takes no more of a person in each than they say
    max_body        most bytes of a submission
    max_reports     most reports of a submission
    rate            most submissions a second, on the average; None for no limit
    min_support     the limit of the itemsets that are shown
    min_confidence  the limit of the rules that are shown
    second          a second phase, if there is one
    simulation      whether reports are taken that say they are simulated: one of them makes that the note on all
    """

    id: str
    title: str
    plan: Plan
    min_batch: int = 100
    batch_size: int = 1000
    tokens: Literal["none", "one-time"] = "none"
    submit_token: bool = False
    closes: datetime | None = None
    period: str | None = None
    max_body: int = 1 << 20
    max_reports: int = 10_000
    rate: float | None = None
    min_support: float = 0.05
    min_confidence: float = 0.5
    second: SecondPhase | None = None
    periods: Periods | None = None
    simulation: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise ParameterError(
                f"The 'id' of a task must be up to 64 small letters, digits and hyphens, got {shown(self.id)}.",
                parameter="id",
                value=self.id,
            )
        check_choice("tokens", self.tokens, ("none", "one-time"), of="a task")
        for name in ("min_batch", "batch_size", "max_body", "max_reports"):
            most = MOST_BODY if name == "max_body" else 1 << 31
            check_integer(name, getattr(self, name), least=1, most=most, of="a task")
        object.__setattr__(self, "batch_size", max(self.batch_size, self.min_batch))
        if self.rate is not None:
            check_limits("rate", self.rate, above=0, most=1e9)
        check_fraction("min_support", self.min_support, of="a task")
        check_probability("min_confidence", self.min_confidence, of="a task")
        if self.closes is not None and self.closes.tzinfo is None:
            object.__setattr__(self, "closes", self.closes.replace(tzinfo=UTC))
        if self.plan.mechanism.needs_curator or self.plan.channel.belong_together:
            raise ParameterError(
                f"The 'plan' of a task must let each person's report stand alone; {self.plan.mechanism} mixes people.",
                parameter="plan",
                value=None,
            )
        if self.second is not None and self.tokens != "one-time":
            raise ParameterError(
                "The 'second' phase of a task must come with tokens = \"one-time\": without them somebody could "
                "answer in both.",
                parameter="second",
                value=None,
            )
        if self.periods is not None:
            self._check_periods(self.periods)

    def _check_periods(self, periods: Periods) -> None:
        """Refuse periods that cannot be kept, or of which the plan's card does not tell."""
        wrong = None
        if self.tokens != "one-time":
            wrong = 'come with tokens = "one-time": without them nobody can count what a person sent'
        elif self.second is not None or self.period is not None:
            wrong = "come without a second phase, and without a 'period' in words"
        elif periods.number * periods.reports > self.plan.unit.reports:
            wrong = (
                f"allow no more than the plan, which counts {self.plan.unit.reports} of a person, got "
                f"{periods.number} times {periods.reports}"
            )
        if wrong is not None:
            raise ParameterError(f"The 'periods' of a task must {wrong}.", parameter="periods", value=None)
        closes = periods.end if self.closes is None else min(self.closes, periods.end)
        object.__setattr__(self, "closes", closes)


@dataclass(frozen=True)
class ServiceSettings:
    """A whole service: its tasks and where it keeps what it is given."""

    tasks: tuple[TaskSettings, ...]
    store: str = "sqlite:///bosket.db"
    folder: Path = Path()
    host: str = "127.0.0.1"
    port: int = 8080
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [task.id for task in self.tasks]
        if not names or len(set(names)) < len(names):
            raise ParameterError(
                "A service must have tasks, each with an id of its own.", parameter="tasks", value=len(names)
            )
        check_integer("port", self.port, least=0, most=65535, of="the service")


def read_settings(path: str | Path, *, environment: Mapping[str, str] | None = None) -> ServiceSettings:
    """The settings in a TOML file, with what the environment says in place of it."""
    path = Path(path)
    found = _parse(path)
    for name, variable in ENVIRONMENT.items():
        if variable in (environment or {}):
            text = (environment or {})[variable]
            found[name] = int(text) if name == "port" and text.isdecimal() else text
    try:
        return _service(found, path.parent)
    except (DataError, ParameterError, TypeError) as problem:
        hint = getattr(problem, "hint", None)
        raise DataError(f"The study in {path} cannot be served: {problem}", path=path, hint=hint) from None


def _parse(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(MOST_FILE + 1)
    except OSError as error:
        raise DataError(f"Cannot read {path}: {error.strerror}.", path=path) from None
    if len(text) > MOST_FILE:
        raise DataError(f"The file {path} must have at most {MOST_FILE} bytes.", path=path)
    fault = None
    try:
        return tomllib.loads(text.decode("utf-8"))
    except UnicodeDecodeError:
        fault = "it is not UTF-8"
    except tomllib.TOMLDecodeError as error:
        fault = str(error)
    raise DataError(f"The file {path} is not TOML: {fault}.", path=path)


def _known(value: Any, names: set[str], of: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(f"{of} must be a table of settings.")
    strange = sorted(set(value) - names)
    if strange:
        raise DataError(f"{of} has no setting {shown(strange[0])}; known are {', '.join(sorted(names))}.")
    return dict(value)


def _service(value: dict[str, Any], beside: Path) -> ServiceSettings:
    known = _known(value, _SERVICE, "A study")
    listed = known.pop("tasks", [])
    if not isinstance(listed, list):
        raise DataError("The tasks of a study are written as [[tasks]].")
    known["tasks"] = tuple(_task(one, beside) for one in listed)
    known["folder"] = beside / _text(known.get("folder", "."), "folder")
    if "origins" in known:
        if not isinstance(known["origins"], list):  # else the letters of a text would be origins
            raise DataError("The setting 'origins' must be a list of origins, such as [\"https://study.example.org\"].")
        known["origins"] = tuple(_text(origin, "origins") for origin in known["origins"])
    for name in ("store", "host"):
        if name in known:
            _text(known[name], name)
    known["store"] = _beside(known.get("store", f"{_SQLITE}bosket.db"), beside)
    return ServiceSettings(**known)


def _beside(store: str, folder: Path) -> str:
    """The address of a store; one of SQLite by a name that is not whole is that of a file beside the study's."""
    name = store.removeprefix(_SQLITE)
    if name == store or not name or name.startswith(("/", ":", "?", "file:")):
        return store
    import sqlalchemy as sa

    whole = sa.URL.create("sqlite", database=str(folder.resolve()))  # which quotes what means something in an address
    return f"{whole.render_as_string()}/{name}"


def _task(value: Any, beside: Path) -> TaskSettings:
    known = _known(value, _TASK, "A task")
    for name in ("id", "title", "plan"):
        known[name] = _text(known.get(name), name)
    known["plan"] = Plan.from_json(load(beside / known["plan"], max_bytes=_MOST_PLAN))
    if "second" in known:
        known["second"] = SecondPhase(**_known(known["second"], _SECOND, "A second phase"))
    if "periods" in known:
        known["periods"] = Periods(**_known(known["periods"], _PERIODS, "The periods of a task"))
    if not isinstance(known.get("closes"), datetime | None):
        raise DataError("The setting 'closes' must be a date with a time, such as 2030-01-31T18:00:00Z.")
    for name in ("submit_token", "simulation"):
        if not isinstance(known.get(name, False), bool):
            raise DataError(f"The setting '{name}' must be true or false.")
    if not isinstance(known.get("period"), str | None):
        raise DataError("The setting 'period' must be text.")
    return TaskSettings(**known)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise DataError(f"The setting '{name}' must be text of one line.")
    return value
