"""The story of the ghosts, end to end, in the account of ann.

Another tool keeps its teams on ann's default tmux socket and unlinks it, twice. Two servers live on that nobody can
reach, and 80 scopes that tmux made for their panes are active: 77 with nothing in them, 3 with an idle shell. ann's
`tmux ls` fails. Of Corral's own two teams, one has lost its socket as well, and the path of the other was taken over.

Nothing of it is feigned: systemd 257 leaves empty scopes active where it has run out of inotify watches, and so it has
here while the other tool works (tests/lab/support/unwatched.py).
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from tests.lab.support.doctors import doctor, fixes, found
from tests.lab.support.instances import LabInstance
from tests.lab.support.units import units
from tests.lab.support.unwatched import unwatched
from tests.lab.support.users import User
from tests.support import processes
from tests.support.waiting import wait_for

_SCOPES, _SHELLS = 80, 3
_TEAM = """\
[team]
name = "{name}"
repo = "../repo"

[agents.api]
command = ["corral", "demo-agent"]

[agents.docs]
command = ["corral", "demo-agent"]
"""


@dataclass(frozen=True)
class Server:
    """A tmux server of ann, as she sees it at its socket."""

    user: User
    path: str
    pid: int

    def ask(self, *command: str, path: str = "") -> str:
        """What it answers there; -N, so that nothing is started."""
        return self.user.bare("tmux", "-N", "-S", path or self.path, *command).stdout.strip()

    def panes(self, path: str = "") -> str:
        return self.ask("list-panes", "-a", "-F", "#{pid} #{session_name} #{pane_id} #{pane_pid}", path=path)

    @property
    def alive(self) -> bool:
        return processes.is_alive(self.pid)


@pytest.fixture
def servers(ann: User) -> Iterator[list[Server]]:
    """The servers that the test starts; they are ended by pid, for some of them cannot be reached."""
    ann.run("mkdir", "-m", "700", _sockets(ann))
    started: list[Server] = []
    yield started
    for server in started:
        one = processes.process(server.pid)
        if one:
            processes.kill(one)
    ann.systemctl("stop", "tmux-spawn-*.scope")
    ann.run("rm", "-r", _sockets(ann))


@pytest.fixture
def teams(lab_instance: LabInstance) -> dict[str, Server]:
    """The tmux servers of Corral's two teams, shop and till."""
    lab_instance.repo()
    found = {}
    for name in ("shop", "till"):
        directory = os.path.join(lab_instance.directory, name)
        lab_instance.user.run("mkdir", directory)
        lab_instance.corral("up", "-f", lab_instance.spec(_TEAM.format(name=name), directory))
        found[name] = _server_at(lab_instance.user, os.path.join(lab_instance.runtime, "tmux", f"{name}.sock"))
    return found


def test_doctor_names_all_of_it_and_heals_what_is_ours(
    lab_instance: LabInstance, ann: User, teams: dict[str, Server], servers: list[Server]
) -> None:
    own = _start(ann, os.path.join(_sockets(ann), "own"), "mine", servers)
    ghosts = _squads(ann, servers)
    shop, till = teams["shop"], teams["till"]
    before = {server.pid: server.panes() for server in (own, shop, till)}
    agents = _agents(lab_instance)
    os.unlink(shop.path)
    os.unlink(till.path)
    stranger = _start(ann, till.path, "stranger", servers)
    assert "No such file" in ann.run("tmux", "ls", check=False).stderr

    # Everything is named, and nothing is touched.
    document = doctor(lab_instance)
    assert not document["healthy"]
    named = {finding["pid"]: finding for finding in found(document, "ghost_servers")}
    assert named.keys() == {shop.pid, till.pid, *(ghost.pid for ghost in ghosts)}
    assert {(named[one.pid]["severity"], named[one.pid]["ours"]) for one in (shop, till)} == {("problem", True)}
    assert {(named[one.pid]["severity"], named[one.pid]["fixable"]) for one in ghosts} == {("info", False)}
    assert (named[shop.pid]["ghost"], named[till.pid]["ghost"]) == ("unlinked", "replaced")
    assert named[till.pid]["replaced_by"] == stranger.pid
    empty = found(document, "scopes", severity="warning")
    assert (len(empty), {finding["fixable"] for finding in empty}) == (_SCOPES - _SHELLS, {True})
    full = [finding for finding in found(document, "scopes", severity="info") if "cannot be reached" in str(finding)]
    assert [[process["command"] for process in finding["processes"]] for finding in full] == [["-bash"]] * _SHELLS
    assert {finding["fixable"] for finding in full} == {False}
    assert len(_spawned_by(ann, ghosts)) == _SCOPES
    assert not os.path.exists(shop.path)
    assert own.panes() == before[own.pid]
    assert f"… and {len(empty) - 4} more like these" in lab_instance.corral("doctor", check=False).stdout

    # What is ours is healed: the same servers with the same panes, and the stranger is reachable beside them.
    document = doctor(lab_instance, "--fix")
    assert document["healthy"]
    assert {finding["pid"] for finding in found(document, "ghost_servers", fixed=True)} == {shop.pid, till.pid}
    assert (shop.panes(), till.panes()) == (before[shop.pid], before[till.pid])
    beside = os.path.join(os.path.dirname(till.path), f"aside.{stranger.pid}")
    assert stranger.panes(beside).startswith(f"{stranger.pid} stranger")
    assert _agents(lab_instance) == agents

    # The empty scopes are gone. The shells, and the servers that are not ours, are as they were.
    assert len(found(document, "scopes", fixed=True)) == _SCOPES - _SHELLS
    assert list(_spawned_by(ann, ghosts).values()) == [True] * _SHELLS
    assert all(ghost.alive for ghost in ghosts)
    assert not os.path.exists(_default(ann))
    assert own.panes() == before[own.pid]

    # It is written down: who, what, and that it went well.
    events = fixes(lab_instance)
    assert {(event["who"]["user"], event["outcome"]) for event in events} == {("ann", "ok")}
    assert sorted({event["team"] for event in events if event["data"]["check"] == "ghost_servers"}) == ["shop", "till"]
    assert sum(event["data"]["check"] == "scopes" for event in events) == _SCOPES - _SHELLS

    # And for the rest the remedy that was named is right.
    ann.run("kill", "-USR1", str(ghosts[0].pid))
    assert f"kill -USR1 {ghosts[0].pid} has it make its socket again" in named[ghosts[0].pid]["remedy"]
    wait_for(lambda: os.path.exists(_default(ann)), what="the socket is back")
    assert ann.run("tmux", "ls").stdout.startswith("squad-goals: 1 windows")
    stranger.ask("kill-server", path=beside)
    wait_for(lambda: not stranger.alive, what="the stranger went")
    for team in teams:
        assert lab_instance.json("down", "-t", team)["clean"]
    assert own.panes() == before[own.pid]


def _sockets(user: User) -> str:
    return f"/tmp/tmux-{user.uid}"


def _default(user: User) -> str:
    return os.path.join(_sockets(user), "default")


def _server_at(user: User, path: str) -> Server:
    return Server(user, path, int(user.bare("tmux", "-N", "-S", path, "display", "-p", "#{pid}").stdout))


def _start(user: User, path: str, session: str, servers: list[Server]) -> Server:
    """A new server of this user, as somebody starts it who knows nothing of others."""
    user.run("tmux", "-S", path, "-f", "/dev/null", "new-session", "-d", "-s", session)
    servers.append(_server_at(user, path))
    return servers[-1]


def _squads(user: User, servers: list[Server]) -> list[Server]:
    """What the other tool does: teams on the default socket, most of each over already, and the socket unlinked."""
    ghosts = []
    with unwatched(user):
        for panes, shells in ((40, 1), (40, 2)):
            server = _start(user, _default(user), "squad-goals", servers)
            for number in range(1, panes):
                server.ask("new-window", "-d", *(["exec sleep 1000"] if number >= shells else []))
            wait_for(partial(_has_scopes, server, panes), 30, "each pane has a scope")
            for _ in range(panes - shells):
                server.ask("kill-window", "-t", ":$")
            os.unlink(_default(user))
            ghosts.append(server)
    wait_for(lambda: sum(_spawned_by(user, ghosts).values()) == _SHELLS, 30, "the panes are over")
    return ghosts


def _has_scopes(server: Server, count: int) -> bool:
    return len(_spawned_by(server.user, [server])) == count


def _spawned_by(user: User, servers: list[Server]) -> dict[str, bool]:
    """The active scopes that these servers made → whether anything runs in them."""
    pids = {f"launched by process {server.pid}" for server in servers}
    listed = json.loads(user.systemctl("list-units", "--type=scope", "--state=active", "--output=json").stdout)
    made = {unit["unit"] for unit in listed if any(unit["description"].endswith(pid) for pid in pids)}
    return {name: _is_populated(unit.cgroup) for name, unit in units(user, "scope").items() if name in made}


def _is_populated(cgroup: str) -> bool:
    with open(f"/sys/fs/cgroup{cgroup}/cgroup.events") as file:
        return "populated 1" in file.read()


def _agents(instance: LabInstance) -> dict[str, int]:
    """Every agent that runs, with its pid."""
    return {f"{one['team']}/{one['agent']}": one["pid"] for one in instance.json("ps") if one["state"] == "running"}
