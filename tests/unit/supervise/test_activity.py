"""Hooks and screens of an agent put together, for the run that it is in."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain import activity, states
from corral.domain.activity import HOOK, IDLE, TRANSCRIPT, WAITING, WORKING, Activity, Said
from corral.ports.reports import ActivityChanged, RecordsSaid
from corral.ports.runs import Told
from corral.supervise.activity import Activities
from corral.supervise.registry import Registry
from tests.support.records import AGENT, PERSON, TEAM

KEY = AGENT.key


def hook(word: str, at: float = 100.0) -> Said:
    return Said(word=word, by="Stop" if word == IDLE else "UserPromptSubmit", at=at, source=HOOK)


def seen(word: str, rule: str = "", about: str = "", run: str = AGENT.run, at: float = 100.0) -> ActivityChanged:
    return ActivityChanged(team=AGENT.team, agent=AGENT.name, run=run, activity=word, about=about, rule=rule, at=at)


def written(word: str, run: str = AGENT.run, at: float = 100.0) -> RecordsSaid:
    told = Told(activity=word, at=at, source=TRANSCRIPT)
    return RecordsSaid(team=AGENT.team, agent=AGENT.name, run=run, told=told)


class Scene:
    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.now = 100.0
        self.told: list[Activity] = []
        self.activities = Activities(registry, lambda: self.now)
        registry.watch_activity(lambda _, does: self.told.append(does))

    @property
    def does(self) -> tuple[str, str, str]:
        known = self.registry.activity(KEY)
        return known.word, known.about, known.evidence


def play(directory: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def go() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 100.0, str(directory / "at-rest"))
        await registry.commit(PERSON, teams=[TEAM], agents=[replace(AGENT, state=states.RUNNING)])
        scene = Scene(registry)
        await act(scene)
        scene.activities.end()
        await store.close()

    asyncio.run(go())


def test_a_dialog_on_the_screen_counts_while_it_is_there(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.activities.hooked(KEY, AGENT.run, hook(WORKING))
        assert scene.does == (WORKING, "", "hook UserPromptSubmit")
        scene.activities.seen(seen(WAITING, "permission", "permission", at=101))
        assert scene.does == (WAITING, "permission", "screen: permission")
        scene.activities.seen(seen(WORKING, "working", at=102))
        assert scene.does == (WORKING, "", "hook UserPromptSubmit")
        assert len(scene.told) == 3

    play(tmp_path, act)


def test_an_interrupted_agent_comes_to_rest_by_its_screen_though_nobody_says_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "SETTLED_SECONDS", 0.05)

    async def act(scene: Scene) -> None:
        rests = asyncio.Event()
        scene.registry.watch_activity(lambda _, does: rests.set() if does.word == IDLE else None)
        scene.activities.hooked(KEY, AGENT.run, hook(WORKING))
        scene.activities.seen(seen(IDLE, "idle"))
        assert scene.does[0] == WORKING
        scene.now += 1
        await asyncio.wait_for(rests.wait(), 20)
        assert scene.does == (IDLE, "", "screen: idle")

    play(tmp_path, act)


def test_what_it_wrote_down_counts_until_a_hook_speaks_and_hides_no_dialog(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.activities.seen(seen(WORKING, "working"))
        scene.activities.written(written(WORKING))
        assert scene.does == (WORKING, "", "transcript")
        scene.activities.seen(seen(WAITING, "permission", "permission", at=101))
        assert scene.does == (WAITING, "permission", "screen: permission")
        scene.activities.seen(seen(IDLE, "idle", at=102))
        scene.activities.written(written(IDLE, at=102))
        assert scene.does == (IDLE, "", "transcript")
        scene.activities.hooked(KEY, AGENT.run, hook(IDLE, at=103))
        assert scene.does == (IDLE, "", "hook Stop")

    play(tmp_path, act)


def test_what_a_hook_of_another_run_says_is_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.activities.written(written(WORKING, run="ffffffffffff"))
        scene.activities.hooked(KEY, "ffffffffffff", hook(WORKING))
        scene.activities.seen(seen(WORKING, "working", run="ffffffffffff"))
        assert scene.told == []

    play(tmp_path, act)


def test_a_new_run_knows_nothing_of_the_last(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.activities.hooked(KEY, AGENT.run, hook(WORKING))
        scene.activities.written(written(WORKING))
        ended = replace(AGENT, state=states.STOPPED)
        await scene.registry.observe([ended], [])
        scene.registry.forget_activity(KEY)
        await scene.registry.observe([replace(AGENT, state=states.RUNNING, run="ffffffffffff")], [])
        scene.activities.seen(seen(IDLE, run="ffffffffffff"))
        assert scene.does == (IDLE, "", "output")

    play(tmp_path, act)
