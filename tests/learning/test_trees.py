"""Trees of many cells and values: what they take is known before they are grown, and Ctrl-C finds the main thread."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import bosket as bk
from bosket import Attribute, GammaDiagonal, Seeded, Table, TableDomain
from bosket.errors import BosketWarning, DataError, ParameterError
from bosket.evidence import FittedEvidence
from bosket.learning import (
    ByClassReports,
    ReconstructedNaiveBayes,
    ReconstructedTreeClassifier,
    labelled,
    randomize_by_class,
    reconstruction,
    tree,
)
from bosket.learning.labelled import labelled_of
from bosket.learning.reconstruction import cell_counts
from bosket.learning.tree import one_hot
from bosket.reports import Reports
from tests.effort import effort_within
from tests.memory import traced

MIB = 1 << 20


def study(records: int, attributes: int, values: int, classes: int = 2) -> Table:
    """Records that nearly all differ."""
    domain = TableDomain(
        [*(Attribute(f"a{at}", range(values)) for at in range(attributes)), Attribute("y", range(classes))]
    )
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, values, (records, attributes)), rng.integers(0, classes, (records, 1))]
    return Table.from_codes(np.hstack(codes), domain)


def by_class(records: int, attributes: int, values: int) -> ByClassReports:
    return randomize_by_class(study(records, attributes, values), "y", GammaDiagonal(1e6), rng=Seeded(1))


def test_a_tree_of_many_values_takes_memory_for_the_values_that_cells_have() -> None:
    """Where cells and values are thousands each, a column for every value took 64 MB here, and gigabytes in a file of
    340 kB."""
    reports, table = by_class(2000, 2, 4000), study(2000, 2, 4000)
    model = ReconstructedTreeClassifier(max_depth=2)
    with traced() as memory:
        model.fit(reports).predict_proba(table)
        assert memory.peak < 24 * MIB


@pytest.mark.slow
def test_a_tree_that_would_never_be_grown_is_refused_at_once() -> None:
    with effort_within(30):
        with pytest.raises(DataError, match="200,000 values and 2 classes takes too long") as told:
            ReconstructedTreeClassifier(min_leaf=0).fit(study(20_000, 4, 50_000))
        assert "max_depth" in str(told.value.hint)
    with pytest.raises(DataError, match="10,000 classes takes"):
        ReconstructedTreeClassifier(min_leaf=0).fit(study(10_000, 2, 300, classes=10_000))


def test_what_is_stated_of_a_tree_is_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its leaves and its depth, by which it is refused; max_depth and min_leaf make it smaller."""
    table = study(200, 2, 20, classes=3)
    monkeypatch.setattr(tree, "MOST_SHARES", 3 * 50)
    with pytest.raises(DataError, match=r"leaves over \d+ cells, 40 values and 3 classes"):
        ReconstructedTreeClassifier(min_leaf=0, ccp_alpha=0).fit(table)
    grown = ReconstructedTreeClassifier(min_leaf=4, ccp_alpha=0).fit(table).tree_
    assert 2 < grown.get_n_leaves() <= 50
    grown = ReconstructedTreeClassifier(min_leaf=0, ccp_alpha=0, max_depth=5).fit(table).tree_
    assert 2 < grown.get_n_leaves() <= 32
    monkeypatch.setattr(tree, "MOST_STEPS", 2 * 32 * 40)
    with pytest.raises(DataError, match="up to 32 leaves"):
        ReconstructedTreeClassifier(min_leaf=0, max_depth=5).fit(table)


def test_they_are_grown_apart_from_the_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code does not hear Ctrl-C; the thread that waits for it does."""
    heard: list[str] = []
    for name in ("fit", "predict_proba"):
        own = getattr(DecisionTreeClassifier, name)

        def noted(*arguments: Any, own: Any = own, name: str = name, **options: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                heard.append(name)
            return own(*arguments, **options)

        monkeypatch.setattr(DecisionTreeClassifier, name, noted)
    table = study(100, 2, 3)
    ReconstructedTreeClassifier().fit(table).predict(table)
    assert heard == ["fit", "predict_proba"]


def test_classes_are_predicted_some_records_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    table = study(300, 3, 4)
    model = ReconstructedTreeClassifier(ccp_alpha=0).fit(table)
    whole = model.predict_proba(table)
    monkeypatch.setattr(tree, "_AT_ONCE", 100)
    np.testing.assert_array_equal(model.predict_proba(table), whole)


def test_columns_of_values() -> None:
    table = study(50, 3, 4)
    dense = one_hot(table.codes, table.domain).toarray()
    assert dense.shape == (50, 14)
    for at, record in enumerate(table):
        has = {f"{name}={value}" for name, value in record.items()}
        assert {label for label, one in zip(table.domain.labels, dense[at], strict=True) if one == 1} == has
    assert dense.sum() == 200


def test_cells_of_many_classes_are_sorted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each class has its own cells, in their order, and no class looks at those of all others."""
    reports = GammaDiagonal(50.0).randomize(study(400, 2, 3, classes=30), rng=Seeded(1))
    sorted_for: list[int] = []
    places = labelled._places

    def noted(codes: Any, classes: int) -> Any:
        sorted_for.append(classes)
        return places(codes, classes)

    monkeypatch.setattr(labelled, "_places", noted)
    evidence = labelled_of(reports, label="y")
    whole = cell_counts(reports)
    for code, part in enumerate(evidence.cells()):
        own = whole.codes[:, 2] == code
        np.testing.assert_array_equal(part.codes, whole.codes[own, :2])
        np.testing.assert_array_equal(part.value, whole.value[own])
        np.testing.assert_array_equal(part.variance, whole.variance[own])
        assert part.n_elsewhere == 9 - own.sum()
    assert sorted_for == [30]


def _by_class(n_classes: int, n_attributes: int, mechanism: bk.Flip) -> ByClassReports:
    """One report of yes/no attributes, in each class."""
    table = Table.from_frame(
        pd.DataFrame({f"a{at}": ["no"] for at in range(n_attributes)}),
        values={f"a{at}": ["no", "yes"] for at in range(n_attributes)},
    )
    part = mechanism.randomize(table, rng=Seeded(1))
    return ByClassReports(Attribute("class", tuple(range(n_classes))), dict.fromkeys(range(n_classes), part))


def test_all_classes_share_what_cells_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty classes of 2^12 cells took an hour, from a file of 3 kB: refused before a cell is estimated."""
    monkeypatch.setattr(reconstruction, "estimate", None)
    with pytest.raises(ParameterError, match="20 classes"):
        ReconstructedTreeClassifier().fit(_by_class(20, 12, bk.Flip(keep=0.9)))


@pytest.mark.slow
def test_classes_without_reports_have_no_cells() -> None:
    some = _by_class(2, 9, bk.Flip(keep=0.9))
    part = some.reports[0]
    none = part[np.zeros(1, bool)]
    parts: dict[Hashable, Reports] = {at: part if at < 2 else none for at in range(50)}
    data = ByClassReports(Attribute("class", tuple(range(50))), parts)
    assert [len(counts.codes) for counts in labelled_of(data, None).cells()] == [512] * 2 + [0] * 48
    assert len(ReconstructedTreeClassifier().fit(data).classes_) == 50


def test_naive_bayes_fits_no_law_for_each_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """A law took up to seconds a class, of ten thousand; single values need none."""
    table = Table.from_frame(pd.DataFrame({name: ["no", "yes"] * 50 for name in "abc"}))
    part = bk.Ask(bk.Design.pairs(table.domain), gamma=19).randomize(table, rng=Seeded(1))
    data = ByClassReports(Attribute("class", (0, 1)), {0: part, 1: part})
    monkeypatch.setattr(FittedEvidence, "__init__", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BosketWarning)
        assert len(ReconstructedNaiveBayes().fit(data).classes_) == 2


def test_leaves_of_next_to_no_weight_are_as_many_as_cells() -> None:
    table = bk.Table([{"age": age, "owner": owner} for age, owner in (("young", "no"), ("old", "yes"))] * 200)
    reports = randomize_by_class(table, "owner", bk.GammaDiagonal(19), rng=bk.Seeded(1))
    assert ReconstructedTreeClassifier(min_leaf=1e-320).fit(reports).score(table) == 1.0
