"""The tools of tasks: what they ask of a daemon that serves, and that its answers are what models are told."""

from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from corral.client.wire import target
from corral.mcp.calls import Call
from corral.mcp.parameters import checked
from corral.mcp.task_tools import TASK_TOOLS
from tests.unit.api.scene import Reply, Scene, play

TOOLS = {tool.name: tool for tool in TASK_TOOLS}


def call(name: str, **given: object) -> Call:
    tool = TOOLS[name]
    return tool.call(checked(name, tool.parameters, given))


async def ask(scene: Scene, name: str, **given: object) -> Reply:
    """As `mcp.daemon.Daemon` asks, for the agent a."""
    asked = call(name, **given)
    whole = target(asked.path, (("team", "shop"), ("agent", "a"), *asked.parameters))
    return await scene.ask(asked.method, whole, asked.body)


async def told(scene: Scene, name: str, **given: object) -> tuple[Any, str]:
    """The answer, which fits what a client was told of it, and the same in words."""
    reply = await ask(scene, name, **given)
    assert reply.status == 200, reply.json
    jsonschema.validate(reply.json, TOOLS[name].result)
    return reply.json, TOOLS[name].words(reply.json)


def test_a_task_goes_from_hand_to_hand(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        added, words = await told(scene, "task_add", title="Fix it", body="all of it", key="k", priority=3)
        task = added["task"]
        assert words == f"{task} is on the list"
        assert "it was there before" in (await told(scene, "task_add", title="Fix it", body="all of it", key="k"))[1]
        later, _ = await told(scene, "task_add", title="Then this", after=[task])
        _, words = await told(scene, "task_list")
        assert words == f"{task}  ready  Fix it\n{later['task']}  waiting, waits for {task}  Then this"
        claimed, words = await told(scene, "task_claim")
        token = claimed["token"]
        assert words.startswith(f"{task} is yours, with token {token} (attempt 1 of 3)")
        assert "Fix it\n\nall of it" in words
        _, words = await told(scene, "task_renew", task=task, token=token, note="half way")
        assert words == f"{task} is claimed now"
        _, words = await told(scene, "task_list", mine=True)
        assert words == f"{task}  claimed by shop/a, token {token}  Fix it"
        _, words = await told(scene, "task_release", task=task, token=token)
        assert words == f"{task} is ready now"
        claimed, words = await told(scene, "task_claim", wait=5)
        assert "half way" in words
        _, words = await told(scene, "task_done", task=task, token=claimed["token"], result="fixed")
        assert words == f"{task} is done now"
        assert (await told(scene, "task_list", state="done"))[0]["tasks"][0]["task"] == task
        assert (await told(scene, "task_list", limit=1, mine=True))[1] == "no tasks"
        claimed, _ = await told(scene, "task_claim")
        _, words = await told(
            scene, "task_fail", task=claimed["task"], token=claimed["token"], note="it cannot be", final=True
        )
        assert words == f"{claimed['task']} is dead now"

    play(tmp_path, act)


def test_none_and_a_token_that_is_not_valid_are_errors(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await ask(scene, "task_claim")).status == 404
        await told(scene, "task_add", title="x")
        claimed, _ = await told(scene, "task_claim")
        for name in ("task_done", "task_renew", "task_release"):
            assert (await ask(scene, name, task=claimed["task"], token=claimed["token"] - 1)).status == 409
        assert (await ask(scene, "task_fail", task=claimed["task"], token=1, note="x")).status == 409

    play(tmp_path, act)


def test_a_wait_is_waited_for() -> None:
    assert call("task_claim", wait=120).wait == 120
    assert call("task_claim").wait == 0


@pytest.mark.parametrize("task", ["../kv", "t1/done?x=", "t 1", "ä", ""])
def test_nothing_but_an_id_gets_into_a_path(task: str) -> None:
    path = call("task_done", task=task, token=1).path
    name = path.removeprefix("/v1/tasks/").removesuffix("/done")
    assert name
    assert all(letter.isascii() and (letter.isalnum() or letter == "-") for letter in name)
