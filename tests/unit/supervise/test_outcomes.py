"""What came of starting runs, as the journal has it: each run that started is told as started, once."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain import states
from corral.ports.runs import ExitStatus, Run
from corral.supervise import observe
from corral.supervise.observe import Findings
from corral.supervise.outcomes import Outcomes
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM

STARTING = replace(AGENT, state=states.STARTING, pid=None)
STARTED = Run(agent="a", run="r1", pid=7)
ENDED = Run(agent="a", run="r1", pid=7, alive="absent", exit=ExitStatus(code=7))


@pytest.mark.parametrize("ended_first", [True, False])
def test_a_run_that_ends_at_once_is_told_as_started_once_and_before_its_end(tmp_path: Path, ended_first: bool) -> None:
    async def act() -> list[str]:
        store = await SqliteStore.open(str(tmp_path / "corral.db"))
        registry = Registry(store, lambda: 2.0, str(tmp_path / "at-rest"))
        await registry.commit(PERSON, teams=[TEAM], agents=[STARTING])
        outcomes = Outcomes(registry, lambda: 2.0, lambda _: None)
        if not ended_first:
            await outcomes.started("shop", [STARTED])
        findings = Findings()
        observe.run_exited(findings, registry.agents["shop", "a"], ENDED, 2.0)
        await registry.observe(findings.agents.values(), findings.events)
        if ended_first:
            await outcomes.started("shop", [ENDED])
        assert registry.agents["shop", "a"].state == states.FAILED
        events = await store.events(agent="a")
        await store.close()
        return [event.event for event in events]

    assert asyncio.run(act()) == ["agent.started", "agent.exited"]
