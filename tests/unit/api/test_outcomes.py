"""What the audit trail is told of an ending: the worst of it as a whole, and what came of each agent."""

from collections.abc import Mapping

import pytest

from corral.api.lasting import Ending, Lasting
from corral.api.outcomes import came_of
from corral.api.send_answers import Broadcasted
from corral.domain.errors import CorralError, DeniedError, NotFoundError
from corral.domain.msg import Message
from corral.ports.census import Check
from corral.service.agents import AgentDone, AgentRemoved
from corral.service.down import Receipt
from corral.service.holding import AgentHeld
from corral.service.sends import Sent, must_have_reached
from corral.service.up_result import AgentOutcome, UpResult


def _up(**actions: str) -> UpResult:
    agents = [AgentOutcome(agent=name, action=action, detail="why") for name, action in actions.items()]
    return UpResult(team="shop", dry_run=False, changed=True, agents=agents)


def _down(**changes: object) -> Receipt:
    checks = [Check(what="worktrees", found=0 if changes.get("clean", True) else 2, residue=[])]
    told = {"team": "shop", "clean": True, "seconds": 1.0, "stopped": ["a"], **changes}
    return Receipt(checks=checks, **told)  # type: ignore[arg-type]


def _sent(agent: str, state: str) -> Sent:
    return Sent(team="shop", agent=agent, message="m1", state=state, bytes=5)


def _mail(*to: str) -> Message:
    return Message(number=4, sender="shop/c", recipients=to, text="hello", subject="", reply_to=0, key="", time=0.0)


def _on(*agents: object) -> dict[str, object]:
    return {"team": "shop", "agents": list(agents)}


@pytest.mark.parametrize(
    ("verb", "result", "word", "parts"),
    [
        ("up", _up(a="start", b="keep", c="extra", d="changed"), "200", {"a": "200"}),
        ("up", _up(a="start", b="failed", c="pending"), "failed", {"a": "200", "b": "failed", "c": "pending"}),
        ("up", _up(a="restart", c="pending"), "pending", {"a": "200", "c": "pending"}),
        ("down", _down(), "200", {"a": "200"}),
        ("down", _down(clean=False), "left_behind", {"a": "200"}),
        ("down", _down(written=False), "failed", {"a": "200"}),
        (
            "broadcast",
            Broadcasted(team="shop", receipts=[_sent("a", "submitted"), _sent("b", "failed"), _sent("c", "unknown")]),
            "failed",
            {"a": "200", "b": "failed", "c": "unknown"},
        ),
        (
            "stop",
            _on(AgentDone(agent="a", state="stopped"), AgentDone(agent="b", state="running")),
            "failed",
            {"a": "200", "b": "failed"},
        ),
        ("restart", _on(AgentDone(agent="a", state="running")), "200", {"a": "200"}),
        ("restart", _on(AgentDone(agent="a", state="stopped")), "failed", {"a": "failed"}),
        ("pause", _on(AgentHeld(agent="a", state="running", paused=True, changed=True)), "200", {"a": "200"}),
        ("remove", _on(AgentRemoved(agent="a", removed=False)), "failed", {"a": "failed"}),
        ("send_message", _mail("shop/a", "ann", "shop/b"), "200", {"a": "200", "b": "200"}),
        ("whatever", object(), "200", {}),
    ],
)
def test_a_result_is_told_as_a_whole_and_agent_by_agent(
    verb: str, result: object, word: str, parts: Mapping[str, str]
) -> None:
    whole, each = came_of(verb, Ending(result=result))
    assert whole.word == word
    assert {part.agent: part.outcome.word for part in each} == parts
    assert {part.team for part in each} <= {"shop"}


def test_a_dry_run_did_nothing_to_anybody() -> None:
    plan = UpResult(team="shop", dry_run=True, changed=True, agents=[AgentOutcome(agent="a", action="start")])
    whole, parts = came_of("up", Ending(result=plan))
    assert (whole.word, whole.detail, parts) == ("200", {"dry_run": True}, ())


def test_facts_say_what_was_left_and_why_something_failed() -> None:
    assert came_of("down", Ending(result=_down(clean=False, killed=3)))[0].detail == {
        "left": "2 worktrees",
        "killed": 3,
    }
    (part,) = came_of("up", Ending(result=_up(b="failed")))[1]
    assert part.outcome.detail == {"action": "failed", "state": "pending", "reason": "why"}


@pytest.mark.parametrize(
    ("error", "word", "code"),
    [
        (NotFoundError("no"), "404", "not_found"),
        (DeniedError("no"), "403", "denied"),
        (CorralError("no"), "500", "failed"),
        (ValueError("no"), "500", "ValueError"),
    ],
)
def test_an_error_is_told_by_its_status(error: Exception, word: str, code: str) -> None:
    whole, parts = came_of("up", Ending(error=error))
    assert (whole.word, whole.detail, parts) == (word, {"error": code}, ())


def test_what_whoever_answered_notes_is_told() -> None:
    whole, parts = came_of("claim_task", Ending(noted={"task": "t1"}))
    assert (whole.word, whole.detail, parts) == ("200", {"task": "t1"}, ())


def test_who_left_is_told() -> None:
    assert came_of("logs", Ending(how="left"))[0].detail == {"ended": "left"}
    assert came_of("logs", Ending())[0].detail == {}


def test_the_first_ending_counts_whenever_it_is_asked_for() -> None:
    early, late = Lasting(), Lasting()
    heard: list[Ending] = []
    early.when_over(heard.append)
    for one in (early, late):
        one.over(Ending(result=1))
        one.over(Ending(how="left"))
    late.when_over(heard.append)
    assert heard == [Ending(result=1), Ending(result=1)]


def test_mail_is_told_by_its_id_alone() -> None:
    whole, parts = came_of("send_message", Ending(result=_mail("shop/a")))
    assert [dict(one.detail) for one in (whole, parts[0].outcome)] == [{"message": "m4"}] * 2


@pytest.mark.parametrize(("state", "word"), [("queued", "503"), ("unknown", "503"), ("failed", "500")])
def test_a_message_that_is_not_where_it_was_to_be_is_named_with_how_far_it_got(state: str, word: str) -> None:
    with pytest.raises(CorralError) as raised:
        must_have_reached(_sent("a", state), "submitted", remedy="")
    whole, _ = came_of("send", Ending(error=raised.value))
    assert (whole.word, whole.detail) == (word, {"error": raised.value.code, "message": "m1", "state": state})
