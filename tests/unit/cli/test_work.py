"""`corral stop`, `restart` and `rm`: which agents, what is said, and what counts as done."""

import os
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, stream


def done(*agents: dict[str, object]) -> bytes:
    steps = [{"progress": {"agent": "a", "step": step, "done": 0, "of": 1}} for step in ("stopping", "stopped")]
    return stream(*steps, {"result": {"team": "shop", "agents": agents}})


@pytest.mark.parametrize("command", ["stop", "restart", "rm"])
class TestAll:
    def test_need_names_or_all(self, corral: Corral, command: str) -> None:
        assert corral(command).err.startswith(f"corral: {command} needs an AGENT\n")
        assert corral(command, "a", "--all").code == 2

    def test_send_who_and_how_long(self, corral: Corral, daemon: FakeDaemon, command: str) -> None:
        daemon.answer("POST", f"/v1/{command}", done())
        corral(command, "shop/a", "b", "--grace", "1m")
        sent = daemon.last.json()
        assert (sent["team"], sent["agents"], sent["all"], sent["grace"]) == ("shop", ["a", "b"], False, 60)
        corral(command, "--all")
        sent = daemon.last.json()
        assert (sent["agents"], sent["all"], sent["grace"]) == ([], True, None)
        assert "team" not in sent

    def test_say_which_file_is_around_if_no_team_is_named(
        self, corral: Corral, daemon: FakeDaemon, command: str, own_directory: Path
    ) -> None:
        daemon.answer("POST", f"/v1/{command}", done())
        corral(command, "--all")
        assert "nearest" not in daemon.last.json()
        (own_directory / "corral.toml").touch()
        corral(command, "--all")
        assert daemon.last.json()["nearest"] == str(own_directory / "corral.toml")
        corral(command, "--all", "-t", "shop")
        assert "nearest" not in daemon.last.json()

    def test_json_is_the_result(self, corral: Corral, daemon: FakeDaemon, command: str) -> None:
        daemon.answer("POST", f"/v1/{command}", done())
        outcome = corral(command, "a", "--json")
        assert (outcome.json, outcome.err) == ({"team": "shop", "agents": []}, "")

    def test_a_daemon_that_goes_away_is_exit_6(self, corral: Corral, daemon: FakeDaemon, command: str) -> None:
        daemon.answer("POST", f"/v1/{command}", stream({"progress": {"agent": "a", "step": "stopping"}}))
        outcome = corral(command, "a")
        assert outcome.code == 6
        assert "went away before the work was done" in outcome.err

    def test_from_a_directory_with_an_unreadable_name(
        self, corral: Corral, daemon: FakeDaemon, command: str, own_directory: Path
    ) -> None:
        daemon.answer("POST", f"/v1/{command}", done())
        os.mkdir(b"\xff")
        os.chdir(b"\xff")
        assert corral(command, "a").code == 0
        assert daemon.last.json()["cwd"] == f"{own_directory}/?"

    def test_never_start_a_daemon(self, corral: Corral, command: str) -> None:
        assert corral(command, "a").code == 3


class TestStop:
    def test_says_a_line_an_agent(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer(
            "POST",
            "/v1/stop",
            done(
                {"agent": "a", "state": "stopped", "detail": ""}, {"agent": "b", "state": "failed", "detail": "code 1"}
            ),
        )
        outcome = corral("stop", "a", "b")
        assert (outcome.code, outcome.out, outcome.err) == (0, "a: stopped\nb: failed (code 1)\n", "")

    def test_of_one_that_still_runs_failed(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/stop", done({"agent": "a", "state": "unknown", "detail": "no answer"}))
        outcome = corral("stop", "a")
        assert (outcome.code, outcome.err.splitlines()[0]) == (1, "corral: not stopped: a")


class TestRestart:
    def test_says_a_line_an_agent(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/restart", done({"agent": "a", "state": "running", "detail": ""}))
        assert (corral("restart", "a").code, corral("restart", "a").out) == (0, "a: running\n")

    def test_of_one_that_does_not_come_back_failed(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/restart", done({"agent": "a", "state": "failed", "detail": "exit code 127"}))
        outcome = corral("restart", "a", "--json")
        assert (outcome.code, outcome.error["message"]) == (1, "not running again: a")
        assert outcome.json["agents"][0]["state"] == "failed"


class TestRm:
    def test_names_what_is_kept(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer(
            "POST", "/v1/rm", done({"agent": "a", "removed": True, "kept": "/w/a", "detail": "uncommitted changes"})
        )
        outcome = corral("rm", "--discard", "--force", "a")
        assert outcome.code == 0
        assert outcome.out.splitlines() == [
            "a: removed (uncommitted changes)",
            "  its workspace stays: /w/a",
        ]
        assert (daemon.last.json()["discard"], daemon.last.json()["force"]) == (True, True)

    def test_of_one_that_runs_is_refused(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/rm", done({"agent": "a", "removed": False, "kept": None, "detail": "it runs"}))
        outcome = corral("rm", "a")
        assert (outcome.code, outcome.out) == (4, "a: not removed (it runs)\n")
        assert "--force" in outcome.err
