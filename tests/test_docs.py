"""The README and the tutorial run as they are printed, and the pages they link to exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_python_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_links_lead_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    assert len(links) > 10
    for page, target in links:
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_test_that_a_page_names_exists() -> None:
    """A claim names its test; a test that was renamed must not leave the claim behind."""
    paths = list((ROOT / "tests").rglob("*.py"))
    tests, modules = "\n".join(path.read_text() for path in paths), {path.stem for path in paths}
    for page in PAGES:
        for name in re.findall(r"\b(test_[a-z0-9_]+|Test[A-Z][A-Za-z]+)\b(?!\.py)", page.read_text()):
            assert name in modules or re.search(rf"(def|class) {name}\b", tests), f"{page.name} names {name}"
