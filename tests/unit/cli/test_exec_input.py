"""`corral exec --stdin`: what is read reaches the command byte for byte, and whoever is not waited for is told so."""

import json
import shlex
import subprocess

import pytest

from corral.domain.errors import RefusedError
from tests.support.instance import Instance
from tests.support.waiting import wait_for
from tests.unit.cli.conftest import Corral
from tests.unit.cli.executing import begun, ended
from tests.unit.cli.house import House
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.service.fake_keeper import echoes, prints, runs


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
