"""The direction of imports: every module may use what stands before it in the house, nothing behind it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path

import pytest

import bosket

ROOT = Path(bosket.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
HOUSE = re.findall(r"^(\w+) {2,}\S.*$", PAGE.read_text("utf-8").split("## The rooms")[1], flags=re.MULTILINE)
"""The rooms in the order of the page: each may use those before it."""
FLOOR = {room: floor for floor, room in enumerate(HOUSE)}
DOORWAYS = {  # docs/decisions/0010
    ("mechanisms/base.py", "plan"),
    ("plan.py", "reports"),
    ("mechanisms/questions/designs.py", "planning"),
    ("data/baskets/records.py", "disk"),
}


@cache
def text(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text(path))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(parsed(path)))


def calls_of(path: Path) -> Iterator[ast.Call]:
    return (node for node in nodes(path) if isinstance(node, ast.Call))


@cache
def seen_imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Imports of a module, inside functions too; not those for type checking alone.  Expressions hold none."""
    found: list[ast.Import | ast.ImportFrom] = []
    ahead: list[ast.AST] = [parsed(path)]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif not (isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"):
            ahead += (part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.expr))
    return found


def imports(path: Path) -> Iterator[str]:
    """The rooms that a module imports from."""
    for node in seen_imports(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            names = [node.module or ""] if node.module != "bosket" else [f"bosket.{alias.name}" for alias in node.names]
        else:
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("bosket."):
                yield name.split(".")[1]


def imported(path: Path, known: Container[str]) -> Iterator[str]:
    """The modules that a module imports, or imports names from."""
    for node in seen_imports(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in known else node.module for name in inner)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"]


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_the_page_lists_every_room() -> None:
    assert {room_of(path) for path in modules()} == set(FLOOR)
    assert len(HOUSE) == len(FLOOR), "once each"


def test_imports_point_one_way() -> None:
    wrong = []
    seen = set()
    for path in modules():
        name = path.relative_to(ROOT).as_posix()
        for used in imports(path):
            if (name, used) in DOORWAYS:
                seen.add((name, used))
            elif used != room_of(path) and FLOOR[used] > FLOOR[room_of(path)]:
                wrong.append(f"{name} imports {used}")
    assert not wrong
    assert seen == DOORWAYS, "a doorway that nobody uses should be closed"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("bosket", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def graph() -> dict[str, set[str]]:
    """Which module imports which, those inside functions too."""
    known = {module_name(path): path for path in modules()}
    return {name: {used for used in imported(path, known) if used in known} - {name} for name, path in known.items()}


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Modules that reach each other, by what they reach."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for used in graph[ahead.pop()] - seen:
                seen.add(used)
                ahead.append(used)
        reached[start] = seen
    found = [{other for other in reached[name] if name in reached[other]} for name in graph]
    return [part for at, part in enumerate(found) if part and part not in found[:at]]


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Inside a package too, and whether an import stands at the top or in a function."""
    without_doorways = graph()
    for path, room in DOORWAYS:
        without_doorways[module_name(ROOT / path)].discard(f"bosket.{room}")
    assert circles(without_doorways) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [{"b", "c"}], "the search finds one"


def test_no_function_shadows_its_module() -> None:
    """``from bosket.mining import mine`` must not give a module or a function by the order of imports."""
    for path in modules():
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert node.name != path.stem, path


def types_of(path: Path) -> Iterator[str]:
    """Classes and names for types that a module defines for others: not type variables, nor what begins with _."""
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign) and not (
            isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "TypeVar"
        ):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        else:
            continue
        yield from (name for name in names if name[0].isupper() and not name.isupper())


def test_one_name_is_one_type() -> None:
    """A reader who knows what Strata or Words are in one room knows it in all."""
    where: dict[str, Path] = {}
    for path in modules():
        for name in types_of(path):
            assert where.setdefault(name, path) == path, f"{name} is defined in {path} too"
    assert len(where) > 200


def test_miners_only_ever_see_evidence() -> None:
    """What mines, measures and shows knows no mechanism: a new one changes nothing there."""
    for path in modules():
        if room_of(path) in ("mining", "measures", "reporting"):
            assert "mechanisms" not in set(imports(path)), path


@pytest.mark.slow
def test_importing_changes_nothing() -> None:
    """No threads, no random state, no warnings filters, no pictures library, no heavy extras."""
    program = (
        "import sys, threading, warnings, logging, random\n"
        "import numpy as np, pandas, pyarrow, numba\n"
        "def state():\n"
        "    handlers = len(logging.root.handlers)\n"
        "    return threading.active_count(), list(warnings.filters), handlers, random.getstate()\n"
        "before = state()\n"
        "import bosket\n"
        "assert before == state()\n"
        "assert not {'matplotlib', 'rich', 'fim', 'mlxtend', 'pyspark'} & set(sys.modules), 'imported too much'\n"
        "for name in bosket.__all__:\n"
        "    assert getattr(bosket, name) is not None\n"
        "assert set(bosket.__all__) <= set(dir(bosket))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_is_quick() -> None:
    """Libraries are loaded where they are first used; ``make bench`` measures the time."""
    program = "import sys, bosket; assert not {'numpy', 'pandas', 'numba', 'pyarrow', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_no_prints_outside_the_command_line() -> None:
    for path in modules():
        if room_of(path) != "cli" and "print(" in text(path):
            assert not [call for call in calls_of(path) if getattr(call.func, "id", "") == "print"], path


SIMULATIONS = {
    "data/generator.py",
    "data/generator_kernels.py",
    "research/benchmarks/of_questions.py",
    "research/benchmarks/of_reports.py",
    "research/benchmarks/of_tables.py",
    "research/coverage.py",
    "research/reproduce/esag_data.py",
    "research/reproduce/orders.py",
    "research/reproduce/re.py",
}
"""Modules that make up data, or repeat a study, from a seed that they are given: what they draw protects nobody."""
OTHER_CHANCE = {"numpy.random", "random", "scipy.stats.qmc", "uuid"}
WORDS_OF_CHANCE = re.compile("random|qmc|uuid|rvs")
"""A module without any of them, ``urandom`` included, has none of the names that are looked for."""


def chance_of(path: Path) -> Iterator[ast.AST]:
    """Every place where a module reaches for chance that is not bosket.randomness."""
    if not WORDS_OF_CHANCE.search(text(path)):
        return
    for node in nodes(path):
        if isinstance(node, ast.Import) and {alias.name for alias in node.names} & OTHER_CHANCE:
            yield node
        elif isinstance(node, ast.ImportFrom):
            names = {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
            if names & OTHER_CHANCE:
                yield node
        elif isinstance(node, ast.Attribute) and (
            node.attr in ("rvs", "urandom")
            or (node.attr == "random" and getattr(node.value, "id", "") in ("np", "numpy"))
        ):
            yield node


def test_chance_comes_from_one_place() -> None:
    users = {path.relative_to(ROOT).as_posix() for path in modules() if any(chance_of(path))}
    assert users == SIMULATIONS | {"randomness/streams.py"}, "which takes its key from the operating system"


def test_simulations_are_told_their_seed() -> None:
    """A generator without one would be seeded by the system, silently, and still protect nobody."""
    calls = 0
    for name in sorted(SIMULATIONS):
        for call in calls_of(ROOT / name):
            if getattr(call.func, "attr", "") in ("default_rng", "PCG64", "SeedSequence"):
                calls += 1
                assert call.args, f"{name}, line {call.lineno}"
                assert not (isinstance(call.args[0], ast.Constant) and call.args[0].value is None)
    assert calls > 5


def test_the_search_for_other_chance_finds_it(tmp_path: Path) -> None:
    lines = (
        "import numpy as np\nrng = np.random.default_rng(1)",
        "import random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "from scipy import stats\nstats.norm.rvs(3)",
        "import os\nos.urandom(3)",
    )
    for at, line in enumerate(lines):
        path = tmp_path / f"module{at}.py"  # one name each: what was parsed is kept
        path.write_text(line)
        assert any(chance_of(path)), line
