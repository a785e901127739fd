"""Everything that is measured at one size of a team."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from bench import idle, memory, peers
from bench.commands import timed
from bench.idle import Idle
from bench.installation import interpreter_of
from bench.instance import CORRAL_UP, CORRAL_UP_CONTAINED, Instance, running
from bench.memory import Memory
from bench.peers import Peers
from bench.rounds import Ratio, Times, take_turns

#: The parts of a run that are measured at every size.
START, LIST, IDLE = "start", "ps", "idle"

PS, PS_JSON, PYTHON = "corral ps", "corral ps --json", "python3 -c pass"

#: The goals: issue 2, "How good".
MOST_TO_FLOOR = 1.5
LEAST_TO_LIBTMUX = 3.0
MOST_TO_PYTHON = 2.5


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where, what and how long to measure."""

    corral: str
    #: On disk, where CORRAL_HOME is.
    directory: str
    #: In memory, where the sockets and the launch files of a logged-in person are.
    runtime: str
    env: Mapping[str, str]
    rounds: int
    ps_rounds: int
    idle_seconds: float
    note: Callable[[str], None]
    parts: Collection[str]


@dataclass(frozen=True, kw_only=True)
class Size:
    """The results at one size; nothing is in those of a part that was not asked for."""

    agents: int
    #: How the agents are contained where they are.
    level: str
    starting: Times
    listing: Times
    ratios: list[Ratio]
    idle: Idle | None
    memory: dict[str, Memory]


def measure(setting: Setting, agents: int, *, all_peers: bool) -> Size:
    """Measure a team of `agents`, against all peers or only against the floor."""
    directory = os.path.join(setting.directory, f"team-{agents}")
    runtime = os.path.join(setting.runtime, f"r{agents}")
    resting, size, listing, starting = None, {}, Times(), Times()

    def note(what: str) -> None:
        setting.note(f"{agents} agents, {what}")

    with running(setting.corral, directory, runtime, setting.env) as instance:
        instance.declare(agents)
        note("up")
        instance.up()
        processes = instance.processes()
        if IDLE in setting.parts:
            # Memory first, while the daemon has done this and nothing else.
            size = memory.measure(processes)
        level = instance.levels()[0]
        if LIST in setting.parts:
            listing = _listing(setting, instance, note)
        if IDLE in setting.parts:
            note(f"idle for {setting.idle_seconds:g} s")
            resting = idle.measure(processes, setting.idle_seconds, lambda: instance.run("restart", "a-1"))
        instance.down()
        if START in setting.parts:
            rivals = Peers(directory, runtime, setting.env, agents)
            starting = take_turns(
                {
                    **rivals.floor(),
                    # The goals are about panes as tmux starts them, which is what the peers have.
                    CORRAL_UP: lambda: instance.up_once(agents, contained=False),
                    CORRAL_UP_CONTAINED: lambda: instance.up_once(agents, contained=True),
                    **(rivals.others() if all_peers else {}),
                },
                setting.rounds,
                note,
            )
    ratios = [*_starting_ratios(starting), *_listing_ratios(listing)]
    return Size(
        agents=agents, level=level, starting=starting, listing=listing, ratios=ratios, idle=resting, memory=size
    )


def _listing(setting: Setting, instance: Instance, note: Callable[[str], None]) -> Times:
    python = interpreter_of(setting.corral)

    def run(*argv: str) -> Callable[[], float]:
        return lambda: timed(argv, instance.env, instance.directory)

    contestants = {
        PYTHON: run(python, "-c", "pass"),
        PS: run(setting.corral, "ps"),
        PS_JSON: run(setting.corral, "ps", "--json"),
    }
    return take_turns(contestants, setting.ps_rounds, note)


def _starting_ratios(times: Times) -> list[Ratio]:
    if not times.seconds:
        return []
    ratios = [
        times.ratio(CORRAL_UP, peers.BATCH_SHELL, at_most=MOST_TO_FLOOR),
        times.ratio(CORRAL_UP, peers.BATCH_ARGV),
        times.ratio(CORRAL_UP_CONTAINED, peers.BATCH_SHELL),
        times.ratio(CORRAL_UP_CONTAINED, CORRAL_UP),
    ]
    if peers.LIBTMUX in times.seconds:
        ratios.append(times.ratio(peers.LIBTMUX, CORRAL_UP, at_least=LEAST_TO_LIBTMUX))
    ratios += [times.ratio(name, CORRAL_UP) for name in (peers.TMUXP, peers.PROCESS_EACH) if name in times.seconds]
    return ratios


def _listing_ratios(times: Times) -> list[Ratio]:
    return [times.ratio(name, PYTHON, at_most=MOST_TO_PYTHON) for name in (PS, PS_JSON) if name in times.seconds]
