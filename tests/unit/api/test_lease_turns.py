"""Who asks for much of one repository waits for their turn, be it that they do not want to wait for anything."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.api import requests
from corral.service import authority, lease_comparisons
from corral.service.lease_claims import realm_of
from tests.unit.api.deciding import Scripted, decided
from tests.unit.api.scene import Scene, play

ACQUIRE, CHECK = "/v1/leases?team=shop&agent=b", "/v1/leases/check?team=shop&agent=b&path=src/x"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_comparisons, "AT_ONCE", 1)
    monkeypatch.setattr(requests, "STILL_SECONDS", 0.02)
    monkeypatch.setattr(authority, "_FRESH_SECONDS", 0.0)


async def taken(scene: Scene) -> asyncio.Lock:
    """The turn of the repository, which somebody has; what follows has to be compared with two leases."""
    for path in ("src/*y", "src/*z"):
        assert (await scene.ask("POST", "/v1/leases?team=shop&agent=a", {"patterns": [path]})).status == 200
    turns = scene.services.leases._comparisons._turns
    turn = turns.setdefault(realm_of(scene.registry.teams["shop"]), asyncio.Lock())
    await turn.acquire()
    return turn


async def comes_to(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("method", "target", "body"), [("POST", ACQUIRE, {"patterns": ["src/*x"]}), ("GET", CHECK, None)]
)
def test_whose_right_is_gone_meanwhile_is_denied(tmp_path: Path, method: str, target: str, body: object) -> None:
    may = [True]

    async def act(scene: Scene) -> None:
        turn = await taken(scene)
        asked = asyncio.ensure_future(scene.ask(method, target, body))
        await comes_to(lambda: turn._waiters)
        may[0] = False
        assert (await asked).status in (403, 404)
        turn.release()
        assert len(scene.services.leases.held()) == 2

    decided(tmp_path, Scripted(lambda _: may[0]), act)


def test_who_goes_away_meanwhile_gets_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        turn = await taken(scene)
        _, writer = await scene.begin("POST", ACQUIRE, {"patterns": ["src/*x"]})
        await comes_to(lambda: turn._waiters)
        writer.close()
        await comes_to(lambda: not turn._waiters)
        turn.release()
        assert len(scene.services.leases.held()) == 2

    play(tmp_path, act)
