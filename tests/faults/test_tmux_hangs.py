"""A tmux server that does not answer: nothing is killed, restarted or reported gone until it answers again."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support.population import (
    assert_one_of_each,
    daemons,
    kill_daemon,
    kill_keeper,
    population,
    send_signal,
    tmux_servers,
)
from tests.faults.support.teams import (
    IDLE,
    await_event,
    await_states,
    down,
    events,
    failure,
    last_seq,
    pids,
    ps,
    states,
    toml,
)
from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.processes import Process

_NAMES = {"a-1", "a-2"}
#: `ps` asks nobody, so this is the time of a Python start, with room for a busy machine.
_AT_ONCE = 2.0


@contextlib.contextmanager
def hung(server: Process) -> Iterator[None]:
    """The server does not run in this block."""
    send_signal(server, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError, AssertionError):
            send_signal(server, signal.SIGCONT)


def _up(instance: Instance) -> Process:
    instance.spec(toml({"a": {"command": IDLE, "count": 2, "restart": "always"}}))
    instance.run("up")
    (server,) = tmux_servers(instance)
    return server


def _states_at_once(instance: Instance) -> set[str]:
    began = time.monotonic()
    found = set(states(instance).values())
    assert time.monotonic() - began < _AT_ONCE
    return found


@pytest.mark.slow
def test_while_tmux_hangs_nothing_is_reported_gone_and_nothing_is_done_to_it(instance: Instance) -> None:
    server = _up(instance)
    before, seq = pids(instance), last_seq(instance)
    with hung(server):
        assert _states_at_once(instance) == {"running"}
        await_states(instance, dict.fromkeys(_NAMES, "unknown"), seconds=40)  # though nobody asked
        assert _states_at_once(instance) == {"unknown"}
        for command in (("send", "a-1", "hello"), ("up",), ("restart", "a-1")):
            began = time.monotonic()
            code, error = instance.error(*command)
            assert (code, error["code"]) == (6, "unavailable"), (command, error)
            assert error["remedy"], command
            assert time.monotonic() - began < 4, command  # it is known to be silent, and gets less than at first
        reasons = {agent["reason"] for agent in ps(instance).values()}
        assert all("tmux" in reason for reason in reasons), reasons
        assert population(instance) == {name: [pid] for name, pid in before.items()}
        assert [one.pid for one in tmux_servers(instance)] == [server.pid]
    await_states(instance, dict.fromkeys(_NAMES, "running"), seconds=2)
    assert pids(instance) == before
    assert_one_of_each(instance, _NAMES)
    happened = {event["event"] for event in events(instance, "--after", str(seq))}
    assert happened == {"agent.unknown", "agent.found"}
    instance.run("send", "a-1", "hello")
    down(instance)


@pytest.mark.slow
def test_a_team_whose_tmux_hangs_can_be_taken_down(instance: Instance) -> None:
    server = _up(instance)
    with hung(server):
        began = time.monotonic()
        receipt = down(instance)
        # A look that is under way, its own look, and no more: a server that is silent is not asked to go.
        assert time.monotonic() - began < 15
        assert sorted(receipt["stopped"]) == sorted(_NAMES)
    assert population(instance) == {}
    assert tmux_servers(instance) == []


@pytest.mark.slow
def test_a_new_daemon_and_a_new_keeper_meet_a_tmux_that_hangs(instance: Instance) -> None:
    server = _up(instance)
    before = pids(instance)
    with hung(server):
        kill_keeper(instance)
        kill_daemon(instance)
        began = time.monotonic()
        instance.run("daemon", "start")
        assert time.monotonic() - began < 15
        assert len(daemons(instance)) == 1
        assert _states_at_once(instance) <= {"running", "unknown"}
        await_states(instance, dict.fromkeys(_NAMES, "unknown"))
        assert population(instance) == {name: [pid] for name, pid in before.items()}
        assert [one.pid for one in tmux_servers(instance)] == [server.pid]
    await_states(instance, dict.fromkeys(_NAMES, "running"), seconds=40)
    assert pids(instance) == before


@pytest.mark.slow
def test_one_team_that_hangs_does_not_hold_up_another(instance: Instance, own_directory: Path) -> None:
    server = _up(instance)
    (own_directory / "other").mkdir()
    instance.spec(toml({"b": {"command": IDLE}}, name="other"), own_directory / "other")
    with hung(server):
        instance.error("send", "a-1", "hello")
        began = time.monotonic()
        instance.run("up", cwd=own_directory / "other")
        instance.run("send", "other/b", "hello")
        assert states(instance)["b"] == "running"
        instance.run("stop", "other/b")
        down(instance, team="other")
        assert time.monotonic() - began < 8
    assert population(instance).keys() == _NAMES


@pytest.mark.slow
def test_an_agent_whose_restart_meets_a_tmux_that_hangs_is_started_again_later(instance: Instance) -> None:
    policy = {"policy": "always", "attempts": 1000, "delay": "2s", "longest": "2s"}
    instance.spec(toml({"a": {"command": ["sh", "-c", "sleep 1; exit 3"], "restart": policy}, "b": {"command": IDLE}}))
    instance.run("up")
    (server,) = tmux_servers(instance)
    await_event(instance, "agent.exited", "a", next="backoff")
    with hung(server):
        seq = last_seq(instance)
        await_event(instance, "agent.unknown", "a", after=seq, seconds=60)  # its start was begun, in vain
    await_event(instance, "agent.started", "a", after=seq, seconds=40)
    assert "failed" not in states(instance).values()
    down(instance)


@pytest.mark.slow
def test_nobody_is_taken_to_be_away_because_tmux_hangs(instance: Instance) -> None:
    alone = '\n[supervision]\nunattended = { after = "4s", then = "stop", notice = "1s" }\n'
    instance.spec(toml({"a": {"command": IDLE}}) + alone)
    instance.run("up")
    (server,) = tmux_servers(instance)
    with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as person:
        with person.meanwhile(lambda at, stop: _keep_typing(at, stop)), hung(server):
            time.sleep(8)  # tmux has taken no key for longer than the time after which a team is alone
        time.sleep(4)
        stages = [event["data"]["stage"] for event in events(instance) if event["event"] == "team.unattended"]
    assert "alone" not in stages
    assert states(instance)["a"] == "running"
    down(instance)


def _keep_typing(person: AtTheKeyboard, stop: threading.Event) -> None:
    while not stop.wait(0.5):
        person.press("x")


@pytest.mark.slow
def test_a_tmux_that_hangs_at_its_start_is_given_up_and_leaves_no_process(
    instance: Instance, own_directory: Path
) -> None:
    fake = own_directory / "tmux"
    fake.write_text("#!/bin/sh\nexec sleep 86403\n")
    fake.chmod(0o755)
    instance.env["CORRAL_TMUX"] = str(fake)
    instance.spec(toml({"a": {"command": IDLE}}))
    began = time.monotonic()
    code, error = instance.error("up")
    assert (code, error["code"]) == (6, "unavailable")
    assert "tmux" in error["message"]
    assert error["remedy"]
    assert time.monotonic() - began < 20
    assert population(instance) == {}
    assert not _sleepers()
    down(instance)


def _sleepers() -> list[str]:
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if b"86403" in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


_BROKEN = {
    "missing": (None, "install"),
    "not executable": (0o644, "tmux"),
    "a directory": (None, "tmux"),
    "exits at once": (0o755, "tmux"),
}


@pytest.mark.parametrize("kind", _BROKEN)
def test_a_tmux_that_cannot_be_run_is_told_with_a_remedy_and_up_works_once_it_can(
    instance: Instance, own_directory: Path, kind: str
) -> None:
    mode, word = _BROKEN[kind]
    fake = own_directory / "bin" / "tmux"
    fake.parent.mkdir()
    if mode is not None:
        fake.write_text("#!/bin/sh\necho I am not the tmux you look for >&2\nexit 1\n")
        fake.chmod(mode)
    elif kind == "a directory":
        fake.mkdir()
    instance.env["CORRAL_TMUX"] = str(fake)
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    done = instance.run("up", "--json", check=False)
    error = failure(done)
    assert (done.returncode, error["code"]) == (6, "unavailable"), error
    assert str(fake) in error["message"] or "not the tmux you look for" in error["message"], error
    assert word in error["remedy"] or word in error["message"], error
    assert population(instance) == {}
    assert not set(states(instance).values()) & {"running", "starting"}
    if fake.is_dir():
        fake.rmdir()
    fake.unlink(missing_ok=True)
    fake.symlink_to("/usr/bin/tmux")
    instance.run("up")
    assert_one_of_each(instance, _NAMES)
