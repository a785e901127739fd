"""Which tmux servers are ghosts, and which of several of a team gets the path."""

from dataclasses import replace

from corral.domain.diagnosis import INFO, PROBLEM
from corral.domain.diagnosis_cures import BringBack
from corral.domain.diagnosis_facts import (
    REACHABLE,
    REPLACED,
    UNCLEAR,
    UNLINKED,
    AgentRecord,
    Facts,
    Host,
    Marks,
    Records,
    Server,
    Terminal,
)
from corral.domain.diagnosis_ghosts import ghost_servers

PATH = "/run/corral/tmux/shop.sock"
OURS = Marks(instance="i", team="shop")
A1 = AgentRecord(team="shop", agent="a", state="running", since=0, run="r1", workspace="/w")


def server(pid: int, standing: str, *runs: str, marks: Marks = OURS, path: str = PATH, start: int = 0) -> Server:
    terminals = tuple(Terminal(pid=pid * 10, start=1, agent="a", run=run) for run in runs)
    return Server(
        pid=pid,
        start=start or pid,
        user="ada",
        mine=True,
        path=path,
        standing=standing,
        marks=marks,
        panes=len(runs) + 1,
        terminals=terminals,
    )


def facts(*servers: Server) -> Facts:
    records = Records(source="store", instance="i", teams=frozenset({"shop"}), agents=(A1,))
    return Facts(now=1000.0, home="/h", records=records, servers=servers, host=Host(user="ada"))


def cure(*servers: Server) -> BringBack:
    (one,) = {finding.cure for finding in ghost_servers(facts(*servers)) if finding.cure}
    assert isinstance(one, BringBack)
    return one


def test_reachable_ones_are_none_and_neither_are_those_that_cannot_be_looked_at() -> None:
    assert ghost_servers(facts(server(1, REACHABLE), server(2, UNCLEAR, path="/x"))) == []


def test_one_of_ours_is_a_problem_that_can_be_healed() -> None:
    (finding,) = ghost_servers(facts(server(1, UNLINKED, "r1")))
    assert (finding.severity, finding.ours, finding.subject) == (PROBLEM, True, "shop")
    assert finding.cure == BringBack(PATH, ((1, 1),), owner=1)


class TestTheOneThatGetsThePath:
    def test_has_the_agents_of_now(self) -> None:
        order = cure(server(1, UNLINKED, "r1"), server(2, UNLINKED, "old", "older"))
        assert order.owner == 1
        assert [pid for pid, _ in order.hidden] == [2, 1]  # the owner comes last

    def test_else_has_most_terminals(self) -> None:
        assert cure(server(1, UNLINKED), server(2, UNLINKED, "old")).owner == 2

    def test_else_is_the_oldest(self) -> None:
        assert cure(server(1, UNLINKED, start=9), server(2, UNLINKED, start=5)).owner == 2

    def test_keeps_it_if_it_has_it(self) -> None:
        order = cure(server(1, REPLACED), server(2, REACHABLE, "r1"))
        assert (order.owner, order.hidden) == (2, ((1, 1),))

    def test_is_never_a_stranger(self) -> None:
        order = cure(server(1, REPLACED), server(2, REACHABLE, "r1", marks=Marks()))
        assert order.owner == 1


class TestLeftAlone:
    def test_are_strangers(self) -> None:
        (finding,) = ghost_servers(facts(server(7, UNLINKED, marks=Marks())))
        assert (finding.severity, finding.ours, finding.cure) == (INFO, False, None)
        assert "kill -USR1 7" in finding.remedy

    def test_is_one_whose_path_another_has_with_the_whole_remedy(self) -> None:
        stranger = replace(server(7, REPLACED, marks=Marks(), path="/tmp/tmux-1000/default"), replaced_by=8)
        (finding,) = ghost_servers(facts(stranger))
        assert "first mv /tmp/tmux-1000/default" in finding.remedy

    def test_are_those_of_other_instances_and_those_that_agents_started(self) -> None:
        for marks in (replace(OURS, instance="other"), replace(OURS, agent="a", run="r1")):
            (finding,) = ghost_servers(facts(server(7, UNLINKED, marks=marks)))
            assert finding.cure is None
            assert not finding.ours

    def test_is_one_that_is_stopped_and_one_whose_path_is_blocked(self) -> None:
        hidden = server(1, REPLACED)
        for unable in (replace(hidden, stopped=True), replace(hidden, blocked=True)):
            (finding,) = ghost_servers(facts(unable))
            assert (finding.severity, finding.cure) == (PROBLEM, None)

    def test_is_a_stranger_that_can_be_reached_by_another_name(self) -> None:
        assert ghost_servers(facts(replace(server(7, REPLACED, marks=Marks()), elsewhere="/x"))) == []


def test_of_two_of_ours_that_can_both_be_reached_the_second_is_only_told_of() -> None:
    second = replace(server(2, REPLACED), elsewhere="/run/corral/tmux/aside.2")
    (finding,) = ghost_servers(facts(server(1, REACHABLE, "r1"), second))
    assert (finding.severity, finding.cure) == (INFO, None)


def test_one_of_ours_that_was_moved_away_from_its_path_is_still_missed_there() -> None:
    moved = replace(server(2, UNLINKED), elsewhere="/run/corral/tmux/moved")
    (finding,) = ghost_servers(facts(moved))
    assert finding.severity == PROBLEM
    assert finding.cure is not None
