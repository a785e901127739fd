"""Messages over HTTP: who gets them, who sees how far they got, and what a wait for one is refused for."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corral.domain.errors import CorralError
from corral.domain.records import SUPERVISOR
from corral.peer import user_name
from corral.ports.store import Change
from tests.unit.api.scene import Reply, Scene, play
from tests.unit.api.test_openapi import valid

A, B = "team=shop&agent=a", "team=shop&agent=b"


async def send(scene: Scene, query: str, to: list[str], text: str = "hello", **more: object) -> str:
    reply = await scene.ask("POST", f"/v1/messages?{query}", {"to": to, "text": text, **more})
    assert reply.status == 200, reply.json
    return str(reply.json["message"])


async def inbox(scene: Scene, query: str) -> list[dict[str, Any]]:
    reply = await scene.ask("GET", f"/v1/messages/inbox?{query}")
    assert reply.status == 200, reply.json
    found: list[dict[str, Any]] = reply.json["messages"]
    return found


async def states(scene: Scene, query: str, message: str) -> dict[str, str]:
    answer = (await scene.ask("GET", f"/v1/messages/{message}?{query}")).json
    return {one["to"]: one["state"] for one in answer["recipients"]}


def test_a_message_is_got_read_and_acked_and_its_sender_sees_each_step(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask(
            "POST", f"/v1/messages?{A}", {"to": ["b", "toys/z"], "text": "line\nmore", "subject": "news"}
        )
        message = reply.json["message"]
        assert reply.json["recipients"][0] == {
            "to": "shop/b",
            "state": "stored",
            "injected_at": None,
            "read_at": None,
            "acked_at": None,
            "note": "",
        }
        (got,) = await inbox(scene, B)
        assert got.pop("time")
        assert got == {
            "message": message,
            "from": "shop/a",
            "to": ["shop/b", "toys/z"],
            "subject": "news",
            "reply_to": None,
            "bytes": 9,
            "state": "stored",
            "preview": "line",
        }
        read = (await scene.ask("POST", f"/v1/messages/{message}/read?{B}")).json
        assert (read["text"], read["from"]) == ("line\nmore", "shop/a")
        assert await states(scene, A, message) == {"shop/b": "read", "toys/z": "stored"}
        acked = await scene.ask("POST", f"/v1/messages/{message}/ack?{B}", {"note": "done"})
        assert [(one["state"], one["note"]) for one in acked.json["recipients"]] == [("acked", "done"), ("stored", "")]
        assert await inbox(scene, B) == []
        (sent,) = (await scene.ask("GET", f"/v1/messages/sent?{A}")).json["messages"]
        assert [one["note"] for one in sent["recipients"]] == ["done", ""]
        assert [one["message"] for one in await inbox(scene, "team=toys&agent=z")] == [message]

    play(tmp_path, act)


def test_it_was_put_in_front_of_the_agent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        message = await send(scene, A, ["b"])
        await scene.services.msg.injected(SUPERVISOR, "shop/b", int(message[1:]))
        assert await states(scene, A, message) == {"shop/b": "injected"}
        assert [one["state"] for one in await inbox(scene, B)] == ["injected"]

    play(tmp_path, act)


def test_to_people_roles_and_everyone(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        me = user_name(os.getuid())
        await send(scene, A, [f"@{me}"], "to a person")
        await send(scene, A, ["all"], "to all")
        await send(scene, "team=shop", ["role:b"], "from a person")
        assert [one["preview"] for one in await inbox(scene, "")] == ["to a person"]
        assert [(one["preview"], one["from"]) for one in await inbox(scene, B)] == [
            ("to all", "shop/a"),
            ("from a person", f"@{me}"),
        ]
        assert await inbox(scene, A) == []
        await send(scene, "team=toys&agent=shop/a", ["z"], "an agent of one team to one of another")
        assert [one["from"] for one in await inbox(scene, "agent=toys/z")] == ["shop/a"]

    play(tmp_path, act)


def test_an_unknown_recipient_is_named_and_nobody_gets_anything(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask("POST", f"/v1/messages?{A}", {"to": ["b", "nobody", "@eve"], "text": "x"})
        assert (reply.status, reply.error["unknown"]) == (404, ["nobody", "@eve"])
        assert "shop/b" in reply.error["remedy"]
        assert await inbox(scene, B) == []

    play(tmp_path, act)


def test_what_is_not_ones_own_is_not_there(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        message = await send(scene, A, ["b"])
        other = "team=toys&agent=z"
        for method, path in (("GET", ""), ("POST", "/read")):
            assert (await scene.ask(method, f"/v1/messages/{message}{path}?{other}")).status == 404
        assert (await scene.ask("POST", f"/v1/messages/{message}/ack?{other}", {})).status == 404
        assert (await scene.ask("POST", f"/v1/messages/{message}/ack?{A}", {})).status == 409
        assert (await scene.ask("GET", "/v1/messages/inbox?team=shop&agent=nobody")).status == 404
        assert (await scene.ask("GET", f"/v1/messages/m999?{A}")).status == 404
        assert (await scene.ask("GET", f"/v1/messages/x?{A}")).status == 404
        for body in ({}, {"text": "x"}, {"to": ["b"], "text": ""}, {"to": ["b"], "text": "x", "subject": "a\nb"}):
            assert (await scene.ask("POST", f"/v1/messages?{A}", body)).status == 400, body
        assert await states(scene, A, message) == {"shop/b": "stored"}

    play(tmp_path, act)


def test_an_answer_goes_to_whoever_wrote(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        asked = await send(scene, A, ["b"], "which?")
        await send(scene, B, [], "the second", reply_to=asked)
        (answer,) = await inbox(scene, A)
        assert (answer["from"], answer["reply_to"]) == ("shop/b", asked)
        stranger = {"to": ["b"], "text": "x", "reply_to": asked}
        assert (await scene.ask("POST", "/v1/messages?team=toys&agent=z", stranger)).status == 404

    play(tmp_path, act)


async def until(seen: Callable[[], bool]) -> None:
    while not seen():  # noqa: ASYNC110 - nobody is told; `play` ends it
        await asyncio.sleep(0.005)


async def waits(scene: Scene, query: str) -> "asyncio.Future[Reply]":
    """Somebody who waits, and is known to."""
    assert not scene.services.msg._arrivals
    waiting = asyncio.ensure_future(scene.ask("GET", f"/v1/messages/inbox?{query}"))
    await until(lambda: bool(scene.services.msg._arrivals))
    return waiting


def test_one_who_waits_is_woken_by_what_is_meant(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        waiting = await waits(scene, f"{B}&wait=30&from=a")
        await send(scene, "team=toys&agent=z", ["shop/b"], "of another")
        await send(scene, A, ["b"], "of a")
        assert [one["preview"] for one in (await waiting).json["messages"]] == ["of a"]
        # What is there and not read yet is not waited for.
        assert len(await inbox(scene, f"{B}&wait=30")) == 2

    play(tmp_path, act)


def test_what_was_read_does_not_end_a_wait_and_the_time_does(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        message = await send(scene, A, ["b"])
        await scene.ask("POST", f"/v1/messages/{message}/read?{B}")
        reply = await scene.ask("GET", f"/v1/messages/inbox?{B}&wait=0.05")
        assert (reply.json["unread"], reply.json["unacked"]) == (0, 1)
        waiting = await waits(scene, f"{B}&wait=30")
        last = await send(scene, A, ["b"])
        assert [one["message"] for one in (await waiting).json["messages"]] == [message, last]

    play(tmp_path, act)


def test_two_who_would_wait_for_each_other_are_told_at_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        waiting = await waits(scene, f"{A}&wait=30&from=b")
        refused = await scene.ask("GET", f"/v1/messages/inbox?{B}&wait=30&from=a")
        assert (refused.status, refused.error["cycle"]) == (409, ["shop/b", "shop/a"])
        # To look is no wait, and to wait for anybody is no cycle.
        assert await inbox(scene, f"{B}&from=a") == []
        assert await inbox(scene, f"{B}&wait=0.01") == []
        await send(scene, B, ["a"])
        assert (await waiting).status == 200
        assert await inbox(scene, f"{B}&wait=0.01&from=a") == []

    play(tmp_path, act)


def test_a_cycle_over_a_lease_and_a_message_is_refused_from_either_side(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = await scene.ask("POST", f"/v1/leases?{B}", {"patterns": ["src/"]})
        assert held.status == 200
        wanted = {"patterns": ["src/x.py"], "wait": 30}
        waiting = await waits(scene, f"{B}&wait=30&from=a")
        refused = await scene.ask("POST", f"/v1/leases?{A}", wanted)
        assert (refused.status, refused.error["cycle"]) == (409, ["shop/a", "shop/b"])
        await send(scene, A, ["b"])
        message = (await waiting).json["messages"][0]["message"]
        await scene.ask("POST", f"/v1/messages/{message}/ack?{B}", {})
        leasing = asyncio.ensure_future(scene.ask("POST", f"/v1/leases?{A}", wanted))
        await until(lambda: bool(scene.services.msg._waits._waits))
        refused = await scene.ask("GET", f"/v1/messages/inbox?{B}&wait=30&from=a")
        assert (refused.status, refused.error["cycle"]) == (409, ["shop/b", "shop/a"])
        assert "src/x.py" in refused.error["message"]
        await scene.ask("POST", f"/v1/leases/{held.json['lease']}/release?{B}", {})
        assert (await leasing).status == 200

    play(tmp_path, act)


def test_one_who_goes_away_does_not_wait_any_more(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        _, writer = await scene.begin("GET", f"/v1/messages/inbox?{A}&wait=30&from=b")
        waiting = scene.services.msg._waits
        await until(lambda: bool(waiting._waits))
        writer.close()
        await until(lambda: not waiting._waits)
        assert not scene.services.msg._arrivals
        assert await inbox(scene, f"{B}&wait=0.01&from=a") == []

    play(tmp_path, act)


def test_what_could_not_be_written_was_never_sent_and_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(scene: Scene) -> None:
        first = await send(scene, A, ["b"])
        under_way, go = asyncio.Event(), asyncio.Event()

        async def commit(*_: Change) -> Any:
            under_way.set()
            await go.wait()
            raise CorralError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(scene.store, "commit", commit)
            sending = asyncio.ensure_future(scene.ask("POST", f"/v1/messages?{A}", {"to": ["b"], "text": "never"}))
            acking = asyncio.ensure_future(scene.ask("POST", f"/v1/messages/{first}/ack?{B}", {}))
            await under_way.wait()
            mail = scene.services.msg._mail
            await until(lambda: len(mail.sent("shop/a")) == 2 and len(mail.unacked("shop/b")) == 1)
            assert await inbox(scene, B) == [], "one is acked, and the other is not sent"
            assert len((await scene.ask("GET", f"/v1/messages/sent?{A}")).json["messages"]) == 1
            # It is acked, as far as anybody has decided; nobody may be told so yet.
            again = asyncio.ensure_future(scene.ask("POST", f"/v1/messages/{first}/ack?{B}", {}))
            answered, _ = await asyncio.wait([again], timeout=0.2)
            assert not answered
            go.set()
            assert [(await one).status for one in (sending, acking, again)] == [500, 500, 500]
        assert [one["message"] for one in await inbox(scene, B)] == [first]
        assert await states(scene, A, first) == {"shop/b": "stored"}
        assert await send(scene, A, ["b"], "after") > first

    play(tmp_path, act)


def test_the_journal_tells_of_it_without_what_was_said(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        message = await send(scene, A, ["b"], "secret", subject="secret too")
        await scene.ask("POST", f"/v1/messages/{message}/read?{B}")
        await scene.ask("POST", f"/v1/messages/{message}/read?{B}")
        await scene.ask("POST", f"/v1/messages/{message}/ack?{B}", {"note": "secret as well"})
        told = [(event, data) for event, _, data in await scene.journal() if event.startswith("message.")]
        about = {"message": message, "from": "shop/a"}
        assert told == [
            ("message.sent", {**about, "to": ["shop/b"], "bytes": 6}),
            ("message.read", {**about, "by": "shop/b"}),
            ("message.acked", {**about, "by": "shop/b"}),
        ]

    play(tmp_path, act)


def test_answers_are_as_the_document_for_programs_says(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        body = {"to": ["b"], "text": "hello", "subject": "news"}
        sent = (await scene.ask("POST", f"/v1/messages?{A}", body)).json
        valid("POST", "/v1/messages", sent)
        one = "/v1/messages/{message}"
        for method, path, query, content in (
            ("GET", "/v1/messages/inbox", B, None),
            ("GET", "/v1/messages/sent", A, None),
            ("GET", one, A, None),
            ("POST", f"{one}/read", B, None),
            ("POST", f"{one}/ack", B, {"note": "done"}),
        ):
            reply = await scene.ask(method, f"{path.format(message=sent['message'])}?{query}", content)
            assert reply.status == 200, path
            valid(method, path, reply.json)

    play(tmp_path, act)
