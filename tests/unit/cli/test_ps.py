"""`corral ps`: the table for people, the daemon's own document for programs, and nothing loaded that costs."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from corral.cli.ps import age
from corral.places import Places
from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.fake_daemon import FakeDaemon, refusal, table, whole

#: Days ago, so that it does not matter how long the tests before these took.
NOW = time.time()
RUNNING = (
    f"shop builder-1 running working 4711 {NOW - 2.5 * 86400} 2 systemd /srv/shop ~ ~ 0 ~ hook_Stop ~ ~ ~ agent ~ "
    "8f2e-1 resumed write_kernel ~ ~ ~"
)
FAILED = (
    f"shop builder-2 failed unknown ~ {NOW - 5.5 * 86400} 0 cgroup /srv/shop no_such_command:_claude no_user_bus 0 "
    "~ ~ ~ ~ ~ agent ~ ~ ~ ~ ~ ~ ~"
)


@pytest.fixture
def team(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answer("GET", "/v1/agents", table(RUNNING, FAILED))
    return daemon


class TestTable:
    def test_has_a_line_an_agent_and_the_reasons_below(self, corral: Corral, team: FakeDaemon) -> None:
        outcome = corral("ps")
        assert outcome.code == 0
        assert outcome.out.splitlines() == [
            "TEAM  AGENT      STATE    ACTIVITY  PID   UP  RESTARTS  CONTAINMENT  WORKSPACE",
            "shop  builder-1  running  working   4711  2d  2         systemd      /srv/shop",
            "shop  builder-2  failed   -         -     -   0         cgroup       /srv/shop",
            "shop/builder-2 failed: no_such_command:_claude",
            "corral restart shop/builder-2 starts it again",
        ]
        assert team.last.headers["accept"] == "text/tab-separated-values"

    def test_says_why_one_was_stopped_if_there_is_a_reason(self, corral: Corral, daemon: FakeDaemon) -> None:
        expired = FAILED.replace(" failed ", " stopped ").replace("no_such_command:_claude", "its_lifetime_is_over")
        daemon.answer("GET", "/v1/agents", table(expired, expired.replace("its_lifetime_is_over", "~")))
        assert corral("ps").out.splitlines()[3:] == ["shop/builder-2 stopped: its_lifetime_is_over"]

    @pytest.mark.parametrize("state", ["pending", "stopped", "failed", "backoff"])
    def test_what_does_not_run_is_not_up(self, corral: Corral, daemon: FakeDaemon, state: str) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING, FAILED.replace(" failed ", f" {state} ")))
        heading, running, other = (line.split() for line in corral("ps").out.splitlines()[:3])
        assert (running[heading.index("UP")], other[heading.index("UP")]) == ("2d", "-")

    def test_says_once_for_a_team_how_what_failed_is_started(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", table(FAILED, FAILED.replace("builder-2", "builder-3")))
        told = [line for line in corral("ps").out.splitlines() if "corral restart" in line]
        assert told == ["corral restart -t shop AGENT… starts them again"]

    def test_one_that_never_ran_is_started_by_up(self, corral: Corral, daemon: FakeDaemon) -> None:
        new = FAILED.replace("builder-2", "builder-3").removesuffix("~") + "new"
        daemon.answer("GET", "/v1/agents", table(FAILED, new))
        assert corral("ps").out.splitlines()[-2:] == [
            "corral restart shop/builder-2 starts it again",
            "corral up, for the file of shop, starts shop/builder-3",
        ]

    def test_says_what_an_agent_waits_for_and_how_that_is_known(self, corral: Corral, daemon: FakeDaemon) -> None:
        waiting = RUNNING.replace("working", "waiting").replace("~ hook_Stop", "permission screen:_permission")
        daemon.answer("GET", "/v1/agents", table(waiting, FAILED))
        assert "EVIDENCE" not in corral("ps").out
        lines = corral("ps", "--wide").out.splitlines()
        assert lines[0].split()[3:6] == ["ACTIVITY", "EVIDENCE", "PID"]
        assert lines[1].split()[3:6] == ["waiting", "(permission)", "screen:_permission"]
        assert lines[2].split()[3:5] == ["-", "-"]

    def test_says_which_conversation_an_agent_has(self, corral: Corral, team: FakeDaemon) -> None:
        assert "SESSION" not in corral("ps").out
        heading, first, second, *_ = corral("ps", "--wide").out.splitlines()
        at = heading.index("SESSION")
        assert first[at:].startswith("8f2e-1 (resumed) ")
        assert second[at:].startswith("- ")

    def test_says_what_limits_what_an_agent_touches_and_why_no_more(self, corral: Corral, daemon: FakeDaemon) -> None:
        limited = FAILED.removesuffix("~ ~ ~ ~") + "write_commit write:_no_Landlock ~ ~"
        daemon.answer("GET", "/v1/agents", table(RUNNING, limited))
        assert "ACCESS" not in corral("ps").out
        heading, first, second, *below = corral("ps", "--wide").out.splitlines()
        at = heading.index("ACCESS")
        assert (first[at:].split()[0], second[at:].split()[0]) == ("write_kernel", "write_commit")
        assert below[-1] == "access is seen to no better: write:_no_Landlock"

    def test_says_whose_each_is_where_there_are_several_people(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING, FAILED))
        assert "USER" not in corral("ps", "--wide").out
        theirs = [RUNNING.removesuffix("~ ~") + "ann ~", FAILED.removesuffix("~ ~") + "agent-builder_(ben) ~"]
        daemon.answer("GET", "/v1/agents", table(*theirs))
        heading, first, second, *_ = corral("ps").out.splitlines()
        at = heading.index("USER")
        assert (first[at:].split()[0], second[at:].split()[0]) == ("ann", "agent-builder_(ben)")

    def test_of_one_team(self, corral: Corral, team: FakeDaemon) -> None:
        corral("ps", "-t", "shop")
        assert team.last.query == {"team": ["shop"]}

    def test_names_only(self, corral: Corral, team: FakeDaemon) -> None:
        assert corral("ps", "-q").out == "builder-1\nbuilder-2\n"

    def test_of_several_teams_names_have_their_team(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING.replace("shop", "toys"), FAILED))
        assert corral("ps", "-q").out == "toys/builder-1\nshop/builder-2\n"

    def test_what_completion_asks_for(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING, RUNNING.replace("shop", "toys"), FAILED))
        assert corral("ps", "--short").out == "shop/builder-1\ntoys/builder-1\nbuilder-2\n"
        assert corral("ps", "--teams").out == "shop\ntoys\n"
        assert corral("ps", "--full").out == "shop/builder-1\ntoys/builder-1\nshop/builder-2\n"

    def test_the_home_directory_is_a_tilde(self, corral: Corral, daemon: FakeDaemon) -> None:
        home = os.environ["HOME"]
        rows = [RUNNING.replace("/srv/shop", path) for path in (home, f"{home}/w", f"{home}-other")]
        daemon.answer("GET", "/v1/agents", table(*rows))
        assert [line.split()[-1] for line in corral("ps").out.splitlines()[1:]] == ["~", "~/w", f"{home}-other"]

    def test_with_no_agents(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", table())
        outcome = corral("ps")
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "no team is up\n")

    def test_of_a_team_that_does_not_exist(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", refusal(404, "not_found", "there is no team x", "corral ps"))
        assert corral("ps", "-t", "x").code == 3

    @pytest.mark.parametrize("body", [b"a\tb\n", b"\xff\n", b"t\ta\trunning\t\t1\tnoon\t0\tc\tw\t\n"])
    def test_columns_that_cannot_be_read(self, corral: Corral, daemon: FakeDaemon, body: bytes) -> None:
        daemon.answer("GET", "/v1/agents", whole(body))
        outcome = corral("ps")
        assert outcome.code == 6
        assert "another version" in outcome.err


class TestJson:
    def test_is_what_the_daemon_says_byte_for_byte(self, corral: Corral, daemon: FakeDaemon) -> None:
        document = b'[{"team": "shop",  "agent":"\xc3\xbc"}]'
        daemon.answer("GET", "/v1/agents", whole(document))
        assert corral("ps", "--json").out.encode() == document + b"\n"
        assert daemon.last.headers["accept"] == "application/json"


class TestWithoutADaemon:
    def test_of_an_instance_at_rest_is_empty(self, corral: Corral, places: Places) -> None:
        assert (corral("ps").code, corral("ps").err) == (0, "no team is up\n")
        assert (corral("ps", "-q").out, corral("ps", "-q").err) == ("", "")
        assert (corral("ps", "--json").json, corral("ps", "--json").err) == ([], "")
        assert not os.path.exists(places.home)

    def test_who_may_have_meant_the_shared_server_of_the_machine_is_told_of_it(
        self, corral: Corral, own_directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("corral.client.absence.host_names.HOME", str(own_directory))
        told = corral("ps").err.splitlines()
        assert told[0] == "no team is up"
        assert told[1].startswith("the shared server of this machine is for its members: sudo corral member add")

    def test_there_is_no_team_to_ask_for(self, corral: Corral) -> None:
        assert corral("ps", "-t", "shop", "--json").error["code"] == "not_found"

    @pytest.mark.usefixtures("somebody_was_here")
    def test_otherwise_nobody_knows(self, corral: Corral, places: Places) -> None:
        outcome = corral("ps")
        assert (outcome.code, outcome.out) == (6, "")
        assert outcome.err == "corral: the daemon is not running; its agents may be\n  → corral daemon start\n"
        Path(places.at_rest_mark).touch()
        assert corral("ps").code == 0


class TestTerminal:
    def test_states_are_coloured(self, real: Instance, team: FakeDaemon) -> None:
        text = run_on_terminal(real.argv("ps"), columns=120)[1]
        assert "\x1b[32mrunning\x1b[0m" in text
        assert "\x1b[31mfailed\x1b[0m " in text

    def test_a_person_is_told_why_agents_are_not_contained_better(self, real: Instance, team: FakeDaemon) -> None:
        text = run_on_terminal(real.argv("ps"), columns=120, env={"NO_COLOR": "1"})[1]
        assert text.replace("\r", "").splitlines()[-1] == "containment is cgroup, not better: no_user_bus"

    @pytest.mark.parametrize("columns", [40, 60, 80, 90, 100, 200])
    def test_no_line_is_wider_than_it(self, real: Instance, daemon: FakeDaemon, columns: int) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING.replace("/srv/shop", "/srv/" + "long/" * 20 + "ende")))
        text = run_on_terminal(real.argv("ps"), columns=columns, env={"NO_COLOR": "1"})[1]
        heading, line = text.replace("\r", "").splitlines()
        assert max(len(heading), len(line)) <= columns
        assert "running" in line
        assert line.endswith("long/ende") == (columns >= 80)

    def test_a_workspace_is_shortened_from_the_left(self, real: Instance, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING.replace("/srv/shop", "/srv/" + "long/" * 20 + "ende")))
        text = run_on_terminal(real.argv("ps"), columns=100, env={"NO_COLOR": "1"})[1]
        assert "  …" in text


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0s"), (0, "0s"), (59.9, "59s"), (60, "1m"), (119 * 60, "119m"), (7200, "2h"), (2 * 86400, "2d")],
)
def test_age(seconds: float, shown: str) -> None:
    assert age(seconds) == shown


class TestTheHotPath:
    #: Each of these takes longer to load than everything that `ps` does.
    DEAR = frozenset(
        "argparse json re typing dataclasses enum socket pathlib shutil subprocess collections functools contextlib "
        "importlib datetime logging struct selectors".split()
    )

    @pytest.mark.parametrize("words", [["ps"], ["ps", "-q"], ["ps", "-t", "shop"], ["ps", "--json"]])
    def test_loads_nothing_dear(self, real: Instance, team: FakeDaemon, words: list[str]) -> None:
        code = (
            "import sys; before = set(sys.modules)\n"
            "from corral.cli.main import main\n"
            "assert main(sys.argv[1:]) == 0\n"
            "print(*sorted(set(sys.modules) - before), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, cwd=real.directory
        )
        loaded = done.stderr.split()
        assert "builder-1" in done.stdout
        assert self.DEAR.isdisjoint(loaded)
        ours = [name for name in loaded if name.startswith("corral")]
        assert set(loaded) - set(ours) <= {"_socket"}
        assert "corral.client.wire" in ours
        assert len(ours) <= 16


class TestNotices:
    def test_stand_below_once_for_a_team_and_with_the_last_words_of_what_failed(
        self, corral: Corral, daemon: FakeDaemon
    ) -> None:
        running = RUNNING.replace("hook_Stop ~ ~ ~", "hook_Stop stuck:_look\x1eunhealthy alone ~")
        failed = FAILED.replace("~ ~ ~ ~ ~ agent", "~ ~ ~ alone first_words\x1elast_\x1b[words agent")
        daemon.answer("GET", "/v1/agents", table(running, failed))
        assert corral("ps").out.splitlines()[3:] == [
            "shop/builder-1: stuck:_look",
            "shop/builder-1: unhealthy",
            "shop/builder-2 failed: no_such_command:_claude",
            "  first_words",
            "  last_\ufffd[words",
            "corral restart shop/builder-2 starts it again",
            "shop: alone",
        ]


class TestProcesses:
    def test_are_counted_where_there_are_any(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING.replace("~ ~ 0 ", "~ ~ 3 "), FAILED))
        heading, first, second, *_ = corral("ps").out.splitlines()
        assert heading.split()[4:7] == ["PID", "PROCS", "UP"]
        assert (first.split()[5], second.split()[5]) == ("3", "-")

    @pytest.mark.parametrize("columns", [40, 60, 80, 100, 120])
    def test_give_way_on_a_narrow_terminal(self, real: Instance, daemon: FakeDaemon, columns: int) -> None:
        daemon.answer("GET", "/v1/agents", table(RUNNING.replace("~ ~ 0 ", "~ ~ 12 ")))
        text = run_on_terminal(real.argv("ps"), columns=columns, env={"NO_COLOR": "1"})[1]
        heading, line = text.replace("\r", "").splitlines()
        assert max(len(heading), len(line)) <= columns
        assert ("PROCS" in heading) == (columns >= 60)
