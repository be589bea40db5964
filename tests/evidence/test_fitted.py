"""Evidence from a fitted law: consistent supports, errors that cover, marks where it does not fit, large tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import bosket as bk
from bosket.evidence import FittedEvidence, evidence_of
from bosket.evidence.blocks import covering_blocks
from bosket.mechanisms.payload import Batch

SIX = bk.TableDomain([bk.Attribute(name, ["1", "2", "3"][: 2 + at % 2]) for at, name in enumerate("abcdef")])


def a_table(n: int = 20_000, *, third: float = 0.0, seed: int = 1, domain: bk.TableDomain = SIX) -> bk.Table:
    """Attributes that depend on each other in pairs, and, where ``third`` is not 0, a, b and c all together."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in domain.sizes]
    values = np.indices(sizes).reshape(len(sizes), -1)
    eta = sum(rng.normal(0, 0.6, size)[row] for size, row in zip(sizes, values, strict=True))
    for i, j in combinations(range(len(sizes)), 2):
        eta = eta + rng.normal(0, 0.15, (sizes[i], sizes[j]))[values[i], values[j]]
    eta = eta + third * np.prod([1 - 2.0 * (values[at] == 0) for at in range(3)], axis=0)
    law = np.exp(eta)
    return bk.Table.from_cells(rng.choice(len(law), n, p=law / law.sum()), domain)


def reports_of(
    table: bk.Table, design: bk.Design, seed: int = 1, gamma: float = 19, channel: str = "auto"
) -> bk.Reports:
    return bk.Ask(design, gamma, channel).randomize(table, rng=bk.Seeded(seed))


def test_supports_are_margins_of_one_law() -> None:
    found = bk.mine(reports_of(a_table(), bk.Design.pairs(SIX)), min_support=0.005)
    supports = {frozenset(itemset): support for itemset, support in found}
    assert max(map(len, supports)) == 6
    assert "log-linear" in found.about["model"]
    assert "asked of more than 2 attributes" in found.about["model"], "what rests on the law alone"
    for itemset, support in supports.items():
        assert 0 <= support <= 1
        for item in itemset:
            if len(itemset) > 1:
                assert support <= supports[itemset - {item}] * (1 + 1e-9)
    assert supports[frozenset({"a=1"})] + supports[frozenset({"a=2"})] == pytest.approx(1)


def test_the_law_of_much_is_the_truth() -> None:
    """A gamma at which nearly every answer is true, and a law that can be any."""
    table = a_table(60_000, third=0.3)
    reports = reports_of(table, bk.Design([list(SIX.names[:3])]), gamma=1e6)
    itemsets = [{"a=1"}, {"a=1", "b=2"}, {"a=2", "b=1", "c=2"}, set[str]()]
    fitted, truth = bk.estimate(reports, itemsets, model=bk.LogLinear(3)), bk.estimate(table, itemsets)
    np.testing.assert_allclose(fitted.value, truth.value, atol=1e-3)
    assert fitted.stderr.max() < 1e-3


@pytest.mark.slow
def test_covariances_are_those_of_estimates_and_of_rules() -> None:
    reports = reports_of(a_table(), bk.Design.triples(SIX))
    evidence = evidence_of(reports)
    assert isinstance(evidence, FittedEvidence)
    rows = np.array([[2, 0, 5], [0, 2, 5]], np.int32)  # one itemset, items in another order
    family = evidence.family(rows)
    matrix = family.covariance(range(8))
    np.testing.assert_allclose(matrix, matrix.transpose(0, 2, 1), rtol=1e-6, atol=1e-6)
    assert (np.linalg.eigvalsh(matrix) > -1e-6 * matrix.max()).all()
    order = [0, 2, 1, 3, 4, 6, 5, 7]  # patterns with the first two items exchanged
    np.testing.assert_allclose(matrix[0], matrix[1][np.ix_(order, order)], rtol=1e-9)
    one = bk.estimate(reports, [{"a=1"}, {"b=1"}])
    assert one.covariance[0, 1] * one.n_records**2 == pytest.approx(matrix[1][1, 2], rel=1e-6)
    rules = bk.mine(reports, min_support=0.05).rules(min_threshold=0.3)
    assert len(rules)
    assert (rules["confidence_stderr"] > 0).all()


def test_an_attribute_asked_of_twice_has_two_values_nowhere() -> None:
    evidence = evidence_of(reports_of(a_table(), bk.Design.pairs(SIX)))
    family = evidence.family(np.array([[0, 1]], np.int32))
    assert family.value(3)[0] == 0
    assert family.covariance([3])[0, 0, 0] == 0
    assert family.value(1)[0] + family.value(2)[0] == pytest.approx(evidence.n_records)


def test_a_planted_effect_of_three_is_marked() -> None:
    table = a_table(60_000, third=0.5)
    reports = reports_of(table, bk.Design.triples(SIX))
    planted = [{"a=1", "b=1", "c=1"}, {"a=2", "b=2", "c=2"}]
    assert "asked of more than 3 attributes" in str(evidence_of(reports).provenance.model)
    assert bk.estimate(reports, planted, model=bk.LogLinear(2)).caution.any()
    assert not bk.estimate(reports, [{"d=1", "e=1", "f=1"}], model=bk.LogLinear(2)).caution.any()
    chosen = evidence_of(reports)
    assert "at most 3 attributes" in str(chosen.provenance.model)
    found = bk.estimate(reports, planted)
    assert not found.caution.any()


@pytest.mark.parametrize("channel", ["response", "hashing"])
def test_one_more_answer_moves_the_law_as_it_is_said_to(channel: str) -> None:
    """Three answers more of one kind: the posterior is highest at what is said, of all steps that way."""
    reports = reports_of(a_table(), bk.Design.pairs(SIX), channel=channel)
    evidence = evidence_of(reports)
    assert isinstance(evidence, FittedEvidence)
    fitted = evidence.law(evidence.asked).fit
    likelihood = fitted.basis.likelihood
    at = int(likelihood.shown.argmin())
    moved = fitted.coefficients + 3 * fitted.pulls[:, at]
    shown = likelihood.shown.copy()
    shown[at] += 3 / likelihood.scale[at]  # as many in the likelihood
    precision = np.repeat(1 / fitted.scales, fitted.basis.dims)

    def posterior(c: np.ndarray) -> float:
        return float(shown @ np.log(likelihood.given(fitted.basis.law(c))) - 0.5 * precision @ c**2)

    gain = posterior(moved) - posterior(fitted.coefficients)
    assert gain > 0
    for factor in (0.6, 1.4):
        assert posterior(fitted.coefficients + factor * (moved - fitted.coefficients)) < posterior(moved)


@pytest.mark.slow
def test_a_few_forged_answers_are_told_of() -> None:
    """Nobody has q0=y, but for sixty who pick the last answer to the first of 190 questions."""
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["n", "y"]) for at in range(20)])
    plan = bk.Plan(domain, bk.Ask(bk.Design([(f"q{i}", f"q{j}") for i, j in combinations(range(20), 2)]), gamma=19))
    honest = plan.randomize(bk.Table.from_codes(np.zeros((20_000, 20), int), domain), rng=bk.Seeded(3))
    question, answer = honest.batch["question"].copy(), honest.batch["answer"].copy()
    question[:60], answer[:60] = 0, 3
    forged = bk.Reports(plan, Batch({"question": question, "answer": answer}), randomness="secure")
    pair = [{"q0=y", "q1=y"}]
    with pytest.warns(bk.InfluenceWarning, match="A few reports carry"):
        assert bk.estimate(forged, pair, model=None).value[0] > 0.3
    through_law = bk.estimate(forged, pair)
    assert through_law.caution[0]
    assert through_law.value[0] < 0.05
    assert not bk.estimate(honest, pair).caution[0]


def about_two(numbers: list[int]) -> bk.Reports:
    """Answers to one question about two yes/no attributes."""
    domain = bk.TableDomain([bk.Attribute(name, ["0", "1"]) for name in "ab"])
    plan = bk.Plan(domain, bk.Ask([["a", "b"]], 19))
    answers = np.repeat(np.arange(4, dtype=np.int32), numbers)
    return bk.Reports(plan, Batch({"question": np.zeros_like(answers), "answer": answers}), randomness="simulation")


BEFORE, AFTER = [5182, 4818, 4818, 5182], [5183, 4817, 4818, 5182]  # one of 20 000 people answers otherwise


@pytest.mark.slow
def test_one_report_that_changes_the_order_is_told_of() -> None:
    """By 0.0105: at this place the law without effects and that of pairs are equally likely."""
    one, other = (bk.estimate(about_two(numbers), [{"a=1", "b=1"}]) for numbers in (BEFORE, AFTER))
    assert abs(one.value[0] - other.value[0]) > 0.01
    assert one.caution[0]
    assert other.caution[0], "the law that was left lies outside the interval"
    assert "without a law (model=None): a law may jump" in str(about_two(AFTER).plan.guarantee)
    frame = bk.mine(about_two(AFTER), 0.1).to_frame()
    assert frame["caution"][[itemset == {"a=1", "b=1"} for itemset in frame["itemsets"]]].all()
    far = bk.estimate(about_two([5300, 4700, 4700, 5300]), [{"a=1", "b=1"}])
    assert not far.caution[0], "where one law is far more likely nothing is marked"


def test_rivals_of_blocks_are_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.evidence.block_laws.CLOSE", 1e9)
    table = a_table(40_000)
    whole = evidence_of(reports_of(table, bk.Design.pairs(SIX)))
    monkeypatch.setattr("bosket.evidence.block_laws.MOST_CELLS", 100)
    monkeypatch.setattr("bosket.evidence.block_laws.BLOCK_CELLS", 40)
    for evidence in (whole, evidence_of(reports_of(table, bk.Design.pairs(SIX)))):
        assert isinstance(evidence, FittedEvidence)
        law = evidence.law((0, 1))
        assert len(law.rivals) == 2
        for rival in law.rivals:
            np.testing.assert_allclose(law.share_by(rival, (0, 1)).sum(), 1)
        own = law.share_by(law.fit.law, (0, 1))
        np.testing.assert_allclose(own, law.margin((0, 1)).share, atol=1e-12)
        pairs = np.array(list(combinations(range(len(SIX)), 2)), np.int32)
        pairs = pairs[SIX.groups[pairs[:, 0]] < SIX.groups[pairs[:, 1]]]
        assert evidence.family(pairs).doubtful.mean() > 0.2, "a law by which all records are alike is far from many"


def test_without_a_law_the_stated_bound_holds_where_the_order_changes() -> None:
    one, other = (bk.estimate(about_two(numbers), [{"a=1", "b=1"}], model=None) for numbers in (BEFORE, AFTER))
    stated = bk.audit.poisoning(about_two(BEFORE), fraction=1 / 20_000, sizes=[2])["shift"][0]
    assert abs(one.value[0] - other.value[0]) <= stated * (1 + 1e-9)


def test_pairs_that_nobody_was_asked_about_are_left_out_and_named() -> None:
    reports = reports_of(a_table(), bk.Design([["a", "b"], ["b", "c"], ["d"]]))
    with pytest.raises(bk.SingularChannelError, match=r"a=1.*c=1"):
        bk.estimate(reports, [{"a=1", "c=1"}])
    found = bk.mine(reports, min_support=0.01)
    assert found.about["left_out"]
    with pytest.raises(bk.SingularChannelError, match="e=1"):
        bk.estimate(reports, [{"e=1"}])


def test_models_by_name() -> None:
    table = a_table(3000)
    reports = reports_of(table, bk.Design.pairs(SIX))
    by_name, by_law = (bk.estimate(reports, [{"a=1"}], model=model).value for model in ("log-linear", bk.LogLinear()))
    assert by_name == by_law != bk.estimate(reports, [{"a=1"}], model=None).value
    for wrong in ("loglinear", 2):
        with pytest.raises(bk.ParameterError, match="model"):
            bk.mine(reports, 0.1, model=wrong)  # type: ignore[arg-type]
    flipped = bk.Flip(keep=0.9).randomize(bk.Baskets([["a"], ["a", "b"]] * 50), rng=bk.Seeded(1))
    with pytest.raises(bk.ParameterError, match="no law can be fitted"):
        bk.mine(flipped, 0.1, model="log-linear")
    with pytest.raises(bk.ParameterError, match="unless reports"):
        bk.estimate(table, [{"a=1"}], model="log-linear")


@pytest.mark.slow
def test_gamma_diagonal_reports_through_a_law() -> None:
    """With smaller errors than by inversion of the matrix, from the same reports."""
    domain = bk.TableDomain([bk.Attribute(name, ["n", "y"]) for name in "abcdefghij"])
    table = a_table(40_000, domain=domain)
    reports = bk.GammaDiagonal(gamma=19).randomize(table, rng=bk.Seeded(2))
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.05, max_size=3)]
    truth = bk.estimate(table, itemsets).value
    law, inverse = (np.abs(bk.estimate(reports, itemsets, model=m).value - truth) for m in ("log-linear", None))
    assert law.mean() < inverse.mean()
    tally = bk.Tally.of(reports)
    assert bk.estimate(tally, itemsets, model="log-linear").value == pytest.approx(
        bk.estimate(reports, itemsets, model="log-linear").value, rel=1e-9
    )


@pytest.mark.slow
def test_hardly_any_signal_takes_all_records_for_alike() -> None:
    """Errors of a single item of 0.4 and more: main effects would be noise, and supports worse than without any."""
    table = a_table(3000)
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.05)]
    truth = bk.estimate(table, itemsets).value
    errors = {}
    for model in (bk.LogLinear(), bk.LogLinear(1)):
        off = []
        for seed in range(4):
            reports = bk.GammaDiagonal(gamma=5).randomize(table, rng=bk.Seeded(seed))
            evidence = evidence_of(reports, model=model)
            assert ("all combinations alike" in str(evidence.provenance.model)) == (model.order is None)
            found = bk.estimate(evidence, itemsets)
            assert found.caution.all(), "such intervals fall short"
            off.append(np.mean(np.abs(found.value - truth) / truth))
        errors[model.order] = np.mean(off)
    assert errors[None] < errors[1]


@pytest.mark.slow
def test_interactions_are_worth_their_price_where_they_are_there() -> None:
    """Three kinds of people, ten questions: ties of all pairs, each of which little is known of; or none at all.

    The price of one is 2 nats; noise gains 1.3 to 2.5 by each that it makes, and these ties 2 to 4.6, so that either
    may be missed now and then.  At the price of 2.7 that every scale had before, ties were seen in none of the four.
    """
    domain = bk.TableDomain([bk.Attribute(f"q{at}", ["n", "y"]) for at in range(10)])
    seen = {"tied": 0, "apart": 0}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        likely = rng.uniform(0.15, 0.85, (3, 10))[rng.choice(3, 21_000, p=[0.5, 0.3, 0.2])]
        for name, chance in (("tied", likely), ("apart", likely.mean(axis=0) * np.ones_like(likely))):
            table = bk.Table.from_codes((rng.random(chance.shape) < chance).astype(int), domain)
            evidence = evidence_of(reports_of(table, bk.Design.pairs(domain), seed, gamma=8.14))
            seen[name] += "at most 2 attributes" in str(evidence.provenance.model)
    assert seen["tied"] >= 3
    assert seen["apart"] <= 2


def test_blocks_hold_any_three_attributes() -> None:
    sizes = [5, 9, 2, 7, 3, 4, 6, 2, 11, 8]
    blocks = covering_blocks(tuple(range(10)), sizes, 512)
    for three in combinations(range(10), 3):
        assert any(set(three) <= set(block) for block in blocks)
    for block in blocks:
        assert np.prod([sizes[at] for at in block]) <= 512 or len(block) == 3
    assert covering_blocks((0, 1), sizes, 4) == [(0, 1)]


@pytest.mark.slow
def test_a_table_of_too_many_cells_has_a_law_for_each_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose supports are those of one law of everything, nearly."""
    table = a_table(40_000)
    reports = reports_of(table, bk.Design.pairs(SIX))
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.1)]
    whole = bk.estimate(reports, itemsets)
    monkeypatch.setattr("bosket.evidence.block_laws.MOST_CELLS", 100)
    monkeypatch.setattr("bosket.evidence.block_laws.BLOCK_CELLS", 40)
    parts = bk.estimate(reports, itemsets)
    assert "blocks" in str(evidence_of(reports).provenance.model)
    assert (np.abs(parts.value - whole.value) < 1.5 * whole.stderr).all()
    assert (parts.stderr > 0).all()


@pytest.mark.slow
def test_intervals_of_blocks_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.evidence.block_laws.MOST_CELLS", 100)
    monkeypatch.setattr("bosket.evidence.block_laws.BLOCK_CELLS", 40)
    table = a_table(40_000)
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.02, max_size=3)]
    truth = bk.estimate(table, itemsets).value
    covered = []
    for seed in range(20):
        low, high = bk.estimate(reports_of(table, bk.Design.pairs(SIX), seed), itemsets).interval().T
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert np.mean(covered) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize(("size", "third"), [(2, 0.0), (3, 0.0), (3, 0.25)])
def test_intervals_cover(order: int, third: float, size: int) -> None:
    """All itemsets that are truly frequent, with and without an effect of three attributes, at both orders.

    Questions about two attributes cannot show an effect of three: of that, intervals hold enough in the mean over
    populations (tests/research/reproduce/test_orders.py), and nothing is promised for one.
    """
    table = a_table(40_000, third=third)
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.02)]
    truth = bk.estimate(table, itemsets).value
    covered = []
    for seed in range(20):
        reports = reports_of(table, bk.Design.of_size(SIX, size), seed)
        low, high = bk.estimate(reports, itemsets, model=bk.LogLinear(order)).interval().T
        covered.append(((low <= truth) & (truth <= high)).mean())
    assert np.mean(covered) >= 0.93


def errors_of(table: bk.Table, design: bk.Design, channel: str, seeds: range, gamma: float) -> list[float]:
    """The mean relative error of all frequent itemsets of a law, study by study."""
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.05)]
    truth = bk.estimate(table, itemsets).value
    studies = (reports_of(table, design, seed, gamma, channel) for seed in seeds)
    return [float(np.mean(np.abs(bk.estimate(each, itemsets).value - truth) / truth)) for each in studies]


@pytest.mark.slow
def test_large_questions_see_more_when_they_are_hashed() -> None:
    """Of five attributes together, 72 answers and 108, at gamma 4, where hashing is better from 15 on."""
    table, design = a_table(40_000), bk.Design.of_size(SIX, 5)
    errors = {word: np.mean(errors_of(table, design, word, range(3), 4.0)) for word in ("auto", "response")}
    assert errors["auto"] < 0.75 * errors["response"]
    plan = reports_of(table, design, gamma=4.0).plan
    assert set(plan.channel.sizes) == {72, 108}  # type: ignore[attr-defined]  # it is an AskChannel
    assert plan.mechanism == bk.Ask(design, 4.0, "hashing")


@pytest.mark.slow
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize(("size", "gamma", "third"), [(3, 8.14, 0.0), (4, 4.0, 0.0), (4, 19.0, 0.25)])
def test_intervals_of_hashed_answers_cover(order: int, size: int, gamma: float, third: float) -> None:
    """All itemsets that are truly frequent; of the answers alone, and through a law."""
    table = a_table(40_000, third=third)
    itemsets = [set(itemset) for itemset, _ in bk.mine(table, min_support=0.02)]
    truth = bk.estimate(table, itemsets).value
    short = [itemset for itemset in itemsets if len(itemset) <= size]
    held, alone = [], []
    for seed in range(20):
        reports = reports_of(table, bk.Design.of_size(SIX, size), seed, gamma, "hashing")
        low, high = bk.estimate(reports, itemsets, model=bk.LogLinear(order)).interval().T
        held.append(((low <= truth) & (truth <= high)).mean())
        low, high = bk.estimate(reports, short, model=None).interval().T
        exact = np.array([value for value, itemset in zip(truth, itemsets, strict=True) if len(itemset) <= size])
        alone.append(((low <= exact) & (exact <= high)).mean())
    assert np.mean(held) >= 0.93
    assert 0.93 <= np.mean(alone) <= 0.97


def test_what_answers_do_not_tell_is_left_out_and_named() -> None:
    """Merged answers say nothing of b, and a=1 and a=2 are never told apart: a law would tell what it assumes."""
    domain = bk.TableDomain([bk.Attribute("a", ["0", "1", "2"]), bk.Attribute("b", ["0", "1"])])
    table = bk.Table.from_codes(np.random.default_rng(1).integers(0, 2, (4000, 2)), domain)
    design = bk.Design([bk.Question(("a", "b"), (0, 0, 1, 1, 1, 1)), bk.Question(("a",), (0, 1, 1))])
    reports = reports_of(table, design)
    for item in ("b=0", "a=1"):
        with pytest.raises(bk.SingularChannelError, match=item):
            bk.estimate(reports, [{item}])
    assert {itemset for itemset, _ in bk.mine(reports, min_support=0.1)} == {frozenset({"a=0"})}


@pytest.mark.slow
@pytest.mark.parametrize(("apart", "gamma", "n"), [(0.3, 3, 1000), (0.3, 3, 3000), (0.4, 19, 1000)])
def test_intervals_of_a_tie_that_the_law_does_not_see_are_wide(apart: float, gamma: float, n: int) -> None:
    """Two attributes that depend on each other, too weakly for so few people: the law takes them for independent.

    Intervals hold 0.82 to 0.98 there, by what was measured; with errors of the fit alone they held 0.3 to 0.7.
    """
    domain = bk.TableDomain([bk.Attribute(name, ["0", "1"]) for name in "abcd"])
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, (n, 4))
    codes[:, 1] = codes[:, 0] ^ (rng.random(n) < apart)
    table = bk.Table.from_codes(codes, domain)
    itemsets = [{"a=0", "b=0"}, {"a=0", "b=1"}]
    truth = bk.estimate(table, itemsets).value
    covered = []
    for seed in range(60):
        low, high = bk.estimate(reports_of(table, bk.Design.pairs(domain), seed, gamma), itemsets).interval().T
        covered.append((low <= truth) & (truth <= high))
    assert np.mean(covered) >= 0.75
