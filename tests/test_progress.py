"""One progress protocol: whatever takes ``on_progress`` calls it with a LevelProgress."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import bosket as bk
from bosket.progress import LevelProgress

SOURCE = Path(bk.__file__).parent
OF_COUNTERS = {"supports", "shown", "_pairs", "_added", "added", "_summed"}
"""What a counter does hears how many itemsets are done, from whoever has a Meter for them."""


def signatures() -> list[tuple[str, str, str]]:
    """Every ``on_progress`` of the library: where, of which function, and its annotation."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef):
                continue
            for argument in (*node.args.args, *node.args.kwonlyargs):
                if argument.arg == "on_progress" and argument.annotation is not None:
                    name = path.relative_to(SOURCE).as_posix()
                    found.append((name, node.name, ast.unparse(argument.annotation)))
    return found


@pytest.mark.slow
def test_every_on_progress_is_the_same() -> None:
    allowed = {"Progress | None", "Progress", "Callable[[LevelProgress], None] | None"}
    inner = "Callable[[int], None] | None"
    wrong = [one for one in signatures() if one[2] not in allowed and (one[1] not in OF_COUNTERS or one[2] != inner)]
    assert not wrong
    assert len(signatures()) > 10


def test_making_baskets() -> None:
    heard: list[LevelProgress] = []
    bk.quest(records=100, seed=1, on_progress=heard.append)
    assert all(isinstance(state, LevelProgress) for state in heard)
    assert heard[-1].done == heard[-1].total == 100


@pytest.mark.parametrize("call", ["mine", "top_k"])
def test_curating_tells_sizes_and_nothing_of_the_data(call: str) -> None:
    """No count, and no time: how long a step takes hangs on the records."""
    pytest.importorskip("opendp")
    rng = np.random.default_rng(1)
    baskets = bk.Baskets([rng.integers(0, 5, 2).tolist() for _ in range(4000)], items=range(5))
    heard: list[LevelProgress] = []
    asked = {"mine": 0.05, "top_k": 8}[call]
    release = getattr(bk.curator, call)(baskets, 1e5, asked, method="truncation", on_progress=heard.append)
    assert {*release.sizes} <= {state.size for state in heard} <= {*range(1, release.about["largest"] + 1)}
    assert {(state.total, state.stage, state.seconds) for state in heard} == {(1.0, "counting", None)}
    assert {state.done for state in heard} <= {0.0, 1.0}
    assert heard[-1].done == 1.0
