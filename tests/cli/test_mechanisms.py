"""Mechanisms other than Flip on the command line: by options, by record size, and with longer records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bosket as bk
from tests.cli.conftest import Run, Study

SIZES = range(21)
"""Every size that a record of the study may have."""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "r.parquet"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Records of one, two and four items."""
    path = tmp_path / "small.dat"
    path.write_text("1\n2 3\n1 2 3 4\n" * 50)
    return path


@pytest.mark.parametrize(
    ("options", "mechanism"),
    [
        (("--cutoff", 3, "--insert", 0.2), bk.CutAndPaste(cutoff=3, insert=0.2)),
        (("--replace", 0), bk.Replace(probability=0)),
        (("--replace", 0.4), bk.Replace(probability=0.4)),
        (("--mix", 2, "--mix-keep", 0.6), bk.Mixing(others=2, keep=0.6)),
    ],
)
def test_options_make_the_mechanism(
    run: Run, study: Study, out: Path, tmp_path: Path, options: tuple[object, ...], mechanism: bk.Mechanism
) -> None:
    baskets = bk.Baskets.read(study.baskets)
    labels = [*baskets.domain.labels, *range(1000, 1030)]  # room to replace the items of long records
    items, plan = tmp_path / "items.txt", tmp_path / "plan.json"
    items.write_text("\n".join(map(str, labels)))
    result = run("randomize", study.baskets, "-o", out, *options, "--items", items, "--seed", 5, "--write-plan", plan)
    assert (result.code, result.out) == (0, "")
    assert f"Privacy of {mechanism}" in result.err
    assert bk.Reports.read(out) == mechanism.randomize(baskets, domain=bk.Domain(labels), rng=bk.Seeded(5))
    read_off = f"the largest, {baskets.sizes.max()} items, was read off the data: --max-size declares it"
    assert (read_off in result.err) == mechanism.sends_sizes
    again = tmp_path / "again.parquet"
    assert run("randomize", study.baskets, "-o", again, "--plan", plan, "--seed", 5).code == 0
    assert bk.Reports.read(again) == bk.Reports.read(out)


def test_only_mixing_says_that_it_needs_a_curator(run: Run, study: Study, out: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    mixed = run("randomize", study.baskets, "-o", out, "--mix", 2, "--mix-keep", 0.5, "--write-plan", plan)
    assert mixed.err.count("needs a curator who sees raw records") == 1
    assert "needs a curator who sees raw records" in run("randomize", study.baskets, "-o", out, "--plan", plan).err
    assert "curator" not in run("randomize", study.baskets, "-o", out, "--cutoff", 3, "--insert", 0.2).err


def test_randomize_mine_and_audit(run: Run, study: Study, out: Path, tmp_path: Path) -> None:
    assert run("randomize", study.baskets, "-o", out, "--cutoff", 2, "--insert", 0.1, "--seed", 1).code == 0
    found = tmp_path / "found.json"
    result = run("mine", out, "--min-support", 0.1, "-o", found, "--report", tmp_path / "page.html")
    assert result.code == 0
    assert "in the clear: the number of items in the record" in result.err
    truth = bk.mine(bk.Reports.read(out), min_support=0.1)
    value = json.loads(found.read_text())
    assert [row["support"] for row in value["itemsets"]] == truth.to_frame()["support"].tolist()
    assert value["about"]["parameters"] == {"name": "cut_and_paste", "cutoff": 2, "insert": 0.1}
    assert value["about"]["stopped"] == truth.about["stopped"]
    result = run("audit", study.baskets, out)
    assert result.code == 0
    assert result.out.startswith("Record size")


@pytest.mark.parametrize("command", ["mine", "rules"])
def test_a_search_that_cannot_go_on_says_so_once(run: Run, study: Study, out: Path, command: str) -> None:
    run("randomize", study.baskets, "-o", out, "--cutoff", 2, "--insert", 0.1, "--seed", 1)
    for options in ((), ("--format", "csv"), ("--format", "json")):
        result = run(command, out, "--min-support", 0.1, *options)
        assert result.code == 0
        assert result.err.count("itemsets of more than 2 items cannot be estimated from these reports") == 1
    assert "cannot be estimated" not in run(command, out, "--min-support", 0.1, "--max-size", 2).err
    assert "cannot be estimated" not in run(command, study.reports, "--min-support", 0.1).err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cutoff", 3), "The '--cutoff' option must come with --insert."),
        (("--mix", 3), "The '--mix' option must come with --mix-keep."),
        (("--keep", 0.9, "--insert", 0.2), "The '--insert' option must come with --cutoff."),
        (("--replace", 0.9, "--insert", 0), "The '--insert' option must come with --cutoff."),
        (("--sizes-file", "s.csv", "--insert", 0.2), "The '--insert' option must come with --cutoff."),
        (("--keep", 0.9, "--mix-keep", 0), "The '--mix-keep' option must come with --mix."),
        (("--cutoff", 3, "--insert", 0.2, "--keep-absent", 0.9), "must come with --keep or --keep-file."),
        (("--replace", 0.5, "--keep-absent", 0.9), "must come with --keep or --keep-file."),
        (("--mix", 2, "--mix-keep", 0.5, "--default", 0.9), "must come with --keep-file."),
        (("--plan", "{plan}", "--longer", "refuse"), "The '--longer' option must not come with --plan"),
        (("--plan", "{plan}", "--insert", 0.2), "The '--insert' option must not come with --plan"),
        (("--plan", "{plan}", "--mix-keep", 0.2), "The '--mix-keep' option must not come with --plan"),
        (("--plan", "{plan}", "--keep-absent", 0.2), "The '--keep-absent' option must not come with --plan"),
        (("--keep", 0.9, "--cutoff", 3, "--insert", 0.2), "not allowed with argument"),
        (("--replace", 0.9, "--mix", 3, "--mix-keep", 0.2), "not allowed with argument"),
        (("--cutoff", 3, "--insert", 0.2, "--sizes-file", "s.csv"), "not allowed with argument"),
    ],
)
def test_options_that_do_not_belong_together(
    run: Run, study: Study, out: Path, options: tuple[object, ...], said: str
) -> None:
    result = run("randomize", study.baskets, "-o", out, *(str(word).format(plan=study.plan) for word in options))
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert not out.exists()


class TestSizesFile:
    @pytest.mark.parametrize("name", ["sizes.csv", "sizes.json"])
    def test_cut_and_paste_by_size(self, run: Run, study: Study, out: Path, tmp_path: Path, name: str) -> None:
        cutoffs, inserts = {size: 1 + size // 2 for size in SIZES}, {size: size / 100 for size in SIZES}
        path = tmp_path / name
        if path.suffix == ".csv":
            rows = [f"{size}, {cutoffs[size]},{inserts[size]}" for size in reversed(SIZES)]
            path.write_text("\n".join(["size,cutoff,insert", *rows]))
        else:
            path.write_text(json.dumps({size: {"cutoff": cutoffs[size], "insert": inserts[size]} for size in SIZES}))
        assert run("randomize", study.baskets, "-o", out, "--sizes-file", path, "--seed", 1).code == 0
        assert bk.Reports.read(out).plan.mechanism == bk.CutAndPaste(cutoff=cutoffs, insert=inserts)

    def test_select_a_size(self, run: Run, small: Path, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "sizes.json"
        kept = {1: [0.5, 0.5], 2: [0.25, 0.5, 0.25], 4: [0.1, 0.2, 0.3, 0.2, 0.2]}
        path.write_text(json.dumps({size: {"kept": row, "insert": 0.2} for size, row in kept.items()}))
        assert run("randomize", small, "-o", out, "--sizes-file", path).code == 0
        assert bk.Reports.read(out).plan.mechanism == bk.SelectASize(kept=kept, insert=dict.fromkeys(kept, 0.2))

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("s.csv", "size,cutoff,insert\n1,3,0.2\n2,0,0.2\n", "Line 3"),
            ("s.csv", "size,cutoff,insert\n1,2.5,0.2\n", "Line 2"),
            ("s.csv", "size,cutoff,insert\n1,3,0.2\n2,many,0.2\n", "Line 3"),
            ("s.csv", "size,cutoff,insert\n1,3,1.2\n", "Line 2"),
            ("s.csv", "size,cutoff,insert\n1,3,nan\n", "Line 2"),
            ("s.csv", "size,cutoff,insert\n1,3,\n", "Line 2"),
            ("s.csv", "size,cutoff,insert\n1,3,0.2\n\n-1,3,0.2\n", "Line 4"),
            ("s.csv", "size,cutoff,insert\nmilk,3,0.2\n", "Line 2"),
            ("s.csv", "size,cutoff,insert\n1,3,0.2\n01,3,0.2\n", "Line 3"),
            ("s.csv", "size,cutoff,insert\n1,3\n", "Line 2"),
            ("s.csv", 'size,cutoff,insert\n"1,3,0.2\n', "Line 2"),
            ("s.csv", "size,cutoff\n1,3\n", "Line 1"),
            ("s.csv", "size,cutoff,insert\n", "names no record size"),
            ("s.csv", "", "is empty"),
            ("s.csv", "size,cutoff,insert\n1,3,0.2\n2,\xff,0.2\n", "Line 3"),
            ("s.json", "{}", "names no record size"),
            ("s.json", "[1]", "JSON object"),
            ("s.json", '{"1": {"cutoff": 3,\n"insert": }}', "Line 2"),
            ("s.json", '{"1": 3}', "of size 1"),
            ("s.json", '{"1": {"cutoff": 3}}', "must give cutoff and insert, or kept and insert, of size 1"),
            ("s.json", '{"1": {"cutoff": 3, "kept": [0.5, 0.5], "insert": 0.2}}', "must give cutoff and insert, or"),
            ("s.json", '{"1": {"cutoff": true, "insert": 0.2}}', "cutoff of size 1"),
            ("s.json", '{"1": {"cutoff": 3, "insert": null}}', "insert of size 1"),
            ("s.json", '{"1": {"cutoff": 3, "insert": 1' + 400 * "0" + "}}", "insert of size 1"),
            ("s.json", '{"1": {"cutoff": 3, "cutoff": 4, "insert": 0.2}}', "more than once"),
            ("s.json", '{"1": {"cutoff": 3, "insert": 0.2}, "1": {"cutoff": 3, "insert": 0.2}}', "more than once"),
            ("s.json", '{"1.5": {"cutoff": 3, "insert": 0.2}}', "'1.5'"),
            ("s.json", '{"2": {"kept": [0.5, 0.5], "insert": 0.2}}', "3 probabilities that sum to 1"),
            ("s.json", '{"1": {"kept": [0.5, 0.6], "insert": 0.2}}', "2 probabilities that sum to 1"),
            ("s.json", '{"1": {"kept": [2, -1], "insert": 0.2}}', "2 probabilities that sum to 1"),
            ("s.json", '{"1": {"kept": {"0": 0.5, "1": 0.5}, "insert": 0.2}}', "2 probabilities that sum to 1"),
            ("s.json", '{"1": {"kept": 1, "insert": 0.2}}', "2 probabilities that sum to 1"),
            (
                "s.json",
                '{"1": {"kept": [0, 1], "insert": 0.2}, "2": {"cutoff": 3, "insert": 0.2}}',
                "cutoff of all sizes, or kept of all sizes",
            ),
        ],
    )
    def test_bad_files(self, run: Run, small: Path, out: Path, tmp_path: Path, name: str, text: str, said: str) -> None:
        path = tmp_path / name
        path.write_text(text, "latin-1")
        result = run("randomize", small, "-o", out, "--sizes-file", path)
        assert result.code == 1
        assert said in result.err
        assert str(path) in result.err
        assert result.err.count("bosket: ") == 1
        assert not out.exists()

    def test_a_size_that_it_does_not_name(self, run: Run, small: Path, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "sizes.csv"
        path.write_text("size,cutoff,insert\n1,3,0.2\n4,3,0.2\n")
        result = run("randomize", small, "-o", out, "--sizes-file", path)
        assert result.code == 1
        assert "Record 2 has 2 items" in result.err
        assert not out.exists()

    def test_it_is_not_replaced_by_the_plan(self, run: Run, small: Path, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "sizes.json"
        path.write_text(json.dumps({size: {"cutoff": 3, "insert": 0.2} for size in SIZES}))
        before = path.read_text()
        assert run("randomize", small, "-o", out, "--sizes-file", path, "--write-plan", path).code == 2
        assert path.read_text() == before


class TestLonger:
    def test_sampled_records_are_counted_here_and_nowhere_else(
        self, run: Run, small: Path, out: Path, tmp_path: Path
    ) -> None:
        plan = tmp_path / "plan.json"
        options = ("--cutoff", 3, "--insert", 0.2, "--max-size", 2, "--longer", "sample")
        result = run("randomize", small, "-o", out, *options, "--seed", 1, "--write-plan", plan)
        assert result.code == 0
        assert "sampled 50 records of more than 2 items down to 2;" in result.err
        unit = bk.PrivacyUnit(max_size=2, longer="sample")
        baskets = bk.Baskets.read(small)
        expected = bk.Plan(baskets.domain, bk.CutAndPaste(cutoff=3, insert=0.2), unit)
        assert bk.Plan.from_json(plan.read_text()) == expected
        assert bk.Reports.read(out) == expected.randomize(baskets, rng=bk.Seeded(1))
        assert "sampled 50 records" in run("randomize", small, "-o", out, "--plan", plan).err
        assert "sampled down to 2 items first" in run("mine", out, "--min-support", 0.1).err

    def test_records_may_state_their_size(self, run: Run, small: Path, out: Path, tmp_path: Path) -> None:
        plan = tmp_path / "plan.json"
        options = ("--keep", 0.9, "--max-size", 2, "--longer", "sample", "--state-sizes-to", 4, "--size-epsilon", 2)
        result = run("randomize", small, "-o", out, *options, "--seed", 1, "--write-plan", plan)
        assert result.code == 0
        assert "epsilon 2 for the size is part of it" in result.err
        unit = bk.PrivacyUnit(max_size=2, longer="sample", state_sizes_to=4, size_epsilon=2.0)
        assert bk.Plan.from_json(plan.read_text()).unit == unit
        mined = run("mine", out, "--min-support", 0.1)
        assert "reports state their size, and supports are of whole records" in mined.err
        assert "supports are those of whole records" in mined.err
        assert "support_of" in run("mine", out, "--min-support", 0.1, "--format", "csv").out

    @pytest.mark.parametrize(
        "options",
        [
            ("--state-sizes-to", 4),  # nothing is cut
            ("--max-size", 2, "--longer", "sample", "--size-epsilon", 1),  # no size is stated
            ("--max-size", 2, "--longer", "sample", "--state-sizes-to", 2),
        ],
    )
    def test_sizes_are_stated_where_records_are_cut(
        self, run: Run, small: Path, out: Path, options: tuple[object, ...]
    ) -> None:
        assert run("randomize", small, "-o", out, "--keep", 0.9, *options).code != 0
        assert not out.exists()

    def test_the_sizes_file_sets_the_limit(self, run: Run, small: Path, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "sizes.csv"
        path.write_text("size,cutoff,insert\n1,3,0.2\n2,3,0.2\n")
        assert run("randomize", small, "-o", out, "--sizes-file", path).code == 1
        assert run("randomize", small, "-o", out, "--sizes-file", path, "--longer", "refuse").code == 1
        assert not out.exists()
        result = run("randomize", small, "-o", out, "--sizes-file", path, "--longer", "sample")
        assert result.code == 0
        assert "sampled 50 records of more than 2 items down to 2;" in result.err

    def test_one_record_of_one_item(self, run: Run, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "two.dat"
        path.write_text("1 2\n2\n")
        result = run("randomize", path, "-o", out, "--keep", 0.9, "--max-size", 1, "--longer", "sample")
        assert result.code == 0
        assert "sampled 1 record of more than 1 item down to 1;" in result.err

    def test_without_a_limit_it_makes_no_sense(self, run: Run, small: Path, out: Path) -> None:
        result = run("randomize", small, "-o", out, "--cutoff", 3, "--insert", 0.2, "--longer", "sample")
        assert result.code == 2
        assert "must come with a 'max_size'" in result.err
        assert not out.exists()

    def test_nothing_is_said_where_longer_records_are_refused(self, run: Run, small: Path, out: Path) -> None:
        result = run("randomize", small, "-o", out, "--cutoff", 3, "--insert", 0.2, "--max-size", 4)
        assert result.code == 0
        assert "sampled" not in result.err
