"""Those who share a terminal, in the keeper: whose keys reach it, what each sees, and that nothing is left open."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from corral.domain.errors import CorralError, RefusedError, WrongUseError
from corral.domain.session_modes import DRIVE, END, MODERATE, MUTE, OBSERVE
from corral.domain.shared_sessions import Company
from corral.keeper import sessions
from corral.keeper.outlets import MOST_WAITING, Outlet
from corral.keeper.sessions import TeamSessions
from corral.ports.sessions import SeatOrder, SessionOver

RUN = "abcdefabcdef"


class Terminal:
    """A terminal that writes down what is done to it."""

    def __init__(self, order: SeatOrder, read_only: bool, paint: Callable[[bytes], None], gone: Callable[[], None]):
        self.order, self.read_only, self.paint, self.gone = order, read_only, paint, gone
        self.keys, self.sizes, self.redraws, self.held, self.closed = (
            b"",
            [(order.columns, order.rows)],
            0,
            False,
            False,
        )

    def write(self, data: bytes) -> None:
        self.keys += data

    def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))

    def redraw(self) -> None:
        self.redraws += 1
        self.paint(b"<all>")

    def hold(self, *, held: bool) -> None:
        self.held = held

    def close(self) -> None:
        self.closed = True


class Terminals:
    """Where they are opened."""

    def __init__(self) -> None:
        self.opened: list[Terminal] = []
        self.lines: list[str] = []
        self.refuses: CorralError | None = None
        #: Set when one is being opened; it is opened once the other is, if there is one.
        self.opening = asyncio.Event()
        self.before_opening: asyncio.Event | None = None

    async def open_guest(
        self,
        run: str,
        seat: SeatOrder,
        *,
        read_only: bool,
        on_output: Callable[[bytes], None],
        on_closed: Callable[[], None],
    ) -> Terminal:
        await asyncio.sleep(0)
        self.opening.set()
        if self.before_opening is not None:
            await self.before_opening.wait()
        if self.refuses:
            raise self.refuses
        self.opened.append(Terminal(seat, read_only, on_output, on_closed))
        return self.opened[-1]

    async def show_company(self, run: str, line: str) -> None:
        self.lines.append(line)

    @property
    def still_open(self) -> list[Terminal]:
        return [terminal for terminal in self.opened if not terminal.closed]


class Scene:
    def __init__(self) -> None:
        self.terminals = Terminals()
        self.changes: list[tuple[Company, Company]] = []
        self.sessions = TeamSessions(
            "shop", self.terminals, self._agent, lambda _, before, now: self.changes.append((before, now))
        )

        #: What it waits for to know whose a run is.
        self.looking: asyncio.Event | None = None

    async def _agent(self, run: str) -> str:
        if self.looking is not None:
            await self.looking.wait()
        return "a"

    async def join(self, name: str, mode: str, size: tuple[int, int] = (80, 24)) -> "asyncio.Task[SessionOver]":
        order = SeatOrder(id=f"seat{name}", name=name, mode=mode, columns=size[0], rows=size[1], term="xterm")
        task = asyncio.ensure_future(self.sessions.attend(RUN, order))
        for _ in range(10):
            await asyncio.sleep(0)
        return task

    async def shown(self, name: str) -> bytes:
        async with asyncio.timeout(5):
            return (await self.sessions.read(RUN, f"seat{name}")).data


def run(test: Callable[[Scene], Awaitable[None]]) -> None:
    async def body() -> None:
        scene = Scene()
        try:
            await test(scene)
        finally:
            scene.sessions.close()
            await asyncio.sleep(0)
        assert not scene.terminals.still_open

    asyncio.run(body())


def test_keys_of_a_driver_arrive_and_those_of_an_observer_never_do() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", DRIVE)
        await scene.join("ben", OBSERVE)
        assert scene.sessions.type(RUN, "seatann", b"yes").refused == ""
        assert scene.sessions.type(RUN, "seatben", b"no").refused == "you only watch"
        assert scene.sessions.type(RUN, "seatzoe", b"no").refused
        assert scene.sessions.type("another-run", "seatann", b"no").refused
        assert [(terminal.read_only, terminal.keys) for terminal in scene.terminals.opened] == [
            (False, b"yes"), (True, b"")
        ]  # fmt: skip

    run(test)


def test_watchers_of_one_size_share_a_terminal_and_see_the_same() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", OBSERVE)
        await scene.join("ben", OBSERVE)
        await scene.join("cleo", OBSERVE, (100, 30))
        assert [terminal.order.columns for terminal in scene.terminals.opened] == [80, 100]
        later = b""
        while b"<all>" not in later:
            later += await scene.shown("ben")
        assert later.startswith(b"\x1b[?1049h"), "who comes later is given a whole picture"
        assert await scene.shown("ann") == b"<all>"
        scene.terminals.opened[0].paint(b"hel")
        scene.terminals.opened[0].paint(b"lo")
        assert (await scene.shown("ann"), await scene.shown("ben")) == (b"hello", b"hello")
        assert scene.terminals.opened[0].redraws == 1

    run(test)


def test_a_watcher_that_takes_nothing_holds_up_nobody_and_sees_all_again_later() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", OBSERVE)
        await scene.join("slow", OBSERVE)
        terminal = scene.terminals.opened[0]
        seen = 0
        for _ in range(40):
            terminal.paint(b"x" * (MOST_WAITING // 4))
            seen += len(await scene.shown("ann"))
        assert seen >= 10 * MOST_WAITING
        caught_up = b""
        while b"<all>" not in caught_up:
            caught_up += await scene.shown("slow")
        assert len(caught_up) < MOST_WAITING, "what was missed is not kept"

    run(test)


def test_a_driver_that_takes_nothing_has_its_own_terminal_held_and_loses_nothing_of_what_was_read() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", DRIVE)
        terminal = scene.terminals.opened[0]
        terminal.paint(b"x" * (MOST_WAITING + 1))
        assert terminal.held
        assert len(await scene.shown("ann")) == MOST_WAITING + 1
        assert not terminal.held

    run(test)


def test_a_watcher_whose_terminal_has_another_size_goes_on_with_another_picture() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", OBSERVE)
        reading = asyncio.ensure_future(scene.shown("ann"))
        await asyncio.sleep(0)
        await scene.sessions.resize(RUN, "seatann", 120, 40)
        assert [terminal.closed for terminal in scene.terminals.opened] == [True, False]
        scene.terminals.opened[1].paint(b"larger")
        assert await reading == b"larger"

    run(test)


def test_who_leaves_while_a_picture_of_another_size_is_opened_leaves_no_terminal() -> None:
    async def test(scene: Scene) -> None:
        ann = await scene.join("ann", OBSERVE)
        scene.terminals.opening.clear()
        scene.terminals.before_opening = asyncio.Event()
        resizing = asyncio.ensure_future(scene.sessions.resize(RUN, "seatann", 120, 40))
        await scene.terminals.opening.wait()
        scene.sessions.leave(RUN, "seatann")
        assert (await ann).why == "left"
        scene.terminals.before_opening.set()
        await resizing
        assert len(scene.terminals.opened) == 2
        assert not scene.terminals.still_open

    run(test)


def test_a_watcher_that_changes_its_size_all_the_time_is_not_given_a_terminal_each_time() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", OBSERVE)
        began = asyncio.get_running_loop().time()
        for columns in range(100, 104):
            await scene.sessions.resize(RUN, "seatann", columns, 40)
        took = asyncio.get_running_loop().time() - began
        assert len(scene.terminals.opened) - 2 <= took / sessions._MOVE_SECONDS
        assert [terminal.order.columns for terminal in scene.terminals.still_open] == [103]

    run(test)


def test_who_leaves_while_a_moderator_ends_it_all_harms_nobody() -> None:
    async def test(scene: Scene) -> None:
        ann, ben = await scene.join("ann", DRIVE), await scene.join("ben", OBSERVE)
        scene.looking = asyncio.Event()
        ending = asyncio.ensure_future(scene.sessions.steer(RUN, action=END, person="", by="cleo"))
        await asyncio.sleep(0)
        scene.sessions.leave(RUN, "seatann")
        assert (await ann).why == "left"
        scene.looking.set()
        assert len((await ending).seats) == 2
        assert (await ben).why == "cleo ended the session"

    run(test)


def test_whoever_leaves_is_told_of_and_leaves_no_terminal() -> None:
    async def test(scene: Scene) -> None:
        ann, ben = await scene.join("ann", DRIVE), await scene.join("ben", OBSERVE)
        scene.sessions.leave(RUN, "seatann")
        assert (await ann).why == "left"
        assert [terminal.order.name for terminal in scene.terminals.still_open] == ["ben"]
        ben.cancel()  # the daemon is gone
        await asyncio.wait({ben})
        assert not scene.terminals.still_open
        assert [len(now.seats) for _, now in scene.changes] == [1, 2, 1, 0]
        assert await scene.sessions.listed() == []

    run(test)


def test_the_line_in_the_status_bar_follows() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", DRIVE)
        scene.sessions.leave(RUN, "seatann")
        for _ in range(10):
            await asyncio.sleep(0)
        assert scene.terminals.lines == ["ann drives", ""]

    run(test)


def test_a_moderator_mutes_and_ends() -> None:
    async def test(scene: Scene) -> None:
        await scene.join("ann", MODERATE)
        ben = await scene.join("ben", DRIVE)
        shown = await scene.sessions.steer(RUN, action=MUTE, person="ben", by="ann")
        assert [seat.muted for seat in shown.seats] == [False, True]
        assert "muted" in scene.sessions.type(RUN, "seatben", b"no").refused
        await scene.sessions.steer(RUN, action=END, person="ben", by="ann")
        assert (await ben).why == "ann ended the session"

    run(test)


def test_a_terminal_that_goes_ends_all_who_are_at_it() -> None:
    async def test(scene: Scene) -> None:
        tasks = [await scene.join("ann", DRIVE), await scene.join("ben", OBSERVE)]
        for terminal in scene.terminals.opened:
            terminal.close()
            terminal.gone()
        assert {(await task).why for task in tasks} == {"its terminal is gone"}
        assert await scene.shown("ann") == b""

    run(test)


def test_who_cannot_be_shown_a_terminal_is_told_why_and_has_no_seat() -> None:
    async def test(scene: Scene) -> None:
        scene.terminals.refuses = RefusedError("no terminal", "none")
        for mode in (DRIVE, OBSERVE):
            task = await scene.join("ann", mode)
            with pytest.raises(RefusedError):
                await task
        assert await scene.sessions.listed() == []

    run(test)


@pytest.mark.parametrize(("seat", "mode"), [("UPPER", DRIVE), ("x", DRIVE), ("fine1", "own")])
def test_what_is_no_seat_is_refused(seat: str, mode: str) -> None:
    async def test(scene: Scene) -> None:
        with pytest.raises(WrongUseError):
            await scene.sessions.attend(RUN, SeatOrder(id=seat, name="n", mode=mode, columns=80, rows=24))

    run(test)


def test_an_outlet_ends_with_what_waited() -> None:
    async def body() -> None:
        outlet = Outlet(lambda: None, lambda: None, drops=False)
        outlet.add(b"last")
        outlet.close()
        outlet.add(b"too late")
        assert (await outlet.take(), await outlet.take()) == (b"last", b"")

    asyncio.run(body())
