"""An instance that keeps an audit trail: every request is in it, and whoever meddles with it is found."""

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_daemon
from tests.support.audited import listed, start_audited
from tests.support.instance import Instance
from tests.support.waiting import wait_for


@pytest.fixture
def audited(instance: Instance) -> Instance:
    return start_audited(instance)


def _directory(instance: Instance) -> Path:
    return Path(instance.home, "audit")


def _ask(instance: Instance, head: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.path.join(instance.runtime, "daemon.sock"))
        connection.sendall(head.encode() + b"\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        answer = b""
        while data := connection.recv(65536):
            answer += data
        return answer


def _listed(instance: Instance, verb: str, count: int) -> list[dict[str, Any]]:
    return listed(instance, count, "--verb", verb)


def test_every_request_is_in_the_trail_with_who_what_and_what_came_of_it(audited: Instance) -> None:
    audited.run("ps")
    audited.run("kv", "put", "-t", "nobody", "a", "b", check=False)
    (read,) = _listed(audited, "list_agents", 1)
    assert read["who"]["uid"] == os.getuid()
    assert (read["allowed"], read["outcome"]) == (True, "200")
    decided, done = _listed(audited, "change_values", 2)
    assert (decided["outcome"], done["outcome"]) == ("", "404")
    assert decided["trace"] == done["trace"]
    assert decided["on"] == {"kind": "team", "team": "nobody", "agent": ""}
    assert done["detail"] == {"error": "not_found"}
    shown = audited.json("audit", "show", decided["trace"])
    assert [entry["number"] for entry in shown] == [decided["number"], done["number"]]
    assert audited.json("audit", "verify")["ok"] is True


def test_an_answer_names_its_entries_and_doors_that_do_not_exist_leave_a_trace(audited: Instance) -> None:
    head = _ask(audited, "GET /v1/health HTTP/1.1").partition(b"\r\n\r\n")[0].lower()
    trace = head.partition(b"x-corral-trace: ")[2].partition(b"\r\n")[0].decode()
    assert trace in {entry["trace"] for entry in _listed(audited, "health", 2)}
    assert [entry["verb"] for entry in audited.json("audit", "show", trace)] == ["health"]
    assert b" 404 " in _ask(audited, "GET /v1/../../etc/passwd HTTP/1.1")
    (tried,) = _listed(audited, "unknown", 1)
    assert tried["outcome"] == "404"


def test_the_daemon_answers_whoever_may_not_read_the_files(audited: Instance) -> None:
    """Here it is the daemon's own user who asks, and sees everything; what others see is a matter of the predicate."""
    audited.run("ps")
    answer = _ask(audited, "GET /v1/audit?verb=list_agents&lines=5 HTTP/1.1")
    assert b" 200 " in answer.splitlines()[0]
    (line,) = (line for line in answer.splitlines() if line.startswith(b'{"number"'))
    assert json.loads(line) == _listed(audited, "list_agents", 1)[0]
    assert b"a time in unix seconds" in _ask(audited, "GET /v1/audit?since=1e300 HTTP/1.1")


def test_nothing_is_kept_where_it_is_not_configured(instance: Instance) -> None:
    instance.run("daemon", "start")
    instance.run("ps")
    assert not _directory(instance).exists()
    code, error = instance.error("audit", "verify")
    assert (code, error["code"]) == (3, "not_found")


def test_an_edit_is_found_and_exit_code_7_says_so(audited: Instance) -> None:
    audited.run("ps")
    audited.run("daemon", "stop")
    assert audited.json("audit", "verify")["signed_through"] == audited.json("audit", "verify")["last"]
    (path,) = _directory(audited).glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"verb":"list_agents"', b'"verb":"list_nobody"'))
    code, error = audited.error("audit", "verify")
    assert (code, error["code"]) == (7, "broken_trail")
    report = audited.json("audit", "verify", check=False)
    (flaw,) = report["flaws"]
    line = next(at for at, data in enumerate(path.read_bytes().splitlines(), 1) if b"list_nobody" in data)
    assert (flaw["what"], flaw["file"], flaw["line"], flaw["number"]) == ("edited", path.name, line, line)


def test_a_daemon_does_not_go_on_with_a_trail_that_was_cut_off(audited: Instance) -> None:
    audited.run("ps")
    audited.run("daemon", "stop")
    (path,) = _directory(audited).glob("*.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:-2]))
    started = audited.run("daemon", "start", check=False)
    assert started.returncode != 0
    assert "were cut off" in started.stderr


def test_a_daemon_that_is_killed_loses_no_decision_and_the_trail_holds(audited: Instance) -> None:
    audited.run("kv", "put", "-t", "nobody", "a", "b", check=False)
    kill_daemon(audited)
    audited.run("daemon", "start")
    assert audited.json("audit", "ls", "--verb", "change_values")[0]["outcome"] == ""
    report = audited.json("audit", "verify")
    assert report["ok"] is True
    assert [entry["verb"] for entry in audited.json("audit", "ls", "--verb", "audit.*")].count("audit.opened") == 2


def test_export_in_the_words_of_others(audited: Instance) -> None:
    audited.run("ps")
    _listed(audited, "list_agents", 1)
    exported = audited.run("audit", "export").stdout
    (path,) = _directory(audited).glob("*.jsonl")
    assert exported in path.read_text()
    assert exported.count("\n") >= 3
    verbs = [json.loads(line)["verb"] for line in exported.splitlines()]
    syslog = audited.run("audit", "export", "--format", "syslog", "--verb", "list_*").stdout.splitlines()
    assert len(syslog) == verbs.count("list_agents")
    assert syslog[0].startswith("<110>1 20")
    journal = audited.run("audit", "export", "--format", "journald", "--verb", "list_agents").stdout
    assert "CORRAL_VERB=list_agents\n" in journal
    assert journal.endswith("\n\n")


def test_what_cannot_be_read_is_left_out_and_told_on_standard_error(audited: Instance) -> None:
    audited.run("ps")
    audited.run("daemon", "stop")
    (path,) = _directory(audited).glob("*.jsonl")
    whole = path.read_text()
    path.write_text(whole.replace('"verb":"list_agents"', '"verb":"list_nobody"'))
    for words in (("audit", "export"), ("audit", "ls")):
        done = audited.run(*words)
        assert "list_" not in done.stdout
        assert "1 line was left out that is no entry" in done.stderr
        assert "corral audit verify says where" in done.stderr
        assert audited.run(*words, "--json").stderr == ""
    path.write_text(whole)
    assert audited.run("audit", "export").stderr == ""


def test_following_shows_what_comes(audited: Instance) -> None:
    with audited.follow("audit", "export", "--follow", "--verb", "list_agents") as stream:
        audited.run("ps")
        assert stream.until(lambda entry: entry["verb"] == "list_agents")["outcome"] == "200"


def test_checkpoints_are_shipped_and_verified_against(audited: Instance, own_directory: Path) -> None:
    audited.run("daemon", "stop")
    kept, taken = own_directory / "kept", own_directory / "taken.jsonl"
    kept.mkdir()
    program = own_directory / "keep"
    program.write_text(f"#!/bin/sh\nexec cat >> {taken}\n")
    program.chmod(0o755)
    (Path(audited.home) / "config.toml").write_text(
        f'[audit]\nenabled = true\ncheckpoint_every = "1s"\ncheckpoint_directory = "{kept}"\n'
        f'checkpoint_command = ["{program}"]\n'
    )
    audited.run("daemon", "start")
    audited.run("ps")
    wait_for(lambda: taken.exists() and any(kept.iterdir()), 20, "a checkpoint is shipped")
    audited.run("daemon", "stop")
    key = own_directory / "key.pub"
    key.write_text(audited.run("audit", "key").stdout)
    for where in (kept, taken):
        assert audited.json("audit", "verify", "--checkpoints", str(where), "--key", str(key))["ok"] is True
    report = audited.json("audit", "verify")
    assert any(f"checkpoints in {kept} (checkpoint_directory" in said for said in report["remarks"])
    for path in _directory(audited).iterdir():
        if path.suffix in (".jsonl", ".checkpoints"):
            path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:1]))
    alone = audited.run("audit", "verify", "--directory", str(_directory(audited)), check=False)
    assert alone.returncode == 0, "nobody can tell from these files alone"
    for options in ((), ("--checkpoints", str(kept)), ("--checkpoints", str(taken))):
        assert audited.error("audit", "verify", *options)[0] == 7
    started = audited.run("daemon", "start", check=False)
    assert started.returncode != 0
    assert "were cut off" in started.stderr


def test_a_trail_that_is_begun_anew_replaces_nothing_that_was_shipped(audited: Instance, own_directory: Path) -> None:
    audited.run("daemon", "stop")
    kept = own_directory / "kept"
    kept.mkdir()
    (Path(audited.home) / "config.toml").write_text(f'[audit]\nenabled = true\ncheckpoint_directory = "{kept}"\n')
    audited.run("daemon", "start")
    audited.run("daemon", "stop")
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert before
    shutil.rmtree(_directory(audited))
    for _ in range(2):  # the first may end before the numbers that are there
        audited.run("daemon", "start")
        audited.run("daemon", "stop")
    assert {name: (kept / name).read_bytes() for name in before} == before
    log = Path(audited.home, "daemon.log").read_text()
    assert "CRITICAL the newest checkpoints in" in log
    assert "CRITICAL a checkpoint of the audit trail was not shipped" in log
    assert audited.error("audit", "verify")[0] == 7


def test_nothing_to_compare_with_is_wrong_use(audited: Instance, own_directory: Path) -> None:
    (own_directory / "kept").mkdir()
    code, error = audited.error("audit", "verify", "--checkpoints", str(own_directory / "kept"))
    assert (code, error["code"]) == (2, "wrong_use")
    assert "nothing to compare with" in error["message"]
    assert error["remedy"]


def test_a_mistake_in_the_configuration_is_told_with_its_line(instance: Instance) -> None:
    Path(instance.home).mkdir(mode=0o700)
    (Path(instance.home) / "config.toml").write_text("[audit]\nenabled = true\nkeep_age = 'for ever'\n")
    started = instance.run("daemon", "start", check=False)
    assert started.returncode != 0
    assert "config.toml:3: audit.keep_age" in started.stderr


def test_an_entry_says_which_one_and_how_and_nothing_that_opens_a_door(audited: Instance, own_directory: Path) -> None:
    file = own_directory / "token"
    made = audited.json("token", "add", "--note", "a laptop", "--expires", "1d", "--file", str(file))
    asked, done = _listed(audited, "token_add", 2)
    assert asked["detail"] == {"expires": 86400}
    assert done["detail"] == {"id": made["id"], "user": made["user"], "expires": made["expires"]}
    audited.run("token", "rm", made["id"])
    asked, done = _listed(audited, "token_rm", 2)
    assert (asked["detail"], done["detail"]) == ({"id": made["id"]}, {"user": made["user"]})
    audited.run("member", "add", "ben", "--role", "senior", "--team", "shop", check=False)
    asked, done = _listed(audited, "member_add", 2)
    # Root is shown a plan first.
    assert asked["detail"].items() >= {"user": "ben", "role": "senior", "teams": "shop"}.items()
    assert (done["outcome"], done["detail"]) == ("409", {"error": "refused"})
    audited.run("stop", "-t", "nobody", "api", check=False)
    asked = _listed(audited, "stop", 2)[0]
    assert (asked["on"]["team"], asked["detail"]) == ("nobody", {"agents": "api"})
    kept = "".join(path.read_text() for path in _directory(audited).glob("*.jsonl"))
    assert file.read_text().strip() not in kept
    assert "laptop" not in kept
    assert audited.json("audit", "verify")["ok"] is True
