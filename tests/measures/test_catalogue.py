"""Each measure against its definition by another road, its range, its symmetry, its record and its names."""

from __future__ import annotations

from itertools import product
from math import isinf
from types import ModuleType

import numpy as np
import pytest
from hypothesis import assume, given

from bosket.errors import ParameterError
from bosket.measures import CATALOGUE, MLXTEND, Measure, Scale, measure, measures
from bosket.measures.catalogue import MODULES, SIDES, names
from bosket.measures.of_tests import hyper_lift_at
from bosket.measures.table import FORMS
from tests.measures.definitions import DEFINITIONS, EXACT_TESTS, Counts
from tests.measures.tables import counts, of_cells, of_counts, random_cells, small

EACH = pytest.mark.parametrize("record", CATALOGUE.values(), ids=CATALOGUE.keys())
SMOOTH = [record for record in CATALOGUE.values() if record.name not in EXACT_TESTS]


def test_every_measure_has_a_definition() -> None:
    assert set(DEFINITIONS) == set(CATALOGUE), "define it once more in tests/measures/definitions.py"


@given(counts)
def test_values(t: Counts) -> None:
    table = of_counts(t)
    for record in SMOOTH:
        expected = float(DEFINITIONS[record.name](t))
        assert record(table)[0] == pytest.approx(expected, rel=1e-9, abs=1e-12 * max(1, t.n)), record.name


@pytest.mark.slow
@given(small)
def test_exact_tests(t: Counts) -> None:
    table = of_counts(t)
    for name in EXACT_TESTS:
        assert CATALOGUE[name](table)[0] == pytest.approx(float(DEFINITIONS[name](t)), rel=1e-9, abs=1e-12), name


@pytest.mark.slow
def test_hyper_lift_by_other_quantiles() -> None:
    """Pr(X <= 2) is 0.9 for 5 records, 3 with A, 3 with C; so the median is 2, and 3 is exceeded by nothing."""
    table = of_counts(Counts(3, 0, 0, 2))
    assert hyper_lift_at(0.5)(table)[0] == 1.5
    assert hyper_lift_at(0.95)(table)[0] == 1
    with pytest.raises(ParameterError):
        hyper_lift_at(1.0)


@pytest.mark.slow
def test_many_rules_at_once() -> None:
    """Rows do not mix: all tables at once as one by one, and the tables are left as they were."""
    tables = [Counts(*cells) for cells in ((30, 10, 20, 40), (5, 40, 50, 5), (1, 2, 3, 94), (0, 50, 0, 50))]
    together = of_counts(*tables)
    for record in CATALOGUE.values():
        assert record(together).shape == (4,)
        alone = [record(of_counts(t))[0] for t in tables]
        assert np.array_equal(record(together), alone, equal_nan=True), record.name
    assert np.array_equal(together.pi11, [0.3, 0.05, 0.01, 0])


class TestRange:
    N = 10**9

    @given(counts)
    def test_values_stay_inside(self, t: Counts) -> None:
        table = of_counts(t)
        for record in SMOOTH:
            low, high = record.range
            value, slack = record(table)[0], 1e-12
            assert low - slack <= value <= high + slack, record.name

    @pytest.mark.parametrize("record", SMOOTH, ids=[record.name for record in SMOOTH])
    def test_both_ends_are_approached(self, record: Measure) -> None:
        """An infinite end counts as approached at 5, which decimal logarithms of a billion records still pass."""
        corners = list(product([1e-12, 1e-8, 1e-4, 1e-2, 0.5, 1.0], repeat=4))
        value = record(of_cells(np.concatenate([corners, random_cells(2000, seed=1)]), self.N))
        low, high = record.range
        assert value.min() < (-5 if isinf(low) else low + 0.01)
        assert value.max() > (5 if isinf(high) else high - 0.01)

    @pytest.mark.parametrize("name", EXACT_TESTS)
    def test_of_exact_tests(self, name: str) -> None:
        tables = [Counts(0, 500, 500, 9000), Counts(500, 0, 0, 9500), Counts(25, 475, 475, 9025)]
        value = CATALOGUE[name](of_counts(*tables))
        low, high = CATALOGUE[name].range
        assert low <= value.min() < low + 0.01
        assert min(high, 5) - 0.01 < value.max() <= high


class TestSymmetry:
    @given(small)
    def test_symmetric_ones(self, t: Counts) -> None:
        there, back = of_counts(t), of_counts(Counts(t.n11, t.n01, t.n10, t.n00))
        for record in CATALOGUE.values():
            if record.is_symmetric:
                assert record(there)[0] == pytest.approx(record(back)[0], rel=1e-9, abs=1e-12), record.name

    @EACH
    def test_others_are_not(self, record: Measure) -> None:
        cells = random_cells(200, seed=2) * 1000
        rounded = [Counts(*(int(cell) + 1 for cell in row)) for row in cells]
        gap = [record(of_counts(t))[0] - record(of_counts(Counts(t.n11, t.n01, t.n10, t.n00)))[0] for t in rounded]
        assert (np.abs(gap).max() < 1e-6) == record.is_symmetric


class TestRecords:
    def test_the_catalogue(self) -> None:
        assert all(name == record.name for name, record in CATALOGUE.items())
        assert tuple(CATALOGUE)[:12] == SIDES + MLXTEND
        assert len(MLXTEND) == 10

    @pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.__name__))
    def test_none_is_left_out(self, module: ModuleType) -> None:
        """A record that RECORDS of its module does not list is no measure of the catalogue."""
        made = [one for one in vars(module).values() if isinstance(one, Measure)]
        left_out = [record.name for record in made if record not in module.RECORDS]
        assert not left_out, f"add it to RECORDS of {module.__name__}"

    @EACH
    def test_are_complete(self, record: Measure) -> None:
        assert record.title
        assert record.formula
        assert any(character.isdigit() for character in record.reference) or "Microsoft" in record.reference
        assert record.range[0] <= record.range[1]
        assert set(record.degenerate) <= {"a", "c", "not_a", "not_c", "pi11", "pi10", "pi01", "pi00"}
        assert set(record.must_be_sure) | set(record.trusted_if) <= set(FORMS)
        assert set(record.kinks) <= {*FORMS, "leverage"}
        assert (record.ratio is not None) == (record.scale is Scale.FIELLER)
        assert (record.gradient is None) == (record.name in EXACT_TESTS)

    def test_guo_and_tan(self) -> None:
        """Every measure of Guo's Table 2 says so."""
        table_2 = (
            "support confidence correlation cosine odds_ratio lift jaccard leverage mutual_information conviction "
            "uncertainty_coefficient j_measure certainty_factor standardized_residue g2 chi_squared added_value"
        )
        told = {name for name, record in CATALOGUE.items() if "Guo, Guo and Wu (2007), Table 2" in record.reference}
        assert told == set(table_2.split())

    @given(small)
    def test_ratios_are_what_fieller_needs(self, t: Counts) -> None:
        table = of_counts(t)
        supports = np.array([table.pi11[0], table.a[0], table.c[0], 1.0])
        for record in CATALOGUE.values():
            if record.ratio is not None:
                over, under = (np.dot(form, supports) for form in record.ratio)
                assume(under != 0)
                assert over / under == pytest.approx(record(table)[0], rel=1e-9, abs=1e-9), record.name


class TestNames:
    def test_are_unique(self) -> None:
        said = [(name.lower().translate(str.maketrans("", "", " _-'")), record.name)
                for record in CATALOGUE.values() for name in names(record)]  # fmt: skip
        owners: dict[str, set[str]] = {}
        for key, owner in said:
            owners.setdefault(key, set()).add(owner)
        assert all(len(owner) == 1 for owner in owners.values())

    @EACH
    def test_every_name_finds_its_measure(self, record: Measure) -> None:
        for name in names(record):
            assert measure(name) is record
            assert measure(name.upper()) is record
            assert measure(name.replace("_", " ")) is record

    @pytest.mark.parametrize(
        "name, canonical",
        [
            ("Piatetsky-Shapiro", "leverage"),
            ("PS", "leverage"),
            ("Zhang's metric", "zhangs_metric"),
            ("interest", "lift"),
            ("IS", "cosine"),
            ("phi", "correlation"),
            ("alpha", "odds_ratio"),
            ("chiSquared", "chi_squared"),
            ("doc", "difference_of_confidence"),
            ("RLD", "rld"),
            ("lerman", "standardized_residue"),
            ("lambda", "goodman_kruskal_lambda"),
            ("fishersExactTest", "fisher"),
            ("rhsSupport", "consequent support"),
            ("antecedent_support", "antecedent support"),
            ("centeredConfidence", "added_value"),
        ],
    )
    def test_of_papers_and_packages(self, name: str, canonical: str) -> None:
        assert measure(name).name == canonical

    def test_of_arules(self) -> None:
        """All of arules' rule measures are found, but those that need more than the table."""
        arules = (
            "support confidence lift count addedValue casualConfidence casualSupport centeredConfidence certainty "
            "chiSquared collectiveStrength confirmedConfidence conviction cosine counterexample coverage doc "
            "fishersExactTest gini hyperConfidence hyperLift imbalance implicationIndex importance jaccard jMeasure "
            "kappa kulczynski lambda laplace leastContradiction lerman leverage maxconfidence mutualInformation "
            "oddsRatio phi ralambondrainy relativeRisk rhsSupport RLD rulePowerFactor sebag varyingLiaison yuleQ yuleY"
        )
        other_there = {"casualConfidence", "casualSupport", "collectiveStrength", "leastContradiction"}
        other_there |= {"mutualInformation", "centeredConfidence"}  # the latter is another name of addedValue
        for name in arules.split():
            assert (measure(name).arules == name) == (name not in other_there), name

    def test_unknown(self) -> None:
        with pytest.raises(ParameterError, match=r"The 'metric' parameter must name a measure, got 'lfit'") as caught:
            measure("lfit")
        assert (caught.value.parameter, caught.value.value) == ("metric", "lfit")
        assert str(caught.value.hint).startswith("Did you mean 'lift'?")
        with pytest.raises(ParameterError) as caught:
            measure("oddsratoi", parameter="measures")
        assert caught.value.parameter == "measures"
        assert str(caught.value.hint).startswith("Did you mean 'odds_ratio'?")
        for nothing_like_it in ("", "qqqq", 3, None):
            with pytest.raises(ParameterError) as caught:
                measure(nothing_like_it)
            assert "CATALOGUE" in str(caught.value.hint)
        with pytest.raises(ParameterError) as caught:
            measure("stdLift")
        assert "does not decide" in str(caught.value.hint)

    def test_several(self) -> None:
        assert [record.name for record in measures("PS,odds ratio, phi")] == ["leverage", "odds_ratio", "correlation"]
        assert len(measures("all")) == len(CATALOGUE) - 2
        for wrong in (3, ["lift", "lfit"], "lift,,phi"):
            with pytest.raises(ParameterError) as caught:
                measures(wrong)  # type: ignore[arg-type]  # that is the point
            assert caught.value.parameter == "measures"
