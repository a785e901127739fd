"""What hooks tell of conversations is kept with the agent, and told by `ps`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from corral.domain.records import Agent, Conversation
from corral.supervise.registry import Registry
from tests.support.records import PERSON
from tests.unit.api.scene import Scene, play


async def with_program(scene: Scene, *command: str) -> None:
    agent = replace(scene.registry.agents["shop", "a"], command=command, conversation=Conversation(begun_at=1.0))
    await scene.registry.commit(PERSON, agents=[agent])


async def tell(scene: Scene, session: str, *, program: str = "claude", run: str = "r1") -> None:
    said = json.dumps({"session_id": session}).encode()
    reply = await scene.ask("POST", f"/v1/hooks/{program}?event=Stop&team=shop&agent=a&run={run}", said)
    assert reply.status == 200


async def shown(scene: Scene) -> dict[str, Any]:
    agents = (await scene.ask("GET", "/v1/agents?team=shop")).json
    found: dict[str, Any] = next(agent for agent in agents if agent["agent"] == "a")
    return found


def test_what_a_hook_tells_is_kept_and_told_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await with_program(scene, "claude")
        await tell(scene, "one")
        await tell(scene, "one")
        await tell(scene, "two")
        assert (await shown(scene))["session"] == "two"
        told = [data for event, _, data in await scene.journal() if event == "conversation.found"]
        assert [(data["session"], data["evidence"]) for data in told] == [("one", "hook"), ("two", "hook")]
        again = Registry(scene.store, lambda: 0.0, str(tmp_path / "rest"))
        await again.load()
        kept: Agent = again.agents["shop", "a"]
        assert kept.conversation.id == "two"

    play(tmp_path, act)


def test_nobody_else_speaks_of_an_agents_conversation(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await with_program(scene, "claude")
        await tell(scene, "earlier", run="r0")
        await tell(scene, "other-program", program="codex")
        await tell(scene, "--not-an-id")
        assert (await shown(scene))["session"] == ""
        await with_program(scene, "cat")
        await tell(scene, "unknown-program")
        assert (await shown(scene))["session"] == ""

    play(tmp_path, act)


def test_a_fork_that_cannot_be_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for body, code in (
            ({"agent": "a", "name": "b"}, "refused"),
            ({"agent": "a", "name": "No Name"}, "wrong_use"),
        ):
            reply = await scene.ask("POST", "/v1/fork", {"team": "shop", **body})
            assert f'"code":"{code}"' in reply.body.decode()
        assert (await scene.ask("POST", "/v1/fork", {"team": "shop", "agent": "x", "name": "y"})).status == 404
        assert (await scene.ask("POST", "/v1/fork", {"agent": "a"})).status == 400
        assert len(scene.registry.of_team("shop")) == 2

    play(tmp_path, act)
