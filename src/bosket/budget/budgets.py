"""The budget of a data set in the central model: spend before you look, and never more than was granted.

>>> budget = Budget.in_memory(1.0)
>>> for _ in range(10):
...     entry = budget.spend(0.1, purpose="top 10 pairs")
>>> entry.number, budget.remaining.epsilon
(10, 0.0)

One call of ``spend`` pays for all that is looked at next, before the look; what comes after may use the epsilon of the
entry and no more.  How much is asked for must not depend on the data but through what was released before.

A release of several looks pays for all of them first, in one step and with one time, and hands back what it never used:

>>> budget = Budget.in_memory(1.0)
>>> first, rest = budget.spend_together([(0.1, "lengths"), (0.4, "counts")])
>>> _ = budget.give_back(rest)
>>> budget.spent.epsilon, first.time == rest.time
(0.1, True)
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, Protocol

from bosket.budget import ledger
from bosket.budget.accounts import Account, Amount, Entry, Parts, check_name, check_parts, not_returnable, now
from bosket.errors import BosketError, DataError, ExposedLedgerWarning

_moments: ContextVar[Mapping[int, str]] = ContextVar("moments", default=MappingProxyType({}))
"""The time of entries by budget, in blocks that have one; every thread has its own."""


class Store(Protocol):
    """Where an account is kept."""

    def read(self) -> Account: ...

    def append(self, change: Callable[[Account], Account]) -> Account:
        """Keep the account with the entries that ``change`` adds, all or none; nobody else adds any meanwhile."""
        ...


class Budget:
    """A named allowance of epsilon and delta, and the append-only record of what was spent of it.

    Made by :meth:`create` and :meth:`open` in a ledger, which is a file that processes share, or by :meth:`in_memory`.
    ``neighbours`` says which data sets the promise is about, ``"add-remove"`` (one record more or less) or
    ``"replace"`` (one record in place of another); an epsilon for the former is up to twice that for the latter.
    ``"add-remove-persons"`` and ``"replace-persons"`` are about persons with all their records: these pay for releases
    that protect persons, and for no others.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._terms = store.read()
        self._own = set[tuple[int, int, Entry]]()  # process, identity and entry of what may be handed back

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        name: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        neighbours: str = "add-remove",
    ) -> Budget:
        """A new budget in a ledger, which is made if need be, for its owner alone.

        A name that the ledger has already is refused: budgets cannot be changed or renewed.
        """
        account = Account.new(name, epsilon=epsilon, delta=delta, neighbours=neighbours)
        ledger.create(Path(path), account)
        return cls(_File(Path(path), account))

    @classmethod
    def open(cls, path: str | os.PathLike[str], name: str) -> Budget:
        """A budget that a ledger has."""
        return cls(_File(Path(path), ledger.find(Path(path), check_name(name))))

    @classmethod
    def in_memory(
        cls, epsilon: float, *, delta: float = 0.0, name: str = "in memory", neighbours: str = "add-remove"
    ) -> Budget:
        """A budget that is forgotten when the process ends: for notebooks and trials."""
        return cls(_Memory(Account.new(name, epsilon=epsilon, delta=delta, neighbours=neighbours)))

    @property
    def name(self) -> str:
        return self._terms.name

    @property
    def epsilon(self) -> float:
        """The whole of it, spent or not."""
        return self._terms.epsilon

    @property
    def delta(self) -> float:
        """The whole of it, spent or not."""
        return self._terms.delta

    @property
    def neighbours(self) -> str:
        return self._terms.neighbours

    @property
    def account(self) -> Account:
        """Terms and entries as they are now, all of one moment."""
        return self._store.read()

    @property
    def spent(self) -> Amount:
        return self.account.spent

    @property
    def remaining(self) -> Amount:
        return self.account.remaining

    def entries(self) -> tuple[Entry, ...]:
        return self.account.entries

    def spend(self, epsilon: float, *, purpose: str, delta: float = 0.0) -> Entry:
        """Pay for one release.  When this returns the entry is kept; only then look at the data.

        More than is left raises :class:`BudgetExceeded` and writes nothing.  After any other error, or a kill, the
        entry may or may not have been written: at worst it counts for a release that never was.
        """
        time = _moments.get().get(id(self))
        after = self._store.append(lambda account: account.spend(epsilon, delta=delta, purpose=purpose, time=time))
        return after.entries[-1]

    def spend_together(self, parts: Parts) -> tuple[Entry, ...]:
        """Pay for the parts of one release before its first look: an entry for each, all of them or none, of one time.

        ``parts`` are pairs of an epsilon and a purpose, or triples with a delta.  Errors are those of :meth:`spend`.
        A part that turns out not to be needed can be handed back by :meth:`give_back`, by whoever holds what this
        returned and by nobody else: entries that :meth:`entries` lists are as good for reading, and no good for that.
        """
        paid = check_parts(parts)
        time = _moments.get().get(id(self))
        after = self._store.append(lambda account: account.spend_together(paid, time=time))
        entries = tuple(replace(entry) for entry in after.entries[-len(paid) :])  # objects that nobody else has
        self._own.update((os.getpid(), id(entry), entry) for entry in entries)
        return entries

    @contextlib.contextmanager
    def at_one_time(self) -> Iterator[None]:
        """Entries that are written through this object in the block have the time at which the block was entered.

        For programs that read the data first and pay then: digests are published, and tell the minute by trying.  So
        the minute must not hang on how long the reading took.
        """
        known = _moments.get()
        token = _moments.set({**known, id(self): known.get(id(self)) or now()})
        try:
            yield
        finally:
            _moments.reset(token)

    def give_back(self, entry: Entry) -> Entry:
        """Hand back the whole of an entry that no look was made with, and none will be, whatever this call raises.

        Only what :meth:`spend_together` of this very object returned, in this process, and once.  The entry that is
        added has the time of the one that it returns, so that it tells nothing of the time between.  Whether to return
        must be decided by numbers that were released, never by the data otherwise.  After an error or a kill the amount
        may still count as spent.
        """
        if not isinstance(entry, Entry) or (os.getpid(), id(entry), entry) not in self._own:
            raise not_returnable(entry, "what spend_together of this Budget object returned in this process")
        return self._store.append(lambda account: account.give_back(entry)).entries[-1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_own": set()}  # a copy, here or elsewhere, returns nothing that it did not spend

    def __repr__(self) -> str:
        total = str(Amount(self.epsilon, self.delta))
        with contextlib.suppress(BosketError, ExposedLedgerWarning):  # what is wrong with a ledger is told elsewhere
            total = f"{self.remaining} left of {total}"
        return f"<Budget {self.name!r}: {total}, {self.neighbours}, {self._store}>"


class _File:
    """An account in a ledger; what was seen of it once must be there ever after."""

    def __init__(self, path: Path, seen: Account) -> None:
        self._path = path.absolute()  # the process may go elsewhere
        self._seen = seen

    def read(self) -> Account:
        before = self._seen
        return self._checked(ledger.find(self._path, before.name), before)

    def append(self, change: Callable[[Account], Account]) -> Account:
        before = self._seen
        return self._remember(
            ledger.append(self._path, before.name, lambda account: change(self._checked(account, before)))
        )

    def _checked(self, account: Account, before: Account) -> Account:
        if not account.continues(before):
            raise DataError(
                f"The ledger {self._path} was replaced: the budget {before.name!r} lacks what was seen of it.",
                path=self._path,
                hint="What it says was spent cannot be trusted; spend nothing more of this budget.",
            )
        return self._remember(account)

    def _remember(self, account: Account) -> Account:
        self._seen = account
        return account

    def __str__(self) -> str:
        return f"in {self._path}"


class _Memory:
    """An account in this process: a copy in another one would be spent twice."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._lock = threading.Lock()
        self._process = os.getpid()

    def read(self) -> Account:
        if self._process != os.getpid():
            self._refuse()
        return self._account

    def append(self, change: Callable[[Account], Account]) -> Account:
        if self._process != os.getpid():
            self._refuse()
        with self._lock:
            self._account = change(self._account)
            return self._account

    def _refuse(self) -> NoReturn:
        raise BosketError(
            f"The budget {self._account.name!r} must stay in the process that made it, since it is in memory.",
            hint="Budget.create makes one in a file, which processes can share.",
        )

    def __reduce__(self) -> NoReturn:
        self._refuse()

    def __str__(self) -> str:
        return "in memory"
