"""What a fitted law says of combinations of values, and how it moves with what is not known.

With g_A the derivatives of theta(A) by the coefficients, V their covariance given the answers, and V_all what it would
be if everybody had told everything (the inverse of N Cov(h) + diag(1 / s^2)), the share of A among the very N people
who answered is known up to

    Cov(theta^(A) - f_A, theta^(B) - f_B) = g_A' (V - M - M') g_B + Cov(A, B) / N,   M = V F V_all

F the information of the answers.  For M is the covariance of theta^ with f through the people whom both are about; with
no prior and a law that can be any, it comes to g_A' V g_B - Cov(A, B) / N: drawing people adds nothing to the error.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np
from scipy import linalg

from bosket.models.features import Subset, summed_over
from bosket.models.loglinear import Fit
from bosket.models.room import not_settled
from bosket.statistics.estimates import Floats
from bosket.threads import one_thread_of_blas

_GROUP = 8  # cells of a group of attributes that margins are made by
_ALONE = Lock()  # held for a moment: rules ask for the margins of one law in several threads


@dataclass(frozen=True)
class Margins:
    """Of every combination of values of some attributes."""

    share: Floats
    slopes: Floats
    """g: shape (combinations, coefficients)."""
    errors: Floats
    """g' (V - M - M'), in the same shape."""

    @property
    def n_bytes(self) -> int:
        return self.slopes.nbytes * 2


class HeldMargins:
    """Margins that some laws made last, for the next question: up to a number of bytes, or one."""

    def __init__(self, hold: int = 1 << 28) -> None:
        self.hold = hold
        self._found: OrderedDict[tuple[Subset, Subset], Margins] = OrderedDict()

    def get(self, law: Subset, attributes: Subset) -> Margins | None:
        with _ALONE:
            found = self._found.get((law, attributes))
            if found is not None:
                self._found.move_to_end((law, attributes))
            return found

    def put(self, law: Subset, attributes: Subset, margins: Margins) -> None:
        with _ALONE:
            self._found[law, attributes] = margins
            while len(self._found) > 1 and sum(one.n_bytes for one in self._found.values()) > self.hold:
                self._found.popitem(last=False)


class FittedLaw:
    """A fitted law of some attributes of a table; ``attributes`` are their numbers in the table, rising."""

    def __init__(
        self, attributes: Subset, fit: Fit, n_records: int, *, hold: int = 1 << 28, held: HeldMargins | None = None
    ) -> None:
        """``hold`` bounds the bytes of margins that others are made of; ``held`` keeps those of several laws."""
        self.attributes = attributes
        self.fit = fit
        self.n_records = n_records
        self.hold = hold
        self.held = HeldMargins(hold) if held is None else held
        self.shape = fit.basis.likelihood.shape
        self.basis = fit.errors.basis
        self.rivals: tuple[Floats, ...] = ()
        """Laws of other orders that are about as likely, by cell."""

    def settle(self) -> None:
        """Make errors, and let go of what only they are made of, which is as large: one of many laws takes less."""
        _ = self.errors
        del self.__dict__["_moments"]
        self.fit.release()

    @cached_property
    def _means(self) -> Floats:
        return self._moments[0][: self.basis.n_terms]

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        return self.basis.features.moments(self.fit.law, self.basis.n_terms)

    @cached_property
    def errors(self) -> Floats:
        """V - M - M', symmetric."""
        known = self.fit.errors
        precision, covariance = np.diag(known.precision), known.covariance
        n = self.basis.n_terms
        complete = self.n_records * (self._moments[1][:n] - np.outer(self._means, self._means)) + precision
        try:
            everything = linalg.inv(complete, check_finite=False)
        except linalg.LinAlgError:
            raise not_settled() from None
        both = everything - (covariance * known.precision) @ everything  # V F V_all, for V F = 1 - V diag(1 / s^2)
        result: Floats = covariance - both - both.T + np.outer(known.off, known.off)
        return result

    @one_thread_of_blas()
    def margin(self, attributes: Subset) -> Margins:
        """Of attributes by their numbers in the table, all of them attributes of the law."""
        places = tuple(self.attributes.index(at) for at in attributes)
        known = self.held.get(self.attributes, attributes)
        if known is not None:
            return known
        share, slopes = self._raw(places)
        found = Margins(share, slopes, slopes @ self.errors)
        self.held.put(self.attributes, attributes, found)
        return found

    def share_by(self, law: Floats, attributes: Subset) -> Floats:
        """What a law of the same cells says of every combination of values of these attributes."""
        kept = {self.attributes.index(at) for at in attributes}
        return summed_over(law.reshape(self.shape), (at for at in range(len(self.shape)) if at not in kept)).ravel()

    def _raw(self, places: Subset) -> tuple[Floats, Floats]:
        n = self.basis.n_terms
        wider = tuple(at for group in self._groups if not set(group).isdisjoint(places) for at in group)
        shape = [self.shape[at] for at in wider]
        if math.prod(shape) * 4 > math.prod(self.shape):
            return self._summed(places)
        share, slopes = self._wider(wider)
        outside = tuple(at for at, place in enumerate(wider) if place not in places)
        of_slopes = summed_over(slopes.reshape(*shape, n), outside)
        return summed_over(share.reshape(shape), outside).ravel(), of_slopes.reshape(-1, n)

    @cached_property
    def _groups(self) -> list[Subset]:
        groups: list[Subset] = []
        for at, size in enumerate(self.shape):
            if groups and math.prod(self.shape[other] for other in groups[-1]) * size <= _GROUP:
                groups[-1] = (*groups[-1], at)
            else:
                groups.append((at,))
        return groups

    @cached_property
    def _of_groups(self) -> dict[Subset, tuple[Floats, Floats]]:
        return {}

    def _wider(self, places: Subset) -> tuple[Floats, Floats]:
        found = self._of_groups.get(places)
        if found is None:
            found = self._summed(places)
            with _ALONE:
                if sum(slopes.nbytes for _, slopes in self._of_groups.values()) > self.hold:
                    self._of_groups.clear()
                self._of_groups[places] = found
        return found

    def _summed(self, places: Subset) -> tuple[Floats, Floats]:
        """Over all cells."""
        others = tuple(at for at in range(len(self.shape)) if at not in places)
        share = summed_over(self.fit.law.reshape(self.shape), others).ravel()
        slopes = self.basis.features.margins(self.fit.law, places, self.basis.n_terms)
        slopes -= share[:, None] * self._means
        return share, slopes
