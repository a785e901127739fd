"""Topics over HTTP: every entry once and in order, and apart from everything else that is in the log."""

import asyncio
import base64
import contextlib
from pathlib import Path

import pytest

from corral.service import ledger as ledgers
from tests.unit.api.scene import Scene, play
from tests.unit.api.test_openapi import valid


async def publish(scene: Scene, topic: str, data: str | bytes, team: str = "shop") -> int:
    content = data.encode() if isinstance(data, str) else data
    reply = await scene.ask("POST", f"/v1/topics?team={team}&topic={topic}", content)
    assert reply.status == 200, reply.json
    assert list(reply.json) == ["revision"]
    return int(reply.json["revision"])


def test_a_page_has_what_came_after_a_revision_and_where_to_go_on(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        told = [await publish(scene, "build/done", f"{number}") for number in range(5)]
        await publish(scene, "build", "another topic")
        page = (await scene.ask("GET", f"/v1/topics?team=shop&topic=build/done&after={told[0]}&limit=2")).json
        assert [(one["revision"], one["text"]) for one in page["entries"]] == [(told[1], "1"), (told[2], "2")]
        assert page["next"] == told[2]
        page = (await scene.ask("GET", f"/v1/topics?team=shop&topic=build/done&after={page['next']}")).json
        assert [one["text"] for one in page["entries"]] == ["3", "4"]
        rest = (await scene.ask("GET", f"/v1/topics?team=shop&topic=build/done&after={page['next']}")).json
        assert rest["entries"] == []
        assert rest["next"] >= page["next"]

    play(tmp_path, act)


def test_a_page_ends_where_it_has_bytes_enough(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for _ in range(3):
            await publish(scene, "t", "x" * 100)
        seen, after = 0, 0
        for expected in (2, 1):
            page = (await scene.ask("GET", f"/v1/topics?team=shop&topic=t&after={after}&bytes=200")).json
            assert len(page["entries"]) == expected
            seen, after = seen + expected, page["next"]
        one = (await scene.ask("GET", "/v1/topics?team=shop&topic=t&after=0&bytes=1")).json
        assert len(one["entries"]) == 1

    play(tmp_path, act)


def test_one_who_waits_gets_what_comes_and_an_empty_page_if_nothing_does(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        waiting = asyncio.ensure_future(scene.ask("GET", "/v1/topics?team=shop&topic=t&wait=30"))
        await asyncio.sleep(0.1)
        await publish(scene, "other", "x")
        revision = await publish(scene, "t", "x")
        assert [one["revision"] for one in (await waiting).json["entries"]] == [revision]
        none = (await scene.ask("GET", f"/v1/topics?team=shop&topic=t&after={revision}&wait=0.05")).json
        assert none["entries"] == []

    play(tmp_path, act)


def test_a_follower_gets_every_entry_once_and_in_order(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        told = [await publish(scene, "t", f"{number}") for number in range(250)]
        async with contextlib.aclosing(scene.stream(f"/v1/topics/follow?team=shop&topic=t&after={told[9]}")) as entries:
            seen = [await anext(entries) for _ in range(240)]
            assert [one["revision"] for one in seen] == told[10:]
            together = await asyncio.gather(*(publish(scene, "t", "x") for _ in range(20)))
            assert [(await anext(entries))["revision"] for _ in range(20)] == sorted(together)

    play(tmp_path, act)


def test_values_and_topics_are_not_taken_for_each_other(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.ask("POST", "/v1/kv?team=shop", {"puts": {"k": "1"}})
        revision = await publish(scene, "kv", "x")
        page = (await scene.ask("GET", "/v1/topics?team=shop&topic=kv&after=0")).json
        assert [one["revision"] for one in page["entries"]] == [revision]
        changes = (await scene.ask("GET", "/v1/kv/changes?team=shop&after=0")).json["changes"]
        assert [change["changes"][0]["key"] for change in changes] == ["k"]
        assert (await scene.ask("GET", "/v1/topics?team=toys&topic=kv&after=0")).json["entries"] == []

    play(tmp_path, act)


def test_bytes_that_are_no_text_come_as_base64(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await publish(scene, "t", b"\0\xff")
        (one,) = (await scene.ask("GET", "/v1/topics?team=shop&topic=t&after=0")).json["entries"]
        assert (one["text"], one["encoding"]) == (base64.b64encode(b"\0\xff").decode(), "base64")

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/v1/topics?team=shop&topic=", b"x"),
        ("POST", "/v1/topics?team=shop&topic=a%20b", b"x"),
        ("POST", "/v1/topics?team=shop&topic=topic:kv", b"x"),
        ("POST", "/v1/topics?team=shop&topic=t", b""),
        ("POST", "/v1/topics?team=shop&topic=t", b"x" * ((256 << 10) + 1)),
        ("GET", "/v1/topics?team=shop&topic=t&limit=0", None),
        ("GET", "/v1/topics?team=shop&topic=t&limit=101", None),
        ("GET", "/v1/topics?team=shop&topic=t&after=-1", None),
        ("GET", "/v1/topics/follow?team=shop&topic=*", None),
    ],
)
def test_wrong_use_is_told_by_the_status(tmp_path: Path, method: str, target: str, body: bytes | None) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.ask(method, target, body)).status == 400

    play(tmp_path, act)


def test_what_is_not_kept_any_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "KEPT_ENTRIES", 10)
    monkeypatch.setattr(ledgers, "_SLACK", 5)

    async def act(scene: Scene) -> None:
        for number in range(30):
            await publish(scene, "t", str(number))
        assert (await scene.ask("GET", "/v1/topics?team=shop&topic=t&after=0")).status == 409
        async with contextlib.aclosing(scene.stream("/v1/topics/follow?team=shop&topic=t&after=0")) as entries:
            assert (await anext(entries))["error"]["code"] == "refused"

    play(tmp_path, act)


def test_the_journal_tells_of_it_without_what_was_said(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        revision = await publish(scene, "t", "secret")
        expected = {"topic": "t", "revision": revision, "bytes": 6}
        assert ("topic.published", "ok", expected) in await scene.journal()

    play(tmp_path, act)


def test_answers_are_as_the_document_for_programs_says(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        valid("POST", "/v1/topics", (await scene.ask("POST", "/v1/topics?team=shop&topic=t", b"\0\xff")).json)
        valid("GET", "/v1/topics", (await scene.ask("GET", "/v1/topics?team=shop&topic=t&after=0")).json)
        async with contextlib.aclosing(scene.stream("/v1/topics/follow?team=shop&topic=t&after=0")) as entries:
            valid("GET", "/v1/topics/follow", await anext(entries))
        await scene.ask("POST", "/v1/kv?team=shop", {"puts": {"k": "1"}})
        valid("GET", "/v1/kv/changes", (await scene.ask("GET", "/v1/kv/changes?team=shop&after=0")).json)

    play(tmp_path, act)
