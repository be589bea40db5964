"""Errors that are foreseen, of every mechanism: against enumeration, a slow general oracle, and simulated studies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import bosket as bk
from bosket import planning
from bosket.mechanisms import ExchangeableChannel
from bosket.mechanisms.matrix import marginal_cells
from bosket.planning.laws import united_law
from bosket.planning.rule_errors import pattern_law, rule_covariance
from tests.contracts.cases import CASES, Case
from tests.contracts.test_accuracy import ASKING, share_variance
from tests.oracles import cut_and_paste_law
from tests.stats import assert_plausible, assert_rejected, binomial

ITEMS = bk.Domain(range(10))
TABLE = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abcd"])
KEPT = {m: [1 / (m + 1)] * (m + 1) for m in range(11)}


def flip_variance(keeps: Sequence[tuple[float, float]], f: float) -> float:
    """From the definition, over all truths and reports of these items, each there with probability f."""
    total = 0.0
    for truth, report in product(product((0, 1), repeat=len(keeps)), repeat=2):
        chance, weight = 1.0, 1.0
        for (keep, keep_absent), x, y in zip(keeps, truth, report, strict=True):
            shown = keep if x else 1 - keep_absent
            chance *= (f if x else 1 - f) * (shown if y else 1 - shown)
            weight *= (y - (1 - keep_absent)) / (keep + keep_absent - 1)
        total += chance * weight**2
    return total - f ** len(keeps)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize(("keep", "absent"), [(0.9, 0.9), (0.5, 0.95)])
def test_flip_is_the_enumeration(k: int, keep: float, absent: float) -> None:
    seen = planning.foresee(bk.Flip(keep=keep, keep_absent=absent), ITEMS, people=1000)
    for f in (0.1, 0.4, 1.0):
        expected = math.sqrt(flip_variance([(keep, absent)] * k, f) / 1000)
        assert seen.stderr(k, f**k) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_factor_for_each_item_is_the_mean_over_itemsets() -> None:
    keeps = {"a": 0.7, "b": 0.8, "c": 0.95}
    seen = planning.foresee(bk.Flip(keep=keeps), bk.Domain(keeps), people=1)
    pairs = [(0.7, 0.8), (0.7, 0.95), (0.8, 0.95)]
    expected = np.mean([flip_variance([(p, p) for p in pair], 0.3) for pair in pairs])
    assert seen.stderr(2, 0.09) ** 2 == pytest.approx(expected)
    erased = planning.foresee(bk.Flip(keep=keeps | {"a": 0.5}), bk.Domain(keeps), people=1)
    assert erased.stderr(2, 0.09) ** 2 == pytest.approx(flip_variance([(0.8, 0.8), (0.95, 0.95)], 0.3))
    assert erased.stderr(3, 0.1) == math.inf


@pytest.mark.parametrize("mechanism", [bk.GammaDiagonal(gamma=19), bk.Flip(keep=0.8), bk.CutAndPaste(3, 0.2)], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_tables_are_the_general_matrix(mechanism: bk.Mechanism, k: int) -> None:
    """FRAPP's inverse of the whole matrix over all records, where that is square; else it has more freedom, and less
    variance."""
    domain = bk.TableDomain([bk.Attribute(name, ["no", "yes"]) for name in "abc"])
    matrix = bk.Matrix.of(mechanism, domain)
    f = 0.3
    codes = np.array(list(product((0, 1), repeat=3)))
    law = np.where(codes == 1, f, 1 - f).prod(axis=1)  # value "yes" of each with probability f
    chosen = marginal_cells(domain, tuple(2 * at + 1 for at in range(k))).astype(float)
    expected = float(chosen @ matrix.variance(1000 * law) @ chosen) / 1000
    seen = planning.foresee(mechanism, domain, people=1000)
    found = seen.stderr(k, f**k) ** 2 * 1000
    if isinstance(mechanism, bk.GammaDiagonal):
        assert found == pytest.approx(expected)
    else:
        assert found >= expected * (1 - 1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_cut_and_paste_is_the_enumeration(k: int) -> None:
    """Over all reports of a record with l of the items, for each size; weights by solving for them."""
    cutoff, rho, n = 3, 0.25, 8
    seen = planning.foresee(bk.CutAndPaste(cutoff, rho), bk.Domain(range(n)), people=1, sizes={3: 0.25, 4: 0.75})
    expected = 0.0
    f = 0.4
    for m, share in ((3, 0.25), (4, 0.75)):
        laws = []
        for l in range(k + 1):
            record = frozenset([*range(l), *range(k, k + m - l)])
            shown = np.zeros(k + 1)
            for report, chance in cut_and_paste_law(record, n, cutoff, rho).items():
                shown[len(report & set(range(k)))] += chance
            laws.append(shown)
        weights = np.linalg.solve(np.array(laws), np.eye(k + 1)[k])
        for l, shown in enumerate(laws):
            chance = math.comb(k, l) * f**l * (1 - f) ** (k - l)
            expected += share * chance * float(shown @ weights**2 - (l == k))
    assert seen.stderr(k, f**k) == pytest.approx(math.sqrt(expected), rel=1e-9)


@pytest.mark.parametrize("case", [case for case in ASKING if not case.channel.hashed.any()], ids=str)  # type: ignore[attr-defined]
def test_questions_are_the_law_of_answers(case: Case) -> None:
    """The mean over attributes that are asked about together, of two values of each that are treated alike."""
    seen = planning.foresee(case.mechanism, case.domain, people=1)
    assert isinstance(case.domain, bk.TableDomain)
    firsts = case.domain.offsets.tolist()[: len(case.domain.attributes)]
    told = [(item,) for item in firsts]
    expected = np.mean([share_variance(case, one, 0.3) for one in told])
    assert seen.stderr(1, 0.3) ** 2 == pytest.approx(expected)


def test_unions_are_the_enumeration() -> None:
    truth = np.random.default_rng(1).dirichlet(np.ones(8))
    expected = np.zeros(8)
    for records in product(range(8), repeat=3):
        chance = math.prod(truth[one] for one in records)
        union = records[0] | records[1] | records[2]
        for report in range(8):
            if report & ~union == 0:
                kept, lost = report.bit_count(), (union & ~report).bit_count()
                expected[report] += chance * 0.6**kept * 0.4**lost
    np.testing.assert_allclose(united_law(truth, 3, 0.6), expected, atol=1e-15)


def half(domain: bk.Domain, n: int) -> bk.Baskets | bk.Table:
    """Records in which three items are there in all ways equally often: each pattern n / 8 times, four items in all."""
    patterns = list(product((0, 1), repeat=3))
    if isinstance(domain, bk.TableDomain):
        codes = np.array([[*pattern, 0] for pattern in patterns])
        return bk.Table.from_codes(np.repeat(codes, n // 8, axis=0), domain)
    baskets = [[*(at for at in range(3) if x[at]), *range(3, 7 - sum(x))] for x in patterns]
    return bk.Baskets([basket for basket in baskets for _ in range(n // 8)], items=domain.labels)


STUDIES = [
    (bk.Flip(keep=0.8), ITEMS, (1, 2, 3)),
    (bk.Flip(keep=0.5, keep_absent=0.9), ITEMS, (1, 2, 3)),
    (bk.SelectASize(KEPT, 0.1), ITEMS, (1, 2, 3)),
    (bk.CutAndPaste(cutoff=4, insert=0.1), ITEMS, (1, 2, 3)),
    (bk.Replace(probability=0.2), ITEMS, (1, 2, 3)),
    (bk.Mixing(others=1, keep=0.9), ITEMS, (1, 2, 3)),
    (bk.Flip(keep=0.8), TABLE, (1, 2, 3)),
    (bk.CutAndPaste(cutoff=4, insert=0.1), TABLE, (1, 2, 3)),
    (bk.GammaDiagonal(gamma=30), TABLE, (1, 2, 3)),
    (bk.Ask(bk.Design.triples(TABLE), gamma=30), TABLE, (1, 2, 3)),
    (bk.Ask(bk.Design.triples(TABLE), 30, "hashing"), TABLE, (1, 2, 3)),
    (bk.AskBaskets(epsilon=3.0, length=4, by="response"), ITEMS, (1,)),
    (bk.AskBaskets(epsilon=3.0, length=4, size=16), ITEMS, (1,)),
    (bk.AskBaskets(epsilon=3.0, length=4, candidates=((0,), (1,), (0, 1), (0, 1, 2))), ITEMS, (1, 2, 3)),
]
N_STUDIES, N_PEOPLE = 300, 4000


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "domain", "sizes"), STUDIES, ids=lambda one: str(one)[:40])
def test_foreseen_errors_come_out(mechanism: bk.Mechanism, domain: bk.Domain, sizes: tuple[int, ...]) -> None:
    """300 studies each: squared errors over the variance foreseen; 1e-9 false alarms, twice the variance is seen.

    A share f of 1/2 of all people has each item, independently, as foreseen errors assume.
    """
    data = half(domain, N_PEOPLE)
    seen = planning.foresee(mechanism, domain, people=N_PEOPLE, sizes={4: 1.0}, max_size=4 if domain is ITEMS else None)
    labels = [domain.labels[2 * at + 1] for at in range(3)] if domain is TABLE else [0, 1, 2]
    rng = bk.Seeded(15)
    values = []
    for _ in range(N_STUDIES):
        reports = mechanism.randomize(data, rng=rng, max_size=4 if mechanism.sends_sizes and domain is ITEMS else None)
        values.append(bk.estimate(reports, [labels[:k] for k in sizes], model=None).value)
    for at, k in enumerate(sizes):
        off = (np.array(values)[:, at] - 0.5**k) / seen.stderr(k, 0.5**k)
        squares = float((off**2).sum())

        def p_value(statistic: float) -> float:
            return float(2 * min(chi2.sf(statistic, N_STUDIES), chi2.cdf(statistic, N_STUDIES)))

        assert_plausible(p_value(squares))
        assert_rejected(p_value(2 * squares))


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3])
def test_foreseen_errors_of_a_factor_for_each_item_come_out(k: int) -> None:
    """300 studies: squared errors of all itemsets of a size, over the mean that is foreseen; within 6.1 standard errors
    of it (1e-9), by the spread of the studies; twice the variance is seen."""
    patterns = [[at for at in range(3) if pattern >> at & 1] for pattern in range(8)]
    data = bk.Baskets(patterns * (N_PEOPLE // 8), items=range(3))
    mechanism = bk.Flip(keep={0: 0.7, 1: 0.8, 2: 0.95})
    seen = planning.foresee(mechanism, data.domain, people=N_PEOPLE)
    itemsets, rng = list(combinations(range(3), k)), bk.Seeded(15)
    values = [bk.estimate(mechanism.randomize(data, rng=rng), itemsets).value for _ in range(N_STUDIES)]
    squares = ((np.array(values) - 0.5**k) ** 2).mean(axis=1) / seen.stderr(k, 0.5**k) ** 2
    error = float(squares.std(ddof=1)) / math.sqrt(N_STUDIES)
    assert abs(float(squares.mean()) - 1) < 6.1 * error
    assert abs(float(squares.mean()) - 2) > 6.1 * error


@pytest.mark.parametrize(
    ("mechanism", "domain"),
    [
        (bk.Flip(keep=0.85, keep_absent=0.9), ITEMS),
        (bk.CutAndPaste(cutoff=4, insert=0.15), ITEMS),
        (bk.GammaDiagonal(gamma=19), TABLE),
        (bk.Ask(bk.Design.triples(TABLE), gamma=19), TABLE),
        (bk.Mixing(others=1, keep=0.9), ITEMS),
    ],
    ids=str,
)
def test_a_rule_has_the_errors_of_its_supports(mechanism: bk.Mechanism, domain: bk.Domain) -> None:
    """The diagonal of a rule's covariance is the variances of supports, where all items are equally frequent."""
    f = 0.4
    channel = mechanism.channel(domain)
    found = rule_covariance(channel, 1, 1, support=f, confidence=f, sizes={4: 1.0})
    assert found is not None
    seen = planning.foresee(mechanism, domain, people=1_000_000, sizes={4: 1.0})
    for place, k in ((0, 2), (1, 1)):
        assert found[place, place] == pytest.approx(seen.stderr(k, f**k) ** 2 * 1_000_000, rel=1e-6)
    assert abs(found[0, 1]) <= math.sqrt(found[0, 0] * found[1, 1])


def test_pattern_laws_have_the_sides_that_they_are_made_of() -> None:
    law = pattern_law(2, 1, planning.independent(2, 1, 0.09, 0.4))
    assert law.sum() == pytest.approx(1)
    assert law[0b011] + law[0b111] == pytest.approx(0.09)
    assert law[0b111] == pytest.approx(0.036)


RULES = [
    (bk.Flip(keep=0.75), ITEMS),
    (bk.CutAndPaste(cutoff=4, insert=0.1), ITEMS),
    (bk.GammaDiagonal(gamma=10), TABLE),
    (bk.Ask(bk.Design.pairs(TABLE), gamma=6), TABLE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "domain"), RULES, ids=lambda one: str(one)[:40])
def test_the_chance_to_find_a_rule_comes_out(mechanism: bk.Mechanism, domain: bk.Domain) -> None:
    """Of 1000 studies of 800 people: within 0.05 of what is foreseen (4.4 standard errors from 0.07 at the worst), and
    no more than 1e-9 unlikely; half the people would be told apart where the chance is near neither end."""
    people, studies = 800, 1000
    data = half(domain, people)
    labels = [domain.labels[1], domain.labels[3]] if domain is TABLE else [0, 1]
    seen = planning.foresee(mechanism, domain, people=people, sizes={4: 1.0}, max_size=4 if domain is ITEMS else None)
    least, sure = 0.22, 0.42
    foreseen = seen.power(1, 1, support=0.5, confidence=0.5, min_support=least, min_confidence=sure)
    rng, found = bk.Seeded(4), 0
    for _ in range(studies):
        reports = mechanism.randomize(data, rng=rng, max_size=4 if mechanism.sends_sizes and domain is ITEMS else None)
        both, one = bk.estimate(reports, [labels, labels[:1]], model=None).value
        found += bool(both >= least and both >= sure * one)
    assert found / studies == pytest.approx(foreseen, abs=0.05)
    assert_plausible(binomial(found, studies, foreseen))
    assert_rejected(binomial(found, studies, foreseen / 2))


@given(
    keep=st.floats(0.55, 0.99), k=st.integers(1, 4), people=st.integers(100, 10**6), sigmas=st.floats(1, 6),
)  # fmt: skip
@settings(max_examples=40)
def test_the_lowest_support_is_so_many_errors_above_zero(keep: float, k: int, people: int, sigmas: float) -> None:
    seen = planning.foresee(bk.Flip(keep=keep), ITEMS, people=people)
    lowest = seen.lowest_support(k, sigmas=sigmas)
    if math.isinf(lowest):
        assert seen.stderr(k, 1.0) * sigmas >= 1
    else:
        assert sigmas * seen.stderr(k, lowest) == pytest.approx(lowest, rel=1e-6)
        assert planning.foresee(bk.Flip(keep=keep), ITEMS, people=4 * people).lowest_support(k, sigmas=sigmas) <= lowest


def test_the_deepest_size_is_the_last_that_is_seen() -> None:
    seen = planning.foresee(bk.Flip(keep=0.8), ITEMS, people=20_000)
    deepest = seen.deepest(0.05)
    assert 1 <= deepest < 10
    assert all(seen.lowest_support(k) <= 0.05 for k in range(1, deepest + 1))
    assert seen.lowest_support(deepest + 1) > 0.05
    assert planning.foresee(bk.Ask.baskets(ITEMS, epsilon=3), ITEMS, people=10**9).deepest(0.5) == 1


def test_people_for_an_error_have_it() -> None:
    seen = planning.foresee(bk.Ask(bk.Design.pairs(TABLE), gamma=8), TABLE, people=10)
    people = seen.people_for(2, 0.1, stderr=0.01)
    assert planning.foresee(seen.plan, people=int(people)).stderr(2, 0.1) <= 0.01
    assert planning.foresee(seen.plan, people=int(people) - 1).stderr(2, 0.1) > 0.01
    assert seen.people_for(3, 0.1, stderr=0.01) == math.inf


def test_baskets_that_are_cut_lose_some_of_their_support() -> None:
    mechanism = bk.AskBaskets(epsilon=2.0, length=2, by="response")
    seen = planning.foresee(mechanism, ITEMS, people=1000, sizes={1: 0.5, 4: 0.5})
    assert seen.bias(1, 0.1) == pytest.approx(0.1 * (1.5 / 2.5 - 1))  # E min(m, 2) / E m
    assert planning.foresee(mechanism, ITEMS, people=1000, sizes={2: 1.0}).bias(1, 0.1) == 0


@pytest.mark.parametrize("case", [one for one in CASES if not isinstance(one.mechanism, bk.Mixing)], ids=str)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_errors_lie_between_those_of_the_card(case: Case, k: int) -> None:
    """For every mechanism, those from outside and plans that cut records too, whatever the support is."""
    sizes = None if case.is_table else {2: 0.5, 3: 0.5} if case.unit is None else {1: 0.5, 4: 0.5}
    if sizes is not None and case.channel.record_sizes is not None:
        sizes = {size: share for size, share in sizes.items() if size in case.channel.record_sizes} or {1: 1.0}
    if isinstance(case.mechanism, bk.Replace):
        sizes = {1: 1.0}
    found = case.channel.accuracy(k, case.plan.unit.max_size)
    seen = planning.foresee(case.plan, people=100, sizes=sizes)
    if found is None or (sizes is not None and isinstance(case.channel, ExchangeableChannel) and max(sizes) < k):
        return
    low, high = found.stderr(100)
    able = sum(share for size, share in (sizes or {k: 1.0}).items() if size >= k)
    for support in (0.0, 0.1 * able, 0.6 * able):
        assert low * math.sqrt(able) * (1 - 1e-9) <= seen.stderr(k, support) <= high * (1 + 1e-9)


class TestLowestSupport:
    """The old door: any mechanism, by numbers of records of each size."""

    def test_flip_is_not_refused(self) -> None:
        found = planning.lowest_support(bk.Flip(keep=0.9), 2, records={3: 1000, 8: 20_000})
        assert found == pytest.approx(planning.foresee(bk.Flip(keep=0.9), ITEMS, people=21_000).lowest_support(2))
        assert planning.lowest_support(bk.Flip(keep=0.9), 4, records={3: 1000}) == math.inf
        assert planning.lowest_support(bk.Flip(keep=0.5), 1, records={3: 1000}) == math.inf

    def test_a_table_is_asked_for_where_it_is_needed(self) -> None:
        mechanism = bk.GammaDiagonal(gamma=19)
        with pytest.raises(bk.ParameterError) as refusal:
            planning.lowest_support(mechanism, 1, records={4: 21_000})
        assert refusal.value.parameter == "domain"
        assert "GammaDiagonal" in str(refusal.value)
        found = planning.lowest_support(mechanism, 1, records={4: 21_000}, domain=TABLE)
        assert found == pytest.approx(planning.foresee(mechanism, TABLE, people=21_000).lowest_support(1))

    @pytest.mark.parametrize(
        "case", [c for c in CASES if c.unit is None and "outside" not in type(c.mechanism).__module__]
    )
    def test_every_mechanism_of_the_package_has_an_answer(self, case: Case) -> None:
        size = case.domain.groups[-1] + 1 if case.domain.groups is not None else 1
        found = planning.lowest_support(case.mechanism, 1, records={int(size): 10**7}, domain=case.domain)
        assert 0 <= found < 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: planning.foresee(bk.Flip(keep=0.9), people=10),
        lambda: planning.foresee(bk.Flip(keep=0.9), ITEMS, people=0),
        lambda: planning.foresee(bk.CutAndPaste(3, 0.2), ITEMS, people=10, max_size=4).stderr(1, 0.1),
        lambda: planning.foresee(bk.Plan(ITEMS, bk.Flip(keep=0.9)), ITEMS, people=10),
        lambda: planning.foresee(bk.Flip(keep=0.9), ITEMS, people=10, sizes={}),
        lambda: planning.foresee(bk.Flip(keep=0.9), ITEMS, people=10, sizes=[1]),  # type: ignore[call-overload]
        lambda: planning.foresee(bk.Flip(keep=0.9), ITEMS, people=10).stderr(1, 1.5),
        lambda: planning.foresee(bk.Flip(keep=0.9), ITEMS, people=10).stderr(0, 0.5),
        lambda: planning.foresee(bk.Flip(keep=0.9), ITEMS, people=10).power(
            5, 5, support=0.1, confidence=0.5, min_support=0.1, min_confidence=0.5
        ),
        lambda: planning.geometric_sizes(0),
    ],
)
def test_wrong_arguments(wrong: object) -> None:
    with pytest.raises(bk.ParameterError):
        wrong()  # type: ignore[operator]
