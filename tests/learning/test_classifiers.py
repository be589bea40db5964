"""Classifiers from reports beside those from the records, and beside scikit-learn's own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, export_text

from bosket import Attribute, Flip, GammaDiagonal, Seeded, Table, TableDomain
from bosket.errors import DataError, ParameterError
from bosket.evidence import Evidence
from bosket.learning import (
    ReconstructedNaiveBayes,
    ReconstructedTreeClassifier,
    labelled,
    randomize_by_class,
    randomize_with_label,
)
from bosket.learning.tree import one_hot
from bosket.mining import estimate

CLASSIFIERS = [ReconstructedTreeClassifier(), ReconstructedNaiveBayes()]
DOMAIN = TableDomain(
    [
        Attribute("age", ["young", "middle", "old"]),
        Attribute("home", ["town", "land"]),
        Attribute("hours", [20, 40]),
        Attribute("owner", ["no", "yes"]),
    ]
)
NAMES = ["age", "home", "hours"]


def people(n: int, *, error: float = 0.0, seed: int = 0) -> Table:
    """Whoever is old, or middle-aged and on the land, owns; with probability ``error`` the other way round."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(size, size=n) for size in (3, 2, 2)])
    owns = (codes[:, 0] == 2) | ((codes[:, 0] == 1) & (codes[:, 1] == 1))
    return Table.from_codes(np.column_stack([codes, owns ^ (rng.random(n) < error)]), DOMAIN)


def labels_of(table: Table) -> npt.NDArray[Any]:
    return np.array(DOMAIN.attribute("owner").values)[table.codes[:, 3]]


ALL = Table.from_cells(np.arange(12), DOMAIN.select(NAMES))
TRUTH = people(2000)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_classifiers_from_reports_come_near_direct_ones(classifier: Any) -> None:
    """A problem that can be told apart: with more records, the class of every cell is found."""
    direct = clone(classifier).fit(TRUTH)
    scores = {}
    for n in (50, 500, 50_000):
        runs = [
            randomize_by_class(people(n, seed=seed), "owner", GammaDiagonal(5), rng=Seeded(seed)) for seed in range(8)
        ]
        scores[n] = np.mean([clone(classifier).fit(reports).score(TRUTH) for reports in runs])
    assert scores[50] < scores[500] < scores[50_000] + 1e-9
    assert scores[50_000] == direct.score(TRUTH)
    assert scores[50] < direct.score(TRUTH) - 0.05


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_a_randomized_label_costs_accuracy_and_is_learnt_too(classifier: Any) -> None:
    few, many = people(300, seed=1), people(50_000, seed=1)
    direct = clone(classifier).fit(TRUTH).score(TRUTH)

    def score(table: Table, seed: int) -> float:
        reports = randomize_with_label(table, GammaDiagonal(5), rng=Seeded(seed))
        return float(clone(classifier).fit(reports, label="owner").score(TRUTH))

    assert score(many, 0) == direct
    by_class = [randomize_by_class(few, "owner", GammaDiagonal(5), rng=Seeded(seed)) for seed in range(20)]
    clear = np.mean([clone(classifier).fit(reports).score(TRUTH) for reports in by_class])
    assert np.mean([score(few, seed) for seed in range(20)]) < clear


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_any_mechanism_that_can_be_estimated_from(classifier: Any) -> None:
    reports = randomize_by_class(people(50_000), "owner", Flip(0.8), rng=Seeded(1))
    assert clone(classifier).fit(reports).score(TRUTH) == clone(classifier).fit(TRUTH).score(TRUTH)


def test_a_raw_table_gives_the_naive_bayes_of_scikit_learn() -> None:
    table = people(500, error=0.2)
    own = ReconstructedNaiveBayes(alpha=0.7).fit(table)
    other = CategoricalNB(alpha=0.7, min_categories=[3, 2, 2]).fit(table.codes[:, :3], table.codes[:, 3])
    np.testing.assert_allclose(own.predict_proba(ALL), other.predict_proba(ALL.codes))
    np.testing.assert_allclose(own.class_log_prior_, other.class_log_prior_)
    for mine, theirs in zip(own.feature_log_prob_, other.feature_log_prob_, strict=True):
        np.testing.assert_allclose(mine, theirs)


def test_a_raw_table_gives_the_tree_of_its_records() -> None:
    """Weighted cells, or one row for every record: the same tree."""
    table = people(500, error=0.2)
    own = ReconstructedTreeClassifier().fit(table)
    assert own.dispersion_ == 1
    codes = table.select(NAMES).codes
    other = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=2, ccp_alpha=1 / (500 * np.log(2)), random_state=0
    ).fit(one_hot(codes, ALL.domain), table.codes[:, 3])
    np.testing.assert_allclose(own.predict_proba(ALL), other.predict_proba(one_hot(ALL.codes, ALL.domain)))
    assert 1 < own.tree_.get_n_leaves() < 12


def test_noise_makes_a_leaf_dearer() -> None:
    """Labels that nothing tells of: the tree of the reports would grow a leaf for every accident."""
    table = people(3000, error=0.5)
    reports = randomize_by_class(table, "owner", GammaDiagonal(1.5), rng=Seeded(1))
    bare = ReconstructedTreeClassifier(ccp_alpha=0.0, min_leaf=0.0).fit(reports)
    careful = ReconstructedTreeClassifier().fit(reports)
    kappa = reports.plan.channel.keep  # type: ignore[attr-defined]
    assert 1 < careful.dispersion_ < 1 / kappa**2
    assert careful.tree_.get_n_leaves() < bare.tree_.get_n_leaves() / 2


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_labels_beside_reports_are_reports_by_class(classifier: Any) -> None:
    table = people(500)
    reports = GammaDiagonal(19).randomize(table.select(NAMES), rng=Seeded(3))
    beside = clone(classifier).fit(reports, labels_of(table))
    assert "in the clear: the class label" in str(beside.guarantee_)
    by_class = randomize_by_class(table, "owner", GammaDiagonal(19), rng=Seeded(3))
    named = clone(classifier).fit(by_class)
    assert named.classes_.tolist() == beside.classes_.tolist() == ["no", "yes"]
    assert named.label_ == "owner"
    assert "in the clear: the class label 'owner'" in str(named.guarantee_)
    with_label = clone(classifier).fit(randomize_with_label(table, GammaDiagonal(19)), label="owner")
    assert "'owner' is randomized as one more attribute" in str(with_label.guarantee_)
    assert clone(classifier).fit(table).guarantee_ is None


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_records_may_come_in_any_form(classifier: Any) -> None:
    model = clone(classifier).fit(randomize_by_class(people(3000), "owner", GammaDiagonal(19), rng=Seeded(1)))
    test = people(200, seed=9)
    expected = model.predict(test)
    frame = test.to_frame()
    shuffled = test.select(["owner", "hours", "age", "home"])
    forms = [
        test.select(NAMES),
        shuffled,
        frame[NAMES],
        shuffled.to_frame(),
        pl.from_pandas(frame.astype({"hours": int})),
        pa.table(dict(frame.astype(str))),
        test.codes[:, :3],
        test.codes[:, :3].tolist(),
        test.codes[:, :3].astype(float),
        pd.DataFrame(test.codes[:, :3]),
    ]
    for form in forms:
        assert model.predict(form).tolist() == expected.tolist()
    truth = labels_of(test)
    assert model.score(test) == model.score(frame, truth) == (expected == truth).mean()
    np.testing.assert_allclose(model.predict_proba(test).sum(axis=1), 1)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_raw_records_may_come_in_any_form(classifier: Any) -> None:
    table = people(400, error=0.1)
    truth = labels_of(table)
    direct = clone(classifier).fit(table)
    frame = table.to_frame()[NAMES].astype(object)
    for X in (table.select(NAMES), frame, table.codes[:, :3]):
        model = clone(classifier).fit(X, truth)
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(table))
    assert clone(classifier).fit(frame, truth).feature_names_in_.tolist() == NAMES
    again = clone(classifier).fit(frame, truth).fit(table)
    assert not hasattr(again, "feature_names_in_")
    assert again.n_features_in_ == 3


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_what_is_refused(classifier: Any) -> None:
    table = people(100)
    with pytest.raises(NotFittedError):
        clone(classifier).predict(table)
    with pytest.raises(NotFittedError):
        clone(classifier).score(table)
    model = clone(classifier).fit(table)
    reports = randomize_with_label(table, GammaDiagonal(19))
    with pytest.raises(DataError, match="mostly chance"):
        model.predict(reports)
    with pytest.raises(DataError, match="'hours'"):
        model.predict(table.select(["age", "home"]))
    with pytest.raises(DataError, match="places"):
        model.predict([[3, 0, 0]])
    with pytest.raises(DataError):
        model.predict(pd.DataFrame({"age": ["ancient"], "home": ["town"], "hours": [20]}))
    with pytest.raises(ValueError, match="features"):
        model.predict([[0, 0]])
    with pytest.raises(ParameterError, match="label"):
        clone(classifier).fit(table.codes[:, :3], labels_of(table), label="owner")
    with pytest.raises(ParameterError, match="whole"):
        clone(classifier).fit([[0.5], [1.0]], ["a", "b"])
    with pytest.raises(ParameterError, match="beyond"):
        clone(classifier).fit([[0], [1 << 16]], ["a", "b"])
    with pytest.raises(ValueError, match="requires y"):
        clone(classifier).fit(table.codes)


def test_parameters_are_checked() -> None:
    table = people(100)
    for wrong in ({"min_leaf": -1}, {"ccp_alpha": -0.1}, {"min_leaf": float("nan")}):
        with pytest.raises(ParameterError):
            ReconstructedTreeClassifier(**wrong).fit(table)
    for alpha in (0, -1, float("inf")):
        with pytest.raises(ParameterError):
            ReconstructedNaiveBayes(alpha=alpha).fit(table)


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_it_is_an_estimator_like_others(classifier: Any) -> None:
    table = people(600, error=0.1)
    frame, truth = table.to_frame()[NAMES].astype(str), labels_of(table)
    pipeline = Pipeline([("encode", OrdinalEncoder(dtype=int)), ("classify", clone(classifier))]).fit(frame, truth)
    assert pipeline.score(frame, truth) > 0.8
    whole = Pipeline([("classify", clone(classifier))]).fit(
        randomize_with_label(table, GammaDiagonal(50), rng=Seeded(1)), classify__label="owner"
    )
    assert whole.score(table, truth) > 0.8
    grid = {"min_leaf": [2.0, 50.0]} if isinstance(classifier, ReconstructedTreeClassifier) else {"alpha": [0.1, 1.0]}
    search = GridSearchCV(clone(classifier), grid, cv=3).fit(table.codes[:, :3], truth)
    assert search.best_score_ > 0.8
    model = clone(classifier).set_params(**{name: values[1] for name, values in grid.items()}).fit(table)
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).predict(table).tolist() == model.predict(table).tolist()


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_a_class_that_nobody_has_is_never_predicted(classifier: Any) -> None:
    values = ["no", "yes", "perhaps"]
    table = Table(people(3000), [*DOMAIN.attributes[:3], Attribute("owner", values)])
    for data in (table, randomize_by_class(table, "owner", GammaDiagonal(50), rng=Seeded(1))):
        model = clone(classifier).fit(data)
        assert model.classes_.tolist() == values
        assert not model.predict_proba(ALL)[:, 2].any()
        assert set(model.predict(ALL)) == {"no", "yes"}


def test_values_of_the_label_keep_their_type() -> None:
    base = people(300).codes
    for values in ([0, 1], [False, True], ["no", 1], [("a", 1), ("b", 2)]):
        domain = TableDomain([*DOMAIN.attributes[:3], Attribute("owner", values)])
        model = ReconstructedTreeClassifier().fit(Table.from_codes(base, domain))
        assert [type(value) for value in model.classes_.tolist()] == [type(value) for value in values]
        assert model.predict(ALL).tolist()[-1] == values[1]


def test_rules_can_be_printed() -> None:
    model = ReconstructedTreeClassifier().fit(people(300))
    rules = export_text(model.tree_, feature_names=list(model.domain_.labels), class_names=list(model.classes_))
    assert "age=young >  0.50\n|   |--- class: no" in rules


def test_marginals_of_too_many_classes_and_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything of that size is made; with the label in the clear, and randomized with the others."""
    domain = TableDomain([Attribute("a", range(4)), Attribute("b", range(3))])
    table = Table([{"a": 0, "b": 0}] * 5, domain)
    reports = GammaDiagonal(gamma=7.0).randomize(table, rng=Seeded(1))
    evidence = [labelled.labelled_of(data, label="b") for data in (table, reports)]
    monkeypatch.setattr(labelled, "MOST_MARGINALS", 12)
    assert [one.marginals()[0].shape for one in evidence] == [(3, 4), (3, 4)]
    monkeypatch.setattr(labelled, "MOST_MARGINALS", 11)
    for one in evidence:
        with pytest.raises(DataError, match="at most 11"):
            one.marginals()


@pytest.mark.parametrize("mechanism", [None, GammaDiagonal(19), Flip(keep=0.9)], ids=str)
def test_marginals_are_estimated_some_at_a_time(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list for each of millions took gigabytes; and cut in slices they are what they were."""
    table = people(400)
    with_label = table if mechanism is None else randomize_with_label(table, mechanism, rng=Seeded(1))
    by_class = table if mechanism is None else randomize_by_class(table, "owner", mechanism, rng=Seeded(1))
    evidence = [labelled.labelled_of(with_label, label="owner"), labelled.labelled_of(by_class)]
    whole = [one.marginals() for one in evidence]
    asked: list[int] = []

    def noted(data: Any, wanted: list[list[str]]) -> Any:
        asked.append(len(wanted))
        assert isinstance(data, Evidence), "reports would be counted, or a law be fitted, for every slice anew"
        return estimate(data, wanted)

    monkeypatch.setattr(labelled, "estimate", noted)
    monkeypatch.setattr(labelled, "AT_ONCE", 3, raising=False)
    for one, (value, variance) in zip(evidence, whole, strict=True):
        again = one.marginals()
        np.testing.assert_allclose(again[0], value)
        np.testing.assert_allclose(again[1], variance)
    assert max(asked) == 3
