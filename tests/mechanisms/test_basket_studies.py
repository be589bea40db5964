"""Studies of baskets: numbers of people and keys, two phases, what they find, and what is refused."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.evidence import SampledEvidence, evidence_of
from bosket.mechanisms.payload import Batch
from bosket.mechanisms.questions import phases
from bosket.mechanisms.questions.answer_channels import best_buckets, best_response, response
from bosket.mechanisms.questions.basket_channel import BasketChannel
from bosket.mechanisms.questions.responses import SubsetSelection
from tests.files import benchmark_file

ITEMS = bk.Domain(["a", "b", "c"])
HASHED = bk.AskBaskets(epsilon=1.3, length=2, size=4)
CHOSEN = bk.AskBaskets(epsilon=1.3, length=2, by="subset", size=2)

# -- numbers of a study ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 5.0])
@pytest.mark.parametrize("length", [1, 2, 5, 16])
def test_buckets_and_channels_have_the_least_variance(length: int, epsilon: float) -> None:
    g = best_buckets(epsilon, length)
    variances = {
        buckets: response("hashing", 10_000, length, epsilon, buckets).variance
        for buckets in (g // 2, g, 2 * g)
        if buckets > length
    }
    assert min(variances, key=variances.__getitem__) == g
    if length == 1:  # Wang, Blocki, Li and Jha (2017): 4 gamma / (gamma - 1)^2 at the best number of buckets
        gamma = math.exp(epsilon)
        assert 1 <= variances[g] * (gamma - 1) ** 2 / (4 * gamma) < 1.13
    for n in (3, 30, 300, 3000):
        of_each = {name: response(name, n, length, epsilon).variance for name in ("response", "hashing", "subset")}
        if n > 200:
            del of_each["subset"]  # its message is long
        assert best_response(n, length, epsilon).variance == pytest.approx(min(of_each.values()), rel=1e-9)
    told = response("subset", 30, min(length, 30), epsilon)
    assert isinstance(told, SubsetSelection)
    every = [response("subset", 30, length, epsilon, chosen).variance for chosen in range(1, 31)]
    assert told.variance == pytest.approx(min(every), rel=1e-9)
    assert response("subset", 30, length, epsilon, 1).variance == pytest.approx(of_one(30, length, epsilon))


def of_one(n: int, length: int, epsilon: float) -> float:
    """A subset of one value is randomized response."""
    return response("response", n, length, epsilon).variance


def test_sampling_one_of_l_adds_to_privacy_whatever_the_channel() -> None:
    """The variance grows as l: by less than 1.2 l over l = 1, where telling a sampled hash has l^2."""
    one = response("hashing", 5000, 1, 3.0).variance
    for length in (2, 4, 8, 16):
        assert response("hashing", 5000, length, 3.0).variance < 1.2 * length * one


@pytest.mark.parametrize("mean", [1.0, 2.5, 8.0])
def test_the_length_is_best_of_all(mean: float) -> None:
    """By brute force, for geometric sizes; near 1.26 times the mean, but for numbers of buckets being powers of two."""
    found = phases.best_length(5000, 3.0, mean)

    def known(length: int) -> float:
        sizes = np.arange(1, 2000)
        chances = (1 - 1 / mean) ** (sizes - 1) / mean
        left = float(chances @ np.minimum(sizes, length)) / float(chances @ sizes)
        return left**2 / best_response(5000, length, 3.0).variance

    assert known(found) == pytest.approx(max(known(length) for length in range(2, 60)), rel=1e-9)
    assert max(2, mean) <= found <= 1.6 * mean + 2


def test_phases_are_made_of_public_numbers() -> None:
    domain = bk.Domain(range(3340))
    found = bk.Ask.phases(domain, 77_512, epsilon=3, expected_size=5)
    assert found.first + found.second == 77_512
    assert 0.6 < found.first / 77_512 < 0.9
    assert found.length == bk.Ask.baskets(domain, epsilon=3, expected_size=5).length
    assert found.least_first == pytest.approx(found.least_second, rel=0.01)  # one is no better than the other
    assert "others tell of one candidate" in str(found)
    alone = bk.Ask.phases(domain, 77_512, epsilon=3, expected_size=5, max_size=1)
    assert (alone.first, alone.second) == (77_512, 0)
    assert "one phase" in str(alone)
    assert alone.least_first < found.least_first
    assert bk.Ask.phases(domain, 1).first == 1


def test_candidates_are_the_likeliest_with_all_their_subsets() -> None:
    shares = np.array([0.5, 0.01, 0.4, 0.3, -0.1, 0.2, 0.0])
    found = phases.candidates(shares, top=2, max_size=3)
    assert found.itemsets[:4] == ((0,), (2,), (3,), (5,))
    assert found.itemsets[4:8] == ((0, 2), (0, 3), (2, 3), (0, 5))
    assert found.itemsets[8:] == ((0, 2, 3),)
    held = 0.5 + 0.4 + 0.3 + 0.2
    pairs = (0.2 + 0.15 + 0.12 + 0.1) / (0.2 + 0.15 + 0.12 + 0.1 + 0.08 + 0.06)
    triples = 0.06 / (0.06 + 0.04 + 0.03 + 0.024)
    assert found.expected == pytest.approx(held + held**2 * pairs + held**3 * triples)
    assert phases.candidates(np.full(5, -1.0), top=1, max_size=2).expected == 0


# -- two phases ------------------------------------------------------------------------------------------------------


def planted(n: int, seed: int) -> bk.Baskets:
    """Items 0 to 2 go together in a third of the baskets; forty others come by themselves."""
    rng = np.random.default_rng(seed)
    held = rng.random((n, 43)) < 0.03
    held[:, :3] |= (rng.random(n) < 0.35)[:, None]
    return bk.Baskets([np.flatnonzero(row).tolist() for row in held], items=range(43))


def test_two_phases_find_what_goes_together() -> None:
    people = planted(20_000, 1)
    first = bk.Ask.baskets(people.domain, epsilon=3, expected_size=2.5)
    answers = first.randomize(people[:14_000], domain=people.domain, rng=bk.Seeded(1))
    second = first.refine(answers, top=5, max_size=3)
    assert second.follows == answers.plan.digest
    assert second.epsilon == first.epsilon
    assert {frozenset(one) for one in second.candidates or ()} >= {frozenset({0, 1}), frozenset({0, 1, 2})}
    others = second.randomize(people[14_000:], domain=people.domain, rng=bk.Seeded(2))
    evidence = bk.pool(answers, others)
    assert isinstance(evidence, SampledEvidence)
    assert evidence.n_records == 20_000
    found = bk.mine(evidence, min_support=0.2)
    itemsets = {itemset for itemset, _ in found}
    assert (
        {frozenset({0, 1}), frozenset({1, 2}), frozenset({0, 1, 2})}
        <= itemsets
        <= {frozenset(one) for size in (1, 2, 3) for one in combinations(range(3), size)}
    )
    truth = bk.estimate(people, [{0}, {0, 1}])
    told = bk.estimate(evidence, [{0}, {0, 1}])
    cut_off = 0.06  # what cutting takes
    assert (told.value <= truth.value + 5 * told.stderr).all()
    assert (told.value >= truth.value - 5 * told.stderr - cut_off).all()
    rules = found.rules(min_threshold=0.5)
    assert (rules["confidence_stderr"] > 0).all()
    assert bk.mine(evidence, min_support=0.02).about["left_out"]
    again = bk.Plan.from_json(others.plan.json)
    assert again == others.plan
    assert again.channel.payload.columns == others.channel.payload.columns


def test_all_phases_count() -> None:
    """An item that both phases ask about has a smaller error than by either."""
    people = planted(6_000, 1)
    first = bk.Ask.baskets(people.domain, epsilon=3, expected_size=2.5)
    answers = first.randomize(people[:4_000], domain=people.domain, rng=bk.Seeded(1))
    others = first.refine(answers).randomize(people[4_000:], domain=people.domain, rng=bk.Seeded(2))
    rows = np.array([[0]], np.int32)
    errors = [
        float(one.supports(rows).stderr[0]) / one.n_records
        for one in (evidence_of(answers), evidence_of(others), SampledEvidence.of(answers, others))
    ]
    assert errors[2] < min(errors[:2])
    tallies = SampledEvidence.of(bk.Tally.of(answers), bk.Tally.of(others))
    together = SampledEvidence.of(answers, others)
    assert tallies.supports(rows).value.tolist() == together.supports(rows).value.tolist()
    assert together.provenance.plan == others.plan.digest
    assert together.provenance.is_simulation


def test_the_promise_of_phases_is_the_weakest_of_theirs() -> None:
    """By what a person sends under each plan, and not by one report of it."""
    people = planted(2_000, 1)
    first = bk.Ask.baskets(people.domain, epsilon=3, length=3)
    answers = first.randomize(people[:1_000], domain=people.domain)
    plan = bk.Plan(people.domain, first.refine(answers, top=2), bk.PrivacyUnit(reports=4))
    found = SampledEvidence.of(answers, plan.randomize(people[1_000:])).provenance
    assert isinstance(found.guarantee, bk.LocalGuarantee)
    assert found.guarantee.person.epsilon == 12
    assert found.unit == plan.unit


def test_a_few_who_forge_a_second_phase_are_told_of() -> None:
    """400 of 100 400 answer in it, all of them as holding a pair that nobody holds."""
    items = [f"i{k}" for k in range(20)]
    people = bk.Baskets([["i0"]] * 60_000 + [["i1"]] * 40_000, items=items)
    first = bk.Ask.baskets(people.domain, epsilon=3, expected_size=2)
    answers = first.randomize(people, rng=bk.Seeded(1))
    second = first.refine(answers, top=2)
    assert second.candidates is not None
    assert ("i0", "i1") in second.candidates
    forged = second.randomize(bk.Baskets([["i0", "i1"]] * 400, items=items), rng=bk.Seeded(2))
    evidence = bk.pool(answers, forged)
    with pytest.warns(bk.InfluenceWarning, match="400 reports among 100400"):
        bk.estimate(evidence, [{"i0", "i1"}])
    with pytest.warns(bk.InfluenceWarning), pytest.warns(bk.NoiseWarning):
        found = bk.mine(evidence, 0.01)
    assert "400 reports among 100400" in found.about["influence"]
    level = evidence.family(np.array([[2]], np.int32)).whole
    assert level.carried.looked_at == 1
    assert level.carried.number == 0, "100 000 people tell of an item that only the first phase asked about"


def test_phases_that_do_not_follow_each_other_are_refused() -> None:
    people = planted(3_000, 1)
    first = bk.Ask.baskets(people.domain, epsilon=3, length=3)
    answers = first.randomize(people[:1_000], domain=people.domain, rng=bk.Seeded(1))
    others = first.refine(answers).randomize(people[1_000:2_000], domain=people.domain, rng=bk.Seeded(2))
    with pytest.raises(bk.PlanMismatchError, match="do not follow"):
        SampledEvidence.of(others, answers)
    elsewhere = bk.AskBaskets(epsilon=3, length=2, candidates=((0,), (1,))).randomize(people, rng=bk.Seeded(3))
    with pytest.raises(bk.PlanMismatchError, match="do not follow"):
        SampledEvidence.of(answers, others, elsewhere)
    with pytest.raises(bk.PlanMismatchError, match="got one twice"):
        SampledEvidence.of(answers, answers)
    other = bk.Ask.baskets(people.domain, epsilon=2, length=3)
    with pytest.raises(bk.PlanMismatchError, match="cannot refine"):
        other.refine(answers)
    with pytest.raises(bk.ParameterError, match="first phase"):
        bk.AskBaskets(**_parameters(others)).refine(others)
    assert first.refine(answers, length=7).length == 7
    for wrong in ({"length": 0}, {"top": 0}, {"max_size": 4}):
        with pytest.raises(bk.ParameterError, match=next(iter(wrong))):
            first.refine(answers, **wrong)
    with pytest.raises(bk.DataError, match="the first phase is empty"):
        first.refine(answers[:0])
    flips = bk.Flip(keep=0.9).randomize(people, rng=bk.Seeded(1))
    with pytest.raises(bk.DataError, match=r"Ask\.baskets"):
        SampledEvidence.of(flips)


def _parameters(reports: bk.Reports) -> dict[str, Any]:
    mechanism = reports.plan.mechanism
    assert isinstance(mechanism, bk.AskBaskets)
    return {name: getattr(mechanism, name) for name in ("epsilon", "length", "by", "size", "candidates", "follows")}


def test_one_item_ranks_and_does_not_estimate() -> None:
    people = planted(3_000, 1)
    mechanism = bk.Ask.baskets(people.domain, epsilon=3, length=1)
    reports = mechanism.randomize(people, domain=people.domain, rng=bk.Seeded(1))
    for read in (lambda: bk.estimate(reports, [{0}]), lambda: bk.mine(reports, min_support=0.1)):
        with pytest.raises(bk.SingularChannelError, match="ranks items"):
            read()
    second = mechanism.refine(reports, top=2)
    assert second.length >= 2
    assert {(0,), (1,), (2,)} <= set((second.candidates or ())[:4])
    others = second.randomize(planted(3_000, 2), domain=people.domain, rng=bk.Seeded(2))
    together = SampledEvidence.of(reports, others)  # ranks do not count for supports
    assert (
        together.supports(np.array([[0]], np.int32)).value[0]
        == 2 * evidence_of(others).supports(np.array([[0]], np.int32)).value[0]
    )
    with pytest.raises(bk.SingularChannelError, match="no report tells of it"):
        bk.estimate(together, [{42}])
    single = bk.Baskets([[0]] * 500 + [[1]] * 500, items=[0, 1])
    fits = mechanism.randomize(single, max_size=1, rng=bk.Seeded(1))
    assert bk.estimate(fits, [{0}]).value[0] == pytest.approx(0.5, abs=0.2)


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"length": 0}, "length"),
        ({"length": -3}, "length"),
        ({"length": 2.5}, "length"),
        ({"length": 10**6}, "length"),
        ({"by": "magic"}, "by"),
        ({"size": 6}, "size"),
        ({"size": 2}, "size"),
        ({"size": 1 << 17}, "size"),
        ({"by": "response", "size": 8}, "size"),
        ({"by": "subset"}, "size"),
        ({"by": "subset", "size": 0}, "size"),
        ({"candidates": []}, "candidates"),
        ({"candidates": "ab"}, "candidates"),
        ({"candidates": ["ab"]}, "candidates"),
        ({"candidates": [("a", "a")]}, "candidates"),
        ({"candidates": [("a", "b"), ("b", "a")]}, "candidates"),
        ({"candidates": [()]}, "candidates"),
        ({"candidates": [("a", "b", "c", "d")]}, "candidates"),
        ({"follows": "abc"}, "follows"),
    ],
    ids=str,
)
def test_parameters_that_are_none(wrong: dict[str, Any], parameter: str) -> None:
    with pytest.raises(bk.ParameterError) as caught:
        bk.AskBaskets(**({"epsilon": 3.0, "length": 3} | wrong))
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("wrong", "parameter"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"expected_size": 0}, "expected_size"),
        ({"expected_size": math.inf}, "expected_size"),
        ({"length": 0}, "length"),
        ({"length": 3, "expected_size": 2}, "length"),
        ({"channel": "unary"}, "channel"),
    ],
    ids=str,
)
def test_studies_that_cannot_be(wrong: dict[str, Any], parameter: str) -> None:
    with pytest.raises(bk.ParameterError) as caught:
        bk.Ask.baskets(ITEMS, **wrong)
    assert caught.value.parameter == parameter


def test_domains_that_do_not_fit() -> None:
    with pytest.raises(bk.ParameterError, match="items of baskets"):
        bk.Plan(bk.TableDomain([bk.Attribute("a", ["1", "2"])]), HASHED)
    with pytest.raises(bk.DataError, match="no item 'z'"):
        bk.Plan(ITEMS, bk.AskBaskets(epsilon=3, length=2, candidates=(("a", "z"),)))
    with pytest.raises(bk.ParameterError, match="number of items"):
        bk.Plan(ITEMS, bk.AskBaskets(epsilon=3, length=2, by="subset", size=4))
    with pytest.raises(bk.ParameterError, match="must be larger"):
        bk.Plan(ITEMS, bk.AskBaskets(epsilon=1e-17, length=2))
    for make in (
        lambda: bk.Plan(range(4096), bk.AskBaskets(epsilon=3, length=2, by="subset", size=4)),  # type: ignore[arg-type]
        lambda: bk.Ask.baskets(range(4096), length=2, channel="subset"),
    ):
        with pytest.raises(bk.ParameterError, match="at most 4096 items and dummies, got 4098"):
            make()
    with pytest.raises(bk.ParameterError, match="at least one item"):
        bk.Ask.baskets([])


@pytest.mark.parametrize(
    "columns",
    [
        {"seed": np.array([-1]), "value": np.array([0])},
        {"seed": np.array([1.0]), "value": np.array([0])},
        {"seed": np.array([1], np.uint64), "value": np.array([4])},
        {"seed": np.array([1], np.uint64), "value": np.array([-1])},
        {"seed": np.array([1], np.uint64)},
        {"seed": np.array([1], np.uint64), "answer": np.array([0])},
    ],
    ids=str,
)
def test_reports_that_nobody_can_have_sent(columns: dict[str, Any]) -> None:
    with pytest.raises(bk.DataError):
        bk.Reports(bk.Plan(ITEMS, HASHED), Batch(columns), randomness="secure")


def test_subsets_of_another_size_are_refused() -> None:
    plan = bk.Plan(ITEMS, CHOSEN)
    for words in ([0b1], [0b111], [0], [0b100001]):
        with pytest.raises(bk.DataError):
            bk.Reports(plan, Batch({"subset": np.array([words], np.uint64)}), randomness="secure")
    assert len(bk.Reports(plan, Batch({"subset": np.array([[0b10001]], np.uint64)}), randomness="secure")) == 1


def test_an_itemset_that_nobody_was_asked_about_is_named() -> None:
    people = bk.Baskets([["a", "b"]] * 400, items=ITEMS.labels)
    reports = HASHED.randomize(people, rng=bk.Seeded(1))
    with pytest.raises(bk.SingularChannelError, match="'a', 'b'"):
        bk.estimate(reports, [{"a", "b"}])
    alone = bk.AskBaskets(epsilon=3, length=1, candidates=(("a", "b"),)).randomize(people, rng=bk.Seeded(1))
    assert bk.estimate(alone, [{"a", "b"}]).value[0] == pytest.approx(1, abs=0.2)
    with pytest.raises(bk.SingularChannelError, match="'a'"):  # and not an item of support 0
        _ = bk.contingency(alone, {"a"}, {"b"}).value


def test_a_basket_of_more_items_than_there_are_lengths_for() -> None:
    """A domain smaller than the length, of one item even."""
    one = bk.Domain(["a"])
    for by, size in (("hashing", None), ("response", None), ("subset", 1)):
        mechanism = bk.AskBaskets(epsilon=3, length=5, by=by, size=size)
        reports = mechanism.randomize(bk.Baskets([["a"]] * 3000, items=["a"]), domain=one, rng=bk.Seeded(1))
        assert bk.estimate(reports, [{"a"}]).value[0] == pytest.approx(1, abs=0.15)


def test_a_basket_that_holds_more_candidates_than_random_words_are_made_at_a_time() -> None:
    """19 600 triples of fifty items, all held: randomizing did not end, which told of the basket by itself."""
    domain = bk.Domain(range(50))
    people = bk.Baskets([range(50), [0, 1, 2]], items=domain.labels)
    for by in ("hashing", "response"):
        mechanism = bk.AskBaskets(epsilon=3, length=2, by=by, candidates=tuple(combinations(range(50), 3)))
        assert len(mechanism.randomize(people, domain=domain)) == 2


def test_auto_picks_by_the_number_of_items() -> None:
    assert bk.Ask.baskets(range(10), epsilon=3, length=2).by == "response"
    assert bk.Ask.baskets(range(150), epsilon=3, length=2) == bk.AskBaskets(3, 2, "subset", 3)
    assert bk.Ask.baskets(range(5000), epsilon=3, length=2).by == "hashing"
    assert bk.Ask.baskets(range(5000), epsilon=3, length=2, channel="response").by == "response"


# -- on real files ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "expected_size", "items", "pairs"), [("bms_webview2", 5, 0.60, 0.15), ("kosarak_prefix70k", 8, 0.75, 0.65)]
)
def test_the_largest_items_and_pairs_of_clicks_are_found(
    name: str, expected_size: int, items: float, pairs: float
) -> None:
    """Of the 20 largest of either, the mean share among the 20 largest found: ten runs, epsilon 3 for a basket."""
    people = bk.Baskets.read(benchmark_file(f"{name}.dat.gz"))
    domain, n = people.domain, people.n_records
    exact = bk.mine(people, min_support=0.005, max_size=2)
    true: list[set[frozenset[Any]]] = []
    for size in (1, 2):
        of_size = [(support, at, itemset) for at, (itemset, support) in enumerate(exact) if len(itemset) == size]
        true.append({itemset for _, _, itemset in sorted(of_size, reverse=True)[:20]})
    study = bk.Ask.phases(domain, n, epsilon=3, expected_size=expected_size)
    first = bk.Ask.baskets(domain, epsilon=3, expected_size=expected_size)
    shares = []
    for run in range(10):
        order = np.random.default_rng(run).permutation(n)
        early, late = people[np.sort(order[: study.first])], people[np.sort(order[study.first :])]
        answers = first.randomize(early, domain=domain, rng=bk.Seeded(2 * run))
        others = first.refine(answers, top=20).randomize(late, domain=domain, rng=bk.Seeded(2 * run + 1))
        shares.append([_share_found(answers, others, size, true[size - 1]) for size in (1, 2)])
    found = np.mean(shares, axis=0)
    assert found[0] >= items
    assert found[1] >= pairs


def _share_found(answers: bk.Reports, others: bk.Reports, size: int, true: set[frozenset[Any]]) -> float:
    evidence = SampledEvidence.of(answers, others)
    channel = others.channel
    assert isinstance(channel, BasketChannel)
    rows = [[item] for item in range(len(evidence.domain))] if size == 1 else []
    rows += [list(one) for one in channel.candidates or () if len(one) == size > 1]
    itemsets = np.array(rows, np.int32)
    largest = itemsets[np.argsort(-evidence.supports(itemsets).value, kind="stable")[:20]]
    return len({evidence.domain.name(row) for row in largest.tolist()} & true) / 20
