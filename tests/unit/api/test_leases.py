"""Leases over HTTP: what is granted, what is refused and with what, and what waits."""

import asyncio
import random
from pathlib import Path
from typing import Any

from tests.unit.api.scene import Reply, Scene, play


async def acquire(scene: Scene, agent: str, *patterns: str, **more: object) -> Reply:
    return await scene.ask("POST", f"/v1/leases?team=shop&agent={agent}", {"patterns": list(patterns), **more})


async def held(scene: Scene) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await scene.ask("GET", "/v1/leases?team=shop")).json["leases"]
    return found


def test_a_grant_has_what_the_contract_says(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        answer = (await acquire(scene, "a", "src/", "*.md")).json
        assert answer["patterns"] == ["src/", "*.md"]
        assert (answer["mode"], answer["agent"], answer["suspect"]) == ("exclusive", "shop/a", False)
        assert {"lease", "token", "expires_at"} <= set(answer)
        assert await held(scene) == [answer]
        assert [event for event, _, _ in await scene.journal() if event.startswith("lease.")] == ["lease.granted"]

    play(tmp_path, act)


def test_a_refusal_names_holder_pattern_and_until_when_and_changes_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        mine = (await acquire(scene, "a", "src/*.py")).json
        refused = await acquire(scene, "b", "docs/", "src/api.py")
        assert refused.status == 409
        error = refused.json["error"]
        assert (error["holder"], error["pattern"], error["lease"]) == ("shop/a", "src/*.py", mine["lease"])
        assert error["expires_at"]
        assert error["remedy"]
        assert await held(scene) == [mine]
        assert (await scene.ask("GET", "/v1/leases/check?team=shop&agent=b&path=src/api.py")).status == 409
        assert (await scene.ask("GET", "/v1/leases/check?team=shop&agent=a&path=src/api.py")).status == 200
        assert (await scene.ask("GET", "/v1/leases/check?team=shop&agent=b&path=src/api.ts")).status == 200

    play(tmp_path, act)


def test_who_waits_gets_it_when_it_is_released_with_a_greater_token(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = (await acquire(scene, "a", "x")).json
        waiting = asyncio.ensure_future(acquire(scene, "b", "x", wait=30))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        reply = await scene.ask("POST", f"/v1/leases/{first['lease']}/release?team=shop&agent=a", {})
        assert reply.status == 200
        second = (await waiting).json
        assert second["agent"] == "shop/b"
        assert second["token"] > first["token"]

    play(tmp_path, act)


def test_a_wait_that_would_close_a_cycle_is_refused_at_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await acquire(scene, "a", "x")
        await acquire(scene, "b", "y")
        waiting = asyncio.ensure_future(acquire(scene, "a", "y", wait=30))
        await asyncio.sleep(0.05)
        refused = await asyncio.wait_for(acquire(scene, "b", "x", wait=30), 10)
        assert refused.status == 409
        assert refused.json["error"]["cycle"] == ["shop/b", "shop/a"]
        waiting.cancel()

    play(tmp_path, act)


def test_one_who_goes_away_stands_in_nobodys_way(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        mine = (await acquire(scene, "a", "x")).json
        _, writer = await scene.begin("POST", "/v1/leases?team=shop&agent=b", {"patterns": ["x"], "wait": 30})
        await asyncio.sleep(0.05)
        writer.close()
        await asyncio.sleep(0.05)
        await scene.ask("POST", f"/v1/leases/{mine['lease']}/release?team=shop&agent=a", {})
        assert (await acquire(scene, "a", "x")).status == 200
        assert [lease["agent"] for lease in await held(scene)] == ["shop/a"]

    play(tmp_path, act)


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        wrong: list[list[str]] = [[], ["../x"], ["/etc"], ["x"] * 65, ["a" * 100_000], ["a\0"]]
        for patterns in wrong:
            assert (await acquire(scene, "a", *patterns)).status == 400, patterns
        assert (await acquire(scene, "a", "out/x")).status == 409
        assert (await acquire(scene, "a", "x", wait=-1)).status == 400
        assert (await acquire(scene, "a", "x", ttl=0)).status == 400
        assert (await acquire(scene, "nobody", "x")).status == 404
        mine = (await acquire(scene, "a", "x")).json
        release = f"/v1/leases/{mine['lease']}/release?team=shop"
        assert (await scene.ask("POST", f"{release}&agent=b", {})).status == 409
        assert (await scene.ask("POST", f"{release}&agent=a", {"token": mine["token"] + 1})).status == 409
        assert (await scene.ask("POST", "/v1/leases/l999/release?team=shop&agent=a", {})).status == 404
        assert await held(scene) == [mine]

    play(tmp_path, act)


def nasty(seed: int, letter: str) -> str:
    """What takes minutes if every place of one is compared with every place of the other."""
    chance, parts = random.Random(seed), list[str]()
    while len("/".join(parts)) < 950:
        parts += ["**", "*" + "*".join(chance.choice("abc") for _ in range(13)) + "*"]
    return "/".join([*parts, f"{letter}*", "e"])


def test_patterns_made_to_take_for_ever_are_refused(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for patterns in ([nasty(1, "q")], ["**/*.py"] * 17, ["?" + "a" * 200] * 3):
            refused = await acquire(scene, "a", *patterns)
            assert (refused.status, refused.error["code"]) == (400, "wrong_use")
            assert "at most" in refused.error["remedy"]
        assert (await acquire(scene, "a", *(f"src/{number}/" for number in range(64)))).status == 200

    play(tmp_path, act)


def test_a_lock_is_of_one_at_a_time_and_not_a_file(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        lock = (await scene.ask("POST", "/v1/locks?team=shop&agent=a", {"name": "deploy"})).json
        assert (await scene.ask("POST", "/v1/locks?team=shop&agent=b", {"name": "deploy"})).status == 409
        assert (await acquire(scene, "b", "deploy")).status == 200
        listed = (await scene.ask("GET", "/v1/locks?team=shop")).json["leases"]
        assert [one["lease"] for one in listed] == [lock["lease"]]
        assert (await scene.ask("POST", "/v1/locks?team=toys", {"name": "deploy"})).status == 200
        assert (await scene.ask("POST", "/v1/locks?team=shop&agent=b", {"name": "../x"})).status == 400

    play(tmp_path, act)
