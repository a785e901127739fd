"""`corral pause` and `resume`: which agents, what is said, and what counts as done."""

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, stream


def done(*agents: dict[str, object]) -> bytes:
    steps = [{"progress": {"agent": "a", "step": step, "done": 0, "of": 1}} for step in ("pausing", "paused")]
    return stream(*steps, {"result": {"team": "shop", "agents": agents}})


def held(agent: str, *, paused: bool, changed: bool, state: str = "running") -> dict[str, object]:
    return {"agent": agent, "state": state, "paused": paused, "changed": changed, "detail": ""}


@pytest.mark.parametrize("command", ["pause", "resume"])
class TestBoth:
    def test_need_names_or_all(self, corral: Corral, command: str) -> None:
        assert corral(command).err.startswith(f"corral: {command} needs an AGENT\n")
        assert corral(command, "a", "--all").code == 2

    def test_send_who_and_nothing_that_only_ending_needs(
        self, corral: Corral, daemon: FakeDaemon, command: str
    ) -> None:
        daemon.answer("POST", f"/v1/{command}", done())
        corral(command, "shop/a", "b")
        sent = daemon.last.json()
        assert sent.pop("cwd")
        assert sent == {"team": "shop", "agents": ["a", "b"], "all": False}

    def test_json_is_the_result(self, corral: Corral, daemon: FakeDaemon, command: str) -> None:
        daemon.answer("POST", f"/v1/{command}", done())
        outcome = corral(command, "a", "--json")
        assert (outcome.json, outcome.err) == ({"team": "shop", "agents": []}, "")

    def test_never_start_a_daemon(self, corral: Corral, command: str) -> None:
        assert corral(command, "a").code == 3


class TestPause:
    def test_says_a_line_an_agent_and_whether_it_was_so_already(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer(
            "POST",
            "/v1/pause",
            done(
                held("a", paused=True, changed=True),
                held("b", paused=True, changed=False),
                held("c", paused=False, changed=False, state="stopped"),
            ),
        )
        outcome = corral("pause", "--all")
        assert outcome.out == "a: paused\nb: was paused already\nc: stopped, not paused\n"
        assert (outcome.code, outcome.err) == (0, "")

    def test_of_one_that_is_about_to_run_again_failed(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/pause", done(held("a", paused=False, changed=False, state="backoff")))
        outcome = corral("pause", "--all")
        assert (outcome.code, outcome.out) == (1, "a: backoff, not paused\n")
        assert outcome.err.startswith("corral: not paused: a\n")


class TestResume:
    def test_says_a_line_an_agent_and_whether_there_was_something_to_do(
        self, corral: Corral, daemon: FakeDaemon
    ) -> None:
        daemon.answer(
            "POST",
            "/v1/resume",
            done(held("a", paused=False, changed=True), held("b", paused=False, changed=False)),
        )
        outcome = corral("resume", "a", "b")
        assert (outcome.code, outcome.out) == (0, "a: resumed\nb: was not paused\n")
