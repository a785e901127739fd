"""Values over HTTP: what is told, what is refused, and that a watcher misses nothing."""

import asyncio
import base64
import contextlib
from pathlib import Path

from tests.unit.api.scene import Scene, play


async def put(scene: Scene, key: str, value: object, **more: object) -> int:
    reply = await scene.ask("POST", "/v1/kv?team=shop", {"puts": {key: value}, **more})
    assert reply.status == 200, reply.json
    assert reply.json["changed"] == [key]
    return int(reply.json["revision"])


def test_a_value_is_told_with_its_revisions_and_by_whom(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = await put(scene, "build/status", "red")
        second = await put(scene, "build/status", "green")
        assert second > first
        answer = (await scene.ask("GET", "/v1/kv?team=shop&key=build/status")).json
        assert answer.pop("time")
        assert answer.pop("by")
        assert answer == {
            "key": "build/status",
            "value": "green",
            "revision": second,
            "created_revision": first,
        }

    play(tmp_path, act)


def test_bytes_that_are_no_text_come_as_base64(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        data = base64.b64encode(b"\0\xff").decode()
        await put(scene, "k", {"base64": data})
        answer = (await scene.ask("GET", "/v1/kv?team=shop&key=k")).json
        assert (answer["value"], answer["encoding"]) == (data, "base64")

    play(tmp_path, act)


def test_what_is_not_there_and_what_was_lost_are_refused(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask("GET", "/v1/kv?team=shop&key=k")).status == 404
        assert (await scene.ask("GET", "/v1/kv?team=nobody&key=k")).status == 404
        revision = await put(scene, "k", "1", if_revisions={"k": 0})
        lost = await scene.ask("POST", "/v1/kv?team=shop", {"puts": {"k": "2"}, "if_revisions": {"k": 0}})
        assert lost.status == 409
        error = lost.json["error"]
        assert (error["key"], error["revision"]) == ("k", revision)
        wrong: list[dict[str, object]] = [{}, {"puts": {"": "x"}}, {"puts": {"a": 1}}, {"put": {}}, {"drops": ["a\0b"]}]
        for body in wrong:
            assert (await scene.ask("POST", "/v1/kv?team=shop", body)).status == 400, body
        assert (await scene.ask("GET", "/v1/kv?team=shop&key=k")).json["value"] == "1"

    play(tmp_path, act)


def test_teams_do_not_see_each_others_values(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await put(scene, "k", "1")
        assert (await scene.ask("GET", "/v1/kv?team=toys&key=k")).status == 404
        assert (await scene.ask("GET", "/v1/kv/list?team=toys")).json["values"] == []

    play(tmp_path, act)


def test_a_watcher_from_a_list_misses_nothing_and_sees_each_transaction_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await put(scene, "a/1", "before")
        listed = (await scene.ask("GET", "/v1/kv/list?team=shop&prefix=a/")).json
        assert [value["key"] for value in listed["values"]] == ["a/1"]
        await put(scene, "b", "not asked for")
        body = {"puts": {"a/2": "x", "c": "y"}, "drops": ["a/1", "a/none"]}
        reply = (await scene.ask("POST", "/v1/kv?team=shop", body)).json
        assert sorted(reply["changed"]) == ["a/1", "a/2", "c"]
        async with contextlib.aclosing(
            scene.stream(f"/v1/kv/watch?team=shop&prefix=a/&after={listed['revision']}")
        ) as changes:
            seen = await anext(changes)
            assert seen["revision"] == reply["revision"]
            assert {one["key"]: one["value"] for one in seen["changes"]} == {"a/1": None, "a/2": "x"}
            later = await put(scene, "a/2", "z")
            assert (await anext(changes))["revision"] == later

    play(tmp_path, act)


def test_the_journal_names_keys_and_no_values(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        revision = await put(scene, "k", "secret")
        assert ("kv.changed", "ok", {"keys": ["k"], "revision": revision}) in await scene.journal()

    play(tmp_path, act)


def test_changes_come_as_one_answer_and_nothing_is_missed_between_two(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = await put(scene, "a/1", "x")
        await put(scene, "b", "not asked for")
        page = (await scene.ask("GET", "/v1/kv/changes?team=shop&prefix=a/&after=0")).json
        assert [change["revision"] for change in page["changes"]] == [first]
        assert page["next"] > first
        waiting = asyncio.ensure_future(
            scene.ask("GET", f"/v1/kv/changes?team=shop&prefix=a/&after={page['next']}&wait=30")
        )
        await asyncio.sleep(0.05)
        await put(scene, "b", "not asked for")
        last = await put(scene, "a/2", "y")
        page = (await waiting).json
        assert [change["revision"] for change in page["changes"]] == [last]
        assert page["next"] == last
        none = await scene.ask("GET", f"/v1/kv/changes?team=shop&after={last}&wait=0.02")
        assert none.json == {"changes": [], "next": last}
        assert (await scene.ask("GET", "/v1/kv/changes?team=shop")).status == 400

    play(tmp_path, act)
