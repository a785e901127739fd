"""What is known of each process, on disk: a journal of a line for each start, each end and each thing forgotten.

One file for a team, and only its host writes it. A line is whole or it does not count. Nothing is made for a process
until it writes something: on a file system where others come and go, a new file takes longer than a short command.
Standard library only: the host has this loaded as well.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_JOURNAL = "journal"
#: Lines that say nothing any more, before the journal is written anew.
_STALE_LINES = 2000
#: A command is kept for people who read a list; some are whole programs.
_COMMAND_LENGTH = 16384
#: What can be the name of a process: it becomes the name of a directory, and of a cgroup.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class ProcessRecord:
    """A process as its host knows it."""

    __slots__ = (
        "agent",
        "boot",
        "cgroup",
        "closed",
        "code",
        "command",
        "end",
        "ended_at",
        "gone",
        "host",
        "keep_disk",
        "keep_head",
        "keep_records",
        "keep_tail",
        "output",
        "pid",
        "process",
        "running",
        "signal",
        "start",
        "started_at",
        "stdin",
        "trouble",
        "tty",
    )

    def __init__(self, facts: dict[str, Any]) -> None:
        self.process: str = facts["process"]
        self.agent: str = facts["agent"]
        self.command: str = _shortened(facts["command"])
        #: 0 before it is born, and if nobody knows whether it was.
        self.pid: int = facts["pid"]
        #: Clock ticks after boot. With the pid and the name of the boot it is proof that a process is this one.
        self.start: int = facts["start"]
        self.boot: str = facts["boot"]
        #: The pid of the host that it was born under.
        self.host: int = facts["host"]
        #: The directory of its own cgroup; empty if it has none.
        self.cgroup: str = facts["cgroup"]
        #: What `/proc/PID/fd` shows where its output is open: `pipe:[…]`, or a terminal.
        self.output: str = facts["output"]
        self.tty: bool = facts["tty"]
        self.stdin: bool = facts["stdin"]
        self.started_at: float = facts["started_at"]
        self.keep_head: int = facts["keep_head"]
        self.keep_tail: int = facts["keep_tail"]
        #: What is kept of all commands together since it was started; None if it is no command.
        self.keep_records: int | None = facts.get("keep_records")
        self.keep_disk: int | None = facts.get("keep_disk")
        self.running: bool = facts.get("running", True)
        self.code: int | None = facts.get("code")
        self.signal: int | None = facts.get("signal")
        self.ended_at: float | None = facts.get("ended_at")
        self.closed: bool = facts.get("closed", False)
        self.end: int = facts.get("end", 0)
        #: It had a cgroup, which was removed: nothing of it runs.
        self.gone: bool = facts.get("gone", False)
        self.trouble: str = facts.get("trouble", "")

    def facts(self) -> dict[str, Any]:
        """All of it, as it goes over a wire and into the journal."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def over(self) -> bool:
        """The command has ended, and nobody holds its output open."""
        return self.closed and not self.running


def can_be_a_name(text: str) -> bool:
    """True if a process can have this name."""
    return _NAME.fullmatch(text) is not None


def output_directory(directory: str, process: str) -> str:
    """Where the output of a process is; it may not be there."""
    return f"{directory}/{process}"


def load(directory: str) -> dict[str, ProcessRecord]:
    """What the journal says, in the order of the starts. Nothing if there is none."""
    found: dict[str, ProcessRecord] = {}
    try:
        with open(f"{directory}/{_JOURNAL}", "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return found
    for line in lines[:-1]:  # what has no newline behind it was not written to its end
        # One may be torn by a disk that was full; the others are whole.
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            _apply(found, json.loads(line))
    return found


def _apply(found: dict[str, ProcessRecord], line: dict[str, Any]) -> None:
    if "started" in line:
        record = ProcessRecord(line["started"])
        found[record.process] = record
    elif "forgotten" in line:
        for process in line["forgotten"]:
            found.pop(process, None)
    elif (known := found.get(line["process"])) is not None:
        for name, value in line["changed"].items():
            setattr(known, name, value)


class Journal:
    """Writes it. What the disk did not take is not kept here: the next line brings everything that is known with it."""

    def __init__(self, directory: str, known: Callable[[], Sequence[ProcessRecord]]) -> None:
        self._path = f"{directory}/{_JOURNAL}"
        self._known = known
        self._lines = 0
        self._most_lines = _STALE_LINES
        self._behind = True

    def started(self, record: ProcessRecord) -> None:
        """Note a start. Raises `OSError`, as the others do."""
        self._add({"started": record.facts()})

    def changed(self, record: ProcessRecord, *names: str) -> None:
        """Note what these fields of a process are now."""
        self._add({"process": record.process, "changed": {name: getattr(record, name) for name in names}})

    def forgotten(self, processes: Iterable[str]) -> None:
        """Note that there is nothing of these any more."""
        self._add({"forgotten": list(processes)})

    def _add(self, line: dict[str, Any]) -> None:
        if self._behind or self._lines > self._most_lines:
            self.rewrite()
            return
        self._behind = True
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            _write(descriptor, _line(line))
        finally:
            os.close(descriptor)
        self._behind = False
        self._lines += 1

    def rewrite(self) -> None:
        """Write all that is known, and nothing else; whoever reads finds the old journal or the new one, whole."""
        known = self._known()
        text = b"".join(_line({"started": record.facts()}) for record in known)
        descriptor = os.open(self._path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write(descriptor, text)
        finally:
            os.close(descriptor)
        os.replace(self._path + ".new", self._path)
        self._lines = len(known)
        self._most_lines = _STALE_LINES + 5 * len(known)
        self._behind = False

    def remove(self) -> None:
        """Nothing is known any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self._behind = True


def remove_strays(directory: str, known: Mapping[str, ProcessRecord]) -> None:
    """Remove output of which nobody knows whose it is: a host was killed between two things that belong together."""
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False) and entry.name not in known:
            with contextlib.suppress(OSError):  # somebody made it what it is, and may keep it
                for file in os.scandir(entry.path):
                    os.unlink(file.path)
                os.rmdir(entry.path)


def _shortened(command: str) -> str:
    return command if len(command) <= _COMMAND_LENGTH else command[: _COMMAND_LENGTH - 1] + "…"


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
