"""What each tool asks of the daemon: arguments in, a request out. Pure, but for the id of a new process."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from corral.domain.errors import NotFoundError, WrongUseError
from corral.domain.process_ids import is_process_id, new_process_id

Arguments = Mapping[str, object]

#: As long as nothing else is said. Less than the shortest time that a known client waits for a tool.
DEFAULT_WAIT = 30.0
#: Longer than this nobody is kept waiting by one call.
LONGEST_WAIT = 600.0
#: Bytes of output in an answer: some five thousand tokens, and what a client takes before it cuts it off itself.
DEFAULT_LIMIT, LARGEST_LIMIT = 20_000, 100_000

_OF_THE_BODY = ("command", "argv", "background", "tty", "workdir", "env", "stdin", "input", "limit")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A request to the daemon, but for whose it is."""

    method: str
    path: str
    parameters: tuple[tuple[str, str | None], ...] = ()
    #: Goes out as it is if it is bytes, else as JSON.
    body: object = None
    #: Seconds that the daemon may wait before it answers.
    wait: float = 0.0


def execute(arguments: Arguments) -> Call:
    """`corral exec`"""
    if ("command" in arguments) == ("argv" in arguments):
        raise WrongUseError("execute needs either command or argv", "command is a line for bash, argv a list of words")
    if arguments.get("stdin") and "input" in arguments:
        raise WrongUseError("execute takes stdin or input, not both", "input is all that the command gets to read")
    # Named here and not by the daemon: should the daemon die before it can answer, it is known what to look for.
    body: dict[str, object] = {"process_id": new_process_id()}
    body |= {name: arguments[name] for name in _OF_THE_BODY if name in arguments}
    if arguments.get("background"):
        return Call(method="POST", path="/v1/exec", body=body)
    timeout = _seconds(arguments, "timeout")
    return Call(method="POST", path="/v1/exec", body={**body, "timeout": timeout}, wait=timeout)


def process_list(_: Arguments) -> Call:
    """`corral proc ls`"""
    return Call(method="GET", path="/v1/processes")


def process_output(arguments: Arguments) -> Call:
    """`corral proc output`"""
    # A pattern without a time to wait for it would never be met.
    wait = _seconds(arguments, "wait") if "wait" in arguments or "until" not in arguments else DEFAULT_WAIT
    names = ("after", "limit", "until", "filter")
    parameters = [(name, str(arguments[name])) for name in names if name in arguments]
    path = _path(arguments, "/output")
    return Call(method="GET", path=path, parameters=(*parameters, ("wait", f"{wait:g}")), wait=wait)


def process_wait(arguments: Arguments) -> Call:
    """`corral proc wait`"""
    wait = _seconds(arguments, "timeout")
    return Call(method="POST", path=_path(arguments, "/wait"), parameters=(("wait", f"{wait:g}"),), wait=wait)


def process_write(arguments: Arguments) -> Call:
    """`corral proc write`"""
    eof = "1" if arguments.get("eof") else "0"
    return Call(method="POST", path=_path(arguments, "/write"), parameters=(("eof", eof),), body=_written(arguments))


def process_signal(arguments: Arguments) -> Call:
    """`corral proc signal`"""
    signal = str(arguments["signal"]).upper().removeprefix("SIG")
    return Call(method="POST", path=_path(arguments, "/signal"), parameters=(("signal", signal),))


def process_kill(arguments: Arguments) -> Call:
    """`corral proc kill`"""
    grace = _seconds(arguments, "grace")
    return Call(method="POST", path=_path(arguments, "/kill"), parameters=(("grace", f"{grace:g}"),), wait=grace)


def process_remove(arguments: Arguments) -> Call:
    """`corral proc rm`"""
    return Call(method="DELETE", path=_path(arguments))


def _written(arguments: Arguments) -> bytes:
    text, packed = str(arguments.get("text", "")), str(arguments.get("base64", ""))
    if text and packed:
        raise WrongUseError("process_write takes text or base64, not both", "call it twice")
    try:
        return binascii.a2b_base64(packed, strict_mode=True) if packed else text.encode("utf-8", "replace")
    except binascii.Error as error:
        raise WrongUseError(f"base64 is not base64: {error}", "encode the bytes with the standard alphabet") from error


def _path(arguments: Arguments, rest: str = "") -> str:
    process = str(arguments["process_id"])
    # Nothing but an id may get into the path of a request.
    if not is_process_id(process):
        raise NotFoundError(f"there is no process {process!r}", "process_list shows the processes that you have")
    return f"/v1/processes/{process}{rest}"


def _seconds(arguments: Arguments, name: str) -> float:
    value = arguments.get(name, 0.0)
    assert isinstance(value, int | float)
    return float(value)
