"""How many commands of an agent may run at once, as the order says; past it the next one is refused."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

import msgspec
import pytest

from corral.domain.errors import NotFoundError, RefusedError
from corral.keeper.processes import TeamProcesses
from corral.ports.processes import Process, ProcessListener, ProcessOrder
from corral.ports.runs import ExitStatus
from tests.support.scripted_processes import ScriptedProcesses

if TYPE_CHECKING:
    from corral.keeper.tools import HostTools
    from corral.ports.recording import Launches


class Host(ScriptedProcesses):
    """The rest of a host beside its processes. A start takes a turn of the loop, as a real one does."""

    def __init__(self) -> None:
        super().__init__()
        self.containment = self
        self.listener: ProcessListener | None = None

    def processes(self, _: str, listener: ProcessListener) -> "Host":
        self.listener = listener
        return self

    async def start(self, order: ProcessOrder, environment: dict[str, str], cgroup: str) -> Process:
        await asyncio.sleep(0)
        return await super().start(order, environment, cgroup)

    async def over(self, process: str) -> None:
        """It ends, and that is heard of."""
        await self.ends(process, ExitStatus(code=0))
        assert self.listener is not None
        self.listener.ended(await self.get(process))

    async def members(self, process: str) -> list[object]:  # type: ignore[override]
        return []

    async def shelter(self, *_: object) -> None:
        pass

    def environment_of(self, _: str) -> dict[str, str]:
        return {}

    def credential_file(self, agent: str) -> str:
        return f"/launch/{agent}.credential"

    def own_directory(self, run: str) -> str:
        return f"/own/{run}"

    async def place_of(self, *_: object) -> str:
        return ""


def order(number: int, most: int, agent: str = "a") -> ProcessOrder:
    name = f"p{agent}{number}"
    return ProcessOrder(process=name, agent=agent, argv=["x"], command="x", directory="/", most_running=most)


def play(act: Callable[[Host, TeamProcesses], Awaitable[None]]) -> None:
    async def run() -> None:
        host = Host()
        team = TeamProcesses(cast("HostTools", host), "shop", cast("Launches", host), lambda _: None)
        try:
            await act(host, team)
        finally:
            team.close()

    asyncio.run(run())


def test_past_the_number_the_next_one_is_refused_and_the_others_go_on() -> None:
    async def act(host: Host, team: TeamProcesses) -> None:
        for number in range(2):
            await team.execute(order(number, 2), 0, 100)
        with pytest.raises(RefusedError) as refused:
            await team.execute(order(2, 2), 0, 100)
        assert refused.value.message == (
            "a has 2 commands that run, and may have 2: that is processes.running in corral.toml"
        )
        assert "corral proc kill" in refused.value.remedy
        assert "corral up" in refused.value.remedy
        assert await team.counts() == {"a": 2}
        assert list(host.orders) == ["pa0", "pa1"]
        # Another agent has a number of its own, and what has ended makes room.
        await team.execute(order(0, 2, "b"), 0, 100)
        await host.over("pa0")
        await team.execute(order(3, 2), 0, 100)
        assert await team.counts() == {"a": 2, "b": 1}

    play(act)


def test_of_many_that_come_at_once_no_more_are_started() -> None:
    async def act(host: Host, team: TeamProcesses) -> None:
        results = await asyncio.gather(
            *(team.execute(order(number, 3), 0, 100) for number in range(20)), return_exceptions=True
        )
        assert sum(isinstance(result, RefusedError) for result in results) == 17
        assert len(host.orders) == 3
        assert await team.counts() == {"a": 3}

    play(act)


def test_the_number_of_the_last_order_holds() -> None:
    async def act(_: Host, team: TeamProcesses) -> None:
        for number in range(3):
            await team.execute(order(number, 3), 0, 100)
        with pytest.raises(RefusedError, match="has 3 commands that run, and may have 1:"):
            await team.execute(order(3, 1), 0, 100)
        await team.execute(order(4, 4), 0, 100)
        assert await team.counts() == {"a": 4}

    play(act)


def test_an_order_that_comes_once_more_is_not_refused() -> None:
    async def act(host: Host, team: TeamProcesses) -> None:
        await team.execute(order(0, 2), 0, 100)
        await team.execute(order(1, 2), 0, 100)
        assert (await team.execute(order(0, 2), 0, 100)).process.running
        await host.over("pa0")
        await team.execute(order(2, 2), 0, 100)
        # It has ended meanwhile, and as many run as may: but it was started, and that is the answer.
        assert not (await team.execute(order(0, 2), 0, 100)).process.running
        assert await team.counts() == {"a": 2}

    play(act)


def test_one_that_cannot_be_started_takes_no_place() -> None:
    async def act(host: Host, team: TeamProcesses) -> None:
        host.refused["pa0"] = NotFoundError("there is no program")
        for _ in range(3):
            with pytest.raises(NotFoundError):
                await team.execute(order(0, 1), 0, 100)
        await team.execute(order(1, 1), 0, 100)
        assert await team.counts() == {"a": 1}

    play(act)


def test_runs_of_agents_do_not_count() -> None:
    async def act(host: Host, team: TeamProcesses) -> None:
        run = msgspec.structs.replace(order(0, 1), process="run-0123")
        await host.start(run, {}, "")
        await team.execute(order(1, 1), 0, 100)
        assert await team.counts() == {"a": 1}

    play(act)
