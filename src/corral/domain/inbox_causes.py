"""Why somebody is needed, from what is known of an agent or a merge. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from corral.domain import stuck
from corral.domain.activity import LOGIN, PERMISSION, QUESTION, QUOTA, TRUST, Activity
from corral.domain.dialogs import LONGEST_LINE, Dialog
from corral.domain.inbox_records import CONFLICT, FAILED, STUCK, Cause
from corral.domain.merge_records import Merge
from corral.domain.records import Agent

#: Lines of a screen that are kept, its last ones.
_MOST_LINES = 100
#: Lines that are shown where there is no dialog to show.
_RELEVANT = 8
#: A line of nothing but blanks, what frames and rules are drawn with, and the sign of a composer.
_FRAME = re.compile(r"[\s\u2500-\u259f|❯›>]*")

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
            lines=relevant(screen),
            screen=screen,
            text=about == QUESTION,
        )
    return Cause(
        team=agent.team,
        agent=agent.name,
        kind=dialog.about or about,
        # What cannot be pressed is the same as long as the agent waits for it, however its screen moves.
        key=f"{agent.run} {dialog.key if dialog.takes_keys else dialog.about or about}",
        what=f"{dialog.line.strip()} ({agent.workspace})" if dialog.about == TRUST else dialog.line.strip(),
        remedy="" if dialog.takes_keys else where,
        run=agent.run,
        lines=_unframed(dialog.lines) if dialog.takes_keys else relevant(dialog.lines),
        screen=screen,
        choices=dialog.choices,
        approve=dialog.approve,
        deny=dialog.deny,
        mark=dialog.mark,
        text=dialog.takes_words,
    )


def of_failure(agent: Agent, *, repaints: bool = False) -> Cause:
    """An agent has failed, and is not started again by itself. What one printed that `repaints` is hard to read."""
    name = f"{agent.team}/{agent.name}"
    more = f"corral logs --screen {name} shows its last screen" if repaints else f"corral logs {name} tells more"
    remedy = f"{more}; corral restart {name} starts it again"
    key, what = f"{agent.run} {agent.since:.3f}", agent.reason or "it failed"
    return _with_screen(agent, FAILED, key, what, remedy, agent.last_words.split("\n"))


def of_stuck(agent: Agent, lines: Sequence[str]) -> Cause:
    """An agent says that it works, and nothing comes of it."""
    name = f"{agent.team}/{agent.name}"
    remedy = f"corral attach {name} to look at it; corral send {name} TEXT nudges it; corral restart {name}"
    return _with_screen(agent, STUCK, agent.run, stuck.in_words(agent), remedy, lines)


def of_late(agent: Agent, lines: Sequence[str]) -> Cause:
    """An agent or a service does not come up."""
    name = f"{agent.team}/{agent.name}"
    remedy = f"corral attach {name} to look at it; corral restart {name} starts it again"
    return _with_screen(agent, STUCK, f"{agent.run} late", agent.late, remedy, lines)


def _with_screen(agent: Agent, kind: str, key: str, what: str, remedy: str, lines: Sequence[str]) -> Cause:
    """One that no dialog asks about: what is shown of it is the end of its screen."""
    screen = kept(lines)
    return Cause(
        team=agent.team,
        agent=agent.name,
        kind=kind,
        key=key,
        what=what,
        remedy=remedy,
        run=agent.run,
        lines=relevant(screen),
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


def relevant(lines: Sequence[str]) -> tuple[str, ...]:
    """The last lines of a screen that say something: no frames, no rules, and no composer with nothing in it."""
    return tuple(line for line in lines if not _FRAME.fullmatch(line))[-_RELEVANT:]


def _unframed(lines: Sequence[str]) -> tuple[str, ...]:
    """A dialog without the rules above and below it; those within divide its parts."""
    telling = [at for at, line in enumerate(lines) if any(map(str.isalnum, line))]
    return tuple(lines[telling[0] : telling[-1] + 1] if telling else lines)


def kept(lines: Sequence[str]) -> tuple[str, ...]:
    """What is kept of a screen: its last lines, without blank ones at its end."""
    shown = [line.rstrip()[:LONGEST_LINE] for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return tuple(shown[-_MOST_LINES:])
