"""The file of a study: read strictly, with the environment before it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import bosket as bk
from bosket.service.engines import parsed_url
from bosket.service.settings import read_settings
from tests.service.studies import small_plan

GOOD = """
store = "sqlite:///a.db"
port = 9000
[[tasks]]
id = "shop"
title = "Shop"
plan = "plan.json"
min_batch = 200
closes = 2030-01-31T18:00:00Z
tokens = "one-time"
[tasks.second]
people = 500
"""


def written(folder: Path, text: str) -> Path:
    (folder / "plan.json").write_text(small_plan().json)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_a_study_is_read(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, GOOD))
    (task,) = settings.tasks
    assert (settings.store, settings.port, settings.host, settings.folder) == (
        f"sqlite:///{tmp_path / 'a.db'}",
        9000,
        "127.0.0.1",
        tmp_path,
    )
    assert (task.id, task.plan.digest, task.min_batch, task.batch_size) == ("shop", small_plan().digest, 200, 1000)
    assert task.closes == datetime(2030, 1, 31, 18, tzinfo=UTC)
    assert task.second is not None
    assert task.second.people == 500


def test_the_environment_goes_before(tmp_path: Path) -> None:
    environment = {"BOSKET_STORE": "sqlite:///b.db", "BOSKET_PORT": "81", "BOSKET_FOLDER": "keys"}
    settings = read_settings(written(tmp_path, GOOD), environment=environment)
    there = f"sqlite:///{tmp_path / 'b.db'}"
    assert (settings.store, settings.port, settings.folder) == (there, 81, tmp_path / "keys")


def test_a_store_is_beside_the_file_wherever_the_command_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = written(tmp_path, GOOD)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for path in (study, Path("../study.toml")):
        settings = read_settings(path)
        assert settings.store == f"sqlite:///{tmp_path / 'a.db'}"
    for whole in ("sqlite:////var/lib/a.db", "postgresql://me@host/study"):
        assert read_settings(study, environment={"BOSKET_STORE": whole}).store == whole
    strange = tmp_path / "what? 100%41"
    strange.mkdir()
    store = read_settings(written(strange, GOOD)).store
    assert parsed_url(store).database == str(strange / "a.db"), "signs that mean something in an address"
    study.write_text(GOOD.replace('store = "sqlite:///a.db"', ""))
    assert read_settings(study).store == f"sqlite:///{tmp_path / 'bosket.db'}"


@pytest.mark.parametrize(
    "line, by",
    [
        ('id = "shop"', 'id = "Shop!"'),
        ('id = "shop"', 'id = "shop"\nretention = 3'),
        ("min_batch = 200", "min_batch = 0"),
        ("min_batch = 200", "min_batch = true"),
        ("port = 9000", "port = 90000"),
        ("port = 9000", "ports = 9000"),
        ('plan = "plan.json"', 'plan = "none.json"'),
        ('plan = "plan.json"', "plan = 3"),
        ('tokens = "one-time"', 'tokens = "many"'),
        ('tokens = "one-time"', 'tokens = "none"'),
        ("closes = 2030-01-31T18:00:00Z", 'closes = "soon"'),
        ("people = 500", "person = 500"),
        ("people = 500", 'people = "many"'),
        ("people = 500", "people = 500\nmin_support = 2.0"),
        ("port = 9000", 'origins = "https://study.example.org"'),
        ("port = 9000", "origins = [3]"),
        ('store = "sqlite:///a.db"', "store = 3"),
        ("[[tasks]]", "[tasks]"),
        ('title = "Shop"', "title = "),
        ('title = "Shop"', 'title = "Shop"\nrate = -1'),
        ('title = "Shop"', 'title = "Shop"\nmax_body = 201326593'),
        ('title = "Shop"', 'title = "Shop"\nmin_support = 2'),
        ('title = "Shop"', 'title = "Shop"\nsubmit_token = "no"'),
        ('title = "Shop"', 'title = "Shop"\nsimulation = "no"'),
    ],
)
def test_other_files_are_refused_with_a_sentence(tmp_path: Path, line: str, by: str) -> None:
    assert line in GOOD
    with pytest.raises(bk.DataError):
        read_settings(written(tmp_path, GOOD.replace(line, by)))


def test_the_files_for_proxies_log_no_request() -> None:
    """Caddy tells errors, with addresses, to the log of all: that of a site is of requests alone."""
    deploy = Path(__file__).parents[2] / "deploy"
    caddy, nginx = (deploy / "Caddyfile").read_text(), (deploy / "nginx.conf").read_text()
    assert "exclude http.log http.handlers" in caddy.partition("study.example.org")[0]
    assert "output discard" in caddy
    assert "access_log off;" in nginx
    assert "error_log /dev/null" in nginx


def test_plans_that_mix_people_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    mixed = bk.Plan(bk.Domain(range(8)), bk.Mixing(others=2, keep=0.5))
    (tmp_path / "plan.json").write_text(mixed.json)
    with pytest.raises(bk.DataError, match="stand alone"):
        read_settings(path)
