"""A daemon or a keeper that is there and does nothing, and a daemon that should be there. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from corral.domain.diagnosis import DAEMON, PROBLEM, WARNING, Finding
from corral.domain.diagnosis_cures import StartDaemon
from corral.domain.diagnosis_facts import Facts, Life

#: So many agents are named.
_NAMED = 5
#: Who starts another, once it is ended.
_NEXT = {"daemon": "the next command starts another", "keeper": "the daemon starts another"}


def life(lives: Iterable[Life]) -> list[Finding]:
    """Those that are stopped, and those that give no sign of life."""
    return [_finding(one) for one in lives if one.stopped or one.answers is False]


def absence(facts: Facts) -> list[Finding]:
    """Agents that are up have a daemon. Whoever has a keeper of a shared server does not know: the daemon's records are
    its own.
    """
    up = [f"{agent.team}/{agent.agent}" for agent in facts.unattended]
    if not up:
        return []
    more = f" and {len(up) - _NAMED} more" if len(up) > _NAMED else ""
    return [
        Finding(
            check=DAEMON,
            severity=WARNING,
            subject=DAEMON,
            message="the daemon is not running, and nobody looks after the agents that may be up: "
            f"{', '.join(up[:_NAMED])}{more}",
            remedy="corral daemon start, which corral doctor --fix does as well",
            ours=True,
            cure=StartDaemon(),
            details={"agents": up},
        )
    ]


def _finding(one: Life) -> Finding:
    ending = f"kill -9 {one.pid} ends it, and {_NEXT[one.of]}; the agents stay up either way"
    if one.stopped:
        how, remedy = "is stopped (state T) and answers nobody", f"kill -CONT {one.pid} lets it go on; {ending}"
    else:
        how, remedy = "gives no sign of life", f"look again in a moment; if it stays stuck, {ending}"
    return Finding(
        check=one.of,
        severity=PROBLEM,
        subject=one.of,
        message=f"the {one.of} (pid {one.pid}) {how}",
        remedy=remedy,
        ours=True,
        details={"pid": one.pid, "stopped": one.stopped},
    )
