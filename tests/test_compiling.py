"""Kernels compile with or without a place to keep them."""

from __future__ import annotations

import importlib
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest

from bosket import compiling


def test_kernels_compile_where_nothing_can_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """As numba behaves when neither the package's folder nor the user's cache can be written to."""
    tried: list[bool] = []

    def njit(*, nogil: bool, cache: bool = False) -> Callable[..., Any]:
        tried.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available for file")
        decorator: Callable[..., Any] = numba.njit(nogil=nogil)
        return decorator

    monkeypatch.setattr(compiling, "njit", njit)

    @compiling.compiled
    def double(x: int) -> int:
        return 2 * x

    assert double(21) == 42
    assert tried == [True, False]


def test_kernels_compile_where_what_is_kept_names_types_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade that renames a type which kernels take: the folder still holds what they were before."""
    (tmp_path / "kernels_of_a_test.py").write_text(
        "from bosket.compiling import compiled\n\n\n@compiled\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    module = importlib.import_module("kernels_of_a_test")
    assert module.double(21) == 42
    (index,) = tmp_path.rglob("*.nbi")
    gone = pickle.dumps(numba.__version__, protocol=-1) + b"cbosket.compiling\nGone\n."
    index.write_bytes(gone)
    again = importlib.reload(module)
    assert again.double(21) == 42
    assert index.read_bytes() != gone


def test_kernels_compile_anew_where_another_module_of_kernels_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled code holds that of the kernels it calls: what was kept went on with the old ones, without end."""
    (tmp_path / "kernels_of_another_test.py").write_text(
        "from bosket.compiling import compiled\n\n\n@compiled\ndef double(x):\n    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    module = importlib.import_module("kernels_of_another_test")
    hits = []
    for stamp in (compiling._stamp_of_all(), compiling._stamp_of_all(), (("other_kernels.py", 1, 1),)):
        monkeypatch.setattr(compiling, "_stamp_of_all", lambda stamp=stamp: stamp)
        again = importlib.reload(module)
        assert again.double(21) == 42
        hits.append(sum(again.double.stats.cache_hits.values()))
    assert hits == [0, 1, 0]


@pytest.mark.slow
def test_long_compilation_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    announcer = compiling._Announcer()
    monkeypatch.setattr(compiling, "_WORTH_A_WORD", 3600.0)
    announcer.on_start(None)
    announcer.on_end(None)
    assert capsys.readouterr().err == "", "quick ones are not worth a word"
    monkeypatch.setattr(compiling, "_WORTH_A_WORD", 0.05)
    for _ in range(2):
        announcer.on_start(None)
        announcer.on_start(None)  # one kernel compiles another
        until = time.monotonic() + 100
        while not announcer.said and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.15)  # a second word would come now
        announcer.on_end(None)
        announcer.on_end(None)
    said = capsys.readouterr().err
    assert said.startswith("bosket: compiling")
    assert said.count("\n") == 1


def test_kernels_are_listened_to() -> None:
    heard: list[str] = []

    class Ear(compiling._Announcer):
        def on_start(self, event: Any) -> None:
            heard.append("start")

        def on_end(self, event: Any) -> None:
            heard.append("end")

    with numba.core.event.install_listener("numba:compile", Ear()):
        numba.njit(lambda x: x + 1)(1)
    assert heard[0] == "start"
    assert heard[-1] == "end"
