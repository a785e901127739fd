"""Worktrees of a team in the rooms of several users: found, taken away by whoever has them, and not forgotten."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from corral.adapters.sqlite.store import SqliteStore
from corral.domain.errors import UnavailableError
from corral.places import Places
from corral.ports.census import Bystander
from corral.ports.keeper import Keeper
from corral.ports.workspace import WorkspaceRemoval
from corral.service.context import Context
from corral.service.floors import Floors, noted, others_with
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, PERSON, TEAM


class Room:
    """A keeper that has worktrees: each path with the work in it."""

    def __init__(self, **there: str) -> None:
        self.there = {f"/srv/{name.replace('__', '/')}": why for name, why in there.items()}
        #: What it tells of the rooms of others.
        self.lies: list[str] = []
        self.asked: list[str] = []
        #: Of whose agents the branches in the repository were looked after.
        self.settled: list[str] = []

    async def hello(self) -> object:
        return object()

    async def inspect_workspaces(self, _: str) -> list[WorkspaceRemoval]:
        return [WorkspaceRemoval(path=path, removed=False, why=why) for path, why in self.there.items()] + [
            WorkspaceRemoval(path=path, removed=False, why="a lie") for path in self.lies
        ]

    async def bystanders(self, *_: object) -> list[Bystander]:
        return []

    async def remove_workspace(self, *, path: str, discard: bool, **_: object) -> WorkspaceRemoval:
        self.asked.append(path)
        why = self.there.get(path, "")
        if path not in self.there or (why and not discard):
            return WorkspaceRemoval(path=path, removed=False, why=why)
        del self.there[path]
        return WorkspaceRemoval(path=path, removed=True, why=why)

    async def settle_branch(self, *, agent: str, **_: object) -> None:
        self.settled.append(agent)


class Rooms:
    def worktree(self, user: str, team: str, agent: str) -> str:
        return f"/srv/{user}/{team}/{agent}"


def play(directory: Path, rooms: dict[str, Room], act: Callable[[Context, Registry], Awaitable[None]]) -> None:
    async def connect(user: str, *_: object) -> Keeper:
        if user not in rooms:
            raise UnavailableError(f"there is no keeper of {user}", "")
        return cast("Keeper", rooms[user])

    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
        keepers = Keepers(registry, connect, lambda _: None, lambda *_: None, shared=True)
        context = Context(
            registry=registry,
            supervisor=cast("Supervisor", SimpleNamespace(keepers=keepers)),
            store=store,
            places=Places(str(directory), str(directory)),
            now=lambda: 0.0,
            rooms=cast("Any", Rooms()),
        )
        try:
            await asyncio.wait_for(act(context, registry), 30)
        finally:
            await store.close()

    asyncio.run(run())


async def clear(
    context: Context, before: list[str], *, discard: bool = False, repo: str | None = None
) -> tuple[dict[str, bool], set[str]]:
    floors = await Floors.of(context, "shop", before)
    whose = await floors.whose(context.registry.of_team("shop").values(), context)
    cleared = await floors.clear(context, whose, repo, await floors.bystanders(whose, 1), discard=discard)
    return {one.path: one.removed for one in cleared.removals}, cleared.users


def test_each_is_taken_away_by_the_keeper_that_has_it(tmp_path: Path) -> None:
    """Also that of an agent that is gone, whose name says nothing any more."""
    rooms = {"ann": Room(ann__shop__a=""), "bot": Room(bot__shop__gone="", bot__shop__b="work"), "old": Room()}
    rooms["old"].there = {"/srv/old/shop/c": "more work"}

    async def act(context: Context, registry: Registry) -> None:
        team = replace(TEAM, user="ann", agent_users=("bot",))
        agents = [
            replace(AGENT, name="a", workspace_kind="worktree", workspace="/srv/ann/shop/a"),
            replace(AGENT, name="b", workspace_kind="worktree", workspace="/srv/bot/shop/b", run_as="bot"),
        ]
        await registry.commit(PERSON, teams=[team], agents=agents)
        found, users = await clear(context, ["old"])
        assert found == {
            "/srv/ann/shop/a": True,
            "/srv/bot/shop/gone": True,
            "/srv/bot/shop/b": False,
            "/srv/old/shop/c": False,
        }
        assert users == {"bot", "old"}
        assert rooms["ann"].asked == ["/srv/ann/shop/a"]
        assert rooms["old"].asked == ["/srv/old/shop/c", "/srv/old/shop/.corral-copy.git"], "the copy goes last"
        _, users = await clear(context, ["old"], discard=True)
        assert users == set()
        assert not any(room.there for room in rooms.values())

    play(tmp_path, rooms, act)


def test_a_keeper_is_not_believed_about_the_rooms_of_others(tmp_path: Path) -> None:
    rooms = {"ann": Room(ann__shop__a=""), "bot": Room()}
    rooms["bot"].lies = ["/srv/ann/shop/a"]

    async def act(context: Context, registry: Registry) -> None:
        await registry.commit(PERSON, teams=[replace(TEAM, user="ann", agent_users=("bot",))])
        await clear(context, [])
        assert rooms["ann"].asked == ["/srv/ann/shop/a"]
        assert rooms["bot"].asked == []

    play(tmp_path, rooms, act)


def test_of_a_guest_that_says_it_has_agents_of_others_their_branches_are_not_looked_after(tmp_path: Path) -> None:
    rooms = {"ann": Room(), "bot": Room(bot__shop__gone=""), "other": Room()}
    rooms["bot"].lies = ["/srv/other/shop/old", "/srv/bot/shop/web"]

    async def act(context: Context, registry: Registry) -> None:
        team = replace(TEAM, user="ann", agent_users=("bot", "other"))
        web = replace(AGENT, name="web", workspace_kind="worktree", workspace="/srv/other/shop/web", run_as="other")
        await registry.commit(PERSON, teams=[team], agents=[web])
        await clear(context, [], repo="/home/ann/shop")
        assert rooms["ann"].settled == ["gone", "web"], "each once, by whose it is"
        assert rooms["other"].asked[0] == "/srv/other/shop/web"

    play(tmp_path, rooms, act)


def test_a_room_that_cannot_be_looked_into_is_named_and_keeps_nobody_from_the_others(tmp_path: Path) -> None:
    rooms = {"ann": Room(ann__shop__a="")}

    async def act(context: Context, registry: Registry) -> None:
        await registry.commit(PERSON, teams=[replace(TEAM, user="ann")])
        found, users = await clear(context, ["bot"], discard=True)
        assert found == {"/srv/ann/shop/a": True, "/srv/bot/shop": False}
        assert users == {"bot"}

    play(tmp_path, rooms, act)


def test_who_has_something_left_is_known_until_it_is_gone_and_by_owner(tmp_path: Path) -> None:
    async def act(context: Context, registry: Registry) -> None:
        async def note(*users: str) -> None:
            put, drop = noted("shop", "ann", users)
            await registry.commit(PERSON, put_items=put, drop_items=drop)

        await note("old", "bot")
        assert await others_with(context, "shop", "ann") == ["bot", "old"]
        assert await others_with(context, "shop", "ben") == []
        await note()
        assert await others_with(context, "shop", "ann") == []

    play(tmp_path, {}, act)
