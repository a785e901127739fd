"""`corral attach`: the terminal becomes the agent's."""

import sys

import pytest

from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.fake_daemon import FakeDaemon, document, refusal

SHOW = "import os; print(os.environ.get('TMUX'), os.environ.get('TMUX_PANE'), os.environ['EDITOR'], os.isatty(0))"


A = {"team": "shop", "agent": "a", "state": "running", "pid": 7, "terminal": "tmux", "reason": ""}


def attach_runs(daemon: FakeDaemon, *argv: str, terminal: str = "tmux") -> None:
    daemon.answer("GET", "/v1/agents", document([{**A, "terminal": terminal}]))
    answer = {"team": "shop", "agent": "a", "argv": argv, "user": "me", "terminal": terminal}
    daemon.answer("GET", "/v1/attach", document(answer))


def becomes(daemon: FakeDaemon, *looks: bytes) -> None:
    """What is told of the agent, one look after the other; the last one stays."""
    left = list(looks)
    daemon.answer("GET", "/v1/agents", lambda _: left.pop(0) if len(left) > 1 else left[0])


def test_becomes_what_the_daemon_names_without_the_tmux_around_it(real: Instance, daemon: FakeDaemon) -> None:
    attach_runs(daemon, sys.executable, "-c", SHOW + "; raise SystemExit(7)")
    env = {"TMUX": "/tmp/x,1,0", "TMUX_PANE": "%1", "EDITOR": "ed"}
    code, text = run_on_terminal(real.argv("attach", "-r", "a"), env=env, cwd=real.directory)
    assert (code, text.strip()) == (7, "None None ed True"), "and of an agent that goes on nothing is said then"
    (joined,) = [request for request in daemon.requests if request.path == "/v1/attach"]
    assert joined.query["read_only"] == ["1"]


def test_of_an_agent_without_a_terminal_one_can_only_watch_and_is_told_so(real: Instance, daemon: FakeDaemon) -> None:
    attach_runs(daemon, sys.executable, "-c", "print('its output')", terminal="none")
    code, text = run_on_terminal(real.argv("attach", "a"), cwd=real.directory)
    assert code == 0
    assert "a has no terminal" in text
    assert text.endswith("corral send a speaks to it\r\nits output\r\n")


def test_to_watch_one_needs_no_terminal_either(real: Instance, daemon: FakeDaemon) -> None:
    attach_runs(daemon, sys.executable, "-c", "print('its output')", terminal="none")
    done = real.run("attach", "a", check=False)
    assert (done.returncode, done.stdout) == (0, "its output\n")
    assert done.stderr.startswith("a has no terminal")


def test_needs_a_terminal(corral: Corral, daemon: FakeDaemon) -> None:
    attach_runs(daemon, "/no/such/tmux")
    outcome = corral("attach", "a")
    assert outcome.code == 2
    assert outcome.err.startswith("corral: attach needs a terminal")
    assert "corral logs -f shop/a" in outcome.err
    assert [request.path for request in daemon.requests] == ["/v1/agents"], "nobody was there: nothing is journalled"


def test_its_own_terminal_is_not_joined(corral: Corral, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    attach_runs(daemon, "/no/such/tmux")
    monkeypatch.setenv("CORRAL_TEAM", "shop")
    monkeypatch.setenv("CORRAL_AGENT", "a")
    outcome = corral("attach", "a")
    assert (outcome.code, "a's own terminal" in outcome.err) == (2, True)
    assert "/v1/attach" not in [request.path for request in daemon.requests]


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"pid": 7}, ""),
        ({"state": "stopped", "reason": "its lifetime is over"}, "a is stopped (its lifetime is over); corral restart"),
        ({"state": "stopped"}, "a is stopped; corral restart shop/a starts it again"),
        ({"state": "failed", "reason": "exit 3"}, "a is failed (exit 3); corral restart shop/a starts it again"),
        ({"state": "backoff", "reason": "exit 3; soon"}, "a is backoff (exit 3; soon)"),
        ({"pid": 8}, "a was started again: corral attach shop/a joins it"),
        (None, "a is gone: corral events -t shop"),
    ],
)
def test_whoever_was_attached_is_told_what_became_of_the_agent(
    real: Instance, daemon: FakeDaemon, after: dict[str, object] | None, said: str
) -> None:
    attach_runs(daemon, "true")
    now = refusal(404, "not_found", "there is no agent a", "") if after is None else document([{**A, **after}])
    becomes(daemon, document([A]), document([{**A, "state": "stopping"}]), now)
    code, text = run_on_terminal(real.argv("attach", "a"), cwd=real.directory)
    assert code == 0
    assert text.startswith(said) if said else text == ""


def test_a_last_screen_is_called_that(real: Instance, daemon: FakeDaemon) -> None:
    attach_runs(daemon, "echo", "its screen")
    becomes(daemon, document([{**A, "state": "failed", "pid": None, "reason": "exit 3"}]))
    code, text = run_on_terminal(real.argv("attach", "a"), cwd=real.directory)
    assert (code, text.splitlines()) == (
        0,
        ["a is failed (exit 3): this is its last screen. corral restart shop/a starts it again", "its screen"],
    )


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
