"""docs/reference/mcp.md, from the table of tools: `python -m corral.mcp.reference > docs/reference/mcp.md`."""

from __future__ import annotations

import sys

from corral.mcp.parameters import Parameter
from corral.mcp.texts import INSTRUCTIONS
from corral.mcp.tool import Tool
from corral.mcp.tools import TOOLS

_HEAD = """\
# The MCP tools

<!-- Made by `python -m corral.mcp.reference`. Change src/corral/mcp/, not this page. -->

`corral mcp` is an MCP server on standard input and output. It offers [the process manager](cli.md) to the
model of one agent: the one that `CORRAL_TEAM` and `CORRAL_AGENT` name, or `--agent TEAM/AGENT`. How a coding agent gets
to know it: [give agents Corral's tools](../howto/mcp.md).

Each tool is a verb of the command line, and of [the HTTP API](api.md), where the fields of the answers have the same
names. Below is what a model is told, word for word.

"""

_RULES = """\

## What holds for all of them

- An answer has the fields, as structured content that fits the schema of the tool, and the same in words.
- An error is an answer with `isError`: what went wrong, then what helps. A command that fails is no error.
- A process of another agent does not exist, whichever tool asks for it.
- A call that is cancelled ends waiting, and nothing else: what was started goes on, and `process_list` shows it.
- A call that waits reports progress every ten seconds, if the client asked for that.
- Calls do not wait for each other. If the daemon is started anew, the next call works again.
- The server ends when its input does. Processes do not: they belong to the agent.

## What a model is told first

"""


def render() -> str:
    """The whole page."""
    text = _HEAD + "| tool | the same on the command line |\n|---|---|\n"
    text += "".join(f"| [`{tool.name}`](#{tool.name}) | `corral {tool.cli}` |\n" for tool in TOOLS)
    return text + _RULES + _quoted(INSTRUCTIONS) + "".join(_section(tool) for tool in TOOLS)


def _section(tool: Tool) -> str:
    text = f"\n## {tool.name}\n\n{_quoted(tool.description)}"
    if tool.parameters:
        text += "\n| parameter | type | default | |\n|---|---|---|---|\n" + "".join(map(_row, tool.parameters))
    fields = tool.result["properties"]
    assert isinstance(fields, dict)
    text += "\n| in the answer | type | |\n|---|---|---|\n"
    for name, field in fields.items():
        kind = field["type"]
        shown = " or ".join(kind) if isinstance(kind, list) else kind
        text += f"| `{name}` | {shown} | {_cell(field['description'])} |\n"
    return text


def _row(parameter: Parameter) -> str:
    kind = parameter.schema["type"]
    default = "required" if parameter.required else "" if parameter.default is None else _shown(parameter.default)
    return f"| `{parameter.name}` | {kind} | {default} | {_cell(parameter.about)} |\n"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value) or '""'


def _quoted(text: str) -> str:
    """As a quotation, so that the words of a tool and those of this page cannot be mixed up."""
    return "".join(f"> {line}".rstrip() + "\n" for line in text.splitlines())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(render())
