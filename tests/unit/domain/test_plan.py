"""What `up` decides, for every state an agent can be in."""

import pytest

from corral.domain import states
from corral.domain.errors import NotFoundError
from corral.domain.plan import make_plan
from corral.domain.records import Agent

PRINT = {"command": "aaaa", "env.KEY": "bbbb"}
OTHER = {"command": "aaaa", "env.KEY": "cccc"}


def agent(name: str, state: str, fingerprint: dict[str, str] | None = None) -> Agent:
    return Agent(
        team="shop",
        name=name,
        position=0,
        command=("cat",),
        shell=False,
        workspace_kind="shared",
        workspace="/w",
        restart="never",
        prompt="",
        fingerprint=PRINT if fingerprint is None else fingerprint,
        state=state,
    )


def actions(known: dict[str, Agent], *, restart_changed: bool = False) -> list[tuple[str, str, tuple[str, ...]]]:
    steps = make_plan([("a", PRINT)], known, restart_changed=restart_changed)
    return [(step.agent, step.action, step.differs) for step in steps]


def test_an_agent_that_is_missing_is_started() -> None:
    assert actions({}) == [("a", "start", ())]


@pytest.mark.parametrize("state", [states.RUNNING, states.STARTING, states.BACKOFF])
def test_an_agent_that_matches_is_left_alone(state: str) -> None:
    assert actions({"a": agent("a", state)}) == [("a", "keep", ())]


@pytest.mark.parametrize("state", [states.STOPPED, states.FAILED, states.PENDING])
def test_an_agent_at_rest_is_started(state: str) -> None:
    assert actions({"a": agent("a", state)}) == [("a", "start", ())]


def test_a_changed_agent_is_only_named() -> None:
    assert actions({"a": agent("a", states.RUNNING, OTHER)}) == [("a", "changed", ("env.KEY",))]


def test_a_changed_agent_is_restarted_when_asked_for() -> None:
    known = {"a": agent("a", states.RUNNING, OTHER)}
    assert actions(known, restart_changed=True) == [("a", "restart", ("env.KEY",))]


def test_an_agent_that_is_no_longer_declared_is_named_and_left_alone() -> None:
    known = {"a": agent("a", states.RUNNING), "old": agent("old", states.RUNNING)}
    assert actions(known) == [("a", "keep", ()), ("old", "extra", ())]


def test_a_plan_for_some_agents_is_silent_about_the_others() -> None:
    steps = make_plan([("a", PRINT), ("b", PRINT)], {"old": agent("old", states.RUNNING)}, only=["b"])
    assert [(step.agent, step.action) for step in steps] == [("b", "start")]


def test_a_name_that_is_not_declared_is_an_error_that_says_which_are() -> None:
    with pytest.raises(NotFoundError, match="c: not declared") as caught:
        make_plan([("a", PRINT), ("b", PRINT)], {}, only=["c"])
    assert "a, b" in caught.value.remedy
