"""Requests of real users to the daemon of a shared server: decided by the policy, and in the audit trail."""

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.shared import Document, add_member, as_daemon, shared_server, system
from tests.lab.support.users import Result, User
from tests.support.waiting import wait_for

_TRAIL = "/var/lib/corral/audit"


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    """A server with two members: ann, a senior, and ben, a junior. cleo is in the group, and nobody."""
    ann, ben, cleo = User("ann"), User("ben"), User("cleo")
    with shared_server(ann, ben):
        system("corral", "member", "add", "ann", "--role", "senior")
        add_member(cleo)
        yield


_ASK = """
import http.client, socket, sys
connection = http.client.HTTPConnection("corral")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect("/run/corral/daemon.sock")
connection.request(sys.argv[1], sys.argv[2], sys.argv[3])
answer = connection.getresponse()
print(answer.status)
print(answer.read().decode())
"""


def raw(user: User, method: str, target: str, body: str = "") -> tuple[int, Document]:
    """One request to the socket, past the command line: the status, and the first document of the answer."""
    status, content, *_ = user.run("python3", "-c", _ASK, method, target, body).stdout.splitlines()
    document: Document = json.loads(content or "{}")
    return int(status), document


def entries(*words: str) -> list[Document]:
    """The trail as root reads it."""
    told = system("corral", "audit", "export", "--format", "jsonl", *words).stdout
    return [json.loads(line) for line in told.splitlines()]


def refused(done: Result) -> tuple[int, str, str]:
    error = json.loads(done.stderr)["error"]
    return done.returncode, error["code"], error["rule"]


def test_what_a_member_may_not_do_is_refused_with_the_rule_and_is_in_the_trail(server: None, ben: User) -> None:
    pid = json.loads(ben.run("corral", "daemon", "status", "--json").stdout)["pid"]
    assert refused(ben.run("corral", "daemon", "stop", "--json", check=False)) == (4, "denied", "junior.host")
    assert refused(ben.run("corral", "member", "rm", "ann", "--json", check=False)) == (4, "denied", "gives_too_much")
    assert json.loads(ben.run("corral", "daemon", "status", "--json").stdout)["pid"] == pid, "it still runs"
    assert json.loads(ben.run("corral", "member", "show", "ann", "--json").stdout)["role"] == "senior"
    (stopping,) = entries("--who", "ben", "--verb", "stop_daemon")
    assert stopping["who"] == {
        "uid": ben.uid,
        "user": "ben",
        "member": True,
        "role": "junior",
        "agent": "",
        "run": "",
    }
    assert (stopping["allowed"], stopping["rule"], stopping["outcome"]) == (False, "junior.host", "403")
    assert re.fullmatch("[0-9a-f]{16}", stopping["trace"])


def test_who_is_in_the_group_and_no_member_does_not_get_through_the_door(server: None, cleo: User) -> None:
    done = cleo.run("python3", "-c", _ASK, "GET", "/v1/health", "", check=False)
    assert "PermissionError" in done.stderr


def test_who_gets_through_and_is_no_member_gets_nothing(server: None) -> None:
    """The daemon's own user can connect: it is its socket. It is nobody there all the same."""
    assert refused(as_daemon("corral", "ps", "--json")) == (4, "denied", "not_a_member")
    for method, target in (("GET", "/v1/health"), ("GET", "/v1/agents?agent=x"), ("POST", "/v1/daemon/stop")):
        status, content, *_ = as_daemon("python3", "-c", _ASK, method, target, "").stdout.splitlines()
        assert (status, json.loads(content)["error"]["rule"]) == ("403", "not_a_member"), target
    told = [
        one for one in entries("--who", "corral") if one["who"]["uid"] != -1
    ]  # which is what the daemon does itself
    assert {(one["allowed"], one["rule"], one["who"]["member"]) for one in told} == {(False, "not_a_member", False)}


def test_what_is_allowed_says_so_and_an_act_has_its_outcome(server: None, ann: User, ben: User) -> None:
    assert ann.run("corral", "ps").returncode == 0
    listed = entries("--who", "ann", "--verb", "list_agents")[-1]
    assert (listed["allowed"], listed["rule"], listed["outcome"]) == (True, "senior.see.any", "200")
    # A file of its own, which is no corral.toml: allowed to a junior, for a team that is nobody's yet.
    toml = '[team]\nname = "bens"\n\n[agents.a]\ncommand = ["true"]\n'
    status, _ = raw(ben, "POST", "/v1/up", json.dumps({"file": "/home/ben/corral.toml", "text": toml, "dry_run": True}))
    assert status == 200
    decided, done = entries("--who", "ben", "--verb", "up")
    assert decided["trace"] == done["trace"]
    assert (decided["on"], decided["rule"]) == ({"kind": "team", "team": "bens", "agent": ""}, "junior.run.own")


def test_people_read_their_own_entries_and_seniors_everybodys(server: None, ann: User, ben: User) -> None:
    ann.run("corral", "ps")
    ben.run("corral", "ps")
    seen = [json.loads(line) for line in ben.run("corral", "audit", "export", "--format", "jsonl").stdout.splitlines()]
    assert {one["who"]["user"] for one in seen} == {"ben"}
    told = ann.run("corral", "audit", "export", "--format", "jsonl").stdout
    everything = {json.loads(line)["who"]["user"] for line in told.splitlines()}
    assert {"ann", "ben", "root"} <= everything
    for path in ("", "/key", f"/{min(os.listdir(_TRAIL))}"):
        assert "Permission denied" in ben.run("cat", f"{_TRAIL}{path}", check=False).stderr
        assert "Permission denied" in ben.run("touch", f"{_TRAIL}{path}", check=False).stderr


def test_a_trail_of_real_requests_holds(server: None, ann: User) -> None:
    ann.run("corral", "ps")
    assert json.loads(system("corral", "audit", "verify", "--json").stdout)["ok"] is True


def engine() -> int:
    """The process that decides."""
    daemon = system("systemctl", "show", "--property=MainPID", "--value", "corral.service").stdout.strip()
    children = Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()
    found = [int(pid) for pid in children if b"engine" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(found) <= 1
    return found[0] if found else 0


def test_an_engine_that_hangs_or_dies_denies_and_the_next_one_decides(server: None, ann: User) -> None:
    """Asked what nobody has asked before: what was decided is remembered."""

    def decides(team: str) -> bool:
        return bool(raw(ann, "GET", f"/v1/policy/check?verb=list_agents&on={team}")[1]["rule"] == "senior.see.any")

    hanging = engine()
    os.kill(hanging, signal.SIGSTOP)
    status, answer = raw(ann, "GET", "/v1/openapi.json")
    assert (status, answer["error"]["code"], answer["error"]["rule"]) == (403, "denied", "timed_out")
    denied = entries("--who", "ann", "--verb", "openapi")[-1]
    assert (denied["allowed"], denied["rule"], denied["outcome"]) == (False, "timed_out", "403")
    wait_for(lambda: decides("one"), what="another engine decides")
    assert not os.path.exists(f"/proc/{hanging}"), "the one that hung was ended"
    dying = engine()
    os.kill(dying, signal.SIGKILL)
    wait_for(lambda: decides("two"), what="another engine decides")
    assert engine() not in (0, dying)
