"""`POST /v1/exec`: what a command becomes, what its answer says, and what is refused before anything is started."""

import asyncio
import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.domain import states
from corral.domain.errors import RefusedError, UnavailableError
from corral.domain.process_limits import ProcessLimits
from corral.ports.processes import Survivor
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.api.scene import Scene, play
from tests.unit.service.fake_keeper import Played, echoes, prints, runs, soon

KEYS = {
    "process_id", "running", "exit_code", "signal", "unknown", "timed_out", "output", "omitted_bytes", "promoted",
    "survivors", "next", "team", "agent", "closed", "note",
}  # fmt: skip


def test_the_words_of_a_program_run_as_they_are(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keeper.at_start = prints(b"hello\n", 3)
        reply = await scene.exec(argv=["echo", "a b", "&"])
        answer = reply.json
        assert (reply.status, answer.keys()) == (200, KEYS)
        assert (answer["output"], answer["exit_code"], answer["running"]) == ("hello\n", 3, False)
        assert (answer["next"], answer["omitted_bytes"], answer["closed"]) == (6, 0, True)
        assert (answer["team"], answer["agent"], answer["note"], answer["signal"]) == ("shop", "a", "", None)
        order = scene.keeper.only().order
        assert (order.argv, order.command, order.directory) == (["echo", "a b", "&"], "echo 'a b' '&'", "/x")
        assert order.process == answer["process_id"]
        assert not order.stdin

    play(tmp_path, act)


def test_a_command_for_the_shell_is_run_by_bash(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        answer = (await scene.exec(command="make && echo '&'")).json
        assert scene.keeper.only().order.argv == ["bash", "-c", "make && echo '&'"]
        assert not answer["promoted"]

    play(tmp_path, act)


def test_one_exec_is_one_question_to_the_keeper(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.keeper.at_start = prints(b"x" * 1000)
        await scene.exec(argv=["true"])
        assert [verb for verb, _ in scene.keeper.asked] == ["execute"]

    play(tmp_path, act)


def test_how_it_is_to_be_run_reaches_the_keeper(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.exec(
            argv=["top"], tty=True, columns=99, rows=11, workdir="src/../lib", env={"A": "1"}, stdin=True,
            process_id="p0123456789",
        )  # fmt: skip
        order = scene.keeper.only().order
        assert (order.tty, order.columns, order.rows, order.stdin) == (True, 99, 11, True)
        assert (order.directory, order.environment, order.process) == ("/x/lib", {"A": "1"}, "p0123456789")
        await scene.exec(argv=["top"], workdir="/tmp")
        assert list(scene.keeper.played.values())[1].order.directory == "/tmp"

    play(tmp_path, act)


def test_the_limits_of_the_team_go_along_with_each_command(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.exec(argv=["true"], process_id="p0000000001")
        limits = ProcessLimits(running=3, output=80_000, records=4, disk=1 << 20)
        await scene.registry.commit(PERSON, teams=[replace(TEAM, processes=limits)])
        scene.keeper.missing = {"bash"}
        await scene.exec(command="true", process_id="p0000000002")
        before, after = (scene.keeper.played[f"p000000000{number}"].order for number in (1, 2))
        assert (before.keep_head, before.keep_tail, before.most_running) == (1 << 20, 7 << 20, 2048)
        assert (before.keep_records, before.keep_disk) == (200, 512 << 20)
        assert (after.keep_head, after.keep_tail, after.most_running) == (10_000, 70_000, 3)
        assert (after.keep_records, after.keep_disk, after.argv[0]) == (4, 1 << 20, "/bin/sh")

    play(tmp_path, act)


class TestWaiting:
    def test_a_command_that_takes_too_long_goes_on(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = runs
            answer = (await scene.exec(argv=["sleep", "9"], timeout=0.05)).json
            assert (answer["running"], answer["timed_out"], answer["exit_code"]) == (True, True, None)
            assert answer["note"] == f"it has not ended after 0.05 s and goes on as {answer['process_id']}"

        play(tmp_path, act)

    def test_in_the_background_the_answer_comes_at_once(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = runs
            answer = (await scene.exec(argv=["sleep", "9"], background=True, timeout=50)).json
            assert (answer["running"], answer["timed_out"], answer["promoted"]) == (True, False, False)
            assert scene.keeper.asked[0][1]["wait"] == 0

        play(tmp_path, act)

    def test_and_so_it_does_for_a_command_that_ends_in_an_ampersand(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = runs
            answer = (await scene.exec(command="npm run dev &")).json
            assert (answer["running"], answer["timed_out"], answer["promoted"]) == (True, False, True)
            assert "background" in answer["note"]
            order = scene.keeper.only().order
            assert order.argv[2].rstrip() == "npm run dev"
            assert order.command == "npm run dev &"

        play(tmp_path, act)

    def test_it_is_waited_for_in_portions(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("corral.service.patience.PORTION_SECONDS", 0.01)

        async def act(scene: Scene) -> None:
            scene.keeper.at_start = runs
            waiting = asyncio.ensure_future(scene.exec(argv=["make"]))
            await soon(lambda: len(scene.keeper.asked) > 3)
            process = scene.keeper.only()
            process.survivors = [Survivor(pid=7, command="watcher")]
            await process.write(b"late\n")
            await process.end(1)
            answer = (await waiting).json
            assert (answer["output"], answer["exit_code"], answer["timed_out"]) == ("late\n", 1, False)
            assert answer["survivors"] == [{"pid": 7, "command": "watcher"}]
            assert "1 process that it started did not end with it" in answer["note"]
            assert all(about["wait"] is not None for _, about in scene.keeper.asked)

        play(tmp_path, act)

    def test_a_caller_who_goes_away_keeps_nobody_waiting(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = runs
            _, writer = await scene.begin("POST", "/v1/exec?agent=a", {"argv": ["sleep", "9"]})
            await soon(lambda: scene.keeper.waiting)
            writer.close()
            await soon(lambda: not scene.keeper.waiting)
            assert scene.keeper.only().running
            assert [event for event, *_ in await scene.journal()] == ["process.started"]

        play(tmp_path, act)


class TestEnds:
    @pytest.mark.parametrize(
        ("code", "signal", "told"),
        [(0, None, (0, None, False)), (None, 9, (137, "SIGKILL", False)), (None, None, (None, None, True))],
    )
    def test_are_told_as_they_were(
        self, tmp_path: Path, code: int | None, signal: int | None, told: tuple[object, ...]
    ) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = runs
            waiting = asyncio.ensure_future(scene.exec(argv=["x"]))
            await soon(lambda: scene.keeper.waiting)
            await scene.keeper.only().end(code, signal)
            answer = (await waiting).json
            assert (answer["exit_code"], answer["signal"], answer["unknown"]) == told

        play(tmp_path, act)

    def test_what_is_wrong_with_the_record_is_noted(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            def in_trouble(played: Played) -> None:
                played.trouble = "the disk is full"

            scene.keeper.at_start = in_trouble
            answer = (await scene.exec(argv=["x"], background=True)).json
            assert answer["note"] == "the disk is full"

        play(tmp_path, act)


class TestOutput:
    def test_that_is_too_much_has_its_beginning_and_its_end(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = prints(b"begin" + b"x" * 10_000 + b"the end")
            answer = (await scene.exec(argv=["x"], limit=20)).json
            assert answer["output"] == "beginxxxxx\n[… 9992 bytes left out …]\nxxxthe end"
            assert (answer["omitted_bytes"], answer["next"]) == (9992, 10012)

        play(tmp_path, act)

    def test_that_was_not_kept_is_counted(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            def with_a_gap(played: Played) -> None:
                prints(b"0123456789")(played)
                played.gaps = [(2, 7)]

            scene.keeper.at_start = with_a_gap
            answer = (await scene.exec(argv=["x"])).json
            assert answer["output"] == "01\n[… 5 bytes left out …]\n789"
            assert (answer["omitted_bytes"], answer["next"]) == (5, 10)

        play(tmp_path, act)

    def test_that_is_no_text_comes_as_base64(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = prints(b"\xff\x00\xe2")
            answer = (await scene.exec(argv=["x"])).json
            assert (answer["encoding"], base64.b64decode(answer["output"])) == ("base64", b"\xff\x00\xe2")

        play(tmp_path, act)

    def test_can_be_left_out(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = prints(b"hello")
            answer = (await scene.exec(argv=["x"], limit=0)).json
            assert (answer["output"], answer["next"], answer["omitted_bytes"]) == ("", 0, 0)

        play(tmp_path, act)


class TestInput:
    @pytest.mark.parametrize(
        ("given", "read"), [("größer\n", "größer\n".encode()), ({"base64": "/wA="}, b"\xff\x00"), ("", b"")]
    )
    def test_is_all_that_it_reads(self, tmp_path: Path, given: object, read: bytes) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = echoes
            answer = (await scene.exec(argv=["cat"], input=given)).json
            played = scene.keeper.only()
            assert (played.read, played.eof, played.order.stdin) == (read, True, True)
            assert (answer["exit_code"], answer["note"]) == (0, "")

        play(tmp_path, act)

    def test_that_nobody_wanted_is_no_failure(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            answer = (await scene.exec(argv=["true"], input="x")).json
            assert (answer["exit_code"], "not read all of its input" in answer["note"]) == (0, True)

        play(tmp_path, act)

    def test_of_many_bytes(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.at_start = echoes
            data = base64.b64encode(b"\xfe" * (16 << 20)).decode()
            reply = await scene.exec(argv=["cat"], input={"base64": data}, limit=100)
            assert reply.status == 200, reply.body[:300]
            assert len(scene.keeper.only().read) == 16 << 20

        play(tmp_path, act)


class TestRefusals:
    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ({}, "either a command or the words"),
            ({"command": "x", "argv": ["x"]}, "either a command or the words"),
            ({"command": "  "}, "empty"),
            ({"argv": [""]}, "empty"),
            ({"argv": ["x"], "timeout": -1}, "timeout"),
            ({"argv": ["x"], "limit": 17 << 20}, "limit"),
            ({"argv": ["x"], "limit": -1}, "limit"),
            ({"argv": ["x"], "columns": 0}, "columns"),
            ({"argv": ["x"], "rows": 70000}, "rows"),
            ({"argv": ["x"], "env": {"1A": ""}}, "name of a variable"),
            ({"argv": ["x"], "env": {"CORRAL_AGENT": "b"}}, "CORRAL_AGENT"),
            ({"argv": ["x"], "process_id": "p123"}, "cannot be the id"),
            ({"argv": ["x"], "input": "x", "stdin": True}, "stdin"),
            ({"argv": ["x", "a\0b"]}, "zero byte"),
            ({"argv": ["x"], "workdir": "a\0b"}, "zero byte"),
            ({"command": "#" * (128 << 10)}, "131072 bytes"),
            ({"argv": ["x"] * 9 + ["y" * 120_000] * 9}, "are the most"),
            ({"argv": ["x"], "nonsense": 1}, "nonsense"),
        ],
    )
    def test_of_what_cannot_be_run(self, tmp_path: Path, body: dict[str, Any], said: str) -> None:
        async def act(scene: Scene) -> None:
            reply = await scene.exec(**body)
            assert (reply.status, reply.error["code"]) == (400, "wrong_use")
            assert said in reply.error["message"]
            assert reply.error["remedy"]
            assert scene.keeper.asked == []

        play(tmp_path, act)

    @pytest.mark.parametrize(
        ("change", "status", "code", "remedy"),
        [
            ({"state": states.STOPPED}, 500, "failed", "corral restart a starts it again"),
            ({"state": states.UNKNOWN, "reason": "tmux is silent"}, 503, "unavailable", "try again"),
            ({"paused": True}, 409, "refused", "corral resume a, then run it"),
        ],
    )
    def test_of_an_agent_that_does_not_run(
        self, tmp_path: Path, change: dict[str, Any], status: int, code: str, remedy: str
    ) -> None:
        async def act(scene: Scene) -> None:
            await scene.registry.observe([replace(AGENT, **change)], [])
            reply = await scene.exec(argv=["x"])
            assert (reply.status, reply.error["code"]) == (status, code)
            assert remedy in reply.error["remedy"]
            assert scene.keeper.asked == []

        play(tmp_path, act)

    @pytest.mark.parametrize(("query", "status"), [("agent=nobody", 404), ("", 400), ("team=no&agent=a", 404)])
    def test_of_an_agent_that_is_not_there(self, tmp_path: Path, query: str, status: int) -> None:
        async def act(scene: Scene) -> None:
            assert (await scene.exec(query, argv=["x"])).status == status

        play(tmp_path, act)

    def test_by_the_keeper(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.refuse = RefusedError("a has too many processes", "end some")
            reply = await scene.exec(argv=["x"])
            assert (reply.status, reply.error["message"]) == (409, "a has too many processes")
            assert [(event, outcome) for event, outcome, _ in await scene.journal()] == [
                ("process.started", "ok"),
                ("process.failed", "failed"),
            ]

        play(tmp_path, act)

    def test_of_a_program_that_is_not_there(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.missing = {"nope"}
            assert (await scene.exec(argv=["nope"])).status == 404

        play(tmp_path, act)


class TestWithoutBash:
    def test_the_shell_that_every_host_has_does_it(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.missing = {"bash"}
            answer = (await scene.exec(command="echo hi")).json
            assert scene.keeper.only().order.argv == ["/bin/sh", "-c", "echo hi"]
            assert answer["note"] == "there is no bash: it was run by /bin/sh"

        play(tmp_path, act)

    @pytest.mark.parametrize(("command", "promoted"), [("server &", True), ("diff <(a) <(b) &", False)])
    def test_only_what_it_understands_as_bash_does_is_changed(
        self, tmp_path: Path, command: str, promoted: bool
    ) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.missing = {"bash"}
            assert (await scene.exec(command=command)).json["promoted"] == promoted
            assert ("&" in scene.keeper.only().order.argv[2]) != promoted

        play(tmp_path, act)

    def test_nor_any_shell(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.missing = {"bash", "/bin/sh"}
            assert (await scene.exec(command="echo hi")).status == 404

        play(tmp_path, act)


class TestTheJournal:
    def test_knows_of_a_command_but_not_what_it_is(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            answer = (await scene.exec(command="echo s3cr3t")).json
            await scene.exec(argv=["/usr/bin/curl", "s3cr3t"])
            (_, _, first), (event, outcome, second) = await scene.journal()
            assert (event, outcome) == ("process.started", "ok")
            assert (first["process"], first["program"], first["bytes"]) == (answer["process_id"], "bash", 11)
            assert second["program"] == "curl"
            assert "s3cr3t" not in str((first, second))

        play(tmp_path, act)

    def test_tells_if_nobody_knows(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            scene.keeper.refuse = UnavailableError("no answer")
            assert (await scene.exec(argv=["x"])).status == 503
            assert [(event, outcome) for event, outcome, _ in await scene.journal()] == [
                ("process.started", "ok"),
                ("process.failed", "unknown"),
            ]

        play(tmp_path, act)

    def test_has_an_order_that_comes_twice_once(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            for _ in range(2):
                await scene.exec(argv=["x"], process_id="p0123456789")
            assert len(scene.keeper.played) == 1
            assert [event for event, *_ in await scene.journal()] == ["process.started"]

        play(tmp_path, act)
