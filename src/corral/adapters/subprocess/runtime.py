"""The sessions of a team's agents without a terminal: plain processes under the team's host.

A session is a process by the name of its run (`RUN_PREFIX`), so it is started once, and found again by whoever comes
next. What it writes is on the disk before anybody here reads it. So output is exact: the listener says how much it has
taken, and is given everything after that, once and in order, and all of it before it is told of the end.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from corral.adapters.procfs.programs import await_programs, exit_status, look_for_programs
from corral.background import Background
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError
from corral.domain.terminal_text import TextCleaner
from corral.ports.processes import RUN_PREFIX, Process, Processes, ProcessOrder
from corral.ports.recording import Launches
from corral.ports.runs import ExitStatus
from corral.ports.runtime import RuntimeListener, Screen, Session, SessionOrder, View

log = logging.getLogger("corral.keeper")

#: What is kept of output until it is recorded; only a keeper that is away, or far too slow, needs so much of it. What
#: was recorded is in the agent's log, so the beginning is not kept for its own sake.
_KEPT_BYTES = 16 << 20
#: Read at a time. Others get their turn in between.
_PAGE_BYTES = 1 << 18
#: How long a run that was just ended may take to be reported so.
_EXIT_SECONDS = 0.5
#: The height of a screen, where there is none; and how much of the output lines are looked for in.
_SCREEN_LINES, _SCREEN_BYTES = 50, 1 << 18


@dataclass(slots=True)
class _Run:
    """A session and how far its output was handed on."""

    session: Session
    process: str
    cursor: int
    #: Its end is to be reported.
    watched: bool = True
    following: asyncio.Task[None] | None = None
    #: Held by whoever speaks to it: one message at a time.
    speaking: asyncio.Lock = field(default_factory=asyncio.Lock)


class ProcessRuntime:
    """See `ports.runtime.Runtime`. `processes` is the team's, and shared with the commands of its agents."""

    def __init__(
        self,
        *,
        team: str,
        processes: Processes,
        launches: Launches,
        environment: Mapping[str, str],
        listener: RuntimeListener,
    ) -> None:
        self._team = team
        self._processes = processes
        self._launches = launches
        #: For the shell that reads the launch file, and so for every program that its agent's does not override.
        self._environment = dict(environment)
        self._listener = listener
        self._runs: dict[str, _Run] = {}
        self._background = Background()

    # Looking

    async def view(self) -> View:
        """See `Runtime.view`. A host that is gone takes no session along: then the sessions alone are present."""
        # What is started or taken away while the host is asked, it could not tell.
        before = frozenset(self._runs)
        try:
            table = await self._processes.table()
        except UnavailableError as error:
            return View(presence="unknown", why=error.message)
        there = {
            process.process.removeprefix(RUN_PREFIX): process
            for process in table
            if process.process.startswith(RUN_PREFIX)
        }
        for run in before - there.keys():
            if run in self._runs:
                self._let_go(self._runs.pop(run))
        for run, process in there.items():
            if run in self._runs or run not in before:
                self._take(process)
        sessions = tuple(one.session for one in self._runs.values())
        await look_for_programs(sessions)
        present = bool(sessions) or self.server_pid is not None
        return View(presence="present" if present else "absent", server_pid=self.server_pid, sessions=sessions)

    @property
    def server_pid(self) -> int | None:
        """See `Runtime.server_pid`."""
        return self._processes.server_pid

    def _take(self, process: Process) -> _Run:
        """Take note of a process of ours as it is now."""
        run = process.process.removeprefix(RUN_PREFIX)
        one = self._runs.get(run)
        if one is None:
            session = Session(agent=process.agent, run=run, terminal_pid=process.pid, pid=process.pid, terminal=False)
            cursor = self._listener.recorded(process.agent, run)
            one = self._runs[run] = _Run(session, process.process, cursor)
            # Whoever looks sees that it has ended; nobody has to be told.
            one.watched = process.running
        if not process.running and not one.session.dead:
            self._hand_on_all(one)
            self._note_end(one.session, process)
        if one.following is None:
            one.following = self._background.spawn(self._follow(one), name=f"output of {one.session.agent}")
        return one

    # Starting

    async def prepare(self, *, left_alone: bool) -> None:
        """See `Runtime.prepare`. The host comes with the first process, which takes it no time."""

    async def start(self, orders: Iterable[SessionOrder]) -> list[Session | str]:
        """See `Runtime.start`."""
        return await asyncio.gather(*(self._start(order) for order in orders))

    async def _start(self, order: SessionOrder) -> Session | str:
        known = self._runs.get(order.run)
        if known is not None:
            return known.session
        process = ProcessOrder(
            process=RUN_PREFIX + order.run,
            agent=order.agent,
            argv=["/bin/sh", order.launch_file],
            command=order.agent,
            directory="/",
            stdin=order.stdin,
            keep_head=0,
            keep_tail=_KEPT_BYTES,
            keep_records=None,
            keep_disk=None,
        )
        try:
            # In no cgroup yet: it waits at its gate until it is given its place.
            started = await self._processes.start(process, self._environment, "")
        except UnavailableError:
            raise
        except CorralError as error:
            return error.message
        one = self._take(started)
        one.watched = True
        return one.session

    async def find_programs(self, sessions: Sequence[Session]) -> None:
        """See `Runtime.find_programs`."""
        await await_programs(sessions)

    # Words in, output out

    async def send(self, run: str, text: str, *, enter: bool, pause: float, last: bool = False) -> None:  # noqa: ARG002
        """See `Runtime.send`. To submit is to end the line, if it does not end by itself; a pipe needs no pause."""
        one = await self._find(run)
        agent = one.session.agent
        if one.session.dead:
            raise CorralError(f"{agent} has ended; nobody reads what is sent to it", "corral restart it first")
        if enter and not text.endswith("\n"):
            text += "\n"
        async with one.speaking:
            try:
                await self._processes.write(one.process, text.encode(), eof=last)
            except RefusedError as error:
                raise RefusedError(
                    f"nothing can be sent to {agent}: its standard input is at its end",
                    "without stdin = false in corral.toml it stays open",
                ) from error

    def keyboard(self, run: str) -> None:
        """See `Runtime.keyboard`. There is none: words are written to a pipe."""

    async def screen(self, run: str, history: int = 0) -> list[str]:
        """See `Runtime.screen`."""
        one = await self._find(run)
        end = (await self._processes.get(one.process)).end
        start = max(0, end - _SCREEN_BYTES)
        pieces = []
        cursor = start
        while cursor < end and (page := self._processes.read(one.process, cursor, end - cursor)).next > cursor:
            pieces.append(page.data)
            cursor = page.next
        cleaner = TextCleaner()
        text = cleaner.feed(b"".join(pieces).decode("utf-8", "replace")) + cleaner.finish()
        lines = text.split("\n")
        if start and len(lines) > 1:
            del lines[0]  # it begins in the middle of a line
        while lines and not lines[-1].strip():
            lines.pop()
        return lines[-(_SCREEN_LINES + history) :]

    async def ring(self, text: str) -> int:  # noqa: ARG002 - nobody is attached to what has no terminal
        """See `Runtime.ring`."""
        return 0

    async def last_key(self) -> float | None:
        """See `Runtime.last_key`: there are no keys."""
        return None

    async def attach_command(self, run: str, *, read_only: bool) -> list[str]:  # noqa: ARG002 - it always is
        """See `Runtime.attach_command`: what follows its output."""
        one = await self._find(run)
        # -P: whatever is called corral where the person stands is not meant.
        return [sys.executable, "-P", "-m", "corral", "logs", "--follow", "--team", self._team, one.session.agent]

    # Ending

    async def screens(self, runs: Sequence[str]) -> dict[str, Screen]:  # noqa: ARG002
        """See `Runtime.screens`. There are no terminals."""
        return {}

    async def calm(self, runs: Sequence[str]) -> None:
        """See `Runtime.calm`. There is no terminal that could tell anything."""

    def unwatch(self, runs: Sequence[str]) -> None:
        """See `Runtime.unwatch`."""
        for run in runs:
            if run in self._runs:
                self._runs[run].watched = False

    async def exits(self, runs: Sequence[str]) -> dict[str, ExitStatus]:
        """See `Runtime.exits`. What they wrote to the last is handed on before."""
        known = [self._runs[run] for run in runs if run in self._runs]
        waits = [asyncio.ensure_future(self._processes.exited(one.process)) for one in known]
        if waits:
            await asyncio.wait(waits, timeout=_EXIT_SECONDS)
        found = {}
        for one, wait in zip(known, waits, strict=True):
            if not wait.done():
                wait.cancel()
                continue
            try:
                process = wait.result()
            except CorralError as error:
                log.warning("how %s ended cannot be told: %s", one.session.agent, error.message)
                continue
            self._hand_on_all(one)
            found[one.session.run] = self._note_end(one.session, process)
        return found

    def guests(self, runs: Sequence[str]) -> list[int]:  # noqa: ARG002 - as the port has it
        """See `Runtime.guests`. There are no terminals to open another in."""
        return []

    async def remove(self, runs: Sequence[str]) -> None:
        """See `Runtime.remove`. What was written since is handed on first."""
        await asyncio.gather(*(self._remove(self._runs[run]) for run in runs if run in self._runs))

    async def _remove(self, one: _Run) -> None:
        self._let_go(one)
        self._hand_on_all(one)
        try:
            await self._processes.forget([one.process])
        except RefusedError as error:
            # Whoever ended it tells what would not end. As long as that is there, the record is.
            log.warning("the record of %s is kept: %s", one.session.agent, error.message)
        else:
            self._runs.pop(one.session.run, None)

    async def end_server(self, *, answers: bool) -> None:  # noqa: ARG002 - as the port has it
        """See `Runtime.end_server`. The host is the team's, and is ended by whoever it belongs to."""
        for one in self._runs.values():
            self._let_go(one)
            self._hand_on_all(one)
        self._runs.clear()

    def close(self) -> None:
        """See `Runtime.close`."""
        self._background.cancel()

    async def _find(self, run: str) -> _Run:
        if run not in self._runs:
            await self.view()
        one = self._runs.get(run)
        if one is None:
            raise NotFoundError("the agent does not run", "corral restart starts it again")
        return one

    @staticmethod
    def _let_go(one: _Run) -> None:
        """Follow it no more, until the next look."""
        if one.following is not None:
            one.following.cancel()
            one.following = None

    # Output

    async def _follow(self, one: _Run) -> None:
        """Hand on what it writes as it comes, and tell of its end; then what is written by those who outlive it."""
        try:
            while True:
                # One that had ended when its start was answered is known to be dead, and its end is yet to be told.
                late = one.session.dead and not one.watched
                process = await self._processes.changed(one.process, one.cursor, late=late)
                await self._hand_on(one)
                if process.running and not process.closed:
                    continue
                if not one.session.dead or one.watched:
                    process = await self._processes.exited(one.process)
                    await self._hand_on(one)
                    self._tell_of_end(one, process)
                if process.closed:
                    return
        except CorralError as error:
            log.warning("output of %s is not read until the next look: %s", one.session.agent, error.message)
            one.following = None

    def _tell_of_end(self, one: _Run, process: Process) -> None:
        self._note_end(one.session, process)
        if one.watched:
            one.watched = False
            self._listener.exited(one.session)

    def _note_end(self, session: Session, process: Process) -> ExitStatus:
        """Take note of how a session ended. What a host that was killed did not see, the shell has written down."""
        status = process.exit or ExitStatus()
        code = self._launches.exit_code(session.agent, session.run) if status == ExitStatus() else status.code
        session.exit = status if code is None else exit_status(code)
        session.dead = True
        return session.exit

    async def _hand_on(self, one: _Run) -> None:
        """Hand on what there is, a page at a time; others get their turn in between."""
        while self._hand_on_page(one):  # noqa: ASYNC110 - nothing is waited for
            await asyncio.sleep(0)

    def _hand_on_all(self, one: _Run) -> None:
        """The same at once, where nothing may come in between."""
        while self._hand_on_page(one):
            pass

    def _hand_on_page(self, one: _Run) -> bool:
        page = self._processes.read(one.process, one.cursor, _PAGE_BYTES)
        data, run = page.data, one.session.run
        if page.omitted:
            before, data = data[: page.gap_at], data[page.gap_at :]
            if before:
                self._listener.output(run, before, one.cursor + len(before))
            self._listener.output_lost(run)
        if data:
            self._listener.output(run, data, page.next)
        moved = page.next > one.cursor
        one.cursor = page.next
        return moved
