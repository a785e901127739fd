"""What an agent does now, and how that is known. Pure.

Three kinds of evidence, best first: a hook of the agent says it, its screen shows it (by a rule of its profile), or all
that is known is whether it writes. What a better one said holds until it says something else, or until it is proved
to be out of date: an agent that waits for a person's answer on the screen does so, whatever its hook said before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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


#: A screen that has shown something else for so many seconds since a hook spoke last proves the hook out of date: an
#: agent that was interrupted tells nobody.
SETTLED_SECONDS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one source says of an agent, and since when."""

    word: str
    about: str = ""
    #: The event of a hook, or the name of a rule.
    by: str = ""
    #: Unix time.
    at: float = 0.0
    #: `HOOK`, `SCREEN` or `OUTPUT`.
    source: str = OUTPUT

    @property
    def evidence(self) -> str:
        """As a person is told."""
        if self.word == UNKNOWN:
            return ""
        return {HOOK: f"hook {self.by}", SCREEN: f"screen: {self.by}"}.get(self.source, OUTPUT)


def combined(hook: Said | None, seen: Said, now: float) -> tuple[Said, float | None]:
    """Which of the two counts now, and in how many seconds that may be another one though neither says more.

    `hook` is what the hooks of the agent's run said last, `seen` what its keeper sees now, be it by the screen or by
    the output alone.
    """
    if hook is None or hook.word == UNKNOWN:
        return seen, None
    if seen.source != SCREEN:
        # Whether it writes says little: it also does when a person types, and may be quiet while it works.
        return hook, None
    if seen.word == WAITING:
        return seen, None
    if seen.word == hook.word:
        return hook, None
    if seen.word == WORKING and seen.at > hook.at:
        return seen, None
    remaining = max(hook.at, seen.at) + SETTLED_SECONDS - now
    return (hook, remaining) if remaining > 0 else (seen, None)


def become(before: Activity, said: Said) -> Activity:
    """What is known of an agent after this. It does the same for as long as word and reason are the same."""
    after = Activity(word=said.word, about=said.about, evidence=said.evidence, since=said.at)
    if (before.word, before.about) == (after.word, after.about):
        return replace(after, since=before.since)
    return after
