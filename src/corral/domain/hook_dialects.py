"""The hook protocols of coding agents, one row each: how an event is read, and how an answer is written. Pure.

What is not in a row passes: a tool that nobody here knows, an event that is new. Only what is *known* to write a file
can be refused. An answer that refuses nothing never says "allow": in most dialects that would take a question away
that the person is to be asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence

from corral.domain.hook_calls import (
    AFTER,
    ALIVE,
    BEFORE,
    FAILED,
    MOST_PATHS,
    OVER,
    READ,
    WRITE,
    Call,
    NotUnderstoodError,
    Spoken,
    Verdict,
    event_word,
    text_of,
)

#: What an event is: when it comes, and for one that names no tool, what is done with the file that it names.
_Event = tuple[str, str]
#: Reads the paths out of the arguments of a tool.
_Paths = Callable[[Mapping[str, object]], Sequence[str]]

_PATH_KEYS = ("file_path", "notebook_path", "filePath", "absolute_path", "path", "target_file")
_PATCH_KEYS = ("command", "patchText", "patch", "input")
_PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


class Dialect:
    """How one coding agent speaks to its hooks."""

    __slots__ = ("_speak", "events", "informed_at", "name", "tells_reads", "title", "tools")

    def __init__(
        self,
        name: str,
        title: str,
        *,
        events: Mapping[str, _Event],
        tools: Mapping[str, tuple[str, _Paths]],
        speak: Callable[[str, Verdict], Spoken],
        tells_reads: bool = True,
        informed_at: Collection[str] = (),
    ) -> None:
        self.name = name
        self.title = title
        self.events = events
        self.tools = tools
        #: False for an agent that reads files in ways that no hook hears of, such as a shell.
        self.tells_reads = tells_reads
        #: The events at whose answer the model can be told something, and goes on by itself.
        self.informed_at = frozenset(informed_at)
        self._speak = speak

    def read(self, event: str, said: object) -> Call:
        """What the agent said, at an event in any spelling. `NotUnderstoodError` if it is not of this dialect.

        An event that is not known is a sign of life, and so is a tool that is not.
        """
        if not isinstance(said, dict):
            raise NotUnderstoodError("it is no JSON object")
        when, act = self.events.get(event_word(event), (ALIVE, ""))
        session = text_of(said, ("session_id", "sessionID", "conversation_id"))
        helper = text_of(said, ("agent_id",))
        cwd = text_of(said, ("cwd", "directory")) or _first_text(said.get("workspace_roots"))
        if when not in (BEFORE, AFTER, FAILED):
            return Call(when=when, session=session, cwd=cwd, helper=helper)
        if act:  # the event names the file itself
            return Call(when=when, act=act, paths=_named(said), session=session, cwd=cwd, helper=helper)
        tool = text_of(said, ("tool_name", "tool"))
        given = said.get("tool_input", said.get("args"))
        if not tool or not isinstance(given, dict):
            raise NotUnderstoodError("it names no tool with its arguments")
        act, paths_of = self.tools.get(tool, ("", _none))
        try:
            paths = paths_of(given)[:MOST_PATHS]
        except NotUnderstoodError:
            if when == BEFORE:
                raise
            paths = ()  # whatever it was is done, or was not
        # A shell writes what it is given a patch for. Of all else that it does, nothing can be told.
        act = act if paths else ""
        return Call(when=when, act=act, paths=paths, tool=tool, session=session, cwd=cwd, helper=helper)

    def can_inform(self, event: str) -> bool:
        """True if the answer to this event, in any spelling, can carry a notice to the model."""
        return event_word(event) in self.informed_at

    def speak(self, event: str, verdict: Verdict) -> Spoken:
        """A verdict on an event, as the agent wants to hear it."""
        when, _ = self.events.get(event_word(event), (ALIVE, ""))
        if when != BEFORE:
            # Nothing can be refused any more, and what was done is done.
            verdict = Verdict(warning=verdict.warning or verdict.reason, notice=verdict.notice)
        return self._speak(event_word(event), verdict)


def _none(_: Mapping[str, object]) -> Sequence[str]:
    return ()


def _first_text(value: object) -> str:
    return value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""


def _named(given: Mapping[str, object]) -> Sequence[str]:
    """The file that the arguments of a tool name; Gemini CLI can name several to be read."""
    several = given.get("paths", given.get("include"))
    if isinstance(several, list):
        return [path for path in several if isinstance(path, str) and path]
    path = text_of(given, _PATH_KEYS)
    return (path,) if path else ()


def _written(given: Mapping[str, object]) -> Sequence[str]:
    """The file that a tool is to write. `NotUnderstoodError` where that cannot be told: then nobody can judge it."""
    named = [given[key] for key in _PATH_KEYS if given.get(key) is not None]
    paths = [path for path in named if isinstance(path, str) and path]
    if not paths or len(paths) < len(named):
        raise NotUnderstoodError("it does not say which file is to be written")
    return paths


def _in_a_patch(given: Mapping[str, object]) -> Sequence[str]:
    """As `_written`, of a tool that takes a patch."""
    paths = _patched(given)
    if not paths:
        raise NotUnderstoodError("it has no patch that says which files are to be written")
    return paths


def _patched(given: Mapping[str, object]) -> Sequence[str]:
    """The files that a patch in Codex's format names in the lines that begin their parts."""
    patch = text_of(given, _PATCH_KEYS)
    found = [
        line[len(start) :].strip() for line in patch.splitlines() for start in _PATCH_LINES if line.startswith(start)
    ]
    return list(dict.fromkeys(path for path in found if path))


def _like_claude(names: Mapping[str, str]) -> Callable[[str, Verdict], Spoken]:
    """Claude Code's own way, which Codex took over."""

    def speak(event: str, verdict: Verdict) -> Spoken:
        if verdict.reason:
            decision = {"permissionDecision": "deny", "permissionDecisionReason": verdict.reason}
            return _document({"hookSpecificOutput": {"hookEventName": names.get(event, event), **decision}})
        return _informed(names.get(event, event), verdict)

    return speak


def _gemini(event: str, verdict: Verdict) -> Spoken:
    if verdict.reason:
        return _document({"decision": "deny", "reason": verdict.reason})
    return _informed(_GEMINI_NAMES.get(event, event), verdict)


def _informed(event: str, verdict: Verdict) -> Spoken:
    """Nothing is refused: what the person should see, and what the model should know, if anything."""
    said: dict[str, object] = {"systemMessage": verdict.warning} if verdict.warning else {}
    if verdict.notice:
        said["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": verdict.notice}
    return _document(said) if said else Spoken()


def _cursor(_: str, verdict: Verdict) -> Spoken:
    if verdict.reason:
        return _document({"permission": "deny", "user_message": verdict.reason, "agent_message": verdict.reason})
    return Spoken("{}\n", _line(verdict.warning))


def _plugin(_: str, verdict: Verdict) -> Spoken:
    """For agents whose hooks are code in their own process: our plugin there looks at exit code and stderr."""
    if verdict.reason:
        return Spoken(stderr=_line(verdict.reason), exit_code=2)
    return Spoken(stderr=_line(verdict.warning))


def _line(text: str) -> str:
    return text + "\n" if text else ""


def _document(value: Mapping[str, object]) -> Spoken:
    return Spoken(json.dumps(value) + "\n")


def _same(act: str, paths_of: _Paths, *names: str) -> dict[str, tuple[str, _Paths]]:
    return dict.fromkeys(names, (act, paths_of))


_CLAUDE_EVENTS: dict[str, _Event] = {
    "pre-tool-use": (BEFORE, ""),
    "post-tool-use": (AFTER, ""),
    "post-tool-use-failure": (FAILED, ""),
    "user-prompt-submit": (ALIVE, ""),
    "permission-request": (ALIVE, ""),
    "notification": (ALIVE, ""),
    "pre-compact": (ALIVE, ""),
    "session-start": (ALIVE, ""),
    "subagent-stop": (ALIVE, ""),
    "stop": (OVER, ""),
    "session-end": (OVER, ""),
}
_CODEX_EVENTS: dict[str, _Event] = {
    name: when for name, when in _CLAUDE_EVENTS.items() if name not in ("notification", "post-tool-use-failure")
} | {"post-compact": (ALIVE, ""), "interrupt": (OVER, "")}
#: Those of Claude Code's events that take more than a sentence, in its own spelling.
_CLAUDE_NAMES = {
    "pre-tool-use": "PreToolUse",
    "post-tool-use": "PostToolUse",
    "post-tool-use-failure": "PostToolUseFailure",
    "user-prompt-submit": "UserPromptSubmit",
    "session-start": "SessionStart",
}
_GEMINI_NAMES = {"after-tool": "AfterTool", "before-agent": "BeforeAgent", "session-start": "SessionStart"}
#: Not before a tool is used: that is what an agent waits for most, and its end is soon enough.
_CLAUDE_INFORMED = tuple(event for event in _CLAUDE_NAMES if event != "pre-tool-use")
_PLUGIN_EVENTS: dict[str, _Event] = {
    "pre-tool-use": (BEFORE, ""),
    "post-tool-use": (AFTER, ""),
    "session-start": (ALIVE, ""),
    "user-prompt-submit": (ALIVE, ""),
    "stop": (OVER, ""),
    "session-end": (OVER, ""),
}

DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        "claude",
        "Claude Code",
        events=_CLAUDE_EVENTS,
        tools=_same(READ, _named, "Read", "NotebookRead")
        | _same(WRITE, _written, "Write", "Edit", "MultiEdit", "NotebookEdit"),
        speak=_like_claude(_CLAUDE_NAMES),
        informed_at=_CLAUDE_INFORMED,
    ),
    Dialect(
        "codex",
        "Codex",
        events=_CODEX_EVENTS,
        # Its shell knows patches as well, and that is how most models send them.
        tools=_same(WRITE, _in_a_patch, "apply_patch") | _same(WRITE, _patched, "Bash"),
        speak=_like_claude(_CLAUDE_NAMES),
        tells_reads=False,
        informed_at=[event for event in _CLAUDE_INFORMED if event in _CODEX_EVENTS],
    ),
    Dialect(
        "gemini",
        "Gemini CLI",
        events={
            "before-tool": (BEFORE, ""),
            "after-tool": (AFTER, ""),
            "before-agent": (ALIVE, ""),
            "session-start": (ALIVE, ""),
            "notification": (ALIVE, ""),
            "pre-compress": (ALIVE, ""),
            "after-agent": (OVER, ""),
            "session-end": (OVER, ""),
        },
        tools=_same(READ, _named, "read_file", "read_many_files") | _same(WRITE, _written, "write_file", "replace"),
        speak=_gemini,
        informed_at=_GEMINI_NAMES,
    ),
    Dialect(
        "cursor",
        "Cursor",
        events={
            "pre-tool-use": (BEFORE, ""),
            "post-tool-use": (AFTER, ""),
            "post-tool-use-failure": (FAILED, ""),
            "before-read-file": (BEFORE, READ),
            "after-file-edit": (AFTER, WRITE),
            "before-submit-prompt": (ALIVE, ""),
            "session-start": (ALIVE, ""),
            "stop": (OVER, ""),
            "session-end": (OVER, ""),
        },
        tools=_same(READ, _named, "Read") | _same(WRITE, _written, "Write", "Delete"),
        speak=_cursor,
    ),
    Dialect(
        "opencode",
        "OpenCode",
        events=_PLUGIN_EVENTS,
        tools=_same(READ, _named, "read")
        | _same(WRITE, _written, "write", "edit", "multiedit")
        | _same(WRITE, _in_a_patch, "patch", "apply_patch"),
        speak=_plugin,
    ),
    Dialect(
        "pi",
        "pi",
        events=_PLUGIN_EVENTS,
        tools=_same(READ, _named, "read") | _same(WRITE, _written, "write", "edit"),
        speak=_plugin,
    ),
)


def dialect(name: str) -> Dialect | None:
    """The dialect of that agent, if it has one."""
    return next((known for known in DIALECTS if known.name == name), None)
