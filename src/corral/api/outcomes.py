"""What came of a request, for the audit trail: as a whole, and for each of the agents that it did something to. Pure.

An outcome is the status of the answer, or of the error that a stream or some work ended with. Where that is 200 and not
all of it was done, it is a word: `failed`, `left_behind`, `pending`. It is `left` if the caller went before any answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect

from corral.api.answers import status_of
from corral.api.lasting import LEFT, Ending
from corral.api.send_answers import Broadcasted
from corral.domain import plan, states
from corral.domain.errors import CorralError
from corral.domain.msg import Message, name_of
from corral.domain.sends import FAILED as NOT_SENT
from corral.domain.sends import UNKNOWN as NOT_KNOWN
from corral.service.agents import AgentDone, AgentRemoved
from corral.service.down import Receipt
from corral.service.fork import Forked
from corral.service.holding import AgentHeld
from corral.service.sends import Sent
from corral.service.up_result import AgentOutcome, UpResult

DONE, FAILED, LEFT_BEHIND, PENDING, UNKNOWN = "200", "failed", "left_behind", "pending", "unknown"
#: What `up` found as it should be, or did not touch.
_UNTOUCHED = frozenset((plan.KEEP, plan.CHANGED, plan.EXTRA))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it, and a few facts."""

    word: str
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """What came of it for one agent."""

    team: str
    agent: str
    outcome: Outcome


_WELL = Outcome(DONE)


def came_of(verb: str, ending: Ending) -> tuple[Outcome, Sequence[Part]]:
    """The outcome of a request, and that of each agent, as far as its result tells them apart."""
    if isinstance(ending.error, ClientDisconnect):
        return Outcome(LEFT), ()
    if ending.error is not None:
        error = ending.error
        code = error.code if isinstance(error, CorralError) else type(error).__name__
        return Outcome(str(status_of(error)), {"error": code, **_receipt_of(error)}), ()
    if ending.result is None:
        if ending.status == 200 and not ending.how:
            return Outcome(DONE, ending.noted) if ending.noted else _WELL, ()
        return Outcome(str(ending.status), {"ended": ending.how} if ending.how else {}), ()
    return _of_result(verb, ending.result)


def _receipt_of(error: Exception) -> Mapping[str, object]:
    """Of a message that is not where it was to be, which one that is, and how far it got: it may arrive later. What a
    keeper says is no receipt."""
    receipt = error.details.get("receipt") if isinstance(error, CorralError) and not error.said_by else None
    return {name: receipt.get(name) for name in ("message", "state")} if isinstance(receipt, dict) else {}


def _of_result(verb: str, result: object) -> tuple[Outcome, Sequence[Part]]:
    match result:
        case UpResult(dry_run=True):
            return Outcome(DONE, {"dry_run": True}), ()
        case UpResult():
            started = [one for one in result.agents if one.action not in _UNTOUCHED]
            return _whole([Part(result.team, one.agent, _started(one)) for one in started])
        case Receipt():
            return _of_receipt(result), [Part(result.team, agent, _WELL) for agent in result.stopped]
        case Broadcasted():
            return _whole([Part(one.team, one.agent, _sent(one)) for one in result.receipts])
        case Message():
            # Each agent that got it has an entry of its own: whoever looks for one finds its mail.
            got = Outcome(DONE, {"message": name_of(result.number)})
            reached = [party.split("/") for party in result.recipients if "/" in party]
            return got, [Part(team, agent, got) for team, agent in reached]
        case Forked():
            failed = result.state in (states.FAILED, states.BACKOFF)
            facts = {"of": result.source, "state": result.state, **_reason(result.detail)}
            return _whole([Part(result.team, result.agent, Outcome(FAILED if failed else DONE, facts))])
        case {"team": str(team), "agents": list(agents)}:
            return _whole([Part(team, one.agent, _done(verb, one)) for one in agents])
        case _:
            return _WELL, ()


def _whole(parts: Sequence[Part]) -> tuple[Outcome, Sequence[Part]]:
    """What several outcomes are together: the worst of them is told."""
    words = [part.outcome.word for part in parts]
    for word in (FAILED, UNKNOWN, PENDING):
        if word in words:
            return Outcome(word, {"agents": words.count(word), "of": len(parts)}), parts
    return _WELL, parts


def _started(one: AgentOutcome) -> Outcome:
    words = {FAILED: FAILED, plan.PENDING: PENDING}
    return Outcome(words.get(one.action, DONE), {"action": one.action, "state": one.state, **_reason(one.detail)})


def _sent(one: Sent) -> Outcome:
    word = {NOT_SENT: FAILED, NOT_KNOWN: UNKNOWN}.get(one.state, DONE)
    return Outcome(word, {"message": one.message, "state": one.state, **_reason(one.reason)})


def _done(verb: str, one: AgentDone | AgentHeld | AgentRemoved) -> Outcome:
    if isinstance(one, AgentRemoved):
        kept = {"kept": one.kept} if one.kept else {}
        return Outcome(DONE if one.removed else FAILED, {**kept, **_reason(one.detail)})
    if isinstance(one, AgentHeld):
        return Outcome(DONE, {"state": one.state, "changed": one.changed})
    wrong = states.LIVE if verb == "stop" else states.AT_REST | {states.UNKNOWN}
    return Outcome(FAILED if one.state in wrong else DONE, {"state": one.state, **_reason(one.detail)})


def _of_receipt(receipt: Receipt) -> Outcome:
    killed = {"killed": receipt.killed} if receipt.killed else {}
    if not receipt.clean:
        left = ", ".join(f"{check.found} {check.what}" for check in receipt.checks if check.found)
        return Outcome(LEFT_BEHIND, {"left": left, **killed})
    return Outcome(DONE, killed) if receipt.written else Outcome(FAILED, {"written": False, **killed})


def _reason(text: str) -> dict[str, object]:
    return {"reason": text} if text else {}
