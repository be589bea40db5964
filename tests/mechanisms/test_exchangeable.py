"""Select-a-size, cut-and-paste and replacement against their definitions, every outcome enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bosket as bk
from bosket.mechanisms import ExchangeableChannel
from bosket.mechanisms.chosen import log_moment_of_shown
from bosket.mechanisms.select_channels import CutAndPasteChannel, SelectASizeChannel, kept_by_cut_and_paste
from bosket.privacy.sized import amplification as worst_ratio
from bosket.privacy.sized import exchange
from tests.oracles import Law, amplification, cut_and_paste_law, outcomes, replace_law, select_a_size_law
from tests.stats import assert_plausible, assert_rejected, chi_square

N = 5
RHO = {0: 0.25, 1: 0.125, 2: 0.3125, 3: 0.4375, 4: 0.5625, 5: 0.1875}
KEPT = {
    0: [1.0],
    1: [0.25, 0.75],
    2: [0.5, 0.125, 0.375],
    3: [0.125, 0.25, 0.375, 0.25],
    4: [0.25, 0.125, 0.125, 0.25, 0.25],
    5: [0.125, 0.125, 0.25, 0.25, 0.125, 0.125],
}
CUTOFF = {0: 3, 1: 3, 2: 5, 3: 7, 4: 4, 5: 5}
OPERATORS: list[tuple[bk.Mechanism, Callable[[frozenset[int]], Law]]] = [
    (bk.SelectASize(KEPT, RHO), lambda t: select_a_size_law(t, N, KEPT[len(t)], RHO[len(t)])),
    (bk.CutAndPaste(CUTOFF, RHO), lambda t: cut_and_paste_law(t, N, CUTOFF[len(t)], RHO[len(t)])),
    (bk.CutAndPaste(7, 0.375), lambda t: cut_and_paste_law(t, N, 7, 0.375)),
    (bk.Replace(0.375), lambda t: replace_law(t, N, 0.375)),
]
RECORDS = [frozenset(t) for size in range(N + 1) for t in itertools.combinations(range(N), size)]
ITEMSETS = [tuple(a) for size in range(1, N + 1) for a in itertools.combinations(range(N), size)]
operators = pytest.mark.parametrize(("mechanism", "law"), OPERATORS, ids=[str(m) for m, _ in OPERATORS])


def channel_of(mechanism: bk.Mechanism, n: int = N) -> ExchangeableChannel:
    channel = mechanism.channel(bk.Domain(range(n)))
    assert isinstance(channel, ExchangeableChannel)
    return channel


def pattern(items: frozenset[int], itemset: tuple[int, ...]) -> int:
    return sum(1 << place for place, item in enumerate(itemset) if item in items)


def taken(channel: ExchangeableChannel) -> list[frozenset[int]]:
    return [t for t in RECORDS if channel.takes(len(t))]


class TestChannel:
    @operators
    def test_transition_is_the_enumerated_channel(
        self, mechanism: bk.Mechanism, law: Callable[[frozenset[int]], Law]
    ) -> None:
        channel = channel_of(mechanism)
        for t in taken(channel):
            reports = law(t)
            assert math.fsum(reports.values()) == pytest.approx(1, abs=1e-12)
            for itemset in ITEMSETS:
                row = np.zeros(1 << len(itemset))
                for report, probability in reports.items():
                    row[pattern(report, itemset)] += probability
                stated = channel.transition(itemset, len(t))[pattern(t, itemset)]
                np.testing.assert_allclose(stated, row, atol=1e-14)

    @pytest.mark.slow
    @operators
    def test_partial_transition_is_the_enumerated_one(
        self, mechanism: bk.Mechanism, law: Callable[[frozenset[int]], Law]
    ) -> None:
        """p[l -> l'] of Definition 10, whichever record and itemset it is read off."""
        channel = channel_of(mechanism)
        for t in taken(channel):
            for itemset in ITEMSETS:
                k, l = len(itemset), len(t & set(itemset))
                row = np.zeros(k + 1)
                for report, probability in law(t).items():
                    row[len(report & set(itemset))] += probability
                np.testing.assert_allclose(channel.partial_transition(k, len(t))[:, l], row, atol=1e-14)

    @operators
    def test_weights_are_unbiased_for_every_record(
        self, mechanism: bk.Mechanism, law: Callable[[frozenset[int]], Law]
    ) -> None:
        """E[w | t] = [A in t], and its variance is the one stated, over all reports of all records."""
        channel = channel_of(mechanism)
        for t in taken(channel):
            reports = law(t)
            for itemset in ITEMSETS:
                if not channel.recovers(len(itemset), [len(t)]):
                    continue
                w = channel.weights(np.array([itemset], np.int32), len(t))[0]
                mean = math.fsum(p * w[pattern(report, itemset)] for report, p in reports.items())
                second = math.fsum(p * w[pattern(report, itemset)] ** 2 for report, p in reports.items())
                holds = float(t >= set(itemset))
                scale = 1 + float(np.abs(w).max())
                assert mean == pytest.approx(holds, abs=1e-12 * scale)
                stated = channel.record_variances(itemset, len(t))[pattern(t, itemset)]
                assert stated == pytest.approx(second - holds, abs=1e-11 * scale**2)

    def test_weights_are_the_product_form(self) -> None:
        """w = prod (x' - rho) / g_k with g_k = E prod (X - rho) over k items of the record."""
        for mechanism in (bk.SelectASize(KEPT, RHO), bk.CutAndPaste(7, RHO)):
            channel = channel_of(mechanism)
            assert isinstance(channel, SelectASizeChannel)
            for m, k in itertools.product(range(1, N + 1), range(1, N + 1)):
                if k <= m:
                    rho = RHO[m]
                    g = sum(
                        math.comb(k, q) * float(channel.only_shown(m, k, q)) * (1 - rho) ** q * (-rho) ** (k - q)
                        for q in range(k + 1)
                    )
                    expected = [(1 - rho) ** q * (-rho) ** (k - q) / g for q in range(k + 1)]
                    np.testing.assert_allclose(channel.partial_inverse(k, m)[k], expected, rtol=1e-9)

    @operators
    def test_inverse_is_the_inverse(self, mechanism: bk.Mechanism, law: object) -> None:
        """Also where the itemset is larger than the record: then a left inverse, on what the record can have."""
        channel = channel_of(mechanism)
        for m, k in itertools.product(range(N + 1), range(1, N + 1)):
            if channel.takes(m) and channel.recovers(k, [m]):
                q, p = channel.exact_partial_inverse(k, m), channel.exact_partial_transition(k, m)
                for i, j in itertools.product(range(min(k, m) + 1), channel.possible(k, m)):
                    assert sum(q[i][s] * p[s][j] for s in range(k + 1)) == (i == j)


class TestCutAndPaste:
    @pytest.mark.parametrize(("size", "cutoff"), list(itertools.product(range(1, 6), range(1, 8))))
    def test_kept_is_the_papers_formula_and_the_enumeration(self, size: int, cutoff: int) -> None:
        """Remark 4.2 as printed, and the number of true items in all outcomes of Definition 8."""
        rho = 0.3125
        printed = [
            sum(
                math.comb(size - i, j - i)
                * rho ** (j - i)
                * (1 - rho) ** (size - j)
                * (1 - size / (cutoff + 1) if i == size and i < cutoff else 1 / (cutoff + 1))
                for i in range(min(cutoff, j) + 1)
            )
            for j in range(size + 1)
        ]
        truth = frozenset(range(size))
        enumerated = np.zeros(size + 1)
        for report, probability in cut_and_paste_law(truth, 5, cutoff, rho).items():
            enumerated[len(report & truth)] += probability
        stated = bk.CutAndPaste(cutoff, rho).kept(size)
        np.testing.assert_allclose(stated, printed, atol=1e-15)
        np.testing.assert_allclose(stated, enumerated, atol=1e-14)
        assert sum(kept_by_cut_and_paste(size, cutoff, Fraction(rho))) == 1

    def test_it_is_a_select_a_size(self) -> None:
        same = bk.SelectASize({m: bk.CutAndPaste(4, 0.3).kept(m) for m in range(1, 7)}, 0.3)
        ours, theirs = channel_of(bk.CutAndPaste(4, 0.3), 9), channel_of(same, 9)
        for m, k in itertools.product(range(1, 7), range(1, 4)):
            np.testing.assert_allclose(ours.partial_transition(k, m), theirs.partial_transition(k, m), atol=1e-14)
            assert ours.amplification(m) == pytest.approx(theirs.amplification(m), rel=1e-12)  # type: ignore[attr-defined]


def eq_8(p: list[Decimal], rho: Decimal, m: int, k: int, l: int, shown: int) -> Decimal:
    """Statement 2 as printed, with Decimal numbers."""
    total = Decimal(0)
    for j in range(m + 1):
        for q in range(max(0, j + l - m, l + shown - k), min(j, l, shown) + 1):
            ways = Decimal(math.comb(l, q) * math.comb(m - l, j - q)) / Decimal(math.comb(m, j))
            total += p[j] * ways * math.comb(k - l, shown - q) * rho ** (shown - q) * (1 - rho) ** (k - l - shown + q)
    return total


@pytest.mark.parametrize(("m", "k"), [(12, 5), (60, 4), (60, 10)])
def test_large_records_lose_no_digits(m: int, k: int) -> None:
    """Eq. (8) to 60 digits against the doubles; the inverse against that matrix, whose condition number is 1e14.

    The inverse of the *rounded* P has lost ten digits at m = 60, k = 10.
    """
    rho = 0.4375
    mechanism = bk.CutAndPaste(12, rho)
    channel = channel_of(mechanism, 1000)
    with localcontext() as context:
        context.prec = 60
        kept = [Decimal(p.numerator) / Decimal(p.denominator) for p in kept_by_cut_and_paste(m, 12, Fraction(rho))]
        exact = [[eq_8(kept, Decimal(rho), m, k, l, shown) for l in range(k + 1)] for shown in range(k + 1)]
        ours = channel.partial_transition(k, m)
        for shown, l in itertools.product(range(k + 1), repeat=2):
            assert ours[shown, l] == pytest.approx(float(exact[shown][l]), rel=1e-15)
        inverse = channel.exact_partial_inverse(k, m)
        for i, j in itertools.product(range(k + 1), repeat=2):
            product = sum(
                (
                    Decimal(inverse[i][s].numerator) / Decimal(inverse[i][s].denominator) * exact[s][j]
                    for s in range(k + 1)
                ),
                Decimal(0),
            )
            assert abs(product - (i == j)) < Decimal(10) ** -30
    if k == 10:
        assert channel.condition(k, m) > 1e12
        naive = np.linalg.inv(ours)
        assert not np.allclose(naive, channel.partial_inverse(k, m), rtol=1e-6)


class TestSingular:
    def test_a_cutoff_below_the_itemset_is_named(self) -> None:
        channel = channel_of(bk.CutAndPaste({3: 3, 6: 4, 8: 2}, {3: 0.2, 6: 0.2, 8: 0.2}), 20)
        assert channel.recovers(9, [3])  # records of three items hold no larger itemset, which is exact
        assert channel.recovers(4, [3, 6])
        assert not channel.recovers(5, [3, 6])
        assert channel.recovers(2, [3, 6, 8])
        assert not channel.recovers(3, [3, 6, 8])
        rows = np.array([[0, 1, 2]], np.int32)
        assert np.isfinite(channel.weights(rows, 6)).all()
        with pytest.raises(bk.SingularChannelError, match="records of 8 items") as caught:
            channel.weights(rows, 8)
        assert caught.value.record_size == 8
        assert channel.condition(3, 8) == math.inf
        assert channel.condition(2, 8) < math.inf

    def test_mining_stops_where_nothing_can_be_recovered(self) -> None:
        baskets = bk.Baskets([range(6)] * 3000, items=range(12))
        reports = bk.CutAndPaste(cutoff=2, insert=0.2).randomize(baskets, rng=bk.Seeded(3))
        found = bk.mine(reports, min_support=0.5)
        assert max(found.sizes) == 2
        assert "more than 2 items" in found.about["stopped"]
        with pytest.raises(bk.SingularChannelError):
            bk.estimate(reports, [{0, 1, 2}])

    @pytest.mark.parametrize("rho", [0.3, 0.1, 0.7])
    def test_items_kept_like_false_ones_leave_no_trace(self, rho: float) -> None:
        """p_m binomial at rho: reports are all noise, up to the rounding of what was asked to doubles."""
        m = 4
        law = [math.comb(m, j) * rho**j * (1 - rho) ** (m - j) for j in range(m + 1)]
        channel = channel_of(bk.SelectASize({m: law}, rho), 12)
        with pytest.raises(bk.SingularChannelError):
            channel.weights(np.array([[0]], np.int32), m)
        assert not channel.recovers(1, [m])

    def test_replacing_can_erase(self) -> None:
        """An item stays as often as a false one comes where 1 - p = m p / (n - m): p = (n - m) / n."""
        channel = channel_of(bk.Replace(0.7), 10)
        with pytest.raises(bk.SingularChannelError):
            channel.weights(np.array([[0]], np.int32), 3)
        assert np.isfinite(channel.weights(np.array([[0]], np.int32), 2)).all()

    def test_larger_itemsets_than_records_have_no_support(self) -> None:
        channel = channel_of(bk.CutAndPaste(7, 0.3), 10)
        assert (channel.weights(np.array([[0, 1, 2]], np.int32), 2) == 0).all()
        assert (channel.least_variances(np.array([[0, 1, 2]], np.int32), 2) == 0).all()


class TestPrivacy:
    @operators
    def test_guarantee_is_the_enumerated_worst_case(
        self, mechanism: bk.Mechanism, law: Callable[[frozenset[int]], Law]
    ) -> None:
        channel = channel_of(mechanism)
        records, items = [], []
        for m in range(N + 1):
            if not channel.takes(m):
                continue
            alike = [t for t in RECORDS if len(t) == m]
            laws = {t: law(t) for t in alike}
            worst = amplification(alike, laws)
            near = max(
                (amplification([s, t], laws) for s, t in itertools.combinations(alike, 2) if len(s & t) == m - 1),
                default=1.0,
            )
            item, record = channel.amplification(m)  # type: ignore[attr-defined]
            assert math.exp(record) == pytest.approx(worst, rel=1e-9)
            assert math.exp(item) == pytest.approx(near, rel=1e-9)
            assert record >= math.log(worst) - 1e-15
            assert item >= math.log(near) - 1e-15
            records.append(worst)
            items.append(near)
        guarantee = mechanism.guarantee(range(N))
        assert guarantee.record.gamma == pytest.approx(max(records), rel=1e-9)
        assert guarantee.item.gamma == pytest.approx(max(items), rel=1e-9)

    def test_frapps_comparison(self) -> None:
        """Agrawal and Haritsa set K = 3 and 0.494 for gamma 19, six items out of 23: it is 15.4, and 0.4514 will do."""
        assert bk.CutAndPaste({6: 3}, {6: 0.494}).guarantee(range(23)).gamma == pytest.approx(15.417, abs=1e-3)
        assert bk.CutAndPaste({6: 3}, {6: 0.4514}).guarantee(range(23)).gamma == pytest.approx(18.995, abs=1e-3)

    @given(st.integers(1, 5), st.floats(0.01, 0.99), st.integers(1, 14), st.one_of(st.none(), st.integers(1, 14)))
    def test_sizes_beyond_the_cutoff_are_no_worse(self, cutoff: int, rho: float, n: int, most: int | None) -> None:
        """The guarantee for undeclared sizes looks at few of them; here at all."""
        mechanism = bk.CutAndPaste(cutoff, rho)
        channel = channel_of(mechanism, n)
        assert isinstance(channel, CutAndPasteChannel)
        all_sizes = [channel.amplification(m) for m in range(min(n, most or n) + 1)]
        guarantee = mechanism.guarantee(range(n), max_size=most)
        assert guarantee.item.epsilon == pytest.approx(max(item for item, _ in all_sizes), rel=1e-9, abs=1e-12)
        assert guarantee.record.epsilon == pytest.approx(max(record for _, record in all_sizes), rel=1e-9, abs=1e-12)

    def test_an_operator_that_adds_nothing_promises_nothing(self) -> None:
        assert bk.CutAndPaste(3, 0.0).guarantee(range(9)).epsilon == math.inf
        assert bk.CutAndPaste(3, 1.0).guarantee(range(9)).epsilon == 0  # every report shows everything
        assert bk.SelectASize({2: [0.5, 0.0, 0.5]}, 0.3).guarantee(range(9)).epsilon == math.inf
        assert bk.SelectASize({2: [1.0, 0.0, 0.0]}, 0.0).guarantee(range(9)).epsilon == 0
        assert bk.SelectASize({2: [0.5, 0.25, 0.25]}, 1.0).guarantee(range(9)).epsilon == math.inf
        assert bk.Replace(0.0).guarantee(range(9)).epsilon == math.inf
        assert bk.Replace(1.0).guarantee(range(9)).epsilon == math.inf

    def test_spans(self) -> None:
        """Two records of m out of n items have 2 m - n in common: overlaps with a report differ by n - m at most."""
        assert worst_ratio([0.0, 1.0, 3.0], 4) == pytest.approx(3.0)
        assert worst_ratio([0.0, 1.0, 3.0], 3) == pytest.approx(2.0)
        assert worst_ratio([0.0, 1.0, 3.0], 2) == 0
        assert worst_ratio([0.0, -math.inf], 2) == math.inf
        assert worst_ratio([-math.inf, -math.inf], 2) == 0
        assert worst_ratio([0.0, 1.0, -math.inf, -math.inf], 4) == math.inf
        assert worst_ratio([1.0, -math.inf, -math.inf], 3) == math.inf
        assert worst_ratio([-math.inf, -math.inf, 1.0, 2.0], 3) == 0
        assert exchange([0.0, 1.0, 3.0]) == pytest.approx(2.0)

    def test_the_size_is_said_to_be_in_the_clear(self) -> None:
        card = bk.CutAndPaste(7, 0.35).guarantee(range(100), max_size=10).card()
        assert "in the clear: the number of items in the record" in card
        assert "records of the same size" in card


class TestParameters:
    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: bk.SelectASize({2: [0.5, 0.5]}, 0.1),
            lambda: bk.SelectASize({2: [0.5, 0.4, 0.0]}, 0.1),
            lambda: bk.SelectASize({2: [1.5, -0.5, 0.0]}, 0.1),
            lambda: bk.SelectASize({}, 0.1),
            lambda: bk.SelectASize([0.5, 0.5], 0.1),  # type: ignore[arg-type]
            lambda: bk.SelectASize({2: 0.5}, 0.1),  # type: ignore[dict-item]
            lambda: bk.SelectASize({1: [0.5, 0.5]}, {2: 0.1}),
            lambda: bk.CutAndPaste(0, 0.1),
            lambda: bk.CutAndPaste(2.5, 0.1),  # type: ignore[arg-type]
            lambda: bk.CutAndPaste(3, 1.1),
            lambda: bk.CutAndPaste(3, {}),
            lambda: bk.CutAndPaste({1: 3}, {2: 0.1}),
            lambda: bk.CutAndPaste({-1: 3}, 0.1),
            lambda: bk.Replace(1.2),
            lambda: bk.Mixing(0, 0.5),
            lambda: bk.Mixing(2, -0.5),
        ],
    )
    def test_wrong_parameters_are_refused(self, wrong: Callable[[], object]) -> None:
        with pytest.raises(bk.ParameterError):
            wrong()

    def test_order_of_sizes_does_not_matter(self) -> None:
        one = bk.CutAndPaste(7, {1: 0.1, 2: 0.2})
        two = bk.CutAndPaste(7, {2: 0.2, 1: 0.1})
        assert one == two
        assert bk.Plan(["a", "b"], one).digest == bk.Plan(["a", "b"], two).digest  # type: ignore[arg-type]

    def test_undeclared_sizes_are_refused_without_showing_the_record(self) -> None:
        mechanism = bk.CutAndPaste(3, {1: 0.1, 3: 0.2})
        with pytest.raises(bk.DataError, match="Record 2 has 2 items") as caught:
            mechanism.randomize(bk.Baskets([["secret"], ["secret", "b"]], items=["secret", "b", "c", "d"]))
        assert "secret" not in str(caught.value)


class TestRealised:
    @given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
    def test_kept_is_drawn_with_the_stated_fractions(self, weights: list[float]) -> None:
        assume(sum(weights) > 1e-3)
        law = [w / math.fsum(weights) for w in weights]
        m = len(law) - 1
        channel = bk.SelectASize({m: law}, 0.25).channel(bk.Domain(range(2 * m)))
        realised = channel.realised[m]  # type: ignore[attr-defined]
        assert sum(realised) == 1
        assert all(p >= 0 for p in realised)
        np.testing.assert_allclose([float(p) for p in realised], law, atol=2**-52)

    def test_what_rounds_to_nothing_counts_as_nothing(self) -> None:
        """Guarantee and channel are those of the probabilities drawn, not of those asked for."""
        assert bk.CutAndPaste(3, 1e-20).guarantee(range(9)).epsilon == math.inf
        assert bk.SelectASize({2: [1e-20, 0.5, 0.5]}, 0.3).guarantee(range(9)).epsilon == math.inf
        channel = channel_of(bk.CutAndPaste(3, 0.1), 9)
        assert channel.rho(2) == Fraction(round(0.1 * 2**53), 2**53)  # type: ignore[attr-defined]
        assert channel.transition((0,), 0)[0, 1] == float(Fraction(round(0.1 * 2**53), 2**53))

    @pytest.mark.parametrize(
        ("mechanism", "law"),
        [
            (bk.Replace(0.375), lambda t: replace_law(t, 6, 0.375)),
            (bk.CutAndPaste(2, 0.25), lambda t: cut_and_paste_law(t, 6, 2, 0.25)),
            (bk.SelectASize({3: KEPT[3]}, 0.25), lambda t: select_a_size_law(t, 6, KEPT[3], 0.25)),
        ],
        ids=["replace", "cut and paste", "select a size"],
    )
    def test_larger_records_follow_their_law(
        self, mechanism: bk.Mechanism, law: Callable[[frozenset[int]], Law]
    ) -> None:
        """A record of three of six items, 600 000 reports: items must be lost and found jointly as stated."""
        truth = frozenset({0, 2, 5})
        n = 600_000
        reports = mechanism.randomize(bk.Baskets([truth], items=range(6)).repeat(n), rng=bk.Seeded(11))
        seen = np.bincount(reports.bits[:, 0].astype(np.int64), minlength=64)
        expected = np.zeros(64)
        for report, probability in law(truth).items():
            expected[sum(1 << item for item in report)] += probability
        possible = expected > 0
        assert seen[~possible].sum() == 0
        assert_plausible(chi_square(seen[possible], expected[possible]))
        wrong = expected[possible].copy()
        order = np.argsort(wrong)
        wrong[order[-1]] -= 0.01
        wrong[order[0]] += 0.01
        assert_rejected(chi_square(seen[possible], wrong))


class TestSampledDown:
    """Guarantees where longer records are sampled down first, by enumerating samples and reports."""

    @staticmethod
    def sampled(truth: frozenset[int], limit: int, law: Callable[[frozenset[int]], Law]) -> Law:
        samples = list(itertools.combinations(sorted(truth), min(limit, len(truth))))
        result: Law = {}
        for sample in samples:
            for report, probability in law(frozenset(sample)).items():
                result[report] = result.get(report, 0.0) + probability / len(samples)
        return result

    @pytest.mark.parametrize(("n", "limit"), [(2, 1), (4, 2), (5, 3)])
    def test_flip(self, n: int, limit: int) -> None:
        """One item more or less becomes one exchanged: the item line must allow for it."""

        def law(t: frozenset[int]) -> Law:
            truth = tuple(int(item in t) for item in range(n))
            return {
                frozenset(i for i, bit in enumerate(report) if bit): p
                for report, p in outcomes(truth, [0.875] * n, [0.125] * n)
            }

        records = [frozenset(t) for size in range(n + 1) for t in itertools.combinations(range(n), size)]
        laws = {t: self.sampled(t, limit, law) for t in records}
        item = max(amplification([s, t], laws) for s, t in itertools.combinations(records, 2) if len(s ^ t) == 1)
        worst = amplification(records, laws)
        unit = bk.PrivacyUnit(max_size=limit, longer="sample")
        guarantee = bk.Plan(bk.Domain(range(n)), bk.Flip(keep=0.875), unit).guarantee
        assert guarantee.item.gamma >= item * (1 - 1e-9)
        assert guarantee.record.gamma >= worst * (1 - 1e-9)
        assert item > 7.5  # more than the one item's 7 that Flip alone promises
        assert "refused" not in guarantee.card()
        assert "drawn first" in guarantee.card()

    def test_cut_and_paste(self) -> None:
        limit = 2

        def law(t: frozenset[int]) -> Law:
            return cut_and_paste_law(t, 5, 3, 0.25)

        records = [frozenset(t) for size in (2, 3, 4) for t in itertools.combinations(range(5), size)]
        laws = {t: self.sampled(t, limit, law) for t in records}
        unit = bk.PrivacyUnit(max_size=limit, longer="sample")
        guarantee = bk.Plan(bk.Domain(range(5)), bk.CutAndPaste(3, 0.25), unit).guarantee
        exchanged = [
            amplification([s, t], laws)
            for s, t in itertools.combinations(records, 2)
            if len(s) == len(t) and len(s & t) == len(s) - 1
        ]
        assert guarantee.item.gamma >= max(exchanged) * (1 - 1e-9)
        assert guarantee.record.gamma >= amplification(records, laws) * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "cutoff", "rho"), [(900, 1000, 0.4), (25, 30, 2.0**-53), (702, 702, 0.35)])
def test_huge_amplifications_are_exact(size: int, cutoff: int, rho: float) -> None:
    """phi(m) / phi(0) of cut-and-paste is a sum of powers of 1 / rho: here far beyond what a double holds."""
    exact = [Fraction(1, cutoff + 1)] * min(size, cutoff + 1)
    if size <= cutoff:
        exact = [Fraction(1, cutoff + 1)] * size + [1 - Fraction(size, cutoff + 1)]
    realised = Fraction(round(rho * 2**53), 2**53)
    ratio = sum((chance / realised**i for i, chance in enumerate(exact)), Fraction(0)) * (cutoff + 1)
    expected = math.log(ratio.numerator) - math.log(ratio.denominator)
    record = bk.CutAndPaste({size: cutoff}, {size: rho}).guarantee(range(3 * size)).record
    assert record.epsilon == pytest.approx(expected, rel=1e-9)
    assert record.epsilon >= expected


@operators
def test_closed_forms_are_those_of_the_whole_inverse(
    mechanism: bk.Mechanism, law: Callable[[frozenset[int]], Law]
) -> None:
    """Exact fractions both, and so the same to the last bit."""
    channel = channel_of(mechanism)
    for size, k in itertools.product(range(1, N + 1), range(1, 4)):
        if k <= size and channel.takes(size) and channel.recovers(k, [size]):
            for quick, whole in zip(channel._weigh(k, size), ExchangeableChannel._weigh(channel, k, size), strict=True):
                assert quick.tolist() == whole.tolist()


@pytest.mark.parametrize(("size", "cutoff"), [(0, 3), (1, 0), (3, 3), (4, 3), (9, 3), (5, 20), (60, 59), (60, 60)])
@pytest.mark.parametrize("rho", [0.0, 1e-9, 0.3, 0.999, 1.0])
@pytest.mark.parametrize("tilt", [-32.0, -0.7, -1e-3, 1e-3, 0.7, 32.0])
def test_moments_of_what_is_chosen_first_are_those_of_the_sum(size: int, cutoff: int, rho: float, tilt: float) -> None:
    """Of E exp(tilt T), term by term: j items are chosen first, and each other one comes back with probability rho."""
    with localcontext() as context:
        context.prec = 50
        rise = Decimal(tilt).exp()
        back = 1 - Decimal(rho) + Decimal(rho) * rise
        terms = [rise ** min(j, size) * back ** (size - min(j, size)) for j in range(cutoff + 1)]
        expected = float((sum(terms, Decimal(0)) / (cutoff + 1)).ln())
    assert log_moment_of_shown(size, cutoff, rho, tilt) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_they_take_no_time_for_long_records() -> None:
    """Not an array of a cutoff of ten milliards."""
    assert math.isfinite(log_moment_of_shown(10**10, 10**10, 0.3, 1e-3))
