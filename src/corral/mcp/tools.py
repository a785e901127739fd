"""The tools of `corral mcp`: those of `corral exec` and `corral proc` are told to a model here, all are at the end.

docs/reference/mcp.md is made from this table.
"""

from __future__ import annotations

from corral.mcp import calls, results, texts, words
from corral.mcp.calls import DEFAULT_LIMIT, DEFAULT_WAIT, LARGEST_LIMIT, LONGEST_WAIT
from corral.mcp.kv_tools import KV_TOOLS
from corral.mcp.lease_tools import LEASE_TOOLS
from corral.mcp.lock_tools import LOCK_TOOLS
from corral.mcp.merge_tools import MERGE_TOOLS
from corral.mcp.msg_tools import MSG_TOOLS
from corral.mcp.parameters import FLAG, NUMBER, TEXT, VARIABLES, WHOLE_NUMBER, WORDS, Parameter
from corral.mcp.port_tools import PORT_TOOLS
from corral.mcp.task_tools import TASK_TOOLS
from corral.mcp.tool import Tool
from corral.mcp.topic_tools import TOPIC_TOOLS
from corral.mcp.who_tools import WHO

_PROCESS_ID = Parameter(
    name="process_id",
    kind=TEXT,
    required=True,
    about="The process_id that execute answered with, or that process_list shows; such as p3f09ac12de.",
)
_LIMIT = Parameter(
    name="limit",
    kind=WHOLE_NUMBER,
    default=DEFAULT_LIMIT,
    least=1,
    most=LARGEST_LIMIT,
    about=f"The most bytes of output in the answer. {DEFAULT_LIMIT} without it, at most {LARGEST_LIMIT}.",
)

EXECUTE = Tool(
    name="execute",
    cli="exec",
    title="Run a command",
    description=texts.EXECUTE,
    parameters=(
        Parameter(
            name="command",
            kind=TEXT,
            about="What to run, as you would write it for bash: pipes, redirections, && and several lines are fine. "
            "Give this or argv.",
        ),
        Parameter(
            name="argv",
            kind=WORDS,
            about="Instead of command: the program and its arguments, each a word of its own. No shell, so nothing "
            "has to be quoted.",
        ),
        Parameter(
            name="timeout",
            kind=NUMBER,
            default=DEFAULT_WAIT,
            least=0,
            most=LONGEST_WAIT,
            about=f"Seconds to wait for the end of the command: {DEFAULT_WAIT:g} without it, at most {LONGEST_WAIT:g}. "
            "Past it the command goes on in the background; nothing is killed. Means nothing with background=true.",
        ),
        Parameter(
            name="background",
            kind=FLAG,
            default=False,
            about="true: do not wait. For servers, watchers, and work that you want to look at later. The answer has "
            "the process_id.",
        ),
        Parameter(
            name="workdir",
            kind=TEXT,
            about="The directory to run in: absolute, or relative to your workspace. Without it, the workspace itself.",
        ),
        Parameter(
            name="env",
            kind=VARIABLES,
            about='Environment variables for this command alone, such as {"CI": "1"}. They win over those that you '
            "have, and over those that switch off editors, pagers and colours.",
        ),
        Parameter(
            name="input",
            kind=TEXT,
            about="What the command reads on standard input, all of it; the input ends behind it. For text that is "
            "hard to quote: a patch, a script, JSON.",
        ),
        Parameter(
            name="stdin",
            kind=FLAG,
            default=False,
            about="true: keep standard input open, so that process_write can give it something. For programs that ask "
            "and answer; mostly together with background=true.",
        ),
        Parameter(
            name="tty",
            kind=FLAG,
            default=False,
            about="true: give it a terminal of its own. Only for programs that want one, such as a REPL; process_write "
            "is then its keyboard. Output may hold escape sequences.",
        ),
        _LIMIT,
    ),
    result=results.EXECUTION,
    call=calls.execute,
    words=words.execution,
    destroys=True,
)

PROCESS_LIST = Tool(
    name="process_list",
    cli="proc ls",
    title="List processes",
    description=texts.PROCESS_LIST,
    parameters=(),
    result=results.PROCESSES,
    call=calls.process_list,
    listed_as="processes",
    words=words.processes,
    reads_only=True,
)

PROCESS_OUTPUT = Tool(
    name="process_output",
    cli="proc output",
    title="Read output",
    description=texts.PROCESS_OUTPUT,
    parameters=(
        _PROCESS_ID,
        Parameter(
            name="after",
            kind=WHOLE_NUMBER,
            default=0,
            least=0,
            about="The cursor to read from: `next` of the answer before, or 0 for the beginning.",
        ),
        Parameter(
            name="wait",
            kind=NUMBER,
            least=0,
            most=LONGEST_WAIT,
            about="Seconds to wait for something new, if there is nothing behind `after` yet; 0 without it, at most "
            f"{LONGEST_WAIT:g}. With until: seconds to wait for a line that matches, {DEFAULT_WAIT:g} without it.",
        ),
        Parameter(
            name="until",
            kind=TEXT,
            about="A regular expression (RE2). Wait until a line behind `after` matches it, the process has ended, or "
            "the time is over; `matched` tells which. Such as: listening on|error",
        ),
        Parameter(
            name="filter",
            kind=TEXT,
            about="A regular expression (RE2). Show only the lines that match it; `next` counts the others as well, so "
            "these are passed over. Such as: (?i)warn|error",
        ),
        _LIMIT,
    ),
    result=results.OUTPUT,
    call=calls.process_output,
    words=words.output,
    reads_only=True,
)

PROCESS_WAIT = Tool(
    name="process_wait",
    cli="proc wait",
    title="Wait for the end",
    description=texts.PROCESS_WAIT,
    parameters=(
        _PROCESS_ID,
        Parameter(
            name="timeout",
            kind=NUMBER,
            default=DEFAULT_WAIT,
            least=0,
            most=LONGEST_WAIT,
            about=f"Seconds to wait: {DEFAULT_WAIT:g} without it, at most {LONGEST_WAIT:g}.",
        ),
    ),
    result=results.PROCESS,
    call=calls.process_wait,
    words=words.process,
    reads_only=True,
)

PROCESS_WRITE = Tool(
    name="process_write",
    cli="proc write",
    title="Write to standard input",
    description=texts.PROCESS_WRITE,
    parameters=(
        _PROCESS_ID,
        Parameter(
            name="text",
            kind=TEXT,
            default="",
            about="What to write, exactly. End a line with \\n: that is Enter. On a terminal \\u0003 is Ctrl-C and "
            "\\u0004 is Ctrl-D.",
        ),
        Parameter(
            name="base64",
            kind=TEXT,
            default="",
            about="In place of text: bytes that are no text, in base64.",
        ),
        Parameter(
            name="eof",
            kind=FLAG,
            default=False,
            about="true: close the standard input behind the text. Programs like cat, sort and python then finish. "
            "Nothing can be written after that.",
        ),
    ),
    result=results.WRITTEN,
    call=calls.process_write,
    words=words.written,
)

PROCESS_SIGNAL = Tool(
    name="process_signal",
    cli="proc signal",
    title="Send a signal",
    description=texts.PROCESS_SIGNAL,
    parameters=(
        _PROCESS_ID,
        Parameter(
            name="signal",
            kind=TEXT,
            required=True,
            about="The name of the signal, with or without SIG: INT, TERM, HUP, QUIT, USR1, USR2, STOP, CONT, KILL, …",
        ),
    ),
    result=results.SIGNALLED,
    call=calls.process_signal,
    words=words.signalled,
    destroys=True,
)

PROCESS_KILL = Tool(
    name="process_kill",
    cli="proc kill",
    title="End a process",
    description=texts.PROCESS_KILL,
    parameters=(
        _PROCESS_ID,
        Parameter(
            name="grace",
            kind=NUMBER,
            default=5.0,
            least=0,
            most=60,
            about="Seconds between TERM and KILL: 5 without it, at most 60. Less if it need not put anything in order, "
            "0 for KILL at once.",
        ),
    ),
    result=results.ENDED_PROCESS,
    call=calls.process_kill,
    words=words.killed,
    destroys=True,
)

PROCESS_REMOVE = Tool(
    name="process_remove",
    cli="proc rm",
    title="Remove a record",
    description=texts.PROCESS_REMOVE,
    parameters=(_PROCESS_ID,),
    result=results.REMOVED,
    call=calls.process_remove,
    words=words.removed,
    destroys=True,
)

TOOLS = (
    EXECUTE,
    PROCESS_LIST,
    PROCESS_OUTPUT,
    PROCESS_WAIT,
    PROCESS_WRITE,
    PROCESS_SIGNAL,
    PROCESS_KILL,
    PROCESS_REMOVE,
    *LEASE_TOOLS,
    *LOCK_TOOLS,
    *MERGE_TOOLS,
    *KV_TOOLS,
    *MSG_TOOLS,
    *TOPIC_TOOLS,
    *PORT_TOOLS,
    *TASK_TOOLS,
    WHO,
)
