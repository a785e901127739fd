"""What an agent does now, and how that is known. Pure.

Kinds of evidence, best first: a hook of the agent says it, the records that it writes say it (those of its protocol, or
of its transcript), its screen shows it (by a rule of its profile), or all that is known is whether it writes. What a
better one said holds until it says something else, or until it is proved to be out of date: an agent that waits for a
person's answer on the screen does so, whatever its hook or its transcript said before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

WORKING, WAITING, IDLE, UNKNOWN = "working", "waiting", "idle", "unknown"

# What an agent waits for a person with.
PERMISSION, QUESTION, TRUST, LOGIN, QUOTA = "permission", "question", "trust", "login", "quota"
#: All of them.
ABOUT = (PERMISSION, QUESTION, TRUST, LOGIN, QUOTA)

# Where evidence comes from, best first.
HOOK, PROTOCOL, TRANSCRIPT, SCREEN, OUTPUT = "hook", "protocol", "transcript", "screen", "output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What is known of one agent at one time."""

    #: `working`, `waiting`, `idle` or `unknown`.
    word: str = UNKNOWN
    #: What it waits for: one of `ABOUT`; empty unless it waits.
    about: str = ""
    #: How that is known, for a person: `hook Stop`, `transcript`, `screen: permission`. Empty if nothing is known.
    evidence: str = ""
    #: Unix time since when.
    since: float = 0.0
    #: The mark of the dialog that it waits with (`domain.dialogs`), if a key answers that one.
    dialog: str = ""


#: Of an agent that nobody has heard of yet.
NOT_KNOWN = Activity()


#: A screen that has shown something else for so many seconds since a hook or a record spoke last proves that out of
#: date: an agent that was interrupted tells nobody.
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
    #: One of the kinds of evidence.
    source: str = OUTPUT
    #: See `Activity.dialog`.
    dialog: str = ""

    @property
    def evidence(self) -> str:
        """As a person is told."""
        if self.word == UNKNOWN:
            return ""
        return {HOOK: f"hook {self.by}", SCREEN: f"screen: {self.by}"}.get(self.source, self.source)


def combined(hook: Said | None, written: Said | None, seen: Said, now: float) -> tuple[Said, float | None]:
    """Which of them counts now, and in how many seconds that may be another one though none says more.

    `hook` is what the hooks of the agent's run said last, `written` what the last of its records says, `seen` what its
    keeper sees now, be it by the screen or by the output alone.
    """
    said = hook if hook is not None and hook.word != UNKNOWN else written
    if said is None:
        return seen, None
    if seen.source != SCREEN:
        # Whether it writes says little: it also does when a person types, and may be quiet while it works.
        return said, None
    if seen.word == WAITING:
        return seen, None
    if seen.word == said.word:
        return said, None
    if seen.word == WORKING and seen.at > said.at:
        return seen, None
    remaining = max(said.at, seen.at) + SETTLED_SECONDS - now
    return (said, remaining) if remaining > 0 else (seen, None)


def become(before: Activity, said: Said) -> Activity:
    """What is known of an agent after this. It does the same for as long as word and reason are the same."""
    after = Activity(word=said.word, about=said.about, evidence=said.evidence, since=said.at, dialog=said.dialog)
    if (before.word, before.about) == (after.word, after.about):
        return replace(after, since=before.since)
    return after
