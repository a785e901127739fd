"""How people are told that something waits for them: the settings of a team. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.inbox_answers import ways
from corral.domain.inbox_records import KINDS, Entry
from corral.domain.timestamps import timestamp


@dataclass(frozen=True, kw_only=True, slots=True)
class Notify:
    """The `[notify]` table of a team, with every default filled in."""

    #: Ring the terminals of people who are attached to the team.
    bell: bool = True
    #: Use the notifications of the desktop, where there is one.
    desktop: bool = False
    #: Where to post it. May hold a secret: never show, journal or log it.
    webhook: str = ""
    #: A program to run, with the entry on its standard input; empty for none.
    command: tuple[str, ...] = ()
    #: Which kinds of entries are told of.
    kinds: tuple[str, ...] = KINDS


DEFAULT_NOTIFY = Notify()
#: The keys of the table, and the fields that they are.
NOTIFY_FIELDS = {"bell": "bell", "desktop": "desktop", "webhook": "webhook", "command": "command", "for": "kinds"}


def notify_as_json(notify: Notify) -> dict[str, object]:
    """All of it, for the journal; of the webhook no more than that there is one."""
    return {
        "bell": notify.bell,
        "desktop": notify.desktop,
        "webhook": bool(notify.webhook),
        "command": list(notify.command),
        "for": list(notify.kinds),
    }


def notify_differences(old: Notify, new: Notify) -> tuple[str, ...]:
    """The keys of the file that differ: `notify.bell`."""
    return tuple(f"notify.{key}" for key, name in NOTIFY_FIELDS.items() if getattr(old, name) != getattr(new, name))


def headline(entry: Entry) -> str:
    """An entry in one line, for whoever is told of it."""
    cause = entry.cause
    whose = f"{cause.team}/{cause.agent}" if cause.agent else cause.team
    return f"{whose} waits for you ({cause.kind})"


def told(entry: Entry) -> dict[str, object]:
    """What a webhook or a command gets: an entry as `corral inbox show --json` tells it, without the whole screen."""
    cause = entry.cause
    return {
        "entry": entry.number,
        "team": cause.team,
        "agent": cause.agent,
        "kind": cause.kind,
        "since": timestamp(entry.since),
        "what": cause.what,
        "lines": list(cause.lines),
        "options": [{"option": choice.number, "text": choice.text} for choice in cause.choices],
        "can": ways(entry),
        "text": f"{headline(entry)}: {cause.what}",
    }
