"""`corral down`: which team, and the receipt."""

import json
from pathlib import Path

import pytest

from corral.places import Places
from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, refusal, stream


def receipt(**changes: object) -> dict[str, object]:
    checks: list[object] = [
        {"what": what, "found": 0, "residue": []} for what in ("processes", "tmux_servers", "worktrees")
    ]
    clean = {"team": "shop", "clean": True, "checks": checks, "seconds": 1.23, "kept": [], "stopped": ["a", "b"]}
    return {**clean, **changes}


def taken_down(**changes: object) -> bytes:
    progress = {"progress": {"agent": "a", "step": "stopped", "detail": "", "done": 1, "of": 2}}
    return stream(progress, {"result": receipt(**changes)})


LEFT = {
    "what": "processes",
    "found": 2,
    "residue": [
        {"kind": "process", "name": "node", "pid": 12, "command": "node server.js", "why": "still runs"},
        {"kind": "process", "name": "cat", "pid": 13, "command": "\x1b[1mcat", "why": ""},
    ],
}
NOT_COUNTED: dict[str, object] = {"what": "sockets", "found": None, "residue": []}


class TestTheReceipt:
    def test_of_a_clean_end(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/down", taken_down())
        outcome = corral("down")
        assert outcome.code == 0
        assert outcome.out.splitlines() == [
            "shop is down, 2 agents stopped, nothing is left (1.2 s)",
            "  ✓ processes     none left",
            "  ✓ tmux servers  none left",
            "  ✓ worktrees     none left",
        ]
        assert outcome.err == "a: stopped\n"

    def test_does_not_say_that_people_hold_nothing(self, corral: Corral, daemon: FakeDaemon) -> None:
        checks: list[object] = [{"what": what, "found": 0, "residue": []} for what in ("sockets", "leases", "claims")]
        daemon.answer("POST", "/v1/down", taken_down(checks=checks))
        assert corral("down").out.splitlines()[1:] == [
            "  ✓ sockets  none left",
            "  ✓ leases   none left with its agents",
            "  ✓ claims   none left with its agents",
        ]

    def test_names_what_is_left(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/down", taken_down(clean=False, checks=[LEFT, NOT_COUNTED], stopped=[]))
        outcome = corral("down")
        assert outcome.code == 5
        assert outcome.out.splitlines() == [
            "shop is not all down (1.2 s)",
            "  ✗ processes  2 left",
            "      pid 12  node server.js  (still runs)",
            "      pid 13  �[1mcat",
            "  ✗ sockets    could not be counted",
        ]
        assert "corral: shop: something was left behind: 2 processes, unknown sockets\n" in outcome.err

    def test_of_one_it_does_not_speak_as_of_many(self, corral: Corral, daemon: FakeDaemon) -> None:
        one: list[object] = [
            {"what": what, "found": 1, "residue": []} for what in ("processes", "tmux_servers", "worktrees")
        ]
        daemon.answer("POST", "/v1/down", taken_down(clean=False, checks=one))
        assert "left behind: 1 process, 1 tmux server, 1 worktree\n" in corral("down").err

    def test_names_a_port_with_whoever_has_it(self, corral: Corral, daemon: FakeDaemon) -> None:
        port: dict[str, object] = {"kind": "port", "name": "tcp 127.0.0.1:8080", "pid": None, "command": "", "why": ""}
        left = [{**port, "pid": 12, "command": "node server.js", "why": "somebody still listens"}, port]
        daemon.answer(
            "POST", "/v1/down", taken_down(clean=False, checks=[{"what": "ports", "found": 2, "residue": left}])
        )
        assert corral("down").out.splitlines()[1:] == [
            "  ✗ ports  2 left",
            "      tcp 127.0.0.1:8080  pid 12  node server.js  (somebody still listens)",
            "      tcp 127.0.0.1:8080",
        ]

    def test_does_not_advise_to_discard_what_discard_leaves_alone(self, corral: Corral, daemon: FakeDaemon) -> None:
        kept = [
            {"path": "/w/a", "why": "not a git worktree", "in_the_way": True},
            {"path": "/w/b", "why": "a symbolic link, which Corral neither follows nor removes", "in_the_way": True},
            {"path": "/w/c", "why": "1 untracked file"},
        ]
        daemon.answer("POST", "/v1/down", taken_down(kept=kept))
        assert corral("down").out.splitlines()[-5:] == [
            "kept, because work in it would be lost (corral down -t shop --discard throws it away):",
            "  • /w/c  1 untracked file",
            "left alone, also by --discard (look at what it is, and move it away yourself):",
            "  • /w/a  not a git worktree",
            "  • /w/b  a symbolic link, which Corral neither follows nor removes",
        ]

    def test_names_the_work_that_was_kept_and_why(self, corral: Corral, daemon: FakeDaemon) -> None:
        kept = [{"path": "/w/a", "why": "uncommitted changes"}]
        daemon.answer("POST", "/v1/down", taken_down(kept=kept))
        outcome = corral("down")
        assert outcome.code == 0
        assert outcome.out.splitlines()[-2:] == [
            "kept, because work in it would be lost (corral down -t shop --discard throws it away):",
            "  • /w/a  uncommitted changes",
        ]

    def test_as_json(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/down", taken_down())
        outcome = corral("down", "--json")
        assert (outcome.json, outcome.err, outcome.code) == (receipt(), "", 0)
        daemon.answer("POST", "/v1/down", taken_down(clean=False, checks=[LEFT]))
        outcome = corral("down", "--json")
        assert (outcome.code, outcome.json["checks"], outcome.error["code"]) == (5, [LEFT], "residue")


class TestTheQuestion:
    def test_by_name(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("POST", "/v1/down", taken_down())
        corral("down", "-t", "shop", "--grace", "30s", "--discard")
        sent = daemon.last.json()
        assert (sent["team"], sent["grace"], sent["discard"]) == ("shop", 30, True)
        assert "file" not in sent

    def test_by_file(self, corral: Corral, daemon: FakeDaemon, own_directory: Path) -> None:
        daemon.answer("POST", "/v1/down", taken_down())
        corral("down", "-f", "gone.toml")
        assert daemon.last.json()["file"] == str(own_directory / "gone.toml")

    def test_by_directory(self, corral: Corral, daemon: FakeDaemon, own_directory: Path) -> None:
        daemon.answer("POST", "/v1/down", taken_down())
        corral("down")
        assert daemon.last.json() == {"cwd": str(own_directory), "grace": None, "discard": False}
        (own_directory / "corral.toml").touch()
        corral("down")
        assert daemon.last.json()["file"] == str(own_directory / "corral.toml")

    def test_not_by_both(self, corral: Corral) -> None:
        assert corral("down", "-t", "shop", "-f", "x").code == 2


class TestATeamAtRest:
    def test_is_found_by_the_name_in_its_file(
        self, corral: Corral, daemon: FakeDaemon, places: Places, own_directory: Path
    ) -> None:
        Path(places.worktree("shop", "a")).mkdir(parents=True)
        (own_directory / "corral.toml").write_text('[team]\nname = "shop"\n[agents.a]\ncommand = ["x"]\n')
        daemon.answer("POST", "/v1/down", refusal(404, "not_found", "no team of that file is up", ""))
        assert corral("down", "--discard").code == 3
        sent = daemon.last.json()
        assert (sent["file"], sent["team"]) == (str(own_directory / "corral.toml"), "shop")

    def test_without_a_daemon_needs_one(self, corral: Corral, places: Places) -> None:
        Path(places.worktree("shop", "a")).mkdir(parents=True)
        outcome = corral("down", "--discard", "-t", "shop")
        assert outcome.code == 6
        assert "corral daemon start" in outcome.err


class TestWithoutADaemon:
    def test_no_team_is_up(self, corral: Corral, places: Places) -> None:
        outcome = corral("down", "-t", "shop")
        assert (outcome.code, outcome.err.splitlines()[0]) == (3, "corral: no team is up")

    @pytest.mark.usefixtures("somebody_was_here")
    def test_or_nobody_knows(self, corral: Corral) -> None:
        assert corral("down").code == 6


def test_a_daemon_that_dies_on_the_way(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("POST", "/v1/down", stream(json.loads('{"progress": {"agent": "a", "step": "stopping"}}')))
    assert corral("down").code == 6
