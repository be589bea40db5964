"""Which method is asked for, with its settings: combinations that make no sense are refused before anything is paid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from bosket.checks import check_choice, check_integer, check_not_negative
from bosket.curator.settings import Settings
from bosket.curator.sieve.people import Persons
from bosket.curator.sieve.settings import SieveSettings
from bosket.errors import ParameterError

MOST_RECORDS = 1 << 16
"""Of one person that may be used."""
Kind = TypeVar("Kind", Settings, SieveSettings)
METHODS = {
    "sieve": "rounds over itemsets that are undecided, with bounded contributions",
    "truncation": "one size after another, in records that are cut (Zeng, Naughton and Cai 2012)",
}


@dataclass(frozen=True)
class MethodOptions:
    """The options that decide how a release is made; valid from birth."""

    method: str
    delta: float
    max_size: int | None
    settings: Settings | SieveSettings | None
    persons: Persons | None = None
    max_records_per_person: int | None = None

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        if self.max_size is not None:
            check_integer("max_size", self.max_size, least=1)
        if check_not_negative("delta", self.delta) and self.is_truncation:
            raise ParameterError(
                f"The 'delta' parameter must be 0 for the method 'truncation', got {self.delta:g}.",
                parameter="delta",
                value=self.delta,
                hint="method='sieve' takes one.",
            )
        self._check_persons()
        self._settings(Settings) if self.is_truncation else self._settings(SieveSettings)

    def _check_persons(self) -> None:
        """Persons come with a number of records, and with the sieve."""
        names = ("persons", "max_records_per_person")
        given = [name for name in names if getattr(self, name) is not None]
        if not given:
            return
        if len(given) == 1:
            other = names[given[0] == names[0]]
            raise ParameterError(
                f"The '{other}' parameter must be given with '{given[0]}'.", parameter=other, value=None
            )
        check_integer("max_records_per_person", self.max_records_per_person, least=1, most=MOST_RECORDS)
        if self.is_truncation:
            raise ParameterError(
                "The 'persons' parameter must not be given for the method 'truncation', which protects single records.",
                parameter="persons",
                value=None,
                hint="method='sieve' bounds what all records of a person add.",
            )

    def elsewhere(self) -> MethodOptions:
        """The same for records of another engine, of which sums are asked and nothing else; or refused."""
        if self.is_truncation:
            raise ParameterError(
                "The 'method' parameter must be 'sieve' for a frame of Spark: truncation cuts records in memory.",
                parameter="method",
                value=self.method,
            )
        if self.persons is not None:
            raise ParameterError(
                "The 'persons' parameter must not be given for a frame of Spark: single records are protected there.",
                parameter="persons",
                value=None,
                hint="Put the records of a person together first, or curate baskets in memory.",
            )
        if self.settings is None:
            return replace(self, settings=SieveSettings(population=None))
        if self.of_sieve.population is not None:
            raise ParameterError(
                "The 'settings' parameter must be SieveSettings(population=None) for a frame of Spark: a population is "
                "fitted to records in memory.",
                parameter="settings",
                value=self.settings,
            )
        return self

    @property
    def is_truncation(self) -> bool:
        return self.method == "truncation"

    @property
    def people(self) -> tuple[Persons | None, int | None]:
        """Whose records are whose, and how many of a person are used."""
        return self.persons, self.max_records_per_person

    @property
    def of_truncation(self) -> Settings:
        """The settings of truncation; the usual ones for another method."""
        if not self.is_truncation:
            return Settings()
        settings = self._settings(Settings)
        return settings if self.max_size is None else replace(settings, cap=min(settings.cap, self.max_size))

    @property
    def of_sieve(self) -> SieveSettings:
        """The settings of the sieve."""
        settings = self._settings(SieveSettings)
        return settings if self.max_size is None else replace(settings, largest=min(settings.largest, self.max_size))

    def _settings(self, kind: type[Kind]) -> Kind:
        """The settings of a method, the usual ones where none are given."""
        if self.settings is None:
            return kind()
        if isinstance(self.settings, kind):
            return self.settings
        raise ParameterError(
            f"The 'settings' parameter must be {kind.__name__} for the method {self.method!r}, got a "
            f"{type(self.settings).__name__}.",
            parameter="settings",
            value=self.settings,
            hint="Settings are of method='truncation', SieveSettings of method='sieve', the default.",
        )
