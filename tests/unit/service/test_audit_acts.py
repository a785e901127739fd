"""The audit trail has what Corral did by itself, and nothing that others did or that was only seen."""

import asyncio
from pathlib import Path

from corral.adapters.audit.writer import TrailWriter
from corral.domain.audit import ITSELF, Target
from corral.domain.records import SUPERVISOR, NewEvent, Who
from corral.ports.store import Change
from corral.service.audit import Audit
from corral.service.audit_acts import RULE, ActsOfCorral
from tests.support.audit import TERMS, Clock, entries


def test_acts_of_corral_are_noted_with_the_agent_the_run_and_what_came_of_it(tmp_path: Path) -> None:
    def event(name: str, outcome: str = "ok", **data: object) -> NewEvent:
        return NewEvent(event=name, team="shop", agent="a", outcome=outcome, data=data)

    ours = [
        event("agent.exited", exit_code=3),
        event("agent.starting", run="r2", session="s"),
        event("agent.failed", "failed", run="r2", reason="no room"),
        event("lease.expired"),
    ]
    changes = [
        Change(who=SUPERVISOR, time=0.0, events=ours),
        Change(who=Who(user="ann", uid=7), time=0.0, events=[event("agent.stopping", run="r2")]),
    ]

    async def run() -> None:
        audit = Audit(await TrailWriter.open(str(tmp_path / "t"), TERMS, Clock(), {}), TERMS, Clock())
        ActsOfCorral(audit).hear(changes)
        await audit.close()

    asyncio.run(run())
    notes = [entry.note for entry in entries(tmp_path / "t") if not entry.note.verb.startswith("audit.")]
    assert [(note.verb, note.outcome, dict(note.detail)) for note in notes] == [
        ("agent.starting", "ok", {"run": "r2"}),
        ("agent.failed", "failed", {"run": "r2", "reason": "no room"}),
    ]
    assert {(note.who, note.on, note.rule) for note in notes} == {
        (ITSELF, Target(kind="agent", team="shop", agent="a"), RULE)
    }
