"""What a fork is."""

from dataclasses import fields, replace

import pytest

from corral.domain import forks, states
from corral.domain.conversations import Ways
from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.records import Agent, Conversation
from tests.support.records import AGENT

#: What a fork has of its own, or not at all: what is not declared of an agent, but became of it.
OWN = (
    *("team", "name", "position", "workspace", "prompt", "state", "since", "reason", "run", "pid", "exit_code"),
    *("exit_signal", "restarts", "prompt_state", "user", "host", "containment", "containment_why"),
    *("enforced", "credential", "cgroup"),
    *("paused", "survivors", "conversation", "fork_of", "ready", "asked_by", "place", "started_at", "begun", "crashes"),
    *("last_words", "afterwards", "nudged_at", "not_nudged", "late", "stuck_since"),
)


def fork(source: Agent, session: str = "") -> Agent:
    return forks.forked(source, "b", position=7, workspace="/w/b", prompt="go", session=session, since=5.0)


def test_each_field_of_an_agent_is_taken_over_or_is_not() -> None:
    # Whoever adds a field decides: it is declared, and a fork has it too, or it is what became of one agent.
    assert sorted([*forks.DECLARED, *OWN]) == sorted(field.name for field in fields(Agent))


def test_a_fork_is_declared_like_the_other_and_has_a_life_of_its_own() -> None:
    source = replace(AGENT, labels=("db",), restart="always", state=states.FAILED, run="r", restarts=3, exit_code=1)
    made = fork(source)
    assert (made.labels, made.restart, made.command) == (("db",), "always", source.command)
    assert (made.state, made.run, made.restarts, made.exit_code) == (states.PENDING, "", 0, None)
    assert (made.name, made.position, made.workspace, made.prompt) == ("b", 7, "/w/b", "go")


def test_a_fork_knows_whose_past_it_has() -> None:
    assert fork(AGENT, "theirs").conversation == Conversation(forked_from="theirs")
    assert fork(AGENT).fork_of == AGENT.name
    assert fork(replace(AGENT, name="x", fork_of="a")).fork_of == "a"


@pytest.mark.parametrize("name", ["", "B", "a/b", "-x", "a b"])
def test_a_fork_needs_a_name_that_an_agent_can_have(name: str) -> None:
    with pytest.raises(WrongUseError):
        forks.check_name(name, None)


def test_a_name_that_is_taken_is_refused() -> None:
    forks.check_name("b", None)
    with pytest.raises(RefusedError, match="has an agent a already"):
        forks.check_name("a", AGENT)


@pytest.mark.parametrize(
    ("ways", "session", "why"),
    [
        (None, "", "does not know how"),
        (Ways(resume=("r",)), "x", "cannot go on"),
        (Ways(resume=("r",), fork=("f",)), "", "has none"),
        (Ways(resume=("r",), fork=("f",)), "x", ""),
    ],
)
def test_why_a_fork_begins_a_conversation_of_its_own(ways: Ways | None, session: str, why: str) -> None:
    told = forks.why_fresh(AGENT, "Some Agent", ways, session)
    assert (why in told) if why else told == ""
