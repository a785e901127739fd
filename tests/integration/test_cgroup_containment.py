"""A team in cgroups that we make ourselves: in, limited, frozen, counted, and out again without a trace."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.cgroup.containment import CgroupContainment
from corral.adapters.cgroup.delegation import Delegation
from corral.adapters.cgroup.home import Home
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.containment import ProcessContainment
from corral.domain.limits import NO_LIMITS, Limits
from corral.places import Places
from corral.ports.census import Check
from corral.ports.containment import Admission, Containment, Placement
from corral.ports.runs import Ended
from corral.ports.usage import Usage
from tests.support.cgroups import Subtree, in_state_d, subtree
from tests.support.listeners import a_hand
from tests.support.waiting import wait_for

INSTANCE = f"t{os.getpid()}"
TEAM = "shop"
STUBBORN = "trap '' TERM HUP; echo ready; while :; do sleep 1000; done"


def first(agent: str, run: str, pid: int, limits: Limits = NO_LIMITS) -> Placement:
    return Placement(agent=agent, run=run, pid=pid, limits=limits)


def sweep() -> ProcessContainment:
    return ProcessContainment(Places.from_environment(), INSTANCE)


class Team:
    """A team with agents that are shells, and everything that was told about it."""

    def __init__(self, own: Subtree) -> None:
        self.own = own
        self.told: list[str] = []
        self.home = Home(Delegation(own.given.hierarchy, own.top, own.given.controllers, ""), INSTANCE)
        self.containment: Containment = CgroupContainment(self.home, sweep(), "")
        self.runs: dict[str, str] = {}
        self.first: dict[str, int] = {}

    @property
    def top(self) -> Cgroup:
        return self.own.top.child(f"corral-{INSTANCE}")

    def group(self, agent: str) -> Cgroup:
        return self.top.child(TEAM).child(agent)

    def start(self, agent: str, script: str, limits: Limits | None = None) -> subprocess.Popen[bytes]:
        """Start an agent as a keeper does: its first process waits for the word, and gets it once it is admitted."""
        run = f"run-{agent}"
        gate, word = os.pipe()
        environment = {"CORRAL_INSTANCE": INSTANCE, "CORRAL_TEAM": TEAM, "CORRAL_AGENT": agent, "CORRAL_RUN": run}
        process = subprocess.Popen(
            ["sh", "-c", 'read -r go; exec sh -c "$0"', script],
            stdin=gate,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        self.own.started.append(process)
        os.close(gate)
        one = first(agent, run, process.pid, limits or NO_LIMITS)
        admission = asyncio.run(self.containment.admit(TEAM, [one], NO_LIMITS))
        assert (admission.levels, admission.problems) == ({run: "cgroup"}, {})
        self.told += admission.notes
        os.write(word, b"go\n")
        os.close(word)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        self.runs[run] = agent
        self.first[agent] = process.pid
        return process

    def end(self, *agents: str, grace: float = 0.2) -> Ended:
        runs = {run: agent for run, agent in self.runs.items() if agent in agents}
        roots = [self.first[agent] for agent in agents]
        return asyncio.run(self.containment.end_runs(TEAM, runs, roots, grace, spare=False))

    def down(self, grace: float = 0.2) -> Ended:
        return asyncio.run(self.containment.end_team(TEAM, grace))

    def freeze(self, *agents: str, frozen: bool = True) -> None:
        runs = {run: agent for run, agent in self.runs.items() if agent in agents}
        asyncio.run(self.containment.freeze(TEAM, runs, frozen=frozen))

    def usage(self) -> list[Usage]:
        return asyncio.run(self.containment.usage(TEAM))

    def census(self) -> dict[str, Check]:
        return {check.what: check for check in asyncio.run(self.containment.census(TEAM))}


@pytest.fixture
def own() -> Iterator[Subtree]:
    with subtree() as mine:
        yield mine


@pytest.fixture
def team(own: Subtree) -> Team:
    return Team(own)


def test_everything_an_agent_starts_is_born_in_its_cgroup(team: Team) -> None:
    process = team.start("api", "(env -i setsid sleep 1000 &); setsid sleep 1000 & echo ready; wait")
    assert process.pid in team.group("api").pids()
    assert len(team.group("api").pids()) >= 3
    assert team.group("api").name.endswith(f"/corral-{INSTANCE}/{TEAM}/api")


def test_a_run_that_ended_before_it_was_admitted_is_a_problem(team: Team) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    alive = team.own.start(None, "echo ready; exec sleep 1000")
    placements = [first("api", "r1", ended.pid), first("docs", "r2", alive.pid)]
    admission = asyncio.run(team.containment.admit(TEAM, placements, NO_LIMITS))
    assert admission.levels == {"r1": "process", "r2": "cgroup"}
    assert list(admission.problems) == ["r1"]
    assert team.group("docs").pids() == [alive.pid]


def test_ending_one_agent_leaves_the_other(team: Team) -> None:
    team.start("api", f"(env -i setsid sleep 1000 &) ; {STUBBORN}")
    docs = team.start("docs", "echo ready; exec sleep 1000")
    ended = team.end("api")
    assert (ended.gone, ended.residue) == (["run-api"], [])
    assert ended.killed >= 1
    assert docs.poll() is None
    assert not team.group("api").exists()
    assert team.group("docs").exists()


def test_the_whole_team_leaves_nothing(team: Team) -> None:
    team.start("api", f"(env -i setsid sleep 1000 &) ; {STUBBORN}")
    team.start("docs", "setsid nohup sleep 1000 >/dev/null & echo ready; kill -STOP $$")
    assert team.down().residue == []
    assert not team.top.exists()
    assert {what: check.found for what, check in team.census().items()} == {
        "processes": 0,
        "tmux_servers": 0,
        "sockets": 0,
        "ports": 0,
        "cgroups": 0,
    }


def test_what_left_its_cgroup_is_known_by_its_marker(team: Team) -> None:
    elsewhere = team.own.make("elsewhere")
    team.start("api", f"(echo 0 >{elsewhere.path}/cgroup.procs; exec sleep 1000) & echo ready; wait")
    team.start("docs", f"echo 0 >{elsewhere.path}/cgroup.procs; {STUBBORN}")
    assert team.end("api").residue == []
    # The shell and what it has started; of the other agent nothing is left.
    assert len(elsewhere.pids()) == 2
    assert team.down().residue == []
    assert elsewhere.pids() == []


def test_what_made_cgroups_of_its_own_is_ended_with_them(team: Team) -> None:
    group = team.group("api")
    team.start(
        "api",
        f"mkdir -p {group.path}/x/y; (echo 0 >{group.path}/x/y/cgroup.procs; "
        f"echo 1 >{group.path}/x/cgroup.freeze; exec env -i sleep 1000) & echo ready; wait",
    )
    ended = team.end("api")
    assert (ended.gone, ended.residue) == (["run-api"], [])
    assert not group.exists()


def test_the_census_names_what_only_its_cgroup_gives_away(team: Team) -> None:
    team.start("api", "(env -i setsid sleep 1234 &) ; echo ready; exec env -i sleep 1235")

    def commands() -> list[str]:
        return sorted(residue.command for residue in team.census()["processes"].residue)

    wait_for(lambda: commands() == ["sleep 1234", "sleep 1235"], what="both are named")
    census = team.census()
    assert all(residue.why.endswith(f"in cgroup {team.group('api').name}") for residue in census["processes"].residue)
    assert {residue.name for residue in census["cgroups"].residue} == {
        team.top.child(TEAM).path,
        team.group("api").path,
    }
    assert census["cgroups"].residue[0].why == "has processes"


def test_a_port_of_what_only_its_cgroup_gives_away_is_known_when_it_is_in_other_hands(
    team: Team, own_directory: Path
) -> None:
    with a_hand(own_directory / "hand") as hand:
        command = shlex.join(["env", "-i", "setsid", *hand.command])
        team.start("api", f"({command} &) ; echo ready; exec sleep 1000")
        names = hand.take()
        team.down()
        assert [(residue.name, residue.pid) for residue in team.census()["ports"].residue] == [
            (name, os.getpid()) for name in names
        ]
        assert team.census()["processes"].found == 0
        hand.let_go()
        assert team.census()["ports"].found == 0


def test_an_empty_cgroup_is_told_and_removed(team: Team) -> None:
    team.start("api", "echo ready; exec sleep 1000").kill()
    team.own.started[-1].wait()
    assert [residue.why for residue in team.census()["cgroups"].residue] == ["empty, not removed"] * 2
    assert team.down().residue == []
    assert team.census()["cgroups"].found == 0


def test_cgroups_from_an_earlier_place_are_found_and_ended(team: Team) -> None:
    team.start("api", "(env -i setsid sleep 1000 &) ; echo ready; wait")
    moved = Team(team.own)
    place = team.own.make("another")
    moved.home = Home(Delegation(team.own.given.hierarchy, place, team.own.given.controllers, ""), INSTANCE)
    moved.containment = CgroupContainment(moved.home, sweep(), "")
    assert moved.census()["cgroups"].found == 2
    assert moved.down().residue == []
    assert not team.top.exists()


def test_a_limit_that_cannot_be_kept_is_told(team: Team) -> None:
    limits = Limits(memory_max=1 << 30, tasks_max=50)
    team.start("api", "echo ready; exec sleep 1000", limits)
    for controller, limit, file, text in (
        ("memory", "memory_max", "memory.max", str(1 << 30)),
        ("pids", "tasks_max", "pids.max", "50"),
    ):
        if controller in team.group("api").words("cgroup.controllers"):
            assert (team.group("api").read(file) or "").strip() == text
        else:
            assert f"api: {limit} is not enforced: the {controller} controller is missing" in team.told
    assert asyncio.run(team.containment.limit(TEAM, {"api": NO_LIMITS}, NO_LIMITS)) == []
    outside = asyncio.run(team.containment.limit(TEAM, {"api": NO_LIMITS, "outside": limits}, NO_LIMITS))
    assert outside == ["outside: memory_max, tasks_max cannot be enforced without a cgroup"]
    if "pids" not in team.group("api").words("cgroup.controllers"):
        told = asyncio.run(team.containment.limit(TEAM, {"api": NO_LIMITS}, Limits(tasks_max=9)))
        assert told == ["the team: tasks_max is not enforced: the pids controller is missing"]


def test_an_agent_is_frozen_with_everything_it_started(team: Team) -> None:
    team.start("api", "setsid sleep 1000 & echo ready; wait")
    docs = team.start("docs", "echo ready; exec sleep 1000")
    team.freeze("api")
    assert team.group("api").frozen()
    assert not team.group("docs").frozen()
    assert {use.agent: use.frozen for use in team.usage()} == {"api": True, "docs": False, "": False}
    team.freeze("api", frozen=False)
    team.freeze("api", "docs")
    assert team.down().residue == []
    assert docs.wait() in (-signal.SIGTERM, -signal.SIGHUP)


def test_a_run_outside_is_frozen_and_counted_by_the_level_below(team: Team) -> None:
    environment = {"CORRAL_INSTANCE": INSTANCE, "CORRAL_TEAM": TEAM, "CORRAL_AGENT": "docs", "CORRAL_RUN": "run-docs"}
    outside = team.own.start(None, "echo ready; exec sleep 1000", environment=environment)
    team.start("api", "echo ready; exec sleep 1000")
    team.runs["run-docs"] = "docs"
    gone = first("docs", "run-docs", 2**22)
    assert asyncio.run(team.containment.admit(TEAM, [gone], NO_LIMITS)).levels == {"run-docs": "process"}
    team.freeze("api", "docs")
    wait_for(lambda: (now := proc.read(outside.pid)) and now.state == "T", what="it stands still")
    assert {use.agent: use.level for use in team.usage()} == {"docs": "process", "api": "cgroup", "": "cgroup"}
    assert team.down().residue == []
    assert outside.wait() in (-signal.SIGTERM, -signal.SIGHUP)


def test_the_server_of_a_team_outlives_its_agents(team: Team) -> None:
    server = team.own.start(None, "echo ready; exec sleep 1000")
    asyncio.run(team.containment.shelter(TEAM, server.pid, "tmux"))
    team.start("api", "echo ready; exec sleep 1000")
    assert team.down().residue == []
    assert server.poll() is None
    assert team.census()["cgroups"].found == 1
    server.kill()
    server.wait()
    asyncio.run(team.containment.forget_team(TEAM))
    assert team.census()["cgroups"].found == 0
    assert not team.top.exists()


def test_usage_is_that_of_everything_an_agent_started(team: Team) -> None:
    team.start("api", "sleep 1000 & sleep 1000 & i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo ready; wait")
    team.start("docs", "echo ready; exec sleep 1000")
    api, docs, whole = team.usage()
    assert (api.agent, docs.agent, whole.agent) == ("api", "docs", "")
    assert (api.tasks, docs.tasks, whole.tasks) == (3, 1, 4)
    assert api.cpu_seconds > 0
    assert whole.cpu_seconds >= api.cpu_seconds
    assert api.memory_current > 0
    assert whole.memory_current >= api.memory_current
    assert api.cgroup == team.group("api").name
    assert asyncio.run(team.containment.usage("nobody")) == []


@pytest.mark.slow
def test_what_cannot_die_is_named_once_with_its_cgroup(team: Team) -> None:
    stuck = team.start("api", "echo ready; exec sleep 1000")
    team.start("docs", STUBBORN)
    with in_state_d(stuck.pid):
        ended = team.end("api", "docs")
        assert ended.gone == ["run-docs"]
        (residue,) = ended.residue
        assert (residue.pid, residue.command) == (stuck.pid, "sleep 1000")
        assert "state D" in residue.why
        assert team.group("api").name in residue.why
        assert team.census()["processes"].found == 1
    wait_for(lambda: not team.group("api").populated(), what="it dies as soon as it can")
    assert team.down().residue == []


def test_two_downs_at_once_and_one_afterwards(team: Team) -> None:
    team.start("api", STUBBORN)

    async def both() -> list[Ended]:
        ends = (team.containment.end_team(TEAM, 0.2), team.containment.end_team(TEAM, 0.3))
        return list(await asyncio.gather(*ends))

    assert [ended.residue for ended in asyncio.run(both())] == [[], []]
    assert team.down().residue == []
    assert not team.top.exists()


def test_an_agent_can_start_while_another_team_goes(team: Team) -> None:
    """Directories are removed and made at the same time, and no start is lost by it."""
    waiting = [team.own.start(None, "echo ready; exec sleep 1000") for _ in range(20)]

    async def scenario() -> list[Admission]:
        async def come_and_go() -> None:
            for _ in range(100):
                team.home.remove_team("other")
                await asyncio.sleep(0)

        going = asyncio.ensure_future(come_and_go())
        admissions = [
            await team.containment.admit(TEAM, [first(f"a{number}", f"r{number}", process.pid)], NO_LIMITS)
            for number, process in enumerate(waiting)
        ]
        await going
        return admissions

    assert [admission.problems for admission in asyncio.run(scenario())] == [{}] * 20
    assert sorted(team.top.pids()) == sorted(process.pid for process in waiting)


def test_a_daemon_is_moved_only_out_of_the_cgroup_of_an_agent(team: Team) -> None:
    elsewhere = team.own.start(team.own.make("elsewhere"), "echo ready; exec sleep 1000")
    team.home.shelter_daemon(elsewhere.pid)
    assert team.own.top.child("elsewhere").holds(elsewhere.pid)
    assert not team.top.exists()
    started_by_agent = team.start("api", "echo ready; exec sleep 1000")
    team.home.shelter_daemon(started_by_agent.pid)
    assert team.top.child("_daemon").pids() == [started_by_agent.pid]


def test_a_keeper_that_an_agent_started_steps_out_of_its_cgroup(team: Team) -> None:
    team.start("api", "echo ready; exec sleep 1000")
    script = f"""
import os
from corral.adapters.cgroup.containment import CgroupContainment
from corral.adapters.cgroup.tree import unified_name_of
found = CgroupContainment.open({INSTANCE!r}, None, "")
print(type(found).__name__, unified_name_of(os.getpid()))
"""
    enter = 'echo 0 >"$0/cgroup.procs" && exec "$@"'
    command = ["sh", "-c", enter, team.group("api").path, sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == (f"CgroupContainment {team.top.name}/_keeper\n", "")
    assert team.down().residue == []
    assert not team.top.exists()


class TestProcessesOfAnAgent:
    """Commands that were started for an agent, each in a cgroup of its own below the agent's."""

    @pytest.fixture
    def server(self, team: Team) -> subprocess.Popen[bytes]:
        team.start("api", "(setsid sleep 1000 &); echo ready; exec sleep 1000")
        place = asyncio.run(team.containment.place_of(TEAM, "api"))
        assert place == team.group("api").path
        group = team.group("api").child("process-p1")
        group.make()
        environment = {"CORRAL_INSTANCE": INSTANCE, "CORRAL_TEAM": TEAM, "CORRAL_AGENT": "api", "CORRAL_PROCESS": "p1"}
        return team.own.start(group, "echo ready; exec sleep 1000", environment=environment)

    def test_they_go_on_when_their_agent_is_started_again(self, team: Team, server: subprocess.Popen[bytes]) -> None:
        runs = {run: agent for run, agent in team.runs.items() if agent == "api"}
        ended = asyncio.run(team.containment.end_runs(TEAM, runs, [team.first["api"]], 0.5, spare=True))
        assert (ended.gone, ended.residue) == (["run-api"], [])
        assert team.group("api").pids() == [server.pid]
        again = team.start("api", "echo ready; exec sleep 1000")
        assert {again.pid, server.pid} <= set(team.group("api").pids())
        assert team.down().residue == []
        assert server.wait() in (-signal.SIGTERM, -signal.SIGHUP)

    def test_they_end_with_an_agent_that_is_stopped(self, team: Team, server: subprocess.Popen[bytes]) -> None:
        assert team.end("api").gone == ["run-api"]
        assert server.wait() in (-signal.SIGTERM, -signal.SIGHUP)
        assert not team.group("api").exists()

    def test_they_stand_still_with_their_agent(self, team: Team, server: subprocess.Popen[bytes]) -> None:
        team.freeze("api")
        assert team.group("api").child("process-p1").frozen()
        team.freeze("api", frozen=False)
        assert not team.group("api").child("process-p1").frozen()
        assert server.poll() is None
        team.down()
