"""What `up` has to do: the difference between what is declared and what there is. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from corral.domain import states
from corral.domain.errors import NotFoundError
from corral.domain.records import Agent
from corral.domain.spec_fingerprint import differences

START, KEEP, CHANGED, RESTART, EXTRA = "start", "keep", "changed", "restart", "extra"


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with one agent."""

    agent: str
    action: str
    #: Declared keys that differ from what runs.
    differs: tuple[str, ...] = ()


def make_plan(
    declared: Sequence[tuple[str, Mapping[str, str]]],
    known: Mapping[str, Agent],
    *,
    only: Collection[str] = (),
    restart_changed: bool = False,
) -> list[Step]:
    """One step an agent, in the order of the file; agents that are no longer declared come last.

    `declared` are names with fingerprints; `only` limits the plan to some of them.
    """
    names = [name for name, _ in declared]
    unknown = sorted(set(only) - set(names))
    if unknown:
        raise NotFoundError(f"{', '.join(unknown)}: not declared in this file", f"declared are: {', '.join(names)}")
    steps = [
        _step(name, fingerprint, known.get(name), restart_changed=restart_changed)
        for name, fingerprint in declared
        if not only or name in only
    ]
    if not only:
        steps.extend(Step(name, EXTRA) for name in known if name not in names)
    return steps


def _step(name: str, fingerprint: Mapping[str, str], agent: Agent | None, *, restart_changed: bool) -> Step:
    if agent is None:
        return Step(name, START)
    differs = tuple(differences(dict(agent.fingerprint), dict(fingerprint)))
    if agent.state in states.AT_REST or agent.state == states.PENDING:
        return Step(name, START, differs)
    if not differs:
        return Step(name, KEEP)
    return Step(name, RESTART if restart_changed else CHANGED, differs)
