"""Five thousand leases and ten thousand open tasks: what is asked for takes about as long as with a few.

Ratios of processor time within one run; never a time by itself, which is another on every machine.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corral.domain.lease_model import EXCLUSIVE, Claim, Party
from corral.domain.leases import Leases
from corral.domain.path_patterns import parse
from corral.domain.records import Who
from corral.domain.task_records import NewTask
from tests.support.records import TEAM
from tests.unit.api.scene import Reply, Scene, play

LEASES, TASKS, TIMES = 5_000, 10_000, 40
#: Of what must not depend on how many there are. The machine is busy, and times differ by themselves.
ABOUT_THE_SAME = 4.0


def claim(party: str, *patterns: str) -> Claim:
    parsed = tuple(parse(pattern) for pattern in patterns)
    return Claim(realm="/x", patterns=parsed, mode=EXCLUSIVE, party=Party(party), ttl=1e6)


async def cost(ask: Callable[[int], Awaitable[Reply]], status: int) -> float:
    """Processor seconds of one request, the daemon and its client together: the least of several rounds."""
    rounds = []
    for number in range(4):
        began = time.process_time()
        for place in range(TIMES):
            reply = await ask(number * TIMES + place)
            assert reply.status == status, reply.body[:300]
        rounds.append(time.process_time() - began)
    return min(rounds)


def held(count: int, pattern: str) -> Leases:
    leases = Leases()
    for number in range(count):
        leases.grant(claim(f"p{number}", pattern.format(number)), number + 1, 0.0, 0.0)
    return leases


def look(leases: Leases, wanted: Claim) -> float:
    rounds = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(TIMES):
            assert leases.conflict(wanted) is None
        rounds.append(time.process_time() - began)
    return min(rounds)


@pytest.mark.parametrize("wanted", ["src/mine/x.py", "src/mine/*.py", "mine/"])
def test_leases_elsewhere_cost_nothing(wanted: str) -> None:
    few, many = (look(held(count, "d{}/src/*.py"), claim("me", wanted)) for count in (10, 1000))
    assert many < few * ABOUT_THE_SAME + 0.001


@pytest.mark.parametrize(
    ("theirs", "wanted"), [("src/f{}/*.py", "src/mine/x.py"), ("**/f{}.py", "src/**/mine.py"), ("*{}/x", "y/*z")]
)
def test_each_lease_that_has_to_be_compared_costs_the_same(theirs: str, wanted: str) -> None:
    hundred, thousand = (look(held(count, theirs), claim("me", wanted)) for count in (100, 1000))
    assert thousand < hundred * 10 * ABOUT_THE_SAME


def test_with_five_thousand_leases(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        async def check(number: int) -> Reply:
            return await scene.ask("GET", f"/v1/leases/check?team=shop&agent=a&path=mine/{number}.py")

        async def cycle(number: int) -> Reply:
            lease = (await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": [f"own/{number}/"]})).json
            return await scene.ask("POST", f"/v1/leases/{lease['lease']}/release?team=shop&agent=a", {})

        before = await cost(check, 200), await cost(cycle, 200)
        ann = Who(user="ann", uid=1000)
        leases = scene.services.leases
        await asyncio.gather(*(leases.acquire(ann, claim(f"p{number}", f"d{number}/"), 0) for number in range(LEASES)))
        assert len(leases.held()) == LEASES
        after = await cost(check, 200), await cost(cycle, 200)
        assert after[0] < before[0] * ABOUT_THE_SAME
        assert after[1] < before[1] * ABOUT_THE_SAME

    play(tmp_path, act)


def test_with_ten_thousand_open_tasks(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        tasks, ann = scene.services.tasks, Who(user="ann", uid=1000)

        async def add(number: int, **more: object) -> str:
            task, _ = await tasks.add(ann, TEAM, NewTask(title=f"task {number}", **more))  # type: ignore[arg-type]
            return task

        async def cycle(_: int) -> Reply:
            await scene.ask("POST", "/v1/tasks?team=shop", {"title": "sooner", "priority": 5})
            found = (await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {})).json
            path = f"/v1/tasks/{found['task']}/done?team=shop"
            return await scene.ask("POST", path, {"token": found["token"]})

        before = await cost(cycle, 200)
        first = await asyncio.gather(*(add(number) for number in range(TASKS // 2)))
        # As many again, each behind one of them: nobody can claim these yet.
        await asyncio.gather(*(add(number, after=(task,)) for number, task in enumerate(first)))
        after = await cost(cycle, 200)
        assert after < before * ABOUT_THE_SAME
        listed = (await scene.ask("GET", "/v1/tasks?team=shop&limit=10")).json
        assert (len(listed["tasks"]), listed["more"]) == (10, TASKS - 10 + min(1000, TIMES * 8))

    play(tmp_path, act)


def test_those_who_wait_cost_each_other_little(tmp_path: Path) -> None:
    """A hundred wait for tasks that others hold up, and a hundred for leases: work that concerns none goes on."""

    async def act(scene: Scene) -> None:
        async def check(number: int) -> Reply:
            return await scene.ask("POST", "/v1/tasks?team=toys", {"title": f"another team's {number}"})

        before = await cost(check, 200)
        held_up = (await scene.ask("POST", "/v1/tasks?team=shop", {"title": "one"})).json["task"]
        await scene.ask("POST", "/v1/tasks/claim?team=shop&agent=a", {})
        for _ in range(200):
            await scene.ask("POST", "/v1/tasks?team=shop", {"title": "behind", "after": [held_up]})
        await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": ["src/"]})
        waiting = [
            asyncio.ensure_future(scene.ask("POST", path, body))
            for _ in range(100)
            for path, body in (
                ("/v1/tasks/claim?team=shop&agent=b", {"wait": 60}),
                ("/v1/leases?team=shop", {"patterns": ["src/x"], "wait": 60}),
            )
        ]
        while len(scene.waits) < len(waiting):
            assert not any(one.done() for one in waiting)
            await asyncio.sleep(0.01)
        assert await cost(check, 200) < before * ABOUT_THE_SAME
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    play(tmp_path, act)
