"""The sessions of one team on a private tmux server.

Every agent has a session of its own. A hidden session, the *hub*, links all their windows, and one control client is
attached to it: so a single connection carries the output of every agent, answers every question without a fork, and
tells when the server goes away. See docs/adr/0004-one-control-client.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.ending import wait_gone
from corral.adapters.procfs.programs import await_programs, look_for_programs
from corral.adapters.tmux import arrangement, guests, identity
from corral.adapters.tmux.birth import start_server
from corral.adapters.tmux.control import ANSWER_SECONDS, PAUSE_AFTER, ControlClient, TmuxRefusedError
from corral.adapters.tmux.keyboard import type_into
from corral.adapters.tmux.last_keys import last_key
from corral.adapters.tmux.pane_keyboard import PaneKeyboard
from corral.adapters.tmux.pane_table import LAST_OUTPUT_SECONDS, PaneTable
from corral.adapters.tmux.panes import Census, Pane, new_pane
from corral.adapters.tmux.probe import answer
from corral.adapters.tmux.ringing import ring_clients
from corral.adapters.tmux.screens import read_picture, read_screen, read_screens
from corral.background import Background
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError
from corral.domain.messages import neutralised
from corral.ports.runs import ExitStatus
from corral.ports.runtime import RuntimeListener, Screen, Session, SessionOrder, View
from corral.ports.sessions import GuestTerminal, Picture, SeatOrder

log = logging.getLogger("corral.keeper")

_SERVER_EXIT_SECONDS = 3.0
#: Starting many sessions takes the server a while; more agents get more time.
_START_SECONDS, _START_SECONDS_EACH = 10.0, 0.1


class TmuxRuntime:
    """The tmux server of one team. All methods run in one event loop."""

    def __init__(
        self,
        *,
        team: str,
        socket_path: str,
        scratch_dir: str,
        markers: list[bytes],
        listener: RuntimeListener,
        tmux: str = "tmux",
    ) -> None:
        self._team = team
        self._socket_path = socket_path
        self._scratch_dir = scratch_dir
        self._markers = markers
        self._listener = listener
        self._tmux = tmux
        self._client: ControlClient | None = None
        self._server: proc.Process | None = None
        self._table = PaneTable(listener, lambda: self._client, lambda: self._server)
        self._panes = self._table.by_run
        self._left_alone = False
        #: Its server was just started by us: nothing can be there yet.
        self._is_new = False
        #: Every server of the team was seen to end, and nobody but us starts one.
        self._none_is_left = False
        self._opening = asyncio.Lock()
        self._rehousing = asyncio.Lock()
        self._opening_guest = asyncio.Lock()
        self._background = Background()

    # Looking

    async def view(self) -> View:
        """See `Runtime.view`."""
        try:
            client = await self._connect(create=False)
            if client is None:
                return await self._view_of_absent_server()
            await self._refresh(client)
        except UnavailableError as error:
            return View(presence="unknown", why=error.message)
        except (TmuxRefusedError, RefusedError) as error:
            return View(presence="unknown", why=error.message)
        return View(
            presence="present",
            server_pid=self._server.pid if self._server else None,
            sessions=tuple(pane.session for pane in self._panes.values()),
        )

    async def _view_of_absent_server(self) -> View:
        hidden = identity.hidden_servers(self._markers)
        if hidden:
            pids = ", ".join(str(process.pid) for process in hidden)
            return View(
                presence="unknown",
                server_pid=hidden[0].pid,
                why=f"a tmux server of this team is alive (pid {pids}) but cannot be reached at {self._socket_path}",
            )
        return View(presence="absent")

    async def _refresh(self, client: ControlClient) -> None:
        """Learn which panes there are, also those an earlier keeper started, and have all of them recorded."""
        before = frozenset(self._panes)
        census = await arrangement.census(client)
        if census.homeless:
            census = await self._rehouse(client)
        self._table.take(census, before)
        if census.unlinked:
            await client.try_many([[arrangement.link(window)] for window in census.unlinked])
        await look_for_programs([pane.session for pane in self._panes.values()])

    async def _rehouse(self, client: ControlClient) -> Census:
        """Give panes whose session was killed one again, by the same name. Their programs do not notice."""
        async with self._rehousing:  # two who do it at once would link a window twice
            homeless = (await arrangement.census(client)).homeless
            outcomes = await client.try_many([arrangement.new_home(pane) for pane in homeless])
            refused = [
                pane for pane, outcome in zip(homeless, outcomes, strict=True) if isinstance(outcome, TmuxRefusedError)
            ]
            # Somebody has taken the name meanwhile: then that session shows the agent as well.
            shown = [["link-window", "-s", pane.window_id, "-t", f"={pane.session.agent}:"] for pane in refused]
            await client.try_many([[link] for link in shown])
            return await arrangement.census(client)

    # Starting

    @property
    def server_pid(self) -> int | None:
        """See `Runtime.server_pid`."""
        return self._server.pid if self._server is not None else None

    async def prepare(self, *, left_alone: bool) -> None:
        """See `Runtime.prepare`."""
        self._left_alone = left_alone
        await self._connect(create=True)

    async def start(self, orders: Iterable[SessionOrder]) -> list[Session | str]:
        """See `Runtime.start`."""
        client = await self._connect(create=True)
        assert client is not None
        if not self._is_new:
            orders = list(orders)
            await self._make_room(client, [order.agent for order in orders if order.run not in self._panes])
        with self._table.starting():
            results = await self._start(client, orders)
        self._is_new = False
        return results

    async def _start(self, client: ControlClient, orders: Iterable[SessionOrder]) -> list[Session | str]:
        wanted: list[SessionOrder] = []
        new: list[str] = []

        def groups() -> Iterator[list[list[str]]]:
            for order in orders:
                wanted.append(order)
                if order.run not in self._panes:
                    new.append(order.run)
                    yield arrangement.new_session(order)

        outcomes = dict(zip(new, await client.try_in_waves(groups(), _START_SECONDS, _START_SECONDS_EACH), strict=True))
        results: list[Session | str] = []
        for order in wanted:
            outcome = outcomes.get(order.run)
            if isinstance(outcome, TmuxRefusedError):
                results.append(f"tmux: {outcome.message}")
                continue
            if outcome is not None:
                pane = new_pane(outcome[0][0], order.agent, order.run)
                if pane is None:
                    results.append(f"tmux gave an answer that cannot be read: {outcome[0]}")
                    continue
                self._table.adopt(pane)
            results.append(self._panes[order.run].session)
        return results

    async def find_programs(self, sessions: Sequence[Session]) -> None:
        """See `Runtime.find_programs`."""
        await await_programs(sessions)

    async def _make_room(self, client: ControlClient, agents: Sequence[str]) -> None:
        """Take away sessions that hold the name of an agent and none of its runs: a person or an agent made them."""
        (lines,) = await client.ask(["list-sessions", "-F", "#{session_id} #{session_name}"])
        ours = {pane.session_id for pane in self._panes.values()}
        held = {name: session for session, _, name in (line.partition(" ") for line in lines)}
        stale = [held[agent] for agent in agents if agent in held and held[agent] not in ours]
        if stale:
            await client.try_many([[["kill-session", "-t", session]] for session in stale])

    # Words in, screen out

    async def send(self, run: str, text: str, *, enter: bool, pause: float, last: bool = False) -> None:  # noqa: ARG002
        """See `Runtime.send`. One message at a time for each session; a terminal has no end that it could come to."""
        client, pane = await self._find(run)
        ended = CorralError(f"{pane.session.agent} has ended; nobody reads its terminal", "corral restart it first")
        if pane.session.dead:
            raise ended
        async with pane.typing:
            text = neutralised(text)
            try:
                await type_into(client, pane.pane_id, text, scratch_dir=self._scratch_dir, enter=enter, pause=pause)
            except TmuxRefusedError as refusal:
                raise ended from refusal

    def keyboard(self, run: str) -> PaneKeyboard:
        """See `Runtime.keyboard`."""
        return PaneKeyboard(lambda: self._find(run), self._scratch_dir)

    async def screen(self, run: str, history: int = 0) -> list[str]:
        """See `Runtime.screen`."""
        client, pane = await self._find(run)
        lines = await read_screen(client, pane.pane_id, history, scratch_dir=self._scratch_dir)
        while lines and not lines[-1].strip():
            lines.pop()
        return lines

    async def ring(self, text: str) -> int:
        """See `Runtime.ring`."""
        client = await self._connect(create=False)
        return 0 if client is None else await ring_clients(client, text)

    async def last_key(self) -> float | None:
        """See `Runtime.last_key`."""
        client = await self._connect(create=False)
        return None if client is None else await last_key(client)

    async def screens(self, runs: Sequence[str]) -> dict[str, Screen]:
        """See `Runtime.screens`."""
        client = await self._connect(create=False)
        panes = {self._panes[run].pane_id: run for run in runs if run in self._panes}
        if client is None or not panes:
            return {}
        shown = await read_screens(client, list(panes), scratch_dir=self._scratch_dir)
        return {panes[pane_id]: screen for pane_id, screen in shown.items()}

    async def attach_command(self, run: str, *, read_only: bool) -> list[str]:
        """See `Runtime.attach_command`. Looks first: somebody may have killed the session that is to be joined."""
        client, _ = await self._find(run)
        await self._refresh(client)
        _, pane = await self._find(run)
        if not pane.session_id:
            raise CorralError("tmux has no session for the agent, and gave it none", "corral restart starts it again")
        flags = ["-r"] if read_only else []
        return [self._tmux, "-u", "-N", "-S", self._socket_path, "attach-session", *flags, "-t", pane.session_id]

    async def open_guest(
        self,
        run: str,
        seat: SeatOrder,
        *,
        read_only: bool,
        on_output: Callable[[bytes], None],
        on_closed: Callable[[], None],
    ) -> GuestTerminal:
        """See `GuestTerminals.open_guest`."""
        client, pane = await self._find(run)
        async with self._opening_guest:  # two who come at once must not both make the session that they share
            return await guests.open_guest(
                client, pane, seat, [self._tmux, "-u", "-N", "-S", self._socket_path],
                identity.clean_environment([]), self._background,
                team=self._team, read_only=read_only, on_output=on_output, on_closed=on_closed,
            )  # fmt: skip

    async def show_company(self, run: str, line: str) -> None:
        """See `GuestTerminals.show_company`."""
        client, pane = await self._find(run)
        await guests.show_company(client, pane, line)

    async def picture(self, run: str) -> Picture:
        """See `Pictures.picture`."""
        client, pane = await self._find(run)
        try:
            return await read_picture(client, pane.pane_id, scratch_dir=self._scratch_dir)
        except TmuxRefusedError as refusal:
            raise NotFoundError("the agent has no terminal any more", "corral ps tells why") from refusal

    # Ending

    async def calm(self, runs: Sequence[str]) -> None:
        """See `Runtime.calm`."""
        client = await self._connect(create=False)
        panes = [self._panes[run] for run in runs if run in self._panes]
        if client is not None and panes:
            await client.try_many(arrangement.calming(panes))

    def unwatch(self, runs: Sequence[str]) -> None:
        """See `Runtime.unwatch`."""
        for run in runs:
            self._table.unwatch(run)

    async def exits(self, runs: Sequence[str]) -> dict[str, ExitStatus]:
        """See `Runtime.exits`."""
        deadline = asyncio.get_running_loop().time() + LAST_OUTPUT_SECONDS
        delay = 0.002
        while True:
            self._table.make_tmux_reap()
            view = await self.view()
            wanted = set(runs)
            found = {session.run: session.exit for session in view.sessions if session.exit and session.run in wanted}
            missing = [session for session in view.sessions if session.run in wanted and session.run not in found]
            if not missing or asyncio.get_running_loop().time() > deadline:
                return found
            await asyncio.sleep(delay)
            delay *= 2

    def guests(self, runs: Sequence[str]) -> list[int]:
        """See `Runtime.guests`."""
        return self._table.guests(list(runs))

    async def remove(self, runs: Sequence[str]) -> None:
        """See `Runtime.remove`. The session goes with all its windows, then the window that the hub shows."""
        panes = [self._panes[run] for run in runs if run in self._panes]
        for pane in panes:
            self._table.forget(pane.session.run)
        if panes and self._client is not None and not self._client.closed:
            # Refused means that it is gone already, which is what was wanted.
            await self._client.try_many([*arrangement.calming(panes), *arrangement.taking_away(panes)])

    async def end_server(self, *, answers: bool) -> None:
        """See `Runtime.end_server`. tmux is asked; a server that does not go is ended by its proved pid."""
        try:
            client = await self._connect(create=False) if answers else None
        except CorralError:
            client = None
        if client is None and self._client is not None:
            self._client.close()
        servers = identity.hidden_servers(self._markers)
        if client is not None:
            try:
                await client.try_many(
                    [*arrangement.calming(self._panes.values()), [["kill-server"]]], seconds=_SERVER_EXIT_SECONDS
                )
            except CorralError:
                client.close()  # closed under the answer, as it should, or silent: the pid tells
        self._table.forget_all()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                for server in servers:
                    proc.send_signal(server, number)
                    proc.send_signal(server, signal.SIGCONT)
            if await wait_gone(servers, _SERVER_EXIT_SECONDS if client or number else 0.01):
                self._none_is_left = True
                break
        self._server = None

    def close(self) -> None:
        """See `Runtime.close`."""
        self._background.cancel()
        self._table.close()
        if self._client is not None:
            self._client.close()

    # The connection

    async def _connect(self, *, create: bool) -> ControlClient | None:
        """The connection, opened if need be. None if there is no server and none may be started."""
        async with self._opening:
            if self._client is not None and not self._client.closed:
                return self._client
            presence, server = identity.server_behind(self._socket_path)
            if presence == "unknown":
                raise UnavailableError(
                    f"the tmux server at {self._socket_path} does not take connections",
                    "it may be stopped or overloaded: try again",
                )
            if presence == "absent":
                if not create:
                    return None
                self._refuse_beside_hidden_server()
                self._table.begin_anew()
            elif server is None or not proc.marked([server], self._markers):
                raise RefusedError(
                    f"the tmux server at {self._socket_path} is not of this instance",
                    "was CORRAL_HOME lost? take that server down by hand, or choose another CORRAL_RUNTIME_DIR",
                )
            self._is_new = presence == "absent"
            client = self._client = await self._open(new=self._is_new)
            _, self._server = identity.server_behind(self._socket_path)
            # Nobody does anything before it is known what is there: they would start it a second time.
            try:
                if not self._is_new:
                    await self._refresh(client)
            except BaseException:
                client.close()  # whoever comes next begins anew
                raise
            return client

    def _refuse_beside_hidden_server(self) -> None:
        hidden = [] if self._none_is_left else identity.hidden_servers(self._markers)
        if hidden:
            raise UnavailableError(
                f"a tmux server of this team is alive (pid {hidden[0].pid}), but its socket {self._socket_path} "
                "is gone; a second one beside it would hide it for good",
                f"kill -USR1 {hidden[0].pid} makes it create its socket again",
            )

    async def _open(self, *, new: bool) -> ControlClient:
        conf = str(files("corral.adapters.tmux") / "server.conf")
        base = [self._tmux, "-u", "-S", self._socket_path, "-f", conf]
        environment = identity.clean_environment(self._markers)
        if not self._left_alone:
            # A tmux with systemd support makes a scope for every pane. Without a bus it cannot.
            for name in identity.BUS_VARIABLES:
                environment.pop(name, None)
        if new:
            self._none_is_left = False
            await start_server([*base, "-D"], self._socket_path, environment)
            argv = [*base, "-N", "-C", *arrangement.NEW_HUB, *identity.NOTHING]
        else:
            has_hub = [*base, "-N", "has-session", "-t", f"={arrangement.HUB}"]
            if await answer(has_hub, environment, ANSWER_SECONDS) != 0:
                # Somebody ended it. Everything else is where it was.
                await answer([*base, "-N", *arrangement.NEW_HUB, "-d", *identity.NOTHING], environment, ANSWER_SECONDS)
            argv = [*base, "-C", "-N", "attach-session", "-t", f"={arrangement.HUB}"]
        client = await ControlClient.open(
            argv, environment, self._table.output, self._paused, self._closed, self._answers_again, self._table.resized
        )
        await client.ask(
            ["refresh-client", "-f", f"pause-after={PAUSE_AFTER}"],
            ["set-option", "-g", "status-left", f"#[bold] {self._team}/#{{session_name}} #[default]"],
            # For windows that a person opens: the server's own environment is not what its panes get.
            *(
                ["set-environment", "-g", name, os.environ[name]]
                for name in identity.BUS_VARIABLES
                if name in os.environ
            ),
        )
        return client

    async def _find(self, run: str) -> tuple[ControlClient, Pane]:
        client = await self._connect(create=False)
        pane = self._panes.get(run)
        if client is None or pane is None:
            raise NotFoundError("the agent has no terminal", "corral restart starts it again")
        return client, pane

    # What tmux tells by itself

    def _paused(self, pane_id: str) -> None:
        self._table.output_lost(pane_id)
        if self._client is not None:
            self._background.spawn(self._resume(self._client, pane_id))

    async def _resume(self, client: ControlClient, pane_id: str) -> None:
        (outcome,) = await client.try_many([[["refresh-client", "-A", f"{pane_id}:continue"]]])
        if isinstance(outcome, TmuxRefusedError):
            log.error("tmux does not go on with the output of pane %s: %s", pane_id, outcome.message)

    def _closed(self, why: str) -> None:
        self._listener.server_changed(why)

    def _answers_again(self) -> None:
        self._listener.server_changed("it answers again")
