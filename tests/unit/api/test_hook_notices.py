"""Messages on the way through hooks: offered to one at a time, and injected when the hook says that it told."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.domain.hook_notices import MOST_MESSAGES
from corral.service import hook_notices
from tests.support.records import PERSON
from tests.unit.api.scene import Reply, Scene, play

TOOL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}


async def hook(scene: Scene, event: str = "PostToolUse", program: str = "claude", run: str = "", **said: object) -> Any:
    target = f"/v1/hooks/{program}?event={event}&team=shop&agent=b&run={run}"
    answer = await scene.ask("POST", target, json.dumps({**TOOL, "prompt": "x", **said}).encode())
    assert answer.status == 200, answer.body
    return answer.json


async def told(scene: Scene, receipt: str) -> Reply:
    return await scene.ask("POST", f"/v1/hooks/claude/told?receipt={receipt}")


async def send(scene: Scene, text: str = "the words") -> str:
    answer = await scene.ask("POST", "/v1/messages?team=shop&agent=a", {"to": ["b"], "text": text})
    return str(answer.json["message"])


async def state(scene: Scene, message: str) -> str:
    shown = (await scene.ask("GET", f"/v1/messages/{message}?team=shop&agent=a")).json
    return str(shown["recipients"][0]["state"])


def notice(answer: Any) -> str:
    """What the model is told."""
    if not answer["stdout"]:
        return ""
    said = json.loads(answer["stdout"])["hookSpecificOutput"]
    assert "permissionDecision" not in said
    return str(said.get("additionalContext", ""))


@pytest.mark.parametrize("event", ["PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart"])
def test_a_message_is_injected_once_its_hook_has_told_it_and_not_before(tmp_path: Path, event: str) -> None:
    async def act(scene: Scene) -> None:
        message = await send(scene)
        answer = await hook(scene, event)
        assert f"{message} from shop/a: “the words”" in notice(answer)
        assert json.loads(answer["stdout"])["hookSpecificOutput"]["hookEventName"] == event
        assert await state(scene, message) == "stored"
        assert (await told(scene, answer["receipt"])).json == {"messages": [message], "sent": None}
        assert await state(scene, message) == "injected"
        assert await hook(scene, event) == {
            "allowed": True, "reason": "", "stdout": "", "stderr": "", "exit_code": 0, "receipt": ""
        }  # fmt: skip
        events = [(event, data) for event, _, data in await scene.journal() if event == "message.injected"]
        assert events == [("message.injected", {"message": message, "from": "shop/a", "by": "shop/b"})]

    play(tmp_path, act)


def test_of_hooks_that_run_side_by_side_one_is_offered_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await send(scene)
        offered = [answer["receipt"] for answer in await asyncio.gather(*(hook(scene) for _ in range(8)))]
        assert len([receipt for receipt in offered if receipt]) == 1

    play(tmp_path, act)


def test_what_nobody_answered_for_is_offered_again_and_an_old_receipt_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(scene: Scene) -> None:
        message = await send(scene)
        monkeypatch.setattr(hook_notices, "OFFER_SECONDS", 0.0)
        first = await hook(scene)
        monkeypatch.undo()
        again = await hook(scene)
        assert notice(await hook(scene)) == "", "that one stands"
        assert message in notice(again)
        assert (await told(scene, first["receipt"])).status == 404
        assert await state(scene, message) == "stored"
        assert (await told(scene, again["receipt"])).status == 200
        assert (await told(scene, again["receipt"])).status == 404
        assert await state(scene, message) == "injected"

    play(tmp_path, act)


def test_many_are_told_a_few_at_a_time_each_of_them_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        sent = [await send(scene, f"number {number}.") for number in range(MOST_MESSAGES + 2)]
        found: list[str] = []
        while (answer := await hook(scene))["receipt"]:
            found += (await told(scene, answer["receipt"])).json["messages"]
        assert found == sent

    play(tmp_path, act)


def test_what_was_read_or_acked_is_not_told_and_what_is_told_meanwhile_stays_read(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        read, acked, late = [await send(scene, text) for text in ("read", "acked", "late")]
        await scene.ask("POST", f"/v1/messages/{read}/read?team=shop&agent=b")
        await scene.ask("POST", f"/v1/messages/{acked}/ack?team=shop&agent=b", {})
        answer = await hook(scene)
        assert (read in notice(answer), acked in notice(answer), late in notice(answer)) == (False, False, True)
        await scene.ask("POST", f"/v1/messages/{late}/ack?team=shop&agent=b", {})
        assert (await told(scene, answer["receipt"])).status == 200
        assert await state(scene, late) == "acked"

    play(tmp_path, act)


def test_only_the_agent_itself_is_told_and_only_where_it_can_be(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await send(scene)
        assert notice(await hook(scene, agent_id="helper")) == ""
        assert notice(await hook(scene, run="earlier")) == ""
        for event in ("PreToolUse", "Notification", "PermissionRequest", "Stop", "SomethingNew"):
            assert (await hook(scene, event))["receipt"] == ""
        for program in ("cursor", "opencode", "pi"):
            assert (await hook(scene, "post-tool-use", program))["receipt"] == ""
        person = await scene.ask("POST", "/v1/hooks/claude?event=PostToolUse", json.dumps(TOOL).encode())
        assert person.json["receipt"] == ""
        # Of an agent that is known to be another program, these are hooks of something that it started.
        codex = replace(scene.registry.agents["shop", "b"], command=("codex",))
        await scene.registry.commit(PERSON, agents=[codex])
        assert notice(await hook(scene)) == ""
        assert "the words" in notice(await hook(scene, program="codex"))

    play(tmp_path, act)


def test_gemini_is_told_after_its_tools(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await send(scene)
        answer = await hook(scene, "AfterTool", "gemini")
        assert json.loads(answer["stdout"])["hookSpecificOutput"]["hookEventName"] == "AfterTool"
        assert "the words" in notice(answer)

    play(tmp_path, act)
