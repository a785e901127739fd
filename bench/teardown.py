"""Taking down a team whose agents have left stubborn processes everywhere: how long it takes, and what is left.

Every contestant gets the same team, marked in its environment. What is left is counted by that mark, and by the pids
of the tmux server and its children, in /proc. Then the bench itself ends it, so that the next one finds none of it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from bench import marked, stubborn
from bench.instance import UNCONTAINED, Instance, running
from bench.peers import rest
from bench.rounds import Times
from bench.sizes import Setting

CORRAL_DOWN = "corral down"
#: The goals: issue 3, "How good". This much on top of the grace period, and nothing left.
MOST_SECONDS = 2.0
#: How long processes may take to end by themselves: for everybody who asks before they kill.
GRACE_SECONDS = 1.0
_START_SECONDS = 120.0
#: If nothing ends for so long, nothing will.
_CALM_SECONDS = 0.5


@dataclass(frozen=True)
class Contestant:
    """One way to start the team and to end it."""

    #: With variables on top of its own; the pid of the tmux server.
    start: Callable[[Mapping[str, str]], int]
    #: The seconds that it took.
    end: Callable[[], float]
    #: Corral says itself when it is done. The others return while what they killed is still ending: it is waited for.
    is_waited_for: bool


@dataclass(frozen=True, kw_only=True)
class Teardown:
    """The results."""

    agents: int
    descendants: int
    grace: float
    times: Times
    #: How many processes were left, by contestant, round by round.
    left: dict[str, list[int]] = field(default_factory=dict)

    def ours(self) -> list[str]:
        """The contestants that the goals are about."""
        return [name for name in self.left if name.startswith(CORRAL_DOWN)]

    def in_time(self, name: str) -> bool:
        """True if every round of a contestant met the goal."""
        return max(self.times.seconds[name]) <= self.grace + MOST_SECONDS

    def is_clean(self, name: str) -> bool:
        """True if a contestant never left anything."""
        return max(self.left[name]) == 0


def measure(setting: Setting, agents: int, descendants: int, rounds: int) -> Teardown:
    """Let everybody take down a team of `agents` with so many descendants each, in turns."""
    directory, runtime = os.path.join(setting.directory, "teardown"), os.path.join(setting.runtime, "teardown")
    with running(setting.corral, directory, runtime, setting.env) as instance:
        programs = stubborn.commands(stubborn.program(directory), agents, descendants)
        sessions = stubborn.Sessions(directory, runtime, setting.env)
        contestants = {
            **_ours(instance, programs),
            **{
                name: Contestant(partial(sessions.start, programs), end, is_waited_for=True)
                for name, end in sessions.endings(GRACE_SECONDS).items()
            },
        }
        times, left = Times({name: [] for name in contestants}), {name: list[int]() for name in contestants}
        for number in range(1, rounds + 1):
            for name, contestant in contestants.items():
                setting.note(f"{agents} × {descendants} stubborn processes, round {number} of {rounds}: {name}")
                seconds, leftovers = _once(contestant, agents * (descendants + 1))
                times.seconds[name].append(seconds)
                left[name].append(leftovers)
    return Teardown(agents=agents, descendants=descendants, grace=GRACE_SECONDS, times=times, left=left)


def _ours(instance: Instance, programs: list[list[str]]) -> dict[str, Contestant]:
    """Corral at the best level that this host has, and at the one that every host has."""

    def start(contained: bool, env: Mapping[str, str]) -> int:
        instance.declare_each(programs, contained=contained)
        instance.up(env)
        return instance.processes()["tmux server"]

    instance.declare(1)
    instance.up()
    levels = {instance.levels()[0]: True, UNCONTAINED: False}
    instance.down()
    return {
        f"{CORRAL_DOWN}, {level}": Contestant(
            partial(start, contained), lambda: instance.down_anyhow(GRACE_SECONDS), is_waited_for=False
        )
        for level, contained in levels.items()
    }


def _once(contestant: Contestant, processes: int) -> tuple[float, int]:
    """Start the team, have it ended, and count; the seconds, and how many processes were left."""
    mark = secrets.token_hex(16)
    family: set[marked.Process] = set()
    try:
        server = contestant.start({marked.VARIABLE: mark})
        family = marked.family(server)
        _wait_for(processes, mark)
        rest()
        seconds = contestant.end()
        left = marked.of_mark(mark) | marked.living_of(family)
        while contestant.is_waited_for:
            time.sleep(_CALM_SECONDS)
            before, left = left, marked.living_of(left)
            if left == before:
                break
    finally:
        marked.end(mark, family)
    rest()
    return seconds, len(left)


def _wait_for(processes: int, mark: str) -> None:
    """Until all of them run, each the program that it will be: nobody is measured against half a team."""
    until = time.monotonic() + _START_SECONDS
    while (there := len(marked.of_mark(mark, stubborn.PROGRAM))) != processes:
        if time.monotonic() > until:
            raise SystemExit(f"bench: {there} stubborn processes run instead of {processes}")
        time.sleep(0.1)
