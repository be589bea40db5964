"""Log-linear laws: features, derivatives, modes, evidence and errors, each against another way to find them."""

from __future__ import annotations

import gc
import math
from itertools import combinations, product
from threading import Thread
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize

from bosket.models.features import Features, contrasts, summed_over
from bosket.models.laws import FittedLaw, HeldMargins
from bosket.models.loglinear import Answered, FeatureBasis, Likelihood, LogLinear, fit
from bosket.models.projection import Heard
from bosket.models.room import Room, n_terms
from tests.memory import traced

SHAPE = (2, 3, 4)
Floats = npt.NDArray[np.float64]


def a_law(shape: tuple[int, ...] = SHAPE, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.full(math.prod(shape), 2.0))


def heard(law: Floats, shape: tuple[int, ...], attributes: tuple[int, ...], n: int, gamma: float = 19.0) -> Heard:
    """A question answered by as many people as are expected to, to the nearest."""
    others = tuple(at for at in range(len(shape)) if at not in attributes)
    margin = law.reshape(shape).sum(axis=others).ravel()
    d = len(margin)
    keep = (gamma - 1) / (gamma + d - 1)
    shown = np.rint(n * (keep * margin + (1 - keep) / d)).astype(np.int64)
    return Heard(attributes, tuple(shape[at] for at in attributes), np.arange(d), shown, keep, (1 - keep) / d)


def likelihood_of(parts: list[Heard], shape: tuple[int, ...] = SHAPE) -> Likelihood:
    seen = [part.seen_from(tuple(range(len(shape)))) for part in parts]
    return Likelihood(shape, [one for one in seen if one is not None])


@pytest.mark.parametrize("size", [2, 3, 7])
def test_contrasts_with_the_constant_are_a_basis(size: int) -> None:
    every = np.hstack([np.ones((size, 1)), contrasts(size)])
    np.testing.assert_allclose(every.T @ every / size, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(every @ every.T / size, np.eye(size), atol=1e-12)  # [x = v]


@pytest.mark.parametrize("axes", [(), (0,), (1, 2), (0, 3), (0, 1, 2, 3)])
def test_sums_over_axes_are_those_of_numpy(axes: tuple[int, ...]) -> None:
    table = np.random.default_rng(1).random((2, 3, 1, 4))
    found, wanted = summed_over(table, axes), table.sum(axis=axes)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-14)  # 24 numbers, rounded 24 times at most


def test_features_by_their_definition() -> None:
    features = Features(SHAPE, [(0,), (1, 2), (0, 1, 2)])
    ((cells, found),) = features.chunks()
    assert cells == slice(0, 24)
    for row, values in zip(found, product(*map(range, SHAPE)), strict=True):
        h = [contrasts(size)[value] for size, value in zip(SHAPE, values, strict=True)]
        np.testing.assert_allclose(row[features.columns[0,]], h[0])
        np.testing.assert_allclose(row[features.columns[1, 2]], np.kron(h[1], h[2]))
        np.testing.assert_allclose(row[features.columns[0, 1, 2]], np.kron(np.kron(h[0], h[1]), h[2]))


def test_features_made_a_few_cells_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    law, subsets = a_law(), [(0,), (1,), (2,), (0, 1), (1, 2)]
    whole = Features(SHAPE, subsets)
    monkeypatch.setattr("bosket.models.features._AT_ONCE", 40)
    monkeypatch.setattr("bosket.models.features._HELD", 10)
    parts = Features(SHAPE, subsets)
    assert len(list(parts.chunks())) > 3
    for one, other in zip(whole.moments(law, 5), parts.moments(law, 5), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)
    np.testing.assert_allclose(whole.margins(law, (0, 2), 5), parts.margins(law, (0, 2), 5), atol=1e-14)
    c = np.random.default_rng(1).normal(size=whole.n_columns)
    np.testing.assert_allclose(whole.weighted(c), parts.weighted(c), atol=1e-12)


def test_features_that_are_made_again_take_the_memory_of_a_few_chunks() -> None:
    """Of four attributes of 20 values: 97 MB of features; chunks of half a megabyte, which a cycle once held."""
    features = Features((20,) * 4, [(0,), (1,), (2,), (3,)])
    features.release()
    gc.disable()  # it counts objects and not bytes: it may never come by
    try:
        with traced() as memory, pytest.MonkeyPatch.context() as patched:
            patched.setattr("bosket.models.features._AT_ONCE", 1 << 16)
            features.weighted(np.ones(features.n_columns))
            assert memory.peak < 8 << 20
    finally:
        gc.enable()


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_slopes_are_derivatives(order: int, one_by_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all answers: to plain questions, to merged ones, and to one about everything; made in both ways."""
    monkeypatch.setattr("bosket.models.room._PART", 0 if one_by_one else 1 << 18)
    law = a_law()
    merged = Answered((0, 1), np.array([0, 1, 1, 2, 2, 0]), np.array([5.0, 4.0, 3.0]), 0.8, np.full(3, 0.2 / 3))
    parts = [heard(law, SHAPE, about, 1000) for about in ((0,), (1, 2), (0, 1, 2))]
    seen = [one for part in parts if (one := part.seen_from((0, 1, 2)))]
    likelihood = Likelihood(SHAPE, [*seen, merged])
    basis = FeatureBasis(likelihood, order)
    assert basis.has_few_parts == one_by_one
    c = np.random.default_rng(2).normal(size=basis.n_terms) / 3
    slopes = basis.slopes(basis.law(c))
    for at in range(basis.n_terms):
        step = np.zeros(basis.n_terms)
        step[at] = 1e-6
        up, down = (likelihood.margins(basis.law(c + sign * step)) for sign in (1, -1))
        np.testing.assert_allclose(slopes[:, at], (up - down) / 2e-6, atol=1e-8)


def test_derivatives_are_made_in_the_quicker_way() -> None:
    """Questions about one attribute or two: of a block of 900 cells all at once, of 65 536 cells one by one."""
    block, whole = (4, 9, 5, 5), (16,) * 4
    asked = [about for size in (1, 2) for about in combinations(range(4), size)]
    assert not Room(block, asked, 212, 2).by_margins
    assert Room(whole, asked, 1600, 2).by_margins
    assert Room(block, asked, 212, 3).by_margins, "515 coefficients, whose products are many"
    assert not Room((2,) * 9, list(combinations(range(9), 2)), 144, 3).by_margins


def test_channels_of_one_question_read_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question of fourteen attributes is seen from a block as often as it was asked beside another attribute."""
    law = a_law()
    parts = [heard(law, SHAPE, about, 1000, gamma) for about, gamma in (((1,), 19), ((0, 2), 19), ((1,), 8))]
    likelihood = likelihood_of(parts)
    made: list[tuple[int, ...]] = []
    mass = Likelihood.mass
    monkeypatch.setattr(Likelihood, "mass", lambda self, law, about: made.append(about) or mass(self, law, about))  # type: ignore[func-returns-value]
    found = likelihood.margins(law)
    assert made == [(1,), (0, 2)]
    table = law.reshape(SHAPE)
    expected = [table.sum(axis=(0, 2)), table.sum(axis=1).ravel(), table.sum(axis=(0, 2))]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-12)


@pytest.mark.parametrize("order", [2, 3])
def test_the_mode_is_that_of_another_optimizer(order: int) -> None:
    """BFGS on the same posterior, its gradient by differences, from another start."""
    shape = (2, 2, 3)
    law = a_law(shape, 4)
    likelihood = likelihood_of([heard(law, shape, about, 4000) for about in combinations(range(3), order)], shape)
    found = fit(likelihood, order)
    precision = np.repeat(1 / found.scales, found.basis.dims)

    def minus_log_posterior(c: Floats) -> float:
        return -likelihood.log(found.basis.law(c)) + 0.5 * float(precision @ c**2)

    other = optimize.minimize(minus_log_posterior, np.zeros(found.basis.n_terms), method="BFGS", options={"gtol": 1e-4})
    assert minus_log_posterior(found.coefficients) <= other.fun + 0.01
    np.testing.assert_allclose(found.law, found.basis.law(other.x), atol=2e-4)


def test_log_evidence_is_the_integral() -> None:
    """Two yes/no attributes, three coefficients: the integral of likelihood times prior, on a fine grid."""
    shape = (2, 2)
    likelihood = likelihood_of([heard(np.array([0.4, 0.2, 0.1, 0.3]), shape, (0, 1), 3000)], shape)
    found = fit(likelihood, 2)
    scales = np.sqrt(np.repeat(found.scales, found.basis.dims))
    step = 0.02
    offsets = np.arange(-30, 31) * step
    grid = found.coefficients + np.stack(np.meshgrid(offsets, offsets, offsets), axis=-1).reshape(-1, 3)
    ((_, features),) = found.basis.features.chunks()
    laws = np.exp(grid @ features.T)
    laws /= laws.sum(axis=1, keepdims=True)
    logs = np.log(likelihood.by_chance + likelihood.keep * laws) @ likelihood.shown
    logs -= 0.5 * ((grid / scales) ** 2).sum(axis=1) + np.log(scales * math.sqrt(2 * math.pi)).sum()
    peak = logs.max()
    assert found.log_evidence == pytest.approx(math.log(np.exp(logs - peak).sum() * step**3) + peak, abs=0.05)


def test_interactions_that_are_not_there_vanish() -> None:
    rows = [np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.2, 0.3, 0.4])]
    law = np.einsum("a,b,c->abc", *rows).ravel()
    found = fit(likelihood_of([heard(law, SHAPE, about, 20_000) for about in combinations(range(3), 2)]), 2)
    np.testing.assert_allclose(found.law, law, atol=2e-4)
    sizes = np.array([len(subset) for subset in found.basis.subsets])
    assert found.scales[sizes == 2].max() < 1e-3 < found.scales[sizes == 1].min()


def test_the_number_of_coefficients() -> None:
    for order in (1, 2, 3):
        assert n_terms(SHAPE, order) == FeatureBasis(likelihood_of([]), order).n_terms
    with pytest.raises(ValueError, match="order"):
        LogLinear(order=4)


@pytest.mark.parametrize("answers", [np.arange(24), np.array([0, 0, 1, 2, 3, 3] * 4), np.arange(24) // 4])
def test_a_question_seen_from_some_attributes(answers: npt.NDArray[np.int64]) -> None:
    """The law of what is left is that of the answers, joined: by enumeration over the cells of a larger table."""
    shape, keep = (2, 3, 4), 0.6
    d = int(answers.max()) + 1
    question = Heard((0, 2, 3), shape, answers, np.zeros(d, np.int64), keep, (1 - keep) / d)
    block = (2, 3)
    seen = question.seen_from(block)
    law = a_law(shape, 7)
    given = keep * np.bincount(answers, law) + (1 - keep) / d
    if seen is None:
        assert d == 6
        assert not np.array_equal(answers, np.arange(24))
        return
    inner = law.reshape(shape).sum(axis=0).ravel()
    stands_for = [set(np.unique(seen.answers[np.arange(24)[answers == one] % 12])) for one in range(d)]
    assert all(len(parts) == 1 for parts in stands_for)
    joined = np.zeros(len(seen.shown))
    for one, parts in enumerate(stands_for):
        joined[parts.pop()] += given[one]
    expected = seen.by_chance + seen.keep * np.bincount(seen.answers, inner, len(seen.shown))
    np.testing.assert_allclose(joined, expected, atol=1e-12)


def test_a_question_about_nothing_of_the_block_tells_nothing() -> None:
    assert heard(a_law(), SHAPE, (0,), 100).seen_from((1, 2)) is None


def test_margins_by_groups_are_those_of_all_cells() -> None:
    shape = (2,) * 9
    law = a_law(shape, 2)
    parts = [heard(law, shape, about, 3000) for about in combinations(range(9), 2)]
    found = FittedLaw(tuple(range(9)), fit(likelihood_of(parts, shape), 2), 100_000)
    for about in ((0,), (1, 5), (0, 4, 8)):
        share, slopes = found._summed(about)
        margins = found.margin(about)
        np.testing.assert_allclose(margins.share, share, atol=1e-14)
        np.testing.assert_allclose(margins.slopes, slopes, atol=1e-12)
        assert margins.share.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(margins.slopes.sum(axis=0), 0, atol=1e-12)


def test_errors_where_all_is_told_are_none() -> None:
    """Everybody tells everything: the law of the very people is known, but for interactions beyond its order."""
    law = a_law()
    question = heard(law, SHAPE, (0, 1, 2), 100_000, gamma=1e9)
    known = FittedLaw((0, 1, 2), fit(likelihood_of([question]), 3), 100_000)
    margins = known.margin((0, 1))
    people = 100_000 * (np.diag(margins.share) - np.outer(margins.share, margins.share))
    left = 100_000**2 * margins.errors @ margins.slopes.T + people
    assert np.abs(left).max() < 1e-2 * people.max()


def with_pairs(shape: tuple[int, ...], seed: int = 3) -> tuple[Floats, dict[tuple[int, int], float]]:
    """A law without interactions of three attributes, and the mean square of each of two over all cells."""
    rng = np.random.default_rng(seed)
    eta, strength = np.zeros(shape), {}
    for number, (i, j) in enumerate(combinations(range(len(shape)), 2)):
        effect = rng.normal(0, 0.1 * (1 + number), (shape[i], shape[j]))
        effect -= effect.mean(axis=0)
        effect -= effect.mean(axis=1, keepdims=True)
        strength[i, j] = float((effect**2).mean())
        eta += np.expand_dims(effect, tuple(at for at in range(len(shape)) if at not in (i, j)))
    law = np.exp(eta).ravel()
    return law / law.sum(), strength


@pytest.mark.parametrize("order", [2, 3])
def test_three_attributes_that_nobody_was_asked_of_inherit_from_their_pairs(order: int) -> None:
    """Errors allow for an interaction of three with a fifth of the mean strength of its pairs, whatever their sizes."""
    shape = (2, 3, 2, 4)
    law, strength = with_pairs(shape)
    asked = [heard(law, shape, about, 10**8, gamma=1e6) for about in combinations(range(4), 2)]
    errors = fit(likelihood_of(asked, shape), order).errors
    for subset in combinations(range(4), 3):
        columns = errors.basis.features.columns[subset]
        precision = errors.precision[columns]
        expected = 0.2 * np.mean([strength[i, j] for i, j in combinations(subset, 2)])
        np.testing.assert_allclose(len(precision) / precision, expected, rtol=0.02)


def test_what_three_inherit_changes_no_other_scale_and_no_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later people are asked by the scales of pairs; where three were asked about together, answers tell."""
    shape = (2, 3, 2, 4)
    law, _ = with_pairs(shape)
    for width in (2, 3):
        asked = likelihood_of([heard(law, shape, about, 5000) for about in combinations(range(4), width)], shape)
        one = fit(asked, 2)
        before = one.errors
        with monkeypatch.context() as patch:
            patch.setattr("bosket.models.loglinear._INHERITED", 0.4)
            other = fit(asked, 2)
            after = other.errors
        ratio = np.ones(before.basis.n_terms)
        ratio[one.basis.n_terms :] = 0.5 if width == 2 else 1.0
        np.testing.assert_allclose(after.precision / before.precision, ratio)
        np.testing.assert_array_equal(one.law, other.law)


def test_what_questions_and_subsets_take_one_by_one_is_counted() -> None:
    """Three thousand questions about twelve attributes: a step took a hundred times what was stated of it."""
    asked = [one for size in (1, 2, 3, 4, 5, 6, 8) for one in combinations(range(12), size)]
    n_answers = sum(2 ** len(one) for one in asked)
    rooms = [Room((2,) * 12, asked, n_answers, order) for order in (1, 2, 3)]
    assert all(room.by_margins for room in rooms)
    for room, n_subsets in zip(rooms, (12, 78, 298), strict=True):
        assert room.work > 2**20 * len(asked) * n_subsets
    assert [room.is_enough for room in rooms] == [True, False, False]


def test_margins_are_held_for_several_threads() -> None:
    """One that put some down while another added up what is held ended the other: "mutated during iteration"."""
    held = HeldMargins(100)

    class Slow:
        @property
        def n_bytes(self) -> int:
            if not others:
                others.append(Thread(target=held.put, args=((1,), (2,), SimpleNamespace(n_bytes=1))))
                others[0].start()
                others[0].join(0.1)  # it waits for its turn
            return 1

    others: list[Thread] = []
    held.put((1,), (0,), Slow())  # type: ignore[arg-type]
    held.put((1,), (1,), SimpleNamespace(n_bytes=1))  # type: ignore[arg-type]
    others[0].join()
    assert all(held.get((1,), (at,)) is not None for at in range(3))
