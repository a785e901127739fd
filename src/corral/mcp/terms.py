"""What the daemon says of commands, in terms of the tools that do the same: a model may have nothing else. Pure."""

from __future__ import annotations

import re

from corral.mcp.tools import TOOLS

_TOOLS = {tool.cli: tool.name for tool in TOOLS}
#: A command, alone or of one process, or an option that a tool has as well.
_COMMAND = re.compile(
    rf"`?corral ({'|'.join(sorted(map(re.escape, _TOOLS), key=len, reverse=True))})\b`?(?: (p[0-9a-f]{{10}})\b)?"
)
_OPTION = re.compile(r"(?<!\S)--(stdin|tty|background|eof)\b")


def in_terms_of_tools(text: str) -> str:
    """`text` with the tools in the place of the commands."""
    return _OPTION.sub(r"\1=true", _COMMAND.sub(_tool, text))


def _tool(found: re.Match[str]) -> str:
    of = f" with process_id={found[2]}" if found[2] else ""
    return _TOOLS[found[1]] + of
