"""Who asks, from a registry that changes: places are followed, a run that is being started is waited for."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.sqlite.store import SqliteStore
from corral.domain import credentials, states
from corral.domain.credentials import Names
from corral.domain.identity import CLAIMED, PERSON, PROVED, REFUSED, UNIT, Identity
from corral.domain.records import Agent, Who
from corral.ports.dialogs import Peer
from corral.service.callers import Callers
from corral.supervise.registry import Registry
from tests.support.records import AGENT, TEAM
from tests.support.records import PERSON as ANN

TOP = "/user.slice/user-1000.slice/user@1000.service"
A, B = f"{TOP}/corral-shop-a.scope", f"{TOP}/corral-shop-b.scope"
LOGIN = "/user.slice/user-1000.slice/session-1.scope"
CREDENTIAL = credentials.issue(Names(instance="i1", team="shop", agent="a", run="r1"), "secret")
RUNNING = replace(AGENT, user="ann", credential=credentials.digest(CREDENTIAL), cgroup=A)


class Kernel:
    """Says that whoever asks is where the test wants it, and counts how often it was asked."""

    def __init__(self, *cgroups: str) -> None:
        self.cgroups: list[str] | None = list(cgroups)
        self.looks = 0
        self.walks = 0

    def cgroup(self, _connection: socket.socket, _peer: Peer) -> str | None:
        self.looks += 1
        return self.cgroups[0] if self.cgroups else None

    def lineage(self, _connection: socket.socket, _peer: Peer) -> list[str] | None:
        self.walks += 1
        return self.cgroups


class Scene:
    def __init__(self, registry: Registry, kernel: Kernel, store: SqliteStore, shared: bool) -> None:
        self.registry = registry
        self.kernel = kernel
        self.store = store
        self.callers = Callers(registry, kernel, instance="i1", shared=shared, uid_of=lambda _: 1000)

    async def who(self, credential: str = "", claim: str = "", uid: int = 1000) -> Identity:
        with socket.socket(socket.AF_UNIX) as connection:
            return await self.callers.identify(
                uid, claim=claim, credential=credential, connection=connection, peer=Peer(pid=7, seen=1.0)
            )

    async def become(self, agent: Agent) -> None:
        await self.registry.observe([agent], [])


def play(
    directory: Path, kernel: Kernel, act: Callable[[Scene], Awaitable[None]], *agents: Agent, shared: bool = True
) -> None:
    async def run() -> None:
        store = await SqliteStore.open(str(directory / "corral.db"))
        try:
            registry = Registry(store, lambda: 0.0, str(directory / "at-rest"))
            await registry.commit(ANN, teams=[TEAM], agents=agents or [RUNNING])
            await asyncio.wait_for(act(Scene(registry, kernel, store, shared)), 60)
        finally:
            await store.close()

    asyncio.run(run())


def test_one_look_is_enough_for_an_agent_and_for_who_has_logged_in(tmp_path: Path) -> None:
    kernel = Kernel(f"{A}/process-1", "/init.scope")

    async def act(scene: Scene) -> None:
        assert (await scene.who(CREDENTIAL)).kind == PROVED
        kernel.cgroups = [LOGIN, "/init.scope"]
        assert (await scene.who()).kind == PERSON
        assert (kernel.looks, kernel.walks) == (2, 0)
        kernel.cgroups = [f"{TOP}/app.slice/x.scope", A]
        assert (await scene.who()).why == "from within shop/a, without its credential"
        assert kernel.walks == 1

    play(tmp_path, kernel, act)


def test_what_a_service_manager_runs_is_the_person_only_where_that_is_trusted(tmp_path: Path) -> None:
    kernel = Kernel(f"{TOP}/app.slice/run-1.service", f"{TOP}/init.scope", "/init.scope")

    async def act(scene: Scene) -> None:
        assert (await scene.who()).kind == UNIT
        scene.callers = Callers(
            scene.registry, kernel, instance="i1", shared=True, uid_of=lambda _: 1000, trust_user_units=True
        )
        assert (await scene.who()).kind == PERSON

    play(tmp_path, kernel, act)


def test_a_single_person_is_not_looked_at(tmp_path: Path) -> None:
    kernel = Kernel(A)

    async def act(scene: Scene) -> None:
        assert (await scene.who()).kind == PERSON
        assert (await scene.who(claim="shop/b")).kind == CLAIMED
        assert (
            await scene.who(credentials.issue(Names(instance="i2", team="t", agent="a", run="r"), "s"))
        ).kind == PERSON
        assert kernel.looks == 0
        assert (await scene.who(CREDENTIAL)).run == "r1"
        assert (kernel.looks, kernel.walks) == (1, 0)

    play(tmp_path, kernel, act, shared=False)


def test_places_follow_the_agents(tmp_path: Path) -> None:
    kernel = Kernel(A, "/init.scope")

    async def act(scene: Scene) -> None:
        assert (await scene.who()).agent == "shop/a"
        await scene.become(replace(RUNNING, cgroup=B))
        assert (await scene.who()).agent == ""  # and no person all the same: it is called as Corral calls them
        kernel.cgroups = [B, "/init.scope"]
        assert (await scene.who()).agent == "shop/a"
        assert (await scene.who(CREDENTIAL)).kind == PROVED
        await scene.registry.commit(ANN, drop_agents=[RUNNING.key])
        assert (await scene.who()).agent == ""
        assert (await scene.who(CREDENTIAL)).kind == REFUSED

    play(tmp_path, kernel, act)


def test_a_cgroup_that_two_agents_had_one_after_the_other_is_the_laters(tmp_path: Path) -> None:
    kernel = Kernel(A)
    other = replace(RUNNING, name="b", run="r2", cgroup="")

    async def act(scene: Scene) -> None:
        await scene.become(replace(other, cgroup=A))
        await scene.become(replace(RUNNING, cgroup=""))
        assert (await scene.who()).agent == "shop/b"

    play(tmp_path, kernel, act, RUNNING, other)


def test_who_asks_before_it_is_known_where_it_is_waits_for_that(tmp_path: Path) -> None:
    kernel = Kernel(A)
    starting = replace(RUNNING, state=states.STARTING, cgroup="")

    async def act(scene: Scene) -> None:
        asking = asyncio.ensure_future(scene.who(CREDENTIAL))
        await asyncio.sleep(0)
        await scene.become(replace(starting, reason="still"))
        assert not asking.done()
        await scene.become(RUNNING)
        assert (await asking).kind == PROVED
        # One that has none when it is up is not waited for.
        await scene.become(replace(RUNNING, cgroup=""))
        assert "no cgroup to be known by" in (await scene.who(CREDENTIAL)).why

    play(tmp_path, kernel, act, starting)


@pytest.mark.parametrize("credential", [CREDENTIAL + "x", CREDENTIAL.replace("r1", "r0")])
def test_nobody_is_waited_for_who_does_not_have_the_credential(tmp_path: Path, credential: str) -> None:
    async def act(scene: Scene) -> None:
        found = await scene.who(credential)
        assert (found.kind, found.agent) == (REFUSED, "shop/a")

    play(tmp_path, Kernel(A), act, replace(RUNNING, state=states.STARTING, cgroup=""))


def test_a_keeper_cannot_have_others_taken_for_its_agent(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.who()).kind == PERSON

    for reported in ("/", "/user.slice", LOGIN, "/user.slice/user-1001.slice/user@1001.service/x.scope"):
        play(tmp_path, Kernel(LOGIN), act, replace(RUNNING, cgroup=reported))


def test_a_refusal_is_journalled_and_the_same_again_is_not(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        ann, found = Who(user="ann", uid=1000), await scene.who()
        for _ in range(50):
            scene.callers.refused(ann, found, "ps", 7)
        scene.callers.refused(Who(user="ben", uid=1001), found, "ps", 7)
        await scene.registry.save()
        told = [event for event in await scene.store.events() if event.event == "caller.refused"]
        assert [(event.who.user, event.team, event.agent, event.outcome) for event in told] == [
            ("ann", "shop", "a", "refused"),
            ("ben", "shop", "a", "refused"),
        ]
        assert told[0].data == {"verb": "ps", "why": found.why, "pid": 7}

    play(tmp_path, Kernel(A), act)


def test_what_somebody_makes_up_is_in_no_journal_and_is_no_news_each_time(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        ann = Who(user="ann", uid=1000)
        for claim in ("shop/\x9b2J", *(f"toys/z{number}" for number in range(20))):
            scene.callers.refused(ann, await scene.who(claim=claim), "ps", 7)
        for agent in (f"z{number}" for number in range(20)):
            names = Names(instance="i1", team="toys", agent=agent, run="r1")
            scene.callers.refused(ann, await scene.who(credentials.issue(names, "made up")), "ps", 7)
        await scene.registry.save()
        told = [event for event in await scene.store.events() if event.event == "caller.refused"]
        assert [(event.team, event.agent) for event in told] == [("", "")] * 2, "one of a claim, one of a credential"
        assert not any("toys" in str(event.data) or "\x9b" in str(event.data) for event in told)

    play(tmp_path, Kernel(LOGIN), act)


def test_whether_there_is_such_an_agent_is_not_told_to_whoever_claims_to_be_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        there, missing = await scene.who(claim="shop/a"), await scene.who(claim="shop/none")
        assert (there.kind, there.why) == (missing.kind, missing.why) == (REFUSED, there.why)
        assert (there.agent, missing.agent) == ("shop/a", ""), "which the journal has, for those who may see it"

    play(tmp_path, Kernel(LOGIN), act)


def test_whoever_is_hung_up_on_before_it_asked_is_journalled_too(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for _ in range(2):
            scene.callers.hung_up(Who(user="ann", uid=1000), "with what is no HTTP", 7)
        await scene.registry.save()
        (told,) = [event for event in await scene.store.events() if event.event == "caller.refused"]
        assert (told.who.user, told.team, told.outcome) == ("ann", "", "refused")
        assert told.data == {"verb": "", "why": "with what is no HTTP", "pid": 7}

    play(tmp_path, Kernel(A), act)
