"""Blocks of ports as the daemon gives them away: once, in one write, and only if they could be written down."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from corral.domain import shares
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError
from corral.domain.port_blocks import Block, Pool
from corral.domain.records import Agent
from corral.places import Places
from corral.ports.keeper import Keeper
from corral.ports.resources import HostPorts, Listening
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.ownership import PersonOf, one_person
from corral.service.port_blocks import PortBlocks
from corral.service.shares import Shares
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.service.fake_keeper import FakeKeeper
from tests.unit.service.test_ledger import Disk, opened

POOL = Pool((20000, 20099), 10)
AGENTS = (AGENT, replace(AGENT, name="b", position=1))
B = AGENTS[1]


class Daemon:
    """What of a daemon is about ports."""

    def __init__(self, disk: Disk, context: Context, keeper: FakeKeeper, ports: PortBlocks) -> None:
        self.disk = disk
        self.context = context
        self.registry = context.registry
        self.keeper = keeper
        self.ports = ports

    async def give(self, *agents: str, team: str = "shop", pool: Pool = POOL, user: str = "") -> dict[str, Block]:
        return await self.ports.allocate(PERSON, team, pool, dict.fromkeys(agents, ()), user=user)

    async def events(self) -> list[tuple[str, str, dict[str, object]]]:
        events = await self.disk.events()
        return [(event.event, event.agent, event.data) for event in events if event.event.startswith("port.")]


@contextlib.asynccontextmanager
async def daemon(
    directory: Path, agents: Sequence[Agent] = AGENTS, person_of: PersonOf = one_person
) -> AsyncIterator[Daemon]:
    keeper = FakeKeeper()

    async def connect(*_: object) -> Keeper:
        return cast("Keeper", keeper)

    disk = await opened(directory)
    registry = Registry(disk, lambda: 0.0, str(directory / "at-rest"))
    await registry.commit(PERSON, teams=[TEAM], agents=agents)
    supervisor = Supervisor(registry, connect, lambda: 0.0)
    places = Places(str(directory), str(directory))
    context = Context(registry=registry, supervisor=supervisor, store=disk, places=places, now=lambda: 0.0)
    ledger = Ledger(disk, Shares(person_of))
    ports = PortBlocks(context, ledger)
    await ledger.load()
    await ports.settle()
    try:
        yield Daemon(disk, context, keeper, ports)
    finally:
        await disk.close()


def play(directory: Path, act: Callable[[Daemon], Awaitable[None]]) -> None:
    async def run() -> None:
        async with daemon(directory) as one:
            await asyncio.wait_for(act(one), 60)

    asyncio.run(run())


def test_a_hundred_agents_get_their_blocks_in_one_write(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        before = one.disk.commits
        given = await one.give(*(f"a{number}" for number in range(100)), pool=Pool())
        assert one.disk.commits == before + 1
        ports = [port for block in given.values() for port in block.ports]
        assert len(set(ports)) == 1000
        assert all(20000 <= port <= 29999 for port in ports)
        # What they have already costs nothing.
        assert await one.give(*given, pool=Pool()) == given
        assert one.disk.commits == before + 1

    play(tmp_path, act)


def test_two_teams_that_come_at_once_never_share(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        teams = await asyncio.gather(*(one.give("a", "b", team=f"t{number}") for number in range(5)))
        firsts = [block.first for given in teams for block in given.values()]
        assert sorted(firsts) == list(range(20000, 20100, 10))
        assert await one.give("late", team="late") == {}

    play(tmp_path, act)


def test_a_block_with_a_listener_is_passed_over(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        one.keeper.taken = {port for port in range(20000, 20100) if port % 10 == 7} - {20047}
        assert {block.first for block in (await one.give("a", "b")).values()} == {20040}

    play(tmp_path, act)


def test_blocks_and_names_are_the_same_after_a_restart(tmp_path: Path) -> None:
    async def run() -> None:
        async with daemon(tmp_path) as one:
            given = await one.ports.allocate(PERSON, "shop", POOL, {"a": ["web"], "b": []}, user="")
            db = await one.ports.port(PERSON, AGENT, "db")
        async with daemon(tmp_path) as one:
            one.keeper.taken = set(range(20000, 20100))
            assert await one.ports.port(PERSON, AGENT, "web") == given["a"].names["web"]
            assert await one.ports.port(PERSON, AGENT, "db") == db
            assert await one.ports.port(PERSON, B, "") == given["b"].first
            again = await one.ports.allocate(PERSON, "shop", POOL, {"a": ["web"], "b": []}, user="")
            assert again["b"] == given["b"]
            assert again["a"].names == {**given["a"].names, "db": db}

    asyncio.run(run())


def test_a_block_of_an_agent_that_is_not_there_any_more_is_freed_at_the_next_start(tmp_path: Path) -> None:
    async def run() -> None:
        async with daemon(tmp_path) as one:
            given = await one.give("a", "gone")
        async with daemon(tmp_path) as one:
            kept, gone = given["a"], given["gone"]
            assert await one.ports.free(PERSON, "shop", ["gone"]) == []
            assert await one.ports.port(PERSON, AGENT, "") == kept.first
            assert ("port.freed", "gone", {"first": gone.first, "last": gone.last}) in await one.events()
            assert [item.key for item in await one.disk.items("ports")] == ["shop/a"]

    asyncio.run(run())


def test_a_name_gets_the_next_port_that_nobody_listens_on(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        first = (await one.give("a"))["a"].first
        one.keeper.taken = {first + 1}
        assert await one.ports.port(PERSON, AGENT, "web") == first + 2
        one.keeper.taken = set()
        assert await one.ports.port(PERSON, AGENT, "api") == first + 1
        one.keeper.taken = set(range(first, first + 10))
        assert await one.ports.port(PERSON, AGENT, "web") == first + 2
        with pytest.raises(RefusedError, match="somebody listens"):
            await one.ports.port(PERSON, AGENT, "db")
        with pytest.raises(WrongUseError):
            await one.ports.port(PERSON, AGENT, "No Name")
        with pytest.raises(NotFoundError, match="shop/b has no ports"):
            await one.ports.port(PERSON, B, "web")

    play(tmp_path, act)


def test_many_who_ask_for_one_name_get_one_port(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        first = (await one.give("a"))["a"].first
        names = ["web", "api", "db"] * 10
        ports = await asyncio.gather(*(one.ports.port(PERSON, AGENT, name) for name in names))
        assert dict(zip(names, ports, strict=True)) == {"web": first + 1, "api": first + 2, "db": first + 3}
        assert len(set(zip(names, ports, strict=True))) == 3

    play(tmp_path, act)


def test_what_could_not_be_written_never_was(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        given = await one.give("a")
        one.disk.full = True
        with pytest.raises(CorralError, match="full"):
            await one.give("b")
        with pytest.raises(CorralError, match="full"):
            await one.ports.port(PERSON, AGENT, "web")
        assert await one.ports.free(PERSON, "shop") == [("shop", "a")]
        one.disk.full = False
        with pytest.raises(NotFoundError):
            await one.ports.port(PERSON, B, "")
        assert await one.give("a") == given
        assert await one.ports.free(PERSON, "shop") == []
        assert await one.disk.items("ports") == []

    play(tmp_path, act)


def test_a_file_that_asks_for_more_gets_another_block_and_frees_the_old_one(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        old = (await one.give("a"))["a"]
        new = (await one.give("a", pool=Pool((20000, 20099), 20)))["a"]
        assert new.size == 20
        assert [event for event, _, _ in await one.events()] == ["port.allocated", "port.freed", "port.allocated"]
        given = await one.give(*(f"x{number}" for number in range(10)))
        taken = {port for block in given.values() for port in block.ports}
        assert taken.isdisjoint(new.ports)
        assert set(old.ports) <= taken | set(new.ports)

    play(tmp_path, act)


def test_an_instance_begins_at_a_place_of_its_own(tmp_path: Path) -> None:
    async def first(directory: Path) -> int:
        directory.mkdir()
        async with daemon(directory) as one:
            return (await one.give("a", pool=Pool()))["a"].first

    places = [asyncio.run(first(tmp_path / str(number))) for number in range(8)]
    assert len(set(places)) > 4


def test_who_listens_is_put_beside_who_has_it(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        given = await one.ports.allocate(PERSON, "shop", POOL, {"a": ["web"], "b": []}, user="")
        a, b = given["a"].first, given["b"].first
        one.keeper.listeners["shop"] = [
            Listening(port=a + 1, agent="a", pid=7, command="vite"),
            Listening(port=a + 5, agent="a", pid=8, command="nc"),
            Listening(port=8080, agent="b", pid=9, command="httpd"),
            Listening(port=b, agent="", pid=10, command="somebody"),
            Listening(port=b + 3, agent="", pid=11, command="where no name was asked for"),
        ]
        found = (await one.ports.uses(AGENTS)).ports
        told = [(use.port, use.agent, use.name, use.listening, use.pid, use.leased) for use in found]
        assert told == [
            (a, "a", None, False, None, True),
            (a + 1, "a", "web", True, 7, True),
            (a + 5, "a", None, True, 8, True),
            (8080, "b", None, True, 9, False),
            (b, "b", None, False, None, True),
            (b, None, None, True, 10, False),
            (b + 3, None, None, True, 11, False),
        ]
        assert one.keeper.asked[-1] == (
            "listening",
            {"team": "shop", "ports": sorted([*given["a"].ports, *given["b"].ports])},
        )

    play(tmp_path, act)


@pytest.mark.parametrize("stuck", ["blocks", "name"])
def test_a_keeper_that_does_not_answer_keeps_nobody_else_from_ports(tmp_path: Path, stuck: str) -> None:
    async def act(one: Daemon) -> None:
        given = await one.give("a", "b")
        look, stopped = one.keeper.host_ports, asyncio.Event()

        async def stop(ports: list[int]) -> HostPorts:
            stopped.set()
            await asyncio.Event().wait()
            raise AssertionError

        one.keeper.host_ports = stop  # type: ignore[method-assign]
        waits = asyncio.ensure_future(
            one.give("z", team="mill") if stuck == "blocks" else one.ports.port(PERSON, B, "web")
        )
        await stopped.wait()
        one.keeper.host_ports = look  # type: ignore[method-assign]
        async with asyncio.timeout(5):
            assert await one.ports.port(PERSON, AGENT, "web") == given["a"].first + 1
            assert len(await one.give("x", team="other")) == 1
            assert await one.ports.free(PERSON, "other") == []
        assert not waits.done()
        waits.cancel()

    play(tmp_path, act)


def test_a_slot_that_somebody_got_while_a_keeper_looked_is_not_given_twice(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        look, looking, go_on = one.keeper.host_ports, asyncio.Event(), asyncio.Event()

        async def slow(ports: list[int]) -> HostPorts:
            if ports:
                looking.set()
                await go_on.wait()
            return await look(ports)

        one.keeper.host_ports = slow  # type: ignore[method-assign]
        late = asyncio.ensure_future(one.give("z", team="mill"))
        await looking.wait()
        one.keeper.host_ports = look  # type: ignore[method-assign]
        first = (await one.give("x", team="other"))["x"].first
        go_on.set()
        assert (await late)["z"].first != first

    play(tmp_path, act)


def test_a_host_on_which_nothing_is_left_is_looked_at_a_few_times(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        whole = Pool((1024, 65535), 2)
        one.keeper.taken = set(range(1024, 65536))
        assert await one.give("a", pool=whole) == {}
        looked_at = [ports["ports"] for verb, ports in one.keeper.asked if verb == "host_ports"]
        assert len(looked_at) < 20
        assert len({port for ports in looked_at for port in ports}) == sum(map(len, looked_at)), "at each slot once"

    play(tmp_path, act)


def test_a_keeper_that_says_something_else_each_time_is_asked_a_few_times(tmp_path: Path) -> None:
    async def act(one: Daemon) -> None:
        asked = 0

        async def lie(ports: list[int]) -> HostPorts:
            nonlocal asked
            asked += 1
            assert asked < 20
            return HostPorts(ephemeral=(20000, 20000 + asked), taken=ports[:1])

        one.keeper.host_ports = lie  # type: ignore[method-assign]
        survey = await one.ports.survey("shop", POOL, ["a"])
        assert len(await one.ports.allocate(PERSON, "shop", POOL, {"a": ()}, survey, user="")) == 1

    play(tmp_path, act)


def shared(directory: Path, act: Callable[[Daemon], Awaitable[None]]) -> None:
    """On a shared server, where ben has a user for agents."""

    async def run() -> None:
        async with daemon(directory, person_of=lambda user: "ben" if user == "ben-agents" else user) as one:
            await asyncio.wait_for(act(one), 60)

    asyncio.run(run())


def test_a_person_gets_no_more_than_a_share_of_the_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "PORTS", 45)

    async def act(one: Daemon) -> None:
        assert list(await one.give("a", "b", "c", team="one", user="ben")) == ["a", "b", "c"]
        assert list(await one.give("a", "b", team="two", user="ben-agents")) == ["a"]
        refused = one.ports.nothing_left("ben", POOL)
        assert refused.message.startswith("agents of ben have 40 of the 45 ports that one person may have")
        assert len(await one.give("a", "b", "c", "d", team="anns", user="ann")) == 4
        assert len(await one.give("e", team="anns", user="ann")) == 0
        assert await one.ports.free(PERSON, "two") == []
        assert list(await one.give("d", team="one", user="ben")) == ["d"]

    shared(tmp_path, act)


def test_what_counts_in_a_share_is_known_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "PORTS", 20)

    async def run() -> None:
        async with daemon(tmp_path, person_of=str) as one:
            assert len(await one.give("a", "b", user="ben")) == 2
        async with daemon(tmp_path, person_of=str) as one:
            assert await one.give("c", team="two", user="ben") == {}
            assert await one.ports.free(PERSON, "shop", ["a"]) == []
            assert len(await one.give("c", team="two", user="ben")) == 1

    asyncio.run(run())


def test_a_block_in_the_place_of_another_costs_the_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "PORTS", 40)

    async def act(one: Daemon) -> None:
        assert len(await one.give("a", "b", user="ben")) == 2
        assert len(await one.give("a", "b", pool=Pool((20000, 20099), 20), user="ben")) == 2
        assert list(await one.give("a", "b", pool=Pool((20000, 20199), 25), user="ben")) == []
        assert len(await one.give("a", "b", user="ben")) == 2

    shared(tmp_path, act)


def test_small_blocks_count_like_those_whose_place_they_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "PORTS", 30)

    async def act(one: Daemon) -> None:
        for number in range(4):
            slot = Pool((20000 + 10 * number, 20001 + 10 * number), 2)
            assert len(await one.give("a", team=f"t{number}", pool=slot, user="ben")) == (number < 3)

    shared(tmp_path, act)


def test_the_one_person_of_an_instance_may_have_all_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "PORTS", 20)

    async def act(one: Daemon) -> None:
        assert len(await one.give(*(f"a{number}" for number in range(10)))) == 10
        assert one.ports.nothing_left("", POOL).message == "no block of 10 ports is left in 20000-20099"

    play(tmp_path, act)
