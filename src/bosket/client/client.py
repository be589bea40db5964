"""The Python client of a collector: reads a signed task, randomizes on this side, and sends reports."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import numpy as np

from bosket.checks import check_integer
from bosket.client.memo import Memo
from bosket.client.records import records_of
from bosket.client.tasks import Task
from bosket.client.transport import SendingInterrupted, ServiceError, Transport, check_url, check_word
from bosket.errors import DataError, ParameterError
from bosket.mechanisms.base import Records
from bosket.plan import Plan
from bosket.privacy.guarantee import LocalGuarantee
from bosket.privacy.voices import CHANGES_SHOW_ON_CARD
from bosket.progress import LevelProgress, Progress
from bosket.randomness import Randomness, secret_bytes
from bosket.report_bytes import MEDIA_TYPE
from bosket.reports import Reports

_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_WRONG_CLOCK = timedelta(days=2)  # by which that of a person's machine may be
MOST_AT_ONCE = 1000
"""Reports in one batch."""


class Client:
    """One study as those who answer see it.

    task   the address of a task, ``https://collector.example/v1/tasks/NAME``, or a task document that is at hand
    token  a token that lets its holder submit, where the study wants one
    memo   a secret of one person, at least 32 random bytes, or a :class:`~bosket.client.Memo`: the same record then
           gives the same report (:mod:`bosket.client.memo`)
    key    the public key of the study, in base64, as its owner publishes it; without it the document is checked by the
           key that it brings along, which shows a fault on the way and not a false study
    url    where to send, beside a task document
    """

    def __init__(
        self,
        task: str | Mapping[str, Any],
        token: str | None = None,
        memo: Memo | bytes | None = None,
        *,
        key: str | None = None,
        url: str | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._transport = Transport() if transport is None else transport
        address = task if isinstance(task, str) else url
        self._url = None if address is None else _task_url(address, is_pinned=key is not None)
        if isinstance(task, str):
            assert self._url is not None
            document: Any = self._transport.get(self._url)
        else:
            document = dict(task)
        self.task = Task.from_document(document, key=key)
        if self._url is not None:
            _check_name(self._url, self.task.task)
        check_word("token", token, self._parts)
        self._token = token
        self._memo = memo if memo is None or isinstance(memo, Memo) else Memo(memo, self.task.period)
        if self.plan.mechanism.needs_curator or self.plan.channel.belong_together:
            raise ParameterError(
                f"The task must have a mechanism that people can use for themselves, got {self.plan.mechanism}.",
                parameter="task",
                value=self.task.task,
            )

    @property
    def _parts(self) -> SplitResult | None:
        return None if self._url is None else urlsplit(self._url)

    @property
    def plan(self) -> Plan:
        """How records are randomized."""
        return self.task.plan

    @property
    def promise(self) -> LocalGuarantee:
        """What is promised of reports by this client; beside a memo, that a change of the record shows."""
        promise = self.plan.guarantee
        repeats = self._memo is not None and self.task.may_repeat
        return promise.noting(CHANGES_SHOW_ON_CARD) if repeats else promise

    @property
    def url(self) -> str | None:
        """The address of the task."""
        return self._url

    @property
    def key(self) -> str:
        """The public key that the task was checked by, in base64."""
        return self.task.key

    def randomize(self, record: Any) -> bytes:
        """The report of one record, as the bytes that would be sent: a list of items, or a mapping for a table."""
        return self.reports(records_of(self.plan, [record])).to_bytes()

    def reports(self, records: Records | Iterable[Any], *, rng: Randomness | None = None) -> Reports:
        """A report for each record, by secure coins, or memoised ones; ``rng=Seeded(...)`` for a simulation.

        With a memo, as many records at most as the plan counts of a person: under one secret, equal records of several
        people would give equal reports, and who knows one of the records would know the others.
        """
        data = records_of(self.plan, records)
        if self._memo is None or rng is not None:
            return self.plan.randomize(data, rng=rng, people=1)
        self._check_period()
        if data.domain != self.plan.domain:
            data = data.with_domain(self.plan.domain)  # type: ignore[arg-type]  # of the same kind, or refused there
        packed = np.ascontiguousarray(data.to_bits()).view(np.uint8)[:, : -(-len(self.plan.domain) // 8)]
        if len(packed) > self.plan.unit.reports:
            raise ParameterError(
                f"The 'memo' parameter of Client must be the secret of one person, of whom the plan counts at most "
                f"{self.plan.unit.reports}, got {len(packed)} records.",
                parameter="memo",
                value=None,
                hint="Make a client for each person, with a secret of their own; or leave the memo out.",
            )
        parts = [
            self.plan.randomize(data[at : at + 1], rng=self._memo.coins(self.plan, row.tobytes()), people=1)
            for at, row in enumerate(packed)
        ]
        return Reports.concat(parts, allow_duplicates=True) if parts else self.plan.randomize(data, people=1)

    def _check_period(self) -> None:
        """Refuse the coins of a period that is over, or of none: equal reports would tie it to the one before."""
        hint = "Make a new Client: coins are drawn afresh in each period."
        if self.task.lacks_period:
            raise DataError("No period of the task was open when the client was made.", hint=hint)
        today = _today()
        if self._url is not None and self.task.has_ended(today):
            present = Task.from_document(self._transport.get(self._url), key=self.task.key)
            if present.period != self.task.period:
                raise DataError("The period of the task that the client was made for is over.", hint=hint)
        if self.task.period is not None and self.task.has_ended(today - _WRONG_CLOCK):
            raise DataError(
                "By the clock of this machine the period of the task is over: the document may be an old one, which "
                "somebody on the way shows again.",
                hint="Set the clock if it is wrong; else make a new Client once the present document is served.",
            )

    def submit(
        self,
        records: Records | Iterable[Any],
        *,
        once: str | Sequence[str] | None = None,
        at_once: int = MOST_AT_ONCE,
        on_progress: Progress | None = None,
    ) -> int:
        """Randomize records and send their reports; how many the collector acknowledged.

        once         a one-time token of the person, where the study wants one; or a token for each batch
        at_once      reports in one batch, at most 1000
        on_progress  hears how many were acknowledged, of how many, as a LevelProgress of size 0
        """
        return self.send(self.reports(records), once=once, at_once=at_once, on_progress=on_progress)

    def send(
        self,
        reports: Reports,
        *,
        once: str | Sequence[str] | None = None,
        at_once: int = MOST_AT_ONCE,
        on_progress: Progress | None = None,
        id: str | None = None,
    ) -> int:
        """Send reports that are made; each batch under an id of its own, which makes sending it again harmless.

        ``id`` goes on where an earlier attempt failed with it (``ServiceError.id``): the ids of all batches follow from
        it, and who sees those does not see that they belong together.  Batches must be the same, so give the rest of
        the same reports, from ``ServiceError.sent`` on, and the same ``at_once``.  Ctrl-C is a ``SendingInterrupted``,
        a KeyboardInterrupt with ``sent`` and ``id``.
        """
        check_integer("at_once", at_once, least=1, most=MOST_AT_ONCE)
        several = isinstance(once, Sequence) and not isinstance(once, str | bytes)
        tokens: list[Any] = list(once or ()) if several else [once]
        n_batches = -(-len(reports) // at_once)
        for token in tokens:
            check_word("once", token, self._parts)
        if len(tokens) == 1 or not tokens:
            tokens = (tokens or [None]) * n_batches
        if len(tokens) != n_batches:
            raise ParameterError(
                f"The 'once' parameter of Client must be a token, or one for each of {n_batches} batches, got "
                f"{len(tokens)}.",
                parameter="once",
                value=None,
            )
        if id is not None and not is_id(id):
            raise ParameterError(
                "The 'id' parameter must have 32 digits, as errors tell it.", parameter="id", value=None
            )
        if self._url is None:
            raise ParameterError(
                "The 'url' parameter of Client must be given to send reports: a task document does not say where to.",
                parameter="url",
                value=None,
            )
        headers = {"Content-Type": MEDIA_TYPE}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        done, secret = 0, id or secret_bytes(16).hex()
        try:
            for start, token in zip(range(0, len(reports), at_once), tokens, strict=True):
                batch = reports[start : start + at_once]
                spent = {} if token is None else {"Bosket-Token": token}
                self._post(batch, {**headers, **spent, "Idempotency-Key": batch_id(secret)})
                # both at once: after Ctrl-C in between a batch would go again under another id
                done, secret = done + len(batch), _next(secret)
                if on_progress is not None:
                    on_progress(LevelProgress(0, done, len(reports), "sending"))
        except ServiceError as problem:
            raise problem.after(done, len(reports), secret) from None
        except KeyboardInterrupt:
            raise SendingInterrupted(done, secret) from None
        return done

    def _post(self, batch: Reports, headers: Mapping[str, str]) -> None:
        try:
            said = self._transport.post(f"{self._url}/reports", batch.to_bytes(), headers)
        except DataError:
            said = None  # from something on the way that is no collector
        if not isinstance(said, dict) or said.get("accepted") != len(batch):
            raise ServiceError(f"The collector must acknowledge all {len(batch)} reports of a batch.")


def batch_id(secret: str) -> str:
    """The id under which a batch goes, which tells nothing of the secret that it follows from."""
    return hashlib.sha256(f"bosket batch {secret}".encode()).hexdigest()[:32]


def _next(secret: str) -> str:
    """The secret of the next batch: sent once more, after whatever ended a sending, all batches have the same ids."""
    return hashlib.sha256(f"bosket next batch {secret}".encode()).hexdigest()[:32]


def _today() -> date:
    return datetime.now(UTC).date()


def is_id(id: object) -> bool:
    """Whether this is an id, or a secret that one follows from."""
    return isinstance(id, str) and _ID.fullmatch(id) is not None


def _check_name(url: str, name: str) -> None:
    """Refuse a task that the owner of the key signed for another address: its plan may be a weaker one."""
    if unquote(urlsplit(url).path.rpartition("/")[2]) != name:
        raise DataError("The task at the address must have the name that the address ends in.")


def _task_url(address: str, *, is_pinned: bool) -> str:
    """The address of the task in the interface for programs; that of its page for people will do."""
    parts = check_url(address, is_pinned=is_pinned)
    path = parts.path.rstrip("/")
    before, _, name = path.rpartition("/")
    if before.endswith("/t"):
        path = f"{before.removesuffix('/t')}/v1/tasks/{name}"
    return parts._replace(path=path, query="", fragment="").geturl()
