"""Reports that could not be sent, in a file: what was drawn once is sent as it was drawn, under the id that it had.

Records that were randomized again would tell more of people than was promised, and a batch whose answer alone was lost
would be counted twice.  The file has reports only, as they would have left, and is written for its owner to read: a
line of JSON that says of which task they are, and behind it their bytes, of any number of reports.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from bosket import strict_json
from bosket.checks import check_integer
from bosket.client.client import MOST_AT_ONCE, Client, is_id
from bosket.client.transport import SendingInterrupted, ServiceError
from bosket.errors import DataError
from bosket.reports import Reports

_VERSION = 3
_MOST_HEAD = 1 << 12
_FIELDS = ("bosket_unsent", "task", "id", "at_once")


@dataclass(frozen=True)
class Unsent:
    """The rest of a sending, or all: reports, what ids follow from if a batch was tried, and how many a batch has."""

    reports: Reports
    id: str | None
    at_once: int

    @classmethod
    def of(cls, problem: ServiceError | SendingInterrupted, reports: Reports, at_once: int) -> Unsent | None:
        """What is left after a fault, or Ctrl-C; None where nothing had been tried, or all is sent."""
        return (
            None
            if problem.id is None or problem.sent == len(reports)
            else cls(reports[problem.sent :], problem.id, at_once)
        )

    def write(self, path: Path, client: Client) -> None:
        """Into a new file that its owner alone reads."""
        value = {
            "bosket_unsent": _VERSION,
            "task": client.task.task,
            "id": self.id,
            "at_once": self.at_once,
        }
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(f"{json.dumps(value)}\n".encode())
            file.write(self.reports.to_bytes())
            file.flush()
            os.fsync(file.fileno())  # the file that these came from is deleted

    @classmethod
    def read(cls, path: Path, client: Client) -> Unsent:
        """Refused where it is of another task, or of another plan than the task has now."""
        try:
            with path.open("rb") as file:
                head, frames = file.readline(_MOST_HEAD), file.read()
        except OSError as problem:
            raise DataError(f"The file {path} cannot be read: {problem.strerror}.", path=path) from None
        of = "unsent reports"
        known = strict_json.fields(strict_json.parse(head, what=f"the file {path}"), of=of, required=_FIELDS)
        if strict_json.whole(known["bosket_unsent"], "bosket_unsent", of=of) != _VERSION:
            raise DataError(f"Unsent reports must be of version {_VERSION}.", path=path)
        if strict_json.text(known["task"], "task", of=of) != client.task.task:
            raise DataError(f"The reports in {path} must be of the task at the address.", path=path)
        id = strict_json.text(known["id"], "id", of=of)
        if not is_id(id):
            raise DataError(f"The id in {path} must have 32 digits.", path=path)
        at_once = strict_json.whole(known["at_once"], "at_once", of=of)
        check_integer("at_once", at_once, least=1, most=MOST_AT_ONCE)
        return cls(Reports.from_bytes(client.plan, frames), id, at_once)
