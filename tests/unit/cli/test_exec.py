"""`corral exec`: output byte for byte, the command's own exit code, Ctrl-C, standard input, a terminal."""

import fcntl
import json
import os
import pty
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from corral.domain.errors import RefusedError
from corral.ports.processes import Survivor
from corral.ports.runs import ExitStatus
from tests.support.instance import Instance
from tests.support.waiting import wait_for
from tests.unit.cli.conftest import Corral
from tests.unit.cli.house import House
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.service.fake_keeper import Played, echoes, prints, runs


def begun(real: Instance, *words: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """`corral exec` in a process of its own."""
    return subprocess.Popen(
        real.argv("exec", *words), cwd=real.directory, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, bytes, str]:
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err.decode()


class TestTheCommand:
    def test_is_a_program_and_its_arguments(self, corral: Corral, house: House) -> None:
        assert corral("exec", "a", "--", "git", "log", "--oneline", "-n1").code == 0
        order = house.played().order
        assert (order.argv, order.agent, order.stdin, order.tty) == (
            ["git", "log", "--oneline", "-n1"],
            "a",
            False,
            False,
        )

    def test_or_a_line_for_the_shell(self, corral: Corral, house: House) -> None:
        assert corral("exec", "shop/a", "-c", "make -j 2>&1 | tail").code == 0
        assert house.played().order.argv == ["bash", "-c", "make -j 2>&1 | tail"]

    def test_that_is_not_run_as_usual_is_told_of(self, corral: Corral, house: House) -> None:
        house.keeper.at_start = prints(b"hi\n")
        house.keeper.missing = {"bash"}
        outcome = corral("exec", "a", "-c", "echo hi")
        assert (outcome.out, outcome.err) == ("hi\n", "corral: there is no bash: it was run by /bin/sh\n")

    def test_and_how_it_is_run(self, corral: Corral, house: House) -> None:
        corral("exec", "a", "-w", "src", "-e", "A=1", "--env", "B==x y", "--tty", "--", "x")
        order = house.played().order
        assert (order.directory, order.environment, order.tty) == ("/x/src", {"A": "1", "B": "=x y"}, True)

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["a"], "exec needs a command"),
            (["a", "-c", "x", "--", "y"], "exclude each other"),
            (["a", "-e", "NAME", "--", "x"], "has no value"),
            (["a", "ls", "-l"], "goes after --"),
            (["a", "-c", os.fsdecode(b"\xff")], "not UTF-8"),
            ([], "exec needs AGENT"),
            (["a", "--timeout", "soon", "--", "x"], "--timeout cannot be"),
            (["a", "--timeout", "99999999999999d", "--", "x"], "at most 366d"),
        ],
    )
    def test_that_cannot_be_understood(self, corral: Corral, house: House, words: list[str], said: str) -> None:
        outcome = corral("exec", *words)
        assert (outcome.code, said in outcome.err) == (2, True)
        assert house.keeper.asked == []

    def test_of_an_agent_that_is_not_there(self, corral: Corral, house: House) -> None:
        outcome = corral("exec", "nobody", "--", "x")
        assert (outcome.code, outcome.out) == (3, "")

    def test_without_a_daemon(self, corral: Corral) -> None:
        assert corral("exec", "a", "--", "x").code == 3


class TestOutput:
    def test_is_what_it_wrote_byte_for_byte(self, real: Instance, house: House) -> None:
        data = bytes(range(256)) * 5000 + b"\xe2\x82"
        house.keeper.at_start = prints(data, 3)
        assert ended(begun(real, "a", "--", "x")) == (3, data, "")

    def test_comes_as_it_is_written(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "--", "x")
        assert process.stdout
        house.do(house.played().write(b"first \xff\n"))
        assert process.stdout.readline() == b"first \xff\n"
        house.do(house.played().write(b"half"))
        assert process.stdout.read(4) == b"half"
        house.do(house.played().end(0))
        assert ended(process) == (0, b"", "")

    def test_that_was_not_kept_is_told_of(self, corral: Corral, house: House) -> None:
        def with_a_gap(played: Played) -> None:
            prints(b"0123456789")(played)
            played.gaps = [(2, 7)]

        house.keeper.at_start = with_a_gap
        outcome = corral("exec", "a", "--", "x")
        assert outcome.out == "01\n[… 5 bytes left out …]\n789"
        assert outcome.err == "corral: 5 bytes of its output were not kept\n"

    def test_ends_with_the_command_not_with_what_it_started(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "-c", "server & echo up")
        house.do(house.played().write(b"up\n"))
        house.played().survivors = [Survivor(pid=9, command="server")]
        house.do(house.played().end(0, close=False))
        code, out, err = ended(process)
        assert (code, out) == (0, b"up\n")
        assert f"1 process that it started did not end with it; corral proc kill {house.played().order.process}" in err

    def test_that_nobody_reads_any_more_ends_the_command(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "--", "yes")
        assert process.stdout
        process.stdout.close()
        house.do(house.played().write(b"y\n" * 100_000))
        wait_for(lambda: house.asked("signal"), what="the signal of a broken pipe")
        assert house.asked("signal") == [{"number": signal.SIGPIPE}]
        assert process.wait(20) == 141
        assert process.stderr
        process.stderr.close()


class TestTheEnd:
    @pytest.mark.parametrize(("status", "code"), [((0, None), 0), ((7, None), 7), ((None, 9), 137), ((None, 15), 143)])
    def test_is_the_commands_own(
        self, corral: Corral, house: House, status: tuple[int | None, int | None], code: int
    ) -> None:
        def play(played: Played) -> None:
            prints(b"")(played)
            played.exit = ExitStatus(code=status[0], signal=status[1])

        house.keeper.at_start = play
        assert corral("exec", "a", "--", "x").code == code
        outcome = corral("exec", "a", "--json", "--", "x")
        assert (outcome.code, outcome.json["exit_code"]) == (code, code)

    def test_that_nobody_saw(self, corral: Corral, house: House) -> None:
        def play(played: Played) -> None:
            prints(b"before\n")(played)
            played.exit = ExitStatus()

        house.keeper.at_start = play
        outcome = corral("exec", "a", "--", "x")
        assert (outcome.code, outcome.out) == (1, "before\n")
        assert "nobody saw how" in outcome.err

    def test_that_takes_too_long(self, corral: Corral, house: House) -> None:
        house.keeper.at_start = runs
        outcome = corral("exec", "a", "--timeout", "50ms", "--", "x")
        process = house.played().order.process
        assert outcome.code == 124
        assert f"goes on as {process}; corral proc wait {process}" in outcome.err
        assert house.played().running
        outcome = corral("exec", "a", "--timeout", "50ms", "--json", "--", "x")
        assert (outcome.code, outcome.json["timed_out"], outcome.err) == (124, True, "")

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_may_take_a_year(self, corral: Corral, house: House, options: list[str]) -> None:
        house.keeper.at_start = prints(b"")
        assert corral("exec", "a", "--timeout", "366d", *options, "--", "x").code == 0

    def test_of_the_daemon(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "--", "x")
        assert process.stdout
        house.do(house.played().write(b"12345"))
        assert process.stdout.read(5) == b"12345"
        house.do(house.scene.ask("POST", "/v1/daemon/stop"))
        code, _, err = ended(process)
        assert code == 6
        assert f"corral proc output -f --after 5 {house.played().order.process}" in err


class TestInTheBackground:
    def test_its_id_is_printed(self, corral: Corral, house: House) -> None:
        house.keeper.at_start = runs
        outcome = corral("exec", "a", "-b", "-c", "npm run dev")
        assert (outcome.code, outcome.out, outcome.err) == (0, house.played().order.process + "\n", "")
        assert corral("exec", "a", "--background", "--json", "--", "x").json["running"]

    def test_it_can_be_written_to(self, corral: Corral, house: House) -> None:
        house.keeper.at_start = runs
        process = corral("exec", "a", "-b", "--stdin", "--", "cat").out.strip()
        assert house.played().read == b""  # ours is not read
        assert corral("proc", "write", process, "hello").code == 0
        assert house.played().read == b"hello"

    def test_because_it_ends_in_an_ampersand(self, corral: Corral, house: House) -> None:
        house.keeper.at_start = runs
        outcome = corral("exec", "a", "-c", "npm run dev &")
        process = house.played().order.process
        assert (outcome.code, outcome.out) == (0, "")
        assert f"in the background as {process}; corral proc output -f {process} follows it" in outcome.err
        outcome = corral("exec", "a", "--json", "-c", "npm run dev &")
        assert (outcome.code, outcome.json["promoted"], outcome.json["running"]) == (0, True, True)

    @pytest.mark.parametrize("options", [[], ["--json"], ["--stdin"], ["--stdin", "--json"]])
    @pytest.mark.parametrize("line", [["-c", "exit 5 &"], ["-b", "-c", "exit 5"]])
    def test_it_was_started_whatever_became_of_it(
        self, real: Instance, house: House, options: list[str], line: list[str]
    ) -> None:
        house.keeper.at_start = prints(b"", 5)
        assert ended(begun(real, "a", *options, *line))[0] == 0

    def test_also_if_nobody_saw_what(self, corral: Corral, house: House) -> None:
        def play(played: Played) -> None:
            prints(b"")(played)
            played.exit = ExitStatus()

        house.keeper.at_start = play
        assert corral("exec", "a", "--json", "-c", "x &").code == 0


class TestJson:
    def test_is_one_document(self, corral: Corral, house: House) -> None:
        house.keeper.at_start = prints(b"hello\n")
        document = corral("exec", "a", "--json", "--", "x").json
        assert document.keys() >= {
            "process_id", "running", "exit_code", "signal", "timed_out", "output", "omitted_bytes", "promoted",
            "survivors",
        }  # fmt: skip
        assert (document["output"], document["exit_code"], document["running"]) == ("hello\n", 0, False)
        assert len(house.asked("execute")) == 1

    def test_of_an_error(self, corral: Corral, house: House) -> None:
        house.keeper.missing = {"x"}
        outcome = corral("exec", "a", "--json", "--", "x")
        assert (outcome.code, outcome.out, outcome.error["code"]) == (3, "", "not_found")

    def test_with_standard_input(self, real: Instance, house: House) -> None:
        house.keeper.at_start = echoes
        done = subprocess.run(
            real.argv("exec", "a", "--stdin", "--json", "--", "cat"), input=b"abc", capture_output=True, check=True
        )
        assert json.loads(done.stdout)["output"] == "abc"
        assert len(house.keeper.played) == 1


class TestControlC:
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_interrupts_the_command_then_ends_it_then_leaves_it(
        self, real: Instance, house: House, options: list[str]
    ) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", *options, "--", "x")
        wait_for(lambda: house.keeper.waiting, what="a command that waits")
        process.send_signal(signal.SIGINT)
        wait_for(lambda: house.asked("signal"), what="an interrupt")
        assert house.asked("signal") == [{"number": signal.SIGINT}]
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        wait_for(lambda: house.asked("end"), what="an end")
        assert ended(process)[0] == 143  # as the command was ended

    def test_a_command_that_listens_ends_as_it_likes(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "--", "x")
        wait_for(lambda: house.keeper.waiting, what="a command that waits")
        process.send_signal(signal.SIGINT)
        wait_for(lambda: house.asked("signal"), what="an interrupt")
        house.do(house.played().write(b"saved\n"))
        house.do(house.played().end(5))
        assert ended(process)[:2] == (5, b"saved\n")

    def test_a_request_to_end_leaves_the_command_alone(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "--", "x")
        wait_for(lambda: house.keeper.waiting, what="a command that waits")
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 143
        assert house.played().running
        assert house.asked("signal") == []


class TestStandardInput:
    def test_is_not_read_unless_asked_for(self, real: Instance, house: House) -> None:
        done = subprocess.run(real.argv("exec", "a", "--", "cat"), input=b"abc", capture_output=True, check=True)
        assert (done.stdout, house.played().order.stdin) == (b"", False)

    def test_reaches_the_command_byte_for_byte_and_its_end_too(self, real: Instance, house: House) -> None:
        house.keeper.at_start = echoes
        data = bytes(range(256)) * 2000
        done = subprocess.run(
            real.argv("exec", "a", "--stdin", "--", "cat"), input=data, capture_output=True, check=True
        )
        assert done.stdout == data

    def test_of_a_command_that_reads_none_of_it(self, real: Instance, house: House) -> None:
        house.keeper.at_start = prints(b"done\n")
        done = subprocess.run(
            real.argv("exec", "a", "-i", "--", "true"), input=b"x" * 1_000_000, capture_output=True, check=True
        )
        assert (done.stdout, done.stderr) == (b"done\n", b"")

    def test_that_is_closed_is_at_its_end(self, real: Instance, house: House) -> None:
        house.keeper.at_start = echoes
        line = shlex.join(real.argv("exec", "a", "--stdin", "--", "cat"))
        done = subprocess.run(["sh", "-c", f"{line} <&-"], capture_output=True, timeout=30)
        assert (done.returncode, done.stdout, house.played().eof) == (0, b"", True)

    def test_comes_as_it_is_typed(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "-i", "--", "cat", stdin=subprocess.PIPE)
        assert process.stdin
        process.stdin.write(b"one\n")
        process.stdin.flush()
        wait_for(lambda: house.played().read == b"one\n", what="the first line")
        process.stdin.close()
        wait_for(lambda: house.played().eof, what="the end")
        process.stdin = None
        house.do(house.played().end())
        assert ended(process)[0] == 0


class TestStandardInputThatIsNotWaitedFor:
    """What was read of it is told, and how to end the rest: the command waits for it."""

    def test_at_the_time_out(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "-i", "--timeout", "1s", "--", "cat", stdin=subprocess.PIPE)
        assert process.stdin
        process.stdin.write(b"12345")
        process.stdin.flush()
        assert process.wait(20) == 124
        assert process.stderr
        said = process.stderr.read().decode()
        assert "it was given 5 bytes of standard input" in said
        assert f"corral proc write --eof {house.played().order.process} ends it" in said
        assert (house.played().read, house.played().eof) == (b"12345", False)
        ended(process)

    def test_as_json(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "-i", "--timeout", "1s", "--json", "--", "cat", stdin=subprocess.PIPE)
        assert process.stdin
        process.stdin.write(b"12345")
        process.stdin.flush()
        assert process.stdout
        answer = json.loads(process.stdout.readline())
        assert ended(process)[0] == 124
        assert f"goes on as {answer['process_id']}; it was given 5 bytes of standard input" in answer["note"]
        assert f"corral proc write --eof {answer['process_id']} ends it" in answer["note"]

    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_nothing_is_said_if_all_of_it_was_given(self, real: Instance, house: House, options: list[str]) -> None:
        house.keeper.at_start = runs
        done = subprocess.run(
            real.argv("exec", "a", "-i", "--timeout", "1s", *options, "--", "x"), input=b"12345", capture_output=True
        )
        assert done.returncode == 124
        assert b"standard input" not in done.stdout + done.stderr
        assert (house.played().read, house.played().eof) == (b"12345", True)

    def test_nor_if_there_was_none(self, corral: Corral, house: House) -> None:
        house.keeper.at_start = runs
        assert "standard input" not in corral("exec", "a", "--timeout", "10ms", "--", "x").err


class TestStandardInputOfAPromotedCommand:
    @pytest.mark.parametrize("options", [[], ["--json"]])
    def test_is_given_to_it_with_its_end(self, real: Instance, house: House, options: list[str]) -> None:
        house.keeper.at_start = runs
        data = bytes(range(256)) * 4000
        done = subprocess.run(
            real.argv("exec", "a", "--stdin", *options, "-c", "cat &"), input=data, capture_output=True, check=True
        )
        assert (house.played().read, house.played().eof) == (data, True)
        assert b"ended in &" in done.stdout + done.stderr

    def test_is_not_waited_for_once_it_has_ended(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "-i", "-c", "cat &", stdin=subprocess.PIPE)
        house.do(house.played().end(5))
        assert process.wait(20) == 0
        ended(process)

    def test_is_waited_for_no_longer_than_is_said(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        process = begun(real, "a", "-i", "--timeout", "100ms", "-c", "cat &", stdin=subprocess.PIPE)
        assert process.wait(20) == 0
        assert process.stderr
        assert "it was given 0 bytes of standard input" in process.stderr.read().decode()
        assert not house.played().eof
        ended(process)

    def test_from_a_terminal_is_not_waited_for(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        code, text = run_on_terminal(real.argv("exec", "a", "--stdin", "-c", "cat &"), cwd=real.directory)
        assert (code, house.played().eof) == (0, False)
        assert f"its input stays open: corral proc write {house.played().order.process}" in text

    def test_is_left_alone_in_the_background(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        subprocess.run(real.argv("exec", "a", "-b", "--stdin", "-c", "cat &"), input=b"x", check=True)
        assert (house.played().read, house.played().eof) == (b"", False)


class TestStandardInputOfACommandThatReadsSlowly:
    """The host keeps only so much for it, and refuses more until it reads."""

    @pytest.mark.parametrize("line", [["--", "cat"], ["-c", "cat &"]])
    def test_is_not_lost(self, real: Instance, house: House, line: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        house.keeper.at_start = echoes
        write = house.keeper.write_process
        refused: list[bytes] = []

        async def full_at_times(team: str, agent: str, process: str, *, data: bytes, eof: bool) -> None:
            if data and len(refused) < 2:
                refused.append(data)
                raise RefusedError("much waits for it already", "")
            await write(team, agent, process, data=data, eof=eof)

        monkeypatch.setattr(house.keeper, "write_process", full_at_times)
        subprocess.run(real.argv("exec", "a", "--stdin", *line), input=b"all of it", capture_output=True, check=True)
        assert (house.played().read, house.played().eof, len(refused)) == (b"all of it", True, 2)


class Terminal:
    """A shell on a terminal of its own, that runs `corral exec --tty` and then tells how the terminal is."""

    def __init__(self, real: Instance, *words: str, rows: int = 31, columns: int = 97) -> None:
        self.received = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        command = " ".join(real.argv("exec", "a", "--tty", *words))
        self.process = subprocess.Popen(
            # The terminal is the shell's own, so that a new size is told to whoever is in the foreground.
            ["setsid", "--ctty", "sh", "-c", f"stty -g > before; {command}; echo code $?; stty -g > after"],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=real.directory,
        )
        os.close(slave)
        self._directory = real.directory

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, text: bytes) -> None:
        deadline = time.monotonic() + 20
        while text not in self.received:
            assert time.monotonic() < deadline, self.received
            if select.select([self._master], [], [], 0.5)[0]:
                self.received += os.read(self._master, 1 << 16)

    def close(self) -> None:
        """Wait for the shell's end. The terminal is as it was."""
        assert self.process.wait(20) == 0
        os.close(self._master)
        before, after = (Path(self._directory, name).read_text() for name in ("before", "after"))
        assert after == before


class TestTerminal:
    def test_becomes_the_commands_key_by_key_and_is_given_back(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top")
        order = house.played().order
        assert (order.tty, order.columns, order.rows, order.stdin) == (True, 97, 31, True)
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        terminal.type(b"q\x03\x1b[A")  # Ctrl-C is a key like any other
        wait_for(lambda: house.played().read == b"q\x03\x1b[A", what="the keys")
        assert house.asked("signal") == []
        terminal.resize(40, 120)
        wait_for(lambda: house.asked("resize"), what="the new size")
        assert house.asked("resize") == [{"columns": 120, "rows": 40}]
        house.do(house.played().end(4))
        terminal.until(b"code 4")
        terminal.close()

    @pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 80)])
    def test_that_does_not_know_its_size_has_the_usual_one(
        self, real: Instance, house: House, rows: int, columns: int
    ) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top", rows=rows, columns=columns)
        order = house.played().order
        assert (order.tty, order.columns, order.rows) == (True, 120, 40)
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        terminal.resize(0, 0)
        terminal.resize(40, 100)
        wait_for(lambda: house.asked("resize"), what="the new size")
        assert house.asked("resize") == [{"columns": 100, "rows": 40}]
        house.do(house.played().end(0))
        terminal.until(b"code 0")
        terminal.close()

    def test_is_given_back_before_anything_is_said(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--timeout", "100ms", "--", "top")
        terminal.until(b"code 124")
        assert b"waits for it\r\n" in terminal.received
        assert b"standard input" not in terminal.received
        terminal.close()

    def test_is_given_back_also_if_we_are_told_to_end(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top")
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        children = Path(f"/proc/{terminal.process.pid}/task/{terminal.process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        terminal.until(b"code 143")
        terminal.close()

    def test_is_given_back_when_the_daemon_goes_away(self, real: Instance, house: House) -> None:
        house.keeper.at_start = runs
        terminal = Terminal(real, "--", "top")
        house.do(house.played().write(b"READY"))
        terminal.until(b"READY")
        house.do(house.scene.ask("POST", "/v1/daemon/stop"))
        terminal.until(b"code 6")
        terminal.close()


def test_nothing_of_the_server_side_is_loaded(real: Instance, house: House) -> None:
    code = (
        "import sys\n"
        "from corral.cli.main import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    for words in (["exec", "a", "--", "x"], ["exec", "a", "--json", "-c", "x"], ["proc", "ls"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        loaded = set(done.stderr.split())
        assert loaded.isdisjoint({"msgspec", "starlette", "re2", "asyncio", "uvicorn", "argparse"})
