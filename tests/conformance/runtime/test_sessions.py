"""What every runtime does with the sessions of a team: they start once, tell how they end, and are found again."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator

import pytest

from corral.adapters.procfs import processes as proc
from corral.adapters.tmux.control import PAUSE_AFTER
from corral.domain.errors import NotFoundError
from corral.ports.runs import ExitStatus
from corral.ports.runtime import Session, SessionOrder
from tests.conformance.runtime.stage import PATIENCE, PLAIN, TMUX, Stage, only

# Looking


def test_before_anything_is_started_there_is_nothing_and_a_look_starts_nothing(stage: Stage) -> None:
    async def scenario() -> None:
        runtime = stage.keeper().runtime
        view = await runtime.view()
        assert (view.presence, view.sessions, runtime.server_pid) == ("absent", (), None)

    stage.play(scenario)


def test_a_session_is_seen_with_its_agent_its_run_and_its_program(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exec sleep 60")
        seen = await keeper.find(session.run)
        assert (seen.agent, seen.dead, seen.exit, seen.terminal) == ("a", False, None, stage.kind == TMUX)
        shell, program = proc.read(seen.terminal_pid), proc.read(seen.pid)
        assert shell is not None
        assert program is not None
        assert shell.session == shell.pid, "a session of its own"
        assert (program.parent, program.session) == (shell.pid, shell.pid)

    stage.play(scenario)


def test_of_a_run_that_is_not_there_nothing_can_be_had(stage: Stage) -> None:
    async def scenario() -> None:
        runtime = stage.keeper().runtime
        with pytest.raises(NotFoundError):
            await runtime.screen("000000000000")
        with pytest.raises(NotFoundError):
            await runtime.send("000000000000", "hello", enter=True, pause=0)
        with pytest.raises(NotFoundError):
            await runtime.attach_command("000000000000", read_only=True)

    stage.play(scenario)


# Starting


def test_the_launch_file_says_what_runs_where_and_with_what(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start('echo "$GREETING in $PWD, run $CORRAL_RUN"; echo $TERM; tty')
        await keeper.end_of(session)
        where, term, tty = stage.lines(session.run)
        assert where == f"hé in {stage.directory}, run {session.run}"
        assert (term, tty) == ("dumb", "not a tty") or (stage.kind == TMUX and tty.startswith("/dev/pts/"))

    stage.play(scenario)


def test_a_run_that_is_there_is_reported_and_not_started_twice(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        order = stage.order("echo started; exec sleep 60")
        (session,) = await keeper.start_all([order])
        (again,) = await keeper.start_all([order])
        assert again.terminal_pid == session.terminal_pid
        await keeper.says(session, "started")
        (by_another,) = await stage.keeper().start_all([order])
        assert by_another.terminal_pid == session.terminal_pid
        assert len((await keeper.runtime.view()).sessions) == 1

    stage.play(scenario)


def test_a_gated_run_starts_nothing_until_its_gate_is_opened(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        (waiting,) = await keeper.runtime.start([stage.order("echo through", gated=True)])
        assert isinstance(waiting, Session)
        assert waiting.pid == waiting.terminal_pid
        assert stage.output.get(waiting.run, b"") == b""
        stage.open_gate(waiting)
        await keeper.end_of(waiting)
        assert stage.lines(waiting.run) == ["through"]

    stage.play(scenario)


def test_fifty_at_once_do_not_mix(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        orders = [stage.order(f"for i in 1 2 3; do echo {n} $i; done; exit {n}", agent=f"a-{n}") for n in range(50)]
        sessions = await keeper.start_all(orders)
        for number, session in enumerate(sessions):
            assert (session.agent, session.run) == (f"a-{number}", orders[number].run)
            assert await keeper.end_of(session) == ExitStatus(code=number)
            assert stage.lines(session.run) == [f"{number} {i}" for i in (1, 2, 3)]

    stage.play(scenario)


def test_orders_that_are_made_one_after_the_other_are_all_started(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        made = []

        def making() -> Iterator[SessionOrder]:
            for number in range(30):
                made.append(stage.order(f"exit {number}", agent=f"a-{number}"))
                yield made[-1]

        started = await keeper.runtime.start(making())
        sessions = [session for session in started if isinstance(session, Session)]
        assert [session.run for session in sessions] == [order.run for order in made]
        assert len(made) == 30
        assert [await keeper.end_of(session) for session in sessions] == [ExitStatus(code=n) for n in range(30)]

    stage.play(scenario)


def test_a_launch_file_that_is_not_there_ends_the_session_and_no_other(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        missing = SessionOrder(agent="b", run="0123456789ab", launch_file=f"{stage.directory}/launch/b.0123456789ab")
        broken, fine = await keeper.start_all([missing, stage.order("echo fine")])
        status = await keeper.end_of(broken)
        assert status is not None
        assert status.code not in (None, 0)
        if stage.kind != TMUX:  # which drops what it has not read by then, and no launch file waits for that
            assert "b.0123456789ab" in "".join(await keeper.runtime.screen(broken.run))
        assert await keeper.end_of(fine) == ExitStatus(code=0)

    stage.play(scenario)


@pytest.mark.parametrize("missing", ["directory", "environment"])
def test_one_that_cannot_begin_says_why_however_late_its_terminal_is_read(stage: Stage, missing: str) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        nowhere = f"{stage.directory}/nowhere" if missing == "directory" else ""
        orders = [stage.order("echo never", agent=f"a-{n}", gated=True, directory=nowhere) for n in range(8)]
        sessions = [session for session in await keeper.runtime.start(orders) if isinstance(session, Session)]
        assert len(sessions) == len(orders)
        if missing == "environment":
            for order in orders:
                stage.lose_environment(order)
        server = keeper.runtime.server_pid
        assert server is not None
        os.kill(server, signal.SIGSTOP)
        try:
            for session in sessions:
                stage.open_gate(session)
            async with asyncio.timeout(PATIENCE):
                while not all(map(stage.has_ended, sessions)):  # noqa: ASYNC110 - nobody is told
                    await asyncio.sleep(0.01)
            # What of a terminal is not read when its first process ends, tmux drops.
            assert stage.kind != TMUX or all(map(stage.shell_stays, sessions))
        finally:
            os.kill(server, signal.SIGCONT)
        for order, session in zip(orders, sessions, strict=True):
            assert await keeper.end_of(session) == ExitStatus(code=126)
            said = "".join(await keeper.runtime.screen(session.run))
            assert (nowhere or f"{order.agent}.env") in said
            assert "never" not in said

    stage.play(scenario)


# Ending


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 0", ExitStatus(code=0)),
        ("exit 7", ExitStatus(code=7)),
        ("exit 128", ExitStatus(code=128)),
        ("exit 255", ExitStatus(code=255)),
        ("/no/such/program", ExitStatus(code=127)),
        ("exec /no/such/program", ExitStatus(code=127)),
        ("exec /", ExitStatus(code=126)),
        ("kill -TERM $$", ExitStatus(signal=signal.SIGTERM)),
        ("kill -KILL $$", ExitStatus(signal=signal.SIGKILL)),
        ("kill -HUP $$", ExitStatus(signal=signal.SIGHUP)),
        ("ulimit -c 0; kill -SEGV $$", ExitStatus(signal=signal.SIGSEGV)),
    ],
)
def test_how_it_ended_is_told_once_and_truly(stage: Stage, script: str, status: ExitStatus) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(script)
        assert await keeper.end_of(session) == status
        seen = await keeper.find(session.run)
        assert (seen.dead, seen.exit) == (True, status)
        assert keeper.listener.exits(session.run) == [status]

    stage.play(scenario)


def test_one_whose_shell_was_killed_with_it_was_killed(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exec sleep 60")
        # Both at once: the end of its shell is the end of its terminal, and that would end it in another way.
        os.killpg(session.terminal_pid, signal.SIGKILL)
        assert await keeper.end_of(session) == ExitStatus(signal=signal.SIGKILL)

    stage.play(scenario)


def test_the_end_of_one_that_is_unwatched_is_not_told_but_can_be_asked_for(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        orders = [stage.order("echo here; exec sleep 60", agent=agent) for agent in ("a", "b")]
        session, other = await keeper.start_all(orders)
        await keeper.says(session, "here")
        await keeper.says(other, "here")
        keeper.runtime.unwatch([session.run])
        os.kill(session.pid, signal.SIGTERM)
        await _shell_gone(session)
        assert await keeper.runtime.exits([session.run]) == {session.run: ExitStatus(signal=signal.SIGTERM)}
        assert keeper.listener.exits(session.run) == []
        os.kill(other.pid, signal.SIGTERM)
        await keeper.end_of(other)
        assert keeper.listener.exits(session.run) == []

    stage.play(scenario)


def test_how_one_ended_that_has_not_is_left_out(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exec sleep 60")
        assert await keeper.runtime.exits([session.run, "000000000000"]) == {}

    stage.play(scenario)


def test_what_is_removed_is_gone_and_the_others_are_not(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session, other = await keeper.start_all([stage.order("exit 0"), stage.order("exec sleep 60", agent="b")])
        await keeper.end_of(session)
        await keeper.runtime.remove([session.run])
        assert [one.run for one in (await keeper.runtime.view()).sessions] == [other.run]
        assert [one.run for one in (await stage.keeper().runtime.view()).sessions] == [other.run]
        with pytest.raises(NotFoundError):
            await keeper.runtime.screen(session.run)
        await keeper.runtime.remove([session.run])

    stage.play(scenario)


def test_the_name_of_an_agent_is_free_again_once_its_session_is_removed(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        first = await keeper.start("echo first; exit 1")
        await keeper.end_of(first)
        await keeper.runtime.remove([first.run])
        second = await keeper.start("echo second")
        assert await keeper.end_of(second) == ExitStatus(code=0)
        assert (stage.lines(first.run), stage.lines(second.run)) == (["first"], ["second"])

    stage.play(scenario)


# The next keeper


def test_to_let_go_ends_nothing_and_the_next_keeper_finds_it(stage: Stage) -> None:
    async def scenario() -> None:
        first = stage.keeper()
        session = await first.start("read line; echo heard $line; exit 3")
        first.leave()
        second = stage.keeper()
        found = await second.find(session.run)
        assert (found.agent, found.terminal_pid, found.pid) == ("a", session.terminal_pid, session.pid)
        assert not found.dead
        await second.runtime.send(session.run, "you", enter=True, pause=0.05)
        assert await second.end_of(found) == ExitStatus(code=3)
        assert stage.lines(session.run)[-1] == "heard you"

    stage.play(scenario)


def test_one_that_ended_while_nobody_looked_is_there_with_its_status_and_its_last_words(stage: Stage) -> None:
    async def scenario() -> None:
        first = stage.keeper()
        session = await first.start(f"until [ -e {stage.directory}/go ]; do sleep 0.01; done; echo last words; exit 9")
        first.leave()
        (stage.directory / "go").touch()
        await _shell_gone(session)
        second = stage.keeper()
        found = await second.find(session.run)
        # tmux may not have taken note of it yet.
        status = found.exit if found.dead else await second.end_of(found)
        assert status == ExitStatus(code=9)
        assert (await second.runtime.screen(session.run))[-1] == "last words"

    stage.play(scenario)


@only(PLAIN)
def test_without_a_terminal_each_byte_is_handed_on_once_whoever_listens(stage: Stage) -> None:
    async def scenario() -> None:
        first = stage.keeper()
        script = "i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo line $i; sleep 0.005; done; printf 'no newline'"
        session = await first.start(script)
        keeper = first
        for many in (20, 60, 61, 200):
            await keeper.says(session, f"line {many}\n")
            keeper.leave()
            keeper = stage.keeper()
            await keeper.runtime.view()
        await keeper.end_of(session)
        expected = "".join(f"line {number}\n" for number in range(1, 401)) + "no newline"
        assert stage.output[session.run].decode() == expected

    stage.play(scenario)


# The loss of what they run under


@only(TMUX)
def test_with_the_tmux_server_its_terminals_go_and_nobody_saw_how_programs_ended(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exec sleep 60")
        assert keeper.runtime.server_pid is not None
        os.kill(keeper.runtime.server_pid, signal.SIGKILL)
        assert await keeper.end_of(session) == ExitStatus()
        await keeper.listener.until(lambda: bool(keeper.listener.servers))
        assert (await keeper.runtime.view()).presence == "absent"

    stage.play(scenario)


@only(TMUX)
def test_a_keeper_that_was_too_slow_is_told_so_and_hears_what_follows(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        # More than a socket takes, and then now and then a little.
        session = await keeper.start(
            f"until [ -e {stage.directory}/quiet ]; do echo a line that nobody reads; done; "
            "while :; do echo heard; sleep 0.05; done"
        )
        await keeper.listener.until(lambda: session.run in stage.output)
        time.sleep(PAUSE_AFTER + 1.5)  # noqa: ASYNC251 - nothing else may happen here: it is this loop that reads
        await keeper.listener.until(lambda: session.run in keeper.listener.lost)
        (stage.directory / "quiet").touch()
        await keeper.listener.until(lambda: b"heard" in stage.output[session.run][-100:])

    stage.play(scenario)


@only(TMUX)
def test_the_next_tmux_server_has_nothing_of_the_one_before(stage: Stage) -> None:
    """It counts its panes from the beginning again."""

    async def scenario() -> None:
        keeper = stage.keeper()
        script = "while :; do echo $CORRAL_RUN; sleep 0.02; done"
        old = await keeper.start_all([stage.order(script, agent=agent) for agent in ("a", "b")])
        for session in old:
            await keeper.says(session, session.run)
        os.kill(keeper.runtime.server_pid or 0, signal.SIGKILL)
        for session in old:
            await keeper.end_of(session)
        await keeper.runtime.remove([old[1].run])
        # Those of `a` are left: nobody has cleared them away when `b` is started again.
        (new,) = await keeper.start_all([stage.order(script, agent="b")])
        with pytest.raises(NotFoundError):
            await keeper.runtime.screen(old[0].run)
        view = await keeper.runtime.view()
        assert [session.run for session in view.sessions] == [new.run]
        before = len(stage.output[old[0].run]), len(stage.output.get(new.run, b""))
        await keeper.listener.until(lambda: len(stage.output.get(new.run, b"")) > before[1] + 100)
        assert len(stage.output[old[0].run]) == before[0]
        assert old[0].run not in stage.text(new.run)

    stage.play(scenario)


@only(PLAIN)
@pytest.mark.parametrize("keeper_too", [False, True])
def test_without_a_terminal_a_host_that_is_killed_takes_nobody_along(stage: Stage, keeper_too: bool) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        script = f"echo begin; until [ -e {stage.directory}/go ]; do sleep 0.01; done; seq 20000; exit 5"
        session = await keeper.start(script)
        await keeper.says(session, "begin\n")
        host = proc.read(keeper.runtime.server_pid or 0)
        assert host is not None
        if keeper_too:
            keeper.leave()
        os.kill(host.pid, signal.SIGKILL)
        await _gone(host)
        if keeper_too:
            keeper = stage.keeper()
        found = await keeper.find(session.run)
        assert (found.dead, found.pid) == (False, session.pid)
        (stage.directory / "go").touch()
        assert await keeper.end_of(session) == ExitStatus(code=5)
        assert stage.lines(session.run) == ["begin", *map(str, range(1, 20001))]

    stage.play(scenario)


@only(PLAIN)
def test_without_a_terminal_an_end_that_no_host_saw_is_told_truly_or_as_unknown(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exec sleep 60")
        os.kill(keeper.runtime.server_pid or 0, signal.SIGSTOP)
        for pid in (keeper.runtime.server_pid or 0, session.terminal_pid, session.pid):
            os.kill(pid, signal.SIGKILL)
        # The next host may come in time to see it, as long as nobody has reaped it.
        assert await keeper.end_of(session) in (ExitStatus(), ExitStatus(signal=signal.SIGKILL))

    stage.play(scenario)


async def _shell_gone(session: Session) -> None:
    shell = proc.read(session.terminal_pid)
    if shell is not None:
        await _gone(shell)


async def _gone(process: proc.Process) -> None:
    async with asyncio.timeout(PATIENCE):
        while proc.is_alive(process):  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.01)
