"""A curator's release, foreseen by rehearsals: against itemsets whose fate is known, and releases that come after."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

import bosket as bk
from bosket import planning
from bosket.curator import SieveSettings
from bosket.planning.releases import foreseeing
from bosket.planning.releases.foresight import ReleaseForesight
from bosket.planning.releases.populations import population
from bosket.planning.releases.ranking import requests_for, why
from bosket.planning.releases.rehearsals import Rehearsed

Names = list[frozenset[object]]


def made(supports: dict[str, float], said: dict[str, list[float]], limit: float = 0.1) -> ReleaseForesight:
    """Rehearsals that were not done but written down: itemsets by their letters; nan where one was not released."""
    n = len(next(iter(said.values())))
    names: Names = [frozenset(name) for name in supports]
    values = np.array([said.get(name, [math.nan] * n) for name in supports], float)
    sizes = np.array([len(name) for name in names], np.int64)
    truth = np.array(list(supports.values()))
    false = np.zeros((n, 3), np.int64)
    for size, support, row in zip(sizes, truth, values, strict=True):
        if support < limit:
            false[:, size - 1] += ~np.isnan(row)
    done = Rehearsed(limit, names, sizes, truth, values, false, None, 0)
    return ReleaseForesight(planning.Curator(1.0, limit), 1000, done, is_simulated=True)


NAN = math.nan
SEEN = made(
    {"a": 0.4, "b": 0.2, "c": 0.12, "d": 0.08, "ab": 0.15, "ac": 0.11},
    {
        "a": [0.41, 0.39, 0.40, 0.44],
        "b": [0.2, 0.2, 0.24, 0.2],
        "c": [0.13, NAN, 0.15, NAN],
        "d": [NAN, NAN, 0.11, NAN],
        "ab": [0.15, 0.17, NAN, 0.13],
    },
)


class TestWhatIsMadeOfReleases:
    """From numbers that are written down, by their definitions."""

    def test_mistakes_are_counted_by_size(self) -> None:
        found = SEEN.mistakes()
        assert found["size"].tolist() == [1, 2, 3]
        assert found["frequent"].tolist() == [3, 2, 0]
        assert found["false_negatives"].tolist() == [0.5, 1.25, 0.0]
        assert found["false_positives"].tolist() == [0.25, 0.0, 0.0]
        assert found["fn_stderr"][0] == pytest.approx(np.std([0, 1, 0, 1], ddof=1) / 2)
        assert found["fp_stderr"][0] == pytest.approx(np.std([0, 0, 1, 0], ddof=1) / 2)

    def test_f_is_that_of_each_release(self) -> None:
        each = [2 * 4 / (4 + 5), 2 * 3 / (3 + 5), 2 * 3 / (4 + 5), 2 * 3 / (3 + 5)]
        assert SEEN.f == pytest.approx(np.mean(each))

    def test_errors_are_those_of_itemsets_that_were_released_often(self) -> None:
        """The item d was released once, which makes no spread; weights are normal in the logarithm of the ratio."""
        values = SEEN.rehearsed.said[:3]
        away = np.log(np.array([0.4, 0.2, 0.12]) / 0.3) / (math.log(1.25) / 2)
        weights = np.exp(-(away**2) / 2) / np.exp(-(away**2) / 2).sum()
        spread = [np.var(row[~np.isnan(row)], ddof=1) for row in values]
        assert SEEN.stderr(1, 0.3) == pytest.approx(math.sqrt(weights @ spread))
        off = [np.mean(row[~np.isnan(row)]) - truth for row, truth in zip(values, (0.4, 0.2, 0.12), strict=True)]
        assert SEEN.bias(1, 0.3) == pytest.approx(weights @ off)
        assert SEEN.stderr(1, 1.0) == pytest.approx(math.sqrt(spread[0]), rel=1e-3)  # the nearest, far as it is
        assert SEEN.error(2, 0.15) == pytest.approx(math.sqrt((0 + 0.02**2 + 0.02**2) / 3))
        assert SEEN.stderr(3, 0.2) == math.inf
        assert math.isnan(SEEN.bias(3, 0.2))

    def test_the_chance_rises_with_the_support(self) -> None:
        assert SEEN.chance(1, 0.4) == SEEN.chance(1, 0.9) == 1.0
        assert SEEN.chance(1, 0.12) == 0.5
        assert SEEN.chance(1, 0.16) == 0.75
        assert SEEN.chance(1, 0.01) == 0.0
        assert math.isnan(SEEN.chance(3, 0.4))

    def test_the_lowest_support_has_the_chance_that_is_asked_for(self) -> None:
        assert SEEN.lowest_support(1, probability=0.75) == pytest.approx(0.16)
        assert SEEN.lowest_support(1) == pytest.approx(0.12 + 0.8 * 0.08)
        assert SEEN.lowest_support(2, probability=0.75) == 0.15
        assert SEEN.lowest_support(2) == math.inf
        assert SEEN.deepest(0.3) == 1
        assert SEEN.deepest(0.3, probability=0.75) == 2
        assert SEEN.deepest(0.11) == 0

    def test_a_rule_is_released_and_reaches_its_confidence(self) -> None:
        """Errors of a => b: 0.15/0.41, 0.17/0.39 and 0.13/0.44, less 0.375; of b => a and a => c none other is near."""
        off = np.array([0.15 / 0.41, 0.17 / 0.39, 0.13 / 0.44]) - 0.375
        others = np.array([0.15 / 0.2, 0.17 / 0.2, 0.13 / 0.2]) - 0.75
        both = np.concatenate([off, others])
        expected = 0.75 * norm.cdf((0.375 + both.mean() - 0.3) / both.std(ddof=1))
        found = SEEN.power(1, 1, support=0.4, confidence=0.375, min_confidence=0.3)
        assert found == pytest.approx(expected)
        assert math.isnan(SEEN.power(2, 1, support=0.4, confidence=0.375, min_confidence=0.3))

    def test_words_and_frames(self) -> None:
        assert "simulated records" in str(SEEN)
        assert "3 items: none is released" in str(SEEN)
        frame = SEEN.to_frame([0.2, 0.4])
        assert frame["size"].tolist() == [1, 1, 2, 2, 3, 3]
        assert frame["stderr"][2] == SEEN.stderr(2, 0.2)


class TestPopulations:
    def test_simulated_baskets_have_the_sizes_that_are_stated(self) -> None:
        sizes = {0: 0.1, 2: 0.5, 7: 0.4}
        found, domain = population([f"i{at}" for at in range(60)], people=4000, sizes=sizes, seed=3)
        assert isinstance(found, bk.Baskets)
        assert found.domain == domain
        assert found.n_records == 4000
        held = np.bincount(found.sizes, minlength=8)
        assert set(np.flatnonzero(held)) <= set(range(8))
        assert held[0] == 400
        assert held[2] == pytest.approx(2000, abs=80)
        assert 1400 <= held[7] <= 1600  # those that were drawn too small stay so
        again, _ = population([f"i{at}" for at in range(60)], people=4000, sizes=sizes, seed=3)
        assert found == again

    def test_a_pilot_is_taken_as_it_is_or_drawn_from(self) -> None:
        pilot = bk.Baskets([["a", "b"], ["c"]] * 10)
        assert population(None, people=20, pilot=pilot)[0] is pilot
        more, domain = population(None, people=1000, pilot=pilot, seed=1)
        assert more.n_records == 1000
        assert domain is pilot.domain
        assert {frozenset(record) for record in more} == {frozenset("ab"), frozenset("c")}

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: population(None, people=10),
            lambda: population(range(5), people=10),
            lambda: population(range(5), people=0, sizes={2: 1}),
            lambda: population(range(5), people=10**8, sizes={2: 1}),
            lambda: population(range(500), people=10**6, sizes={100: 1}),
            lambda: population(bk.TableDomain([bk.Attribute("a", "xy")]), people=10, sizes={1: 1}),
            lambda: population(None, people=10, pilot=bk.Baskets([], items="ab")),
            lambda: planning.Curator(0.0, 0.1),
            lambda: planning.Curator(1.0, 0.0),
            lambda: planning.Curator(1.0, 0.1, method="magic"),
            lambda: planning.Curator(1.0, 0.1, delta=0.1, method="truncation"),
            lambda: planning.Curator(1.0, 0.1, neighbours="far"),
            lambda: planning.foresee(planning.Curator(1.0, 0.1), range(5), people=10, sizes={2: 1}, releases=1),
            lambda: planning.foresee(planning.Curator(1.0, 0.1), range(5), people=10, sizes={2: 1}, max_size=2),  # type: ignore[call-overload]
            lambda: planning.foresee(bk.Flip(keep=0.9), range(5), people=10, releases=3),  # type: ignore[call-overload]
            lambda: planning.compare_releases([], range(5), people=10, sizes={2: 1}),
            lambda: planning.epsilon_for(planning.Curator(1.0, 0.1), range(5), f=1.0, people=10, sizes={2: 1}),
        ],
    )
    def test_wrong_arguments(self, wrong: object) -> None:
        with pytest.raises(bk.ParameterError):
            wrong()  # type: ignore[operator]


def groves(records: int, seed: int) -> bk.Baskets:
    """Records of one law: eight trios of items, in shares of records that fall, and eight items by themselves.

    A trio comes whole with 0.6, else two or one of it: so there are items, pairs and triples on both sides of a limit.
    """
    rng = np.random.default_rng(seed)
    held = np.zeros((records, 32), bool)
    for at, share in enumerate(np.geomspace(0.3, 0.03, 8)):
        there = rng.random(records) < share
        held[:, 3 * at : 3 * at + 3] = there[:, None] & (rng.random((records, 3)) < 0.85)
    held[:, 24:] = rng.random((records, 8)) < np.linspace(0.02, 0.2, 8)
    sizes, (_, items) = held.sum(axis=1), np.nonzero(held)
    return bk.Baskets.from_csr(np.concatenate([[0], np.cumsum(sizes)]), items, range(32))


class TestReleases:
    """Few and small ones, so that it is quick."""

    @pytest.mark.slow
    def test_without_noise_nothing_goes_wrong_but_within_a_point_of_the_grid(self) -> None:
        """Beliefs have points of supports: what lies between two of them and the limit may go either way."""
        pilot = groves(1000, 1)
        seen = planning.foresee(planning.Curator(1e4, 0.06, max_size=3), people=1000, pilot=pilot, releases=2)
        done = seen.rehearsed
        wrong = done.released != done.is_frequent[:, None]
        assert (np.abs(done.support[wrong.any(axis=1)] / 0.06 - 1) < 0.05).all()
        mistakes = seen.mistakes()
        assert mistakes["frequent"].sum() == len(bk.mine(pilot, 0.06, max_size=3))
        assert mistakes[["false_negatives", "false_positives"]].to_numpy().sum() == wrong.sum() / 2
        assert seen.chance(1, 0.1) == 1.0
        assert seen.chance(1, 0.03) == 0.0
        assert seen.stderr(2, 0.1) < 1e-3
        assert seen.guarantee is not None
        assert seen.guarantee.epsilon == 1e4

    def test_where_only_noise_would_be_said_nothing_is_released(self) -> None:
        seen = planning.foresee(planning.Curator(0.01, 0.1), people=300, pilot=groves(300, 1), releases=2)
        assert seen.rehearsed.refused == 2
        assert seen.f == 0.0
        assert seen.lowest_support(1) == math.inf
        assert seen.guarantee is None

    def test_requests_side_by_side(self) -> None:
        pilot = groves(1500, 1)
        weak, strong = planning.Curator(0.1, 0.08, max_size=2), planning.Curator(20.0, 0.08, max_size=2)
        found = planning.compare_releases([weak, strong], people=1500, pilot=pilot, releases=2)
        assert found["epsilon"].tolist() == [20.0, 0.1]
        assert found["f"][0] > 0.95 > 0.8 > found["f"][1]
        assert found["lowest_1"][0] < 0.1

    def test_every_way_to_keep_a_promise_is_ranked(self) -> None:
        """With a delta there are three, without it two; settings are of one method alone."""
        both = requests_for(planning.Curator(1.0, 0.1, delta=1e-6))
        assert [(one.method, one.delta) for one in both] == [("sieve", 1e-6), ("sieve", 0.0), ("truncation", 0.0)]
        assert {one.epsilon for one in both} == {1.0}
        assert len(requests_for(planning.Curator(1.0, 0.1))) == 2
        assert len({why(one) for one in both}) == 3
        own = planning.Curator(1.0, 0.1, settings=SieveSettings())
        assert requests_for(own) == [own]

    @pytest.mark.parametrize("needed", [0.001, 0.3, 7.0, 100.0])
    def test_the_least_epsilon_is_found_where_it_lies(self, needed: float, monkeypatch: pytest.MonkeyPatch) -> None:
        """By rehearsals that are perfect from an epsilon on."""

        def rehearse(asked: planning.Curator, *_: object, releases: int, **__: object) -> Rehearsed:
            value = 0.2 if asked.epsilon >= needed else NAN
            return made({"a": 0.2}, {"a": [value] * releases}).rehearsed

        monkeypatch.setattr(foreseeing, "rehearse", rehearse)
        found = planning.epsilon_for(planning.Curator(1.0, 0.1), f=0.9, people=100, pilot=groves(100, 1))
        if needed < 0.05:
            assert found == 0.05
        elif needed > 60:
            assert found == math.inf
        else:
            assert needed <= found <= 1.05 * needed

    def test_a_larger_vocabulary_and_a_table(self) -> None:
        pilot = groves(1500, 1)
        wide = planning.foresee(
            planning.Curator(50.0, 0.1, max_size=1), range(100), people=1500, pilot=pilot, releases=2
        )
        assert wide.f == 1.0
        domain = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abc"])
        table = bk.Table.from_cells(np.repeat(np.arange(8), [400, 100, 100, 200, 50, 50, 300, 800]), domain)
        seen = planning.foresee(planning.Curator(50.0, 0.22, delta=1e-6), people=2000, pilot=table, releases=2)
        assert seen.f == 1.0
        assert seen.deepest(0.39) == 3


def halves_of_quest(records: int, half: int) -> bk.Baskets:
    """Records of Quest's patterns, those of a pilot and others."""
    baskets = bk.quest(records=2 * records, items=100, mean_size=5, patterns=50, seed=7)
    return baskets[np.arange(half * records, (half + 1) * records)]


def apart(records: int, seed: int) -> bk.Baskets:
    """Records of sixty items that are independent of each other, in shares that fall slowly."""
    held = np.random.default_rng(seed).random((records, 60)) < 0.6 / np.arange(1, 61) ** 0.6
    sizes, (_, items) = held.sum(axis=1), np.nonzero(held)
    return bk.Baskets.from_csr(np.concatenate([[0], np.cumsum(sizes)]), items, range(60))


N_REHEARSED, N_DONE, N_PEOPLE = 150, 250, 10_000
Both = tuple[ReleaseForesight, ReleaseForesight]
Law = Callable[[int, int], bk.Baskets]


@pytest.fixture(
    scope="module",
    params=[(groves, 0.0), (halves_of_quest, 1e-6), (apart, 0.0)],
    ids=["groves", "quest with delta", "apart"],
)
def both(request: pytest.FixtureRequest) -> Both:
    """What is foreseen by records of a law, and 250 releases of other records of that law.

    Laws, numbers and limit were written down before any release of them was made, and none was left out.
    """
    law, delta = request.param
    asked = planning.Curator(1.0, 0.04, delta=delta, max_size=3)
    seen = planning.foresee(asked, people=N_PEOPLE, pilot=law(N_PEOPLE, 0), releases=N_REHEARSED)
    done = planning.foresee(asked, people=N_PEOPLE, pilot=law(N_PEOPLE, 1), releases=N_DONE)
    return seen, done


def squares(seen: ReleaseForesight, k: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Of each release the squared deviations from the mean of all, summed over itemsets clear of the limit."""
    places = [at for at in seen.rehearsed.places(k) if seen.rehearsed.support[at] >= 1.2 * seen.curator.min_support]
    said = seen.rehearsed.said[places]
    off = (said - np.nanmean(said, axis=1, keepdims=True)) ** 2
    return np.asarray(np.nansum(off, axis=0) / (~np.isnan(said)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3])
def test_foreseen_errors_of_releases_come_out(both: Both, k: int) -> None:
    """Variances over 250 releases, summed over itemsets, against the foreseen: within 6.1 of their sampling errors, by
    the releases themselves (1e-9 of a normal law); three times the standard error is seen: tails are heavy."""
    seen, done = both
    supports = done.rehearsed.support[done.rehearsed.places(k)]
    supports = supports[supports >= 1.2 * done.curator.min_support]
    assert len(supports) >= 3
    foreseen = sum(seen.stderr(k, support) ** 2 for support in supports.tolist())
    came = float(squares(done, k).sum()) / (N_DONE - 1)
    error = math.hypot(
        *(float(part.std() / part.mean()) / math.sqrt(len(part)) for part in (squares(seen, k), squares(done, k)))
    )
    away = math.log(came / foreseen)
    assert abs(away) < 6.1 * error
    assert math.log(9.0) - abs(away) > 6.1 * error


@pytest.mark.slow
def test_foreseen_chances_of_itemsets_and_rules_come_out(both: Both) -> None:
    """Within 0.05 of how often they are released and listed, on average over itemsets of a size, and over rules."""
    seen, done = both
    rehearsed = done.rehearsed
    for k in (1, 2, 3):
        places = rehearsed.places(k)
        foreseen = np.mean([seen.chance(k, support) for support in rehearsed.support[places].tolist()])
        assert rehearsed.released[places].mean() == pytest.approx(foreseen, abs=0.05)
    known = {name: place for place, name in enumerate(rehearsed.names)}
    rules = [(whole, known[frozenset([left])]) for whole in rehearsed.places(2) for left in rehearsed.names[whole]]
    confidences = [float(rehearsed.support[whole] / rehearsed.support[left]) for whole, left in rules]
    least = float(np.median(confidences))  # where neither end would do
    came, expected = [], []
    for (whole, left), confidence in zip(rules, confidences, strict=True):
        ratio = rehearsed.said[whole] / rehearsed.said[left]
        came.append(float((ratio >= least).mean()))  # not a number where it is not released: not listed
        support = float(rehearsed.support[left])
        expected.append(seen.power(1, 1, support=support, confidence=confidence, min_confidence=least))
    assert len(came) >= 20
    assert np.mean(came) == pytest.approx(np.mean(expected), abs=0.05)
    assert np.mean(np.abs(np.array(came) - expected)) < 0.12
    assert 0.1 < np.mean(came) < 0.9


@pytest.mark.slow
def test_foreseen_mistakes_of_releases_come_out() -> None:
    """By one half of Quest's baskets for the other: within 20% and four standard errors, of 750 frequent itemsets."""
    baskets = bk.quest(records=40_000, items=200, patterns=100, seed=7)
    asked = planning.Curator(1.0, 0.03, max_size=3)
    seen, done = (
        planning.foresee(asked, people=20_000, pilot=baskets[np.arange(start, start + 20_000)], releases=6).mistakes()
        for start in (0, 20_000)
    )
    for name, error in (("false_negatives", "fn_stderr"), ("false_positives", "fp_stderr")):
        mean = float(done[name].sum())
        spread = math.hypot(*(float(np.hypot.reduce(one[error])) for one in (seen, done)))
        assert abs(float(seen[name].sum()) - mean) <= 0.2 * mean + 4 * spread
        assert spread < 0.25 * mean


def test_numbers_of_a_promise_are_rounded_up_and_those_of_a_command_are_not() -> None:
    from bosket.cli.views.releases import curate_command

    asked = planning.Curator(epsilon=1.2345641, min_support=0.01, delta=1.0000001e-6)
    assert str(asked) == "sieve, epsilon 1.23457, delta 1.00001e-06, supports from 0.01 on"
    assert curate_command(asked) == "bosket curate RAW --epsilon 1.2345641 --delta 1.0000001e-06 --min-support 0.01"
