"""Agents that are up, and a daemon that is not."""

from dataclasses import replace

import pytest

from corral.domain.diagnosis_cures import StartDaemon
from corral.domain.diagnosis_facts import AgentRecord, Facts, Host, Records, SocketFile
from corral.domain.diagnosis_life import absence
from corral.domain.diagnosis_teams import sockets

API = AgentRecord(team="shop", agent="api", state="running", since=0, run="r1", workspace="/w")


def facts(*agents: AgentRecord, source: str = "store") -> Facts:
    return Facts(now=0, home="/h", records=Records(source=source, agents=agents), host=Host(user="ada"))


def test_agents_that_nobody_looks_after_are_a_warning_that_the_daemon_cures() -> None:
    (finding,) = absence(
        facts(API, replace(API, agent="web", state="unknown"), replace(API, agent="x", state="stopped"))
    )
    assert (finding.is_well, finding.details["agents"]) == (False, ["shop/api", "shop/web"])
    assert finding.cure == StartDaemon()


def test_of_many_the_first_are_named() -> None:
    (finding,) = absence(facts(*(replace(API, agent=f"a-{number}") for number in range(7))))
    assert finding.message.endswith("shop/a-4 and 2 more")


@pytest.mark.parametrize(
    "well",
    [facts(), facts(replace(API, state="stopped")), facts(API, source="daemon"), facts(source="unknown")],
)
def test_where_nothing_is_up_or_the_daemon_tells_there_is_none(well: Facts) -> None:
    assert absence(well) == []


def test_a_socket_of_a_daemon_that_is_missed_is_not_called_nothing_to_do() -> None:
    left = SocketFile(path="/r/daemon.sock", of="daemon", stale=True)
    (rest,) = sockets(replace(facts(), sockets=(left,)))
    assert rest.remedy.startswith("nothing to do")
    (missed,) = sockets(replace(facts(API), sockets=(left,)))
    assert missed.remedy.startswith("corral daemon start")
