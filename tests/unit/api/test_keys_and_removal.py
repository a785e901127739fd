"""Messages that are sent once, and tasks that are forgotten, over HTTP."""

from pathlib import Path

from corral.domain.access import Obstacles
from tests.unit.api.scene import Scene, play


def test_the_same_key_is_the_same_message_also_after_a_restart(tmp_path: Path) -> None:
    order = {"to": ["b"], "text": "hello", "key": "k1"}

    async def first(scene: Scene) -> None:
        sent = (await scene.ask("POST", "/v1/messages?team=shop&agent=a", order)).json
        again = (await scene.ask("POST", "/v1/messages?team=shop&agent=a", order)).json
        assert again["message"] == sent["message"]
        other = await scene.ask("POST", "/v1/messages?team=shop&agent=a", {**order, "text": "else"})
        assert (other.status, other.error["message_id"]) == (409, sent["message"])
        # A key is its sender's own.
        theirs = (await scene.ask("POST", "/v1/messages?team=shop&agent=b", {**order, "to": ["a"]})).json
        assert theirs["message"] != sent["message"]
        inbox = (await scene.ask("GET", "/v1/messages/inbox?team=shop&agent=b")).json["messages"]
        assert [message["message"] for message in inbox] == [sent["message"]]
        for key in ("x" * 201, "two\nlines"):
            assert (await scene.ask("POST", "/v1/messages?team=shop&agent=a", {**order, "key": key})).status == 400

    async def second(scene: Scene) -> None:
        before = (await scene.ask("GET", "/v1/messages/inbox?team=shop&agent=b")).json["messages"]
        again = (await scene.ask("POST", "/v1/messages?team=shop&agent=a", order)).json
        assert [message["message"] for message in before] == [again["message"]]

    play(tmp_path, first)
    play(tmp_path, second)


def test_a_task_is_forgotten_for_good(tmp_path: Path) -> None:
    async def first(scene: Scene) -> None:
        task = (await scene.ask("POST", "/v1/tasks?team=shop", {"title": "x"})).json["task"]
        refused = await scene.ask("DELETE", f"/v1/tasks/{task}?team=shop")
        assert (refused.status, refused.error["state"]) == (409, "ready")
        claim = (await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {})).json
        gone = await scene.ask("DELETE", f"/v1/tasks/{task}?team=shop&force=1")
        assert gone.json == {"task": task, "removed": True}
        done = await scene.ask("POST", f"/v1/tasks/{task}/done?team=shop", {"token": claim["token"]})
        assert done.status == 404
        assert ("task.removed", "ok", {"task": task, "state": "claimed"}) in await scene.journal()

    async def second(scene: Scene) -> None:
        assert (await scene.ask("GET", "/v1/tasks?team=shop")).json["tasks"] == []

    play(tmp_path, first)
    play(tmp_path, second)


def test_an_agent_that_cannot_be_kept_to_its_ports_is_not_started(tmp_path: Path) -> None:
    text = (
        '[team]\nname = "new"\n[agents.a]\ncommand = ["sleep", "9"]\naccess.bind = "own"\n[agents.b]\ncommand = ["x"]\n'
    )

    async def act(scene: Scene) -> None:
        scene.keeper.obstacles = Obstacles(ports="this kernel has no Landlock")
        reply = await scene.ask("POST", "/v1/up", {"file": str(tmp_path / "corral.toml"), "text": text})
        assert b'"refused"' in reply.body
        assert b"this kernel has no Landlock" in reply.body
        assert "new" not in scene.registry.teams

    play(tmp_path, act)
