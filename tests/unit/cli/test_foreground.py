"""A program that has the terminal to itself: keys and signals are its own, and its shell can get the terminal back."""

import os
import signal
import subprocess
import sys

import pytest

from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.waiting import wait_for

_RUN = """
import os, sys
from corral.cli.foreground import run_in_front
print("code", run_in_front(sys.argv[1:], os.environ))
"""


def in_front(*argv: str) -> list[str]:
    """The command that runs `argv` so, and prints its exit code then."""
    return [sys.executable, "-c", _RUN, *argv]


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -9 $$", 137)])
def test_its_exit_code_is_that_of_the_program(script: str, code: int) -> None:
    done = subprocess.run(in_front("sh", "-c", script), stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == f"code {code}\n"


def test_ctrl_c_is_for_the_program_alone() -> None:
    script = "trap 'exit 9' INT; echo here; while :; do sleep 0.05; done"
    with AtTheKeyboard(in_front("sh", "-c", script), os.environ) as person:
        wait_for(lambda: b"here" in person.shown, 20, "it runs")
        person.press("\x03")
        wait_for(lambda: b"code 9" in person.shown, 20, "it has ended in its own way, and we after it")


def test_who_is_asked_to_end_asks_the_program() -> None:
    script = "trap 'exit 6' TERM; echo here; while :; do sleep 0.05; done"
    with subprocess.Popen(in_front("sh", "-c", script), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.terminate()
        assert process.stdout.read() == "code 6\n"


def test_one_that_suspends_itself_takes_us_along_and_goes_on_with_us() -> None:
    with subprocess.Popen(in_front("sh", "-c", "kill -STOP $$; exit 5"), stdout=subprocess.PIPE, text=True) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "as a shell sees it, which has its prompt back then"
        process.send_signal(signal.SIGCONT)
        assert process.stdout is not None
        assert process.stdout.read() == "code 5\n"
