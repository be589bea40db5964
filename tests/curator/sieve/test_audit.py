"""Audits of the sieve: every stage and the whole, pure and in rho, for neighbours of both kinds.

Two kinds of bound.  ``moved`` is exact: what the course of a run can lose at most, by what was counted on both
neighbours; above the claim it refutes it without any chance of error.  The others are of the outputs alone and fail
with a probability of 1e-9 at most; those that have no lower limit draw OpenDP's own noise, fresh in every run.
``test_twins`` has the mistakes that both find.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.audit.divergences import gaussian_ratio, rho_by
from bosket.audit.lower_bounds import by_threshold, distinguish, laplace_ratio
from bosket.curator.accounting import rho_of
from bosket.curator.noise import GAUSSIAN, LAPLACE, Composition
from bosket.curator.population.settings import PopulationSettings
from bosket.curator.sieve import curate
from bosket.curator.sieve.settings import SieveSettings
from bosket.data import Baskets
from bosket.errors import ParameterError
from tests.curator.sieve.audits import PURE_CLAIM, RHO_CLAIM, Audit, Claim, Noting, Program, Rounds, Unmoved, noted, of

pytest.importorskip("opendp")

CLAIMS = [pytest.param(PURE_CLAIM, id="pure"), pytest.param(RHO_CLAIM, id="rho")]
HALF = [[0]] * 12 + [[]] * 12
"""One item in half of the records, and the limit there: undecided to the end, so that all rounds measure it."""
ADDED = of([*HALF, [0]], n_items=1), of(HALF, n_items=1)
REPLACED = of([*HALF[1:], [1]], n_items=2), of(HALF, n_items=2)
STAGES: dict[str, int | None] = {"number": 1, "histogram": 2, "items": 3, "all rounds": None}
_SUM = 1e-9  # of rounding, relative
ROUNDS = SieveSettings(population=PopulationSettings(dense=1.0))
"""Records are never taken to be dense."""


@pytest.fixture(autouse=True)
def _few_records_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two dozen records are told apart best; that they are few follows from a number that was paid for."""
    monkeypatch.setattr(curate, "_CLEAR", 0.0)


def between(relation: str) -> tuple[Baskets, Baskets]:
    return ADDED if relation == "add-remove" else REPLACED


def rounds(relation: str, share: float = 0.5, **options: Any) -> Rounds:
    return Rounds(share, 1 if relation == "add-remove" else 2, options)


# ----------------------------------------------------------------------------------------------- exact, by every course


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("stage", STAGES)
def test_what_a_stage_loses_at_most_is_what_it_is_granted(claim: Claim, stage: str) -> None:
    """One record more, that is in each of the parts: the loss is what they cost together, to the last digit."""
    usual = SieveSettings()
    parts = {"number": usual.number, "histogram": usual.histograms, "items": usual.shares()[0]}
    granted = 1.0 if STAGES[stage] is None else sum(list(parts.values())[: STAGES[stage]])
    _, _, most = Audit(rounds("add-remove"), *ADDED, claim, STAGES[stage]).ratios(4)
    assert most <= claim.amount * granted * (1 + _SUM)
    _, most = Audit(rounds("add-remove"), *ADDED, claim, STAGES[stage], Unmoved).run(swapped=True)
    assert most == pytest.approx(claim.amount * granted, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS)
def test_nothing_is_lost_beyond_the_claim_where_a_record_is_replaced(claim: Claim) -> None:
    """The number of records stays, and the histogram: an item goes and another comes, which sums may move by."""
    _, _, most = Audit(rounds("replace"), *REPLACED, claim).ratios(4)
    assert most <= claim.amount * (1 + _SUM)
    _, most = Audit(rounds("replace"), *REPLACED, claim, grant=Unmoved).run(swapped=True)
    assert 0.3 * claim.amount < most <= claim.amount * (1 + _SUM)


SMALL = [frozenset(part) for size in range(4) for part in combinations(range(3), size)]
"""All records of three items."""
BASE = [*[[0, 1, 2]] * 9, *[[0, 1]] * 5, [2], []]


def neighbours_of(base: list[list[int]]) -> dict[str, list[list[list[int]]]]:
    """One more record, of all that there are; or one in place of the first, or of the last but one."""
    every = [sorted(record) for record in SMALL]
    return {
        "add-remove": [[*base, record] for record in every],
        "replace": [[record, *base[1:]] for record in every] + [[*base[:-2], record, base[-1]] for record in every],
    }


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_every_vector_is_within_its_sensitivity_whatever_the_record(claim: Claim, relation: str) -> None:
    """All records of a universe: number, histograms and sums of all rounds, up to itemsets of three.

    The neighbour is asked the same: what is asked follows from answers alone.
    """
    program = rounds(relation, share=0.3, histograms=0.05, undecided=1e-6)
    leads = [noted(program, of(BASE, n_items=3), kind(claim)) for kind in (Unmoved, Noting)]
    assert len(leads[0]) == 12
    assert leads[0][-1].exact.size == 7  # three items, three pairs, all three
    for made in leads:
        farthest = np.zeros(len(made))
        for records in neighbours_of(BASE)[relation]:
            led = noted(program, of(records, n_items=3), Noting(claim, lead=made))
            assert len(led) == len(made)
            for at, (a, b) in enumerate(zip(made, led, strict=True)):
                moved = np.linalg.norm((a.exact - b.exact).astype(float), 1 if claim.law is LAPLACE else 2)
                assert moved <= a.asked[1]
                farthest[at] = max(farthest[at], moved / a.asked[1])
        assert farthest[2:].max() > 0.7  # noise for less would be found too small


# ------------------------------------------------------------------------------------------------ by outputs alone


@pytest.mark.own_chance
@pytest.mark.parametrize("stage", ["number", pytest.param("items", marks=pytest.mark.slow)])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_stage_stays_below_epsilon(stage: str, relation: str) -> None:
    """By the likelihood ratio of 150 runs, which may show 1: the part that it costs is all that it can tell."""
    options = {"number": 0.3} if stage == "number" else {"number": 0.01, "histograms": 0.01}
    audit = Audit(rounds(relation, **options), *between(relation), Claim(LAPLACE, 3.0), STAGES[stage])
    one, other, most = audit.ratios(150)
    assert by_threshold(one, other).epsilon <= most * (1 + _SUM) <= 3.0


MOSTLY_ITEMS: dict[str, Any] = {"number": 1e-3, "histograms": 1e-3, "rounds": (1.0, 1e-3, 1e-3)}


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_items_come_near_the_claim_and_stay_below_it(relation: str) -> None:
    """Nearly all of an epsilon of 2 is for the items; 1500 runs show 1 of it, five standard errors above 0.3."""
    audit = Audit(rounds(relation, **MOSTLY_ITEMS), *between(relation), Claim(LAPLACE, 2.0), STAGES["items"])
    one, other, _ = audit.ratios(1500)
    assert 0.3 * (relation == "add-remove") <= by_threshold(one, other).epsilon <= 2.0


@pytest.mark.own_chance
@pytest.mark.slow
@pytest.mark.parametrize("claim", [Claim(LAPLACE, 1.0), Claim(GAUSSIAN, 0.1)], ids=["pure", "rho"])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_all_rounds_stay_below_the_claim(claim: Claim, relation: str) -> None:
    """By every course of 200 runs, and by their ratios: as many that are never alike would show more than 1."""
    one, other, most = Audit(rounds(relation), *between(relation), claim).ratios(200)
    assert most <= claim.amount * (1 + _SUM)
    bound = by_threshold(one, other).epsilon if claim.law is LAPLACE else rho_by(one, other, clip=1.0).rho
    assert bound <= claim.amount


# ------------------------------------------------------------------------------------------------ the bound on rho


def test_a_rho_is_near_the_divergence_and_not_above_it() -> None:
    """Normal laws one apart have a divergence of one half; between equals nothing is shown."""
    rng = np.random.default_rng(4)
    for mu in (0.5, 1.0, 1.5):
        one, other = (rng.normal(sign * mu**2 / 2, mu, 200_000) for sign in (1, -1))
        assert 0.7 * mu**2 / 2 < rho_by(one, other).rho <= mu**2 / 2
    assert rho_by(*rng.normal(0, 1, (2, 1000))).rho == 0
    wrong: list[tuple[Any, Any, float]] = [
        ([0.1, 0.2], [0.1, 0.2], 1e3),
        (["a"], ["b"], 1.0),
        ([[1], [1, 2]], [1], 1.0),
    ]
    for one, other, clip in wrong:
        with pytest.raises(ParameterError):
            rho_by(one, other, clip=clip)
    held = [rho_by(*rng.normal(0, 0.3, (2, 50)), failure=0.5).rho == 0 for _ in range(300)]
    assert sum(held) > 300 * 0.5
    with pytest.raises(ParameterError):
        rho_by([1.0], [1.0])


def test_the_ratio_of_gaussian_noise_is_that_of_its_density() -> None:
    x, a, b, s = np.array([3.0, -2.0]), np.array([1.0, 0.0]), np.array([0.0, 2.0]), 1.7
    expected = sum(((x - b) ** 2 - (x - a) ** 2) / (2 * s**2))
    assert gaussian_ratio(x, a, b, s) == pytest.approx(expected)


@pytest.mark.slow
def test_a_delta_is_taken_off_before_anything_is_shown() -> None:
    rng = np.random.default_rng(5)

    def coin(p: float) -> bool:
        return bool(rng.random() < p)

    without, half, all_of_it = (
        distinguish(coin, 0.9, 0.1, bool, trials=20_000, delta=delta).epsilon for delta in (0.0, 0.4, 0.9)
    )
    assert half < np.log(0.5 / 0.1) < without
    assert all_of_it == 0


# ------------------------------------------------------------------------------------------------ the two calls


class Released:
    """``curator.mine`` or ``top_k`` by the sieve, with the composition that it makes replaced by the one given."""

    def __init__(self, patch: pytest.MonkeyPatch, call: Any, **options: Any) -> None:
        self._patch, self._call, self._options = patch, call, options

    def __call__(self, baskets: Baskets, granted: Composition) -> Any:
        self._patch.setattr(curate, "Composition", lambda amount, law=LAPLACE: granted)
        return self._call(baskets, method="sieve", **self._options)


def calls(monkeypatch: pytest.MonkeyPatch, relation: str, **options: Any) -> dict[str, Program]:
    """Both calls."""
    few = of(HALF, n_items=1)
    bk.curator.mine(few, 1.0, 0.5, method="sieve")  # compiled before the composition is replaced
    return {
        "mine": Released(monkeypatch, bk.curator.mine, min_support=0.5, neighbours=relation, **options),
        "top_k": Released(monkeypatch, bk.curator.top_k, k=1, neighbours=relation, **options),
    }


@pytest.mark.own_chance
@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("trials", [4, 60])
def test_calls_lose_no_more_than_they_cost(
    relation: str, delta: float, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release as a whole, by every course: what it was granted is never exceeded, and ``mine`` uses nearly all."""
    epsilon = 1.0
    claim = Claim(GAUSSIAN, rho_of(epsilon, delta)) if delta else Claim(LAPLACE, epsilon)
    settings = None if trials < 60 else ROUNDS  # records are dense here, and a population is fitted in every run
    for name, program in calls(monkeypatch, relation, epsilon=epsilon, delta=delta, settings=settings).items():
        _, _, most = Audit(program, *between(relation), claim).ratios(trials)
        assert most <= claim.amount * (1 + _SUM)
        _, most = Audit(program, *between(relation), claim, grant=Unmoved).run(swapped=True)
        least = 0.1 if name == "top_k" else 0.9 if relation == "add-remove" else 0.3  # one item is the top, for sure
        assert least * claim.amount < most <= claim.amount * (1 + _SUM)


@pytest.mark.own_chance
@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_releases_stay_below_the_claim(relation: str, delta: float) -> None:
    """By what a release says, no composition replaced: supports, probabilities, the number, what is announced.

    An event that tells the two apart in every run would show 1.6.
    """

    def run(baskets: Baskets) -> tuple[float, ...]:
        release = bk.curator.mine(baskets, 1.0, 0.5, delta=delta, method="sieve", neighbours=relation, settings=ROUNDS)
        frame = release.to_frame()
        first = frame.iloc[0] if len(frame) else dict.fromkeys(("support", "noisy", "probability"), 0.0)
        announced = release.about["announced"]["f"]
        return first["support"], first["noisy"], first["probability"], release.n_records, announced, len(frame)

    def events() -> list[Any]:
        cuts = [(0, 0.5), (1, 0.5), (2, 0.5), (3, 24.5), (4, 0.9), (5, 0.5)]
        return [lambda shown, at=at, cut=cut: shown[at] > cut for at, cut in cuts]

    assert distinguish(run, *between(relation), events(), trials=240, delta=delta).epsilon <= 1.0


def test_the_ratio_never_exceeds_what_was_moved() -> None:
    """The likelihood ratio of a course of Laplace noise is at most its loss: the two bounds agree."""
    audit = Audit(rounds("add-remove"), *ADDED, PURE_CLAIM, 3)
    for _ in range(30):
        ratio, most = audit.run()
        assert abs(ratio) <= most * (1 + _SUM)
    assert laplace_ratio([5], [1], [0], 1.0) == 1.0
