"""What belongs to an agent, and what only looks like it."""

from dataclasses import replace

import pytest

from corral.domain import diagnosis_teams as rules
from corral.domain.copies import COPY
from corral.domain.diagnosis_cures import EndProcesses
from corral.domain.diagnosis_facts import (
    REACHABLE,
    AgentRecord,
    Facts,
    Host,
    LeftWorktree,
    Marked,
    Marks,
    Records,
    Server,
    Terminal,
)

OURS = Marks(instance="i", team="shop", agent="api", run="r1", home="/h")
API = AgentRecord(team="shop", agent="api", state="running", since=0, run="r1", workspace="/w")


def facts(*agents: AgentRecord, source: str = "store", now: float = 1000.0) -> Facts:
    records = Records(source=source, instance="i", teams=frozenset({"shop"}), agents=agents)
    return Facts(now=now, home="/h", records=records, host=Host(user="ada"))


def process(marks: Marks, pid: int = 7) -> Marked:
    return Marked(pid=pid, start=70, command="sleep 9", marks=marks)


def server(*terminals: Terminal) -> Server:
    marks = Marks(instance="i", team="shop")
    return Server(
        pid=5, start=1, user="ada", mine=True, path="/s", standing=REACHABLE, marks=marks, terminals=terminals
    )


class TestOrphans:
    def of(self, marks: Marks, *agents: AgentRecord, source: str = "store") -> list[EndProcesses | None]:
        found = rules.orphans(replace(facts(*agents, source=source), marked=(process(marks),)))
        return [cure for cure in (finding.cure for finding in found) if cure is None or isinstance(cure, EndProcesses)]

    def test_a_process_of_the_present_run_is_none(self) -> None:
        assert self.of(OURS, API) == []

    @pytest.mark.parametrize("state", ["starting", "running", "stopping", "unknown"])
    def test_while_the_run_of_an_agent_is_not_known_every_run_may_be_it(self, state: str) -> None:
        assert self.of(replace(OURS, run="r9"), replace(API, state=state, run=""), source="daemon") == []

    @pytest.mark.parametrize("state", ["stopped", "failed", "backoff", "pending"])
    def test_what_is_left_of_an_agent_that_does_not_run_is_one(self, state: str) -> None:
        assert self.of(OURS, replace(API, state=state)) == [EndProcesses(((7, 70),))]

    def test_so_is_one_of_an_earlier_run_and_one_of_no_agent(self) -> None:
        assert self.of(replace(OURS, run="r0"), API) == [EndProcesses(((7, 70),))]
        assert self.of(OURS) == [EndProcesses(((7, 70),))]

    def test_without_records_nobody_is(self) -> None:
        assert self.of(OURS, source="unknown") == []

    def test_one_of_another_home_is_not_ours(self) -> None:
        assert self.of(replace(OURS, home="/copy")) == []
        assert self.of(replace(OURS, home="/copy", instance="other")) == []

    def test_one_that_another_store_started_from_here_is_only_named(self) -> None:
        assert self.of(replace(OURS, instance="lost")) == [None]


class TestTerminals:
    def test_one_that_an_agent_has_is_well(self) -> None:
        here = replace(facts(API), servers=(server(Terminal(pid=6, start=60, agent="api", run="r1")),))
        assert rules.lost_sessions(here) == rules.stray_sessions(here) == []

    def test_one_of_an_earlier_run_is_ended_with_what_is_in_it_and_told_of_once(self) -> None:
        old = Terminal(pid=6, start=60, agent="api", run="r0")
        here = replace(facts(API), servers=(server(old),), marked=(process(replace(OURS, run="r0")),))
        (finding,) = rules.stray_sessions(here)
        assert finding.cure == EndProcesses(((6, 60), (7, 70)))
        assert rules.orphans(here) == []

    def test_an_agent_without_one_is_named(self) -> None:
        (finding,) = rules.lost_sessions(facts(API))
        assert finding.subject == "shop/api"

    def test_nor_does_one_need_it_that_runs_without(self) -> None:
        plain = replace(API, terminal="none")
        here = replace(facts(plain), plain_runs=frozenset({("shop", "api", "r1")}))
        assert rules.lost_sessions(here) == []
        assert rules.lost_sessions(replace(here, records=facts(replace(plain, run="")).records)) == []
        (finding,) = rules.lost_sessions(facts(plain))
        assert finding.message == "shop/api counts as running, but its process is gone"

    def test_but_not_one_that_has_just_been_started(self) -> None:
        assert rules.lost_sessions(facts(replace(API, since=999.0))) == []

    @pytest.mark.parametrize("state", ["stopped", "failed", "backoff", "unknown", "starting"])
    def test_nor_one_that_does_not_count_as_running(self, state: str) -> None:
        assert rules.lost_sessions(facts(replace(API, state=state))) == []


class TestTransitions:
    @pytest.mark.parametrize("state", ["pending", "starting", "stopping"])
    def test_nobody_finishes_them_without_a_daemon(self, state: str) -> None:
        (finding,) = rules.transitions(facts(replace(API, state=state, since=999.9)))
        assert finding.remedy == "corral daemon start"

    def test_a_daemon_has_a_minute_for_each(self) -> None:
        assert rules.transitions(facts(replace(API, state="starting", since=970.0), source="daemon")) == []
        assert rules.transitions(facts(replace(API, state="starting", since=900.0), source="daemon"))

    @pytest.mark.parametrize("state", ["running", "stopped", "failed", "unknown", "backoff"])
    def test_other_states_are_not_on_the_way(self, state: str) -> None:
        assert rules.transitions(facts(replace(API, state=state))) == []


class TestWorktrees:
    def of(self, *agents: str, up: str = "") -> list[tuple[str, str]]:
        left = tuple(LeftWorktree(team="shop", agent=agent, path=f"/srv/bot/shop/{agent}") for agent in agents)
        records = Records(source="daemon", instance="i", teams=frozenset(up.split()))
        found = rules.worktrees(replace(facts(), records=records, worktrees=left))
        return [(one.subject, one.remedy.partition(" removes")[0]) for one in found]

    def test_one_that_is_left_is_told_of(self) -> None:
        assert self.of("bot") == [("shop/bot", "corral down -t shop")]

    def test_a_copy_of_a_repository_belongs_to_the_worktrees_beside_it(self) -> None:
        assert self.of(COPY, "bot") == [("shop/bot", "corral down -t shop")]
        assert self.of(COPY) == [("shop", "corral down -t shop")]
        assert self.of(COPY, up="shop") == []
