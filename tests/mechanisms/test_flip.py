"""Flip: its channel, its weights, its variance and its privacy, by enumeration; RE's numbers and theorems."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bosket as bk
from bosket.mechanisms.base import RecordChannel
from bosket.mechanisms.flip import FlipChannel
from tests import oracles
from tests.oracles import Floats, outcomes

keeps = st.floats(0.0, 1.0)
factors = st.floats(0.5, 1.0, exclude_min=True)


def channel_of(p: Sequence[float], r: Sequence[float]) -> FlipChannel:
    items = [f"i{number}" for number in range(len(p))]
    absent = {item: 1 - number for item, number in zip(items, r, strict=True)}
    mechanism = bk.Flip(keep=dict(zip(items, p, strict=True)), keep_absent=absent)
    return mechanism.channel(bk.Domain(items))


def realised(channel: FlipChannel) -> tuple[list[float], list[float]]:
    return channel.present.tolist(), channel.absent.tolist()


@given(st.lists(st.tuples(keeps, keeps), min_size=1, max_size=4))
def test_transition_is_the_enumerated_channel(parameters: list[tuple[float, float]]) -> None:
    channel = channel_of(*zip(*parameters, strict=True))
    p, r = realised(channel)
    k = len(p)
    matrix = channel.transition(tuple(range(k)))
    for truth in itertools.product((0, 1), repeat=k):
        row = matrix[number(truth)]
        assert row.sum() == pytest.approx(1)
        for report, probability in outcomes(truth, p, r):
            assert row[number(report)] == pytest.approx(probability, abs=1e-12)


def number(pattern: Sequence[int]) -> int:
    return sum(bit << item for item, bit in enumerate(pattern))


@given(st.lists(st.tuples(keeps, keeps), min_size=1, max_size=4))
def test_weights_closed_form_is_the_generic_inverse_and_unbiased(parameters: list[tuple[float, float]]) -> None:
    assume(all(abs(p - r) > 0.2 for p, r in parameters))
    channel = channel_of(*zip(*parameters, strict=True))
    k = len(parameters)
    rows = np.arange(k, dtype=np.int32)[None, :]
    weights = channel.weights(rows)
    np.testing.assert_allclose(weights, RecordChannel.weights(channel, rows), rtol=1e-9, atol=1e-9)
    p, r = realised(channel)
    for truth in itertools.product((0, 1), repeat=k):
        mean = sum(probability * weights[0, number(report)] for report, probability in outcomes(truth, p, r))
        assert mean == pytest.approx(float(all(truth)), abs=1e-9)


@given(
    st.lists(st.tuples(keeps, keeps), min_size=1, max_size=3),
    st.data(),
)
def test_variance_is_the_enumerated_one(parameters: list[tuple[float, float]], data: st.DataObject) -> None:
    """Var of the estimate for given true cells, straight from the law of one record at a time."""
    assume(all(abs(p - r) > 0.2 for p, r in parameters))
    channel = channel_of(*zip(*parameters, strict=True))
    k = len(parameters)
    cells = data.draw(st.lists(st.integers(0, 1000), min_size=1 << k, max_size=1 << k))
    p, r = realised(channel)
    expected = 0.0
    for truth in itertools.product((0, 1), repeat=k):
        law = list(outcomes(truth, p, r))
        weight = {report: _weight(report, p, r) for report, _ in law}
        mean = sum(probability * weight[report] for report, probability in law)
        expected += cells[number(truth)] * sum(
            probability * (weight[report] - mean) ** 2 for report, probability in law
        )
    assert channel.variance(tuple(range(k)), cells) == pytest.approx(expected, rel=1e-8, abs=1e-6)


def _weight(report: Sequence[int], p: Sequence[float], r: Sequence[float]) -> float:
    return math.prod((bit - absent) / (present - absent) for bit, present, absent in zip(report, p, r, strict=True))


class TestPaper:
    """Xia, Yang, Chi, Muntz (2004)."""

    CELLS = (10000, 2668, 3463, 957, 3489, 887, 1285, 328)  # section 6.2, read as exclusive cells, X the lowest bit

    def test_variance_example_of_section_6_2(self) -> None:
        all_conservative = channel_of([0.7] * 3, [0.3] * 3)
        assert all_conservative.variance((0, 1, 2), self.CELLS) == pytest.approx(86_622.5, abs=0.05)
        two_raised = channel_of([0.7, 0.9, 0.9], [0.3, 0.1, 0.1])
        assert two_raised.variance((0, 1, 2), self.CELLS) == pytest.approx(5_382.2, abs=0.05)

    @pytest.mark.slow
    @given(st.lists(st.tuples(keeps, keeps), min_size=1, max_size=8), st.integers(0, 2**32 - 1), st.booleans())
    def test_recursion_matrix_inversion_and_weights_agree(
        self, parameters: list[tuple[float, float]], seed: int, symmetric: bool
    ) -> None:
        """Theorem 1, for MASK's p and for EMASK's p and q: three routes, equal to 1e-9 relative."""
        if symmetric:
            parameters = [(p, 1 - p) for p, _ in parameters]
        assume(all(abs(p - r) > 0.3 for p, r in parameters))
        channel = channel_of(*zip(*parameters, strict=True))
        p, r = realised(channel)
        k = len(p)
        cells = np.random.default_rng(seed).integers(0, 10_000, 1 << k)
        inverted = float(oracles.mask_estimate(cells, p, r)[-1])
        assume(abs(inverted) > 1e-2 * cells.sum() / 2**k)  # "relative" must mean something
        recursive = oracles.re_recursion(oracles.supports_from_cells(cells), p, r)
        closed = float(channel.weights(np.arange(k, dtype=np.int32)[None, :])[0] @ cells)
        assert recursive == pytest.approx(inverted, rel=1e-9)
        assert closed == pytest.approx(inverted, rel=1e-9)

    @given(
        st.lists(st.floats(0.55, 0.99), min_size=1, max_size=5),
        st.floats(0.0, 1.0),
        st.data(),
    )
    def test_raising_a_factor_never_raises_a_variance(
        self, factors: list[float], share: float, data: st.DataObject
    ) -> None:
        """Theorem 2: for any truth and any item, of the itemset's estimate and of every subset's."""
        k = len(factors)
        cells = np.array(data.draw(st.lists(st.integers(0, 10_000), min_size=1 << k, max_size=1 << k)))
        item = data.draw(st.integers(0, k - 1))
        raised = list(factors)
        raised[item] += share * (1 - raised[item])
        before = channel_of(factors, [1 - p for p in factors])
        after = channel_of(raised, [1 - p for p in raised])
        for size in range(1, k + 1):
            for itemset in itertools.combinations(range(k), size):
                truth = _marginal(cells, itemset)
                low, high = after.variance(itemset, truth), before.variance(itemset, truth)
                assert low <= high * (1 + 1e-9) + 1e-6

    def test_raising_one_factor_strictly_helps(self) -> None:
        """The property above is not vacuous: from 0.7 to 0.9 the variance falls by an order."""
        cells = self.CELLS
        variances = [channel_of([p, 0.8, 0.8], [1 - p, 0.2, 0.2]).variance((0, 1, 2), cells) for p in (0.7, 0.8, 0.9)]
        assert variances[0] > 2 * variances[1] > 2.5 * variances[2]


def _marginal(cells: npt_like, itemset: tuple[int, ...]) -> Floats:
    result = np.zeros(1 << len(itemset))
    for pattern, count in enumerate(cells):
        result[sum((pattern >> item & 1) << place for place, item in enumerate(itemset))] += count
    return result


npt_like = Sequence[int] | np.ndarray[tuple[int, ...], np.dtype[np.int64]]


class TestPrivacy:
    @given(st.lists(st.tuples(keeps, keeps), min_size=1, max_size=4), st.integers(1, 5))
    def test_record_guarantee_is_the_enumerated_worst_case(
        self, parameters: list[tuple[float, float]], max_size: int
    ) -> None:
        """Over all pairs of records of at most m items and all reports: claimed, and tight."""
        parameters = [(p, r) for p, r in parameters]
        channel = channel_of(*zip(*parameters, strict=True))
        p, r = realised(channel)
        k = len(p)
        truths = [t for t in itertools.product((0, 1), repeat=k) if sum(t) <= max_size]
        laws = {
            _items(truth): {_items(report): probability for report, probability in outcomes(truth, p, r)}
            for truth in truths
        }
        worst = oracles.amplification(list(laws), laws)
        items = [f"i{place}" for place in range(k)]
        mechanism = bk.Flip(
            keep=dict(zip(items, [a for a, _ in parameters], strict=True)),
            keep_absent=dict(zip(items, [1 - b for _, b in parameters], strict=True)),
        )
        claimed = mechanism.guarantee(items, max_size=max_size).record
        if math.isinf(worst):
            assert math.isinf(claimed.epsilon)
        else:
            assert claimed.epsilon == pytest.approx(math.log(worst), abs=1e-9)
        singles = {_items(t): {_items(y): q for y, q in outcomes(t, p, r)} for t in itertools.product((0, 1), repeat=k)}
        neighbours = max(
            oracles.amplification([s, s | {item}], singles) for s in singles for item in range(k) if item not in s
        )
        item = mechanism.guarantee(items).item
        assert item.gamma == pytest.approx(neighbours, rel=1e-9) or (math.isinf(neighbours) and math.isinf(item.gamma))

    def test_mask_at_nine_tenths(self) -> None:
        """Epsilon 2.2 for one item, 44 for two baskets that differ in twenty: both are on the card."""
        guarantee = bk.Flip(keep=0.9).guarantee(range(1000), max_size=10)
        assert guarantee.item.epsilon == pytest.approx(math.log(9))
        assert guarantee.item.gamma == pytest.approx(9)
        assert guarantee.record.epsilon == pytest.approx(20 * math.log(9))
        assert guarantee.epsilon == guarantee.record.epsilon
        card = guarantee.card()
        assert "2.198" in card
        assert "43.95" in card
        assert "one item" in card
        assert "at most 10" in card

    def test_without_a_size_every_item_may_differ(self) -> None:
        guarantee = bk.Flip(keep=0.9).guarantee(range(50))
        assert guarantee.record.epsilon == pytest.approx(50 * math.log(9))
        assert "any two records over 50 items" in guarantee.record.unit

    def test_reports_of_one_person_add_up(self) -> None:
        guarantee = bk.Flip(keep=0.9).guarantee(range(50), max_size=3, reports=4)
        assert guarantee.person.epsilon == pytest.approx(4 * guarantee.record.epsilon)
        assert "4 reports" in guarantee.person.unit

    def test_amplification_of_19_takes_5_percent_to_50(self) -> None:
        assert bk.Amplification(math.log(19), "x").posterior(0.05) == pytest.approx(0.5)
        assert bk.Amplification(math.inf, "x").posterior(0.05) == 1.0
        assert bk.Amplification(1.0, "x").posterior(0.0) == 0.0

    def test_a_kept_item_is_no_promise(self) -> None:
        guarantee = bk.Flip(keep={"a": 1.0}, default=0.5).guarantee(["a", "b"])
        assert math.isinf(guarantee.epsilon)
        assert "no guarantee" in str(guarantee)
        assert math.isfinite(bk.Flip(keep=0.5).guarantee(["a", "b"]).epsilon)
        assert bk.Flip(keep=0.5).guarantee(["a", "b"]).epsilon == 0

    def test_posterior_bound_holds_for_correlated_items(self) -> None:
        """Two items that always go together: the item line would promise too much, the record line holds."""
        p = 0.9
        prior = 0.05
        both = p * p * prior
        neither = (1 - p) * (1 - p) * (1 - prior)
        posterior = both / (both + neither)
        guarantee = bk.Flip(keep=p).guarantee(range(2))
        assert guarantee.item.posterior(prior) < posterior <= guarantee.posterior(prior) + 1e-12


def _items(pattern: Sequence[int]) -> frozenset[int]:
    return frozenset(item for item, bit in enumerate(pattern) if bit)


class TestParameters:
    def test_half_can_randomize_but_not_estimate(self) -> None:
        baskets = bk.Baskets([["a", "b"], ["a"]])
        reports = bk.Flip(keep={"a": 0.5}, default=0.9).randomize(baskets, rng=bk.Seeded(1))
        assert reports.n_records == 2
        with pytest.raises(bk.SingularChannelError) as caught:
            bk.mine(reports, min_support=0.1)
        assert caught.value.items == ("a",)
        with pytest.raises(bk.SingularChannelError):
            bk.estimate(reports, [{"a", "b"}])
        assert len(bk.estimate(reports, [{"b"}])) == 1, "an item with another keep can still be estimated"
        assert len(bk.estimate(bk.Flip(keep=0.5, keep_absent=0.9).randomize(baskets), [{"a"}])) == 1

    @pytest.mark.parametrize("keep", [1.3, -0.1, float("nan"), "0.9", True, None])
    def test_keep_outside_its_range(self, keep: object) -> None:
        for arguments in ({"keep": keep}, {"keep": {"a": keep}, "default": 0.9}):
            with pytest.raises(bk.ParameterError) as caught:
                bk.Flip(**arguments)  # type: ignore[arg-type]
            assert caught.value.parameter == "keep"

    def test_unknown_item(self) -> None:
        with pytest.raises(bk.ParameterError) as caught:
            bk.Flip(keep={"hiv": 0.7}, default=0.9).channel(bk.Domain(["flu"]))
        assert caught.value.value == "hiv"

    def test_mapping_must_be_complete_or_have_a_default(self) -> None:
        with pytest.raises(bk.ParameterError, match="default"):
            bk.Flip(keep={"a": 0.7}).channel(bk.Domain(["a", "b"]))
        with pytest.raises(bk.ParameterError, match="mapping"):
            bk.Flip(keep=0.7, default=0.9)

    def test_mixtures(self) -> None:
        channel = bk.Flip(keep={"a": 0.7}, default=0.9, keep_absent={"b": 0.6}).channel(bk.Domain(["a", "b"]))
        np.testing.assert_allclose(channel.present, [0.7, 0.9])
        np.testing.assert_allclose(channel.absent, [0.3, 0.4])

    def test_keep_one_is_the_identity(self) -> None:
        baskets = bk.Baskets([["a", "b"], [], ["c"]])
        reports = bk.Flip(keep=1.0).randomize(baskets)
        np.testing.assert_array_equal(reports.bits, baskets.to_bits())
        reports = bk.Flip(keep=0.0).randomize(baskets)
        np.testing.assert_array_equal(reports.bits, baskets.to_bits() ^ np.uint64(7))

    def test_value_semantics(self) -> None:
        one, other = bk.Flip(keep={"a": 0.7}, default=0.9), bk.Flip(keep={"a": 0.7}, default=0.9)
        assert one == other
        assert hash(one) == hash(other)
        assert one != bk.Flip(keep=0.9)
        with pytest.raises(TypeError):
            one.keep["a"] = 0.1  # type: ignore[index]


class TestLeastVariance:
    @given(st.lists(st.tuples(keeps, keeps), min_size=1, max_size=4))
    def test_closed_form_is_the_least_over_all_patterns(self, parameters: list[tuple[float, float]]) -> None:
        assume(all(abs(p - r) > 0.2 for p, r in parameters))
        channel = channel_of(*zip(*parameters, strict=True))
        rows = np.arange(len(parameters), dtype=np.int32)[None, :]
        least = channel.least_variances(rows)
        assert least == pytest.approx(RecordChannel.least_variances(channel, rows), rel=1e-9, abs=1e-9)
        assert least >= 0

    def test_an_unlucky_sample_is_not_taken_for_certainty(self) -> None:
        """Fifty reports that show neither item: the unbiased variance is negative, the standard error is not."""
        plan = bk.Plan(bk.Domain(["a", "b"]), bk.Flip(keep=0.9))
        found = bk.estimate(bk.Reports(plan, np.zeros((50, 1), np.uint64), randomness="secure"), [{"a", "b"}])
        assert found.variance[0] < 0
        assert found.stderr[0] == pytest.approx(
            math.sqrt(plan.channel.least_variances(np.array([[0, 1]], np.int32))[0] / 50)
        )
        assert found.stderr[0] > 0


class TestHonesty:
    def test_belief_counts_all_reports(self) -> None:
        """Five reports of one bit at keep 0.75, all saying yes: 5% becomes 92.7%, and the card says so."""
        guarantee = bk.Flip(keep=0.75).guarantee(["hiv"], reports=5)
        yes, no = 0.75**5 * 0.05, 0.25**5 * 0.95
        assert guarantee.posterior(0.05) == pytest.approx(yes / (yes + no))
        assert "92.75%" in guarantee.card()
        assert "all 5 reports" in guarantee.card()

    def test_a_domain_read_off_the_data_is_noted(self) -> None:
        observed = bk.Flip(keep=0.9).randomize(bk.Baskets([["a"], ["b"]]))
        assert "read off the data" in str(observed.guarantee)
        declared = bk.Flip(keep=0.9).randomize(bk.Baskets([["a"], ["b"]]), domain=["a", "b"])
        assert "read off the data" not in str(declared.guarantee)
        assert "read off the data" in str(bk.Plan.from_json(observed.plan.json).guarantee)

    def test_a_simulation_says_so_wherever_it_is_seen(self) -> None:
        reports = bk.Flip(keep=0.9).randomize(bk.Baskets([["a"]] * 100), rng=bk.Seeded(1))
        found = bk.mine(reports, min_support=0.5)
        estimates = bk.estimate(reports, [{"a"}])
        for text in (reports.guarantee.card(), repr(reports), repr(found), repr(estimates), estimates.randomness):
            assert "protects nobody" in str(text)
        secure = bk.Flip(keep=0.9).randomize(bk.Baskets([["a"]] * 100))
        assert "protects nobody" not in secure.guarantee.card() + repr(bk.mine(secure, min_support=0.5))

    @pytest.mark.parametrize("keep", [0.5001, 0.51, 0.9, 0.3, 1 / 3])
    def test_epsilon_is_never_below_the_truth(self, keep: float) -> None:
        """Against the exact ratio of the realised probabilities, in rational arithmetic and 50 digits."""
        channel = bk.Flip(keep=keep).channel(bk.Domain(["a"]))
        p, r = (Fraction(float(x[0])) for x in (channel.present, channel.absent))
        gamma = max(p / r, r / p, (1 - p) / (1 - r), (1 - r) / (1 - p))
        with localcontext() as context:
            context.prec = 50
            exact = (Decimal(gamma.numerator) / Decimal(gamma.denominator)).ln()
        for m, times in ((1, 1), (7, 14)):
            guarantee = bk.Flip(keep=keep).guarantee(range(20), max_size=m)
            assert Decimal(guarantee.item.epsilon) >= exact
            assert Decimal(guarantee.record.epsilon) >= exact * 2 * m
            assert guarantee.record.epsilon == pytest.approx(float(exact) * (2 if m == 1 else times), rel=1e-12)

    def test_numbers_on_the_card_are_rounded_up(self) -> None:
        assert "gamma 9:" in bk.Flip(keep=0.9).guarantee(["a"]).card()
        assert "gamma 3:" in bk.Flip(keep=0.75).guarantee(["a"]).card()
        assert "epsilon 2.198" in bk.Flip(keep=0.9).guarantee(["a"]).card()  # 2.1972...
        huge = bk.Flip(keep=0.9).guarantee(range(1000))
        assert "over 1e307" in huge.card()
        assert huge.to_json()["record"]["gamma"] == "over 1e307"  # type: ignore[index]

    def test_nearly_equal_probabilities_are_singular(self) -> None:
        """keep and 1 - keep_absent that differ by rounding alone."""
        reports = bk.Flip(keep=0.059, keep_absent=0.941).randomize(bk.Baskets([["a"]] * 100))
        with pytest.raises(bk.SingularChannelError):
            bk.estimate(reports, [{"a"}])

    def test_the_order_of_a_mapping_does_not_matter(self) -> None:
        one, other = bk.Flip(keep={"a": 0.7, "b": 0.8, 3: 0.9}), bk.Flip(keep={3: 0.9, "b": 0.8, "a": 0.7})
        domain = bk.Domain(["a", "b", 3])
        assert one == other
        assert bk.Plan(domain, one).digest == bk.Plan(domain, other).digest

    def test_plans_and_reports_can_be_pickled(self) -> None:
        reports = bk.Flip(keep={"a": 0.7}, default=0.9).randomize(bk.Baskets([["a"], ["b"]]))
        assert pickle.loads(pickle.dumps(reports)) == reports

    def test_what_estimates_rest_on_cannot_be_changed(self) -> None:
        channel = bk.Flip(keep=0.9).channel(bk.Domain(["a"]))
        for array in (channel.present, channel.absent):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0.5
