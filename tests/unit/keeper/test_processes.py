"""How many commands of an agent run, whatever is heard first."""

import asyncio
from typing import TYPE_CHECKING, cast

import pytest

from corral.domain.errors import NotFoundError
from corral.keeper.processes import TeamProcesses
from corral.ports.processes import OutputPage, Process, ProcessListener, ProcessOrder, Survivor
from corral.ports.reports import ProcessCount, Report
from corral.ports.runs import ExitStatus

if TYPE_CHECKING:
    from corral.keeper.tools import HostTools
    from corral.ports.recording import Launches

ORDER = ProcessOrder(process="p1", agent="a", argv=["true"], command="true", directory="/")
BEGUN = Process(process="p1", agent="a", command="true", started_at=0.0, running=True, pid=7)
OVER = Process(process="p1", agent="a", command="true", started_at=0.0, running=False, pid=7, exit=ExitStatus(code=0))


class Hosted:
    """A host whose news of an end overtakes its answer to the start, as a busy keeper may hear it."""

    server_pid = None

    def __init__(self, listener: ProcessListener, *, refuses: bool) -> None:
        self._listener = listener
        self._refuses = refuses

    async def start(self, *_: object) -> Process:
        if self._refuses:
            raise NotFoundError("there is no program")
        self._listener.ended(OVER)
        return BEGUN

    async def table(self) -> list[Process]:
        return []

    async def members(self, _: str) -> list[Survivor]:
        return []

    def answered(self, _: str) -> None:
        pass

    def read(self, *_: object) -> OutputPage:
        return OutputPage(data=b"", next=0)

    def close(self) -> None:
        pass


class Host:
    """The rest of a host, as far as a start needs it."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.containment = self
        self._refuses = refuses

    def processes(self, _: str, listener: ProcessListener) -> Hosted:
        return Hosted(listener, refuses=self._refuses)

    def environment_of(self, _: str) -> dict[str, str]:
        return {}

    def credential_file(self, agent: str) -> str:
        return f"/launch/{agent}.credential"

    def own_directory(self, run: str) -> str:
        return f"/own/{run}"

    async def place_of(self, *_: object) -> str:
        return ""


def told(host: Host) -> list[int]:
    """The counts that are reported when a command was started."""
    reports: list[Report] = []

    async def act() -> None:
        team = TeamProcesses(cast("HostTools", host), "shop", cast("Launches", host), reports.append)
        try:
            await team.execute(ORDER, 0, 100)
        finally:
            assert await team.counts() == {}
            team.close()

    asyncio.run(act())
    return [report.running for report in reports if isinstance(report, ProcessCount)]


def test_one_that_ended_before_its_start_was_answered_is_not_counted() -> None:
    assert told(Host()) == [0]


def test_one_that_could_not_be_started_is_not_counted() -> None:
    with pytest.raises(NotFoundError):
        told(Host(refuses=True))
