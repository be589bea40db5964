"""Plans that cannot see are warned of and refused, and what is off by more than any support is not listed."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.evidence import LinearEvidence
from bosket.evidence.of import evidence_of
from bosket.mining import Search, mine_evidence
from bosket.reporting.study import itemsets_page

SIXTEEN = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(16)])
BLIND = bk.GammaDiagonal(gamma=19)


def survey(n: int = 21_000, seed: int = 1) -> bk.Table:
    """Sixteen yes/no attributes, some of which go together."""
    draw = np.random.default_rng(seed)
    first = draw.random(n) < 0.6
    cells = np.zeros(n, np.int64)
    for _ in range(16):
        answer = np.where(draw.random(n) < 0.5, first, draw.random(n) < 0.3)
        cells = 2 * cells + answer
    return bk.Table.from_cells(cells, SIXTEEN)


def blind_reports(n: int = 21_000) -> bk.Reports:
    with pytest.warns(bk.HopelessPlanWarning):
        return BLIND.randomize(survey(n), rng=bk.Seeded(1))


class TestRefusing:
    def test_sixteen_questions_at_once_are_refused_with_a_design_that_sees(self) -> None:
        reports = blind_reports()
        with pytest.raises(bk.HopelessError) as caught:
            bk.mine(reports, min_support=0.1)
        error = caught.value
        assert error.people == 21_000
        assert error.stderr == pytest.approx(12.57, abs=0.01)
        assert error.hint is not None
        assert "Ask(Design.pairs(domain), gamma=19)" in error.hint
        takes = re.search(r"takes (\d+) reports for a standard error of 1,", error.hint)
        assert takes is not None
        assert int(takes[1]) == pytest.approx(21_000 * error.stderr**2, abs=1)

    @pytest.mark.filterwarnings("ignore:A few reports carry:bosket.InfluenceWarning")  # of 120 questions
    def test_the_design_that_is_named_sees(self) -> None:
        """Its errors are those of the estimates: at support 0.45 between the two that the hint gives."""
        reports = bk.Ask(bk.Design.pairs(SIXTEEN), gamma=19).randomize(survey(), rng=bk.Seeded(1))
        found = bk.mine(reports, 0.3, model=None)
        with pytest.raises(bk.HopelessError) as caught:
            bk.mine(blind_reports(), 0.3)
        assert caught.value.hint is not None
        stated = re.search(r"([\d.]+) to ([\d.]+) for 1 item; ([\d.]+) to ([\d.]+) for 2 items", caught.value.hint)
        assert stated is not None
        low, high, low_pair, high_pair = map(float, stated.groups())
        frame = found.to_frame()
        single, pairs = (frame[frame["size"] == size] for size in (1, 2))
        assert single["stderr"].between(low, 1.05 * high).all()
        assert pairs["stderr"].between(0.9 * low_pair, 1.2 * high_pair).all()  # the numbers asked vary by a tenth

    def test_it_depends_on_the_number_of_reports_alone(self) -> None:
        """All reports alike, whatever they say, and the same number of them as a tally: word for word."""
        reports = blind_reports(500)
        every = bk.Reports(reports.plan, np.repeat(reports.bits[:1], 500, axis=0), randomness="secure")
        said = []
        for data in (reports, every, bk.Tally.of(reports)):
            with pytest.raises(bk.HopelessError) as caught:
                bk.mine(data, min_support=0.1)
            said.append((str(caught.value), caught.value.hint))
        assert said[0] == said[1] == said[2]

    @pytest.mark.parametrize("gamma", [18.178, 18.172, 123.46])
    def test_the_design_that_is_named_costs_no_more(self, gamma: float) -> None:
        """In four digits, rounded down: to the nearest, 18.178 would become 18.18."""
        with pytest.warns(bk.HopelessPlanWarning):
            reports = bk.GammaDiagonal(gamma=gamma).randomize(survey(500), rng=bk.Seeded(1))
        with pytest.raises(bk.HopelessError) as caught:
            bk.mine(reports, min_support=0.1)
        named = re.search(r"gamma=([\d.]+)\)", str(caught.value.hint))
        assert named is not None
        assert gamma * (1 - 1e-3) < float(named[1]) <= gamma

    def test_baskets_of_many_items_hear_of_one_answer_that_sees(self) -> None:
        """The epsilon of 200 coins, given to one answer, shows a single item."""
        baskets = bk.Baskets([["0", "1"]] * 300, items=[str(item) for item in range(200)])
        with pytest.warns(bk.HopelessPlanWarning):
            reports = bk.Flip(keep=0.51).randomize(baskets, rng=bk.Seeded(1))
        with pytest.raises(bk.HopelessError) as caught:
            bk.mine(reports, 0.1)
        assert caught.value.hint is not None
        named = re.search(r"Ask\.baskets\(domain, epsilon=([\d.]+)\)", caught.value.hint)
        assert named is not None
        better = bk.Ask.baskets(baskets.domain, epsilon=float(named[1])).accuracy(baskets.domain)[0]
        assert not better.is_hopeless(300)
        assert float(named[1]) == pytest.approx(reports.guarantee.record.epsilon, rel=1e-3)

    def test_baskets_hear_of_a_keep_that_sees(self) -> None:
        baskets = bk.Baskets([["a", "b"], ["a"]] * 250)
        with pytest.warns(bk.HopelessPlanWarning):
            reports = bk.Flip(keep=0.51).randomize(baskets, rng=bk.Seeded(1))
        with pytest.raises(bk.HopelessError) as caught:
            bk.mine(reports, min_support=0.1)
        assert caught.value.hint is not None
        named = re.search(r"Flip\(keep=([\d.]+)\)", caught.value.hint)
        assert named is not None
        better = bk.Flip(keep=float(named[1])).channel(baskets.domain).accuracy(1)
        assert better is not None
        assert better.best(500) <= 0.05

    @pytest.mark.slow
    def test_where_no_question_sees_it_is_said(self) -> None:
        with pytest.warns(bk.HopelessPlanWarning):
            reports = bk.Ask(bk.Design.pairs(SIXTEEN), gamma=1.05).randomize(survey(300), rng=bk.Seeded(1))
        with pytest.raises(bk.HopelessError) as caught:
            bk.mine(reports, 0.1)
        assert caught.value.hint is not None
        assert caught.value.hint.startswith("No design of one question each sees more with this epsilon.")

    def test_estimates_come_with_a_warning(self) -> None:
        reports = blind_reports(2000)
        with pytest.warns(bk.HopelessPlanWarning, match="Nothing can be seen in 2000 reports") as told:
            found = bk.estimate(reports, [[SIXTEEN.labels[1]]])
        assert told[0].filename == __file__
        assert found.stderr[0] > 1

    def test_one_item_that_is_seen_is_enough(self) -> None:
        """An item with a coin of its own: the others are hopeless, and left out."""
        baskets = bk.Baskets([["a", "b"], ["a"]] * 200)
        reports = bk.Flip(keep={"a": 0.9}, default=0.501).randomize(baskets, rng=bk.Seeded(1))
        found = bk.mine(reports, min_support=0.1)
        assert [set(itemset) for itemset, _ in found] == [{"a"}]


class TestWarning:
    def test_randomizing_says_so_to_the_caller(self) -> None:
        with pytest.warns(bk.HopelessPlanWarning) as told:
            BLIND.randomize(survey(1000), rng=bk.Seeded(1))
        (one,) = told
        assert one.filename == __file__
        assert isinstance(one.message, bk.HopelessPlanWarning)
        assert one.message.people == 1000
        assert one.message.stderr > 50

    def test_a_person_and_a_part_of_many_are_not_told(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bk.Plan(SIXTEEN, BLIND).randomize(survey(1), rng=bk.Seeded(1))
            bk.Plan(SIXTEEN, BLIND).randomize(survey(100), rng=bk.Seeded(1), people=10_000_000)
            BLIND.randomize(survey(100), rng=bk.Seeded(1), people=10_000_000)
            bk.Plan(SIXTEEN, BLIND).randomize(survey(0), rng=bk.Seeded(1))

    def test_the_card_says_so(self) -> None:
        card = bk.Plan(SIXTEEN, BLIND).guarantee.among(21_000).card()
        assert "the standard error of a support is 12.6 for 1 item" in card
        assert "blind   among 21000 people no support of 1 item can be as large as its standard error" in card


class TestLeavingOut:
    def test_larger_itemsets_than_can_be_seen_are_not_looked_for(self) -> None:
        """Flip at 0.6 on 300 people: v = 7^k - 1 at least, so that three items take 342 people."""
        baskets = bk.Baskets([["a", "b", "c"]] * 300)
        reports = bk.Flip(keep=0.6).randomize(baskets, rng=bk.Seeded(1))
        found = bk.mine(reports, min_support=0.01)
        assert max(found.sizes) == 2
        assert "itemsets of 3 items cannot be seen" in found.about["stopped"]
        as_papers_do = mine_evidence(evidence_of(reports), Search(0.01, slack=10, keep_hopeless=True))
        assert len(as_papers_do.levels) == 3
        assert "stopped" not in as_papers_do.about
        more = bk.mine(bk.Flip(keep=0.6).randomize(bk.Baskets([["a", "b", "c"]] * 343), rng=bk.Seeded(1)), 0.01)
        assert "stopped" not in more.about

    def test_what_is_off_by_more_than_all_is_left_out_and_told(self) -> None:
        """Two reports of the largest size, forged or not, count for more people than there are."""
        plan = bk.Plan(bk.Domain(range(30)), bk.CutAndPaste(cutoff=3, insert=0.1), bk.PrivacyUnit(max_size=29))
        honest = plan.randomize(bk.Baskets([[0, 1, 2]] * 60, items=range(30)), rng=bk.Seeded(1))
        bits = np.full((2, 1), (1 << 30) - 1, np.uint64)
        forged = bk.Reports(plan, bits, strata=np.full(2, 29, np.int32), randomness=honest.randomness)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bk.BosketWarning)
            found = bk.mine(bk.Reports.concat([honest, forged]), min_support=0.5)
        frame = found.to_frame()
        assert "off by more than all" in found.about["hopeless"]
        assert not len(frame) or frame["support"].max() <= 2
        assert not len(frame) or frame["stderr"].max() <= 1

    def test_no_absurd_support_is_listed_whatever_the_plan(self) -> None:
        """Mixing knows no errors before there are reports; what it lists is held to the same."""
        baskets = bk.Baskets([["a", "b"], ["b", "c"], ["a"]] * 40)
        for keep in (0.02, 0.05, 0.2):
            reports = bk.Mixing(others=3, keep=keep).randomize(baskets, rng=bk.Seeded(4))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", bk.BosketWarning)
                frame = bk.mine(reports, min_support=0.01).to_frame()
            assert not len(frame) or (frame["support"].max() <= 2 and frame["stderr"].max() <= 1)

    def test_exact_mining_has_no_such_limit(self) -> None:
        found = bk.mine(bk.Baskets([["a", "b"]]), min_support=0.5)
        assert len(found) == 3
        assert "hopeless" not in found.about

    def test_evidence_without_a_plan_is_mined(self) -> None:
        reports = bk.Flip(keep=0.9).randomize(bk.Baskets([["a", "b"], ["a"]] * 50), rng=bk.Seeded(1))
        evidence = evidence_of(reports)
        assert isinstance(evidence, LinearEvidence)
        bare = LinearEvidence(reports.channel, reports.counter())
        assert bk.mine(bare, 0.2).to_frame()["support"].tolist() == bk.mine(reports, 0.2).to_frame()["support"].tolist()


class TestNoise:
    @pytest.fixture
    def noisy(self) -> bk.Reports:
        baskets = bk.Baskets([["a", "b"], ["a", "c"], ["b"]] * 200)
        return bk.Flip(keep=0.7).randomize(baskets, rng=bk.Seeded(2))

    def test_python_hears_of_it(self, noisy: bk.Reports) -> None:
        with pytest.warns(bk.NoiseWarning, match="many of these itemsets are noise") as told:
            found = bk.mine(noisy, min_support=0.05)
        sizes = [one.message.size for one in told if isinstance(one.message, bk.NoiseWarning)]
        assert sizes == sorted(sizes)
        assert told[0].filename == __file__
        assert found.about["noise"] == [str(one.message) for one in told if isinstance(one.message, bk.NoiseWarning)]
        for one in told:
            assert isinstance(one.message, bk.NoiseWarning)
            assert one.message.stderr == found.typical_stderr[one.message.size] > 0.05 / 3

    def test_a_limit_clear_of_the_noise_comes_without(self, noisy: bk.Reports) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = bk.mine(noisy, min_support=0.3, max_size=1)
            bk.mine(bk.Baskets([["a"]] * 3), min_support=0.1)
        assert "noise" not in found.about

    def test_files_and_pages_have_it(self, noisy: bk.Reports, tmp_path: Path) -> None:
        found = bk.mine(noisy, min_support=0.05)
        frame = found.to_frame()
        bk.write_itemsets(frame, tmp_path / "itemsets.json")
        about = json.loads((tmp_path / "itemsets.json").read_text())["about"]
        assert about["noise"] == found.about["noise"]
        page = itemsets_page(frame, sizes=found.sizes, guarantee=noisy.guarantee).html()
        assert page.count('class="warning" role="note">At size') == len(found.about["noise"])
        rules = found.rules(min_threshold=0.1)
        assert rules.attrs["about"]["noise"] == found.about["noise"]
