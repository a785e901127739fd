"""What somebody else's program wrote: a terminal gets only what shows something, a file or a pipe every byte."""

import subprocess
from collections.abc import Callable

import pytest

from corral.cli.output import json_line
from tests.support.instance import Instance
from tests.unit.cli.house import House
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.cli.test_proc import over
from tests.unit.client.fake_daemon import FakeDaemon, document, stream
from tests.unit.service.fake_keeper import prints

#: Fills the clipboard, asks who the terminal is and for what it is set to, and renames its window; and a colour.
SAID = b"\x1b]52;c;cm0gLXJm\x07\x1b[c\x1b[>q\x1bP$qm\x1b\\\x1b]0;root\x07\x1b[1;31mred\x1b[m \xc2\x9b6n\x9d done"
TEXT = SAID.decode("utf-8", "replace")
SHOWN = "\x1b[1;31mred\x1b[m 6n\ufffd done"


def _logs(daemon: FakeDaemon) -> list[str]:
    pieces = [{"team": "shop", "agent": agent, "time": 1.0, "text": text} for agent, text in _INTERLEAVED]
    daemon.answer("GET", "/v1/logs", stream(*pieces))
    return ["logs", "--raw", "a"]


#: What one of two agents has not finished yet is nothing of the other's.
_INTERLEAVED = (("a", TEXT[:8]), ("b", "\x1b[32m"), ("a", TEXT[8:]))


def _screen(daemon: FakeDaemon) -> list[str]:
    daemon.answer("GET", "/v1/screen", document({"team": "shop", "agent": "a", "lines": [TEXT]}))
    return ["logs", "--screen", "a"]


def _value(daemon: FakeDaemon) -> list[str]:
    daemon.answer("GET", "/v1/kv", document({"key": "k", "revision": 1, "value": TEXT}))
    return ["kv", "get", "k", "--team", "shop"]


@pytest.mark.parametrize("command", [_logs, _screen, _value])
def test_of_the_daemons_answers(real: Instance, daemon: FakeDaemon, command: Callable[[FakeDaemon], list[str]]) -> None:
    argv = real.argv(*command(daemon))
    code, text = run_on_terminal(argv, cwd=real.directory)
    assert code == 0
    assert text.replace("\x1b[32m", "").rstrip("\r\n") == SHOWN
    out = subprocess.run(argv, cwd=real.directory, capture_output=True, check=True).stdout.decode()
    assert out.replace("\x1b[32m", "").rstrip("\n") == TEXT


@pytest.mark.parametrize("more", [[], ["-n", "1"], ["-f"], ["--until", "done"]])
def test_of_a_process(real: Instance, house: House, more: list[str]) -> None:
    argv = real.argv("proc", "output", *more, over(house, SAID + b"\n"))
    assert run_on_terminal(argv, cwd=real.directory) == (0, SHOWN + "\r\n")
    assert subprocess.run(argv, cwd=real.directory, capture_output=True, check=True).stdout == SAID + b"\n"


def test_of_a_command_in_the_foreground(real: Instance, house: House) -> None:
    house.keeper.at_start = prints(SAID)
    argv = real.argv("exec", "a", "--", "x")
    assert run_on_terminal(argv, cwd=real.directory) == (0, SHOWN)
    assert subprocess.run(argv, cwd=real.directory, capture_output=True, check=True).stdout == SAID


def test_json_has_no_control_characters_of_any_kind() -> None:
    assert json_line({"a": "\x1b\x7f\x9bé\n"}) == b'{"a": "\\u001b\\u007f\\u009b\xc3\xa9\\n"}\n'
    assert json_line({"a": "\ud8ff\x9b"}) == b'{"a": "\\ud8ff\\u009b"}\n'
