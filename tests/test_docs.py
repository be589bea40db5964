"""Pages for users run as they are printed, and the pages they link to exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from bosket.cli import main

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(pytest.param(f"docs/{page}.md", marks=pytest.mark.slow) for page in ("planning", "scale", "tutorial")),
    ],
)
def test_python_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def run_survey(folder: Path, monkeypatch: pytest.MonkeyPatch, n_questions: int) -> None:
    """The blocks of the page for surveys one after the other, in Python and from a shell."""
    monkeypatch.chdir(folder)
    blocks = re.findall(r"```(python|sh)\n(.*?)```", (ROOT / "docs/survey.md").read_text(), re.DOTALL)
    names: dict[str, object] = {}
    commands = 0
    for language, block in blocks:
        if language == "python":
            fewer = block.replace("people = pd.DataFrame(", f"del questions[{n_questions}:]\npeople = pd.DataFrame(")
            exec(compile(fewer, "docs/survey.md", "exec"), names)
            continue
        for line in block.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
            commands += 1
    assert len(names["questions"]) == n_questions  # type: ignore[arg-type]  # a list
    assert commands >= 5


@pytest.mark.filterwarnings("ignore::bosket.BosketWarning")  # the page shows some
def test_the_page_for_surveys_runs_with_fewer_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_survey(tmp_path, monkeypatch, 5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bosket.BosketWarning")
def test_the_page_for_surveys_runs_as_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_survey(tmp_path, monkeypatch, 16)


def test_links_lead_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    assert len(links) > 10
    for page, target in links:
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_test_that_a_page_names_exists() -> None:
    """A claim names its test; a test that was renamed must not leave the claim behind."""
    paths = list((ROOT / "tests").rglob("*.py"))
    known = {path.stem for path in paths}.union(
        *(re.findall(r"\b(?:def|class) (\w+)", path.read_text()) for path in paths)
    )
    for page in PAGES:
        for name in re.findall(r"\b(test_[a-z0-9_]+|Test[A-Z][A-Za-z]+)\b(?!\.py)", page.read_text()):
            assert name in known, f"{page.name} names {name}"
