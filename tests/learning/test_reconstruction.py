"""Numbers of records by cell: unbiased over all outcomes of the coins, and what becomes of negative ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bosket as bk
from bosket import Attribute, Flip, GammaDiagonal, Matrix, Plan, Reports, Seeded, Table, TableDomain
from bosket.data.domain import Domain
from bosket.errors import DataError, ParameterError
from bosket.learning import cell_counts, labelled_of, randomize_by_class, reconstruction, scale_down
from bosket.learning.labelled import Labelled
from bosket.learning.reconstruction import _by_itemsets
from bosket.mechanisms import Mechanism
from bosket.mechanisms.matrix import legal_patterns

Floats = npt.NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore::bosket.errors.HopelessPlanWarning")  # all outcomes of few reports

FOUR = TableDomain([Attribute("age", ["young", "old"]), Attribute("owner", ["no", "yes"])])
SIX = TableDomain([Attribute("age", ["young", "old"]), Attribute("home", ["town", "land", "sea"])])
MECHANISMS = [GammaDiagonal(3), GammaDiagonal(19, spread=0.1), Flip(0.8), Flip(0.9, keep_absent=0.7)]


def outcomes(mechanism: Mechanism, domain: TableDomain, truth: tuple[int, ...]) -> Iterator[tuple[float, Reports]]:
    """Every sequence of reports that the records in these cells may send, with its probability."""
    matrix = Matrix.of(mechanism, domain).entries
    patterns = legal_patterns(domain) if len(matrix) == domain.n_cells else np.arange(len(matrix))
    plan = Plan(domain, mechanism)
    for shown in itertools.product(range(len(matrix)), repeat=len(truth)):
        probability = float(np.prod([matrix[v, u] for v, u in zip(shown, truth, strict=True)]))
        bits = patterns[list(shown)].astype(np.uint64)[:, None]
        yield probability, Reports(plan, bits, randomness="secure")


def expected(
    mechanism: Mechanism, domain: TableDomain, truth: tuple[int, ...], of: Callable[[Reports], Floats]
) -> Floats:
    """The mean over all outcomes."""
    parts = [(probability, of(reports)) for probability, reports in outcomes(mechanism, domain, truth)]
    assert sum(probability for probability, _ in parts) == pytest.approx(1)
    result: Floats = sum((probability * value for probability, value in parts), np.zeros(()))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("truth", [(0, 0), (0, 3), (2, 1)])
def test_cells_are_unbiased_over_all_outcomes(mechanism: Mechanism, truth: tuple[int, int]) -> None:
    mean = expected(mechanism, FOUR, truth, lambda reports: cell_counts(reports).dense(FOUR))
    np.testing.assert_allclose(mean, np.bincount(truth, minlength=4), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_summed_variances_are_those_of_all_outcomes(mechanism: Mechanism) -> None:
    """Both the estimate of the summed variance and the variance that it estimates are enumerated."""
    truth = (0, 3)

    def squares(reports: Reports) -> Floats:
        return np.array([((cell_counts(reports).dense(FOUR) - np.bincount(truth, minlength=4)) ** 2).sum()])

    def said(reports: Reports) -> Floats:
        counts = cell_counts(reports)  # the property clips at 0
        return np.array([counts.variance.sum() + counts.n_elsewhere * counts.variance_elsewhere])

    assert expected(mechanism, FOUR, truth, said) == pytest.approx(expected(mechanism, FOUR, truth, squares))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_randomized_label_is_reconstructed_with_the_rest(mechanism: Mechanism) -> None:
    truth = (0, 3)  # young and no, old and yes

    def joint(reports: Reports) -> Floats:
        evidence = labelled_of(reports, label="owner")
        return np.array([part.dense(evidence.domain) for part in evidence.cells()])

    np.testing.assert_allclose(expected(mechanism, FOUR, truth, joint), [[1, 0], [0, 1]], atol=1e-9)
    marginals = expected(mechanism, FOUR, truth, lambda reports: labelled_of(reports, label="owner").marginals()[0])
    np.testing.assert_allclose(marginals, [[1, 0], [0, 1]], atol=1e-9)
    counts = expected(mechanism, FOUR, truth, lambda reports: labelled_of(reports, label="owner").class_counts())
    np.testing.assert_allclose(counts, [1, 1], atol=1e-9)
    table = Table.from_cells([0, 3], FOUR)
    with pytest.raises(DataError, match="which attribute"):  # not guessed
        labelled_of(mechanism.randomize(table, rng=Seeded(1)))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_marginals_by_class_are_unbiased_over_all_outcomes(mechanism: Mechanism) -> None:
    """Two records with their classes in the clear; the first is young and in the class 'a'."""
    mean = expected(mechanism, FOUR, (1, 2), lambda reports: labelled_of(reports, ["a", "b"]).marginals()[0])
    np.testing.assert_allclose(mean, [[1, 0, 0, 1], [0, 1, 1, 0]], atol=1e-9)


cells_of_six = st.lists(st.integers(0, 5), min_size=1, max_size=40)


@pytest.mark.slow
@given(cells_of_six, st.floats(1.5, 100))
def test_the_closed_form_is_the_inverse_matrix(cells: list[int], gamma: float) -> None:
    reports = GammaDiagonal(gamma).randomize(Table.from_cells(cells, SIX), rng=Seeded(3))
    shown = np.bincount(Table.from_bits(reports.bits, SIX).cells(), minlength=6)
    found = Matrix.of(GammaDiagonal(gamma), SIX).estimate(shown)
    counts = cell_counts(reports)
    np.testing.assert_allclose(counts.dense(SIX), found.value, atol=1e-7)
    assert counts.total == pytest.approx(len(cells), abs=1e-9)  # of the estimates, before anything is clipped
    trace = counts.variance.sum() + counts.n_elsewhere * counts.variance_elsewhere
    assert trace == pytest.approx(np.trace(found.covariance), abs=1e-6)


@given(cells_of_six)
def test_the_closed_form_is_the_general_one(cells: list[int]) -> None:
    reports = GammaDiagonal(19).randomize(Table.from_cells(cells, SIX), rng=Seeded(3))
    general, special = _by_itemsets(reports, SIX), cell_counts(reports)
    np.testing.assert_allclose(general.dense(SIX), special.dense(SIX), atol=1e-9)
    assert general.total_variance == pytest.approx(special.total_variance)


@given(cells_of_six)
def test_a_table_is_counted(cells: list[int]) -> None:
    counts = cell_counts(Table.from_cells(cells, SIX))
    assert counts.dense(SIX).tolist() == np.bincount(cells, minlength=6).tolist()
    assert counts.total_variance == 0


def test_a_table_with_more_cells_than_can_be_numbered() -> None:
    domain = TableDomain([Attribute(f"a{at}", range(10)) for at in range(30)])
    codes = np.zeros((3, 30), int)
    codes[2, 7] = 9
    counts = cell_counts(Table.from_codes(codes, domain))
    assert counts.codes.tolist() == codes[1:].tolist()
    assert counts.value.tolist() == [2, 1]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 1e6))
def test_clipping_keeps_the_sum_and_the_proportions(estimates: list[float], total: float) -> None:
    """Section 8.2.1: negative ones to zero, positive ones scaled alike."""
    found = scale_down(estimates, total)
    assert found.sum() == pytest.approx(total, abs=1e-6)
    assert (found >= 0).all()
    positive = np.maximum(estimates, 0.0)
    if positive.sum() > 1e-9 * total:
        np.testing.assert_allclose(found * positive.sum(), positive * total, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(found, total / len(estimates))


def test_negative_frequencies_occur_and_are_handled() -> None:
    """Everyone is in one cell of six: the others scatter about 0, on both sides."""
    table = Table.from_cells(np.zeros(2000, int), SIX)
    reports = GammaDiagonal(3).randomize(table, rng=Seeded(1))
    counts = cell_counts(reports)
    values = counts.dense(SIX)
    assert (values < 0).any()
    assert (values[1:] > 0).any()
    found = counts.frequencies(2000).value
    assert found.sum() == pytest.approx(2000)
    assert (found >= 0).all()
    assert found.max() < values.max(), "scaled down"


def test_a_cell_that_nobody_reports_has_a_negative_estimate() -> None:
    domain = TableDomain([Attribute(f"a{at}", range(10)) for at in range(8)])
    reports = GammaDiagonal(19).randomize(Table.from_codes(np.zeros((5, 8), int), domain), rng=Seeded(1))
    counts = cell_counts(reports)
    assert len(counts.codes) <= 5, "a hundred million cells, and as few are listed as there are reports"
    assert counts.elsewhere < 0
    assert counts.total == pytest.approx(5, rel=1e-3)


def test_what_cannot_be_reconstructed() -> None:
    domain = TableDomain([Attribute(f"a{at}", range(10)) for at in range(8)])
    reports = Flip(0.9).randomize(Table.from_codes(np.zeros((5, 8), int), domain), rng=Seeded(1))
    with pytest.raises(ParameterError, match="fewer cells"):
        cell_counts(reports)
    baskets = Reports(Plan(Domain(["a"]), Flip(0.9)), np.zeros((1, 1), np.uint64), randomness="secure")
    with pytest.raises(DataError):
        cell_counts(baskets)
    with pytest.raises(DataError):
        labelled_of(baskets)
    with pytest.raises(DataError):
        labelled_of(baskets, [1])


def test_a_class_without_records() -> None:
    table = Table([{"age": "young", "home": "sea", "owner": "no"}] * 30, [*SIX.attributes, FOUR.attributes[1]])
    for mechanism in (GammaDiagonal(19), Flip(0.9)):
        evidence: Labelled = labelled_of(randomize_by_class(table, "owner", mechanism, rng=Seeded(1)))
        assert evidence.class_counts().tolist() == [30, 0]
        assert evidence.cells()[1].frequencies(0.0).value.sum() == 0
        assert evidence.marginals()[0][1].tolist() == [0] * 5


def test_evidence_needs_records_and_one_source_of_labels() -> None:
    table = Table.from_cells([0, 1, 2], FOUR)
    with pytest.raises(DataError, match="no records"):
        labelled_of(table[:0])
    with pytest.raises(DataError, match="once"):
        labelled_of(table, [1, 2, 3], label="owner")
    with pytest.raises(DataError, match="each of the 3"):
        labelled_of(table, [1, 2])
    with pytest.raises(DataError, match="missing"):
        labelled_of(table, np.array(["a", None, "b"]))
    with pytest.raises(ParameterError, match="income"):
        labelled_of(table, label="income")
    with pytest.raises(ParameterError):
        labelled_of(table.select(["owner"]))
    by_class = randomize_by_class(table, "owner", GammaDiagonal(19), rng=Seeded(1))
    with pytest.raises(DataError, match="owner"):
        labelled_of(by_class, label="age")
    with pytest.raises(DataError, match="once"):
        labelled_of(by_class, [1, 2, 3])


def test_labels_of_several_kinds_are_refused() -> None:
    domain = bk.TableDomain([bk.Attribute("a", range(3))])
    table = bk.Table.from_codes(np.zeros((2, 1), np.int64), domain)
    with pytest.raises(DataError, match="one kind"):
        labelled_of(table, np.array(["a", 1], object))


def test_cells_are_estimated_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As itemsets each takes some hundred bytes; and cut in slices they are what they were."""
    domain = bk.TableDomain([bk.Attribute("a", range(3)), bk.Attribute("b", range(4))])
    table = bk.Table.from_codes(np.random.default_rng(1).integers(0, 3, (300, 2)), domain)
    reports = bk.Flip(keep=0.8).randomize(table, rng=bk.Seeded(1))
    whole = cell_counts(reports)
    asked: list[int] = []

    def noted(evidence: Any, wanted: list[list[str]]) -> Any:
        asked.append(len(wanted))
        return bk.estimate(evidence, wanted)

    monkeypatch.setattr(reconstruction, "estimate", noted)
    monkeypatch.setattr(reconstruction, "_AT_ONCE", 5)
    again = cell_counts(reports)
    assert asked == [5, 5, 2]
    np.testing.assert_allclose(again.value, whole.value)
    np.testing.assert_allclose(again.variance, whole.variance)
