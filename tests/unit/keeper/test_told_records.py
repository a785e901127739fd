"""What agents write down is read when it is written: in files, as the kernel tells, and to a pipe."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from corral.adapters.files.transcript_files import HostTranscripts
from corral.agents.catalogue import by_name
from corral.domain.activity import IDLE, PROTOCOL, TRANSCRIPT, WORKING
from corral.keeper import told_records
from corral.keeper.told_records import TeamRecords
from corral.ports.conversations import TranscriptOrder
from corral.ports.reports import RecordsSaid, Report

SESSION = "01a1e300-f44f-7279-a284-89459cb1dea1"


class Scene:
    """An agent whose program is pi, and keeps its transcripts in a directory of the test."""

    def __init__(self, directory: Path) -> None:
        self.kept = directory / "sessions" / "w"
        self.kept.mkdir(parents=True)
        self.reports: asyncio.Queue[RecordsSaid] = asyncio.Queue()
        environment = {"PI_CODING_AGENT_SESSION_DIR": str(self.kept.parent)}
        self.records = TeamRecords("shop", HostTranscripts(), {"a": environment}.get, self._report)
        self.began = time.time()

    def _report(self, report: Report) -> None:
        assert isinstance(report, RecordsSaid)
        self.reports.put_nowait(report)

    def follow(self, run: str = "r1", session: str = SESSION) -> None:
        self.records.follow(
            TranscriptOrder(agent="a", run=run, profile="pi", directory="/w", since=self.began, session=session)
        )

    def write(self, role: str, *, at: float | None = None, session: str = SESSION, **members: object) -> None:
        moment = datetime.fromtimestamp(time.time() if at is None else at, UTC).isoformat()
        record = {"type": "message", "timestamp": moment, "cwd": "/w", "message": {"role": role, **members}}
        with (self.kept / f"x_{session}.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")

    def speak(self, data: bytes) -> None:
        self.records.output("a", "r1", data, lambda: by_name("pi"))

    async def told(self) -> tuple[str, str]:
        report = await asyncio.wait_for(self.reports.get(), 20)
        return report.told.activity, report.told.source


def play(directory: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def go() -> None:
        scene = Scene(directory)
        await act(scene)
        scene.records.close()

    asyncio.run(go())


def test_a_transcript_is_read_when_it_changes(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.write("user")
        scene.follow()
        assert await scene.told() == (WORKING, TRANSCRIPT)
        scene.write("assistant", stopReason="stop")
        assert await scene.told() == (IDLE, TRANSCRIPT)
        assert scene.records.of("r1") is not None
        scene.records.ended("r1")
        assert scene.records.of("r1") is None

    play(tmp_path, act)


def test_one_that_is_not_there_yet_is_found_when_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_records, "_LOOKS", (0.0,))

    async def act(scene: Scene) -> None:
        scene.write("user", session=SESSION.replace("01", "02"))  # somebody else's
        scene.follow()
        await asyncio.sleep(0.3)
        scene.write("user")
        assert scene.reports.empty()
        scene.follow()  # as when it does something else
        assert await scene.told() == (WORKING, TRANSCRIPT)
        scene.follow()  # it is followed already

    play(tmp_path, act)


def test_what_an_earlier_run_wrote_into_it_says_nothing(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.write("user", at=scene.began - 60)
        scene.follow(session="")
        await asyncio.sleep(0.3)
        assert scene.reports.empty()
        scene.write("assistant", stopReason="stop")
        assert await scene.told() == (IDLE, TRANSCRIPT)

    play(tmp_path, act)


def test_a_file_that_was_replaced_is_looked_for_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.write("user")
        scene.follow()
        assert await scene.told() == (WORKING, TRANSCRIPT)
        (scene.kept / f"x_{SESSION}.jsonl").unlink()
        scene.write("assistant", stopReason="stop")
        await asyncio.sleep(0.1)  # the kernel's word is read in a turn of the loop
        scene.follow()
        assert await scene.told() == (IDLE, TRANSCRIPT)

    play(tmp_path, act)


def test_a_protocol_is_read_as_it_comes_and_needs_no_transcript(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.speak(b'warning: no colours\n{"type":"agent_')
        assert scene.reports.empty()
        scene.speak(b'start"}\n{"type":"turn_start"}\n')
        assert await scene.told() == (WORKING, PROTOCOL)
        scene.write("assistant", stopReason="stop")
        scene.follow()
        await asyncio.sleep(0.3)
        assert scene.reports.empty()
        scene.speak(b'{"type":"agent_end"}\n')
        assert await scene.told() == (IDLE, PROTOCOL)

    play(tmp_path, act)


def test_a_line_without_end_is_passed_over_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told_records, "_LONGEST_LINE", 100)

    async def act(scene: Scene) -> None:
        for _ in range(10):
            scene.speak(b'{"type":"agent_end",' + b" " * 50)
        scene.speak(b'}\n{"type":"agent_start"}\n')
        assert await scene.told() == (WORKING, PROTOCOL)
        scene.speak(b'{"type":"agent_end"' + b" " * 100 + b"}\n")
        assert scene.reports.empty()

    play(tmp_path, act)


def test_a_program_without_a_protocol_is_asked_about_once(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        asked: list[None] = []
        for _ in range(3):
            scene.records.output("a", "r1", b'{"type":"agent_start"}\n', lambda: asked.append(None))
        assert (len(asked), scene.reports.empty()) == (1, True)

    play(tmp_path, act)
