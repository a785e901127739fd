"""What tools answer with, as JSON schemas: the fields of the HTTP API, under the same names.

Clients check an answer against its schema and refuse one that does not fit. So only those fields are required that are
always there, and a field that is not named here may come.
"""

from __future__ import annotations

from corral.mcp.telling import Schema
from corral.mcp.telling import field as _field
from corral.mcp.telling import record as _object

_NULLABLE_TEXT = ["string", "null"]


def _members(about: str) -> Schema:
    one = {
        "type": "object",
        "properties": {"pid": _field("integer", "its pid"), "command": _field("string", "its command line")},
        "required": ["pid", "command"],
    }
    return {"type": "array", "items": one, "description": about}


_ID = _field("string", "names the process in every other tool: p and ten hexadecimal digits; never used again")
_RUNNING = _field("boolean", "the command itself has not ended; what it started is not meant")
_EXIT_CODE = _field(
    ["integer", "null"],
    "the exit code of the command; 128 + n if signal n ended it; null while it runs, and if nobody saw how it ended",
)
_SIGNAL = _field(_NULLABLE_TEXT, "the name of the signal that ended it, such as SIGKILL; else null")
_UNKNOWN = _field("boolean", "true if it has ended and nobody saw how")
_CLOSED = _field(
    "boolean",
    "nobody holds its output open any more: there will be no more of it. False after the command's end if something "
    "that it started still can write",
)
_NEXT = _field("integer", "the cursor to go on from: give it to process_output as `after`")
_OMITTED = _field("integer", "how many bytes were left out of `output`, where a line in it says so; 0 if none")
_BYTES = _field("integer", "bytes of output so far: the cursor behind the last of them")
_TROUBLE = _field("string", "what is wrong with the record of its output; empty if nothing")
_SURVIVORS = _members("what the command started and what outlived it; process_kill ends these as well")
_ENCODING = _field("string", "`base64` if the output is no UTF-8: then `output` is written so; else it is missing")

EXECUTION = _object(
    {
        "process_id": _ID,
        "running": _RUNNING,
        "exit_code": _EXIT_CODE,
        "signal": _SIGNAL,
        "unknown": _UNKNOWN,
        "timed_out": _field("boolean", "`timeout` was over before the command ended: it goes on in the background"),
        "output": _field("string", "standard output and standard error together, in the order they were written"),
        "encoding": _ENCODING,
        "omitted_bytes": _OMITTED,
        "next": _NEXT,
        "promoted": _field("boolean", "the command ended in `&`, so it was started as a background process"),
        "survivors": _SURVIVORS,
        "closed": _CLOSED,
        "note": _field("string", "what else there is to know, in a sentence; empty if nothing"),
        "team": _field("string", "the team of the agent"),
        "agent": _field("string", "the agent that the process belongs to"),
    },
    *("unknown", "encoding", "next", "closed", "note", "team", "agent"),
)

_PROCESS: dict[str, Schema] = {
    "process_id": _ID,
    "team": _field("string", "the team of the agent"),
    "agent": _field("string", "the agent that it belongs to"),
    "command": _field("string", "the command as it was given"),
    "running": _RUNNING,
    "exit_code": _EXIT_CODE,
    "signal": _SIGNAL,
    "unknown": _UNKNOWN,
    "started_at": _field("string", "when it was started"),
    "ended_at": _field(_NULLABLE_TEXT, "when the command ended; null before that, and if nobody saw it"),
    "closed": _CLOSED,
    "pids": {
        "type": "array",
        "items": {"type": "integer"},
        "description": "everything of it that runs, what the command started included",
    },
    "bytes": _BYTES,
    "tty": _field("boolean", "it has a terminal"),
    "stdin": _field("boolean", "process_write can give it something to read"),
    "trouble": _TROUBLE,
}
_PROCESS_OPTIONAL = ("team", "agent", "signal", "unknown", "ended_at", "closed", "bytes", "tty", "stdin", "trouble")
PROCESS = _object(_PROCESS, *_PROCESS_OPTIONAL)
ENDED_PROCESS = _object({**_PROCESS, "left": _members("what would not end; empty as a rule")}, *_PROCESS_OPTIONAL)
PROCESSES = _object(
    {"processes": {"type": "array", "items": PROCESS, "description": "your processes, the oldest first"}}
)

OUTPUT = _object(
    {
        "process_id": _ID,
        "output": _field("string", "what it wrote from the cursor on, standard output and standard error together"),
        "encoding": _ENCODING,
        "next": _NEXT,
        "omitted_bytes": _OMITTED,
        "matched": _field("boolean", "a line matched `until`; missing if `until` was not given"),
        "running": _RUNNING,
        "exit_code": _EXIT_CODE,
        "signal": _SIGNAL,
        "unknown": _UNKNOWN,
        "closed": _CLOSED,
        "bytes": _BYTES,
        "survivors": _SURVIVORS,
        "trouble": _TROUBLE,
    },
    *("encoding", "matched", "signal", "unknown", "bytes", "survivors", "trouble"),
)

WRITTEN = _object(
    {
        "process_id": _ID,
        "bytes": _field("integer", "how many bytes it was given"),
        "eof": _field("boolean", "its standard input was closed behind them"),
    }
)
SIGNALLED = _object(
    {
        "process_id": _ID,
        "signal": _field("string", "the signal that was sent"),
        "reached": _field("integer", "to how many processes it went"),
    }
)
REMOVED = _object({"process_id": _ID, "removed": _field("boolean", "its record is gone")})
