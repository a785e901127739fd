"""The question of hooks over HTTP: what is refused and with what, as JSON and as columns."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from corral.service.writes import MOST_PATHS
from tests.support.records import AGENT, PERSON
from tests.unit.api.scene import Reply, Scene, play


async def acquire(scene: Scene, agent: str, *patterns: str, **more: object) -> dict[str, Any]:
    reply = await scene.ask("POST", f"/v1/leases?team=shop&agent={agent}", {"patterns": list(patterns), **more})
    assert reply.status == 200, reply.body
    answer: dict[str, Any] = reply.json
    return answer


async def check(scene: Scene, *paths: bytes, query: str = "agent=b") -> Reply:
    return await scene.ask("POST", f"/v1/writes/check?team=shop&{query}", b"".join(path + b"\0" for path in paths))


def test_what_is_refused_is_named_with_its_holder(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await check(scene, b"src/x")).json == {"allowed": True, "refused": []}
        mine = await acquire(scene, "a", "src/*.py")
        answer = (await check(scene, b"src/x.py", b"src/x.ts", b"src/\xff.py")).json
        assert not answer["allowed"]
        first, second = answer["refused"]
        assert first == {
            "path": "src/x.py",
            "why": "held",
            "holder": "shop/a",
            "pattern": "src/*.py",
            "mode": "exclusive",
            "lease": mine["lease"],
            "token": mine["token"],
            "since": mine["since"],
            "expires_at": first["expires_at"],
            "lost_token": None,
        }
        assert second["path"] == "src/\\xff.py"
        assert (await check(scene, b"src/x.py", query="agent=a")).json["allowed"]
        assert not (await check(scene, b"SRC/X.py", query="agent=b&ignore_case=1")).json["allowed"]

    play(tmp_path, act)


def test_of_a_team_that_is_not_up_nothing_is_enforced(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await acquire(scene, "a", "**")
        for query in ("team=gone&agent=x", "team=shop&agent=gone"):
            assert (await scene.ask("POST", f"/v1/writes/check?{query}", b"x\0")).json["allowed"]
        assert not (await scene.ask("POST", "/v1/writes/check?team=shop", b"x\0")).json["allowed"]  # a person

    play(tmp_path, act)


def test_too_many_paths_are_wrong_use(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await scene.ask("POST", "/v1/writes/check?team=shop&agent=a", b"x\0" * (MOST_PATHS + 1))
        assert (reply.status, reply.error["code"]) == (400, "wrong_use")

    play(tmp_path, act)


def test_many_paths_against_many_leases_hold_up_nobody(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for number in range(50):
            await acquire(scene, "a", f"d{number}/**/*.py", f"**/only{number}.txt")
        paths = [b"d%d/sub/dir/file%d.ts" % (number % 50, number) for number in range(20_000)]
        asking = asyncio.ensure_future(check(scene, *paths, b"d7/deep/x.py"))
        answers = 0
        while not asking.done():
            assert (await scene.ask("GET", "/v1/health")).status == 200
            answers += 1
        assert [one["path"] for one in (await asking).json["refused"]] == ["d7/deep/x.py"]
        assert answers > 3

    play(tmp_path, act)


def test_a_lease_that_was_lost_is_named_by_its_token_and_outlives_the_daemon(tmp_path: Path) -> None:
    lost: dict[str, Any] = {}

    async def lose(scene: Scene) -> None:
        lost.update(mine=await acquire(scene, "a", "src/", ttl=1))
        # Its run ends without a word, and it expires.
        agent = scene.registry.agents["shop", "a"]
        await scene.registry.observe([replace(agent, state="failed")], [])
        lost.update(theirs=await acquire(scene, "b", "src/x", wait=30))
        await scene.ask("POST", f"/v1/leases/{lost['theirs']['lease']}/release?team=shop&agent=b", {})

    async def come_back(scene: Scene) -> None:
        (refused,) = (await check(scene, b"src/x", b"src/y", query=f"agent=a&run={AGENT.run}")).json["refused"]
        assert (refused["path"], refused["why"], refused["holder"]) == ("src/x", "lost", "shop/b")
        assert (refused["lost_token"], refused["token"]) == (lost["mine"]["token"], lost["theirs"]["token"])
        assert refused["expires_at"] is None, "nobody holds it now"
        await scene.registry.commit(PERSON, drop_agents=[("shop", "a")])
        assert (await check(scene, b"src/x", query=f"agent=a&run={AGENT.run}")).json["allowed"]

    play(tmp_path, lose)
    play(tmp_path, come_back)


def test_that_an_agent_asks_is_a_sign_of_life(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        async def expires_at() -> str:
            (lease,) = (await scene.ask("GET", "/v1/leases?team=shop")).json["leases"]
            return str(lease["expires_at"])

        await acquire(scene, "a", "src/")
        agent = scene.registry.agents["shop", "a"]
        await scene.registry.observe([replace(agent, state="failed")], [])
        whole = await expires_at()
        await asyncio.sleep(0.05)
        less = await expires_at()
        assert less < whole
        await check(scene, b"other", query="agent=b")
        assert await expires_at() <= less
        await check(scene, b"other", query=f"agent=a&run={AGENT.run}")
        assert await expires_at() > less

    play(tmp_path, act)
