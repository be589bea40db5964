"""What jobs do to the settings of a session, and how they fail; no session is needed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from types import SimpleNamespace
from typing import Any

import pytest

from bosket.errors import DataError, ParameterError
from bosket.spark.jobs import persisted, started
from bosket.spark.randomizing import check_folder

ADAPTIVE = "spark.sql.adaptive.enabled"
MAY_MERGE = "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"


class Settings(dict[str, str]):
    """Settings of a session, of which only so many changes are allowed."""

    def __init__(self, allowed: int, **others: str) -> None:
        super().__init__({ADAPTIVE: "true"}, **others)
        self.allowed = allowed

    def set(self, name: str, value: str) -> None:
        if not self.allowed:
            raise ValueError("[CANNOT_MODIFY_CONFIG]")
        self.allowed -= 1
        self[name] = value

    def unset(self, name: str) -> None:
        self.set(name, "")
        del self[name]


def persisting(settings: Settings) -> tuple[Any, list[str | None]]:
    """A frame that is kept, and the setting while it was."""
    during: list[str | None] = []

    def persist() -> str:
        during.append(settings.get(MAY_MERGE))
        return "kept"

    frame = SimpleNamespace(sparkSession=SimpleNamespace(conf=settings), persist=persist)
    return persisted(lambda: frame), during


@pytest.mark.parametrize("before", [{}, {MAY_MERGE: "false"}])
def test_a_setting_is_changed_for_a_while(before: dict[str, str]) -> None:
    """It is unset afterwards where it was, rather than set to what is the default now."""
    settings = Settings(2, **before)
    assert persisting(settings) == ("kept", ["true"])
    assert settings == {ADAPTIVE: "true", **before}


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_setting_that_cannot_be_changed_stops_nothing(allowed: int) -> None:
    """Neither where it is to be changed, nor where it is to be put back."""
    before = {MAY_MERGE: "false"}
    kept, during = persisting(Settings(allowed, **before))
    assert (kept, during) == ("kept", ["true" if allowed else "false"])


def test_two_threads_leave_the_setting_as_it_was() -> None:
    """One at a time: the second took the change of the first for what was there before, and put that back."""
    settings, both = Settings(4, **{MAY_MERGE: "false"}), Barrier(2)

    def persist() -> str:
        try:
            both.wait(0.2)  # until the other one is here too, where it can be
        except BrokenBarrierError:
            return "alone"
        return "together"

    frame = SimpleNamespace(sparkSession=SimpleNamespace(conf=settings), persist=persist)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: persisted(lambda: frame), range(2)))
    assert found == ["alone", "alone"]
    assert settings == {ADAPTIVE: "true", MAY_MERGE: "false"}


def test_what_is_lost_may_be_a_frame_of_the_user_s() -> None:
    """One that was checkpointed, as well as reports: the message spoke of these alone."""

    def job() -> None:
        raise ConnectionError("[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_4_0 not found!")

    with pytest.raises(DataError, match="What workers of Spark held is lost") as caught:
        started(job)
    assert caught.value.hint is not None
    assert "checkpointed frame" in caught.value.hint
    assert "folder=" in caught.value.hint


@pytest.mark.parametrize(("body", "kind"), [("assert None", "AssertionError"), ("None.setCallSite", "AttributeError")])
def test_a_stopped_session_is_told_of_where_pyspark_stumbles_over_it(body: str, kind: str) -> None:
    """It has no error of its own for that; one that is ours is raised as it is."""
    modules: dict[str, dict[str, Any]] = {
        name: {"__name__": name} for name in ("pyspark.sql.made_up", "bosket.made_up")
    }
    for module in modules.values():
        exec(f"def ask():\n    {body}", module)
    theirs, ours = (module["ask"] for module in modules.values())
    with pytest.raises(DataError, match=f"went away .{kind}"):
        started(theirs)
    with pytest.raises((AssertionError, AttributeError)):
        started(ours)


@pytest.mark.parametrize("folder", [5, "", b"reports"])
def test_a_folder_that_is_none_is_refused(folder: Any) -> None:
    with pytest.raises(ParameterError, match="'folder'"):
        check_folder(folder)


def test_a_folder_may_be_a_path() -> None:
    assert check_folder(Path("a") / "b") == str(Path("a") / "b")
    assert check_folder(None) is None
