"""Sessions without a terminal: what is handed on, when, and from where on, whatever happens in between."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import pytest

from corral.adapters.files.launch import LaunchFiles
from corral.adapters.subprocess.runtime import ProcessRuntime
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError
from corral.ports.processes import ProcessOrder
from corral.ports.runs import ExitStatus
from corral.ports.runtime import Session, SessionOrder
from tests.support.scripted_processes import ScriptedProcesses

RUN = "0123456789ab"
PROCESS = f"run-{RUN}"
ORDER = SessionOrder(agent="api", run=RUN, launch_file="/launch/api")


class Listener:
    """Takes everything, and remembers how far it got."""

    def __init__(self, recorded: int = 0) -> None:
        self.heard: list[bytes | str] = []
        self.position = recorded
        self.exits: list[ExitStatus | None] = []
        self.told = asyncio.Event()

    def output(self, run: str, data: bytes, end: int | None = None) -> None:
        assert run == RUN
        assert end is not None
        self.heard.append(data)
        self.position = end
        self.told.set()

    def recorded(self, agent: str, run: str) -> int:
        assert (agent, run) == ("api", RUN)
        return self.position

    def output_lost(self, run: str) -> None:
        self.heard.append("lost")

    def resized(self, run: str, columns: int, rows: int) -> None:
        """Nobody here wants to know."""

    def exited(self, session: Session) -> None:
        self.exits.append(session.exit)
        self.heard.append("exited")
        self.told.set()

    def server_changed(self, why: str) -> None:
        raise AssertionError(why)


def runtime_of(processes: ScriptedProcesses, listener: Listener) -> ProcessRuntime:
    launches = LaunchFiles("/nowhere", "/nowhere")
    return ProcessRuntime(
        team="shop", processes=processes, launches=launches, environment={"TERM": "dumb"}, listener=listener
    )


async def quiet() -> None:
    """Let everything happen that can."""
    for _ in range(20):
        await asyncio.sleep(0)


Scenario = Callable[[ScriptedProcesses, Listener, ProcessRuntime], Awaitable[None]]


def play(scenario: Scenario, order: SessionOrder = ORDER) -> None:
    """With one session that was started."""

    async def run() -> None:
        processes, listener = ScriptedProcesses(), Listener()
        runtime = runtime_of(processes, listener)
        (session,) = await runtime.start([order])
        assert isinstance(session, Session)
        assert (session.agent, session.run, session.dead, session.terminal) == ("api", RUN, False, False)
        await scenario(processes, listener, runtime)
        runtime.close()

    asyncio.run(run())


def test_it_is_a_shell_with_its_launch_file_and_nothing_of_it_is_in_the_order() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        order = processes.orders[PROCESS]
        assert (order.argv, order.agent, order.stdin, order.tty) == (["/bin/sh", "/launch/api"], "api", True, False)

    play(scenario)


def test_all_that_was_written_comes_before_the_end_and_each_byte_once() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.writes(PROCESS, b"one\n")
        await quiet()
        await processes.writes(PROCESS, b"last ")
        await processes.writes(PROCESS, b"words\n")
        await processes.ends(PROCESS, ExitStatus(code=3))
        await quiet()
        assert listener.heard == [b"one\n", b"last words\n", "exited"]
        assert listener.exits == [ExitStatus(code=3)]

    play(scenario)


@pytest.mark.parametrize(
    ("of_shell", "of_program"),
    [
        (ExitStatus(code=0), ExitStatus(code=0)),
        (ExitStatus(code=137), ExitStatus(signal=9)),
        (ExitStatus(signal=9), ExitStatus(signal=9)),
        (ExitStatus(code=255), ExitStatus(code=255)),
        (ExitStatus(), ExitStatus()),
    ],
)
def test_the_shell_tells_how_its_program_ended(of_shell: ExitStatus, of_program: ExitStatus) -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.ends(PROCESS, of_shell)
        await quiet()
        assert listener.exits == [of_program]

    play(scenario)


def test_what_others_write_who_outlive_it_is_handed_on_too() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.ends(PROCESS, ExitStatus(code=0), closed=False)
        await quiet()
        await processes.writes(PROCESS, b"late\n")
        await quiet()
        await processes.closes(PROCESS)
        await quiet()
        assert listener.heard == ["exited", b"late\n"]

    play(scenario)


def test_the_end_of_one_that_had_ended_when_its_start_was_answered_is_told_though_others_live_on() -> None:
    async def run() -> None:
        processes, listener = ScriptedProcesses(), Listener()
        order = ProcessOrder(process=PROCESS, agent="api", argv=["sh"], command="api", directory="/")
        await processes.start(order, {}, "")  # the host has begun with it
        await processes.writes(PROCESS, b"early\n")
        await processes.ends(PROCESS, ExitStatus(code=4), closed=False)
        runtime = runtime_of(processes, listener)
        await runtime.start([ORDER])
        await quiet()
        assert listener.heard == [b"early\n", "exited"]
        assert listener.exits == [ExitStatus(code=4)]
        await processes.writes(PROCESS, b"late\n")
        await quiet()
        assert listener.heard == [b"early\n", "exited", b"late\n"]
        runtime.close()

    asyncio.run(run())


def test_more_than_a_page_comes_whole_and_in_order() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        much = b"".join(b"%09d\n" % number for number in range(100_000))
        await processes.writes(PROCESS, much)
        await processes.ends(PROCESS, ExitStatus(code=0))
        await quiet()
        assert listener.heard[-1] == "exited"
        assert b"".join(piece for piece in listener.heard if isinstance(piece, bytes)) == much

    play(scenario)


def test_what_was_not_kept_is_told_in_its_place() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.writes(PROCESS, b"0123")
        await quiet()
        processes.keeps_only(PROCESS, 6)
        await processes.writes(PROCESS, b"456789")
        await quiet()
        assert listener.heard == [b"0123", "lost", b"6789"]
        assert listener.position == 10

    play(scenario)


def test_the_next_keeper_goes_on_where_the_record_ends() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.writes(PROCESS, b"0123")
        await quiet()
        runtime.close()
        await processes.writes(PROCESS, b"4567")
        following = Listener(recorded=3)  # the last byte did not make it to the disk
        again = runtime_of(processes, following)
        view = await again.view()
        assert [session.run for session in view.sessions] == [RUN]
        await quiet()
        await processes.writes(PROCESS, b"89")
        await processes.ends(PROCESS, ExitStatus(code=0))
        await quiet()
        assert following.heard == [b"34567", b"89", "exited"]
        again.close()

    play(scenario)


def test_one_that_ended_while_nobody_looked_is_seen_dead_with_its_last_words_handed_on() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        runtime.close()
        await processes.writes(PROCESS, b"bye\n")
        await processes.ends(PROCESS, ExitStatus(code=1))
        following = Listener()
        again = runtime_of(processes, following)
        (session,) = (await again.view()).sessions
        assert (session.dead, session.exit) == (True, ExitStatus(code=1))
        assert following.heard == [b"bye\n"]
        await quiet()
        assert following.exits == []  # whoever looked has seen it
        again.close()

    play(scenario)


def test_a_run_that_is_there_is_not_started_twice() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        (first,) = (await runtime.view()).sessions
        assert await runtime.start([ORDER]) == [first]
        (again,) = await runtime_of(processes, listener).start([ORDER])
        assert isinstance(again, Session)
        assert again.terminal_pid == first.terminal_pid

    play(scenario)


def test_the_end_of_one_that_is_unwatched_is_not_told_and_can_be_asked_for() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        runtime.unwatch([RUN])
        await processes.writes(PROCESS, b"bye\n")
        await processes.ends(PROCESS, ExitStatus(code=143))
        assert await runtime.exits([RUN, "ffffffffffff"]) == {RUN: ExitStatus(signal=15)}
        await quiet()
        assert listener.heard == [b"bye\n"]

    play(scenario)


def test_one_that_does_not_end_is_left_out_of_the_exits() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        assert await runtime.exits([RUN]) == {}

    play(scenario)


def test_what_is_removed_is_forgotten_after_its_last_words() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.writes(PROCESS, b"bye\n")
        await processes.ends(PROCESS, ExitStatus(code=0))
        await runtime.remove([RUN])
        assert listener.heard == [b"bye\n"]
        assert (await runtime.view()).sessions == ()
        assert await processes.table() == []
        with pytest.raises(NotFoundError):
            await runtime.screen(RUN)

    play(scenario)


@pytest.mark.parametrize(
    ("text", "enter", "last", "said"),
    [
        ("hello", True, False, (b"hello\n", False)),
        ("hello\n", True, False, (b"hello\n", False)),
        ("hello", False, False, (b"hello", False)),
        ("né\x1b[A\n\n", True, True, ("né\x1b[A\n\n".encode(), True)),
    ],
)
def test_words_go_to_standard_input_as_they_are(text: str, enter: bool, last: bool, said: tuple[bytes, bool]) -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await runtime.send(RUN, text, enter=enter, pause=0, last=last)
        assert processes.said[PROCESS] == [said]

    play(scenario)


def test_nothing_can_be_said_to_one_whose_input_is_at_its_end() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        with pytest.raises(RefusedError, match="its standard input is at its end"):
            await runtime.send(RUN, "hello", enter=True, pause=0)

    play(scenario, SessionOrder(agent="api", run=RUN, launch_file="/launch/api", stdin=False))


def test_nothing_can_be_said_to_one_that_has_ended() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.ends(PROCESS, ExitStatus(code=0))
        await quiet()
        with pytest.raises(CorralError, match="api has ended"):
            await runtime.send(RUN, "hello", enter=True, pause=0)

    play(scenario)


def test_its_screen_is_the_end_of_its_output_as_text() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        await processes.writes(PROCESS, b"".join(b"%d\n" % number for number in range(100_000)))
        await processes.writes(PROCESS, b"10%\r100%\n\x1b[31mred\x1b[0m, unfinished")
        lines = await runtime.screen(RUN)
        assert len(lines) == 50
        assert lines[-3:] == ["99999", "100%", "red, unfinished"]
        assert (await runtime.screen(RUN, history=100))[0] == "99852"

    play(scenario)


def test_to_attach_is_to_follow_its_output() -> None:
    async def scenario(processes: ScriptedProcesses, listener: Listener, runtime: ProcessRuntime) -> None:
        argv = await runtime.attach_command(RUN, read_only=False)
        assert argv[0] == sys.executable
        assert argv[-5:] == ["logs", "--follow", "--team", "shop", "api"]

    play(scenario)


def test_what_cannot_be_started_says_why_and_harms_no_other() -> None:
    async def run() -> None:
        processes, listener = ScriptedProcesses(), Listener()
        other = SessionOrder(agent="other", run="ffffffffffff", launch_file="/launch/other")
        processes.refused["run-ffffffffffff"] = CorralError("the host is full")
        runtime = runtime_of(processes, listener)
        session, problem = await runtime.start([ORDER, other])
        assert isinstance(session, Session)
        assert problem == "the host is full"
        processes.refused["run-ffffffffffff"] = UnavailableError("the host is silent")
        with pytest.raises(UnavailableError):
            await runtime.start([other])
        runtime.close()

    asyncio.run(run())


def test_there_is_nothing_until_something_is_started_and_nobody_knows_while_the_host_is_silent() -> None:
    async def run() -> None:
        processes = ScriptedProcesses()
        runtime = runtime_of(processes, Listener())
        assert (await runtime.view()).presence == "absent"
        await runtime.start([ORDER])
        assert (await runtime.view()).presence == "present"
        processes.trouble = UnavailableError("the host is silent")
        view = await runtime.view()
        assert (view.presence, view.why) == ("unknown", "the host is silent")
        processes.trouble = None
        processes.server_pid = None  # somebody killed the host, and the process goes on
        assert (await runtime.view()).presence == "present"
        await processes.ends(PROCESS, ExitStatus())
        await runtime.remove([RUN])
        assert (await runtime.view()).presence == "absent"
        runtime.close()

    asyncio.run(run())


def test_commands_of_agents_are_none_of_its_business() -> None:
    async def run() -> None:
        from corral.ports.processes import ProcessOrder

        processes = ScriptedProcesses()
        order = ProcessOrder(process="p0123456789", agent="api", argv=["x"], command="x", directory="/")
        await processes.start(order, {}, "")
        runtime = runtime_of(processes, Listener())
        assert (await runtime.view()).sessions == ()

    asyncio.run(run())
