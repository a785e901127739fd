"""Reading the file of a profile strictly: whatever is wrong with it is told, with file, line and key. Pure."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from dataclasses import replace

from corral.agents.profile import Profile
from corral.agents.profile_records import record_rules
from corral.agents.profile_resume import resume_ways, strings
from corral.domain import activity, names, pattern_ends, screen_patterns
from corral.domain.bounded_patterns import SYNTAX, NoPatternError
from corral.domain.hook_registration import HookFile
from corral.domain.mcp_registration import ARGUMENTS, PROGRAM, ServerFile
from corral.domain.screens import Rule
from corral.domain.spec_problems import Problems, one_of
from corral.domain.spec_syntax import load
from corral.domain.spec_table import Table

_KEYS = (
    *("name", "title", "executable", "command", "ready", "draft", "opening", "paste_pause", "note"),
    *("volatile", "screen", "mcp", "hooks", "resume", "protocol", "state"),
)
_SCREEN_KEYS = ("name", "says", "about", "lines", "block", "unless", "title", "approve", "deny", "words")
_MCP_KEYS = ("files", "table", "entry")
_HOOK_KEYS = ("files", "events", "plugin", "list", "note")
_DRAFT = "draft = '^>(?P<text>.*)$'"
_LONGEST_PAUSE = 10.0
_SAYS = (activity.WORKING, activity.WAITING, activity.IDLE)
#: More rules than any program has screens: they are gone through for each look.
_MOST_RULES = 50


def read_profile(text: str, file: str) -> Profile:
    """The profile that `text`, the contents of `file`, describes. Raises BadSpecError with every mistake in it."""
    problems = Problems(file, text)
    table = Table(problems, (), load(text, file))
    table.only(_KEYS)
    name = table.need("name", str, 'name = "claude"') or ""
    if name and (not names.is_valid(name) or os.path.basename(file) != f"{name}.toml"):
        table.wrong("name", "this is not the name of the file, or no valid name", f"a name has {names.RULE}")
    executable = table.need("executable", str, 'executable = "claude"') or ""
    command = strings(table, "command", 'command = ["claude"]', needed=True)
    if executable and command and command[0] != executable:
        table.wrong("command", "this does not begin with the executable", f'such as command = ["{executable}"]')
    draft = _draft(table)
    profile = Profile(
        name=name,
        title=table.need("title", str, 'title = "Claude Code"') or "",
        executable=executable,
        command=command,
        ready=_patterns(table, "ready"),
        paste_pause=_seconds(table, "paste_pause"),
        note=table.need("note", str, 'note = "Needs an account."') or "",
        file=file,
        draft_pattern=draft,
        opening=_optional_patterns(table, "opening", table.wrong),
        rules=tuple(replace(rule, composer=draft) for rule in _rules(table)),
        volatile=_optional_patterns(table, "volatile", table.wrong),
        mcp=_server_file(table),
        hooks=_hook_file(table),
        resume=resume_ways(table),
        protocol=record_rules(table, "protocol"),
        state=_state(table),
    )
    problems.raise_if_any()
    return profile


def _state(table: Table) -> tuple[str, ...]:
    example = 'state = ["$X_HOME/", "~/.x/"]'
    found = strings(table, "state", example)
    if any(not path.startswith(("~/", "$", "/")) or ".." in path.split("/") for path in found):
        table.wrong("state", "these must begin with ~/, a variable or /", f"such as {example}")
    return found


def _draft(table: Table) -> str:
    pattern = table.take("draft", str, _DRAFT) or ""
    if not pattern or not _is_pattern(table, "draft", "this", pattern, crosses_lines=True, group="text"):
        return ""
    if not pattern_ends.fits_without(pattern, "text"):
        table.wrong(
            "draft",
            "this fits no composer with nothing in it, so no message would ever be typed",
            f"such as {_DRAFT}; {pattern_ends.NO_BLANKS}",
        )
    return pattern


def _rules(profile: Table) -> tuple[Rule, ...]:
    found = profile.take("screen", list, '[[screen]] with name = "idle" and says = "idle"') or []
    if len(found) > _MOST_RULES:
        profile.wrong("screen", f"there are {len(found)} rules", f"at most {_MOST_RULES} can be gone through")
        return ()
    rules: list[Rule] = []
    for number, entry in enumerate(found, 1):
        if not isinstance(entry, dict):
            profile.wrong("screen", f"entry {number} is no table", 'such as [[screen]] with name = "idle"')
            continue
        rule = _rule(Table(profile.problems, ("screen",), entry), number)
        if any(rule.name == other.name for other in rules):
            profile.wrong("screen", f"rule {number} has the name of another, {rule.name}", "give each its own name")
        rules.append(rule)
    return tuple(rules)


def _rule(table: Table, number: int) -> Rule:
    def wrong(key: str, message: str, remedy: str) -> None:
        table.wrong(key, f"rule {number}: {message}", remedy)

    table.only(_SCREEN_KEYS)
    says = table.data.get("says")
    if says not in _SAYS:
        wrong("says", "this is no activity", f"it is {one_of(_SAYS)}")
    about = table.take("about", str, 'about = "permission"') or ""
    if (says == activity.WAITING) != (about in activity.ABOUT):
        wrong("about", "what an agent that waits is waiting for, and no other", f"it is {one_of(activity.ABOUT)}")
    lines = _optional_patterns(table, "lines", wrong)
    title = table.take("title", str, "title = '^x: working'") or ""
    if title:
        _is_pattern(table, "title", f"rule {number}: this", title)
    block = table.take("block", str, "block = '^---\\n> .*\\n---$'") or ""
    if block:
        _is_pattern(table, "block", f"rule {number}: this", block, crosses_lines=True)
    if not lines and not title and not block:
        wrong("lines", "nothing says when it fits", "give lines, block or title")
    name = table.need("name", str, 'name = "permission"') or ""
    if name and not names.is_valid(name):
        wrong("name", "this is no valid name", f"a name has {names.RULE}")
    return Rule(
        name=name,
        says=str(says),
        about=about,
        lines=lines,
        block=block,
        unless=_optional_patterns(table, "unless", wrong),
        title=title,
        approve=strings(table, "approve", 'approve = ["Enter"]'),
        deny=strings(table, "deny", 'deny = ["Escape"]'),
        words=_words(table, number),
    )


def _words(table: Table, number: int) -> str:
    example = "words = '^[> ] (?P<option>[1-9])\\. Other: (?P<text>.*)$'"
    pattern = table.take("words", str, example) or ""
    if not pattern or not _is_pattern(table, "words", f"rule {number}: this", pattern, crosses_lines=True):
        return ""
    if not {"option", "text"} <= screen_patterns.check(pattern, crosses_lines=True)[1]:
        table.wrong("words", f"rule {number}: this does not have the groups `option` and `text`", f"such as {example}")
        return ""
    return pattern


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
    files = strings(table, "files", example, needed=True)
    if any(os.path.isabs(file) or os.path.normpath(file) != file or file.startswith("..") for file in files):
        table.wrong("files", "this leads out of the workspace, or there by a detour", f"such as {example}")
    return files


def _patterns(table: Table, key: str) -> tuple[str, ...]:
    patterns = strings(table, key, f"{key} = ['^>$']", needed=True)
    for number, pattern in enumerate(patterns, 1):
        _is_pattern(table, key, f"pattern {number}", pattern)
    return patterns


def _optional_patterns(table: Table, key: str, wrong: Callable[[str, str, str], None]) -> tuple[str, ...]:
    patterns = strings(table, key, f"{key} = ['^>$']")
    for number, pattern in enumerate(patterns, 1):
        _is_pattern(table, key, f"pattern {number}", pattern, wrong=wrong)
    return patterns


def _is_pattern(
    table: Table,
    key: str,
    what: str,
    pattern: str,
    *,
    wrong: Callable[[str, str, str], None] | None = None,
    crosses_lines: bool = False,
    group: str = "",
) -> bool:
    """True if it is one that matches neither everything nor nothing, and has that group; else that is a problem."""
    tell = wrong or table.wrong
    try:
        matches_nothing, groups = screen_patterns.check(pattern, crosses_lines=crosses_lines)
    except NoPatternError as error:
        tell(key, f"{what} is no regular expression: {error}", SYNTAX)
        return False
    if matches_nothing:
        tell(key, f"{what} is found in every line", "name what only the wanted line shows")
        return False
    if group and group not in groups:
        tell(key, f"{what} has no group `{group}`", f"such as {key} = '^>(?P<{group}>.*)$'")
        return False
    if key != "title" and pattern_ends.wants_a_blank_at_the_end(pattern):
        tell(key, f"{what} ends in a blank, so it is found nowhere", f"{pattern_ends.NO_BLANKS}: leave it out")
        return False
    return True


def _seconds(table: Table, key: str) -> float:
    value = table.data.get(key)
    seconds = float(value) if isinstance(value, int) and not isinstance(value, bool) else None
    if seconds is None:
        seconds = table.need(key, float, f"{key} = 0.2")
    if seconds is not None and not 0 <= seconds <= _LONGEST_PAUSE:
        table.wrong(key, "this is out of range", f"seconds from 0 to {_LONGEST_PAUSE:g}, such as {key} = 0.2")
    return seconds or 0.0
