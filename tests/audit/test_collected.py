"""The audit of files: what no honest people sent is noticed, and honest reports of any mechanism are not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.audit.possible import chances_of, log_largest
from bosket.audit.received import CHANCE as SECURE
from bosket.audit.received import COPIES, NUMBERS, PLAUSIBLE, QUESTIONS, WHOLE, _repeated
from bosket.mechanisms import Batch
from bosket.mechanisms.questions.basket_channel import BasketChannel
from tests.contracts.cases import CASES, Case
from tests.effort import effort_within
from tests.memory import traced

DOMAIN = bk.Domain(range(30))
FLIP = bk.Plan(DOMAIN, bk.Flip(keep=0.9))
TABLE = bk.TableDomain([bk.Attribute(f"q{at}", ["no", "yes"]) for at in range(6)])
ASK = bk.Plan(TABLE, bk.Ask(bk.Design.pairs(TABLE), gamma=8))
HASHED = bk.Plan(DOMAIN, bk.AskBaskets(epsilon=2.0, length=3, size=8), bk.PrivacyUnit(max_size=3))


def honest(plan: bk.Plan, n: int = 4000) -> bk.Reports:
    """By a seed, and it does not say so: that is a finding of its own."""
    if plan is ASK:
        data: bk.Baskets | bk.Table = bk.Table.from_cells(np.arange(n) % 64, TABLE)
    else:
        data = bk.Baskets([[at % 3, 5 + at % 7] for at in range(n)], items=range(30))
    return bk.Reports(plan, plan.randomize(data, rng=bk.Seeded(1)).batch, randomness="secure")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_honest_reports_are_acquitted(case: Case) -> None:
    """By a fixed seed; a fresh one fails once in 1e9."""
    made = case.reports(4000, seed=7)
    verdict = bk.audit.collected(bk.Reports(case.plan, made.batch, randomness="secure"), failure=1e-9)
    assert not verdict.is_convicted, verdict


@pytest.mark.parametrize("plan", [FLIP, ASK, HASHED], ids=["flip", "ask", "hashed"])
def test_reports_that_were_copied_are_noticed(plan: bk.Plan) -> None:
    """A hundred in a row that came again; of reports with a seed a single one."""
    reports = honest(plan)
    n = 1 if plan is HASHED else 100
    place = np.concatenate([np.arange(4000), np.arange(700, 700 + n)])
    verdict = bk.audit.collected(reports[place])
    assert verdict[COPIES].is_convicted
    assert not bk.audit.collected(reports)[COPIES].is_convicted


def test_one_report_sent_too_often_is_noticed() -> None:
    """Scattered, so that no block comes again."""
    reports = honest(FLIP)
    place = np.arange(4000)
    place[::12] = 3
    finding = bk.audit.collected(reports[place])[COPIES]
    assert finding.is_convicted
    assert finding.figures == {"times": 335}


def test_ones_and_coins_that_no_records_give_are_noticed() -> None:
    short = bk.Plan(DOMAIN, bk.Flip(keep=0.9), bk.PrivacyUnit(max_size=4))
    bits = honest(FLIP).bits.copy()
    bits[:40] = (1 << 30) - 1
    assert bk.audit.collected(bk.Reports(short, bits, randomness="secure"))[PLAUSIBLE].is_convicted
    tamed = bk.Plan(DOMAIN, bk.Flip(keep=0.94)).randomize(bk.Baskets([[0]] * 4000, items=range(30)), rng=bk.Seeded(1))
    finding = bk.audit.collected(bk.Reports(FLIP, tamed.bits, randomness="secure"))[NUMBERS]
    assert finding.is_convicted  # what nobody has is shown by 6%, where the coins show it by 10% at least
    assert finding.figures["least"] == pytest.approx(0.1)


def test_questions_and_seeds_that_were_not_drawn_are_noticed() -> None:
    batch = honest(ASK).batch
    moved = np.where(np.arange(4000) % 3 == 0, 0, batch["question"]).astype(batch["question"].dtype)
    crowded = bk.Reports(ASK, Batch({"question": moved, "answer": batch["answer"]}), randomness="secure")
    assert bk.audit.collected(crowded)[QUESTIONS].is_convicted
    batch = honest(HASHED).batch
    even = Batch({"seed": batch["seed"] & ~np.uint64(1), "value": batch["value"]})
    assert bk.audit.collected(bk.Reports(HASHED, even, randomness="secure"))[QUESTIONS].is_convicted


def test_seeded_chance_and_other_plans_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    FLIP.randomize(bk.Baskets([[1]] * 50, items=range(30)), rng=bk.Seeded(1)).write(path)
    assert bk.audit.collected(path)[SECURE].is_convicted
    other = bk.Plan(DOMAIN, bk.Flip(keep=0.8))
    assert bk.audit.collected(path, plan=other)[WHOLE].is_convicted
    assert bk.audit.collected(bk.Reports.read(path), plan=other)[WHOLE].is_convicted
    path.write_bytes(path.read_bytes()[:-9])
    assert bk.audit.collected(path)[WHOLE].is_convicted
    with pytest.raises(bk.DataError):
        bk.audit.collected(tmp_path / "nothing.parquet")
    with pytest.raises(bk.DataError):
        bk.audit.collected(7)  # type: ignore[arg-type]  # that is the test


class TestPossible:
    """The bounds that verdicts rest on, against the enumeration of all records."""

    @pytest.mark.parametrize("case", [one for one in CASES if one.unit is None], ids=str)
    def test_no_report_is_likelier_than_is_said(self, case: Case) -> None:
        """Of what reports show, where that is the report itself."""
        bound = log_largest(case.plan)
        if bound is None or bound < -40 or isinstance(case.channel, BasketChannel):
            return
        most = max(max(case.law(record, case.population).values()) for record in case.taken)
        assert math.log(most) <= bound + 1e-9

    @pytest.mark.parametrize("case", [one for one in CASES if one.unit is None], ids=str)
    def test_chances_are_those_of_all_records(self, case: Case) -> None:
        for itemset in [(0,), (1,), (0, 1)]:
            by_stratum: dict[int, list[float]] = {}
            for record in case.taken:
                law = case.law(record, case.population)
                total: dict[int, float] = {}
                for (stratum, shown), chance in law.items():
                    total[stratum] = total.get(stratum, 0.0) + chance * all(shown >> item & 1 for item in itemset)
                for stratum, chance in total.items():
                    by_stratum.setdefault(stratum, []).append(chance)
            if case.is_table and len(itemset) == 2:
                continue  # two values of one attribute
            for stratum, seen in by_stratum.items():
                found = chances_of(case.channel, itemset, stratum)
                if found is not None:
                    assert found.least <= min(seen) + 1e-9
                    assert found.most >= max(seen) - 1e-9

    def test_blocks_that_stand_twice(self) -> None:
        names = np.array([1, 2, 3, 4, 1, 2, 3, 5, 2, 3], np.int64)
        assert [_repeated(names, length) for length in (1, 2, 3, 4)] == [5, 3, 1, 0]


def of_zeros(plan: bk.Plan, n: int) -> bk.Reports:
    payload = plan.channel.payload
    return bk.Reports(plan, payload.from_rows(np.zeros((n, payload.width), np.uint8)), randomness="secure")


@pytest.mark.slow
def test_many_reports_are_looked_at_some_at_a_time() -> None:
    """A file of 12 kB, of 300 000 reports that are alike, took 2.6 GB: eight bytes for each bit that is looked at."""
    reports = of_zeros(bk.Plan(bk.Domain(range(512)), bk.Flip(keep=0.9)), 20_000)
    with traced() as meter:
        assert bk.audit.collected(reports)[NUMBERS].is_convicted
        assert meter.peak < 24 << 20  # 1.3 MB of reports; eight bytes for each bit are 82
    hashing = bk.AskBaskets(epsilon=3, length=3, by="hashing", size=8)
    seeds = of_zeros(bk.Plan(bk.Domain(range(20)), hashing), 100_000)
    with traced() as meter:
        assert bk.audit.collected(seeds)[QUESTIONS].is_convicted
        assert meter.peak < 24 << 20


@pytest.mark.slow
def test_of_many_strata_the_largest_are_looked_at() -> None:
    """One report of each of hundreds of sizes took minutes: everything is compared in each stratum."""
    n = 150
    plan = bk.Plan(bk.Domain(range(n)), bk.CutAndPaste(cutoff=3, insert=0.1), bk.PrivacyUnit(max_size=n))
    rows = np.zeros((n + 400, plan.channel.payload.width), np.uint8)
    rows[:, -4:] = np.append(np.arange(n), np.full(400, 7)).astype("<i4").view(np.uint8).reshape(-1, 4)
    with effort_within(8.0):
        found = bk.audit.collected(bk.Reports(plan, plan.channel.payload.from_rows(rows), randomness="secure"))
    assert found[NUMBERS].tests <= 64 * (n + 276)
    assert found[NUMBERS].figures["reports"] == 401, "nothing is shown by those who state seven items"


def test_names_of_reports_that_happen_to_be_alike_convict_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names have 64 bits, by which two of 10^7 reports are taken for one another with 3e-6: more than is promised."""
    plan = bk.Plan(bk.Domain(range(60)), bk.Flip(keep=0.8))
    reports = plan.randomize(bk.Baskets([[1, 2]] * 300, items=range(60)), rng=bk.Seeded(1))
    assert not bk.audit.collected(reports)[COPIES].is_convicted
    monkeypatch.setattr("bosket.audit.received.names_of", lambda channel, batch: np.zeros(len(batch), np.uint64))
    assert not bk.audit.collected(reports)[COPIES].is_convicted
    twice = bk.Reports.concat([reports, reports[:40]], allow_duplicates=True)
    assert bk.audit.collected(twice)[COPIES].is_convicted


@pytest.mark.parametrize("length", [1, 2, 3, 6, 7, 20])
def test_blocks_are_found_by_their_sums(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(length)
    names = rng.integers(0, 3, 60)
    names = np.concatenate([names, [9], names[10 : 10 + length]])
    blocks = [tuple(names[at : at + length]) for at in range(len(names) - length + 1)]
    assert _repeated(names, length) == len(blocks) - len(set(blocks)) > 0
    monkeypatch.setattr("bosket.audit.received._WEIGHT", np.uint64(0))  # all sums are alike
    assert _repeated(np.arange(60), length) == 0


def test_answers_that_one_person_repeats_count_as_one() -> None:
    """Twenty copies of each, by a memo: five of ten honest studies were convicted of answers that too many gave."""
    values = {f"q{at}": ["no", "yes"] for at in range(4)}
    domain = bk.TableDomain([bk.Attribute(name, words) for name, words in values.items()])
    plan = bk.Plan(domain, bk.Ask(bk.Design.pairs(domain), gamma=19), bk.PrivacyUnit(reports=20))
    for seed in range(8):
        codes = np.random.default_rng(seed).integers(0, 2, (1000, 4))
        once = plan.randomize(bk.Table.from_codes(codes, domain), rng=bk.Seeded(seed))
        sent = once[np.repeat(np.arange(1000), 20)]
        verdict = bk.audit.collected(sent)
        assert not verdict[PLAUSIBLE].is_convicted
        assert not verdict[QUESTIONS].is_convicted
    one_answer = once[np.full(20_000, int(np.argmax(once.batch["question"] == 0)))]
    assert bk.audit.collected(one_answer)[PLAUSIBLE].is_convicted


def test_nobody_is_convicted_by_a_file_that_was_not_read(tmp_path: Path) -> None:
    """A folder, or reports beyond the cap, say nothing of those who sent them."""
    path = tmp_path / "x.parquet"
    honest(FLIP).write(path)
    with pytest.raises(bk.DataError):
        bk.audit.collected(path, max_bytes=1000)
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(bk.DataError):
        bk.audit.collected(tmp_path / "folder.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    assert bk.audit.collected(path).is_convicted
