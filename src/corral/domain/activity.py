"""What an agent does now, and how that is known. Pure.

Three kinds of evidence, best first: a hook of the agent says it, its screen shows it (by a rule of its profile), or all
that is known is whether it writes. What a better one said holds until it says something else, or until it is proved
to be out of date: an agent that waits for a person's answer on the screen does so, whatever its hook said before.
"""

from __future__ import annotations

from dataclasses import dataclass

WORKING, WAITING, IDLE, UNKNOWN = "working", "waiting", "idle", "unknown"

# What an agent waits for a person with.
PERMISSION, QUESTION, TRUST, LOGIN, QUOTA = "permission", "question", "trust", "login", "quota"
#: All of them.
ABOUT = (PERMISSION, QUESTION, TRUST, LOGIN, QUOTA)

# Where evidence comes from, best first.
HOOK, SCREEN, OUTPUT = "hook", "screen", "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What is known of one agent at one time."""

    #: `working`, `waiting`, `idle` or `unknown`.
    word: str = UNKNOWN
    #: What it waits for: one of `ABOUT`; empty unless it waits.
    about: str = ""
    #: How that is known, for a person: `hook Stop`, `screen: permission`, `output`. Empty if nothing is known.
    evidence: str = ""
    #: Unix time since when.
    since: float = 0.0


#: Of an agent that nobody has heard of yet.
NOT_KNOWN = Activity()
