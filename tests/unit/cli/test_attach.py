"""`corral attach`: the terminal becomes the agent's."""

import sys

import pytest

from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.fake_daemon import FakeDaemon, document

SHOW = "import os; print(os.environ.get('TMUX'), os.environ.get('TMUX_PANE'), os.environ['EDITOR'], os.isatty(0))"


def attach_runs(daemon: FakeDaemon, *argv: str) -> None:
    daemon.answer("GET", "/v1/attach", document({"team": "shop", "agent": "a", "argv": argv, "user": "me"}))


def test_becomes_what_the_daemon_names_without_the_tmux_around_it(real: Instance, daemon: FakeDaemon) -> None:
    attach_runs(daemon, sys.executable, "-c", SHOW + "; raise SystemExit(7)")
    env = {"TMUX": "/tmp/x,1,0", "TMUX_PANE": "%1", "EDITOR": "ed"}
    code, text = run_on_terminal(real.argv("attach", "-r", "a"), env=env, cwd=real.directory)
    assert (code, text.strip()) == (7, "None None ed True")
    assert daemon.last.query["read_only"] == ["1"]


def test_of_an_agent_without_a_terminal_one_can_only_watch_and_is_told_so(real: Instance, daemon: FakeDaemon) -> None:
    answer = {"team": "shop", "agent": "a", "argv": [sys.executable, "-c", "print('its output')"], "terminal": "none"}
    daemon.answer("GET", "/v1/attach", document(answer))
    code, text = run_on_terminal(real.argv("attach", "a"), cwd=real.directory)
    assert code == 0
    assert "a has no terminal" in text
    assert text.endswith("corral send a speaks to it\r\nits output\r\n")


def test_to_watch_one_needs_no_terminal_either(real: Instance, daemon: FakeDaemon) -> None:
    answer = {"team": "shop", "agent": "a", "argv": [sys.executable, "-c", "print('its output')"], "terminal": "none"}
    daemon.answer("GET", "/v1/attach", document(answer))
    done = real.run("attach", "a", check=False)
    assert (done.returncode, done.stdout) == (0, "its output\n")
    assert done.stderr.startswith("a has no terminal")


def test_needs_a_terminal(corral: Corral, daemon: FakeDaemon) -> None:
    attach_runs(daemon, "/no/such/tmux")
    outcome = corral("attach", "a")
    assert outcome.code == 2
    assert outcome.err.startswith("corral: attach needs a terminal")
    assert "corral logs -f a" in outcome.err


def test_json_says_what_would_be_run(corral: Corral, daemon: FakeDaemon) -> None:
    attach_runs(daemon, "tmux", "-S", "/x", "attach")
    assert corral("attach", "a", "--json").json["argv"] == ["tmux", "-S", "/x", "attach"]
    assert daemon.last.query["read_only"] == ["0"]


@pytest.mark.parametrize("argv", [["/no/such/tmux"], []])
def test_what_cannot_be_run_is_unavailable(real: Instance, daemon: FakeDaemon, argv: list[str]) -> None:
    attach_runs(daemon, *argv)
    code, text = run_on_terminal(real.argv("attach", "a"), cwd=real.directory)
    assert code == 6
    assert "is tmux installed" in text
