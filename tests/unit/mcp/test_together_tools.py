"""The tools of values, messages and topics against a daemon that serves: what comes back fits what was promised."""

import asyncio
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from corral.client.wire import target
from corral.domain.errors import NotFoundError, WrongUseError
from corral.mcp.kv_tools import KV_TOOLS
from corral.mcp.msg_tools import MSG_TOOLS
from corral.mcp.parameters import checked
from corral.mcp.texts import INSTRUCTIONS
from corral.mcp.tool import Tool
from corral.mcp.tools import TOOLS
from corral.mcp.topic_tools import TOPIC_TOOLS
from tests.unit.api.scene import Scene, play


class Model:
    """What has nothing but the tools, as one agent of a team."""

    def __init__(self, scene: Scene, agent: str) -> None:
        self._scene = scene
        self._whose = (("team", "shop"), ("agent", agent))
        #: The last answer in words.
        self.words = ""

    async def call(self, name: str, /, **given: object) -> Any:
        """The answer, which must fit the schema that the client was told."""
        tool = named(name)
        call = tool.call(checked(name, tool.parameters, given))
        reply = await self._scene.ask(call.method, target(call.path, (*self._whose, *call.parameters)), call.body)
        assert reply.status == 200, reply.error
        jsonschema.validate(reply.json, tool.result)
        self.words = tool.words(reply.json)
        return reply.json

    async def error(self, name: str, /, **given: object) -> Any:
        tool = named(name)
        call = tool.call(checked(name, tool.parameters, given))
        reply = await self._scene.ask(call.method, target(call.path, (*self._whose, *call.parameters)), call.body)
        assert reply.status >= 400
        return reply.error


def named(name: str) -> Tool:
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    return tool


def test_values(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        put = await a.call("kv_put", key="deploy/by", value="a", if_revision=0)
        assert a.words == f"deploy/by changed, revision {put['revision']}"
        lost = await b.error("kv_put", key="deploy/by", value="b", if_revision=0)
        assert lost["revision"] == put["revision"]
        await b.call("kv_get", key="deploy/by")
        assert b.words.startswith(f"deploy/by has revision {put['revision']}")
        assert b.words.endswith("\n\na")
        listed = await b.call("kv_list", prefix="deploy/")
        assert "deploy/by" in b.words
        nothing = await b.call("kv_watch", after=listed["revision"], prefix="deploy/", wait=0.02)
        assert nothing["changes"] == []
        assert "nothing changed" in b.words
        await a.call("kv_put", key="other", value="x")
        await a.call("kv_remove", key="deploy/by", if_revision=put["revision"])
        await a.call("kv_remove", key="deploy/by")
        assert "no such key" in a.words
        seen = await b.call("kv_watch", after=nothing["next"], prefix="deploy/", wait=30)
        assert [change["changes"] for change in seen["changes"]] == [[{"key": "deploy/by", "value": None}]]
        assert "deploy/by  removed" in b.words
        assert (await b.call("kv_watch", after=seen["next"], prefix="deploy/", wait=0))["changes"] == []

    play(tmp_path, act)


def test_several_values_in_one_go(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        put = await a.call("kv_transact", puts={"x": "1", "y": "2"}, if_revisions={"x": 0})
        assert a.words == f"x, y changed, revision {put['revision']}"
        lost = await b.error("kv_transact", puts={"y": "3"}, drops=["x"], if_revisions={"x": 0})
        assert (lost["key"], lost["revision"]) == ("x", put["revision"])
        assert (await b.call("kv_get", key="y"))["value"] == "2"
        with pytest.raises(WrongUseError, match="whole numbers from 0 on"):
            await b.call("kv_transact", if_revisions={"x": "0"})

    play(tmp_path, act)


def test_many_files_are_asked_about_at_once(tmp_path: Path) -> None:
    """As many as on the command line; who holds one of them is named."""

    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        await a.call("lease_acquire", patterns=["src/"])
        many = [f"docs/{number}.md" for number in range(3000)]
        assert (await b.call("lease_check", paths=many))["free"] is True
        assert b.words.endswith("docs/19.md and 2980 more")
        held = await b.error("lease_check", paths=[*many, "src/\udcff.py"])
        assert (held["holder"], held["pattern"]) == ("shop/a", "src/")
        too_many = await b.error("lease_check", paths=["x"] * 10_001)
        assert "10000 at a time" in too_many["remedy"]
        for name in ("", "a\0b", "\ud800"):
            with pytest.raises(WrongUseError, match="names no file"):
                await b.call("lease_check", paths=["docs/", name])

    play(tmp_path, act)


def test_files_can_be_waited_for_without_taking_them(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        held = await a.call("lease_acquire", patterns=["src/"])
        assert (await b.error("lease_wait", patterns=["src/x.py"], wait=0.02))["holder"] == "shop/a"
        waiting = asyncio.ensure_future(b.call("lease_wait", patterns=["src/x.py"], wait=30))
        await asyncio.sleep(0.02)
        await a.call("lease_release", lease=held["lease"])
        assert (await waiting)["free"]
        assert (await b.call("lease_list"))["leases"] == []

    play(tmp_path, act)


def test_locks_belong_to_the_run_of_the_agent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        lock = await a.call("lock_acquire", name="deploy")
        assert "shop/a holds deploy" in a.words
        assert (await b.error("lock_acquire", name="deploy"))["holder"] == "shop/a"
        assert [one["patterns"] for one in (await b.call("lock_list"))["leases"]] == [["deploy"]]
        assert "shop/a holds deploy" in b.words
        # Nobody has to renew it: it has no deadline of its own, however short its time.
        short = {"name": "short", "ttl": 0.05, "while_agent_runs": True}
        await scene.ask("POST", "/v1/locks?team=shop&agent=a", short)
        renewed = await scene.ask(
            "POST", "/v1/locks?team=shop&agent=a", {**short, "name": "gone", "while_agent_runs": False}
        )
        assert renewed.status == 200
        await asyncio.sleep(0.2)
        assert [one["patterns"] for one in (await b.call("lock_list"))["leases"]] == [["deploy"], ["short"]]
        await a.call("lease_release", lease=lock["lease"])
        await b.call("lock_acquire", name="deploy", wait=5)

    play(tmp_path, act)


def test_a_task_can_be_looked_at(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        task = (await a.call("task_add", title="Fix it", body="all of it"))["task"]
        claim = await b.call("task_claim")
        await b.call("task_done", task=task, token=claim["token"], result="fixed", note="easy")
        shown = await a.call("task_show", task=task)
        assert (shown["state"], shown["body"], shown["result"]) == ("done", "all of it", "fixed")
        for word in ("Fix it", "all of it", "easy", "result: fixed"):
            assert word in a.words
        assert (await a.error("task_show", task="../x"))["code"] == "not_found"

    play(tmp_path, act)


def test_messages(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        sent = await a.call("message_send", to=["b"], text="the schema changed", subject="schema")
        assert a.words == f"{sent['message']}\nshop/b: stored"
        await b.call("message_inbox", wait=30, **{"from": "a"})
        assert f"{sent['message']}  stored  from shop/a  schema" in b.words
        read = await b.call("message_read", message=sent["message"])
        assert read["text"] == "the schema changed"
        assert "no permission" in b.words
        await b.call("message_send", text="seen", reply_to=sent["message"])
        await b.call("message_ack", message=sent["message"], note="done")
        await b.call("message_inbox")
        assert b.words == "no messages"
        (answer,) = (await a.call("message_inbox"))["messages"]
        assert answer["reply_to"] == sent["message"]
        assert (await a.error("message_send", to=["nobody"], text="x"))["unknown"] == ["nobody"]

    play(tmp_path, act)


def test_topics(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        a, b = Model(scene, "a"), Model(scene, "b")
        revisions = [(await a.call("topic_publish", topic="t", text=f"{n}"))["revision"] for n in range(3)]
        assert a.words == f"published, revision {revisions[-1]}"
        page = await b.call("topic_read", topic="t", after=0, limit=2)
        assert [one["text"] for one in page["entries"]] == ["0", "1"]
        assert f"after={page['next']}" in b.words
        page = await b.call("topic_read", topic="t", after=page["next"], wait=30)
        assert [one["text"] for one in page["entries"]] == ["2"]
        assert (await b.call("topic_read", topic="t", wait=0.02))["entries"] == []

    play(tmp_path, act)


@pytest.mark.parametrize("tool", ["message_read", "message_ack"])
@pytest.mark.parametrize("message", ["", "../agents", "m1/ack?x=", "m 1", "m1\n", "ä"])
def test_nothing_but_an_id_gets_into_a_path(tool: str, message: str) -> None:
    with pytest.raises(NotFoundError, match="there is no message"):
        named(tool).call(checked(tool, named(tool).parameters, {"message": message}))


def test_a_model_is_told_that_nothing_of_this_is_a_permission() -> None:
    assert all(tool in TOOLS for tool in (*KV_TOOLS, *MSG_TOOLS, *TOPIC_TOOLS))
    for tool in (*(tool for tool in MSG_TOOLS if tool.name != "message_ack"), *TOPIC_TOOLS):
        assert "permission" in tool.description, tool.name
    assert "permission" in INSTRUCTIONS
