"""What a coding agent's hook tells, whichever agent it is, and what it is answered. Pure, and light: a hook loads it.

A *call* is one event of an agent: which files it is about to write or to read, or has. A *verdict* is what Corral says
to that. How an agent spells either is its *dialect* (`domain.hook_dialects`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# When an event comes.
#: A tool is about to be used: the only time at which anything can be refused.
BEFORE = "before"
#: A tool was used, with success.
AFTER = "after"
#: A tool was to be used, and was not, or failed.
FAILED = "failed"
#: Anything else: a sign of life.
ALIVE = "alive"
#: A turn or a session is over: no tool is under way any more.
OVER = "over"

# What a tool does with files.
READ, WRITE = "read", "write"

#: More than any honest call names; the rest of them would not be judged.
MOST_PATHS = 200


class Call:
    """One event of an agent."""

    __slots__ = ("act", "cwd", "helper", "paths", "session", "tool", "when")

    def __init__(
        self,
        *,
        when: str,
        act: str = "",
        paths: Sequence[str] = (),
        tool: str = "",
        session: str = "",
        cwd: str = "",
        helper: str = "",
    ) -> None:
        self.when = when
        #: `READ`, `WRITE`, or empty for what has nothing to do with files, as far as can be told.
        self.act = act
        #: As the agent gave them: absolute, or relative to `cwd`.
        self.paths = tuple(paths)
        self.tool = tool
        #: The agent's own name for its conversation: what it has read, it has read in one of them.
        self.session = session
        self.cwd = cwd
        #: The agent's own name for a helper of it whose doing this is; empty if it is its own.
        self.helper = helper

    @property
    def is_about_to_write(self) -> bool:
        """True for the one thing that can be refused."""
        return self.when == BEFORE and self.act == WRITE


class Verdict:
    """What Corral says to a call."""

    __slots__ = ("notice", "reason", "receipt", "warning")

    def __init__(self, *, reason: str = "", warning: str = "", notice: str = "", receipt: str = "") -> None:
        #: Why it is refused, in words that a model can act on; empty if it is not.
        self.reason = reason
        #: What a person should see though nothing is refused.
        self.warning = warning
        #: What the model should know besides: messages of others. Only for an event that can carry it.
        self.notice = notice
        #: By this the hook says that it has handed the notice on; empty if there is none.
        self.receipt = receipt


class Spoken:
    """A verdict in the words of a dialect."""

    __slots__ = ("exit_code", "stderr", "stdout")

    def __init__(self, stdout: str = "", stderr: str = "", exit_code: int = 0) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code = exit_code


class NotUnderstoodError(Exception):
    """What the agent said is not of its dialect; says what is wrong with it."""


def event_word(event: str) -> str:
    """An event in our spelling, whichever it came in: `PreToolUse`, `preToolUse` and `pre-tool-use` are one."""
    spaced = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in event)
    return spaced.replace("_", "-").strip("-")


def text_of(record: Mapping[str, object], keys: Sequence[str]) -> str:
    """The first of these members that is a text; empty if there is none."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value:
            return value
    return ""
