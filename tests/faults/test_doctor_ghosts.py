"""tmux servers whose socket is gone, or another's: the doctor names them all and brings back ours, panes and all."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.doctor.population import look
from corral.adapters.doctor.servers import Servers
from corral.adapters.procfs import unix_listeners
from corral.places import Places
from tests.faults.support.ghosts import Another, another, aside, ask, doctor, down, fixes, found, peer
from tests.faults.support.population import environment, population, send_signal, tmux_servers
from tests.faults.support.teams import IDLE, await_states, pids, toml
from tests.support import processes
from tests.support.instance import Instance
from tests.support.processes import Process

_AGENTS = {"a-1", "a-2"}
_PANES = ("list-panes", "-a", "-F", "#{session_name} #{pane_id} #{pane_pid} #{pane_dead}")


class Shop:
    """A team of two, its tmux server, and everything about it that must not change."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.socket = os.path.join(instance.runtime, "tmux", "shop.sock")
        instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
        instance.run("up")
        (self.server,) = tmux_servers(instance)
        self.panes = ask(self.socket, *_PANES)
        self.pids = pids(instance)

    def assert_whole(self, socket: str | os.PathLike[str] = "") -> None:
        """The same server with the same panes is at its socket, and the agents never noticed."""
        where = socket or self.socket
        assert peer(where) == self.server.pid
        assert ask(where, *_PANES) == self.panes
        assert population(self.instance) == {agent: [pid] for agent, pid in self.pids.items()}
        assert pids(self.instance) == self.pids


@pytest.fixture
def shop(instance: Instance) -> Iterator[Shop]:
    team = Shop(instance)
    yield team
    down(instance)


def marks(shop: Shop) -> dict[str, str]:
    """What makes a tmux server one of the team's."""
    variables = environment(shop.server.pid)
    return {name: variables[name] for name in ("CORRAL_INSTANCE", "CORRAL_TEAM")}


def test_a_reachable_server_is_no_finding(shop: Shop) -> None:
    document = doctor(shop.instance)
    assert found(document, "ghost_servers", ours=True) == []
    assert document["healthy"]
    shop.assert_whole()


def test_an_unlinked_server_of_ours_is_named_and_nothing_is_changed(shop: Shop) -> None:
    os.unlink(shop.socket)
    document = doctor(shop.instance)
    (finding,) = found(document, "ghost_servers", ours=True)
    assert (finding["severity"], finding["fixable"], finding["fixed"]) == ("problem", True, None)
    assert (finding["pid"], finding["path"], finding["ghost"]) == (shop.server.pid, shop.socket, "unlinked")
    assert "--fix" in finding["remedy"]
    assert not document["healthy"]
    assert not os.path.exists(shop.socket)
    doctor(shop.instance, "--fix")


def test_fix_brings_an_unlinked_server_back_with_every_pane(shop: Shop) -> None:
    os.unlink(shop.socket)
    document = doctor(shop.instance, "--fix")
    (finding,) = found(document, "ghost_servers", ours=True)
    assert finding["fixed"] is True
    assert document["healthy"]
    shop.assert_whole()
    assert found(doctor(shop.instance), "ghost_servers", ours=True) == []


def test_fix_works_without_a_daemon_and_then_starts_one_to_write_it_down(shop: Shop) -> None:
    shop.instance.run("daemon", "stop")
    os.unlink(shop.socket)
    document = doctor(shop.instance, "--fix")
    assert found(document, "ghost_servers", ours=True, fixed=True)
    assert found(document, "journal") == []
    assert [(one["data"]["check"], one["outcome"]) for one in fixes(shop.instance)] == [
        ("ghost_servers", "ok"),
        ("daemon", "ok"),
    ]
    assert peer(shop.socket) == shop.server.pid
    await_states(shop.instance, dict.fromkeys(_AGENTS, "running"))
    shop.assert_whole()


def test_the_directory_of_the_socket_is_made_again_too(shop: Shop) -> None:
    os.unlink(shop.socket)
    os.rmdir(os.path.dirname(shop.socket))
    assert found(doctor(shop.instance, "--fix"), "ghost_servers", ours=True, fixed=True)
    assert os.stat(os.path.dirname(shop.socket)).st_mode & 0o777 == 0o700
    shop.assert_whole()


def test_a_stranger_at_our_path_stays_reachable_under_another_name(shop: Shop) -> None:
    os.unlink(shop.socket)
    with another(shop.socket) as stranger:
        (finding,) = found(doctor(shop.instance), "ghost_servers", ours=True)
        assert (finding["ghost"], finding["replaced_by"]) == ("replaced", stranger.pid)
        (finding,) = found(doctor(shop.instance, "--fix"), "ghost_servers", ours=True)
        assert finding["fixed"] is True
        beside = aside(shop.instance, stranger.pid)
        assert str(beside) in finding["message"]
        shop.assert_whole()
        assert peer(beside) == stranger.pid
        assert ask(beside, "list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{session_name}") == stranger.panes
        after = doctor(shop.instance)
        assert found(after, "ghost_servers", ours=True) == []
        assert found(after, "ghost_servers", pid=stranger.pid) == []  # it is not where it was, but no ghost either


def test_of_two_servers_of_ours_the_path_leads_to_the_one_with_the_agents(shop: Shop) -> None:
    """Somebody started a second server with the team's marks in the place of the hidden one."""
    os.unlink(shop.socket)
    with another(shop.socket, marks(shop)) as empty:
        doctor(shop.instance, "--fix")
        shop.assert_whole()
        assert peer(aside(shop.instance, empty.pid)) == empty.pid
        again = doctor(shop.instance, "--fix")
        (finding,) = found(again, "ghost_servers", ours=True)
        assert (finding["severity"], finding["pid"], finding["fixable"]) == ("info", empty.pid, False)
        assert again["healthy"]


def test_a_hidden_server_without_agents_does_not_take_the_path_from_the_one_that_has_them(shop: Shop) -> None:
    beside = shop.socket + ".kept"
    os.rename(shop.socket, beside)
    with another(shop.socket, marks(shop)) as empty:
        os.rename(beside, shop.socket)  # now the empty one is hidden, and the agents' own is at the path
        (finding,) = found(doctor(shop.instance), "ghost_servers", ours=True)
        assert (finding["pid"], finding["replaced_by"]) == (empty.pid, shop.server.pid)
        assert found(doctor(shop.instance, "--fix"), "ghost_servers", ours=True, fixed=True)
        shop.assert_whole()
        assert peer(aside(shop.instance, empty.pid)) == empty.pid


def test_two_hidden_servers_at_one_path_are_both_brought_back(shop: Shop) -> None:
    os.unlink(shop.socket)
    with another(shop.socket, marks(shop)) as second:
        os.unlink(shop.socket)
        assert len(found(doctor(shop.instance), "ghost_servers", ours=True)) == 2
        document = doctor(shop.instance, "--fix")
        assert len(found(document, "ghost_servers", ours=True, fixed=True)) == 2
        shop.assert_whole()
        assert peer(aside(shop.instance, second.pid)) == second.pid


def test_two_doctors_at_once_do_no_harm(shop: Shop) -> None:
    os.unlink(shop.socket)
    with another(shop.socket) as stranger:
        argv = shop.instance.argv("doctor", "--fix", "--json")
        both = [subprocess.Popen(argv, env=shop.instance.environment(), stdout=subprocess.PIPE) for _ in range(2)]
        said = [json.loads(one.communicate(timeout=30)[0]) for one in both]
        assert any(document["healthy"] for document in said)
        shop.assert_whole()
        assert peer(aside(shop.instance, stranger.pid)) == stranger.pid


def test_the_story_of_two_ghosts_and_a_broken_default_socket(shop: Shop, own_directory: Path) -> None:
    """A person's tmux and two servers of a team share one path, and somebody unlinks it again and again."""
    default = own_directory / "tmux-1000-default"
    with another(default) as person:
        os.unlink(default)
        with another(default) as second:
            os.unlink(default)
            os.unlink(shop.socket)
            document = doctor(shop.instance, "--fix")
            named = {finding["pid"]: finding["fixed"] for finding in found(document, "ghost_servers")}
            assert {shop.server.pid: True, person.pid: None, second.pid: None}.items() <= named.items()
            assert document["healthy"]  # what is ours is healed
            assert not default.exists()  # what is not is left as it is
            for server in (person, second):
                assert processes.is_alive(server.pid)
    shop.assert_whole()


def test_a_socket_that_somebody_moved_away_is_made_anew_at_its_path(shop: Shop) -> None:
    os.rename(shop.socket, shop.socket + ".moved")
    (finding,) = found(doctor(shop.instance, "--fix"), "ghost_servers", ours=True)
    assert (finding["elsewhere"], finding["fixed"]) == (shop.socket + ".moved", True)
    shop.assert_whole()


def test_a_dead_socket_in_its_place_is_no_obstacle(shop: Shop) -> None:
    os.unlink(shop.socket)
    Another(shop.socket).close()  # leaves its socket behind
    (finding,) = found(doctor(shop.instance), "ghost_servers", ours=True)
    assert (finding["ghost"], finding["replaced_by"]) == ("replaced", None)
    doctor(shop.instance, "--fix")
    shop.assert_whole()


def test_something_that_is_no_socket_is_left_where_it_is(shop: Shop) -> None:
    os.unlink(shop.socket)
    Path(shop.socket).write_text("precious")
    document = doctor(shop.instance, "--fix")
    (finding,) = found(document, "ghost_servers", ours=True)
    assert (finding["fixable"], finding["fixed"]) == (False, None)
    assert not document["healthy"]
    assert Path(shop.socket).read_text() == "precious"
    os.unlink(shop.socket)
    doctor(shop.instance, "--fix")


def test_a_stopped_server_is_not_signalled(shop: Shop) -> None:
    os.unlink(shop.socket)
    send_signal(shop.server, signal.SIGSTOP)
    try:
        (finding,) = found(doctor(shop.instance, "--fix"), "ghost_servers", ours=True)
        assert (finding["fixable"], finding["fixed"]) == (False, None)
        assert f"kill -CONT {shop.server.pid}" in finding["remedy"]
    finally:
        send_signal(shop.server, signal.SIGCONT)
    doctor(shop.instance, "--fix")
    shop.assert_whole()


def test_other_peoples_ghosts_are_named_and_left_alone(instance: Instance, own_directory: Path) -> None:
    path = own_directory / "theirs.sock"
    with another(path) as theirs:
        os.unlink(path)
        document = doctor(instance, "--fix")
        (finding,) = found(document, "ghost_servers", pid=theirs.pid)
        assert (finding["severity"], finding["ours"], finding["fixable"]) == ("info", False, False)
        assert f"kill -USR1 {theirs.pid}" in finding["remedy"]
        assert document["healthy"]
        assert not path.exists()


def test_a_server_of_another_instance_is_not_ours(instance: Instance, own_directory: Path) -> None:
    path = own_directory / "other.sock"
    with another(path, {"CORRAL_INSTANCE": "0123456789ab", "CORRAL_TEAM": "shop"}) as theirs:
        os.unlink(path)
        (finding,) = found(doctor(instance, "--fix"), "ghost_servers", pid=theirs.pid)
        assert (finding["ours"], finding["fixable"]) == (False, False)
        assert not path.exists()


def test_a_server_that_an_agent_started_for_itself_is_the_agents_own(shop: Shop, own_directory: Path) -> None:
    path = own_directory / "agents-own.sock"
    agent = processes.process(shop.pids["a-1"])
    assert isinstance(agent, Process)
    with another(path, environment(agent.pid)) as theirs:
        os.unlink(path)
        (finding,) = found(doctor(shop.instance, "--fix"), "ghost_servers", pid=theirs.pid)
        assert (finding["ours"], finding["fixable"]) == (False, False)
        assert "shop/a-1" in finding["message"]
        assert not path.exists()


def test_without_the_kernels_list_nothing_is_called_a_ghost_and_that_is_said(
    own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> list[unix_listeners.Listener]:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(unix_listeners, "listeners", refused)
    gone = own_directory / "gone.sock"
    with another(gone, {"CORRAL_INSTANCE": "0123456789ab", "CORRAL_TEAM": "shop"}) as unlinked:
        os.unlink(gone)
        places = Places(str(own_directory / "h"), str(own_directory / "r"))
        servers = Servers(look(), places)
        (server,) = [server for server in servers.servers() if server.pid == unlinked.pid]
        assert (server.standing, server.path) == ("unclear", places.tmux_socket("shop"))
        assert "does not list sockets (Operation not permitted)" in servers.incomplete
