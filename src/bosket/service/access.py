"""Tokens: random words with a scope, of which the store has digests alone.

A token is ``<id>.<secret>``: the id finds the row, the secret is 256 random bits, and its SHA-256 is compared in
constant time.  A secret so long needs no slow hash.  One-time tokens are secrets without an id, looked up by digest.

submit   may send reports, where a task asks for it
analyse  may read results and export reports
admin    may do everything, closing tasks and issuing tokens among it
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Literal, get_args

import sqlalchemy as sa

from bosket.errors import DataError
from bosket.service.schema import ONE_TIME, TOKENS
from bosket.service.store import ReportStore, told

Scope = Literal["submit", "analyse", "admin"]
SCOPES: tuple[str, ...] = get_args(Scope)
MOST_AT_ONCE = 100_000
_LONGEST = 128
_NAME = 16
_SECRET = 43  # letters of 256 bits
_REVOKED = "revoked"
"""The scope of a token that was revoked: it stays known, so that no file brings it back."""
_NOBODY = hashlib.sha256(b"nobody").digest()


@dataclass(frozen=True)
class KnownToken:
    digest: bytes
    scope: str
    task: str | None
    """The task that it is for; None for all."""


def new_token() -> str:
    return f"{secrets.token_hex(_NAME // 2)}.{secrets.token_urlsafe(32)}"


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


class Access:
    """The tokens of a store, held in memory: looking one up asks no database."""

    def __init__(self, store: ReportStore) -> None:
        self._store = store
        with told(), store.reading.begin() as connection:
            known = {
                row.id: KnownToken(bytes(row.digest), row.scope, row.task)
                for row in connection.execute(sa.select(TOKENS))
            }
        self._known = {name: one for name, one in known.items() if one.scope != _REVOKED}
        self._revoked = frozenset(known) - frozenset(self._known)

    @property
    def has_admin(self) -> bool:
        """Whether there is a token for all that an administrator does: one of a task is for nothing else."""
        return any(token.scope == "admin" and token.task is None for token in self._known.values())

    def is_revoked(self, token: str) -> bool:
        """Whether a token was revoked, by the id before its point."""
        return token.partition(".")[0] in self._revoked

    def issue(self, scope: Scope, *, task: str | None = None) -> str:
        """A new token; it is told here and nowhere else."""
        token = new_token()
        self.adopt(token, scope, task=task)
        return token

    def adopt(self, token: str, scope: Scope, *, task: str | None = None) -> None:
        """Make a token known; one that is shorter than ours is refused."""
        name, _, secret = token.partition(".")
        if len(name) != _NAME or len(secret) < _SECRET or len(token) > _LONGEST:
            raise DataError("A token must be one that a collector made: 16 digits, a point and 256 random bits.")
        known = KnownToken(digest_of(secret), scope, task)
        with told(), self._store.writing.begin() as connection:
            connection.execute(sa.insert(TOKENS).values(id=name, digest=known.digest, scope=scope, task=task))
        self._known = {**self._known, name: known}

    def issue_one_time(self, task: str, number: int, *, period: str | None = None) -> list[str]:
        """New one-time tokens of a task, or of one period of it, unspent, in no order that the store keeps."""
        given = [secrets.token_urlsafe(32) for _ in range(number)]
        rows = [{"digest": digest_of(one), "task": task, "is_spent": False, "period": period} for one in given]
        with told(), self._store.writing.begin() as connection:
            connection.execute(sa.insert(ONE_TIME), rows)
        return given

    def revoke(self, name: str) -> bool:
        """Take a token by the id before its point no more; whether there was one."""
        one = (TOKENS.c.id == name, TOKENS.c.scope != _REVOKED)
        with told(), self._store.writing.begin() as connection:
            found = connection.execute(sa.update(TOKENS).where(*one).values(scope=_REVOKED)).rowcount
        self._known = {key: value for key, value in self._known.items() if key != name}
        self._revoked |= {name} if found else set()
        return bool(found)

    def allows(self, authorization: str | None, *, scope: Scope, task: str | None) -> bool | None:
        """Whether the value of an Authorization header allows this; None where it is no token that is known.

        The digest of an unknown token is compared as well, with that of nobody.
        """
        kind, _, token = (authorization or "").partition(" ")
        name, _, secret = token.strip()[:_LONGEST].partition(".")
        known = self._known.get(name)
        is_right = hmac.compare_digest(digest_of(secret), _NOBODY if known is None else known.digest)
        if known is None or not is_right or kind.lower() != "bearer":
            return None
        return known.scope in (scope, "admin") and known.task in (None, task)
