"""The inbox is for people: an agent cannot answer, claim or snooze, nor have Corral's own processes do it."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.faults.support.teams import DEMO, IDLE, events, toml
from tests.integration.test_inbox import ask, waiting
from tests.support import repos
from tests.support.instance import Instance
from tests.support.waiting import wait_for

#: What an agent takes away to look like a person.
HIDDEN = ["env", "-u", "CORRAL_AGENT", "-u", "CORRAL_TEAM", "-u", "CORRAL_INSTANCE", "-u", "CORRAL_RUN"]

#: Connects, and leaves the connection to a child: the process that the kernel names as the peer is gone then.
LEFT_BEHIND = """
import os, select, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
itself = os.pidfd_open(os.getpid())
if os.fork():
    os._exit(0)
select.select([itself], [], [])  # returns when the parent has ended
body = b'{"say": "approve"}'
head = f"POST /v1/inbox/{sys.argv[2]}/answer HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\n"
connection.sendall(head.encode() + b"Content-Length: %d\\r\\nConnection: close\\r\\n\\r\\n" % len(body) + body)
said = b""
while part := connection.recv(65536):
    said += part
with open(sys.argv[3] + ".new", "wb") as file:
    file.write(said)
os.rename(sys.argv[3] + ".new", sys.argv[3])
"""


@pytest.fixture
def team(instance: Instance) -> Instance:
    """One that asks, and one that does nothing, to do things in."""
    instance.spec(toml({"a": {"command": DEMO}, "s": {"command": IDLE}}))
    instance.run("up")
    return instance


def approving(instance: Instance, number: int, told: Path) -> str:
    """A line of shell that approves an entry as nobody in particular, and leaves in a file how that ended."""
    own = [f"CORRAL_HOME={instance.home}", f"CORRAL_RUNTIME_DIR={instance.runtime}"]
    words = shlex.join([*HIDDEN, *own, *instance.argv("inbox", "approve", str(number))])
    new = shlex.quote(f"{told}.new")
    return f"{{ {words}; echo code $?; }} >{new} 2>&1 </dev/null; mv {new} {shlex.quote(str(told))}"


def read_soon(told: Path) -> str:
    wait_for(told.exists, 30, "it is told how it ended")
    return told.read_text(encoding="utf-8")


def must_be_open(instance: Instance) -> None:
    """Nobody has answered, and nobody has begun to."""
    (entry,) = waiting(instance)
    assert (entry["state"], entry["by"]) == ("open", "")


def test_who_leaves_its_connection_to_a_child_is_refused(team: Instance, tmp_path: Path) -> None:
    number = ask(team, "may I?")
    told = tmp_path / "told"
    daemon = str(Path(team.runtime, "daemon.sock"))
    words = [sys.executable, "-c", LEFT_BEHIND, daemon, str(number), str(told)]
    team.run("exec", "s", "--background", "--", *HIDDEN, *words)
    said = read_soon(told)
    assert said.startswith("HTTP/1.1 409"), said
    assert "nobody can tell whose it is" in said
    must_be_open(team)


@pytest.mark.parametrize("form", ["{}", "( {{ {}; }} & )", "setsid sh -c {quoted} &"])
def test_what_the_tmux_of_the_team_runs_is_refused(team: Instance, tmp_path: Path, form: str) -> None:
    number = ask(team, "may I?")
    told = tmp_path / "told"
    line = approving(team, number, told)
    attach = team.json("attach", "a")["argv"]
    tmux = attach[attach.index("-S") + 1]
    job = form.format(line, quoted=shlex.quote(line))
    team.run("exec", "s", "--", "tmux", "-S", tmux, "run-shell", "-b", job)
    said = read_soon(told)
    assert "code 4" in said, said
    assert "the inbox is for people" in said
    must_be_open(team)


def test_an_agent_may_watch_another_one_and_not_type_there(team: Instance) -> None:
    attach = team.argv("attach", "shop/a", "--json")
    for words in (attach, [*HIDDEN, *attach]):
        done = team.run("exec", "s", "--", *words, check=False)
        assert done.returncode == 4, done.stdout
        assert "the keyboard of a is for people" in done.stdout + done.stderr
        assert "shop/s" in done.stdout + done.stderr
    assert "agent.attached" not in [one["event"] for one in events(team)]
    team.run("exec", "s", "--", *HIDDEN, *team.argv("attach", "-r", "shop/a", "--json"))
    assert team.json("attach", "a")["argv"]


def test_an_agent_can_neither_claim_nor_snooze(team: Instance) -> None:
    number = str(ask(team, "may I?"))
    for words in (["claim", number], ["snooze", number, "--for", "7d"]):
        done = team.run("exec", "s", "--", *HIDDEN, *team.argv("inbox", *words), check=False)
        assert done.returncode == 4, done.stdout
        assert "shop/s" in done.stdout + done.stderr
        must_be_open(team)


def test_a_hook_of_the_repository_that_the_keeper_runs_is_refused(instance: Instance, tmp_path: Path) -> None:
    repo = repos.make(tmp_path / "repo")
    asking: dict[str, dict[str, object]] = {"a": {"command": DEMO}}
    instance.spec(toml(asking, repo=repo))
    instance.run("up")
    number = ask(instance, "may I?")
    told = tmp_path / "told"
    hook = repo / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{approving(instance, number, told)}\n", encoding="utf-8")
    hook.chmod(0o755)
    instance.spec(toml({**asking, "b": {"command": IDLE}}, repo=repo))
    instance.run("up")
    said = read_soon(told)
    assert "code 4" in said, said
    must_be_open(instance)
