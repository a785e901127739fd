"""What every runtime carries: words in, output out, whole and in order."""

import asyncio
import re
import sys
import time

import pytest

from corral.domain.errors import CorralError, RefusedError
from corral.ports.runs import ExitStatus
from corral.ports.runtime import Session
from tests.conformance.runtime.stage import PLAIN, TMUX, Stage, only

# Out


def test_output_comes_while_the_program_runs(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("echo ready; exec sleep 60")
        await keeper.says(session, "ready")
        assert keeper.listener.exits(session.run) == []

    stage.play(scenario)


def test_a_keeper_that_is_busy_when_the_program_ends_gets_all_of_its_output(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("sleep 0.2; seq 100000; printf 'last words, no newline'")
        time.sleep(0.5)  # noqa: ASYNC251 - nothing is read meanwhile, and more is written than the connection takes
        assert await keeper.end_of(session) == ExitStatus(code=0)
        assert stage.lines(session.run) == [*map(str, range(1, 100001)), "last words, no newline"]
        assert keeper.listener.lost == []

    stage.play(scenario)


@pytest.mark.parametrize("lines", [1, 100, 5000])
def test_output_is_whole_and_in_order_and_all_of_it_comes_before_the_end(stage: Stage, lines: int) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(f"seq {lines}; printf 'last words, no newline'")
        assert await keeper.end_of(session) == ExitStatus(code=0)
        assert isinstance(keeper.listener.told[session.run][-1], Session)
        assert stage.lines(session.run) == [*map(str, range(1, lines + 1)), "last words, no newline"]
        assert keeper.listener.lost == []

    stage.play(scenario)


def test_errors_and_output_are_in_the_order_of_writing(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
        await keeper.end_of(session)
        assert stage.lines(session.run) == [f"{where} {i}" for i in (1, 2, 3) for where in ("out", "err")]

    stage.play(scenario)


def test_a_program_that_says_nothing_is_given_no_words(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exit 0")
        await keeper.end_of(session)
        assert stage.text(session.run) == ""

    stage.play(scenario)


@only(PLAIN)
def test_without_a_terminal_every_byte_is_as_it_was_written(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        (stage.directory / "bytes.py").write_text("import os\nfor _ in range(4096): os.write(1, bytes(range(256)))")
        session = await keeper.start(f"exec {sys.executable} {stage.directory}/bytes.py")
        assert await keeper.end_of(session) == ExitStatus(code=0)
        assert stage.output[session.run] == bytes(range(256)) * 4096

    stage.play(scenario)


@only(PLAIN)
def test_without_a_terminal_what_its_children_write_later_is_not_lost(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(
            f"(until [ -e {stage.directory}/go ]; do sleep 0.01; done; echo late) & echo early; exit 4"
        )
        assert await keeper.end_of(session) == ExitStatus(code=4)
        assert stage.text(session.run) == "early\n"
        (stage.directory / "go").touch()
        await keeper.says(session, "late\n")

    stage.play(scenario)


# The screen


def test_the_screen_shows_the_last_lines_and_history_those_before(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("seq 200; printf 'prompt> '; exec sleep 60")
        await keeper.says(session, "prompt> ")
        screen = await keeper.runtime.screen(session.run)
        assert len(screen) <= 50
        assert [line.rstrip() for line in screen[-3:]] == ["199", "200", "prompt>"]
        assert (await keeper.runtime.screen(session.run, history=2000))[0] == "1"

    stage.play(scenario)


def test_the_screen_of_one_that_ended_is_there_until_it_is_removed(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("echo oops; exit 1")
        await keeper.end_of(session)
        assert await keeper.runtime.screen(session.run) == ["oops"]

    stage.play(scenario)


def test_colours_and_rewritten_lines_are_no_text(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(r"printf '10%%\r100%%\n\033[31mred\033[0m\n'; exec sleep 60")
        await keeper.says(session, "red\n")
        assert await keeper.runtime.screen(session.run) == ["100%", "red"]

    stage.play(scenario)


def test_the_screen_of_one_that_said_nothing_is_empty(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exec sleep 60")
        assert await keeper.runtime.screen(session.run) == []

    stage.play(scenario)


# In

ECHO = 'while IFS= read -r line; do echo "got <$line>"; done'


def test_what_is_sent_is_read_and_submitted(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(ECHO)
        await keeper.runtime.send(session.run, "hello, wörld", enter=True, pause=0.05)
        await keeper.says(session, "got <hello, wörld>\n")
        await keeper.runtime.send(session.run, "again", enter=True, pause=0.05)
        await keeper.says(session, "got <again>\n")

    stage.play(scenario)


def test_several_lines_are_several_lines(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(ECHO)
        await keeper.runtime.send(session.run, "one\n  two\nthree", enter=True, pause=0.05)
        await keeper.says(session, "got <three>\n")
        assert re.findall("got <(.*)>", stage.text(session.run)) == ["one", "  two", "three"]

    stage.play(scenario)


def test_what_is_not_submitted_waits_for_the_rest(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(ECHO)
        await keeper.runtime.send(session.run, "half", enter=False, pause=0)
        await keeper.runtime.send(session.run, " and half", enter=True, pause=0.05)
        await keeper.says(session, "got <half and half>\n")

    stage.play(scenario)


def test_messages_that_are_sent_at_once_do_not_mix(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(ECHO)
        words = [f"{n}-" * 20 for n in range(10)]
        await asyncio.gather(*(keeper.runtime.send(session.run, word, enter=True, pause=0.01) for word in words))
        await keeper.listener.until(lambda: stage.text(session.run).count("got") == 10)
        assert sorted(re.findall("got <(.*)>", stage.text(session.run))) == sorted(words)

    stage.play(scenario)


#: Reads until it has seen the end, and tells how much it was. No line of a terminal as such is longer than 4 KiB.
COUNT = """
import os, termios
if os.isatty(0):
    import tty; tty.setraw(0)
print("ready", flush=True)
text = b""
while b"the end" not in text:
    text += os.read(0, 1 << 16)
print("read", len(text))
"""


def test_a_message_of_a_megabyte_arrives(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        (stage.directory / "count.py").write_text(COUNT)
        session = await keeper.start(f"exec {sys.executable} {stage.directory}/count.py")
        await keeper.says(session, "ready")
        text = ("x" * 99 + "\n") * 10_000 + "the end"
        await keeper.runtime.send(session.run, text, enter=False, pause=0)
        await keeper.says(session, f"read {len(text)}")

    stage.play(scenario)


@pytest.mark.parametrize(("stage", "heard"), [(TMUX, "got <a␛[Ab>\n"), (PLAIN, "got <a\x1b[Ab>\n")], indirect=["stage"])
def test_nothing_that_is_sent_presses_a_key(stage: Stage, heard: str) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start(ECHO)
        await keeper.runtime.send(session.run, "a\x1b[Ab", enter=True, pause=0.05)
        await keeper.listener.until(lambda: heard.encode() in stage.output.get(session.run, b"").replace(b"\r", b""))

    stage.play(scenario)


def test_to_one_that_has_ended_nothing_can_be_sent(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exit 0")
        await keeper.end_of(session)
        with pytest.raises(CorralError, match="a has ended"):
            await keeper.runtime.send(session.run, "hello", enter=True, pause=0)

    stage.play(scenario)


@only(PLAIN)
def test_without_a_terminal_input_may_be_at_its_end_from_the_start(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("cat; echo done; exec sleep 60", stdin=False)
        await keeper.says(session, "done\n")
        with pytest.raises(RefusedError, match="standard input is at its end"):
            await keeper.runtime.send(session.run, "hello", enter=True, pause=0)

    stage.play(scenario)


@only(PLAIN)
def test_without_a_terminal_input_ends_behind_the_last_message(stage: Stage) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("cat; echo done; exec sleep 60")
        await keeper.runtime.send(session.run, "the prompt", enter=True, pause=0, last=True)
        await keeper.says(session, "the prompt\ndone\n")
        with pytest.raises(RefusedError, match="standard input is at its end"):
            await keeper.runtime.send(session.run, "more", enter=True, pause=0)

    stage.play(scenario)


# Joining


@pytest.mark.parametrize("read_only", [False, True])
def test_what_joins_a_session_is_a_command_that_can_be_run(stage: Stage, read_only: bool) -> None:
    async def scenario() -> None:
        keeper = stage.keeper()
        session = await keeper.start("exec sleep 60")
        argv = await keeper.runtime.attach_command(session.run, read_only=read_only)
        if stage.kind == TMUX:
            assert argv[0] == "tmux"
            assert ("-r" in argv) is read_only
        else:
            assert argv[:1] + argv[-5:] == [sys.executable, "logs", "--follow", "--team", "shop", "a"]

    stage.play(scenario)
