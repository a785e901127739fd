"""Everything that is measured at one size of a team."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench import idle, memory, peers
from bench.commands import timed
from bench.idle import Idle
from bench.installation import interpreter_of
from bench.instance import CORRAL_UP, Instance, running
from bench.memory import Memory
from bench.peers import Peers
from bench.rounds import Ratio, Times, take_turns

PS, PS_JSON, PYTHON = "corral ps", "corral ps --json", "python3 -c pass"

#: The goals: issue 2, "How good".
MOST_TO_FLOOR = 1.5
LEAST_TO_LIBTMUX = 3.0
MOST_TO_PYTHON = 2.5


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where and how long to measure."""

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


@dataclass(frozen=True, kw_only=True)
class Size:
    """The results at one size."""

    agents: int
    starting: Times
    listing: Times
    ratios: list[Ratio]
    idle: Idle
    memory: dict[str, Memory]


def measure(setting: Setting, agents: int, *, all_peers: bool) -> Size:
    """Measure a team of `agents`, against all peers or only against the floor."""
    directory = os.path.join(setting.directory, f"team-{agents}")
    runtime = os.path.join(setting.runtime, f"r{agents}")

    def note(what: str) -> None:
        setting.note(f"{agents} agents, {what}")

    with running(setting.corral, directory, runtime, setting.env) as instance:
        instance.declare(agents)
        note("up")
        instance.up()
        # Memory first, while the daemon has done this and nothing else.
        processes = instance.processes()
        size = memory.measure(processes)
        listing = _listing(setting, instance, note)
        note(f"idle for {setting.idle_seconds:g} s")
        resting = idle.measure(processes, setting.idle_seconds, lambda: instance.run("restart", "a-1"))
        instance.down()
        rivals = Peers(directory, runtime, setting.env, agents)
        starting = take_turns(
            {
                **rivals.floor(),
                CORRAL_UP: lambda: instance.up_once(agents),
                **(rivals.others() if all_peers else {}),
            },
            setting.rounds,
            note,
        )
    ratios = [*_starting_ratios(starting), *_listing_ratios(listing)]
    return Size(agents=agents, starting=starting, listing=listing, ratios=ratios, idle=resting, memory=size)


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
    ratios = [
        times.ratio(CORRAL_UP, peers.BATCH_SHELL, at_most=MOST_TO_FLOOR),
        times.ratio(CORRAL_UP, peers.BATCH_ARGV),
    ]
    if peers.LIBTMUX in times.seconds:
        ratios.append(times.ratio(peers.LIBTMUX, CORRAL_UP, at_least=LEAST_TO_LIBTMUX))
    ratios += [times.ratio(name, CORRAL_UP) for name in (peers.TMUXP, peers.PROCESS_EACH) if name in times.seconds]
    return ratios


def _listing_ratios(times: Times) -> list[Ratio]:
    return [times.ratio(name, PYTHON, at_most=MOST_TO_PYTHON) for name in (PS, PS_JSON)]
