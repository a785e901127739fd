"""What Corral knows about one coding agent: how to start it, what its screens say, how to talk to it. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain import screens
from corral.domain.conversations import Ways
from corral.domain.hook_registration import HookFile
from corral.domain.mcp_registration import ServerFile

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
    #: Regular expressions; one that is found in a line of the screen says that a message can be typed now.
    ready: tuple[str, ...]
    #: Seconds between pasting a message and pressing Enter; sooner, the Enter would be taken for a part of it.
    paste_pause: float
    #: What a person should know before using it, in one sentence.
    note: str
    #: The file that says all this.
    file: str = ""
    #: A regular expression for the composer, of which the group `text` is what was typed there; empty if a draft cannot
    #: be told. It is looked for in the whole screen, `^` and `$` being the ends of lines, and the lowest counts. Where
    #: it fits a composer with nothing in it, a message can be typed as well.
    draft_pattern: str = ""
    #: What its screens say; the first that fits counts.
    rules: tuple[screens.Rule, ...] = ()
    #: Where it can be told of an MCP server; None if it cannot be.
    mcp: ServerFile | None = None
    #: Where it can be told of hooks; None if it has none.
    hooks: HookFile | None = None
    #: How its conversations are continued; None if they cannot be.
    resume: Ways | None = None

    def is_ready(self, screen: Sequence[str]) -> bool:
        """True if the lines of a screen say that a message can be typed now."""
        if any(re.search(pattern, line) for line in screen for pattern in self.ready):
            return True
        return self.composer(screen) == ""

    def reading(self, screen: Sequence[str], title: str = "") -> screens.Reading | None:
        """What the lines of a screen, and the title of its terminal, say the agent does; None if no rule fits."""
        return screens.read(self.rules, screen, title)

    def composer(self, screen: Sequence[str]) -> str | None:
        """What stands in the place where messages are written; None if that is not there, or cannot be told."""
        if not self.draft_pattern:
            return None
        # It is below everything that was said before, which often looks the same.
        found = list(_compiled(self.draft_pattern).finditer("\n".join(line.rstrip() for line in screen)))
        if not found:
            return None
        return "\n".join(map(_typed, found[-1]["text"].split("\n"))).strip()

    def draft(self, screen: Sequence[str]) -> str:
        """What somebody has typed and not submitted yet; empty if the composer is empty, or not there.

        Of a long text some programs show but a note in its place ("[Pasted text #1 +10 lines]"): then that.
        """
        return self.composer(screen) or ""


def _typed(line: str) -> str:
    """A line of a composer without its frame, and without what stands in another column far to the right."""
    return _COLUMN.split(line.strip(), maxsplit=1)[0].strip(_FRAME)


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
