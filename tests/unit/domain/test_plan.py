"""What `up` decides, for every state an agent can be in."""

from dataclasses import replace

import pytest

from corral.domain import lifecycle, states
from corral.domain.errors import NotFoundError
from corral.domain.plan import Step, make_plan
from corral.domain.records import Agent
from corral.domain.spec import adjusted

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


@pytest.mark.parametrize("state", [states.RUNNING, states.STARTING])
def test_an_agent_that_matches_is_left_alone(state: str) -> None:
    assert actions({"a": agent("a", state)}) == [("a", "keep", ())]


@pytest.mark.parametrize("state", [states.STOPPED, states.FAILED, states.PENDING, states.BACKOFF])
def test_an_agent_at_rest_is_started(state: str) -> None:
    assert actions({"a": agent("a", state)}) == [("a", "start", ())]


def test_what_corral_stopped_for_good_is_started_for_a_person_and_for_whoever_names_it() -> None:
    held = {"a": replace(agent("a", states.STOPPED, OTHER), afterwards=lifecycle.AND_STAY)}

    def action(*, by_person: bool, only: tuple[str, ...] = ()) -> str:
        (step,) = make_plan([("a", PRINT)], held, by_person=by_person, only=only)
        return step.action

    assert action(by_person=True) == "start"
    assert action(by_person=False) == "keep"
    assert action(by_person=False, only=("a",)) == "start"


@pytest.mark.parametrize("state", [states.STOPPED, states.FAILED, states.PENDING, states.BACKOFF])
def test_what_went_otherwise_is_started_for_everybody(state: str) -> None:
    (step,) = make_plan([("a", PRINT)], {"a": agent("a", state)}, by_person=False)
    assert step.action == "start"


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


LIMITED = {**PRINT, "memory_max": "dddd", "tasks_max": "eeee"}


def step_for(declared: dict[str, str], running: dict[str, str], *, restart_changed: bool = False) -> Step:
    known = {"a": agent("a", states.RUNNING, running)}
    (step,) = make_plan([("a", declared)], known, restart_changed=restart_changed)
    return step


@pytest.mark.parametrize("restart_changed", [False, True])
@pytest.mark.parametrize(
    ("declared", "running", "differs"),
    [
        (LIMITED, PRINT, ("memory_max", "tasks_max")),
        (PRINT, LIMITED, ("memory_max", "tasks_max")),
        ({**LIMITED, "tasks_max": "ffff"}, LIMITED, ("tasks_max",)),
    ],
    ids=["set", "lifted", "another value"],
)
def test_limits_alone_never_restart_an_agent(
    declared: dict[str, str], running: dict[str, str], differs: tuple[str, ...], restart_changed: bool
) -> None:
    step = step_for(declared, running, restart_changed=restart_changed)
    assert (step.action, step.differs) == ("adjust", differs)
    assert (step.adjusts, step.waits) == (differs, ())


@pytest.mark.parametrize("state", [states.RUNNING, states.STARTING])
def test_an_agent_that_runs_is_adjusted(state: str) -> None:
    (step,) = make_plan([("a", LIMITED)], {"a": agent("a", state)})
    assert step.action == "adjust"


def test_limits_hold_at_once_where_the_rest_waits_for_a_restart() -> None:
    step = step_for({**LIMITED, "command": "ffff"}, PRINT)
    assert (step.action, step.differs) == ("changed", ("command", "memory_max", "tasks_max"))
    assert (step.adjusts, step.waits) == (("memory_max", "tasks_max"), ("command",))


def test_an_agent_that_is_restarted_is_started_with_its_limits() -> None:
    step = step_for({**LIMITED, "command": "ffff"}, PRINT, restart_changed=True)
    assert (step.action, step.differs) == ("restart", ("command", "memory_max", "tasks_max"))
    assert (step.adjusts, step.waits) == ((), ())


@pytest.mark.parametrize("state", [states.STOPPED, states.FAILED, states.PENDING])
def test_an_agent_at_rest_is_started_with_its_limits(state: str) -> None:
    (step,) = make_plan([("a", LIMITED)], {"a": agent("a", state)})
    assert (step.action, step.adjusts) == ("start", ())


def test_after_an_adjustment_only_the_rest_differs() -> None:
    declared = {**LIMITED, "command": "ffff"}
    step = step_for(declared, adjusted(PRINT, declared))
    assert (step.action, step.differs) == ("changed", ("command",))
    assert step_for(LIMITED, adjusted(PRINT, LIMITED)).action == "keep"
