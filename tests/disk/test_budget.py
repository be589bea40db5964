"""What a program takes by itself, on systems that say it in one way, in another, or not at all."""

from __future__ import annotations

import resource
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import bosket as bk
from bosket.disk import budget


@pytest.fixture
def fresh() -> ModuleType:
    """The module as it is loaded; in that of the other tests the program is one that has just begun."""
    spec = spec_from_file_location("fresh_budget", budget.__file__)
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def without_proc(fresh: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(fresh, "_STATUS", Path("/nowhere/status"))
    return fresh


@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1), ("freebsd14", 1024)])
def test_without_proc_the_peak_counts(
    platform: str, unit: int, without_proc: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was 160 MiB, whatever the program held, which then took more than was stated."""
    monkeypatch.setattr(sys, "platform", platform)
    peak = SimpleNamespace(ru_maxrss=(700 << 20) // unit)
    monkeypatch.setattr(resource, "getrusage", lambda who: peak if who == resource.RUSAGE_SELF else None)
    assert without_proc.resident() == 700 << 20
    with pytest.raises(bk.ParameterError, match="has taken at most 700 by itself and may take 136 more"):
        without_proc.memory_for_data("800MiB")


def test_the_peak_is_no_less_than_what_there_is(fresh: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fresh.resident()
    monkeypatch.setattr(fresh, "_STATUS", Path("/nowhere/status"))
    assert fresh.resident() > 0.9 * before


def test_where_nothing_is_said_a_usual_program_is_assumed(
    without_proc: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=0))
        assert without_proc.resident() == 160 << 20
    monkeypatch.setattr(without_proc, "_HAS_USAGE", False)
    assert without_proc.resident() == 160 << 20
    (tmp_path / "status").write_text("Name:\tpython\n")
    monkeypatch.setattr(without_proc, "_STATUS", tmp_path / "status")
    assert without_proc.resident() == 160 << 20


def test_what_the_program_takes_now_is_said_where_it_is_known(
    fresh: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "status").write_text(f"VmHWM:\t{900 << 10} kB\nVmRSS:\t{700 << 10} kB\n")
    monkeypatch.setattr(fresh, "_STATUS", tmp_path / "status")
    with pytest.raises(bk.ParameterError, match=f"takes {700 + 136} by itself"):
        fresh.memory_for_data("800MiB")
