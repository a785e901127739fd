"""Where a runtime of either kind is put on trial: real launch files, real programs, and keepers that come and go."""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.adapters.files.launch import LaunchFiles
from corral.adapters.procfs import ending
from corral.adapters.procfs import processes as proc
from corral.adapters.subprocess.processes import HostedProcesses
from corral.adapters.subprocess.runtime import ProcessRuntime
from corral.adapters.tmux.identity import clean_environment
from corral.adapters.tmux.runtime import TmuxRuntime
from corral.domain.environment import team_markers
from corral.domain.last_question import CALL, QUESTION
from corral.domain.terminal_text import TextCleaner
from corral.ports.processes import Process
from corral.ports.runs import ExitStatus
from corral.ports.runtime import Runtime, Session, SessionOrder

TMUX, PLAIN = "tmux", "none"
KINDS = (TMUX, PLAIN)
#: Longer than anything here takes; what comes later does not come.
PATIENCE = 20.0


class Listener:
    """A keeper's ears. What it heard of output is kept by the stage, and so outlives it."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        #: By run, what was told in the order in which it was: output, and then the end.
        self.told: dict[str, list[bytes | Session]] = {}
        self.lost: list[str] = []
        self.servers: list[str] = []
        self._news = asyncio.Event()

    def output(self, run: str, data: bytes, end: int | None = None) -> None:
        self.told.setdefault(run, []).append(data)
        self._stage.output[run] = self._stage.output.get(run, b"") + data
        if end is not None:
            assert end == len(self._stage.output[run]), "a position counts each byte once"
        self._tell()

    def recorded(self, agent: str, run: str) -> int:
        return len(self._stage.output.get(run, b""))

    def output_lost(self, run: str) -> None:
        self.lost.append(run)
        self._tell()

    def resized(self, run: str, columns: int, rows: int) -> None:
        """Nobody here wants to know."""

    def exited(self, session: Session) -> None:
        self.told.setdefault(session.run, []).append(session)
        self._tell()

    def server_changed(self, why: str) -> None:
        self.servers.append(why)
        self._tell()

    def exits(self, run: str) -> list[ExitStatus | None]:
        """Each end that was told of a run."""
        return [piece.exit for piece in self.told.get(run, ()) if isinstance(piece, Session)]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for news until something is true."""
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._news.clear()
                await self._news.wait()

    def _tell(self) -> None:
        self._news.set()


class Keeper:
    """A runtime with somebody who listens: as much of a keeper as a runtime notices."""

    def __init__(self, stage: "Stage") -> None:
        self.listener = Listener(stage)
        self.runtime, self.processes = stage.make_runtime(self.listener)
        self._stage = stage

    async def start(self, script: str, *, agent: str = "a", stdin: bool = True) -> Session:
        """Run a shell script as an agent."""
        (session,) = await self.start_all([self._stage.order(script, agent=agent, stdin=stdin)])
        return session

    async def start_all(self, orders: list[SessionOrder]) -> list[Session]:
        """Start them in one go; none may be refused."""
        started = await self.runtime.start(orders)
        sessions = [session for session in started if isinstance(session, Session)]
        assert len(sessions) == len(orders), started
        await self.runtime.find_programs(sessions)
        return sessions

    async def find(self, run: str) -> Session:
        """A session that is there, by a look."""
        view = await self.runtime.view()
        assert view.presence == "present", view
        (session,) = [session for session in view.sessions if session.run == run]
        return session

    async def end_of(self, session: Session) -> ExitStatus | None:
        """Wait to be told of its end."""
        await self.listener.until(lambda: bool(self.listener.exits(session.run)))
        return self.listener.exits(session.run)[0]

    async def says(self, session: Session, words: str) -> None:
        """Wait until its output has these words."""
        await self.listener.until(lambda: words in self._stage.text(session.run))

    def leave(self) -> None:
        """As a keeper does that is killed: it lets go of everything, and nothing ends by it."""
        self.runtime.close()
        if self.processes is not None:
            self.processes.close()


class Stage:
    """A directory for the sessions of one team."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self.directory = directory
        #: By run, all that any keeper was given.
        self.output: dict[str, bytes] = {}
        #: Of this stage alone: what carries it is looked for on the whole host.
        self._instance = secrets.token_hex(6)
        self._markers = team_markers(self._instance, "shop")
        self._launches = LaunchFiles(str(directory / "launch"), str(directory / "own"))
        self._keepers: list[Keeper] = []
        self._children = set(proc.children(os.getpid()))

    def play(self, scenario: Callable[[], Awaitable[None]]) -> None:
        """Play it, and end everything that it left."""

        async def act() -> None:
            try:
                await scenario()
            finally:
                await self._clear()

        asyncio.run(act())

    def keeper(self) -> Keeper:
        """A new keeper, which knows nothing but where to look."""
        keeper = Keeper(self)
        self._keepers.append(keeper)
        return keeper

    def order(
        self, script: str, *, agent: str = "a", stdin: bool = True, gated: bool = False, directory: str = ""
    ) -> SessionOrder:
        """An order with its launch file."""
        run = secrets.token_hex(6)
        path = self._launches.write(
            agent=agent,
            run=run,
            command=["sh", "-c", script],
            shell=False,
            working_directory=directory or str(self.directory),
            environment={"PATH": os.environ["PATH"], "GREETING": "hé"},
            gated=gated,
            note="",
            terminal=self.kind == TMUX,
        )
        return SessionOrder(agent=agent, run=run, launch_file=path, stdin=stdin)

    def open_gate(self, session: Session) -> None:
        """Let a gated one start its program."""
        self._launches.open_gate(session.agent, session.run)

    def lose_environment(self, order: SessionOrder) -> None:
        """Take away what its launch file reads."""
        os.unlink(self.directory / "launch" / f"{order.agent}.env")

    def has_ended(self, session: Session) -> bool:
        """Whether its program has, as far as its shell tells: that may stay until its last words were read."""
        told = self._launches.exit_code(session.agent, session.run)
        return told is not None or not self.shell_stays(session)

    def shell_stays(self, session: Session) -> bool:
        """Whether its launch shell has not ended."""
        shell = proc.read(session.terminal_pid)
        return shell is not None and proc.is_alive(shell)

    def text(self, run: str) -> str:
        """The output of a run as text: terminals add carriage returns, and the launch file asks them a question."""
        cleaner = TextCleaner()
        raw = self.output.get(run, b"").replace(QUESTION, b"").replace(CALL, b"")
        return cleaner.feed(raw.decode("utf-8", "replace")) + cleaner.finish()

    def lines(self, run: str) -> list[str]:
        """The same, line by line."""
        return self.text(run).splitlines()

    def make_runtime(self, listener: Listener) -> tuple[Runtime, HostedProcesses | None]:
        """A runtime of this kind."""
        if self.kind == TMUX:
            return TmuxRuntime(
                team="shop",
                socket_path=str(self.directory / "tmux.sock"),
                scratch_dir=str(self.directory),
                markers=self._markers,
                listener=listener,
            ), None
        processes = HostedProcesses(
            team="shop",
            socket_path=str(self.directory / "host.sock"),
            directory=str(self.directory / "processes"),
            markers=self._markers,
            on_ended=_ended,
            on_lost=listener.server_changed,
            on_trouble=_trouble,
        )
        environment = clean_environment(self._markers)
        return ProcessRuntime(
            team="shop", processes=processes, launches=self._launches, environment=environment, listener=listener
        ), processes

    async def _clear(self) -> None:
        """End what runs, as containment does, then the server."""
        for keeper in self._keepers:
            keeper.leave()
        last = Keeper(self)
        view = await last.runtime.view()
        last.runtime.unwatch([session.run for session in view.sessions])
        shells = {session.terminal_pid for session in view.sessions}
        await ending.end(lambda everyone: [process for process in everyone if process.pid in shells], 0)
        runs = [session.run for session in view.sessions]
        await last.runtime.exits(runs)
        await last.runtime.remove(runs)
        await last.runtime.end_server(answers=True)
        if last.processes is not None:
            await last.processes.end_server()
        last.leave()
        self._launches.forget_team()
        async with asyncio.timeout(PATIENCE):
            while set(proc.children(os.getpid())) - self._children:  # noqa: ASYNC110 - reaped by callbacks of this loop
                await asyncio.sleep(0.005)


def _ended(process: Process) -> None:
    """Those who wait for a process are told by the runtime."""


def _trouble(agent: str, why: str) -> None:
    raise AssertionError(f"{agent}: {why}")


def only(kind: str) -> pytest.MarkDecorator:
    """Marks a test that is about one kind."""
    return pytest.mark.parametrize("stage", [kind], indirect=True)
