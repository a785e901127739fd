"""Why somebody is needed, from what is known of an agent or a merge. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from corral.domain.activity import LOGIN, PERMISSION, QUESTION, QUOTA, TRUST, Activity
from corral.domain.dialogs import LONGEST_LINE, Dialog
from corral.domain.inbox_records import CONFLICT, FAILED, STUCK, Cause
from corral.domain.merge_records import Merge
from corral.domain.records import Agent

#: Lines of a screen that are kept, its last ones.
_MOST_LINES = 100
#: Lines that are shown where there is no dialog to show.
_RELEVANT = 8

_WHAT = {
    PERMISSION: "asks for a permission",
    QUESTION: "asks a question",
    TRUST: "asks whether the directory is trusted",
    LOGIN: "wants somebody to log in",
    QUOTA: "has run out of quota",
}


def of_activity(agent: Agent, activity: Activity, lines: Sequence[str], dialog: Dialog | None) -> Cause:
    """An agent waits for a person."""
    screen = kept(lines)
    where = f"corral attach {agent.team}/{agent.name}, and answer it there"
    about = activity.about or (dialog.about if dialog is not None else "") or QUESTION
    if dialog is None:
        return Cause(
            team=agent.team,
            agent=agent.name,
            kind=about,
            key=f"{agent.run} {about}",
            what=f"{_WHAT.get(about, 'waits for somebody')} ({activity.evidence})",
            remedy="" if about == QUESTION else where,
            run=agent.run,
            lines=screen[-_RELEVANT:],
            screen=screen,
            text=about == QUESTION,
        )
    return Cause(
        team=agent.team,
        agent=agent.name,
        kind=dialog.about or about,
        # What cannot be pressed is the same as long as the agent waits for it, however its screen moves.
        key=f"{agent.run} {dialog.key if dialog.takes_keys else dialog.about or about}",
        what=dialog.line.strip(),
        remedy="" if dialog.takes_keys else where,
        run=agent.run,
        lines=dialog.lines if dialog.takes_keys else dialog.lines[-_RELEVANT:],
        screen=screen,
        choices=dialog.choices,
        approve=dialog.approve,
        deny=dialog.deny,
        mark=dialog.mark,
    )


def of_failure(agent: Agent) -> Cause:
    """An agent has failed, and is not started again by itself."""
    name = f"{agent.team}/{agent.name}"
    screen = kept(agent.last_words.split("\n"))
    return Cause(
        team=agent.team,
        agent=agent.name,
        kind=FAILED,
        key=f"{agent.run} {agent.since:.3f}",
        what=agent.reason or "it failed",
        remedy=f"corral logs {name} tells more; corral restart {name} starts it again",
        run=agent.run,
        lines=screen[-_RELEVANT:],
        screen=screen,
    )


def of_stuck(agent: Agent, lines: Sequence[str]) -> Cause:
    """An agent says that it works, and nothing comes of it."""
    name = f"{agent.team}/{agent.name}"
    screen = kept(lines)
    return Cause(
        team=agent.team,
        agent=agent.name,
        kind=STUCK,
        key=agent.run,
        what="its screen has not changed for long, though it works",
        remedy=f"corral attach {name} to look at it; corral send {name} TEXT nudges it; corral restart {name}",
        run=agent.run,
        lines=screen[-_RELEVANT:],
        screen=screen,
    )


def of_conflict(merge: Merge) -> Cause:
    """A branch does not go together with the target, and somebody has to resolve it."""
    return Cause(
        team=merge.team,
        agent=merge.agent,
        kind=CONFLICT,
        key=f"{merge.name} {merge.attempt}",
        what=f"{merge.name}: {merge.reason}",
        remedy=merge.remedy or f"corral merge show {merge.name}",
        lines=tuple(file[:LONGEST_LINE] for file in merge.files[:_MOST_LINES]),
    )


def kept(lines: Sequence[str]) -> tuple[str, ...]:
    """What is kept of a screen: its last lines, without blank ones at its end."""
    shown = [line.rstrip()[:LONGEST_LINE] for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return tuple(shown[-_MOST_LINES:])
