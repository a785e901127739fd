"""Whose conversation it is that a program left in a directory."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.agents.catalogue import for_command
from corral.supervise.conversations import Conversations
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM


async def _no_keeper(*_: object) -> Any:
    raise AssertionError("nobody is asked")


@pytest.mark.parametrize(
    ("shared", "user", "run_as", "alone"),
    [(True, "ben", "", True), (True, "ben", "ann", False), (True, "ann", "", False), (False, "", "", False)],
)
def test_nobody_takes_it_from_another_user_by_naming_the_directory(
    tmp_path: Path, shared: bool, user: str, run_as: str, alone: bool
) -> None:
    async def act() -> None:
        store = await SqliteStore.open(str(tmp_path / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(tmp_path / "at-rest"))
        agent = replace(AGENT, command=("claude",))
        other = replace(agent, team="mill", run_as=run_as)
        await registry.commit(
            PERSON,
            teams=[replace(TEAM, user="ann" if shared else ""), replace(TEAM, name="mill", user=user)],
            agents=[agent, other],
        )
        keepers = Keepers(registry, _no_keeper, lambda _: None, lambda *_: None, shared=shared)
        conversations = Conversations(registry, keepers, lambda: 0.0)
        assert conversations.is_alone(agent, for_command(agent.command, agent.shell)) is alone
        await store.close()

    asyncio.run(act())
