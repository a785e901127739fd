"""A daemon or a keeper that is there and does nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from corral.domain.diagnosis import PROBLEM, Finding
from corral.domain.diagnosis_facts import Life

#: Who starts another, once it is ended.
_NEXT = {"daemon": "the next command starts another", "keeper": "the daemon starts another"}


def life(lives: Iterable[Life]) -> list[Finding]:
    """Those that are stopped, and those that give no sign of life."""
    return [_finding(one) for one in lives if one.stopped or one.answers is False]


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
