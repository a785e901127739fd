"""How every command ends: exit codes, errors for people and for programs, ctrl-c, readers that go away."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.cli import version
from corral.domain import errors
from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.fake_daemon import FakeDaemon, Request, refusal, stream


class TestErrors:
    def test_say_what_and_the_remedy_on_stderr(self, corral: Corral) -> None:
        outcome = corral("pss")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err == "corral: there is no command 'pss'\n  → did you mean ps?\n"

    def test_are_one_object_with_json_even_if_the_words_are_wrong(self, corral: Corral) -> None:
        outcome = corral("ps", "--json", "--nonsense")
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.error["code"] == "wrong_use"

    @pytest.mark.parametrize(
        ("code", "exit_code"),
        [
            (kind.code, kind.exit_code)
            for kind in (
                errors.CorralError,
                errors.WrongUseError,
                errors.BadSpecError,
                errors.NotFoundError,
                errors.RefusedError,
                errors.ResidueError,
                errors.UnavailableError,
            )
        ],
    )
    def test_of_the_daemon_keep_their_code(self, corral: Corral, daemon: FakeDaemon, code: str, exit_code: int) -> None:
        daemon.answer("GET", "/v1/attach", refusal(400, code, "the message", "the remedy"))
        outcome = corral("attach", "x", "--json")
        assert outcome.code == exit_code
        assert outcome.error == {"code": code, "message": "the message", "remedy": "the remedy"}

    def test_cannot_write_on_the_terminal_as_they_like(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", refusal(500, "failed", "last words: \x1b[2J\x07", ""))
        outcome = corral("ps")
        assert outcome.err == "corral: last words: �[2J�\n"

    def test_of_our_own_making_are_no_traceback(self, corral: Corral, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(_: object) -> int:
            raise KeyError("x")

        monkeypatch.setattr(version.COMMAND, "run", broken)
        outcome = corral("version")
        assert outcome.code == 1
        assert outcome.err.startswith("corral: unexpected KeyError: 'x'\n  → this is a mistake in Corral")
        assert corral("version", "--json").error["code"] == "failed"
        monkeypatch.setenv("CORRAL_TRACEBACK", "1")
        with pytest.raises(KeyError):
            corral("version")

    def test_in_a_directory_that_is_gone(self, corral: Corral, own_directory: Path) -> None:
        gone = own_directory / "gone"
        gone.mkdir()
        os.chdir(gone)
        gone.rmdir()
        outcome = corral("up")
        assert (outcome.code, outcome.err.splitlines()[0]) == (
            1,
            "corral: the current directory does not exist any more",
        )


class TestColour:
    def test_on_a_terminal(self, real: Instance) -> None:
        code, text = run_on_terminal(real.argv("pss"))
        assert code == 2
        assert "\x1b[31mcorral:\x1b[0m there is no command" in text

    @pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_not_if_it_is_not_wanted(self, real: Instance, env: dict[str, str]) -> None:
        assert "\x1b" not in run_on_terminal(real.argv("pss"), env=env)[1]


class TestEnds:
    def test_ctrl_c_is_130_and_quiet(self, real: Instance, daemon: FakeDaemon) -> None:
        over = threading.Event()

        def first_then_silence(_: Request) -> Iterator[bytes]:
            yield stream({"seq": 1, "time": "", "event": "began"})
            over.wait()

        daemon.answer("GET", "/v1/events", first_then_silence)
        process = subprocess.Popen(
            real.argv("events", "-f"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=real.directory
        )
        with process:
            assert process.stdout
            assert process.stderr
            assert b"began" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.stderr.read() == b""
        over.set()
        assert process.returncode == 130

    def test_a_reader_that_goes_away_is_no_error(self, real: Instance, daemon: FakeDaemon) -> None:
        record = {"seq": 1, "time": "", "event": "x" * 1000}

        def on_and_on(_: Request) -> Iterator[bytes]:
            yield stream()
            while True:
                yield stream(record).partition(b"\r\n\r\n")[2]

        daemon.answer("GET", "/v1/events", on_and_on)
        process = subprocess.Popen(
            real.argv("events", "-f"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=real.directory
        )
        with process:
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 141

    def test_output_that_cannot_be_written_is_a_failure(self, real: Instance) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run(real.argv("version"), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (done.returncode, done.stderr) == (1, "corral: No space left on device\n")

    def test_closed_streams_harm_nobody(self, real: Instance) -> None:
        command = " ".join(real.argv("version")) + " >&- 2>&- <&-"
        assert subprocess.run(["sh", "-c", command], check=False).returncode == 0

    def test_a_locale_without_arrows(self, real: Instance) -> None:
        done = real.run("pss", env={"PYTHONIOENCODING": "ascii"}, check=False)
        assert done.stderr == "corral: there is no command 'pss'\n  ? did you mean ps?\n"
