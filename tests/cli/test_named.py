"""``--mechanism``: any mechanism by name, and one from outside the package, all the way."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from tests.cli.conftest import Run, Study

MODULE = "tests.outside.thin"
THIN = f"{MODULE}:Thin"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has imported a mechanism from outside yet; what a test imports is forgotten after it."""
    for name in [name for name in sys.modules if name.startswith("tests.outside.")]:
        monkeypatch.delitem(sys.modules, name)
    own = {name: known for name, known in bk.Mechanism.registry.items() if known.__module__.startswith("bosket.")}
    monkeypatch.setattr(bk.Mechanism, "registry", own)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "r.parquet"


def thin(**parameters: object) -> bk.Mechanism:
    from tests.outside.thin import Thin

    return Thin(**parameters)  # type: ignore[arg-type]


class TestFromOutside:
    def test_all_the_way(self, run: Run, study: Study, out: Path, tmp_path: Path) -> None:
        """Plan, randomize, write, read, mine, rules, audit: by the command line and by the library."""
        plan = tmp_path / "plan.json"
        options = ("--mechanism", THIN, "--set", "keep=0.9", "--set", "coins=2", "--seed", 5, "--write-plan", plan)
        result = run("randomize", study.baskets, "-o", out, *options)
        assert (result.code, result.out) == (0, ""), result.err
        assert "Privacy of Thin(keep=0.9, coins=2)" in result.err
        assert '"mechanism":{"coins":2,"floor":null,"keep":0.9,"name":"thin"}' in plan.read_text()
        baskets = bk.Baskets.read(study.baskets)
        expected = thin(keep=0.9, coins=2).randomize(baskets, rng=bk.Seeded(5))
        assert bk.Reports.read(out) == expected
        assert bk.Plan.from_json(plan.read_text()) == expected.plan
        again = tmp_path / "again.parquet"
        settled = run("randomize", study.baskets, "-o", again, "--mechanism", THIN, "--plan", plan, "--seed", 5)
        assert settled.code == 0, settled.err
        assert bk.Reports.read(again) == expected
        for command in ("mine", "rules"):
            found = tmp_path / f"{command}.csv"
            result = run(command, out, "--mechanism", THIN, "--min-support", 0.1, "-o", found)
            assert result.code == 0, result.err
            assert "Thin(keep=0.9, coins=2)" in result.err
            assert len(found.read_text().splitlines()) > 5
        truth = bk.mine(baskets, min_support=0.1).to_frame()
        frame = bk.mine(expected, min_support=0.1).to_frame()
        both = truth.merge(frame, on="itemsets", suffixes=("_true", ""))
        assert len(both) > 10
        assert (np.abs(both["support_true"] - both["support"]) < 6 * both["stderr"]).all()
        assert run("audit", study.baskets, out, "--mechanism", THIN).code == 0

    def test_by_item_from_a_file(self, run: Run, study: Study, out: Path, tmp_path: Path) -> None:
        labels = bk.Baskets.read(study.baskets).domain.labels
        keeps = {label: 0.5 + index / 100 for index, label in enumerate(labels)}
        path = tmp_path / "keeps.csv"
        path.write_text("item,keep\n" + "".join(f"{label},{number}\n" for label, number in keeps.items()))
        options = ("--mechanism", THIN, "--set", f"keep=@{path}", "--seed", 1)
        result = run("randomize", study.baskets, "-o", out, *options)
        assert result.code == 0, result.err
        assert bk.Reports.read(out).plan.mechanism == thin(keep=keeps)
        path.write_text("item,keep\n1,1.5\n")
        wrong = run("randomize", study.baskets, "-o", out, *options)
        assert wrong.code == 1
        assert "Line 2" in wrong.err

    def test_a_file_of_values_is_not_replaced(self, run: Run, study: Study, out: Path, tmp_path: Path) -> None:
        path = tmp_path / "keeps.json"
        labels = bk.Baskets.read(study.baskets).domain.labels
        path.write_text(json.dumps({str(label): 0.9 for label in labels}))
        before = path.read_text()
        words = ("--mechanism", THIN, "--set", f"keep=@{path}")
        result = run("randomize", study.baskets, "-o", out, *words, "--write-plan", path)
        assert result.code == 2
        assert "must not be another file of the same command" in result.err
        assert path.read_text() == before
        assert run("randomize", study.baskets, "-o", out, *words).code == 0
        path.write_text('{"77": 0.9}')
        wrong = run("randomize", study.baskets, "-o", out, *words)
        assert wrong.code == 1
        assert "names an item that the domain does not have, '77'" in wrong.err
        path.write_text('{"3": {"keep": 0.9, "keep_absent": 0.5}}')
        assert "must give keep of '3'" in run("randomize", study.baskets, "-o", out, *words).err

    def test_help_tells_what_was_declared(self, run: Run) -> None:
        result = run("randomize", "--mechanism", THIN, "--help")
        assert result.code == 0
        told = " ".join(result.out.split())
        assert "Parameters of thin, by --set PARAMETER=VALUE" in told
        assert "probability that one coin lets a present item stay, 50% and more (a number in [0, 1]" in told
        assert "how many coins an item must pass (a whole number, at least 1 and at most 10; default 1)" in told
        assert "(a number above 0 and at most 1; may be left out)" in told
        assert "Parameters of" not in run("randomize", "--help").out

    def test_options_of_others_are_not_changed(self, run: Run) -> None:
        """A mechanism from outside adds no option, or it could take the place of one."""
        before = run("randomize", "--help").out
        thin(keep=0.9)
        assert run("randomize", "--help").out == before

    @pytest.mark.parametrize(
        ("settings", "said"),
        [
            ((), "The 'keep' parameter of Thin must be given, as in --set keep=VALUE."),
            (("keep=1.5",), "The 'keep' parameter of Thin must lie in [0, 1], got 1.5."),
            (("keep=much",), "The 'keep' parameter of Thin must be a number, got 'much'."),
            (("keep=",), "The 'keep' parameter of Thin must be a number, got ''."),
            (("keep=0.5", "coins=1.5"), "The 'coins' parameter of Thin must be a whole number, got '1.5'."),
            (("keep=0.5", "coins=11"), "at least 1 and at most 10, got 11."),
            (("keep=0.5", "coins=@f.csv"), "must be a whole number, at least 1 and at most 10, and cannot come from a"),
            (("keep=0.5", "floor=0"), "must be a number above 0 and at most 1, got 0.0."),
            (("keep=0.5", "keep=0.6"), "The 'keep' parameter of Thin is set twice."),
            (("keep=0.5", "floor=0.6"), "must keep items with at least 0.6"),
            (("keeps=0.5",), "The mechanism Thin has no parameter 'keeps'; it has keep, coins, floor."),
            (("keep",), "must be PARAMETER=VALUE, got 'keep'"),
            (("=0.5",), "must be PARAMETER=VALUE, got '=0.5'"),
        ],
    )
    def test_parameters_that_are_refused(
        self, run: Run, study: Study, out: Path, settings: tuple[str, ...], said: str
    ) -> None:
        words = [word for text in settings for word in ("--set", text)]
        result = run("randomize", study.baskets, "-o", out, "--mechanism", THIN, *words)
        assert (result.code, result.out) == (2, "")
        assert said in result.err
        assert not out.exists()

    def test_a_misspelled_parameter_is_guessed(self, run: Run, study: Study, out: Path) -> None:
        result = run("randomize", study.baskets, "-o", out, "--mechanism", THIN, "--set", "kepe=0.5")
        assert "Did you mean 'keep'?" in result.err


class TestReading:
    @pytest.fixture
    def reports(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Reports by a mechanism from outside, read where nobody has imported it."""
        path = tmp_path / "thin.parquet"
        thin(keep=0.9).randomize(bk.Baskets([["a", "b"], ["a"]] * 50), rng=bk.Seeded(1)).write(path)
        monkeypatch.delitem(sys.modules, MODULE)
        monkeypatch.delitem(bk.Mechanism.registry, "thin")
        return path

    @pytest.mark.parametrize("command", ["mine", "rules"])
    def test_a_mechanism_that_is_missing_is_named(self, run: Run, reports: Path, command: str) -> None:
        result = run(command, reports, "--min-support", 0.5)
        assert result.code == 1
        assert "The mechanism 'thin' of this plan is not known here." in result.err
        assert "--mechanism module:Class" in result.err
        assert MODULE not in sys.modules
        assert run(command, reports, "--min-support", 0.5, "--mechanism", THIN).code == 0

    def test_a_plan_never_causes_an_import(self, run: Run, reports: Path, tmp_path: Path) -> None:
        """Whatever the name in it is: only the command line may name a module."""
        text = bk.Plan(bk.Domain(["a"]), bk.Flip(keep=0.9)).json
        for name in (THIN, MODULE, "tests.outside.thin.Thin", "antigravity:fly", "thin"):
            with pytest.raises(bk.DataError) as caught:
                bk.Plan.from_json(text.replace('"flip"', f'"{name}"'))
            assert "is not known here" in str(caught.value)
            plan = tmp_path / "plan.json"
            plan.write_text(text.replace('"flip"', f'"{name}"'))
            assert run("randomize", reports, "-o", tmp_path / "o.parquet", "--plan", plan).code == 1
        with pytest.raises(bk.DataError, match="thin"):
            bk.Reports.read(reports)
        assert MODULE not in sys.modules
        assert "antigravity" not in sys.modules

    def test_reports_of_another_mechanism_are_refused(self, run: Run, study: Study, reports: Path) -> None:
        for path, name, by in ((study.reports, THIN, "flip"), (reports, "flip", "thin")):
            thin(keep=0.5)
            result = run("mine", path, "--min-support", 0.5, "--mechanism", name)
            assert result.code == 1
            assert f"were made by the mechanism '{by}'" in result.err

    def test_raw_records_were_made_by_none(self, run: Run, study: Study) -> None:
        result = run("mine", study.baskets, "--min-support", 0.5, "--mechanism", THIN)
        assert result.code == 2
        assert "The '--mechanism' option must come with reports" in result.err

    def test_a_plan_of_another_mechanism_is_refused(self, run: Run, study: Study, out: Path) -> None:
        result = run("randomize", study.baskets, "-o", out, "--mechanism", THIN, "--plan", study.plan)
        assert result.code == 1
        assert "'flip'" in result.err
        assert not out.exists()


class TestNames:
    @pytest.mark.parametrize(
        ("name", "settings", "mechanism"),
        [
            ("flip", ["keep=0.9"], bk.Flip(keep=0.9)),
            ("cut_and_paste", ["cutoff=3", "insert=0.2"], bk.CutAndPaste(cutoff=3, insert=0.2)),
            ("mixing", ["others=2", "keep=0.6"], bk.Mixing(others=2, keep=0.6)),
        ],
    )
    def test_by_a_registered_name(
        self, run: Run, study: Study, out: Path, name: str, settings: list[str], mechanism: bk.Mechanism
    ) -> None:
        words = [word for text in settings for word in ("--set", text)]
        assert run("randomize", study.baskets, "-o", out, "--mechanism", name, *words).code == 0
        assert bk.Reports.read(out).plan.mechanism == mechanism

    def test_by_size_from_a_file(self, run: Run, out: Path, tmp_path: Path) -> None:
        small = tmp_path / "small.dat"
        small.write_text("1\n2 3\n" * 50)
        kept, insert = tmp_path / "kept.json", tmp_path / "insert.csv"
        kept.write_text('{"1": [0.5, 0.5], "2": [0.2, 0.3, 0.5]}')
        insert.write_text("size,insert\n1,0.1\n2,0.2\n")
        words = ("--mechanism", "select_a_size", "--set", f"kept=@{kept}", "--set", f"insert=@{insert}")
        result = run("randomize", small, "-o", out, *words)
        assert result.code == 0, result.err
        expected = bk.SelectASize(kept={1: [0.5, 0.5], 2: [0.2, 0.3, 0.5]}, insert={1: 0.1, 2: 0.2})
        assert bk.Reports.read(out).plan.mechanism == expected
        alone = run(
            "randomize", small, "-o", out, "--mechanism", "select_a_size", "--set", "kept=1", "--set", "insert=1"
        )
        assert "The 'kept' parameter of SelectASize must be a file, written @FILE, got '1'." in alone.err
        kept.write_text('{"1": [0.5, 0.6]}')
        wrong = run("randomize", small, "-o", out, *words)
        assert wrong.code == 1
        assert "2 probabilities that sum to 1" in wrong.err

    @pytest.mark.parametrize("way", ["plan", "design", "by size", "keeps"])
    @pytest.mark.parametrize(("cap", "largest"), [("2k", "2,000"), ("none", "4,000")])
    def test_files_of_a_plan_or_a_parameter_have_the_cap(
        self, run: Run, study: Study, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, cap: str,
        largest: str,
    ) -> None:  # fmt: skip
        """--max-bytes, or what the longest text of JSON may take, whichever is less."""
        monkeypatch.setattr("bosket.cli.inputs.rows.MOST_CHARACTERS", 1000, raising=False)
        packed, csv = tmp_path / "x.json.gz", tmp_path / "x.csv"
        packed.write_bytes(gzip.compress(b"[" + b" " * 5000 + b"]"))
        csv.write_text("size,insert\n" + "1,0.1\n" * 1000)
        words, path = {
            "plan": (("--plan", packed), packed),
            "design": (("--mechanism", "ask", "--set", f"design=@{packed}", "--set", "gamma=19"), packed),
            "by size": (("--mechanism", "cut_and_paste", "--set", f"insert=@{csv}", "--set", "cutoff=3"), csv),
            "keeps": (("--keep-file", csv), csv),
        }[way]
        raw = tmp_path / "few.dat"
        raw.write_text("1 2\n")
        result = run("randomize", raw, "-o", out, *words, "--max-bytes", cap)
        assert (result.code, result.out) == (1, "")
        assert f"{path} must hold at most {largest} bytes" in result.err

    def test_a_table_where_one_is_needed(self, run: Run, study: Study, out: Path) -> None:
        result = run("randomize", study.baskets, "-o", out, "--mechanism", "gamma_diagonal", "--set", "gamma=19")
        assert result.code == 2
        assert "The '--mechanism' option must come with --table where it is gamma_diagonal." in result.err

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("flop", "must be one of ask, ask_baskets, cut_and_paste, flip, "),
            (
                "no_such_module:Thin",
                "there is no module 'no_such_module'. Install it, or name its folder in PYTHONPATH.",
            ),
            ("tests.outside.no_such:Thin", "there is no module 'tests.outside.no_such'"),
            ("tests.outside.thin:Thick", "the module 'tests.outside.thin' has no 'Thick'"),
            ("tests.outside.wrong:NotOne", "it is not a Mechanism"),
            ("tests.outside.wrong:NUMBER", "it is not a Mechanism"),
            ("tests.outside.wrong:Unfinished", "it does not say its channel and guarantee"),
            (
                "tests.outside.wrong:Nameless",
                "no name of its own but 'flip', which is that of bosket.mechanisms.flip.Fl",
            ),
            ("bosket.mechanisms:Mechanism", "it does not say its channel and guarantee"),
            ("", "must be one of ask, ask_baskets, cut_and_paste"),
            (":", "it must be written module:Class"),
            (":Thin", "it must be written module:Class"),
            ("tests.outside.thin:", "it must be written module:Class"),
            ("../thin:Thin", "it must be written module:Class"),
            ("..thin:Thin", "it must be written module:Class"),
            ("tests.outside.thin:Thin:x", "it must be written module:Class"),
        ],
    )
    @pytest.mark.parametrize("command", ["randomize", "mine"])
    def test_names_that_are_refused(
        self, run: Run, study: Study, out: Path, command: str, name: str, said: str
    ) -> None:
        words = ("-o", out) if command == "randomize" else ("--min-support", 0.5)
        result = run(command, study.baskets, "--mechanism", name, *words)
        assert (result.code, result.out) == (2, "")
        assert said in result.err
        assert result.err.startswith("bosket: argument --mechanism: ")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("1 / 0", "importing 'broken' ended with ZeroDivisionError: division by zero."),
            ("import no_such_module", "importing 'broken' ended with ModuleNotFoundError: No module named 'no_such_"),
            ("import sys; sys.exit(0)", "importing 'broken' ended with SystemExit: 0."),
            ("this is no Python", "importing 'broken' ended with SyntaxError"),
            (
                "import bosket as bk\nclass Thin(bk.Flip):\n    name = 'flip'",
                "The 'name' of the mechanism broken.Thin must be one that no other has, got 'flip', which is that of "
                "bosket.mechanisms.flip.Flip.",
            ),
        ],
    )
    def test_modules_that_cannot_be_imported(
        self, run: Run, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
    ) -> None:
        (tmp_path / "broken.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        result = run("mine", study.reports, "--mechanism", "broken:Thin", "--min-support", 0.5)
        assert (result.code, result.out) == (2, "")
        assert said in result.err
        assert bk.Mechanism.registry["flip"] is bk.Flip

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (
                ("--keep", 0.9, "--mechanism", "flip", "--set", "keep=0.9"),
                "The '--keep' option must not come with --mech",
            ),
            (("--keep", 0.9, "--set", "keep=0.9"), "The '--set' option must come with --mechanism."),
            (("--plan", "{plan}", "--set", "keep=0.9"), "The '--set' option must not come with --plan"),
            (
                ("--mechanism", "flip", "--set", "keep=0.9", "--spread", 0.1),
                "The '--spread' option must come with --gamma",
            ),
            ((), "one of the arguments --keep"),
        ],
    )
    def test_options_that_do_not_belong_together(
        self, run: Run, study: Study, out: Path, words: tuple[object, ...], said: str
    ) -> None:
        result = run("randomize", study.baskets, "-o", out, *(str(word).format(plan=study.plan) for word in words))
        assert (result.code, result.out) == (2, "")
        assert said in result.err
        assert not out.exists()
