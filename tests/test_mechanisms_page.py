"""docs/mechanisms.md says what the mechanisms declare; ``python -m tests.test_mechanisms_page`` writes it anew."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import pytest

import bosket as bk
from bosket.cli.inputs.named import find_mechanism
from bosket.mechanisms.mappings import Mapped
from bosket.mechanisms.parameters import Parameter, declared_by

PAGE = Path(__file__).parent.parent / "docs" / "mechanisms.md"
BEGIN = "<!-- written from the declarations by tests/test_mechanisms_page.py -->"


def own() -> list[type[bk.Mechanism]]:
    known = [known for known in bk.Mechanism.registry.values() if known.__module__.startswith("bosket.")]
    return sorted(known, key=lambda mechanism: mechanism.name)


def section(mechanism: type[bk.Mechanism]) -> str:
    """Name, what it does, and each parameter with its kind, default, help and option."""
    purpose = " ".join((inspect.getdoc(mechanism) or "").split("\n\n")[0].split()).replace("``", "`")
    notes = [
        *(["Needs a curator who sees raw records."] if mechanism.needs_curator else []),
        *(["For tables only."] if mechanism.needs_table else []),
        *(["Sends the size of a record as it is."] if mechanism.sends_sizes else []),
    ]
    if mechanism.file_option is not None:
        notes.append(f"`--{mechanism.file_option.name.replace('_', '-')} FILE` gives it by {_key(mechanism)}.")
    rows = [row(one) for one in declared_by(mechanism)]
    return "\n".join(
        [
            f"## `{mechanism.__name__}`, by name `{mechanism.name}`",
            "",
            " ".join([purpose, *notes]),
            "",
            "| parameter | must be | default | option | says |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _key(mechanism: type[bk.Mechanism]) -> str:
    keys = {one.kind.key for one in declared_by(mechanism) if isinstance(one.kind, Mapped)}
    (key,) = keys
    return {"item": "item", "size": "record size"}[key]


def row(one: Parameter) -> str:
    default = "" if one.is_required else "none" if one.default is None else f"`{one.kind.short(one.default)}`"
    option = "" if one.option is None else f"`--{one.option.name.replace('_', '-')} {one.option.metavar}`"
    return f"| `{one.name}` | {one.kind.must} | {default} | {option} | {one.help} |"


def sections() -> str:
    return "\n".join(section(mechanism) for mechanism in own())


def test_the_page_says_what_is_declared() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].strip() == sections().strip()


@pytest.mark.parametrize("mechanism", own(), ids=lambda mechanism: mechanism.name)
def test_every_mechanism_is_on_the_page(mechanism: type[bk.Mechanism]) -> None:
    text = PAGE.read_text()
    assert f"`{mechanism.name}`" in text
    for one in declared_by(mechanism):
        assert one.help in text


def test_the_mechanism_on_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of one from outside: it keeps its plan, and its estimates lie around the truth."""
    monkeypatch.setattr(bk.Mechanism, "registry", dict(bk.Mechanism.registry))
    monkeypatch.setitem(sys.modules, "on_the_page", sys)
    monkeypatch.delitem(sys.modules, "on_the_page")  # and again after the test
    text = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    (tmp_path / "on_the_page.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    made = find_mechanism("on_the_page:Forget")(keep=0.5)  # type: ignore[call-arg]
    baskets = bk.Baskets([["a", "b"], ["a"], ["b", "c"], []] * 500)
    reports = made.randomize(baskets, rng=bk.Seeded(3))
    assert bk.Plan.from_json(reports.plan.json) == reports.plan
    found = bk.estimate(reports, [{"a"}, {"a", "b"}])
    assert (abs(found.value - [0.5, 0.25]) < 6 * found.stderr).all()
    assert "is there for certain" in reports.guarantee.card()


if __name__ == "__main__":
    before = PAGE.read_text().partition(BEGIN)[0] if PAGE.exists() else "# Mechanisms\n\n"
    PAGE.write_text(f"{before}{BEGIN}\n\n{sections()}")
