"""A keeper with processes that a test plays: they write, end and close when the test says so."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from corral.adapters.files import stamps
from corral.domain.access import Obstacles
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.ports.casts import RecordingOrder
from corral.ports.dialogs import Peer, Pressed, ScreenSeen
from corral.ports.files import SeenFile
from corral.ports.keeper import PROTOCOL, Hello
from corral.ports.links import RealPath, SymbolicLink, SymbolicLinks
from corral.ports.processes import Execution, OutputPage, Process, ProcessOrder, Survivor
from corral.ports.resources import HostPorts, Listening
from corral.ports.runs import ExitStatus, Inventory


@dataclass
class Played:
    """A process: what it wrote, and how it is."""

    order: ProcessOrder
    changed: asyncio.Condition
    written: bytes = b""
    #: Positions of bytes that were not kept: from, to.
    gaps: list[tuple[int, int]] = field(default_factory=list)
    exit: ExitStatus | None = None
    running: bool = True
    closed: bool = False
    pids: list[int] = field(default_factory=lambda: [100])
    survivors: list[Survivor] = field(default_factory=list)
    trouble: str = ""
    read: bytes = b""
    eof: bool = False

    async def write(self, data: bytes) -> None:
        """More output."""
        async with self.changed:
            self.written += data
            self.changed.notify_all()

    async def end(self, code: int | None = 0, signal: int | None = None, *, close: bool = True) -> None:
        """The command ends; without `close` somebody holds its output open."""
        async with self.changed:
            self.exit, self.running, self.closed = ExitStatus(code=code, signal=signal), False, close
            self.pids = [] if close else [101]
            self.changed.notify_all()

    async def close(self) -> None:
        """Nobody holds its output open any more."""
        async with self.changed:
            self.closed, self.pids = True, []
            self.changed.notify_all()

    def seen(self) -> Process:
        return Process(
            process=self.order.process,
            agent=self.order.agent,
            command=self.order.command,
            started_at=1000.0,
            running=self.running,
            pid=100,
            exit=self.exit,
            ended_at=None if self.running else 1001.5,
            closed=self.closed,
            pids=self.pids,
            end=len(self.written),
            tty=self.order.tty,
            stdin=self.order.stdin,
            trouble=self.trouble,
        )

    def page(self, after: int, limit: int) -> OutputPage:
        """As `Processes.read`: over one gap, and before the next."""
        pieces: list[bytes] = []
        cursor, omitted, gap_at, room = after, 0, 0, limit
        for begin, end in [*self.gaps, (len(self.written), len(self.written))]:
            if end <= cursor and begin != len(self.written):
                continue
            if cursor < begin:
                pieces.append(self.written[cursor : min(begin, cursor + room)])
                room -= len(pieces[-1])
                cursor += len(pieces[-1])
            if not room or begin == end or omitted:
                break
            if cursor >= begin:
                gap_at, omitted, cursor = sum(map(len, pieces)), end - cursor, end
        return OutputPage(data=b"".join(pieces), next=cursor, omitted=omitted, gap_at=gap_at)


class FakeKeeper:
    """The verbs of `ports.keeper.Keeper` that processes need."""

    def __init__(self) -> None:
        self.played: dict[str, Played] = {}
        self.teams: dict[str, str] = {}
        #: What was asked for, in order.
        self.asked: list[tuple[str, dict[str, Any]]] = []
        #: What a process does when it is started, at once. Ends well if nobody says otherwise.
        self.at_start: Callable[[Played], None] = _ends
        #: Programs that are not there.
        self.missing: set[str] = set()
        self.refuse: CorralError | None = None
        #: Ports that somebody listens on, and by team who listens on what.
        self.taken: set[int] = set()
        self.listeners: dict[str, list[Listening]] = {}
        #: Symbolic links besides the one that leads out.
        self.links: list[SymbolicLink] = []
        #: Why no agent can be kept to its ports.
        self.obstacles = Obstacles()
        #: What an agent shows, what comes of pressing keys there, and whose process asks for that.
        self.screen_seen = ScreenSeen()
        self.pressed = Pressed(outcome="gone")
        self.agent_asking = ""
        #: What was last said about recording.
        self.recording: RecordingOrder | None = None
        self._waiting = 0

    async def record(self, _team: str, order: RecordingOrder) -> None:
        self.recording = order

    async def look_at_dialog(self, team: str, run: str) -> ScreenSeen:
        return self.screen_seen

    async def press(self, team: str, run: str, keys: list[str], mark: str, words: str = "") -> Pressed:
        more = {"words": words} if words else {}
        self.asked.append(("press", {"run": run, "keys": keys, "mark": mark, **more}))
        return self.pressed

    async def no_person(self, peer: Peer) -> str:
        return f"from within {self.agent_asking}" if self.agent_asking else ""

    async def real_paths(self, directory: str, paths: list[str]) -> list[RealPath]:
        """There are no links but one, which leads out, and one directory."""
        return [RealPath(path=None if path.startswith("out/") else path, directory=path == "folder") for path in paths]

    async def symbolic_links(self, directory: str) -> SymbolicLinks:
        """See `links`."""
        return SymbolicLinks(links=[SymbolicLink(link="out", leads_to=RealPath(path=None)), *self.links])

    async def look_at_files(self, *, cwd: str, paths: list[str], tops: list[str]) -> list[SeenFile]:
        """The files that are really there."""
        return stamps.look(cwd, paths, tops)

    async def inventory(self, team: str) -> Inventory:
        """What a tmux that does not answer leaves to be seen."""
        return Inventory(team=team, server="unknown", host="unknown", why="tmux is silent")

    async def hello(self) -> Hello:
        return Hello(
            protocol=PROTOCOL,
            version="0",
            instance="i",
            user="u",
            host="h",
            boot_id="b",
            pid=1,
            containment="process",
            obstacles=self.obstacles,
        )

    async def host_ports(self, ports: list[int]) -> HostPorts:
        self.asked.append(("host_ports", {"ports": ports}))
        await asyncio.sleep(0)
        return HostPorts(ephemeral=(32768, 60999), taken=[port for port in ports if port in self.taken])

    async def listening(self, team: str, ports: list[int]) -> list[Listening]:
        self.asked.append(("listening", {"team": team, "ports": ports}))
        return self.listeners.get(team, [])

    @property
    def waiting(self) -> int:
        """How many calls wait for something."""
        return self._waiting

    def only(self) -> Played:
        (played,) = self.played.values()
        return played

    async def execute(self, team: str, order: ProcessOrder, wait: float | None, limit: int) -> Execution:
        self.asked.append(("execute", {"order": order, "wait": wait, "limit": limit}))
        if self.refuse is not None:
            raise self.refuse
        if order.argv[0] in self.missing:
            raise NotFoundError(f"there is no program {order.argv[0]}")
        if order.process not in self.played:
            played = self.played[order.process] = Played(order, asyncio.Condition())
            self.teams[order.process] = team
            self.at_start(played)
        played = self.played[order.process]
        await self._until(played, lambda: not played.running, wait)
        return self._seen(played, 0, limit)

    async def processes(self, team: str, agent: str) -> list[Process]:
        self.asked.append(("processes", {"team": team, "agent": agent}))
        return [
            played.seen()
            for process, played in self.played.items()
            if self.teams[process] == team and agent in ("", played.order.agent)
        ]

    async def read_process(
        self, team: str, agent: str, process: str, *, after: int, limit: int, wait: float | None, late: bool
    ) -> Execution:
        self.asked.append(("read_process", {"after": after, "limit": limit, "wait": wait}))
        played = self._find(team, agent, process)
        late = late and not played.running  # who waits while it runs is told of the end
        there = lambda: len(played.written) > after or played.closed or not (played.running or late)  # noqa: E731
        await self._until(played, there, wait)
        return self._seen(played, after, limit)

    async def wait_process(self, team: str, agent: str, process: str, *, wait: float | None) -> Process:
        self.asked.append(("wait_process", {"wait": wait}))
        played = self._find(team, agent, process)
        await self._until(played, lambda: not played.running, wait)
        return played.seen()

    async def write_process(self, team: str, agent: str, process: str, *, data: bytes, eof: bool) -> None:
        played = self._find(team, agent, process)
        if not played.order.stdin or played.eof or not played.running:
            raise RefusedError(f"{process} cannot be written to", "start it with --stdin")
        played.read += data
        played.eof = eof
        if eof and self.at_start is echoes:
            await played.write(played.read)
            await played.end()

    async def resize_process(self, team: str, agent: str, process: str, *, columns: int, rows: int) -> None:
        self._find(team, agent, process)
        self.asked.append(("resize", {"columns": columns, "rows": rows}))

    async def signal_process(self, team: str, agent: str, process: str, *, number: int) -> int:
        played = self._find(team, agent, process)
        self.asked.append(("signal", {"number": number}))
        return len(played.pids)

    async def end_process(self, team: str, agent: str, process: str, *, grace: float) -> Execution:
        played = self._find(team, agent, process)
        self.asked.append(("end", {"grace": grace}))
        await played.end(None, 15)
        return self._seen(played, len(played.written), 0)

    async def forget_processes(self, team: str, agent: str, processes: list[str]) -> None:
        for process in processes:
            if self._find(team, agent, process).running:
                raise RefusedError(f"{process} still runs", f"corral proc kill {process} ends it")
        for process in processes:
            del self.played[process]

    def _find(self, team: str, agent: str, process: str) -> Played:
        played = self.played.get(process)
        if played is None or self.teams[process] != team or agent not in ("", played.order.agent):
            raise NotFoundError(f"there is no process {process}", "corral proc ls shows those there are")
        return played

    @staticmethod
    def _seen(played: Played, after: int, limit: int) -> Execution:
        page = played.page(after, limit) if limit else OutputPage(data=b"", next=after)
        return Execution(process=played.seen(), page=page, survivors=[] if played.running else played.survivors)

    async def _until(self, played: Played, reached: Callable[[], bool], wait: float | None) -> None:
        if reached() or wait == 0:
            return
        self._waiting += 1
        try:
            async with asyncio.timeout(wait), played.changed:
                await played.changed.wait_for(reached)
        except TimeoutError:
            return
        finally:
            self._waiting -= 1


def _ends(played: Played) -> None:
    played.exit, played.running, played.closed, played.pids = ExitStatus(code=0), False, True, []


def runs(_: Played) -> None:
    """For `at_start`: it goes on until the test ends it."""


def echoes(_: Played) -> None:
    """For `at_start`: once it has been told the end of its input, it writes it out and ends."""


def prints(text: bytes, code: int = 0) -> Callable[[Played], None]:
    """For `at_start`: it writes that and ends."""

    def play(played: Played) -> None:
        played.written = text
        _ends(played)
        played.exit = ExitStatus(code=code)

    return play


async def soon(reached: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is so that nobody tells of."""
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until, "it did not come to that"
        await asyncio.sleep(0.001)
