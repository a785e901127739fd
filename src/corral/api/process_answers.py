"""Processes as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, structs

from corral.api.answers import Answer
from corral.domain.process_output import Shown
from corral.domain.signal_names import name_of
from corral.domain.timestamps import timestamp
from corral.ports import processes as port
from corral.ports.processes import Survivor
from corral.service.process_reading import Reading
from corral.service.processes import Executed


class Outcome(Answer, frozen=True):
    """Whether the command runs, and how it ended."""

    process_id: Annotated[str, Meta(description="`p` and ten hexadecimal digits; never used again")]
    running: Annotated[bool, Meta(description="of the command itself; what it started may run on")]
    exit_code: Annotated[
        int | None,
        Meta(description="128 + number for a death by signal; null while it runs, or if nobody saw how it ended"),
    ]
    signal: Annotated[str | None, Meta(description="the signal it died of, such as SIGKILL")]
    unknown: Annotated[bool, Meta(description="it has ended, and nobody saw how")]
    closed: Annotated[bool, Meta(description="nobody holds its output open any more: there will be no more of it")]


class Process(Outcome, frozen=True):
    """A process: a command that was started for an agent."""

    team: str
    agent: str
    command: Annotated[str, Meta(description="as it was asked for, shortened if it is very long")]
    hidden: Annotated[bool, Meta(description="who asks may not read it: `command` is empty, whatever it was")]
    started_at: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    ended_at: Annotated[str | None, Meta(extra_json_schema={"format": "date-time"})]
    pids: Annotated[list[int], Meta(description="everything of it that runs")]
    bytes: Annotated[int, Meta(description="how much it has written so far")]
    tty: Annotated[bool, Meta(description="it has a terminal")]
    stdin: Annotated[bool, Meta(description="it can be written to")]
    trouble: Annotated[
        str, Meta(description="what is wrong with its record, such as a full disk; empty if all is well")
    ]


class KilledProcess(Process, frozen=True):
    """A process that was to be ended."""

    left: Annotated[Sequence[Survivor], Meta(description="everything of it that would not end")]


class Output(Outcome, frozen=True):
    """Output from a cursor on."""

    output: Annotated[str, Meta(description="text, with a line in each place where bytes were left out")]
    next: Annotated[int, Meta(description="the cursor to go on from")]
    omitted_bytes: Annotated[int, Meta(description="bytes before `next` that are not shown")]
    bytes: Annotated[int, Meta(description="how much it has written so far")]
    survivors: Annotated[Sequence[Survivor], Meta(description="what outlived the command; empty while that runs")]
    trouble: Annotated[
        str, Meta(description="what is wrong with its record, such as a full disk; empty if all is well")
    ]
    matched: Annotated[bool | UnsetType, Meta(description="whether a line matched `until`; only if that was given")] = (
        UNSET
    )
    encoding: Annotated[str | UnsetType, Meta(description="`base64` if the bytes are no UTF-8; else not there")] = UNSET


class Execution(Outcome, frozen=True):
    """What became of a command."""

    team: str
    agent: str
    timed_out: Annotated[bool, Meta(description="it had not ended when time was up, and goes on")]
    promoted: Annotated[bool, Meta(description="it ended in `&`, and runs in the background without it")]
    output: Annotated[str, Meta(description="all, or the beginning and the end of it, with a line for what is between")]
    next: Annotated[int, Meta(description="the cursor behind the output that is shown")]
    omitted_bytes: Annotated[int, Meta(description="bytes before `next` that are not shown")]
    survivors: Annotated[Sequence[Survivor], Meta(description="what outlived the command; empty while that runs")]
    note: Annotated[str, Meta(description="what a person should know besides; empty if there is nothing")]
    encoding: Annotated[str | UnsetType, Meta(description="`base64` if the bytes are no UTF-8; else not there")] = UNSET


class Written(Answer, frozen=True):
    """What was written to a process."""

    process_id: str
    bytes: int
    eof: bool


class Signalled(Answer, frozen=True):
    """A signal that was sent."""

    process_id: str
    signal: str
    reached: Annotated[int, Meta(description="to how many processes it went")]


class Resized(Answer, frozen=True):
    """The size that a terminal has now."""

    process_id: str
    columns: int
    rows: int


class Removed(Answer, frozen=True):
    """A process that was forgotten."""

    process_id: str
    removed: bool


def process(team: str, found: port.Process, *, hidden: bool = False) -> Process:
    """A process as `corral proc ls --json` prints it: a contract. `hidden`: without its command line."""
    return Process(**_process(team, found, hidden=hidden))


def killed(team: str, ended: port.Execution, *, hidden: bool = False) -> KilledProcess:
    """A process that was ended, and what is left of it."""
    left = [structs.replace(one, command="") for one in ended.survivors] if hidden else ended.survivors
    return KilledProcess(**_process(team, ended.process, hidden=hidden), left=left)


def output(reading: Reading) -> Output:
    """What was read, as `corral proc output --json` prints it: a contract."""
    return Output(
        **_outcome(reading.process),
        output=reading.shown.output,
        next=reading.shown.next,
        omitted_bytes=reading.shown.omitted,
        bytes=reading.process.end,
        survivors=reading.survivors,
        trouble=reading.process.trouble,
        matched=UNSET if reading.matched is None else reading.matched,
        encoding=_encoding(reading.shown),
    )


def execution(done: Executed) -> Execution:
    """What became of a command, as `corral exec --json` prints it: a contract."""
    return Execution(
        **_outcome(done.process),
        team=done.team,
        agent=done.process.agent,
        timed_out=done.timed_out,
        promoted=done.promoted,
        output=done.shown.output,
        next=done.shown.next,
        omitted_bytes=done.shown.omitted,
        survivors=done.survivors,
        note=done.note,
        encoding=_encoding(done.shown),
    )


def noted(done: Execution) -> dict[str, object]:
    """What the audit trail has of it: which one, and how it ended, as far as that was waited for."""
    ended = {} if done.running else {"exit_code": done.exit_code}
    return {"process": done.process_id, **ended, **({"timed_out": True} if done.timed_out else {})}


def _encoding(shown: Shown) -> str | UnsetType:
    return shown.encoding or UNSET


def _outcome(found: port.Process) -> dict[str, Any]:
    status = found.exit
    code = None if status is None else status.shell_code
    return {
        "process_id": found.process,
        "running": found.running,
        "exit_code": None if found.running else code,
        "signal": None if status is None or status.signal is None else name_of(status.signal),
        "unknown": not found.running and code is None,
        "closed": found.closed,
    }


def _process(team: str, found: port.Process, *, hidden: bool) -> dict[str, Any]:
    return {
        **_outcome(found),
        "team": team,
        "agent": found.agent,
        "command": "" if hidden else found.command,
        "hidden": hidden,
        "started_at": timestamp(found.started_at),
        "ended_at": None if found.ended_at is None else timestamp(found.ended_at),
        "pids": found.pids,
        "bytes": found.end,
        "tty": found.tty,
        "stdin": found.stdin,
        "trouble": found.trouble,
    }
