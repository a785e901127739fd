"""What the keeper knows of a team's host: whether one is there, what it told, and who waits for more.

A host that is lost while something of it may run is replaced at once: what writes would stand still otherwise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from corral.adapters.procfs import processes as proc
from corral.adapters.subprocess import records
from corral.adapters.subprocess.connection import ANSWER_SECONDS, HostConnection
from corral.adapters.subprocess.host_start import call_hidden_host, kill_host, start_host
from corral.adapters.subprocess.records import ProcessRecord
from corral.background import Background
from corral.domain.errors import CorralError, UnavailableError

log = logging.getLogger("corral.keeper")

#: Between two tries to connect to a host that was called.
_HIDDEN_WAIT = 0.001


class HostLink:
    """Connects to the host, and starts one where that is asked for."""

    def __init__(
        self,
        team: str,
        socket_path: str,
        directory: str,
        markers: Sequence[bytes],
        *,
        on_ended: Callable[[ProcessRecord], None],
        on_trouble: Callable[[ProcessRecord], None],
        on_lost: Callable[[str], None],
        on_gone: Callable[[ProcessRecord], None],
    ) -> None:
        self._team = team
        self._socket_path = socket_path
        self._directory = directory
        self._markers = markers
        self._on_ended = on_ended
        self._on_trouble = on_trouble
        self._on_lost = on_lost
        self._on_gone = on_gone
        self._connection: HostConnection | None = None
        self._connecting = asyncio.Lock()
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._background = Background()
        #: What the host told last, by id.
        self._told: dict[str, ProcessRecord] = {}

    @property
    def pid(self) -> int | None:
        """The host that we are connected to."""
        return self._connection.pid if self._connection is not None else None

    async def reach(self) -> HostConnection | None:
        """The host, if it listens. Starts nothing."""
        if self._connection is not None:
            return self._connection
        async with self._connecting:
            return await self._reach()

    async def find(self) -> HostConnection | None:
        """The host, if there is one, be it that its socket was cleared away. Starts nothing."""
        if self._connection is not None:
            return self._connection
        async with self._connecting:
            return await self._reach() or await self._call()

    async def have(self) -> HostConnection:
        """The host; it is started if there is none."""
        if self._connection is not None:
            return self._connection
        async with self._connecting:
            return await self._reach() or await self._call() or await self._start()

    async def _reach(self) -> HostConnection | None:
        if self._connection is not None:
            return self._connection
        try:
            self._connection = await HostConnection.open(self._socket_path, self._hear, self._lose)
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
            return None
        except OSError as error:
            raise UnavailableError(f"{self._socket_path} cannot be connected to: {error.strerror or error}") from error
        return self._connection

    async def _start(self) -> HostConnection:
        try:
            await start_host(self._socket_path, self._directory, self._markers)
        except UnavailableError:
            # Perhaps because somebody else was quicker, and there is one now.
            if (found := await self._reach()) is None:
                raise
            return found
        if (found := await self._reach()) is None:
            raise UnavailableError("the host of the team's processes went away again", f"{self._directory}/host.log")
        return found

    async def _call(self) -> HostConnection | None:
        hidden = call_hidden_host(self._socket_path, self._markers)
        return None if hidden is None else await self._called(hidden)

    async def _called(self, host: proc.Process) -> HostConnection | None:
        """Wait until a host listens that was called; None if it ended instead, because it was about to."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while proc.is_alive(host):
                    if (found := await self._reach()) is not None:
                        return found
                    await asyncio.sleep(_HIDDEN_WAIT)
        except TimeoutError:
            raise UnavailableError(
                f"the host of the team's processes (pid {host.pid}) has lost its socket, and does not make another",
                "is it stopped? kill -CONT lets it go on",
            ) from None
        return None

    async def end(self) -> None:
        """End the host, if there is one. Nothing runs under it any more: one that does not answer is killed."""
        try:
            host = await self.find()
            if host is not None:
                await host.end()
        except UnavailableError:
            if self._connection is not None:
                self._connection.close()
            if not await kill_host(self._socket_path, self._markers):
                raise

    async def known(self) -> dict[str, ProcessRecord]:
        """Every process there is a record of. Without a host, what is on the disk, with what can be seen of it now."""
        if self._connection is not None or await self.reach() is not None:
            return self._told
        found = self.on_disk()
        if any(record.running for record in found.values()) and await self.find() is not None:
            return self._told
        return found

    def on_disk(self) -> dict[str, ProcessRecord]:
        """What an earlier host wrote down. What it did not see the end of is over if it is not there any more."""
        found = records.load(self._directory)
        boot = proc.boot_id()
        for record in found.values():
            if record.running and not is_alive(record, boot):
                record.running = False
                record.closed = True
        return found

    def at_hand(self) -> dict[str, ProcessRecord]:
        """The same without asking anybody: what was told if we are connected, else what is on the disk."""
        return self._told if self._connection is not None else self.on_disk()

    def tell(self, do: str, **what: object) -> None:
        """Tell the host something that needs no answer; without one there is nobody to tell."""
        if self._connection is not None:
            self._connection.tell(do, **what)

    def told(self, process: str) -> ProcessRecord | None:
        """What the host told last of a process; None without a host."""
        return self._told.get(process) if self._connection is not None else None

    async def news_of(self, process: str, after: int | None = None) -> None:
        """Return when something is told of a process; with `after`, also when it has output past that.

        Raises `UnavailableError` if there is nobody to tell.
        """
        if after is not None and self._connection is not None:
            self._connection.tell("watch", process=process, after=after)
        news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(process, [])
        waiting.append(news)
        try:
            await news
        finally:
            waiting.remove(news)
            if not waiting:
                self._waiting.pop(process, None)

    def close(self) -> None:
        """Let go of the host; it goes on."""
        self._background.cancel()
        if self._connection is not None:
            self._connection.close()

    # What the host tells

    def _hear(self, news: dict[str, Any]) -> None:
        if "grew" in news:
            self._change(news["grew"], end=news["end"])
        elif "ended" in news:
            how = {name: news[name] for name in ("code", "signal", "ended_at", "end", "gone")}
            record = self._change(news["ended"], running=False, **how)
            if record is not None:
                self._on_ended(record)
        elif "gone" in news:
            record = self._change(news["gone"], gone=True)
            if record is not None:
                self._on_gone(record)
        elif "closed" in news:
            self._change(news["closed"], closed=True, end=news["end"])
        elif "born" in news:
            record = ProcessRecord(news["born"])
            self._told[record.process] = record
            self._wake(record.process)
        elif "trouble" in news:
            record = self._change(news["trouble"], trouble=news["why"])
            if record is not None and record.trouble:
                self._on_trouble(record)
        elif "forgotten" in news:
            for process in news["forgotten"]:
                self._told.pop(process, None)
                self._wake(process)
        elif "hello" in news:
            self._greet([ProcessRecord(facts) for facts in news["known"]])

    def _greet(self, found: Sequence[ProcessRecord]) -> None:
        before = self._told
        self._told = {record.process: record for record in found}
        for record in found:
            was = before.get(record.process)
            if was is not None and was.running and not record.running:
                self._on_ended(record)
        for process in list(self._waiting):
            self._wake(process)

    def _change(self, process: str, **changes: Any) -> ProcessRecord | None:
        record = self._told.get(process)
        if record is not None:
            for name, value in changes.items():
                setattr(record, name, value)
            self._wake(process)
        return record

    def _wake(self, process: str) -> None:
        for news in self._waiting.get(process, ()):
            if not news.done():
                news.set_result(None)

    def _lose(self, connection: HostConnection) -> None:
        if self._connection is not connection:
            return  # it was never relied on
        self._connection = None
        if connection.dismissed:
            self._give_up(UnavailableError("the host of the team's processes was let go"))
            return
        self._on_lost(f"the host of the team's processes (pid {connection.pid}) is gone")
        if any(not record.over for record in self._told.values()):
            self._background.spawn(self._replace(), name="replace the host")

    async def _replace(self) -> None:
        try:
            await self.have()
        except CorralError as error:
            log.error("the host of the processes of %s cannot be replaced: %s", self._team, error.message)
            self._give_up(error)

    def _give_up(self, error: CorralError) -> None:
        for waiting in self._waiting.values():
            for news in waiting:
                if not news.done():
                    news.set_exception(error)


def is_alive(record: ProcessRecord, boot: str) -> bool:
    """True if the command itself runs, proved by pid, start and boot."""
    if record.boot != boot:
        return False
    process = proc.read(record.pid)
    return process is not None and process.start == record.start and process.state not in "ZX"
