"""The coding agents that Corral knows: one TOML file each, beside this module, each rule proved on screens of the
real program in tests/unit/agents/screens.

A profile says how to talk to a program; nothing in Corral asks for a program by name.
"""

import functools
import os
import re
import shlex
from dataclasses import dataclass

from corral.domain import names
from corral.domain.hook_registration import HookFile
from corral.domain.mcp_registration import ARGUMENTS, PROGRAM, ServerFile
from corral.domain.spec_problems import Problems
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table
from corral.domain.spec_text import decode

_KEYS = ("name", "title", "executable", "command", "ready", "paste_pause", "note", "mcp", "hooks")
_MCP_KEYS = ("files", "table", "entry")
_HOOK_KEYS = ("files", "events", "plugin", "list", "note")
_LONGEST_PAUSE = 10.0
#: Words that may stand before the program that they start.
_IN_FRONT = re.compile(r"exec|(?:.*/)?env|[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)

#: `python -m aider` starts aider.
_PYTHON = re.compile(r"python[0-9.]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """What Corral knows about one coding agent."""

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
    #: Where it can be told of an MCP server; None if it cannot be.
    mcp: ServerFile | None = None
    #: Where it can be told of hooks; None if it has none.
    hooks: HookFile | None = None

    def is_ready(self, screen: list[str]) -> bool:
        """True if the lines of a screen say that a message can be typed now."""
        return any(re.search(pattern, line) for line in screen for pattern in self.ready)


@functools.cache
def profiles() -> tuple[Profile, ...]:
    """All profiles, by name. Raises BadSpecError if one of the files has a mistake."""
    directory = os.path.dirname(os.path.abspath(__file__))
    found = []
    for file in sorted(os.listdir(directory)):
        if file.endswith(".toml"):
            path = os.path.join(directory, file)
            with open(path, "rb") as stream:
                found.append(read_profile(decode(stream.read(), path), path))
    return tuple(found)


def for_command(command: tuple[str, ...], shell: bool) -> Profile | None:
    """The profile of the program that a command starts, or None if no profile knows it.

    The directory of the program does not matter, nor do arguments. Of a command for a shell only the first program
    counts.
    """
    words = _words(command[0]) if shell and command else list(command)
    while words and _IN_FRONT.fullmatch(words[0]):
        words.pop(0)
    if not words:
        return None
    if _PYTHON.fullmatch(os.path.basename(words[0])) and words[1:2] == ["-m"]:
        words = words[2:]
    started = (os.path.basename(words[0]), *words[1:]) if words else ()
    return next((profile for profile in profiles() if started[: len(profile.command)] == profile.command), None)


def read_profile(text: str, file: str) -> Profile:
    """The profile that `text`, the contents of `file`, describes. Raises BadSpecError with every mistake in it."""
    problems = Problems(file, text)
    table = Table(problems, (), load(text, file))
    table.only(_KEYS)
    name = table.need("name", str, 'name = "claude"') or ""
    if name and (not names.is_valid(name) or os.path.basename(file) != f"{name}.toml"):
        table.wrong("name", "this is not the name of the file, or no valid name", f"a name has {names.RULE}")
    executable = table.need("executable", str, 'executable = "claude"') or ""
    command = _strings(table, "command", 'command = ["claude"]')
    if executable and command and command[0] != executable:
        table.wrong("command", "this does not begin with the executable", f'such as command = ["{executable}"]')
    profile = Profile(
        name=name,
        title=table.need("title", str, 'title = "Claude Code"') or "",
        executable=executable,
        command=command,
        ready=_patterns(table, "ready"),
        paste_pause=_seconds(table, "paste_pause"),
        note=table.need("note", str, 'note = "Needs an account."') or "",
        mcp=_server_file(table),
        hooks=_hook_file(table),
    )
    problems.raise_if_any()
    return profile


def _server_file(profile: Table) -> ServerFile | None:
    table = profile.table("mcp", '[mcp] with files = [".mcp.json"]')
    if table is None:
        return None
    table.only(_MCP_KEYS)
    files = _files(table, 'files = [".mcp.json"]')
    example = f'entry = {{ command = "{PROGRAM}", args = ["{ARGUMENTS}"] }}'
    return ServerFile(
        files=files,
        table=table.need("table", str, 'table = "mcpServers"') or "",
        entry=table.need("entry", dict, example) or {},
    )


def _hook_file(profile: Table) -> HookFile | None:
    table = profile.table("hooks", '[hooks] with files = [".x/settings.json"]')
    if table is None:
        return None
    table.only(_HOOK_KEYS)
    plugin = table.take("plugin", str, 'plugin = "x.js"') or ""
    events = table.take("events", dict, 'events = { Stop = "" }') or {}
    if bool(plugin) == bool(events) or bool(plugin) != bool(table.data.get("list")):
        table.wrong("events", "hooks are commands or a plugin", "give events, or plugin and list")
    if not all(isinstance(matcher, str) for matcher in events.values()):
        table.wrong("events", "each event needs a text", 'such as events = { PreToolUse = "Write", Stop = "" }')
    return HookFile(
        files=_files(table, 'files = [".x/settings.json"]'),
        events={event: str(matcher) for event, matcher in events.items()},
        plugin=plugin,
        list=table.take("list", str, 'list = "plugin"') or "",
        note=table.take("note", str, 'note = "Asks once."') or "",
    )


def _files(table: Table, example: str) -> tuple[str, ...]:
    """Paths that stay in a workspace."""
    files = _strings(table, "files", example)
    if any(os.path.isabs(file) or os.path.normpath(file) != file or file.startswith("..") for file in files):
        table.wrong("files", "this leads out of the workspace, or there by a detour", f"such as {example}")
    return files


def _words(script: str) -> list[str]:
    try:
        return shlex.split(script)
    except ValueError:
        # An open quote somewhere further on; the first word is still a good guess.
        return script.split()


def _strings(table: Table, key: str, example: str) -> tuple[str, ...]:
    values = table.need(key, list, example)
    if values is None:
        return ()
    kept = tuple(value for value in values if isinstance(value, str) and value)
    if not kept or len(kept) != len(values):
        table.wrong(key, "this must be an array of strings that are not empty", f"such as {example}")
    return kept


def _patterns(table: Table, key: str) -> tuple[str, ...]:
    patterns = _strings(table, key, f"{key} = ['^> $']")
    for number, pattern in enumerate(patterns, 1):
        try:
            matches_nothing = re.search(pattern, "") is not None
        except re.error as error:
            table.wrong(key, f"pattern {number} is no regular expression: {error}", "see the documentation of re")
            continue
        if matches_nothing:
            table.wrong(key, f"pattern {number} is found in every line", "name what only the wanted line shows")
    return patterns


def _seconds(table: Table, key: str) -> float:
    value = table.data.get(key)
    seconds = float(value) if isinstance(value, int) and not isinstance(value, bool) else None
    if seconds is None:
        seconds = table.need(key, float, f"{key} = 0.2")
    if seconds is not None and not 0 <= seconds <= _LONGEST_PAUSE:
        table.wrong(key, "this is out of range", f"seconds from 0 to {_LONGEST_PAUSE:g}, such as {key} = 0.2")
    return seconds or 0.0
