"""What a keeper tells of a team while somebody else's order is under way."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from corral.adapters.files.launch import LaunchFiles
from corral.adapters.files.logbook import LogBook
from corral.keeper.team import TeamKeeper
from corral.ports.containment import PROCESS, Admission
from corral.ports.runs import Inventory, Launch, TeamOrder
from corral.ports.runtime import Session, SessionOrder, View

RUN = "aaaaaaaaaaaa"
SHELL, PROGRAM = 41, 42


class SlowMachine:
    """tmux on a machine that takes its time: a shell gets to its program when `at_the_program` is set."""

    server_pid = 7

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.at_the_program = asyncio.Event()
        self.waited_for = asyncio.Semaphore(0)

    async def prepare(self, *, left_alone: bool) -> None:
        """There is one."""

    async def view(self) -> View:
        return View(presence="present", server_pid=self.server_pid, sessions=tuple(self.sessions))

    async def start(self, orders: Iterable[SessionOrder]) -> list[Session | str]:
        self.sessions += [Session(agent=order.agent, run=order.run, terminal_pid=SHELL, pid=SHELL) for order in orders]
        return [*self.sessions]

    async def find_programs(self, sessions: Sequence[Session]) -> None:
        if sessions:
            self.waited_for.release()
            await self.at_the_program.wait()
            for session in sessions:
                session.pid = PROGRAM


class NoProcesses:
    """Nothing but agents with a terminal; programs of both kinds are looked for in the same way."""

    server_pid = None

    def __init__(self, machine: SlowMachine) -> None:
        self.find_programs = machine.find_programs

    async def view(self) -> View:
        return View(presence="absent")


class Uncontained:
    """As tmux starts them."""

    level, why = PROCESS, ""

    async def admit(self, *_: object) -> Admission:
        return Admission(levels={RUN: PROCESS})


async def _none(*_: object) -> list[object]:
    return []


def _keeper(directory: Path, machine: SlowMachine) -> TeamKeeper:
    """One whose other tools are not asked for anything here."""
    tools = SimpleNamespace(
        launches=lambda team: LaunchFiles(str(directory / team), str(directory / "own")),
        log=lambda team, agent: LogBook(str(directory / f"{team}-{agent}.log")),
        casts=lambda *_: None,
        runtime=lambda *_: machine,
        process_runtime=lambda *_: NoProcesses(machine),
        processes=lambda *_: SimpleNamespace(server_pid=None, close=lambda: None, table=_none),
        containment=Uncontained(),
        transcripts=None,
    )
    return TeamKeeper(cast(Any, tools), "shop", lambda _: None)


def _launch(directory: Path) -> Launch:
    return Launch(agent="a", run=RUN, command=["true"], shell=False, directory=str(directory), environment={})


def test_an_agent_that_is_just_being_started_is_told_of_with_its_program_and_not_with_its_shell(
    own_directory: Path,
) -> None:
    """Whoever asked for it may be dead by then, so nobody else would be told what its program is."""

    async def story() -> Inventory:
        machine = SlowMachine()
        keeper = _keeper(own_directory, machine)
        start = asyncio.create_task(keeper.start([_launch(own_directory)], TeamOrder(systemd="off")))
        await machine.waited_for.acquire()
        look = asyncio.create_task(keeper.inventory())
        await machine.waited_for.acquire()  # the look waits for the program, too
        machine.at_the_program.set()
        await start
        return await look

    seen = asyncio.run(asyncio.wait_for(story(), 10))
    assert [run.pid for run in seen.runs] == [PROGRAM]


def test_nobody_waits_for_programs_of_agents_that_were_started_before(own_directory: Path) -> None:
    async def story() -> Inventory:
        machine = SlowMachine()
        machine.at_the_program.set()
        keeper = _keeper(own_directory, machine)
        await keeper.start([_launch(own_directory)], TeamOrder(systemd="off"))
        machine.at_the_program.clear()
        return await keeper.inventory()

    seen = asyncio.run(asyncio.wait_for(story(), 10))
    assert [run.pid for run in seen.runs] == [PROGRAM]
