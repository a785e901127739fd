"""What `up` has to do: the difference between what is declared and what there is. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from corral.domain import lifecycle, states
from corral.domain.errors import NotFoundError
from corral.domain.records import Agent
from corral.domain.spec_fingerprint import differences, split_differences

START, KEEP, ADJUST, CHANGED, RESTART, EXTRA = "start", "keep", "adjust", "changed", "restart", "extra"
#: No file declares it, because somebody forked it from one that is declared.
FORK = "fork"
#: Of one that was to be started, and waits in line.
PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with one agent."""

    agent: str
    action: str
    #: Declared keys that differ from what runs.
    differs: tuple[str, ...] = ()

    @property
    def adjusts(self) -> tuple[str, ...]:
        """Those of `differs` that are to be applied to the agent while it runs.

        All of them with ADJUST. With CHANGED a part: limits hold from now on, also where the rest has to wait for a
        restart. None where the agent is started anyway, because it is started with them.
        """
        return split_differences(self.differs)[0] if self.action in (ADJUST, CHANGED) else ()

    @property
    def waits(self) -> tuple[str, ...]:
        """Those of `differs` that stay as they are until the agent is restarted."""
        return split_differences(self.differs)[1] if self.action == CHANGED else ()


def make_plan(
    declared: Sequence[tuple[str, Mapping[str, str]]],
    known: Mapping[str, Agent],
    *,
    only: Collection[str] = (),
    restart_changed: bool = False,
    by_person: bool = True,
) -> list[Step]:
    """One step an agent, in the order of the file; agents that are no longer declared come last.

    `declared` are names with fingerprints; `only` limits the plan to some of them. If no person asks, what Corral
    itself had stopped for good stays so, unless it is named.
    """
    names = [name for name, _ in declared]
    unknown = sorted(set(only) - set(names))
    if unknown:
        raise NotFoundError(f"{', '.join(unknown)}: not declared in this file", f"declared are: {', '.join(names)}")
    steps = [
        _step(name, fingerprint, known.get(name), restart_changed=restart_changed, may_wake=by_person or name in only)
        for name, fingerprint in declared
        if not only or name in only
    ]
    if not only:
        steps.extend(Step(name, FORK if agent.fork_of else EXTRA) for name, agent in known.items() if name not in names)
    return steps


def _step(
    name: str, fingerprint: Mapping[str, str], agent: Agent | None, *, restart_changed: bool, may_wake: bool
) -> Step:
    if agent is None:
        return Step(name, START)
    if lifecycle.stays_stopped(agent) and not may_wake:
        return Step(name, KEEP)
    differs = tuple(differences(agent.fingerprint, fingerprint))
    if agent.state in states.AT_REST or agent.state in (states.PENDING, states.BACKOFF):
        # Also one that its policy would start in a while: who says `up` means now, and with this environment.
        return Step(name, START, differs)
    if not differs:
        return Step(name, KEEP)
    if not split_differences(differs)[1]:
        # Also with `restart_changed`: nothing is gained by a restart.
        return Step(name, ADJUST, differs)
    return Step(name, RESTART if restart_changed else CHANGED, differs)
