"""The Python client against a collector of a few lines: what leaves, under which id, and what is refused."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import threading
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import bosket as bk
from bosket.cli import main
from bosket.cli.commands.submit import _ended_as_by_ctrl_c
from bosket.client import Memo
from bosket.client.client import _task_url, batch_id
from bosket.client.transport import ServiceError, Transport
from bosket.client.unsent import Unsent
from tests.client.node import MODULE, NODE, needs_node, run
from tests.client.server import Collector, collecting, document

PLAN = bk.Plan(bk.Domain(["milk", "bread", "beer"]), bk.Flip(keep=0.9))
TABLE = bk.TableDomain([bk.Attribute("sex", ["f", "m"]), bk.Attribute("rooms", [1, 2, 3])])
ASK = bk.Plan(TABLE, bk.Ask(bk.Design.pairs(TABLE), 19))
RECORDS = [["milk", "bread"], [], ["beer"], ["milk"]]
QUICK = Transport(timeout=5, tries=3, wait=0.0)
SECRET = bytes(range(32))


def client(collector: Collector, *more: Any, **named: Any) -> bk.Client:
    return bk.Client(collector.task, *more, transport=QUICK, **named)


def test_records_are_randomized_here_and_only_reports_leave() -> None:
    with collecting(document(PLAN)) as collector:
        mine = client(collector, "submit-token", key=collector.document["key"])
        assert mine.plan == PLAN
        assert mine.key == collector.document["key"]
        assert mine.submit(RECORDS * 600, once="ticket") == 2400
        sent = collector.reports(PLAN)
    assert sent.n_records == 2400
    assert not sent.is_simulation
    assert [len(body) for *_, body in collector.posted] == [1000 * 17, 1000 * 17, 400 * 17]
    for _, path, headers, _ in collector.posted:
        assert path == "/v1/tasks/study/reports"
        assert headers["Content-Type"] == "application/vnd.bosket.reports"
        assert headers["Authorization"] == "Bearer submit-token"
        assert headers["Bosket-Token"] == "ticket"
        assert len(headers["Idempotency-Key"]) == 32
        assert set(headers) <= {
            *("Accept-Encoding", "Content-Length", "Host", "User-Agent", "Content-Type", "Authorization"),
            *("Idempotency-Key", "Bosket-Token", "Connection"),
        }
    assert len({headers["Idempotency-Key"] for _, _, headers, _ in collector.posted}) == 3


def test_a_batch_whose_answer_was_lost_is_sent_again_under_its_id() -> None:
    with collecting(document(PLAN)) as collector:
        collector.faults = ["503", "lost"]
        assert client(collector).submit(RECORDS) == 4
    assert len(collector.posted) == 3
    assert len(collector.batches) == 1, "one id"
    assert len({body for *_, body in collector.posted}) == 1, "the very same bytes"
    assert collector.reports(PLAN).n_records == 4


def test_what_the_collector_refuses_is_said_and_not_tried_again() -> None:
    with collecting(document(PLAN)) as collector:
        mine = client(collector)
        collector.faults = ["refuse"]
        with pytest.raises(ServiceError, match="The study is closed") as caught:
            mine.submit(RECORDS)
        assert caught.value.status == 403
        collector.faults = ["503"] * 3
        with pytest.raises(ServiceError):
            mine.submit(RECORDS)
        assert len(collector.posted) == 4
        with pytest.raises(ServiceError, match="302"):
            bk.Client(f"{collector.url}/moved", transport=QUICK)
    with pytest.raises(ServiceError, match="could not be reached"):
        mine.submit(RECORDS)


def test_a_task_that_is_not_signed_by_its_key_is_refused() -> None:
    owner = Ed25519PrivateKey.generate()
    sound, other = document(PLAN, owner), document(PLAN)
    assert bk.Client(sound, key=sound["key"]).plan == PLAN
    with pytest.raises(bk.DataError, match="another key"):
        bk.Client(other, key=sound["key"])
    forged = [
        sound | {"signed": sound["signed"].replace("0.9", "1.0")},
        sound | {"signature": other["signature"]},
        sound | {"signature": "?"},
        sound | {"key": other["key"]},
        sound | {"key": "QUJD"},
        sound | {"more": 1},
        document(PLAN, owner, digest="0" * 64),
        document(PLAN, owner, plan_text=bk.Plan(PLAN.domain, bk.Flip(1.0)).json),
        document(PLAN, owner, version=2),
        document(PLAN, owner, participant="text"),
        document(PLAN, owner, period=7),
    ]
    for one in forged:
        with pytest.raises(bk.DataError):
            bk.Client(one)  # type: ignore[arg-type]
    mixing = bk.Plan(PLAN.domain, bk.Mixing(others=1, keep=0.8))
    with pytest.raises(bk.ParameterError, match="people can use for themselves"):
        bk.Client(document(mixing, owner))


@needs_node
def test_the_browser_and_python_agree_on_what_is_signed(tmp_path: Path) -> None:
    import subprocess

    from tests.client.node import MODULE, NODE

    sound = document(PLAN)
    changed = sound | {"signed": sound["signed"].replace("0.9", "1.0")}
    other = document(PLAN)
    code = f"""
import {{ verify }} from {json.dumps(MODULE.as_uri())};
const check = (one, ...known) => verify(one, ...known).then((found) => found.task.digest, () => "refused");
const [sound, changed, other] = {json.dumps([sound, changed, other])};
console.log(JSON.stringify(await Promise.all([
  check(sound, sound.key), check(changed, sound.key), check(other, sound.key), check(sound, other.key), check(sound),
  check(sound, sound.key, "study"), check(sound, sound.key, "another"),
])));
"""
    (tmp_path / "check.mjs").write_text(code)
    assert NODE is not None
    done = subprocess.run([NODE, tmp_path / "check.mjs"], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [PLAN.digest, *["refused"] * 4, PLAN.digest, "refused"]


@pytest.mark.parametrize(
    "url", ["http://collector.example/v1/tasks/x", "ftp://x/y", "collector.example", "https://", "file:///etc/passwd"]
)
def test_addresses_that_anybody_can_change_are_refused(url: str) -> None:
    with pytest.raises(bk.ParameterError):
        bk.Client(url)


def test_addresses_of_pages_will_do() -> None:
    for given in ("https://a.example/v1/tasks/x", "https://a.example/t/x", "https://a.example/t/x/?q=1#f"):
        assert _task_url(given, is_pinned=False) == "https://a.example/v1/tasks/x"
    assert _task_url("http://a.example/in/t/x", is_pinned=True) == "http://a.example/in/v1/tasks/x"


def test_without_an_address_nothing_is_sent() -> None:
    mine = bk.Client(document(PLAN))
    assert len(mine.randomize(["milk"])) == 17
    with pytest.raises(bk.ParameterError, match="url"):
        mine.submit(RECORDS)


def test_memoised_answers_are_the_same_until_the_record_or_the_period_changes() -> None:
    plan = bk.Plan(bk.Domain(range(200)), bk.Flip(keep=0.7), bk.PrivacyUnit(reports=3))
    spring = bk.Client(document(plan, period="spring"), memo=SECRET)
    first = spring.randomize([1, 5])
    assert spring.randomize([5, 1]) == first
    assert bk.Client(document(plan, period="spring"), memo=Memo(SECRET, "spring")).randomize([1, 5]) == first
    both = spring.reports([[1, 5], [1, 5], [1, 6]])
    assert both.to_bytes()[: len(first)] == first
    assert both.to_bytes()[len(first) : 2 * len(first)] == first
    others = [
        spring.randomize([1, 6]),
        bk.Client(document(plan, period="summer"), memo=SECRET).randomize([1, 5]),
        bk.Client(document(plan), memo=SECRET).randomize([1, 5]),
        bk.Client(document(plan, period="spring"), memo=bytes(32)).randomize([1, 5]),
        bk.Client(document(plan, period="spring")).randomize([1, 5]),
    ]
    for other in others:
        assert other != first
        differing = np.unpackbits(np.frombuffer(other[12:-4], np.uint8) ^ np.frombuffer(first[12:-4], np.uint8)).sum()
        assert differing > 30, "other coins throughout"
    table = bk.Client(document(ASK), memo=SECRET)
    assert table.randomize({"sex": "f", "rooms": 2}) == table.randomize({"rooms": 2, "sex": "f"})


def test_one_secret_is_not_for_records_of_several_people() -> None:
    """Equal records would give equal reports: that of one who is known tells of the others, whatever epsilon is."""
    strong = bk.Plan(bk.Domain(range(200)), bk.Flip(keep=0.55))
    mine = bk.Client(document(strong), memo=SECRET)
    assert mine.reports([[1, 5]]).n_records == 1
    assert mine.reports([]).n_records == 0
    for records in ([[1, 5], [1, 5]], [[1, 5], [1, 6]], bk.Baskets([[1], [2]], items=range(200))):
        with pytest.raises(bk.ParameterError, match="secret of one person") as caught:
            mine.reports(records)
        assert caught.value.value is None
    assert mine.reports([[1], [2]], rng=bk.Seeded(1)).n_records == 2, "a simulation"


def test_a_task_of_another_name_is_refused_though_its_key_is_right() -> None:
    """Whoever carries documents could give that of another study, with a weaker plan, of the same owner."""
    owner = Ed25519PrivateKey.generate()
    weak = bk.Plan(PLAN.domain, bk.Flip(keep=0.999))
    other = document(weak, owner, task="trial")
    with collecting(other) as collector, pytest.raises(bk.DataError, match="name that the address ends in"):
        client(collector, key=other["key"])
    with pytest.raises(bk.DataError, match="name"):
        bk.Client(other, url="https://collector.example/t/study", key=other["key"])
    assert bk.Client(other, url="https://collector.example/t/trial/", key=other["key"]).plan == weak


def test_tokens_are_words_and_go_over_no_open_line() -> None:
    sound = document(PLAN)
    for word in ("two words", "line\n", "", "käse", 7):
        with pytest.raises(bk.ParameterError) as caught:
            bk.Client(sound, word)  # type: ignore[arg-type]
        assert caught.value.value is None
        assert str(word) not in str(caught.value) or not word
    with_key = {"url": "http://collector.example/v1/tasks/study", "key": sound["key"]}
    with pytest.raises(bk.ParameterError, match="over http"):
        bk.Client(sound, "word", **with_key)  # type: ignore[arg-type]
    mine = bk.Client(sound, **with_key)  # type: ignore[arg-type]
    with pytest.raises(bk.ParameterError, match="over http"):
        mine.submit(RECORDS, once="word")


def test_what_was_not_acknowledged_goes_on_under_its_id_and_is_counted_once() -> None:
    with collecting(document(PLAN)) as collector:
        mine = client(collector)
        reports = mine.reports(RECORDS * 2)
        collector.faults = ["", "lost", "lost", "lost"]
        with pytest.raises(ServiceError, match="Of 8 reports, 3 were acknowledged") as caught:
            mine.send(reports, at_once=3)
        assert caught.value.sent == 3
        assert batch_id(str(caught.value.id)) == list(collector.batches)[1]
        assert mine.send(reports[caught.value.sent :], at_once=3, id=caught.value.id) == 5
        assert collector.reports(PLAN).to_bytes() == reports.to_bytes(), "each once, as drawn the first time"


def test_all_batches_of_a_sending_have_the_same_ids_when_it_is_done_again() -> None:
    """After a kill what was kept was sent from its beginning, and all batches but the first were counted twice."""
    with collecting(document(PLAN)) as collector:
        mine = client(collector)
        reports = mine.reports(RECORDS * 2)
        for _ in range(2):
            assert mine.send(reports, at_once=3, id="ab" * 16) == 8
        assert len(collector.posted) == 6
        assert collector.reports(PLAN).to_bytes() == reports.to_bytes(), "each once"
        assert "ab" * 16 not in collector.batches, "by which one could tell that batches belong together"
        assert len({batch_id(key) for key in collector.batches} | set(collector.batches)) == 6
        mine.send(reports, at_once=3)
        assert len(collector.batches) == 6


def test_what_was_kept_and_is_sent_again_after_a_kill_is_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bosket.client.client.Transport", lambda: QUICK)
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, "--key", collector.document["key"]]
        collector.faults = ["503"] * 3
        assert main([*options, raw(tmp_path), "--at-once", "10"]) == 1
        (kept,) = tmp_path.glob("bosket-unsent-*.reports")
        before = kept.read_bytes()
        assert main([*options, kept.name, "--unsent"]) == 0
        kept.write_bytes(before)  # as a kill leaves it
        assert main([*options, kept.name, "--unsent"]) == 0
        assert collector.reports(PLAN).n_records == 25


@pytest.mark.parametrize("secret", [b"", b"short", bytes(31), "text" * 10, bytearray(32)])
def test_a_secret_that_could_be_guessed_is_refused_and_never_shown(secret: Any) -> None:
    with pytest.raises(bk.ParameterError):
        bk.Client(document(PLAN), memo=secret)
    with pytest.raises(bk.ParameterError) as caught:
        Memo(secret)
    assert caught.value.value is None
    assert "0000" not in repr(Memo(bytes(32)))


def test_records_that_are_none_are_refused_without_being_shown() -> None:
    mine, table = bk.Client(document(PLAN)), bk.Client(document(ASK))
    for record in ("milk", 7, {"milk": 1}, ["wine"], [["milk"]]):
        with pytest.raises(bk.BosketError):
            mine.randomize(record)
    for wrong in (["f"], {"sex": "f"}, {"sex": "zebra", "rooms": 1}, {"sex": "f", "rooms": 1, "age": 1}):
        with pytest.raises(bk.BosketError) as caught:
            table.randomize(wrong)
        assert "zebra" not in str(caught.value)


def raw(tmp_path: Path, people: int = 25) -> str:
    path = tmp_path / "raw.csv"
    path.write_text("record,item\n" + "".join(f"{at},milk\n{at},beer\n" for at in range(people)))
    return str(path)


def test_submit_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_text("word\n")
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, raw(tmp_path), "--at-once", "10", "--token-file", str(token)]
        assert main([*options, "--key", collector.document["key"]]) == 0
        assert len(collector.posted) == 3
        assert {headers["Authorization"] for _, _, headers, _ in collector.posted} == {"Bearer word"}
        assert collector.reports(PLAN).n_records == 25
        assert main([*options, "--seed", "1"]) == 0
    said = capsys.readouterr().err
    assert "sent 25 reports" in said
    assert "protects nobody" in said or "protect nobody" in said
    assert collector.document["key"] in said


@pytest.mark.parametrize("unsent", [False, True])
def test_submit_says_what_is_promised_before_anything_leaves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, unsent: bool
) -> None:
    """Reports left first, also where the promise could then not be worked out, which ended the command."""
    monkeypatch.chdir(tmp_path)
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, raw(tmp_path), "--key", collector.document["key"]]
        if unsent:
            collector.faults = ["refuse"]
            assert main(options) == 1
            (kept,) = tmp_path.glob("bosket-unsent-*.reports")
            options = [*options[:2], kept.name, *options[3:], "--unsent"]
        collector.requests.clear()
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr("bosket.privacy.guarantee.LocalGuarantee.card", _no_card)
            assert main(options) == 2
            assert "The promise takes too long." in capsys.readouterr().err
        assert not collector.posted
        assert main(options) == 0
        said = capsys.readouterr().err
        assert 0 <= said.find("Privacy of Flip") < said.find("sent 25 reports")


def _no_card(self: object) -> str:
    raise bk.ParameterError("The promise takes too long.", parameter="cutoff", value=None)


def test_submit_with_the_secret_of_one_person(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    monkeypatch.setenv("BOSKET_TOKEN", "word\n")  # as files of variables have it
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, "--memo-file", str(secret)]
        for _ in range(8):
            assert main([*options, raw(tmp_path, 1)]) == 0
        assert {headers["Authorization"] for _, _, headers, _ in collector.posted} == {"Bearer word"}
        assert len(np.unique(collector.reports(PLAN).bits)) == 1, "one record, one report"
        assert main([*options, raw(tmp_path)]) == 2
        assert len(collector.posted) == 8
        monkeypatch.setenv("BOSKET_TOKEN", "word\nzebra")
        assert main([*options, raw(tmp_path, 1)]) == 2
        assert len(secret.read_bytes()) == 32
        assert secret.stat().st_mode & 0o077 == 0
        monkeypatch.delenv("BOSKET_TOKEN")
        secret.chmod(0o640)
        assert main([*options, raw(tmp_path, 1)]) == 1
        assert len(collector.posted) == 8
    said = capsys.readouterr().err
    assert "readable by its owner alone" in said
    assert "secret of one person" in said
    assert "zebra" not in said


def test_submit_keeps_what_could_not_be_sent_and_sends_it_as_it_was_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bosket.client.client.Transport", lambda: QUICK)
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, "--key", collector.document["key"]]
        collector.faults = ["", *["lost"] * 3]
        assert main([*options, raw(tmp_path), "--at-once", "10"]) == 1
        assert "10 were acknowledged. The others are kept in" in capsys.readouterr().err
        (kept,) = tmp_path.glob("bosket-unsent-*.reports")
        assert kept.stat().st_mode & 0o077 == 0
        tried = {headers["Idempotency-Key"]: body for _, _, headers, body in collector.posted}
        collector.faults = ["503"] * 3  # again nothing
        assert main([*options, kept.name, "--unsent"]) == 1
        assert kept.exists(), "as it was"
        collector.faults = ["", *["503"] * 3]  # one batch further
        assert main([*options, kept.name, "--unsent"]) == 1
        (rest,) = tmp_path.glob("bosket-unsent-*.reports")
        assert rest != kept
        assert main([*options, rest.name, "--unsent"]) == 0
        assert not list(tmp_path.glob("bosket-unsent-*.reports"))
        assert collector.reports(PLAN).n_records == 25, "each once"
        assert tried.items() <= collector.batches.items(), "under their ids, as they were drawn"
        for spoiled in (
            "{}",
            "[]",
            json.dumps({"bosket_unsent": 2, "task": "study", "id": "", "at_once": 1}),
            json.dumps({"bosket_unsent": 2, "task": "study", "id": "a\r\nX: y", "at_once": 1}),
        ):
            (tmp_path / "spoiled").write_text(spoiled)
            assert main([*options, "spoiled", "--unsent"]) == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
def test_submit_keeps_what_is_answered_by_an_address_that_is_none(
    status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended in a ValueError of the standard library: what had left was lost here, to be drawn again."""
    monkeypatch.chdir(tmp_path)
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, "--key", collector.document["key"]]
        collector.faults = ["", status]
        assert main([*options, raw(tmp_path), "--at-once", "10"]) == 1
        assert f"answered {status}" in capsys.readouterr().err
        (kept,) = tmp_path.glob("bosket-unsent-*.reports")
        assert main([*options, kept.name, "--unsent"]) == 0
        assert collector.reports(PLAN).n_records == 25, "each once"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_submit_keeps_what_ctrl_c_left_as_it_was_drawn(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who then ran it again randomized all records afresh, those that had been sent among them."""
    monkeypatch.chdir(tmp_path)

    def interrupt(seconds: float) -> None:
        if name != "SIGINT" and signal.getsignal(signal.Signals[name]) is signal.SIG_DFL:
            pytest.fail("it would end this very program")
        signal.raise_signal(signal.Signals[name])

    def keep(self: Unsent, path: Path, client: bk.Client) -> None:
        interrupt(0.0)  # the shell of a terminal that ends and the system both tell of it
        write(self, path, client)

    write = Unsent.write
    monkeypatch.setattr(Unsent, "write", keep)
    impatient = Transport(timeout=5, tries=3, wait=0.0, sleep=interrupt)
    before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, "--key", collector.document["key"]]
        collector.faults = ["", "lost"]  # it has the second batch too, and cannot say so
        monkeypatch.setattr("bosket.client.client.Transport", lambda: impatient)
        assert main([*options, raw(tmp_path), "--at-once", "10"]) == 130
        said = capsys.readouterr().err
        assert "Of 25 reports, 10 were acknowledged. The others are kept in bosket-unsent-" in said
        assert "--unsent sends them" in said
        tried = {headers["Idempotency-Key"]: body for _, _, headers, body in collector.posted}
        (kept,) = tmp_path.glob("bosket-unsent-*.reports")
        collector.faults = ["503"]
        assert main([*options, kept.name, "--unsent"]) == 130
        assert kept.exists(), "as it was"
        monkeypatch.setattr("bosket.client.client.Transport", lambda: QUICK)
        assert main([*options, kept.name, "--unsent"]) == 0
        assert collector.reports(PLAN).n_records == 25, "each once"
        assert tried.items() <= collector.batches.items(), "under their ids, as they were drawn"
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_while_refused_reports_are_kept_does_not_lose_them(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first signal of all: the collector has a batch of which it could not say so, and refuses it then."""
    monkeypatch.chdir(tmp_path)

    def keep(self: Unsent, path: Path, client: bk.Client) -> None:
        if name != "SIGINT" and signal.getsignal(signal.Signals[name]) is signal.SIG_DFL:
            pytest.fail("it would end this very program")
        signal.raise_signal(signal.Signals[name])
        write(self, path, client)

    write = Unsent.write
    monkeypatch.setattr(Unsent, "write", keep)
    monkeypatch.setattr("bosket.client.client.Transport", lambda: QUICK)
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, "--key", collector.document["key"]]
        collector.faults = ["lost", "refuse"]
        assert main([*options, raw(tmp_path), "--at-once", "10"]) == 1
        assert "The others are kept in bosket-unsent-" in capsys.readouterr().err
        (kept,) = tmp_path.glob("bosket-unsent-*.reports")
        assert main([*options, kept.name, "--unsent"]) == 0
        assert collector.reports(PLAN).n_records == 25, "each once"


def test_signals_are_heard_again_after_one_that_python_forgot(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption of a destructor is lost; who then presses Ctrl-C again is heard, but not the system that says
    twice that the terminal ended.
    """
    now = 100.0
    monkeypatch.setattr("bosket.cli.commands.submit.time.monotonic", lambda: now)
    with _ended_as_by_ctrl_c() as hear_no_more:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        now += 1.0
        signal.raise_signal(signal.SIGHUP)
        now += 1.5
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        now += 10.0
        hear_no_more()
        signal.raise_signal(signal.SIGINT)


def test_the_client_waits_as_long_as_the_collector_says() -> None:
    """A minute at most; what is no number of seconds is not heeded."""
    waits: list[float] = []
    with collecting(document(PLAN)) as collector:
        collector.faults = ["429 7", "429 100000", "429 soon", "503", "429 -5"]
        mine = bk.Client(collector.task, transport=Transport(timeout=5, tries=6, wait=0.5, sleep=waits.append))
        assert mine.submit(RECORDS) == 4
    assert waits == [7, 60, 2, 4, 8]


@needs_node
def test_the_browser_waits_as_long_as_the_collector_says() -> None:
    script = f"""
    import {{ send }} from {json.dumps(MODULE.as_uri())};
    const waits = [], told = ["7", "100000", "soon", null, "-5"];
    globalThis.setTimeout = (done, time) => (waits.push(time), queueMicrotask(done));
    const headers = () => (told[0] === null ? (told.shift(), {{}}) : {{ "Retry-After": told.shift() }});
    const busy = () => new Response("{{}}", {{ status: 429, headers: headers() }});
    globalThis.fetch = async () => (told.length ? busy() : new Response('{{"accepted": 1}}', {{ status: 201 }}));
    await send("https://collector.example", new Uint8Array(3), {{ tries: 6 }});
    console.log(JSON.stringify(waits));
    """
    assert NODE is not None
    done = subprocess.run([NODE, "--input-type=module", "-e", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [7000, 60_000, 2000, 4000, 8000]


def test_submit_with_one_time_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token for each record, which goes out alone; or one for all; what could not be sent goes on with the others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bosket.client.client.Transport", lambda: QUICK)
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"ticket-{at}\n" for at in range(25)))
    with collecting(document(PLAN)) as collector:
        options = ["submit", collector.task, "--key", collector.document["key"]]
        collector.faults = [*[""] * 10, *["503"] * 3]
        assert main([*options, raw(tmp_path), "--once-file", str(tokens)]) == 1
        (kept,) = tmp_path.glob("bosket-unsent-*.reports")
        assert b"ticket" not in kept.read_bytes()
        assert "--unsent --once-file" in capsys.readouterr().err
        assert main([*options, kept.name, "--unsent", "--once-file", str(tokens)]) == 0
        assert len(collector.batches) == 25
        used = [(headers["Bosket-Token"], len(body)) for _, _, headers, body in collector.posted]
        assert list(dict(used)) == tokens.read_text().split(), "each once, in the order of the records"
        assert {size for _, size in used} == {17}
        monkeypatch.setenv("BOSKET_ONE_TIME_TOKEN", "mine\n")
        assert main([*options, raw(tmp_path, 3)]) == 0
        assert collector.posted[-1][2]["Bosket-Token"] == "mine"
        n = len(collector.posted)
        tokens.write_text("ticket-1\nticket-2\n")
        assert main([*options, raw(tmp_path), "--once-file", str(tokens)]) == 1
        tokens.write_text("two words\n")
        assert main([*options, raw(tmp_path), "--once-file", str(tokens)]) == 1
        with pytest.raises(bk.ParameterError, match="each of 1"):
            client(collector).submit(RECORDS, once=["a", "b"])
        for wrong in (5, b"ab", [5], {"a": 1}):
            with pytest.raises(bk.ParameterError, match="one word"):
                client(collector).submit(RECORDS, once=wrong)  # type: ignore[arg-type]
        assert len(collector.posted) == n
    said = capsys.readouterr()
    assert "ticket" not in said.err + said.out
    assert "Traceback" not in said.err


def test_any_number_of_reports_can_be_kept_and_sent_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As JSON, more than 50 MB of them could be kept and not be read: only drawing again was left."""
    client = bk.Client(document(PLAN))
    monkeypatch.setattr("bosket.strict_json.MOST_CHARACTERS", 2000)
    reports = PLAN.randomize(bk.Baskets([["milk"]] * 500, items=PLAN.domain.labels))
    Unsent(reports, "0" * 32, 10).write(tmp_path / "kept", client)
    assert (tmp_path / "kept").stat().st_size > 4000
    assert Unsent.read(tmp_path / "kept", client).reports.to_bytes() == reports.to_bytes()


def test_ids_are_ids(tmp_path: Path) -> None:
    client = bk.Client(document(PLAN), url="https://collector.example/v1/tasks/study")
    reports = PLAN.randomize(bk.Baskets([["milk"]], items=PLAN.domain.labels))
    with pytest.raises(bk.ParameterError, match="32 digits"):
        client.send(reports, id="a\r\nAuthorization: x")


@pytest.mark.parametrize("every", ["day", "week", "month"])
def test_a_client_does_not_outlive_its_period(every: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coins of the last period gave the same report in the next, and tied both."""
    days = {"day": 1, "week": 7, "month": 31}[every]
    monkeypatch.setattr("bosket.client.client._today", lambda: date(2020, 1, 1) + timedelta(days))
    signer = Ed25519PrivateKey.generate()

    def of(name: str) -> dict[str, str]:
        return document(PLAN, signer, period=name, periods={"name": name, "every": every})

    with collecting(of("2020-01-01")) as collector:
        client = bk.Client(collector.task, memo=SECRET, transport=QUICK)
        assert client.randomize(RECORDS[0]), "by another clock than ours it is still that period"
        collector.document = of("2020-02-01")
        with pytest.raises(bk.DataError, match="is over"):
            client.randomize(RECORDS[0])
        assert bk.Client(collector.task, memo=SECRET, transport=QUICK).randomize(RECORDS[0])
    began = client.task
    assert not began.has_ended(date(2020, 1, days))
    assert began.has_ended(date(2020, 1, 1) + timedelta(days))


@pytest.mark.parametrize("has_address", [True, False])
def test_the_document_of_a_period_that_is_over_is_not_taken_again(
    has_address: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is on the way showed it again, and again when the client asked, and the report was that of the old period."""
    signer = Ed25519PrivateKey.generate()

    def at(day: date, **more: Any) -> bytes:
        said = {"period": "2020-01-01", "periods": {"name": "2020-01-01", "every": "month", **more}}
        monkeypatch.setattr("bosket.client.client._today", lambda: day)
        with collecting(document(PLAN, signer, **said)) as collector:
            task = collector.task if has_address else collector.document
            return bk.Client(task, memo=SECRET, transport=QUICK).randomize(RECORDS[0])

    assert at(date(2020, 1, 31))
    assert at(date(2020, 2, 2)), "the clock may be wrong by a day or two"
    with pytest.raises(bk.DataError, match="By the clock of this machine"):
        at(date(2020, 2, 3))


def test_coins_for_good_are_taken_whatever_the_clock_says() -> None:
    periods = {"name": "2020-01-01", "every": "day", "versions": "linked"}
    assert bk.Client(document(PLAN, period=None, periods=periods), memo=SECRET).randomize(RECORDS[0])


def test_a_client_with_a_memo_says_that_a_change_shows() -> None:
    """Its card is its own, not the collector's, and bounded beliefs for all reports together."""
    plan = bk.Plan(PLAN.domain, PLAN.mechanism, unit=bk.PrivacyUnit(reports=3))
    apart = {"name": "2020-01-01", "every": "day", "versions": "unlinked", "reports": 1}

    def says(plan: bk.Plan, memo: bytes | None, period: str | None, periods: Any) -> bool:
        task = document(plan, period=period, periods=periods)
        return "changed between two reports shows" in bk.Client(task, memo=memo).promise.card()

    assert says(plan, SECRET, None, None)
    assert not says(plan, None, None, None), "coins are drawn afresh"
    assert not says(PLAN, SECRET, None, None), "one report"
    assert not says(plan, SECRET, "2020-01-01", apart)
    assert says(plan, SECRET, "2020", apart), "coins of something else than the period"
    assert says(plan, SECRET, None, apart | {"versions": "linked"})
    assert says(plan, SECRET, "2020-01-01", apart | {"reports": 2})


@pytest.mark.parametrize("versions", ["linked", "unlinked"])
def test_a_client_that_was_made_before_the_first_period_draws_no_coins(versions: str) -> None:
    """Those of no period gave the same report in each that followed, and tied them."""
    periods = {"name": None, "first": "2027-01-01", "every": "month", "versions": versions}
    with collecting(document(PLAN, period=None, periods=periods)) as collector:
        client = bk.Client(collector.task, memo=SECRET, transport=QUICK)
        if versions == "linked":
            assert client.randomize(RECORDS[0]) == client.randomize(RECORDS[0])
        else:
            with pytest.raises(bk.DataError, match="No period of the task was open"):
                client.randomize(RECORDS[0])


@pytest.mark.slow
@pytest.mark.parametrize("status", ["200 OK", "403 Forbidden"])
def test_an_answer_that_drips_is_not_waited_for(status: str) -> None:
    """Each byte came in time, and the whole answer never."""
    gone = threading.Event()

    def answer() -> None:
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 32\r\n\r\n{{}}".encode())
            for _ in range(30):
                gone.wait(0.1)
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(ServiceError) as problem:
            Transport(timeout=0.5, tries=1).get(f"http://127.0.0.1:{server.getsockname()[1]}/v1/tasks/study")
        assert problem.value.status == (None if status.startswith("200") else 403)
        assert "no reason given" in str(problem.value) or "TimeoutError" in str(problem.value)
        gone.set()
        thread.join()


def test_a_refusal_that_is_nested_deeply_is_one() -> None:
    with collecting(document(PLAN)) as collector:
        client = bk.Client(collector.task, key=collector.document["key"], transport=QUICK)
        collector.faults = ["deep"]
        with pytest.raises(ServiceError, match="400, no reason given"):
            client.submit([["milk"]])


@pytest.mark.parametrize(
    "url",
    [
        "https://[::1/t/x",
        "https://x.example:port/t/x",
        "https://x.example/t/\u00e9",
        "https://x y/t/x",
        "https://x..example/t/x",
    ],
)
def test_addresses_that_are_none_are_refused(url: str) -> None:
    with pytest.raises(bk.ParameterError, match="address of a task"):
        bk.Client(url)


def test_what_stays_on_this_machine_goes_by_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # where nobody listens
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with collecting(document(PLAN)) as collector:
        client = bk.Client(collector.task, "a-token", key=collector.document["key"], transport=QUICK)
        assert client.submit([["milk"]]) == 1


def test_submit_refuses_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with collecting(document(PLAN)) as collector:
        path = raw(tmp_path)
        assert main(["submit", collector.task, path, "--key", document(PLAN)["key"]]) == 1
        assert main(["submit", collector.task, path, "--token-file", str(tmp_path / "none")]) == 1
        (tmp_path / "short").write_bytes(b"1234")
        (tmp_path / "short").chmod(0o600)
        assert main(["submit", collector.task, path, "--memo-file", str(tmp_path / "short")]) == 2
        assert main(["submit", "http://elsewhere.example/t/x", path]) == 2
        assert main(["submit", collector.task, path, "--at-once", "1001"]) == 2
    assert not collector.posted
    assert "Traceback" not in capsys.readouterr().err


@needs_node
def test_the_browser_reads_what_python_made_and_refuses_what_is_none() -> None:
    """One frame at a time; every changed byte is refused, and nothing hangs."""
    rng = np.random.Generator(np.random.PCG64(5))
    for plan, record in ((PLAN, ["milk"]), (ASK, {"sex": "f", "rooms": 2})):
        mine = bk.Client(document(plan))
        frame = mine.randomize(record)
        jobs = [{"plan": plan.json, "frame": frame.hex()}]
        for _ in range(200):
            changed = bytearray(frame)
            for _ in range(int(rng.integers(1, 4))):
                changed[int(rng.integers(len(changed)))] ^= int(rng.integers(1, 256))
            cut = bytes(changed)[: int(rng.integers(0, len(changed) + 1))] if rng.integers(2) else bytes(changed)
            if cut != frame:
                jobs.append({"plan": plan.json, "frame": cut.hex()})
        found = run(jobs)
        assert found[0]["payload"] == frame[12:-4].hex()
        assert all("refused" in one for one in found[1:])


@needs_node
def test_the_browser_refuses_too_many_combinations_before_it_makes_a_list_of_them() -> None:
    """A plan of 700 bytes, one question about nine attributes of ten values, ended the program."""
    names = [f"q{at}" for at in range(9)]
    table = bk.TableDomain([bk.Attribute(name, ["0", "1"]) for name in names])
    plan = bk.Plan(table, bk.Ask(bk.Design([bk.Question(tuple(names))]), gamma=8)).json
    many = plan.replace('"values":["0","1"]', f'"values":{json.dumps([str(at) for at in range(10)]).replace(" ", "")}')
    (found,) = run([{"plan": many, "frame": ""}])
    assert "each combination" in found["refused"]


@needs_node
def test_the_browser_makes_no_list_of_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all questions together they had no bound: 60 kB of questions about two attributes took gigabytes."""
    table = bk.TableDomain([bk.Attribute(name, [str(at) for at in range(256)]) for name in "ab"])
    plan = bk.Plan(table, bk.Ask(bk.Design([bk.Question(("a", "b"))]), gamma=8)).json
    question = '{"attributes":["a","b"]}'
    assert plan.count(question) == 1
    monkeypatch.setenv("NODE_OPTIONS", "--max-old-space-size=64")
    (found,) = run([{"plan": plan.replace(question, ",".join([question] * 300)), "frame": ""}])
    assert "frame" in found["refused"]
