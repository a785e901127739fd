"""The processes of a team, under a host that outlives the keeper. See `ports.processes`.

What the host tells is known here as soon as it is told; output is read from the disk. Nothing is asked of the host that
can be seen without it.
"""

from __future__ import annotations

import asyncio
import binascii
import json
import shutil
from collections.abc import Callable, Sequence

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.processes import Process as RunningProcess
from corral.adapters.subprocess import records, segments
from corral.adapters.subprocess.host_protocol import WRITE_BYTES
from corral.adapters.subprocess.link import HostLink
from corral.adapters.subprocess.members import Members
from corral.adapters.subprocess.records import ProcessRecord
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError, WrongUseError
from corral.ports.processes import OutputPage, Process, ProcessOrder, Survivor
from corral.ports.runs import ExitStatus

#: How long the end of a command may take to be told, after everything of it is gone.
_TOLD_SECONDS = 2.0
#: How long it may take until the host is told what was answered.
_TELL_SECONDS = 0.25
#: About as long as an exec takes, and how often that is waited for.
_BECOMING_SECONDS, _BECOMING_LOOKS = 0.01, 20
#: How a shell of a command is called before it has become something else.
_SHELLS = ("bash -c ", "/bin/sh -c ")


class HostedProcesses:
    """See `ports.processes.Processes`."""

    def __init__(
        self,
        *,
        team: str,
        socket_path: str,
        directory: str,
        markers: Sequence[bytes],
        on_ended: Callable[[Process], None],
        on_lost: Callable[[str], None],
        on_trouble: Callable[[str, str], None],
        on_gone: Callable[[str, str], None] = lambda _, __: None,
    ) -> None:
        self._directory = directory
        self._members = Members(markers)
        self._writing = asyncio.Lock()
        #: Of which somebody has all, and the host has not been told yet.
        self._answered: list[str] = []
        self._telling: asyncio.TimerHandle | None = None
        #: By agent, the environment that was last sent, and its text.
        self._environments: dict[str, tuple[dict[str, str], str]] = {}
        self._link = HostLink(
            team,
            socket_path,
            directory,
            markers,
            on_ended=lambda record: on_ended(self._seen(record)),
            on_trouble=lambda record: on_trouble(record.agent, record.trouble),
            on_lost=on_lost,
            on_gone=lambda record: on_gone(record.agent, record.process),
        )

    # Starting

    async def start(self, order: ProcessOrder, environment: dict[str, str], cgroup: str) -> Process:
        """See `Processes.start`. The first one starts the host."""
        if not records.can_be_a_name(order.process):
            raise WrongUseError(f"{order.process!r} cannot be the name of a process", "letters, digits, - and _")
        host = await self._link.have()
        await host.ask(
            "start",
            process=order.process,
            agent=order.agent,
            argv=order.argv,
            command=order.command,
            directory=order.directory,
            environment=self._text_of(order.agent, environment),
            cgroup=cgroup,
            stdin=order.stdin,
            tty=order.tty,
            columns=order.columns,
            rows=order.rows,
            keep_head=order.keep_head,
            keep_tail=order.keep_tail,
            keep_records=order.keep_records,
            keep_disk=order.keep_disk,
        )
        return self._seen(await self._find(order.process))

    def _text_of(self, agent: str, environment: dict[str, str]) -> str:
        """The environment as the host takes it. Most commands of an agent have the same one, which is written once."""
        known = self._environments.get(agent)
        if known is None or known[0] is not environment:
            known = self._environments[agent] = (environment, json.dumps(environment, separators=(",", ":")))
        return known[1]

    def answered(self, process: str) -> None:
        """See `Processes.answered`. Told in a while: it must not get in the way of the next command."""
        self._answered.append(process)
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(_TELL_SECONDS, self._tell_answered)

    def _tell_answered(self) -> None:
        self._telling = None
        answered, self._answered = self._answered, []
        self._link.tell("answered", processes=answered)

    # Looking

    async def table(self) -> list[Process]:
        """See `Processes.table`."""
        known = await self._link.known()
        pids = self._members.pids(known, self.server_pid)
        return [
            self._as_process(record, pids[record.process], self._end_of(record))
            for record in sorted(known.values(), key=lambda record: record.started_at)
        ]

    async def get(self, process: str) -> Process:
        """See `Processes.get`."""
        record = await self._find(process)
        pids = [member.pid for member in await self._running(record)]
        return self._as_process(record, pids, self._end_of(record))

    def read(self, process: str, after: int, limit: int) -> OutputPage:
        """See `Processes.read`."""
        directory = records.output_directory(self._directory, process)
        page = segments.read(directory, after, limit) if records.can_be_a_name(process) else None
        if page is None or (page.next == after and process not in self._link.at_hand()):
            raise _unknown(process)
        record = self._link.told(process)
        if not page.data and record is not None and page.next < record.end:
            # Somebody has removed what was written: it is left out, and exactly so much.
            return OutputPage(data=b"", next=record.end, omitted=record.end - after, gap_at=0)
        return OutputPage(data=page.data, next=page.next, omitted=page.omitted, gap_at=page.gap_at)

    # Waiting

    async def changed(self, process: str, after: int, *, late: bool = False) -> Process:
        """See `Processes.changed`. Where there is no cgroup, the command alone is in `pids`."""
        while True:
            record = await self._watched(process)
            if record.closed or (not record.running and not late) or record.end > after:
                return self._seen(record)
            await self._link.news_of(process, after)

    async def exited(self, process: str) -> Process:
        """See `Processes.exited`. As with `changed` for `pids`."""
        while (record := await self._watched(process)).running:
            await self._link.news_of(process)
        return self._seen(record)

    async def _watched(self, process: str) -> ProcessRecord:
        """A process about which there will be news if there can be any: something of it may run, so a host must."""
        record = await self._find(process)
        if not record.over and self.server_pid is None:
            await self._link.have()
            record = await self._find(process)
        return record

    # Steering

    async def write(self, process: str, data: bytes, *, eof: bool) -> None:
        """See `Processes.write`."""
        await self._find(process)
        host = await self._link.have()
        parts = [data[at : at + WRITE_BYTES] for at in range(0, len(data), WRITE_BYTES)] or [b""]
        async with self._writing:  # so that nobody's words come in between
            for number, part in enumerate(parts):
                await host.ask(
                    "write",
                    process=process,
                    data=binascii.b2a_base64(part, newline=False).decode("ascii"),
                    room=0 if number else len(data),
                    eof=eof and number == len(parts) - 1,
                )

    async def resize(self, process: str, columns: int, rows: int) -> None:
        """See `Processes.resize`."""
        await self._find(process)
        host = await self._link.have()
        await host.ask("resize", process=process, columns=columns, rows=rows)

    async def members(self, process: str) -> list[Survivor]:
        """See `Processes.members`."""
        record = await self._find(process)
        found: list[Survivor] = []
        for attempt in range(_BECOMING_LOOKS):
            found = [_survivor(member) for member in await self._running(record)]
            # What it is called in a moment is what somebody wants to know. A shell may stay what it is.
            if not any(_is_becoming(one, shells=not attempt) for one in found):
                break
            await asyncio.sleep(_BECOMING_SECONDS)
        return found

    async def signal(self, process: str, number: int) -> int:
        """See `Processes.signal`."""
        record = await self._find(process)
        return self._members.signal(record, number, await self._link.known(), self.server_pid)

    async def terminate(self, process: str, grace: float) -> list[Survivor]:
        """See `Processes.terminate`. That the command has ended is known when this returns."""
        record = await self._find(process)
        left = await self._members.end(record, grace, await self._link.known(), self.server_pid)
        if record.running and record.pid not in {member.pid for member in left} and self.server_pid is not None:
            try:
                async with asyncio.timeout(_TOLD_SECONDS):
                    await self.exited(process)
            except TimeoutError:
                raise UnavailableError(f"the host does not tell that {process} has ended", "is it stopped?") from None
        return [_survivor(member) for member in left]

    # Forgetting

    async def forget(self, processes: Sequence[str]) -> None:
        """See `Processes.forget`."""
        for process in processes:
            record = await self._find(process)
            if record.running or await self._running(record):
                raise RefusedError(f"{process} still runs", f"corral proc kill {process} ends it")
        if processes:
            host = await self._link.have()
            await host.ask("forget", processes=list(processes))

    @property
    def server_pid(self) -> int | None:
        """See `Processes.server_pid`."""
        return self._link.pid

    async def end_server(self) -> None:
        """See `Processes.end_server`. Without a host there is only what an earlier one wrote down."""
        await self._link.end()
        try:
            shutil.rmtree(self._directory)
        except FileNotFoundError:
            return
        except OSError as error:
            raise CorralError(
                f"the records of the team's processes cannot be removed: {error.filename}: {error.strerror}",
                f"rm -r {self._directory}",
            ) from error

    def close(self) -> None:
        """See `Processes.close`."""
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
        self._link.close()

    # What is known

    async def _find(self, process: str) -> ProcessRecord:
        record = (await self._link.known()).get(process)
        if record is None:
            raise _unknown(process)
        return record

    async def _running(self, record: ProcessRecord) -> list[RunningProcess]:
        return self._members.of(record, await self._link.known(), self.server_pid)

    def _end_of(self, record: ProcessRecord) -> int:
        if record.closed:
            return record.end
        return max(record.end, segments.end(records.output_directory(self._directory, record.process)))

    def _seen(self, record: ProcessRecord) -> Process:
        """What was told of it last."""
        return self._as_process(record, self._members.at_once(record), record.end)

    @staticmethod
    def _as_process(record: ProcessRecord, pids: list[int], end: int) -> Process:
        return Process(
            process=record.process,
            agent=record.agent,
            command=record.command,
            started_at=record.started_at,
            running=record.running,
            pid=record.pid,
            exit=None if record.running else ExitStatus(code=record.code, signal=record.signal),
            ended_at=record.ended_at,
            closed=record.closed,
            # The command first, and then whatever it started.
            pids=sorted(pids, key=lambda pid: pid != record.pid),
            end=end,
            tty=record.tty,
            stdin=record.stdin,
            trouble=record.trouble,
        )


def _is_becoming(one: Survivor, *, shells: bool) -> bool:
    """It is just becoming another program: it has no words yet, or with `shells` those of the shell that forked it."""
    return one.command.startswith("[") or (shells and one.command.startswith(_SHELLS))


def _survivor(process: RunningProcess) -> Survivor:
    return Survivor(pid=process.pid, command=proc.command_line(process.pid))


def _unknown(process: str) -> NotFoundError:
    return NotFoundError(f"there is no process {process}", "corral proc ls shows those that there are")
