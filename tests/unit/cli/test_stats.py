"""`corral stats`: the table for people, lists for programs, drawn in place on a terminal."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from corral.places import Places
from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.fake_daemon import FakeDaemon, refusal, stream

#: Level "process": nothing but processor time, memory and tasks.
PLAIN: dict[str, Any] = {
    "team": "shop",
    "agent": "docs",
    "state": "running",
    "paused": False,
    "time": "2026-11-15T10:40:30.761Z",
    "cpu_percent": 12.5,
    "cpu_seconds": 192.4,
    "memory_current": 340 << 20,
    "memory_peak": None,
    "memory_limit": None,
    "tasks": 12,
    "tasks_limit": None,
    "pressure": None,
    "oom_kills": None,
    "containment": "process",
    "cgroup": "",
}
#: Level "systemd": everything.
FULL = PLAIN | {
    "agent": "api",
    "memory_peak": 1_288_490_189,
    "memory_limit": 2 << 30,
    "tasks_limit": 100,
    "pressure": {"cpu": 1.25, "memory": 40.5, "io": 0.0},
    "oom_kills": 0,
    "containment": "systemd",
    "cgroup": "/user.slice/corral-shop-api.scope",
}
NOTHING = PLAIN | dict.fromkeys(
    ("cpu_percent", "cpu_seconds", "memory_current", "memory_peak", "memory_limit", "tasks", "tasks_limit")
)
STOPPED = NOTHING | {"agent": "old", "state": "stopped", "containment": "none"}
WHOLE = FULL | {"agent": "", "state": "", "cpu_percent": 25.0, "pressure": {"cpu": 0.0, "memory": 0.0, "io": 0.0}}
TEAM = [FULL, PLAIN, STOPPED, WHOLE]


def look(*stats: dict[str, Any]) -> dict[str, object]:
    return {"stats": stats}


@pytest.fixture
def team(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answer("GET", "/v1/stats", stream(look(*TEAM)))
    return daemon


class TestTable:
    def test_has_a_line_an_agent_and_one_for_the_team(self, corral: Corral, team: FakeDaemon) -> None:
        outcome = corral("stats")
        assert outcome.code == 0
        assert outcome.out.splitlines() == [
            "TEAM  AGENT   STATE    CPU%  TIME   MEM   PEAK  LIMIT  TASKS   PRESSURE      OOM  LEVEL",
            "shop  api     running  12.5  3m12s  340M  1.2G  2.0G   12/100  memory 40.5%  0    systemd",
            "shop  docs    running  12.5  3m12s  340M  -     -      12      -             -    process",
            "shop  old     stopped  -     -      -     -     -      -       -             -    -",
            "shop  (team)  -        25.0  3m12s  340M  1.2G  2.0G   12/100  0%            0    systemd",
        ]

    def test_says_of_what_is_paused_that_it_is(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/stats", stream(look(PLAIN | {"paused": True})))
        assert corral("stats").out.splitlines()[1].split()[:3] == ["shop", "docs", "paused"]

    def test_of_some_agents_of_a_team(self, corral: Corral, team: FakeDaemon) -> None:
        corral("stats", "shop/api", "docs")
        query = team.last.query
        assert (query["team"], query["agent"], query["follow"]) == (["shop"], ["api", "docs"], ["0"])
        assert "every" not in query

    def test_with_nothing_up(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/stats", stream(look()))
        outcome = corral("stats")
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "no team is up\n")

    def test_of_a_team_that_does_not_exist(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/stats", refusal(404, "not_found", "no team x is up", "corral ps"))
        assert corral("stats", "-t", "x").code == 3


class TestJson:
    def test_is_one_list(self, corral: Corral, team: FakeDaemon) -> None:
        assert corral("stats", "--json").json == TEAM

    def test_followed_is_a_list_a_line(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/stats", stream(look(*TEAM), look(PLAIN)))
        outcome = corral("stats", "-f", "--json")
        assert outcome.json_lines == [TEAM, [PLAIN]]
        # It has no end of its own: one that ended was cut.
        assert (outcome.code, outcome.error["code"]) == (6, "unavailable")


class TestFollowing:
    @pytest.mark.parametrize(
        ("words", "seconds"), [(["-f"], "2.0"), (["--every", "500ms"], "0.5"), (["-f", "--every", "1m"], "60.0")]
    )
    def test_says_how_often(self, corral: Corral, team: FakeDaemon, words: list[str], seconds: str) -> None:
        corral("stats", *words)
        assert (team.last.query["follow"], team.last.query["every"]) == (["1"], [seconds])

    def test_into_a_file_one_table_follows_the_other(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/stats", stream(look(PLAIN), look(PLAIN)))
        first, second = corral("stats", "-f").out.split("\n\n")
        assert first.splitlines() == second.splitlines()

    def test_on_a_terminal_the_second_takes_the_place_of_the_first(self, real: Instance, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/stats", stream(look(*TEAM), look(PLAIN), look(PLAIN)))
        _, text = run_on_terminal(real.argv("stats", "-f"), columns=120, env={"NO_COLOR": "1"})
        # Up by as many lines as the table before had, and away with what is below the new one.
        assert "\x1b[5A\r" in text
        assert "\x1b[2A\r" in text
        assert text.count("\x1b[J") == 3

    def test_what_is_higher_than_the_terminal_is_cut(self, real: Instance, daemon: FakeDaemon) -> None:
        many = [PLAIN | {"agent": f"a-{number}"} for number in range(40)]
        daemon.answer("GET", "/v1/stats", stream(look(*many)))
        _, text = run_on_terminal(real.argv("stats", "-f"), columns=120, env={"NO_COLOR": "1"})
        table = text.split("\x1b[J")[0].lstrip("\r").splitlines()
        assert len(table) == 23
        assert table[-1].startswith("… and 19 lines more")

    def test_ends_with_ctrl_c(self, real: Instance, daemon: FakeDaemon) -> None:
        def endless() -> Iterator[bytes]:
            yield stream(look(PLAIN))
            while True:
                yield json.dumps(look(PLAIN)).encode() + b"\n"

        daemon.answer("GET", "/v1/stats", lambda _: endless())
        argv = ["setsid", "--ctty", "--wait", *real.argv("stats", "-f")]
        code, text = run_on_terminal(argv, columns=120, keys="\x03", until="shop")
        assert code == 130
        assert "Traceback" not in text
        assert text.endswith("\r\n")


class TestTerminal:
    @pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
    def test_no_line_is_wider_than_it(self, real: Instance, team: FakeDaemon, columns: int) -> None:
        text = run_on_terminal(real.argv("stats"), columns=columns, env={"NO_COLOR": "1"})[1]
        table = text.replace("\r", "").splitlines()
        assert max(map(len, table)) <= columns
        assert {"TEAM", "AGENT", "CPU%", "MEM"} <= set(table[0].split())
        assert ("LEVEL" in table[0]) == (columns >= 100)

    def test_an_oom_kill_is_red(self, real: Instance, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/stats", stream(look(FULL | {"oom_kills": 1})))
        assert "\x1b[31mshop  api" in run_on_terminal(real.argv("stats"), columns=120)[1]


class TestWithoutADaemon:
    def test_of_an_instance_at_rest_is_empty(self, corral: Corral, places: Places) -> None:
        assert (corral("stats").code, corral("stats").err) == (0, "no team is up\n")
        assert (corral("stats", "--json").json, corral("stats", "--json").err) == ([], "")
        assert corral("stats", "-f").code == 0
        assert not os.path.exists(places.home)

    @pytest.mark.parametrize("words", [["-t", "shop"], ["docs"]])
    def test_there_is_nobody_to_ask_for(self, corral: Corral, words: list[str]) -> None:
        assert corral("stats", *words, "--json").error["code"] == "not_found"

    @pytest.mark.usefixtures("somebody_was_here")
    def test_otherwise_nobody_knows(self, corral: Corral) -> None:
        assert (corral("stats").code, corral("stats").out) == (6, "")
