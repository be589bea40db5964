"""Ask.baskets: one answer a person about a basket.  Laws, ratios, hashes and errors against enumeration."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest

import bosket as bk
from bosket.evidence import SampledEvidence
from bosket.evidence.sampled import KeysTold, Phase, SampledFamily
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions.answer_channels import response
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.hash_kernels import bucket_of, siphash
from bosket.mechanisms.questions.responses import LocalHashing, SubsetSelection
from bosket.mechanisms.questions.subset_kernels import subset_block
from tests.effort import effort_within
from tests.mechanisms.basket_laws import buckets_of, held_by, law, records, siphash13
from tests.stats import assert_plausible, assert_rejected, chi_square

ITEMS = bk.Domain(["a", "b", "c"])
PAIRS = (("a",), ("b",), ("a", "b"))
HASHED = bk.AskBaskets(epsilon=1.3, length=2, size=4)
TOLD = bk.AskBaskets(epsilon=1.3, length=2, by="response")
AMONG = bk.AskBaskets(epsilon=0.7, length=2, size=4, candidates=(*PAIRS, ("c",)))
AMONG_TOLD = bk.AskBaskets(epsilon=0.7, length=3, by="response", candidates=(*PAIRS, ("c",)))
CHOSEN = bk.AskBaskets(epsilon=1.3, length=2, by="subset", size=2)
AMONG_CHOSEN = bk.AskBaskets(epsilon=0.7, length=3, by="subset", size=3, candidates=(*PAIRS, ("c",)))
each = pytest.mark.parametrize("mechanism", [HASHED, TOLD, CHOSEN, AMONG, AMONG_TOLD, AMONG_CHOSEN], ids=str)

# -- the law ---------------------------------------------------------------------------------------------------------


@each
def test_the_ratio_between_any_two_baskets_is_e_to_the_epsilon(mechanism: bk.AskBaskets) -> None:
    """Of whole reports, seeds included, and of baskets that are cut; attained, and never exceeded."""
    channel = mechanism.channel(ITEMS)
    laws = [law(channel, record) for record in records()]
    worst = max(
        chance / other[report] for one in laws for other in laws for report, chance in one.items() if one is not other
    )
    assert worst == channel.response.exact_ratio
    assert float(worst) == pytest.approx(math.exp(mechanism.epsilon), rel=1e-9)
    card = mechanism.guarantee(ITEMS)
    assert math.log(worst) <= card.record.epsilon == card.item.epsilon == card.person.epsilon == mechanism.epsilon
    assert "so many are drawn first" in str(card.assumptions)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 3.0, 12.0, 40.0])
@pytest.mark.parametrize("length", [1, 2, 7, 40])
@pytest.mark.parametrize("channel", ["hashing", "response", "subset"])
def test_what_is_drawn_is_no_more_than_was_promised(channel: str, length: int, epsilon: float) -> None:
    told = response(channel, 100, length, epsilon)
    assert told.exact_ratio < Fraction(math.exp(epsilon)) * (1 + Fraction(1, 1 << 52))
    assert math.log(told.exact_ratio) <= epsilon
    assert told.threshold * (1 if channel == "subset" else length) < 1 << 53
    if 0.01 < epsilon < 20:  # beyond, p is too near 1/l for 53 bits
        assert math.log(told.exact_ratio) == pytest.approx(epsilon, rel=1e-9)


@each
def test_shares_are_unbiased_for_baskets_as_cut(mechanism: bk.AskBaskets) -> None:
    """A key that is held is shown with p, any other with q: exactly, over all functions and values."""
    channel = mechanism.channel(ITEMS)
    told = channel.response
    for record in records():
        keys = held_by(channel, record)
        found = law(channel, record)
        assert sum(found.values()) == 1
        for key in range(told.n_keys):
            shown = sum(chance for (function, told_of), chance in found.items() if function[key] in told_of)
            left = Fraction(min(told.length, len(keys)), len(keys)) if key in keys else Fraction(0)
            assert (shown - told.exact_q) / (told.exact_p - told.exact_q) == left


@each
def test_reports_follow_the_law(mechanism: bk.AskBaskets) -> None:
    """Every record, 200 000 reports; hash functions are read off the seeds.  A law with 0.02 moved is caught."""
    channel = mechanism.channel(ITEMS)
    told, n = channel.response, 200_000
    for at, record in enumerate([(0, 1, 2), (0, 1), (2,), ()]):
        baskets = bk.Baskets([[ITEMS.labels[item] for item in record]], items=ITEMS.labels).repeat(n)
        batch = mechanism.randomize(baskets, domain=ITEMS, rng=bk.Seeded(at)).batch
        found = law(channel, record)
        if isinstance(told, LocalHashing):
            shape = (told.n_values,) * (told.n_keys + 1)
            buckets = [buckets_of(batch["seed"], key, told.n_values) for key in range(told.n_keys)]
            code = np.ravel_multi_index((*buckets, batch["value"]), shape)
            order = [int(np.ravel_multi_index((*function, *value), shape)) for function, value in found]
        elif isinstance(told, SubsetSelection):
            code, order = batch["subset"][:, 0].astype(np.int64), [sum(1 << one for one in some) for _, some in found]
        else:
            code, order = batch["answer"], [value for _, (value,) in found]
        numbers = np.bincount(code, minlength=max(order) + 1)[order]
        chances = np.array([float(chance) for chance in found.values()])
        assert numbers.sum() == n
        assert_plausible(chi_square(numbers, chances))
        wrong = chances * 0.98
        wrong[0] += 0.02
        assert_rejected(chi_square(numbers, wrong))


# -- the hash functions ----------------------------------------------------------------------------------------------


def test_hashes_are_siphash() -> None:
    for seed in (0, 1, 2**63, 2**64 - 1, 0x0123456789ABCDEF):
        for number in (0, 1, 255, 2**31, 2**40 + 7):
            assert int(siphash(np.uint64(seed), number)) == siphash13(seed, 0, number.to_bytes(8, "little"))
    for key in (0, 1, 6, 1_000_003):
        (by_oracle,) = buckets_of(np.array([12345], np.uint64), key, 64)
        assert bucket_of(np.uint64(12345), key, 64) == by_oracle


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason="this Python hashes otherwise")
def test_hashes_are_those_of_python_under_its_key_of_zeros() -> None:
    code = "print([hash((5 * i).to_bytes(8, 'little')) % 2**64 for i in range(1, 9)])"
    said = subprocess.run([sys.executable, "-c", code], env={"PYTHONHASHSEED": "0"}, capture_output=True, check=True)
    assert json.loads(said.stdout) == [int(siphash(np.uint64(0), 5 * i)) for i in range(1, 9)]


@pytest.mark.parametrize("keys", [(0, 1, 2), (0, 3, 4), (5, 1000, 1_000_001)], ids=str)
def test_buckets_are_alike_and_independent_over_seeds(keys: tuple[int, ...]) -> None:
    """Three keys, of one hash or of several, in four buckets: 64 cells.  A cell of 0.01 more is caught."""
    seeds = bk.Seeded(7).stream().words(100_000)
    code = np.ravel_multi_index([buckets_of(seeds, key, 4) for key in keys], (4, 4, 4))
    numbers = np.bincount(code, minlength=64)
    assert_plausible(chi_square(numbers, np.full(64, 1 / 64)))
    wrong = np.full(64, 0.99 / 64)
    wrong[0] += 0.01
    assert_rejected(chi_square(numbers, wrong))


@pytest.mark.slow
def test_keys_are_counted_alike_in_ranges_and_one_by_one() -> None:
    domain = bk.Domain(range(37))
    mechanism = bk.AskBaskets(epsilon=3, length=4)
    baskets = bk.Baskets([[at % 37, at % 11] for at in range(4000)], items=domain.labels)
    reports = mechanism.randomize(baskets, domain=domain, rng=bk.Seeded(1))
    channel = reports.channel
    assert isinstance(channel, BasketChannel)
    every = channel.shown(reports.batch, np.arange(37)[:, None])
    few = np.concatenate([channel.shown(reports.batch, np.array([[key]])) for key in range(37)])
    slow = [
        int((buckets_of(reports.batch["seed"], key, mechanism.size or 0) == reports.batch["value"]).sum())
        for key in (0, 5, 36)
    ]
    assert every.tolist() == few.tolist()
    assert every[[0, 5, 36]].tolist() == slow
    tally = bk.Tally.of(bk.Reports.concat([reports, reports], allow_duplicates=True))
    assert channel.shown(tally.batch, np.arange(37)[:, None], tally.counts).tolist() == (2 * every).tolist()


# -- errors ----------------------------------------------------------------------------------------------------------


def moments(channel: BasketChannel, record: Sequence[int], one: int, other: int) -> tuple[float, float, float]:
    """E w_one, E w_other and E w_one w_other of two keys, over all reports of a record."""
    told = channel.response
    sums = np.zeros(3)
    for (function, told_of), chance in law(channel, record).items():
        w = [((function[key] in told_of) - told.q) / told.slope for key in (one, other)]
        sums += float(chance) * np.array([w[0], w[1], w[0] * w[1]])
    return float(sums[0]), float(sums[1]), float(sums[2])


class _TrueShares(SampledFamily):
    """With the shares of the people at hand, so that covariances are those of the formula at the truth."""

    truth: dict[int, float]

    def _share(self, mask: int) -> npt.NDArray[np.float64]:
        return np.array([self.truth[mask]])


WHOLE = bk.AskBaskets(epsilon=1.1, length=3, size=4, candidates=PAIRS)
WHOLE_TOLD = bk.AskBaskets(epsilon=1.1, length=3, by="response", candidates=PAIRS)
WHOLE_CHOSEN = bk.AskBaskets(epsilon=1.1, length=3, by="subset", size=2, candidates=PAIRS)
PEOPLE = [(0, 1), (0, 1, 2), (0,), (2,), (), (1, 2), (0, 1), (1,)]


def _family(phases_: list[Phase]) -> _TrueShares:
    family = _TrueShares(SampledEvidence(phases_), np.array([[0, 1]], np.int32))
    holders = {1: {0}, 2: {1}, 3: {0, 1}}
    family.truth = {mask: sum(held <= set(one) for one in PEOPLE) / len(PEOPLE) for mask, held in holders.items()}
    return family


def _phase(mechanism: bk.AskBaskets, n: int) -> Phase:
    channel = mechanism.channel(ITEMS)
    batch = Batch({column.name: column.room(n) for column in channel.payload.columns})
    return Phase(channel, KeysTold(channel, batch), n, cuts=False)


@pytest.mark.parametrize("mechanism", [WHOLE, WHOLE_TOLD, WHOLE_CHOSEN], ids=str)
def test_covariances_are_those_of_the_law(mechanism: bk.AskBaskets) -> None:
    """Of eight people, summed over theirs by enumeration: two items and their pair, all three by two."""
    channel = mechanism.channel(ITEMS)
    expected = np.zeros((3, 3))
    for record in PEOPLE:
        for i, j in product(range(3), repeat=2):
            one, other, both = moments(channel, record, i, j)
            expected[i, j] += both - one * other
    found = _family([_phase(mechanism, len(PEOPLE))]).covariance([1, 2, 3])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_phases_are_pooled_with_the_errors_of_all_who_may_be_in_each() -> None:
    """Every choice of the three people, of eight, who answer first, and all that anybody may answer.

    What choosing them adds has N - 1 in the place of N, as the variance of a draw without replacement has.
    """
    parts = [_phase(WHOLE, 3), _phase(WHOLE_TOLD, 5)]
    counts_for = np.array([part.information for part in parts])
    counts_for /= counts_for.sum()
    n = len(PEOPLE)
    coins, means = [], []
    each_one = [[moments(part.channel, record, 2, 2) for record in PEOPLE] for part in parts]
    for first in combinations(range(n), 3):
        mean = noise = 0.0
        for person in range(n):
            at = 0 if person in first else 1
            scale = n * counts_for[at] / parts[at].n_records
            expected, _, square = each_one[at][person]
            mean += scale * expected
            noise += scale**2 * (square - expected**2)
        means.append(mean)
        coins.append(noise)
    family = _family(parts)
    assert np.mean(means) == pytest.approx(n * family.truth[3])
    spread = float(np.mean(coins) + np.var(means) * (n - 1) / n)
    assert family.covariance([3])[0, 0, 0] == pytest.approx(spread, rel=1e-9)


@pytest.mark.slow
def test_stated_errors_are_the_spread_over_repetitions() -> None:
    rng = np.random.default_rng(5)
    domain = bk.Domain(range(30))
    held = rng.random((4000, 30)) < np.linspace(0.3, 0.02, 30)
    held[:, 1] |= held[:, 0] & (rng.random(4000) < 0.5)
    baskets = bk.Baskets([np.flatnonzero(row).tolist() for row in held], items=domain.labels)
    first = bk.Ask.baskets(domain, epsilon=3, length=30)
    some = first.randomize(baskets[:2500], domain=domain, rng=bk.Seeded(999))
    second = first.refine(some, top=10)
    itemsets = [{0}, {1}, {0, 1}]
    values, errors = [], []
    for seed in range(200):
        one = first.randomize(baskets[:2500], domain=domain, rng=bk.Seeded(2 * seed))
        other = second.randomize(baskets[2500:], domain=domain, rng=bk.Seeded(2 * seed + 1))
        found = bk.estimate(SampledEvidence.of(one, other), itemsets)
        values.append(found.value)
        errors.append(found.stderr)
    spread = np.array(values).std(axis=0, ddof=1)
    np.testing.assert_allclose(np.mean(errors, axis=0) / spread, 1, atol=0.3)  # six standard errors of a spread


def test_errors_of_pooled_phases_are_foreseen() -> None:
    """Those of the formula at every share of people who hold an item of both phases, or of the first alone."""
    first = bk.AskBaskets(epsilon=1.1, length=3, size=8)
    evidence = SampledEvidence([_phase(first, 3), _phase(WHOLE_CHOSEN, 5)])
    found = evidence.accuracy(1)
    assert found is not None
    every = []
    for item in range(3):
        family = _TrueShares(evidence, np.array([[item]], np.int32))
        variances = []
        for share in np.linspace(0, 1, 1001).tolist():
            family.truth = {1: share}
            variances.append(float(family.covariance([1])[0, 0, 0]) / 8)
        every.append(variances)
    assert found.least == pytest.approx(min(map(min, every)), rel=1e-9)
    assert found.most == pytest.approx(max(map(max, every)), rel=1e-5)
    assert found.full == pytest.approx(min(values[-1] for values in every), rel=1e-9)
    assert evidence.accuracy(3) is None
    pairs = evidence.accuracy(2)
    assert pairs is not None
    assert pairs.full > found.full


@pytest.mark.parametrize(
    "mechanism",
    [
        bk.AskBaskets(epsilon=5.0, length=1, by="response"),
        bk.AskBaskets(epsilon=5.0, length=2, by="subset", size=2),
        bk.AskBaskets(epsilon=5.0, length=2, by="subset", size=2, candidates=PAIRS),
        bk.AskBaskets(epsilon=5.0, length=2, size=4),
        HASHED,
        AMONG_CHOSEN,
    ],
    ids=str,
)
def test_errors_of_baskets_that_are_cut_are_foreseen(mechanism: bk.AskBaskets) -> None:
    """A basket that holds a key and may lose it brings more than one that has it or lacks it, where q < 1/2 < p."""
    channel = mechanism.channel(ITEMS)
    every = []
    for record in records():
        for key in range(channel.response.n_keys):
            mean, _, square = moments(channel, record, key, key)
            every.append(square - mean**2)
    found = channel.accuracy(1)
    assert found is not None
    assert min(every) == pytest.approx(found.least, rel=1e-9)
    assert max(every) <= found.most * (1 + 1e-9)
    assert found.most <= 1.15 * max(every)  # a bound: 1/4 in place of r (1 - r), r = q + (p - q) l / m
    if mechanism.candidates is None:
        whole = channel.accuracy(1, max_size=1)  # nobody is cut
        assert whole is not None
        ends = [one * (1 - one) / channel.response.slope**2 for one in (channel.response.q, channel.response.p)]
        assert whole.most == pytest.approx(max(ends), rel=1e-9)
    evidence = SampledEvidence([replace(_phase(mechanism, 8), cuts=channel.cuts(None))])
    among = evidence.accuracy(1)
    assert among is not None
    assert max(every) <= among.most * (1 + 1e-9)


@pytest.mark.parametrize(("by", "size"), [("subset", 1), ("hashing", 4), ("response", None)])
def test_reports_do_not_depend_on_where_random_words_are_cut(
    by: str, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One endless stream: a row at the end of a buffer would else be one that takes few words more often."""
    domain = bk.Domain(range(3))
    baskets = bk.Baskets([[0], [1, 2], []], items=domain.labels).repeat(4000)
    mechanism = bk.AskBaskets(epsilon=0.1, length=1, by=by, size=size)
    drawn = []
    for words in (1 << 16, 1 << 14, 1 << 12):
        monkeypatch.setattr("bosket.randomness.streams._BUFFER_WORDS", words)
        drawn.append(mechanism.randomize(baskets, domain=domain, rng=bk.Seeded(5)).batch)
    assert drawn[0] == drawn[1] == drawn[2]


def _words_for(mechanism: bk.AskBaskets, coin: int, *, draws_both: bool) -> tuple[int, int]:
    """How many words the subset of one record takes, and the subset, all words but the coin's being the same."""
    channel = mechanism.channel(ITEMS)
    told = channel.response
    assert isinstance(told, SubsetSelection)
    words = bk.Seeded(3).stream().words(500)
    words[0] = coin << 11  # nothing is cut, so that the coin comes first
    subset = np.zeros((1, 1), np.uint64)
    bits = bk.Baskets([["a"]], items=ITEMS.labels).to_bits()
    row, used = subset_block(
        bits, channel.sets, told.length, told.threshold, told.n_keys, told.chosen, draws_both, 0, words, subset
    )
    assert row == 1
    return used, int(subset[0, 0])


def test_a_person_s_subset_takes_as_long_whatever_the_coin_says() -> None:
    """The coin, with the report, tells whether this holds anything of the person's; in large batches it shows."""
    mechanism = bk.AskBaskets(epsilon=1.3, length=2, by="subset", size=3)
    (lasts, holds), (lasts_too, without) = (_words_for(mechanism, coin, draws_both=True) for coin in (0, (1 << 53) - 1))
    assert lasts == lasts_too
    assert holds & 0b01001  # item a, and the first dummy
    assert not without & 0b01001
    assert _words_for(mechanism, 0, draws_both=False)[0] != _words_for(mechanism, (1 << 53) - 1, draws_both=False)[0]


@pytest.mark.parametrize("mechanism", [CHOSEN, AMONG_CHOSEN], ids=str)
def test_subsets_of_a_few_people_follow_the_law(mechanism: bk.AskBaskets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bosket.mechanisms.questions.basket_channel._FEW", 10**9)
    test_reports_follow_the_law(mechanism)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "by"), [(5.0, "response"), (3.0, "response"), (3.0, "hashing")])
def test_stated_errors_bound_those_of_baskets_that_are_cut(epsilon: float, by: str) -> None:
    """Everybody holds four items of which two are kept: the shares of the expected cut, with intervals that hold."""
    people = bk.Baskets([[0, 1, 2, 3]] * 2000, items=range(6))
    mechanism = bk.AskBaskets(epsilon=epsilon, length=2, by=by, size=8 if by == "hashing" else None)
    runs = [
        bk.estimate(mechanism.randomize(people, domain=people.domain, rng=bk.Seeded(seed)), [{0}])
        for seed in range(200)
    ]
    values, errors = (np.array([getattr(run, name)[0] for run in runs]) for name in ("value", "stderr"))
    assert errors.mean() > 0.85 * values.std(ddof=1)  # five standard errors of a spread below it
    assert (np.abs(values - 0.5) < 1.96 * errors).mean() >= 0.9


def one_hash_value(number: int) -> list[tuple[int, int]]:
    """Pairs of whole numbers whose frozensets have one hash value, though the numbers have each their own."""
    inverse, mask = pow(3644798167, -1, 1 << 64), (1 << 64) - 1
    pairs: list[tuple[int, int]] = []
    one = 1
    while len(pairs) < number:
        one += 1
        mixed = (one ^ 89869747 ^ one << 16) * 3644798167 & mask  # what CPython adds up, modulo 2
        left = ((mixed ^ 0x123456789ABCDEF) * inverse & mask) ^ 89869747
        other = 0
        for shift in range(0, 64, 16):  # the number that is left, if it is xored with itself times 2^16
            other |= (left >> shift & 0xFFFF ^ (other >> shift - 16 & 0xFFFF if shift else 0)) << shift
        if 10**9 < other < 2**61 - 1:
            pairs.append((one, other))
    assert len({hash(frozenset(pair)) for pair in pairs}) == 1
    return pairs


@pytest.mark.slow
def test_candidates_that_were_chosen_to_be_told_apart_slowly() -> None:
    """65 536 of one hash value took two minutes: labels are refused, and itemsets compared by numbers of labels."""
    with effort_within(5):
        with pytest.raises(bk.DataError, match="64 labels have the same hash value"):
            bk.AskBaskets(epsilon=1, length=2, candidates=[[at * (2**61 - 1)] for at in range(2**16)])  # type: ignore[arg-type]
        pairs = one_hash_value(20_000)
        assert bk.AskBaskets(epsilon=1, length=2, candidates=tuple(pairs)).candidates == tuple(pairs)
    for wrong in ([*pairs[:3], pairs[0][::-1]], [(1, 1)], [(1, 2, 3, 4)], [()]):
        with pytest.raises(bk.ParameterError, match="different itemsets"):
            bk.AskBaskets(epsilon=1, length=2, candidates=wrong)  # type: ignore[arg-type]
