"""Members over HTTP: let in, shown, changed, removed; what the policy would say; and nobody but you without a host."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from corral.adapters.policy.rego_policy import RegoPolicy
from corral.adapters.policy.sources import read
from corral.api import answers, member_answers, requests
from corral.api.member_routes import MemberApi, Shared
from corral.api.member_table import MEMBERS
from corral.api.router import Handler, Route, Router
from corral.api.server import DaemonServer
from corral.domain.errors import CorralError, DeniedError
from corral.domain.members import Account, Member
from corral.listening import listen
from corral.peer import user_name
from corral.service.members import Changed
from tests.support.members import Crowd, crowd
from tests.unit.api.scene import Reply, Scene
from tests.unit.api.scene import play as play_alone

Ask = Callable[..., Awaitable[Reply]]


def failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, CorralError), error
    return answers.failure(error)


def play(
    directory: Path, act: Callable[[Ask, Crowd], Awaitable[None]], again: Callable[[], Awaitable[None]] | None = None
) -> None:
    """A daemon that serves members, and nothing else. `again` is asked before a change is made."""
    path = str(directory / "d.sock")

    async def ask(method: str, target: str, body: object = None) -> Reply:
        content = b"" if body is None else json.dumps(body).encode()
        reader, writer = await asyncio.open_unix_connection(path)
        head = f"{method} {target} HTTP/1.1\r\nHost: c\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + content)
        answer, _, said = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return Reply(int(answer.split(b" ")[1]), said)

    def asked(handler: Handler) -> Handler:
        async def serve(request: Request) -> Response:
            request.scope[requests.AGAIN] = again
            return await handler(request)

        return serve

    async def run() -> None:
        async with crowd(directory) as one:
            policy = RegoPolicy(read(), 30.0)
            await policy.start()
            api = MemberApi(
                Shared(
                    members=one.members,
                    facts=one.facts,
                    policy=policy,
                    # Whoever is removed, it is us who are connected.
                    hang_up=lambda uid, but: server.hang_up(os.getuid() if uid == 1001 else uid, but),
                )
            )
            routes = [Route(route.method, route.path, asked(getattr(api, route.handler))) for route in MEMBERS]
            server = DaemonServer(Router(routes, failed))
            serving = asyncio.ensure_future(server.serve(sockets=[listen(path)]))
            try:
                await asyncio.wait_for(act(ask, one), 60)
            finally:
                server.end()
                await serving
                await policy.close()

    asyncio.run(run())


def test_a_change_is_asked_about_once_more_when_its_turn_has_come(tmp_path: Path) -> None:
    async def again() -> None:
        if not allowed:
            raise DeniedError("not any more", "", rule="no")

    async def act(ask: Ask, one: Crowd) -> None:
        assert (await ask("PUT", "/v1/members/ann", {"role": "senior"})).status == 200
        allowed.clear()
        assert (await ask("PUT", "/v1/members/ben", {"role": "senior"})).status == 403
        assert (await ask("DELETE", "/v1/members/ann")).status == 403
        assert [member.user for member in one.members.all()] == ["ann"]

    allowed = {"yes"}
    play(tmp_path, act, again)


def test_from_the_first_to_the_last(tmp_path: Path) -> None:
    async def act(ask: Ask, _: Crowd) -> None:
        assert (await ask("GET", "/v1/members")).json == []
        added = (await ask("PUT", "/v1/members/ann", {"role": "senior", "teams": ["shop"]})).json
        assert (added["change"], added["dry_run"], added["group"]) == ("added", False, "corral-members")
        assert added["before"] is None
        me = user_name(os.getuid())
        record: dict[str, Any] = {"user": "ann", "uid": 1001, "role": "senior", "teams": ["shop"], "of": "", "by": me}
        shown = (await ask("GET", "/v1/members/ann")).json
        assert record.items() <= shown.items()
        assert (shown["agent_users"], shown["problems"]) == ([], [])
        assert (await ask("GET", "/v1/members")).json == [shown]
        assert (await ask("PUT", "/v1/members/ann", {"role": "senior"})).json["change"] == "unchanged"
        changed = (await ask("PUT", "/v1/members/ann", {"teams": []})).json
        assert (changed["change"], changed["before"]["teams"], changed["member"]["teams"]) == ("changed", ["shop"], [])
        await ask("PUT", "/v1/members/agent-builder", {"role": "agent", "of": "ann"})
        assert (await ask("GET", "/v1/members/ann")).json["agent_users"] == ["agent-builder"]
        assert (await ask("DELETE", "/v1/members/ann")).status == 409
        assert (await ask("DELETE", "/v1/members/agent-builder?dry_run=1")).json["dry_run"] is True
        assert (await ask("DELETE", "/v1/members/agent-builder")).json["change"] == "removed"
        assert (await ask("DELETE", "/v1/members/ann")).json["change"] == "removed"
        assert (await ask("GET", "/v1/members/ann")).status == 404
        assert (await ask("DELETE", "/v1/members/ann")).status == 404

    play(tmp_path, act)


def test_who_is_removed_is_hung_up_on_and_who_removes_themselves_is_told_before(tmp_path: Path) -> None:
    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_unix_connection(str(tmp_path / "d.sock"))

    async def act(ask: Ask, _: Crowd) -> None:
        await ask("PUT", "/v1/members/ann", {"role": "junior"})
        await ask("PUT", "/v1/members/ben", {"role": "junior"})
        idle, idle_end = await connect()
        asking, asking_end = await connect()
        # Nobody's connections but theirs, and none when it is only looked at.
        for words in ("ben", "ann?dry_run=1"):
            asking_end.write(f"DELETE /v1/members/{words} HTTP/1.1\r\nHost: c\r\n\r\n".encode())
            assert b" 200 " in await asking.readuntil(b"\r\n\r\n")
            await asking.readuntil(b"}")
            if words == "ben":
                asking_end.close()
                asking, asking_end = await connect()
        idle_end.write(b"GET /v1/members HTTP/1.1\r\nHost: c\r\n\r\n")
        assert b" 200 " in await idle.readuntil(b"\r\n\r\n")
        while not (await idle.read(1000)).endswith(b"]"):
            pass
        asking_end.write(b"DELETE /v1/members/ann HTTP/1.1\r\nHost: c\r\n\r\n")
        said = await asking.read()
        assert b'"change":"removed"' in said, "and then it is closed, or this would wait"
        assert await idle.read() == b""
        for end in (idle_end, asking_end):
            end.close()

    play(tmp_path, act)


def test_looking_first_changes_nothing(tmp_path: Path) -> None:
    async def act(ask: Ask, _: Crowd) -> None:
        would = (await ask("PUT", "/v1/members/ann", {"role": "junior", "dry_run": True})).json
        assert (would["change"], would["dry_run"]) == ("added", True)
        assert (await ask("GET", "/v1/members")).json == []

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("user", "body", "status", "told"),
    [
        ("ann", {"role": "chief"}, 400, "there is no role 'chief'"),
        ("ann", {}, 400, "which role"),
        ("ann", {"role": "junior", "uid": 0}, 400, "unknown field"),
        ("ann", {"role": 1}, 400, "does not fit"),
        ("eve", {"role": "junior"}, 404, "there is no user eve"),
        ("root", {"role": "junior"}, 409, "always an owner"),
        ("a%00b", {"role": "junior"}, 404, "there is no user"),
        ("%F0%9F%90%8E", {"role": "junior"}, 404, "there is no user"),
        ("..", {"role": "junior"}, 404, "there is no user"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_changed(
    tmp_path: Path, user: str, body: dict[str, object], status: int, told: str
) -> None:
    async def act(ask: Ask, _: Crowd) -> None:
        reply = await ask("PUT", f"/v1/members/{user}", body)
        assert reply.status == status, reply.body
        assert told in reply.error["message"]
        assert (await ask("GET", "/v1/members")).json == []

    play(tmp_path, act)


def test_what_the_system_says_otherwise_is_told(tmp_path: Path) -> None:
    async def act(ask: Ask, one: Crowd) -> None:
        await ask("PUT", "/v1/members/ann", {"role": "junior"})
        one.accounts.known["ann"] = Account(user="ann", uid=1001)
        problems = (await ask("GET", "/v1/members/ann")).json["problems"]
        assert problems == ["not in the group corral-members", "linger is off"]

    play(tmp_path, act)


def test_the_policy_is_asked_with_real_members(tmp_path: Path) -> None:
    async def act(ask: Ask, one: Crowd) -> None:
        await ask("PUT", "/v1/members/ann", {"role": "junior"})
        await ask("PUT", "/v1/members/ben", {"role": "senior"})
        await one.up("shop", "ann", ("builder", "ann"))
        said = (await ask("GET", "/v1/policy/check?verb=attach&who=ben&on=ann/builder&fact=mode=drive")).json
        assert (said["allow"], said["rule"], said["assumed"]) == (True, "senior.steer.below", [])
        assert said["input"]["on"]["team"] == "shop"
        query = "verb=attach&who=ben&on=shop/builder&role=junior&fact=mode%3Dobserve"
        said = (await ask("GET", f"/v1/policy/check?{query}")).json
        assert (said["allow"], said["rule"], said["input"]["with"]) == (False, "junior.read", {"mode": "observe"})
        said = (await ask("GET", "/v1/policy/check?verb=add_task&who=ben&on=shop&role=junior&in_team=shop")).json
        assert said["rule"] == "junior.join.team"
        said = (await ask("GET", "/v1/policy/check?verb=list_agents")).json
        assert said["input"]["who"]["user"] == user_name(os.getuid()), "without a name, whoever asks"
        for wrong in ("", "verb=attach&fact=mode", "verb=send&on=a/b/c"):
            assert (await ask("GET", f"/v1/policy/check?{wrong}")).status == 400

    play(tmp_path, act)


def test_an_instance_of_one_person_has_nobody_else(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for method, target, body in (
            ("GET", "/v1/members", None),
            ("GET", "/v1/members/ann", None),
            ("PUT", "/v1/members/ann", {"role": "junior"}),
            ("DELETE", "/v1/members/ann", None),
            ("GET", "/v1/policy/check?verb=send", None),
        ):
            reply = await scene.ask(method, target, body)
            assert (reply.status, reply.error["code"]) == (409, "refused")
            assert "nobody but you" in reply.error["message"]

    play_alone(tmp_path, act)


def test_who_the_members_are_is_in_the_store_as_json(tmp_path: Path) -> None:
    async def act(ask: Ask, one: Crowd) -> None:
        await ask("PUT", "/v1/members/ann", {"role": "junior"})
        (item,) = await one.store.items("member")
        assert (item.key, json.loads(item.value)["role"]) == ("ann", "junior")

    play(tmp_path, act)


def test_the_trail_has_what_somebody_is_now_and_was_before() -> None:
    before = Member(user="ann", uid=1001, role="junior", teams=("shop",), since=0.0, by="olga")
    after = Member(user="ann", uid=1001, role="senior", teams=("shop", "toys"), since=0.0, by="olga")
    added = {"change": "added", "role": "senior", "teams": "shop, toys"}
    assert member_answers.noted(Changed(change="added", member=after)) == added
    assert member_answers.noted(Changed(change="changed", member=after, before=before)) == {
        **added,
        "change": "changed",
        "role_before": "junior",
        "teams_before": "shop",
    }
    assert member_answers.noted(Changed(change="removed", member=after, before=after)) == {**added, "change": "removed"}
