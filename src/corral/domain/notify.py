"""How people are told of what they do not see: the settings of a team. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.notices import NOTICE_KINDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Notify:
    """The `[notify]` table of a team, with every default filled in."""

    #: Ring the terminals of people who are attached to the team.
    bell: bool = True
    #: Use the notifications of the desktop, where there is one.
    desktop: bool = False
    #: Where to post it. May hold a secret: never show, journal or log it.
    webhook: str = ""
    #: A program to run, with the notice on its standard input; empty for none.
    command: tuple[str, ...] = ()
    #: What is told of.
    kinds: tuple[str, ...] = NOTICE_KINDS


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
