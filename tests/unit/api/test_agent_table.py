"""The table that `corral ps` reads: which reasons are for people."""

from dataclasses import replace
from pathlib import Path

import pytest

from corral.api import answers
from corral.domain import lifecycle, states
from corral.domain.records import Agent
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.api.scene import Scene, play

_UP_SINCE, _REASON, _NOTICES = 5, 9, (14, 15)
EXPIRED = lifecycle.stopped(lifecycle.ending(AGENT, "its lifetime is over", lifecycle.AND_STAY, 2.0), 0, None, 3.0)
DONE = lifecycle.exited(replace(AGENT, restart="never"), 0, None, "exit 0", 3.0)


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        (EXPIRED, "its lifetime is over"),
        (DONE, ""),
        (replace(AGENT, state=states.FAILED, reason="exit 3"), "exit 3"),
        (replace(AGENT, state=states.PENDING, reason="waits for a place"), "waits for a place"),
    ],
    ids=["stopped by Corral", "ended well", "failed", "pending"],
)
def test_a_reason_is_told_of_what_a_person_did_not_ask_for(agent: Agent, told: str, tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        table = bytes(answers.agent_table(scene.registry, [agent], {agent.key}).body).decode()
        assert table.split("\t")[_REASON] == told
        assert answers.agent_object(scene.registry, agent)["reason"] == agent.reason, "for programs it is always there"

    play(tmp_path, act)


def test_an_agent_is_up_since_its_run_began_also_if_nobody_could_see_it_for_a_while(tmp_path: Path) -> None:
    begun = replace(AGENT, state=states.RUNNING, pid=7, started_at=10.0, since=11.0)
    seen_again = lifecycle.running(lifecycle.unseen(begun, "its keeper is gone", 20.0), 7, 30.0)
    assert seen_again.since == 30.0

    async def act(scene: Scene) -> None:
        table = bytes(answers.agent_table(scene.registry, [seen_again], {seen_again.key}).body).decode()
        assert float(table.split("\t")[_UP_SINCE]) == 10.0

    play(tmp_path, act)


def test_whose_an_agent_is_is_told_where_there_are_several_people(tmp_path: Path) -> None:
    own, of_another = replace(AGENT, user="ann"), replace(AGENT, name="b", user="agent-builder")

    async def act(scene: Scene) -> None:
        for user, told in (("", ["", ""]), ("ann", ["ann", "agent-builder (ann)"])):
            await scene.registry.commit(PERSON, teams=[replace(TEAM, user=user)])
            table = bytes(answers.agent_table(scene.registry, [own, of_another], ()).body).decode()
            told_of = answers.agent_object(scene.registry, of_another)
            assert (told_of["user"], told_of["owner"]) == ("agent-builder", user)
            assert [line.split("\t")[-2] for line in table.splitlines()] == told

    play(tmp_path, act)


def test_of_one_that_never_ran_that_is_told(tmp_path: Path) -> None:
    ran, new = replace(AGENT, state=states.FAILED), replace(AGENT, name="b", state=states.FAILED, run="")

    async def act(scene: Scene) -> None:
        table = bytes(answers.agent_table(scene.registry, [ran, new], ()).body).decode()
        assert [line.split("\t")[-1] for line in table.splitlines()] == ["", "new"]

    play(tmp_path, act)


QUOTING = "unhealthy: 1 checks in a row failed, the last one: 'probe' ended with exit code 7: SECRET"


@pytest.mark.parametrize("state", [state for state in states.ALL if state not in (states.UNKNOWN, states.STOPPED)])
def test_who_may_not_read_it_is_told_that_there_is_a_reason_and_a_notice_and_not_which(
    state: str, tmp_path: Path
) -> None:
    agent = replace(AGENT, state=state, reason=QUOTING)

    async def act(scene: Scene) -> None:
        scene.registry.set_notice(agent.key, "health", QUOTING)
        scene.registry.set_notice((agent.team, ""), "notify command", "nobody could be told: exit 3: SECRET")
        table = bytes(answers.agent_table(scene.registry, [agent], ()).body).decode()
        told = answers.agent_object(scene.registry, agent, hidden=True)
        assert "SECRET" not in table
        assert "SECRET" not in str(told)
        assert [table.split("\t")[column] for column in (_REASON, *_NOTICES)] == ["(hidden)"] * 3
        assert (told["reason"], told["notices"], told["hidden"]) == ("", [], True)
        told = answers.agent_object(scene.registry, agent)
        assert (told["reason"], str(told["notices"]).count("SECRET")) == (QUOTING, 2), "who may read it is told"

    play(tmp_path, act)


def test_where_there_is_neither_nothing_is_said_to_be_hidden(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        table = bytes(answers.agent_table(scene.registry, [replace(AGENT, state=states.RUNNING)], ()).body).decode()
        assert [table.split("\t")[column] for column in (_REASON, *_NOTICES)] == ["", "", ""]

    play(tmp_path, act)


def test_everybody_who_sees_it_is_told_why_nobody_can_tell_how_it_is(tmp_path: Path) -> None:
    unseen = lifecycle.unseen(replace(AGENT, state=states.RUNNING), "its keeper does not answer", 5.0)

    async def act(scene: Scene) -> None:
        table = bytes(answers.agent_table(scene.registry, [unseen], ()).body).decode()
        told = answers.agent_object(scene.registry, unseen, hidden=True)
        assert table.split("\t")[_REASON] == told["reason"] == "its keeper does not answer"

    play(tmp_path, act)
