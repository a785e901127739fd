"""`corral exec`: output byte for byte, the command's own exit code, the background, JSON, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys

import pytest

from corral.ports.processes import Survivor
from corral.ports.runs import ExitStatus
from tests.support.instance import Instance
from tests.support.waiting import wait_for
from tests.unit.cli.conftest import Corral
from tests.unit.cli.executing import begun, ended
from tests.unit.cli.house import House
from tests.unit.service.fake_keeper import Played, echoes, prints, runs


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
