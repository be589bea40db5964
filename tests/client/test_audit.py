"""The browser's client is audited like Python's: its reports have the exact law, and sabotaged twins are convicted.

The law of each case is written from the definition (tests/contracts/cases.py).  Cells are compared by exact binomial
tests, with Bonferroni's correction, at a false-alarm rate of 1e-9 for a whole test.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bosket as bk
from bosket.cli import main
from tests.client.node import MODULE, NODE, needs_node, run
from tests.client.test_vectors import vectors
from tests.client.vectors import PYTHON_ONLY, frame, unhexed
from tests.contracts.cases import CASES, Case
from tests.stats import assert_plausible, assert_rejected, binomial

PAGE = Path(__file__).parents[2] / "docs" / "service-client.md"
OURS = [case for case in CASES if type(case.mechanism).__module__.startswith("bosket.")]
LOCAL = [case for case in OURS if not case.mechanism.needs_curator and case.mechanism.name not in PYTHON_ONLY]
COIN = "word: () => pool.pop() ?? (pool = [...crypto.getRandomValues(new BigUint64Array(64))]).pop()"
TWINS = {
    "of_doubles": (COIN, "word: () => BigInt(Math.floor(Math.random() * 2 ** 63.9))"),
    "math_random": (COIN, "word: () => BigInt(Math.floor(Math.random() * 2 ** 53))"),
    "keep": ("threshold(1 - one)", "threshold(1.02 - one)"),
    "repeat": (
        "await keyed(key, (source) => draw(plan, bits, source, question))",
        "draw(plan, bits, secure, question)",
    ),
    "size": ("[within]", "[within + 1]"),
}


@pytest.fixture
def twin(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The module with one line changed."""
    honest, wrong = TWINS[request.param]
    source = MODULE.read_text("utf-8")
    assert source.count(honest) == 1
    (tmp_path / "bosket.mjs").write_text(source.replace(honest, wrong), "utf-8")
    return tmp_path / "bosket.mjs"


def as_json(case: Case, record: int) -> Any:
    """A pattern as a record that the browser takes."""
    held = [place for place in range(len(case.domain)) if record >> place & 1]
    if isinstance(case.domain, bk.TableDomain):
        values = [value for attribute in case.domain.attributes for value in attribute.values]
        names = [attribute.name for attribute in case.domain.attributes for _ in attribute.values]
        return {names[place]: values[place] for place in held}
    return [case.domain.to_json()["items"][place] for place in held]


def p_value(case: Case, record: int, n: int, module: Path = MODULE) -> float:
    """Of ``n`` reports of a record from fresh coins, against their law; 0 where some cannot be."""
    (frames,) = run([{"plan": case.plan.json, "record": as_json(case, record), "times": n}], module=module)
    try:
        reports = bk.Reports.from_bytes(case.plan, bytes.fromhex("".join(frames)))
    except bk.DataError:
        return 0.0
    assert not reports.is_simulation
    shown, law = case.shown(reports), case.law(record, case.population)
    if shown.keys() - {outcome for outcome, chance in law.items() if chance > 0}:
        return 0.0
    tests = [binomial(shown.get(outcome, 0), n, min(1.0, chance)) for outcome, chance in law.items()]
    return min(1.0, min(tests) * len(tests))


def taken(case: Case) -> list[int]:
    """Two records whose law is known: the first and the largest that is not cut."""
    limit = 3 if isinstance(case.mechanism, bk.AskBaskets) else len(case.domain)
    fitting = [record for record in case.taken if record.bit_count() <= min(limit, case.plan.max_stated or limit)]
    return [fitting[0], fitting[-1]]


@needs_node
def test_fresh_coins_have_the_law() -> None:
    case = LOCAL[0]
    assert_plausible(p_value(case, taken(case)[1], 2000))


@pytest.mark.slow
@needs_node
@pytest.mark.parametrize("twin", ["of_doubles", "math_random"], indirect=True)
def test_another_source_of_chance_is_convicted(twin: Path) -> None:
    """A word of 53 bits has no high bits, by which a record stays; a double no low ones, by which others come."""
    case = next(case for case in LOCAL if case.mechanism.name == "gamma_diagonal")
    assert_plausible(p_value(case, taken(case)[1], 2000))
    assert_rejected(p_value(case, taken(case)[1], 2000, twin))


@needs_node
@pytest.mark.parametrize("twin", ["keep", "repeat", "size"], indirect=True)
def test_the_vectors_convict(twin: Path, request: pytest.FixtureRequest) -> None:
    """A keep off by 0.02, fresh coins on a repeat, a falsified size."""
    kind = "cut_and_paste" if request.node.callspec.params["twin"] == "size" else "flip"
    jobs, expected = [], []
    for part in vectors(kind):
        for case in part["memo"]:
            memo = {"secret": case["secret"], "period": case["period"]}
            jobs += 3 * [{"plan": part["plan"], "record": case["record"], "memo": memo}]
            expected += 3 * [case["frame"]]
    assert run(jobs) == expected
    assert run(jobs, module=twin) != expected


@needs_node
def test_the_module_has_one_source_of_chance() -> None:
    source = MODULE.read_text("utf-8")
    assert "Math.random" not in source
    assert source.count("getRandomValues") == 2  # coins, and ids of batches
    assert "import" not in source.replace("importKey", "")
    assert len(source.encode()) <= 30_000
    assert all(len(line) <= 125 for line in source.splitlines())


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("case", LOCAL, ids=str)
def test_every_mechanism_has_its_law(case: Case) -> None:
    for record in taken(case):
        assert_plausible(p_value(case, record, 3000))


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("twin", ["keep"], indirect=True)
def test_a_keep_off_by_two_hundredths_is_convicted_by_the_law(twin: Path) -> None:
    case = LOCAL[0]
    record = taken(case)[1]
    assert_plausible(p_value(case, record, 35_000))
    assert_rejected(p_value(case, record, 35_000, twin))


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("twin", ["math_random"], indirect=True)
def test_the_documented_program_is_audited_by_the_command(
    tmp_path: Path, twin: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program on the page, over this module and over one with another source of chance."""
    (program,) = re.findall(r"```js\n(// audit\.mjs.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "audit.mjs").write_text(program, "utf-8")
    (tmp_path / "plan.json").write_text(bk.Plan(bk.Domain(["a", "b", "c"]), bk.Flip(keep=0.75)).json)
    assert NODE is not None
    command = [NODE, str(tmp_path / "audit.mjs"), str(tmp_path / "plan.json")]
    asked = ["audit", "--plan", str(tmp_path / "plan.json"), "--command", shlex.join(command)]
    asked += ["--trials", "2000", "--studies", "0"]
    assert main(asked) == 1
    assert "CONVICTED" in capsys.readouterr().out
    twin.write_bytes(MODULE.read_bytes())
    assert main(asked) == 0
    assert "Nothing found" in capsys.readouterr().out


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("twin", ["size"], indirect=True)
def test_a_falsified_size_is_convicted_by_the_law(twin: Path) -> None:
    case = next(case for case in LOCAL if case.mechanism.name == "cut_and_paste" and not case.is_table)
    assert p_value(case, taken(case)[0], 100, twin) == 0.0


@needs_node
def test_the_question_of_a_person_is_drawn_by_its_share_and_the_answer_fits_it() -> None:
    """The page draws the question first, and only then asks: the coins of the answer are the same."""
    plan = next(case.plan for case in LOCAL if case.mechanism.name == "ask")
    asked = plan.mechanism.to_json()["design"]["questions"]
    value = {"a": "1", "b": "y"}
    jobs = [
        {"plan": plan.json, "record": {name: value[name] for name in one["attributes"]}, "question": at, "times": 20}
        for at, one in enumerate(asked)
    ]
    for at, frames in enumerate(run(jobs)):
        reports = bk.Reports.from_bytes(plan, bytes.fromhex("".join(frames)))
        assert set(reports.batch["question"].tolist()) == {at}
    wrong = run([jobs[0] | {"question": 7}, jobs[0] | {"record": value}, jobs[0] | {"record": {"a": "nobody"}}])
    assert all("refused" in one for one in wrong)


@needs_node
def test_what_is_no_record_or_plan_is_refused() -> None:
    flip = json.loads(bk.Plan(bk.Domain(["a", "b"]), bk.Flip(0.9), bk.PrivacyUnit(max_size=1)).json)
    table = json.loads(LOCAL[3].plan.json)
    mixing = bk.Plan(bk.Domain(["a", "b", "c"]), bk.Mixing(others=1, keep=0.8)).json
    wrong: list[tuple[Any, Any]] = [
        (flip, ["c"]),
        (flip, ["a", "b"]),
        (flip, {"a": 1}),
        (flip, None),
        (flip, "a"),
        (table, ["a"]),
        (table, {"a": "1"}),
        (table, {"a": "1", "b": "x", "c": 1}),
        (table, {"a": "1", "b": "?"}),
        (flip | {"more": 1}, []),
        (flip | {"bosket_plan": 2}, []),
        (flip | {"mechanism": {"name": "constructor"}}, []),
        (flip | {"mechanism": flip["mechanism"] | {"keep": 1.5}}, []),
        (flip | {"mechanism": flip["mechanism"] | {"keep": "0.9"}}, []),
        (flip | {"mechanism": flip["mechanism"] | {"keep": None}}, []),
        (flip | {"domain": {"kind": "items", "items": ["a", "a"], "declared": True}}, []),
        (flip | {"unit": {"max_size": 1, "reports": 1, "more": 1}}, []),
        (json.loads(mixing), []),
        (flip | {"unit": {"max_size": 1, "reports": "many"}}, []),
        (flip | {"unit": {"max_size": 1, "reports": 1, "state_sizes_to": 2}}, ["a", "b"]),
        (flip | {"mechanism": flip["mechanism"] | {"keep": {"items": [["a", 0.9]]}, "default": 5}}, ["b"]),
        (flip | {"mechanism": {"name": "cut_and_paste", "cutoff": [[0, 1], [1, 1]], "insert": [[0, 0.5]]}}, ["a"]),
        (flip | {"mechanism": {"name": "select_a_size", "kept": [[1, [0.5, 0.5]]], "insert": [[0, 0.5]]}}, ["a"]),
    ]
    found = run(
        [{"plan": json.dumps(plan), "record": record} for plan, record in wrong] + [{"plan": "{", "record": []}]
    )
    assert all(isinstance(one, dict) and "refused" in one for one in found), found


def spoiled(value: Any, rng: np.random.Generator) -> Any:
    """The JSON value with one part of it changed for another, taken away or repeated."""
    junk: list[Any] = [None, True, -1, 0, 0.5, 1e308, 2**53, "", "a", [], [[]], {}, {"items": []}, [0, 1], "x" * 100]
    if isinstance(value, dict) and value and rng.random() < 0.85:
        name = list(value)[int(rng.integers(len(value)))]
        return {key: spoiled(one, rng) if key == name else one for key, one in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = int(rng.integers(len(value)))
        how = rng.random()
        if how < 0.2:
            return value[:at] + value[at + 1 :]
        return [*value, value[at]] if how < 0.3 else [*value[:at], spoiled(value[at], rng), *value[at + 1 :]]
    return junk[int(rng.integers(len(junk)))]


@needs_node
@pytest.mark.slow
def test_spoiled_plans_are_refused_or_read_as_python_reads_them() -> None:
    """Nothing but a refusal comes out; what both take has the same bytes."""
    rng = np.random.Generator(np.random.PCG64(3))
    jobs = []
    for case in LOCAL:
        record = as_json(case, taken(case)[1])
        for _ in range(40):
            value = spoiled(json.loads(case.plan.json), rng)
            text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            words = ["".join(f"{int(word):016x}" for word in rng.integers(0, 1 << 63, 400)) for _ in range(6)]
            jobs.append({"plan": text, "record": record, "words": words})
    found = run(jobs)
    assert sum(isinstance(one, dict) for one in found) > len(jobs) / 2
    both = 0
    for job, one in zip(jobs, found, strict=True):
        try:
            plan = bk.Plan.from_json(job["plan"])
            expected, _ = frame(plan, job["record"], unhexed(job["words"]))
        except bk.BosketError:
            continue
        if isinstance(one, str) and plan.json == job["plan"]:
            both += 1
            assert one == expected.hex()
    assert both > 10
