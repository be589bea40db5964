"""Two phases: designs by a first look at the answers, and all answers read together."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.evidence import FittedEvidence, law_of_table
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.table_channels import told
from bosket.models.answered import Likelihood
from bosket.planning.questions import _Search
from tests.evidence.test_fitted import SIX, a_table, reports_of


def halves(table: bk.Table, n: int) -> tuple[bk.Table, bk.Table]:
    codes = np.asarray(table.codes)
    return bk.Table.from_codes(codes[:n], table.domain), bk.Table.from_codes(codes[n:], table.domain)


@pytest.mark.slow
def test_two_phases_read_together() -> None:
    first, second = halves(a_table(20_000), 3000)
    design = bk.Design.pairs(SIX)
    begun = reports_of(first, design)
    finer = design.refine(begun, people=second.n_records, min_support=0.05)
    assert finer.follows == begun.plan.digest
    plan = bk.Plan(SIX, bk.Ask(finer, gamma=19))
    assert bk.Plan.from_json(plan.json) == plan
    done = plan.randomize(second, rng=bk.Seeded(2))
    evidence = bk.pool(begun, done)
    assert isinstance(evidence, FittedEvidence)
    assert evidence.n_records == 20_000
    assert ", then Ask" in str(evidence.provenance.mechanism)
    found = bk.mine(evidence, min_support=0.1)
    truth = {frozenset(itemset): support for itemset, support in bk.mine(a_table(20_000), min_support=0.05)}
    off = [abs(support - truth[frozenset(itemset)]) for itemset, support in found]
    assert np.mean(off) < 0.02
    assert bk.pool(bk.Tally.of(begun), done).n_records == 20_000


def test_both_phases_weigh_in_unbiased_evidence() -> None:
    first, second = halves(a_table(20_000), 5000)
    parts = [reports_of(first, bk.Design([["a"]])), reports_of(second, bk.Design([["a", "b"]]))]
    both = bk.pool(*parts, model=None)
    one, other = (bk.estimate(part, [{"a=1"}], model=None, sampling=True) for part in parts)
    pooled = bk.estimate(both, [{"a=1"}], sampling=True)
    assert pooled.stderr[0] < min(one.stderr[0], other.stderr[0])
    assert min(one.value[0], other.value[0]) <= pooled.value[0] <= max(one.value[0], other.value[0])


def test_the_promise_of_phases_is_the_weakest_of_theirs() -> None:
    """Five reports a person in one phase and one in the other; which comes last does not matter."""
    first, second = halves(a_table(4000), 2000)
    plans = [
        bk.Plan(SIX, bk.Ask(design, gamma=19), bk.PrivacyUnit(reports=reports))
        for design, reports in ((bk.Design.pairs(SIX), 5), (bk.Design.triples(SIX), 1))
    ]
    parts = [plan.randomize(part) for plan, part in zip(plans, (first, second), strict=True)]
    for phases in (parts, parts[::-1]):
        found = bk.pool(*phases, model=None).provenance
        assert isinstance(found.guarantee, bk.LocalGuarantee)
        assert found.guarantee.person.epsilon == plans[0].guarantee.person.epsilon > plans[1].guarantee.person.epsilon
        assert found.unit == plans[0].unit
        assert "who answers in several has the sum" in found.guarantee.card()
        assert found.plan == phases[-1].plan.digest
    assert bk.pool(parts[1], model=None).provenance.guarantee == parts[1].guarantee
    seeded = plans[1].randomize(second, rng=bk.Seeded(1))
    for phases in ([parts[0], seeded], [seeded, parts[0]]):
        found = bk.pool(*phases, model=None).provenance
        assert isinstance(found.guarantee, bk.LocalGuarantee)
        assert found.is_simulation
        assert "some of these reports are seeded(1)" in found.guarantee.card()


def test_an_optimal_design_is_one() -> None:
    """No shift of shares between two questions lowers the mean relative variance: against a search by steps."""
    domain = bk.TableDomain([bk.Attribute(name, ["1", "2", "3"]) for name in "abc"])
    table = a_table(30_000, domain=domain)
    search = _Search(law_of_table(table), is_known=False, gamma=19.0, people=5000, limit=0.05)
    search.candidates = [one for one in search.candidates if len(one.places) == 2 and one.n_answers == 9]
    assert len(search.candidates) == 3

    def value(shares: np.ndarray) -> float:
        from bosket.models.loglinear import Answered, FeatureBasis

        inverse = search.known.copy()
        for share, one in zip(shares, search.candidates, strict=True):
            keep = 18 / 27
            asked = Answered(one.places, one.answers, np.full(9, 5000 * share / 9), keep, np.full(9, (1 - keep) / 9))
            likelihood = Likelihood((3, 3, 3), [asked])
            slopes = FeatureBasis(likelihood, search.basis.order).slopes(search.law.fit.law)
            weight = 5000 * share * keep**2 / likelihood.given(search.law.fit.law)
            inverse += (slopes.T * weight) @ slopes
        return float(np.trace(np.linalg.solve(inverse, search._targets())))

    chosen, shares = search.best()
    assert len(chosen) == 3
    best = np.array(shares) / sum(shares)
    least = value(best)
    for i, j in combinations(range(3), 2):
        for step in (-0.05, 0.05):
            moved = best.copy()
            moved[i] += step
            moved[j] -= step
            assert value(moved) > least - 1e-4 * least
    assert value(np.full(3, 1 / 3)) > least


def test_large_questions_are_judged_as_they_will_be_answered() -> None:
    """At gamma 1.5 nine answers are hashed to two buckets: what each question would tell, by its own channel."""
    domain = bk.TableDomain([bk.Attribute(name, ["1", "2", "3"]) for name in "abc"])
    search = _Search(law_of_table(a_table(30_000, domain=domain)), is_known=False, gamma=1.5, people=5000, limit=0.05)
    law = search.law.fit.law
    for one in search.candidates:
        by = told("auto", 1.5, one.n_answers)
        assert by.is_hashed == (one.n_answers >= 7)
        likelihood = Likelihood((3, 3, 3), [search._answered(one)])
        theta, q = likelihood.margins(law), by.by_chance
        noise = q * (1 - q) + max(1 - 2 * q, 0.5) * by.keep * theta if by.is_hashed else q + by.keep * theta
        found = likelihood.n_asked * likelihood.keep**2 / likelihood.given(law)
        np.testing.assert_allclose(found, by.keep**2 / noise, rtol=1e-9)
    assert {one.n_answers >= 7 for one in search.candidates} == {True, False}


def test_a_pilot_of_other_people() -> None:
    design = bk.Design.optimal(a_table(5000, seed=3), gamma=19, people=10_000, min_support=0.05)
    assert design.follows is None
    assert sum(design.weights) == pytest.approx(100_000, rel=0.01)
    bk.Plan(SIX, bk.Ask(design, gamma=19))


def test_wrong_phases() -> None:
    first, second = halves(a_table(4000), 1000)
    design = bk.Design.pairs(SIX)
    begun = reports_of(first, design)
    with pytest.raises(bk.ParameterError, match="this very design"):
        bk.Design.triples(SIX).refine(begun, people=100, min_support=0.1)
    empty = bk.Plan(SIX, bk.Ask(design, gamma=19)).randomize(
        bk.Table.from_codes(np.zeros((0, 6), int), SIX), rng=bk.Seeded(1)
    )
    with pytest.raises(bk.DataError, match="no answers"):
        design.refine(empty, people=100, min_support=0.1)
    finer = design.refine(begun, people=3000, min_support=0.1)
    done = reports_of(second, finer)
    with pytest.raises(bk.PlanMismatchError, match="must be pooled with them"):
        bk.pool(done)
    with pytest.raises(bk.PlanMismatchError, match="one gamma"):
        bk.pool(begun, reports_of(second, design, gamma=5))
    with pytest.raises(bk.PlanMismatchError, match="a plan each"):
        bk.pool(begun, begun)
    with pytest.raises(bk.DataError, match="Reports of Ask"):
        bk.pool(bk.GammaDiagonal(gamma=19).randomize(second, rng=bk.Seeded(1)))
    value = json.loads(bk.Plan(SIX, bk.Ask(finer, gamma=19)).json)
    value["mechanism"]["design"]["follows"] = "a plan of ours"
    with pytest.raises(bk.BosketError, match="64 hexadecimal digits"):
        bk.Plan.from_json(json.dumps(value))


@pytest.mark.slow
def test_many_small_questions_are_not_left_out_at_once() -> None:
    """Of sixteen attributes and thousands of questions to choose from, none is forgotten; others make up for the rare.

    Questions with a share below a thousandth held more than a third of all people, and were dropped: those about the
    first attribute fell from 18% to 1.5%.
    """
    rng = np.random.default_rng(1)
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["n", "y"]) for at in range(16)])
    likely = rng.uniform(0.1, 0.9, (3, 16))[rng.choice(3, 3150, p=[0.5, 0.3, 0.2])]
    table = bk.Table.from_codes((rng.random(likely.shape) < likely).astype(int), domain)
    design = bk.Design.pairs(domain)
    refined = design.refine(reports_of(table, design, gamma=8.14), people=17_850, min_support=0.1)
    weights = np.array(refined.weights) / sum(refined.weights)
    assert weights.min() >= 0.9e-3
    of = {
        name: sum(w for w, q in zip(weights, refined.questions, strict=True) if name in q.attributes)
        for name in domain.names
    }
    assert min(of.values()) > np.mean(list(of.values())) / 3


@pytest.mark.slow
def test_a_search_that_takes_too_much_is_refused_before_its_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps times the products of each; a law of 2610 coefficients took up to fourteen minutes."""
    steps: list[int] = []
    gain = _Search._gain

    def counted(self: _Search, *args: Any) -> Any:
        steps.append(args[0].size * args[0].shape[1])
        return gain(self, *args)

    monkeypatch.setattr(_Search, "_gain", counted)
    evidence = law_of_table(a_table(5000))
    search = _Search(evidence, is_known=False, gamma=19.0, people=5000, limit=0.05)
    search.best()
    n = search.basis.n_terms
    assert 0 < sum(2 * one + 3 * n**3 for one in steps) <= search.work
    steps.clear()
    monkeypatch.setattr("bosket.planning.questions.MOST_WORK", search.work - 1)
    with pytest.raises(bk.ParameterError, match="must be about fewer values") as caught:
        bk.Design.optimal(a_table(5000), gamma=19, people=5000, min_support=0.05)
    assert caught.value.value == n
    assert not steps
    search.basis.n_terms = 2610
    assert search.work > 1 << 42, "what took fourteen minutes is refused"


def test_a_tally_by_which_no_questions_can_be_compared_is_refused() -> None:
    """Counts of 1 beside 2^40 make the matrix singular to the digits of doubles."""
    domain = bk.TableDomain([bk.Attribute(name, [0, 1]) for name in "ab"])
    plan = bk.Plan(domain, bk.Ask([["a", "b"]], 19))
    answers = Batch({"question": np.zeros(4, np.int32), "answer": np.arange(4, dtype=np.int32)})
    rows = plan.channel.payload.to_rows(answers)
    tally = bk.Tally._made(plan, rows, np.array([1, 1, 2**40, 2**40]), "secure")
    assert isinstance(plan.mechanism, bk.Ask)
    with pytest.raises(bk.ParameterError, match="digits"):
        plan.mechanism.design.refine(tally, people=1000, min_support=0.05)
