"""The audit trail has what Corral did by itself and what became of what was in line, and not what was only seen."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from corral.adapters.audit.writer import TrailWriter
from corral.domain.audit import ITSELF, Actor, Note, Target
from corral.domain.policy import Caller
from corral.domain.records import SUPERVISOR, NewEvent, Who
from corral.ports.store import Change
from corral.service.audit import Audit
from corral.service.audit_acts import QUEUE, RULE, ActsOfCorral, Known
from tests.support.audit import TERMS, Clock, entries

ANN = Who(user="ann", uid=7)


def event(name: str, outcome: str = "ok", agent: str = "a", **data: object) -> NewEvent:
    return NewEvent(event=name, team="shop", agent=agent, outcome=outcome, data=data)


def noted(directory: Path, changes: Sequence[Change], known: Known | None = None) -> list[Note]:
    """What is in the trail of these changes."""

    async def run() -> None:
        audit = Audit(await TrailWriter.open(str(directory / "t"), TERMS, Clock(), {}), TERMS, Clock())
        ActsOfCorral(audit, known).hear(changes)
        await audit.close()

    asyncio.run(run())
    return [entry.note for entry in entries(directory / "t") if not entry.note.verb.startswith("audit.")]


def test_acts_of_corral_are_noted_with_the_agent_the_run_and_what_came_of_it(tmp_path: Path) -> None:
    ours = [
        event("agent.exited", exit_code=3),
        event("process.exited", process="p1", exit_code=7),
        event("agent.starting", run="r2", session="s"),
        event("agent.failed", "failed", run="r2", reason="no room"),
        event("lease.expired"),
    ]
    notes = noted(
        tmp_path,
        [
            Change(who=SUPERVISOR, time=0.0, events=ours),
            Change(who=ANN, time=0.0, events=[event("agent.stopping", run="r2")]),
        ],
    )
    assert [(note.verb, note.outcome, dict(note.detail)) for note in notes] == [
        ("process.exited", "ok", {"exit_code": 7, "process": "p1"}),
        ("agent.starting", "ok", {"run": "r2"}),
        ("agent.failed", "failed", {"run": "r2", "reason": "no room"}),
    ]
    assert {(note.who, note.on, note.rule) for note in notes} == {
        (ITSELF, Target(kind="agent", team="shop", agent="a"), RULE)
    }


def test_what_became_of_a_message_is_noted_with_who_sent_it_and_not_each_step(tmp_path: Path) -> None:
    steps = [("queued", "ok"), ("sending", "ok"), ("pasted", "ok"), ("submitted", "ok"), ("observed", "ok")]
    steps += [("failed", "unknown")]
    changes = [
        Change(
            who=ANN, time=0.0, events=[event(f"message.{kind}", outcome, message="m1", bytes=2, reason="it said hello")]
        )
        for kind, outcome in steps
    ]
    notes = noted(tmp_path, changes)
    assert [(note.verb, note.outcome, note.rule, note.who.user) for note in notes] == [
        ("message.submitted", "ok", QUEUE, "ann"),
        ("message.failed", "unknown", QUEUE, "ann"),
    ]
    assert {(note.on.agent, tuple(note.detail.items())) for note in notes} == {("a", (("message", "m1"), ("bytes", 2)))}


def test_what_ends_a_merge_is_noted_with_who_submitted_it_the_commit_and_the_trace_of_that(tmp_path: Path) -> None:
    about = {"merge": "q1", "branch": "x", "tip": "t", "target": "main", "base": "b", "commit": "c", "trace": "f" * 16}
    kinds = ("submitted", "testing", "landing", "merged", "failed", "residue", "split")
    changes = [
        Change(
            who=SUPERVISOR if kind == "residue" else ANN, time=0.0, events=[event(f"merge.{kind}", agent="", **about)]
        )
        for kind in kinds
    ]
    changes[4] = Change(who=ANN, time=0.0, events=[event("merge.failed", "failed", reason="make said: hello", **about)])
    notes = noted(tmp_path, changes)
    assert [(note.verb, note.outcome) for note in notes] == [
        ("merge.landing", "ok"),
        ("merge.merged", "ok"),
        ("merge.failed", "failed"),
        ("merge.residue", "ok"),
    ]
    which = {"merge": "q1", "branch": "x", "tip": "t", "target": "main"}
    assert dict(notes[1].detail) == {**which, "base": "b", "commit": "c"}
    assert dict(notes[2].detail) == which
    assert {(note.trace, note.rule) for note in notes} == {("f" * 16, QUEUE)}
    assert [note.who for note in notes] == [Actor(uid=7, user="ann")] * 3 + [ITSELF]
    assert (notes[1].on, notes[2].on.agent) == (Target(kind="team", team="shop"), "a")


def test_who_submitted_it_is_told_with_what_they_are_to_the_host(tmp_path: Path) -> None:
    def known(who: Who) -> Caller:
        return Caller(user=who.user, uid=who.uid, member=True, role="senior")

    agent = Who(user="ann", uid=7, agent="shop/a")
    notes = noted(tmp_path, [Change(who=who, time=0.0, events=[event("merge.merged")]) for who in (ANN, agent)], known)
    assert [(note.who.member, note.who.role, note.who.agent) for note in notes] == [
        (True, "senior", ""),
        (True, "agent", "shop/a"),
    ]


def test_what_corral_types_and_writes_by_itself_is_noted_with_whom_it_reaches_and_never_what_it_says(
    tmp_path: Path,
) -> None:
    letter = event("message.sent", agent="", message="m1", to=["shop/b"], bytes=9)
    cut_off = NewEvent(event="keeper.cut_off", outcome="failed", data={"user": "ben", "reason": "too much"})
    ours = [
        event("prompt.sending", run="r1", evidence="quiet"),
        event("prompt.submitted", run="r1", bytes=13),
        event("message.queued", message="m0", bytes=4, sha256="s"),
        event("message.sending", message="m0", bytes=4, sha256="s"),
        event("message.submitted", message="m0", bytes=4, sha256="s"),
        letter,
        cut_off,
    ]
    others = [letter, event("message.sending", message="m2", bytes=4)]
    notes = noted(tmp_path, [Change(who=SUPERVISOR, time=0.0, events=ours), Change(who=ANN, time=0.0, events=others)])
    assert [(note.verb, note.on.agent or note.on.kind, dict(note.detail)) for note in notes] == [
        ("prompt.sending", "a", {"run": "r1", "evidence": "quiet"}),
        ("prompt.submitted", "a", {"run": "r1", "bytes": 13}),
        ("message.sending", "a", {"bytes": 4, "message": "m0"}),
        ("message.submitted", "a", {"bytes": 4, "message": "m0"}),
        ("message.sent", "b", {"bytes": 9, "message": "m1", "to": "shop/b"}),
        ("keeper.cut_off", "host", {"reason": "too much", "user": "ben"}),
    ]
    assert {note.who for note in notes} == {ITSELF}
