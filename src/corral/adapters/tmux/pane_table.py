"""The panes of one team: which run each belongs to, who is told of its output, and how its end is learnt.

A pane's first process is watched by pidfd, so its end is known at once. Its exit status is tmux's to tell, after tmux
has reaped it and read the rest of its terminal; that takes a moment, and with tmux 3.3a a nudge.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from corral.adapters.procfs import processes as proc
from corral.adapters.tmux.control import ControlClient
from corral.adapters.tmux.keyboard import answer_call
from corral.adapters.tmux.panes import FORMAT, Census, Pane, parse_pane
from corral.background import Background
from corral.domain.errors import CorralError
from corral.ports.runs import ExitStatus
from corral.ports.runtime import RuntimeListener

#: How long after its process ended a pane may take to show its exit status: tmux has to reap it first.
_STATUS_SECONDS = 2.0
#: With the status known, how much longer to wait for the last output while something else holds the terminal open.
LAST_OUTPUT_SECONDS = 0.5


class PaneTable:
    """Every pane that is a run's. `client` and `server` tell what the runtime is connected to, if anything."""

    def __init__(
        self,
        listener: RuntimeListener,
        client: Callable[[], ControlClient | None],
        server: Callable[[], proc.Process | None],
    ) -> None:
        self._listener = listener
        self._client = client
        self._server = server
        self.by_run: dict[str, Pane] = {}
        self._runs: dict[str, str] = {}  # pane id -> run
        self._early: dict[str, list[bytes]] = {}  # output of panes that are just being started
        self._starts = 0  # how many do that now
        self._watches: dict[str, int] = {}  # run -> pidfd
        self._guests: dict[str, list[int]] = {}  # session id -> processes of windows that others opened there
        self._background = Background()

    def take(self, census: Census, before: Collection[str]) -> None:
        """Bring the table in line with what tmux lists: adopt what is new, forget what is gone.

        `before` are the runs that were known when tmux was asked. What changed since then it could not list: sessions
        are started and taken away while somebody looks.
        """
        for run, pane in census.panes.items():
            known = self.by_run.get(run)
            if known is None:
                if run not in before:
                    self.adopt(pane)
                continue
            known.session_id = pane.session_id
            if pane.session.exit is not None or pane.session.dead:
                known.session.exit = pane.session.exit or known.session.exit
                known.session.dead = True
        for run in before:
            if run in self.by_run and run not in census.panes:
                self.forget(run)
        self._guests = census.guests

    def adopt(self, pane: Pane) -> None:
        """Hand on what the pane printed already, and watch its process."""
        run = pane.session.run
        self.by_run[run] = pane
        self._runs[pane.pane_id] = run
        for data in self._early.pop(pane.pane_id, ()):
            self._hand_on(pane, data)
        if pane.session.dead:
            return
        try:
            descriptor = os.pidfd_open(pane.session.terminal_pid)
        except ProcessLookupError:
            self._background.spawn(self._settle(run))
            return
        self._watches[run] = descriptor
        asyncio.get_running_loop().add_reader(descriptor, self._process_ended, run)

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Sessions are being started, and adopted before this ends. When nobody starts any, output of others is
        nobody's.
        """
        self._starts += 1
        try:
            yield
        finally:
            self._starts -= 1
            if not self._starts:
                self._early.clear()

    def forget(self, run: str) -> None:
        """The pane is gone, or is about to be taken away."""
        pane = self.by_run.pop(run)
        if self._runs.get(pane.pane_id) == run:
            del self._runs[pane.pane_id]
        self.unwatch(run)

    def forget_all(self) -> None:
        """Let go of everything; panes stay as they are."""
        for run in list(self.by_run):
            self.forget(run)

    def begin_anew(self) -> None:
        """The server is gone with all its panes. The next one gives their ids to others."""
        self.forget_all()
        self._early.clear()
        self._guests = {}

    def unwatch(self, run: str) -> None:
        """Report no exit of this run any more."""
        descriptor = self._watches.pop(run, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)

    def guests(self, runs: list[str]) -> list[int]:
        """Processes in terminals that people or agents opened inside the sessions of these runs."""
        sessions = {self.by_run[run].session_id for run in runs if run in self.by_run}
        return [pid for session, pids in self._guests.items() if session in sessions for pid in pids]

    def output(self, pane_id: str, data: bytes) -> None:
        """tmux hands on output of a pane; one that is not known yet is just being started."""
        run = self._runs.get(pane_id)
        if run is None:
            self._early.setdefault(pane_id, []).append(data)
        else:
            self._hand_on(self.by_run[run], data)

    def _hand_on(self, pane: Pane, data: bytes) -> None:
        self._listener.output(pane.session.run, data)
        if pane.calls.heard(data) and (client := self._client()) is not None:
            # Its program has ended, and its shell stays until we say that we have got everything before this.
            self._background.spawn(answer_call(client, pane.pane_id), name="answer a call")

    def output_lost(self, pane_id: str) -> None:
        """tmux skipped output of a pane."""
        run = self._runs.get(pane_id)
        if run is not None:
            self._listener.output_lost(run)

    def resized(self, window_id: str, columns: int, rows: int) -> None:
        """A window has another size, and so have the panes in it that fill it."""
        for pane in self.by_run.values():
            if pane.window_id == window_id:
                self._listener.resized(pane.session.run, columns, rows)

    def make_tmux_reap(self) -> None:
        """Have tmux look for ended children.

        tmux 3.3a misses about every second SIGCHLD that comes together with the end of the terminal, and then never
        reaps the process nor learns its status. Told once more, it looks. Not before it has read the end of the
        terminal: it would drop what it has not read yet.
        """
        server = self._server()
        if server is not None:
            proc.send_signal(server, signal.SIGCHLD)

    def close(self) -> None:
        """Stop watching."""
        self._background.cancel()
        self.forget_all()

    def _process_ended(self, run: str) -> None:
        self.unwatch(run)
        self._background.spawn(self._settle(run))

    async def _settle(self, run: str) -> None:
        """The process is gone; wait for tmux to have read its last output and to know its status."""
        pane = self.by_run.get(run)
        if pane is None:
            return
        loop = asyncio.get_running_loop()
        ended_at = loop.time()
        delay = 0.002
        while (client := self._client()) is not None and not client.closed:
            try:
                (lines,) = await client.ask(["display-message", "-p", "-t", pane.pane_id, FORMAT])
            except CorralError:
                break
            now = parse_pane(lines[0]) if lines else None
            if now is None:
                break  # somebody closed the pane
            pane.session.exit = now.session.exit
            if now.session.dead:
                break
            if now.session.exit is not None and loop.time() - ended_at > LAST_OUTPUT_SECONDS:
                break
            if now.closed or loop.time() - ended_at > LAST_OUTPUT_SECONDS:
                self.make_tmux_reap()
            if loop.time() - ended_at > _STATUS_SECONDS:
                break
            await asyncio.sleep(delay)
            delay = min(delay * 2, 0.1)
        if self.by_run.get(run) is not pane:
            return
        pane.session.dead = True
        pane.session.exit = pane.session.exit or ExitStatus()
        self._listener.exited(pane.session)
