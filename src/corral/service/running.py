"""What can be asked only of an agent that runs, or is to, or of one that is at rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from corral.domain import states
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError
from corral.domain.records import Agent


def must_run(agent: Agent, *, ended: str, paused: str, then: str) -> None:
    """Refuse one that does not run or stands still: `ended` and `paused` say why, `then` what to do when it goes on."""
    _refuse(agent, ended=ended, paused=paused, then=then, runs=agent.state == states.RUNNING)


def must_run_or_start(agent: Agent, *, ended: str, paused: str, then: str) -> None:
    """As `must_run`, but one that is to start by itself will do: it is in back-off, in line, or about to be there."""
    _refuse(agent, ended=ended, paused=paused, then=then, runs=agent.state not in states.AT_REST)


def _refuse(agent: Agent, *, ended: str, paused: str, then: str, runs: bool) -> None:
    if agent.state == states.UNKNOWN:
        raise UnavailableError(
            f"nobody can tell whether {agent.name} is alive: {agent.reason}",
            "try again once corral ps knows its state",
        )
    if not runs:
        raise CorralError(f"{agent.name} is {agent.state}; {ended}", f"corral restart {agent.name} starts it again")
    if agent.paused:
        raise RefusedError(f"{agent.name} is paused; {paused}", f"corral resume {agent.name}, then {then}")


@contextmanager
def without_terminal_told(agent: Agent) -> Iterator[None]:
    """In this block, a keeper that finds no terminal of the agent says which one, and how it is with it."""
    try:
        yield
    except NotFoundError as error:
        if agent.state == states.RUNNING:
            raise
        why = f": {agent.reason}" if agent.reason else ""
        name = f"{agent.team}/{agent.name}"
        remedy = f"corral restart {name} starts it again; corral logs {name} has what it printed"
        if agent.state not in states.AT_REST:
            remedy = f"corral ps shows when it runs; corral logs {name} has what it printed before"
        raise NotFoundError(f"{agent.name} is {agent.state}{why}", remedy) from error


def must_be_at_rest(agents: Iterable[Agent]) -> None:
    """Refuse those of which something may run, or will by itself."""
    busy = [agent for agent in agents if agent.state not in states.AT_REST]
    if not busy:
        return
    runs = [agent.name for agent in busy if agent.state in states.LIVE]
    waits = [agent.name for agent in busy if agent.state not in states.LIVE]
    told = [_told(runs, "still runs", "still run"), _told(waits, "waits to be started", "wait to be started")]
    names = " ".join(agent.name for agent in busy)
    raise RefusedError(
        "; ".join(part for part in told if part), f"corral stop {names} first, or use --force, which does both"
    )


def must_have_run(agent: Agent) -> None:
    """Refuse one that failed before its first run: it has nothing to be started with but what `up` gives it."""
    if agent.state == states.FAILED and not agent.run:
        raise CorralError(f"{agent.name} has never been started: {agent.reason}", "corral up starts it")


def _told(names: Sequence[str], one: str, many: str) -> str:
    return f"{', '.join(names)} {one if len(names) == 1 else many}" if names else ""
