"""What Corral knows about one coding agent: how to start it, what its screens say, how to talk to it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain import screens
from corral.domain.activity import WAITING
from corral.domain.composer import Desk
from corral.domain.conversations import Ways
from corral.domain.hook_registration import HookFile
from corral.domain.mcp_registration import ServerFile
from corral.domain.screen_patterns import Shown
from corral.domain.told_records import RecordRule

#: What a composer may be drawn with.
_FRAME = " \t\xa0│┃║╎"
_COLUMN = re.compile(r"\s{20,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """One program, as its profile describes it."""

    #: Names the profile, and an agent that `corral init` declares for it.
    name: str
    #: What people call the program.
    title: str
    #: The program to look for on PATH.
    executable: str
    #: How it is started: these words identify it, whatever arguments follow.
    command: tuple[str, ...]
    #: Regular expressions; one that is found in a line of the screen says that the program has come up. Without
    #: `draft_pattern` also that a message can be typed now.
    ready: tuple[str, ...]
    #: Seconds between pasting a message and pressing Enter; sooner, the Enter would be taken for a part of it.
    paste_pause: float
    #: What a person should know before using it, in one sentence.
    note: str
    #: The file that says all this.
    file: str = ""
    #: A regular expression for the composer, of which the group `text` is what was typed there; empty if a draft cannot
    #: be told. It is looked for in the whole screen, `^` and `$` being the ends of lines, and the lowest counts. It
    #: fits a composer with nothing in it as well, and where it fits nothing, no message can be typed.
    draft_pattern: str = ""
    #: Regular expressions for lines of the screen that its first message replaces as a whole: what comes meanwhile is
    #: lost on it, so the next message waits.
    opening: tuple[str, ...] = ()
    #: What its screens say; the first that fits counts.
    rules: tuple[screens.Rule, ...] = ()
    #: Regular expressions for lines that change by themselves while it works, and do not tell whether it gets on.
    volatile: tuple[str, ...] = ()
    #: Where it can be told of an MCP server; None if it cannot be.
    mcp: ServerFile | None = None
    #: Where it can be told of hooks; None if it has none.
    hooks: HookFile | None = None
    #: How its conversations are continued; None if they cannot be.
    resume: Ways | None = None
    #: Where it keeps what it knows: paths that begin with `~/`, a variable (`$X_HOME`) or `/`; with a slash at the end
    #: it is a directory that may have to be made. An agent that is kept to some files may write there all the same.
    state: tuple[str, ...] = ()
    #: Which records say what it does, where it writes records to its standard output.
    protocol: tuple[RecordRule, ...] = ()

    def has_composer(self, screen: Sequence[str]) -> bool:
        """True if the lines of a screen show the place where a message can be typed, empty or not.

        Where the profile knows the composer itself, that has to be there, whatever `ready` says: a first frame that
        only looks like one is painted by some long before they read.
        """
        if self.draft_pattern:
            return self.composer(screen) is not None
        return _has(screen, self.ready)

    def desk(self, screen: Sequence[str], title: str = "") -> Desk:
        """The terminal as whoever wants to type finds it, by what it shows alone."""
        reading = self.reading(screen, title)
        return Desk(
            waits_for=reading.rule.about or WAITING if reading is not None and reading.rule.says == WAITING else "",
            draft=self.draft(screen),
            composer=self.has_composer(screen),
            opening=_has(screen, self.opening),
        )

    def reading(self, screen: Sequence[str], title: str = "") -> screens.Reading | None:
        """What the lines of a screen, and the title of its terminal, say the agent does; None if no rule fits."""
        return screens.read(self.rules, screen, title)

    def composer(self, screen: Sequence[str]) -> str | None:
        """What stands in the place where messages are written; None if that is not there, or cannot be told."""
        if not self.draft_pattern:
            return None
        # It is below everything that was said before, which often looks the same.
        found = Shown(screen).last_group(self.draft_pattern, "text")
        if found is None:
            return None
        return "\n".join(map(_typed, found.split("\n"))).strip()

    def draft(self, screen: Sequence[str]) -> str:
        """What somebody has typed and not submitted yet; empty if the composer is empty, or not there.

        Of a long text some programs show but a note in its place ("[Pasted text #1 +10 lines]"): then that.
        """
        return self.composer(screen) or ""


def _has(screen: Sequence[str], patterns: Sequence[str]) -> bool:
    """True if one of the patterns is found in a line of the screen."""
    shown = Shown(screen)
    return any(shown.lowest(pattern) is not None for pattern in patterns)


def _typed(line: str) -> str:
    """A line of a composer without its frame, and without what stands in another column far to the right."""
    return _COLUMN.split(line.strip(), maxsplit=1)[0].strip(_FRAME)
