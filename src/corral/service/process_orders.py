"""From a command that somebody wants to run to an order for a keeper, checked before anything is started."""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from corral.domain.environment import RESERVED_PREFIX, is_exportable
from corral.domain.errors import WrongUseError
from corral.domain.process_ids import is_process_id, new_process_id
from corral.domain.records import Agent, Team
from corral.domain.shell_syntax import analyse
from corral.domain.spec_fingerprint import declared_variables
from corral.ports.processes import ProcessOrder
from corral.supervise.confines import confines_of

SHELL, OTHER_SHELL = "bash", "/bin/sh"
#: What the kernel takes as one argument, less the zero behind it, and what we allow for all of them with the variables.
LONGEST_ARGUMENT = 128 * 1024 - 1
MOST_ARGUMENTS = 1 << 20
MOST_INPUT = 16 << 20
DEFAULT_LIMIT, MOST_LIMIT = 1 << 20, 16 << 20
LONGEST_SECONDS = 366 * 86400.0
_LARGEST_SIDE = 65535
#: Of a command, as lists show it.
_LONGEST_SHOWN = 1000
#: Bytes that are kept of each end of what a check writes.
_CHECK_KEPT = 16 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A command as somebody asked for it: a line for a shell, or the words of a program."""

    command: str | None = None
    argv: Sequence[str] = ()
    #: Chosen by the caller: an order that arrives twice starts one process. Empty: a new one.
    process: str = ""
    #: Seconds until the answer comes, ended or not; None is for ever.
    timeout: float | None = None
    background: bool = False
    tty: bool = False
    columns: int = 120
    rows: int = 40
    #: Absolute, or relative to the workspace.
    workdir: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bool = False
    #: Its whole standard input.
    input: bytes | None = None
    #: Most bytes of output in the answer.
    limit: int = DEFAULT_LIMIT


def check(wanted: Wanted) -> None:
    """Raise `WrongUseError` for what cannot be run, or not so."""
    if (wanted.command is None) == (not wanted.argv):
        raise WrongUseError("either a command or the words of one are wanted", "give command, or argv")
    if wanted.command is not None and not wanted.command.strip():
        raise WrongUseError("the command is empty", "give one")
    if wanted.argv and not wanted.argv[0]:
        raise WrongUseError("the first word of the command is empty", "it names the program")
    if wanted.process and not is_process_id(wanted.process):
        raise WrongUseError(f"{wanted.process!r} cannot be the id of a process", "it is p and ten hexadecimal digits")
    if wanted.input is not None and wanted.stdin:
        raise WrongUseError("input is all that the command reads, and stdin keeps it open", "give one of them")
    if wanted.input is not None and len(wanted.input) > MOST_INPUT:
        raise WrongUseError(f"the input has more than {MOST_INPUT >> 20} MiB", "write it in parts: stdin, then write")
    check_seconds("timeout", wanted.timeout)
    check_limit(wanted.limit)
    check_size(wanted.columns, wanted.rows)
    _check_sizes(wanted)
    for name in wanted.environment:
        if not is_exportable(name):
            raise WrongUseError(f"{name!r} cannot be the name of a variable", "letters, digits and _")
        if name.startswith(RESERVED_PREFIX):
            raise WrongUseError(f"{name} says who the agent is, and cannot be set", "leave it out")


def check_seconds(name: str, seconds: float | None) -> None:
    """Raise for a length of time that is none."""
    if seconds is not None and not (math.isfinite(seconds) and 0 <= seconds <= LONGEST_SECONDS):
        raise WrongUseError(f"{name} cannot be {seconds:g}", "it is a number of seconds from 0 on")


def check_limit(limit: int) -> None:
    """Raise for more output than one answer can have."""
    if not 0 <= limit <= MOST_LIMIT:
        raise WrongUseError(f"limit cannot be {limit}", f"it is a number of bytes, at most {MOST_LIMIT}")


def check_size(columns: int, rows: int) -> None:
    """Raise for a terminal that cannot be so large."""
    if not (0 < columns <= _LARGEST_SIDE and 0 < rows <= _LARGEST_SIDE):
        raise WrongUseError(f"a terminal cannot have {columns} columns and {rows} rows", "give its size in characters")


@dataclass(frozen=True, slots=True)
class Plan:
    """How a command is run."""

    order: ProcessOrder
    #: Nobody waits for its end.
    background: bool
    #: It ended in `&`, and is run without it.
    promoted: bool = False
    #: It is not run as it usually would be.
    note: str = ""


def plan(team: Team, agent: Agent, wanted: Wanted, shell: str = SHELL) -> Plan:
    """What is to be started.

    For a shell that is not bash, what only bash may understand is left as it was written.
    """
    if wanted.command is None:
        return Plan(_order(team, agent, wanted, list(wanted.argv)), wanted.background)
    text, promoted = wanted.command, False
    if "&" in text:  # otherwise nothing is to be understood, and that takes a moment
        analysis = analyse(text)
        if analysis.promoted and (shell == SHELL or analysis.portable):
            text, promoted = analysis.command, True
    order = _order(team, agent, wanted, [shell, "-c", text])
    note = "" if shell == SHELL else f"there is no {SHELL}: it was run by {shell}"
    return Plan(order, wanted.background or promoted, promoted, note)


def _order(team: Team, agent: Agent, wanted: Wanted, argv: list[str]) -> ProcessOrder:
    limits = team.processes
    return ProcessOrder(
        process=wanted.process or new_process_id(),
        agent=agent.name,
        argv=argv,
        command=_shown(wanted),
        # `join` takes an absolute one as it is.
        directory=os.path.normpath(os.path.join(agent.workspace, wanted.workdir)),
        environment=dict(wanted.environment),
        declared=declared_variables(agent.fingerprint),
        run=agent.run,
        bind=agent.bind,
        confines=confines_of(team, agent),
        workspace=agent.workspace,
        stdin=wanted.stdin or wanted.input is not None,
        tty=wanted.tty,
        columns=wanted.columns,
        rows=wanted.rows,
        keep_head=limits.head,
        keep_tail=limits.tail,
        most_running=limits.running,
        keep_records=limits.records,
        keep_disk=limits.disk,
    )


def check_order(team: Team, agent: Agent, wanted: Wanted, name: str) -> ProcessOrder:
    """What looks after the agent and is none of its commands: no record of it is kept, and it pushes out none."""
    order = _order(team, agent, wanted, list(wanted.argv))
    return msgspec.structs.replace(
        order, process=name, keep_head=_CHECK_KEPT, keep_tail=_CHECK_KEPT, keep_records=None, keep_disk=None
    )


def fingerprint(wanted: Wanted) -> dict[str, object]:
    """What the journal may know of a command: how long it is and its hash, and of its words only the program."""
    if wanted.command is not None:
        program, text = SHELL, wanted.command
    else:
        program, text = os.path.basename(wanted.argv[0])[:100], "\0".join(wanted.argv)
    raw = text.encode()
    return {"program": program, "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}


def _shown(wanted: Wanted) -> str:
    text = shlex.join(wanted.argv) if wanted.command is None else wanted.command
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _check_sizes(wanted: Wanted) -> None:
    words = [
        *wanted.argv,
        wanted.command or "",
        wanted.workdir,
        *(f"{name}={value}" for name, value in wanted.environment.items()),
    ]
    total = 0
    for word in words:
        size = len(word.encode())
        total += size
        if size > LONGEST_ARGUMENT:
            raise WrongUseError(
                f"a word of the command has {size} bytes, and {LONGEST_ARGUMENT} are the most that one may have",
                "give it on standard input, or put it into a file",
            )
        if "\0" in word:
            raise WrongUseError("a word of the command has a zero byte in it", "no program can be given one")
    if total > MOST_ARGUMENTS:
        raise WrongUseError(
            f"the command and its variables have {total} bytes, and {MOST_ARGUMENTS} are the most",
            "give it on standard input, or put it into a file",
        )
