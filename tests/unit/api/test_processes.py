"""The routes of processes: lists, cursors, waits, and who may see what."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.ports.processes import Survivor
from tests.unit.api.scene import Scene, play
from tests.unit.service.fake_keeper import Played, prints, runs, soon


async def started(scene: Scene, agent: str = "a", text: bytes = b"") -> tuple[str, Played]:
    """A process that runs, and has written something."""
    scene.keeper.at_start = runs
    process = (await scene.exec(f"agent={agent}", argv=["job"], background=True, stdin=True)).json["process_id"]
    played = scene.keeper.played[process]
    await played.write(text)
    return process, played


async def output(scene: Scene, process: str, query: str = "") -> Any:
    reply = await scene.ask("GET", f"/v1/processes/{process}/output?{query}")
    assert reply.status == 200, reply.body
    return reply.json


class TestLists:
    def test_have_what_the_contract_says(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene, text=b"12345")
            (one,) = (await scene.ask("GET", "/v1/processes")).json
            assert one == {
                "process_id": process, "team": "shop", "agent": "a", "command": "job", "running": True,
                "exit_code": None, "signal": None, "unknown": False, "started_at": "1970-01-01T00:16:40.000Z",
                "ended_at": None, "closed": False, "pids": [100], "bytes": 5, "tty": False, "stdin": True,
                "trouble": "", "hidden": False,
            }  # fmt: skip
            assert (await scene.ask("GET", f"/v1/processes/{process}")).json == one

        play(tmp_path, act)

    def test_are_of_an_agent_of_a_team_or_of_all(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            ids = {agent: (await started(scene, agent))[0] for agent in ("a", "b", "z")}
            for query, agents in (("", "zab"), ("team=shop", "ab"), ("agent=b", "b"), ("team=toys&agent=z", "z")):
                listed = (await scene.ask("GET", f"/v1/processes?{query}")).json
                assert {one["process_id"] for one in listed} == {ids[agent] for agent in agents}, query
            assert (await scene.ask("GET", "/v1/processes?agent=nobody")).status == 404

        play(tmp_path, act)


class TestWhose:
    def test_another_agents_id_is_not_found(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            for query, status in (
                ("", 200),
                ("agent=a", 200),
                ("team=shop", 200),
                ("agent=b", 404),
                ("team=toys", 404),
            ):
                reply = await scene.ask("GET", f"/v1/processes/{process}?{query}")
                assert reply.status == status, query
                if status == 404:
                    assert reply.error["code"] == "not_found"
            for method, path in (("POST", "/kill"), ("POST", "/signal?signal=INT"), ("POST", "/write"), ("DELETE", "")):
                sign = "&" if "?" in path else "?"
                reply = await scene.ask(method, f"/v1/processes/{process}{path}{sign}agent=b")
                assert reply.status == 404, path

        play(tmp_path, act)

    @pytest.mark.parametrize("process", ["p0000000000", "p1", "x", "p000000000g", "%2e%2e"])
    def test_an_unknown_id(self, tmp_path: Path, process: str) -> None:
        async def act(scene: Scene) -> None:
            reply = await scene.ask("GET", f"/v1/processes/{process}")
            assert (reply.status, reply.error["code"]) == (404, "not_found")

        play(tmp_path, act)

    def test_is_found_by_a_daemon_that_never_heard_of_it(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene, "z")
            scene.processes._owners.clear()
            assert (await scene.ask("GET", f"/v1/processes/{process}")).json["team"] == "toys"
            await scene.ask("POST", f"/v1/processes/{process}/signal?signal=INT")
            await scene.processes.settled()
            assert (await scene.store.events(last=1))[0].agent == "z"

        play(tmp_path, act)


class TestOutput:
    def test_is_read_by_cursor(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"one\ntwo\n")
            page = await output(scene, process)
            assert page == {
                "process_id": process, "output": "one\ntwo\n", "next": 8, "omitted_bytes": 0, "running": True,
                "exit_code": None, "signal": None, "unknown": False, "closed": False, "bytes": 8, "survivors": [],
                "trouble": "", "hidden": False,
            }  # fmt: skip
            assert (await output(scene, process, "after=8"))["output"] == ""
            await played.write(b"three\n")
            assert (await output(scene, process, "after=8"))["output"] == "three\n"
            assert (await output(scene, process, "after=4&limit=4"))["output"] == "two\n"

        play(tmp_path, act)

    def test_leaves_half_a_character_for_later(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"a\xe2\x82")
            page = await output(scene, process)
            assert (page["output"], page["next"]) == ("a", 1)
            waiting = asyncio.ensure_future(output(scene, process, "after=1&wait=20"))
            await soon(lambda: scene.keeper.waiting)
            await played.write(b"\xac!")
            page = await waiting
            assert (page["output"], page["next"]) == ("€!", 5)

        play(tmp_path, act)

    def test_as_bytes_leaves_nothing(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene, text=b"a\xe2\x82")
            page = await output(scene, process, "encoding=base64")
            assert (base64.b64decode(page["output"]), page["next"], page["encoding"]) == (b"a\xe2\x82", 3, "base64")

        play(tmp_path, act)

    def test_over_a_gap(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"0123456789")
            played.gaps = [(3, 8)]
            page = await output(scene, process, "after=1")
            assert (page["output"], page["next"]) == ("12\n[… 5 bytes left out …]\n89", 10)
            assert page["omitted_bytes"] == 5
            assert (await output(scene, process, "after=5"))["output"] == "\n[… 3 bytes left out …]\n89"

        play(tmp_path, act)

    @pytest.mark.parametrize(
        "query",
        ["after=-1", "limit=99999999", "wait=x", "wait=-1", "until=(", "filter=[", "encoding=rot13", "wait=nan"],
    )
    def test_that_cannot_be_asked_for_so(self, tmp_path: Path, query: str) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            reply = await scene.ask("GET", f"/v1/processes/{process}/output?{query}")
            assert (reply.status, reply.error["code"]) == (400, "wrong_use")

        play(tmp_path, act)

    def test_two_readers_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene)
            readers = [asyncio.ensure_future(output(scene, process, "after=0&wait=20")) for _ in range(5)]
            await soon(lambda: scene.keeper.waiting == 5)
            await played.write(b"for all")
            assert {page["output"] for page in await asyncio.gather(*readers)} == {"for all"}

        play(tmp_path, act)


class TestWaitingForOutput:
    def test_ends_with_the_first_of_it(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"old\n")
            waiting = asyncio.ensure_future(output(scene, process, "after=4&wait=30"))
            await soon(lambda: scene.keeper.waiting)
            await played.write(b"new\n")
            assert (await waiting)["output"] == "new\n"

        play(tmp_path, act)

    def test_ends_with_the_command_also_if_its_output_stays_open(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene)
            played.survivors = [Survivor(pid=101, command="sleep 9")]
            waiting = asyncio.ensure_future(output(scene, process, "wait=30"))
            await soon(lambda: scene.keeper.waiting)
            await played.end(4, close=False)
            page = await waiting
            assert (page["exit_code"], page["closed"], page["running"]) == (4, False, False)
            assert page["survivors"] == [{"pid": 101, "command": "sleep 9"}]
            await played.write(b"late")
            assert (await output(scene, process))["output"] == "late"

        play(tmp_path, act)

    def test_ends_with_the_time(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            page = await output(scene, process, "wait=0.05")
            assert (page["output"], page["running"], page["next"]) == ("", True, 0)

        play(tmp_path, act)

    def test_ends_with_the_caller(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            for path in ("output?wait=99", "output?wait=99&until=x", "output?follow=1"):
                _, writer = await scene.begin("GET", f"/v1/processes/{process}/{path}")
                await soon(lambda: scene.keeper.waiting == 1)
                writer.close()
                await soon(lambda: scene.keeper.waiting == 0)

        play(tmp_path, act)


class TestPatterns:
    def test_until_a_line_matches_and_no_further(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"starting\nlis")
            waiting = asyncio.ensure_future(output(scene, process, "until=%5Elistening&wait=30"))
            await soon(lambda: scene.keeper.waiting)
            await played.write(b"tening on 80\nGET /\n")
            page = await waiting
            assert (page["matched"], page["output"], page["next"]) == (True, "starting\nlistening on 80\n", 25)
            page = await output(scene, process, f"after={page['next']}&until=GET")
            assert (page["matched"], page["output"]) == (True, "GET /\n")

        play(tmp_path, act)

    def test_until_a_prompt_without_a_line_end(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene)
            waiting = asyncio.ensure_future(output(scene, process, "until=Password:&wait=30"))
            await soon(lambda: scene.keeper.waiting)
            await played.write(b"Password: ")
            assert (await waiting)["matched"]

        play(tmp_path, act)

    def test_until_the_command_ends_without_it(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene)
            waiting = asyncio.ensure_future(output(scene, process, "until=ready&wait=30"))
            await soon(lambda: scene.keeper.waiting)
            await played.write(b"failed\n")
            await played.end(1)
            page = await waiting
            assert (page["matched"], page["output"], page["exit_code"]) == (False, "failed\n", 1)

        play(tmp_path, act)

    def test_far_behind_what_there_is_room_for(self, tmp_path: Path) -> None:
        """What is given is bounded, and what is looked at is not: else somebody would think that it did not come."""

        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"line\n" * 100 + b"ready\n")
            page = await output(scene, process, "until=ready&wait=30&limit=50")
            assert (page["matched"], page["next"], page["omitted_bytes"]) == (True, 506, 456)
            assert page["output"].startswith("line\n" * 5)
            assert page["output"].endswith("line\nready\n")
            waiting = asyncio.ensure_future(output(scene, process, "until=again&wait=30&limit=0&after=506"))
            await soon(lambda: scene.keeper.waiting)
            await played.write(b"and again\n")
            assert (await waiting)["matched"]

        play(tmp_path, act)

    def test_only_lines_that_match(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"ok\nerror 1\nok\nerr")
            page = await output(scene, process, "filter=%5Eerror")
            assert (page["output"], page["next"]) == ("error 1\n", 14)
            waiting = asyncio.ensure_future(output(scene, process, "filter=%5Eerror&after=14&wait=30"))
            await soon(lambda: scene.keeper.waiting)
            await played.write(b"and so\nok\n")
            await asyncio.sleep(0)
            await played.write(b"error 2\n")
            page = await waiting
            assert (page["output"], page["next"]) == ("error 2\n", 35)
            assert "matched" not in page

        play(tmp_path, act)

    def test_over_much_output(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            text = b"".join(b"%d\n" % number for number in range(300_000))
            process, _ = await started(scene, text=text)
            page = await output(scene, process, "filter=99999$&limit=100")
            assert (page["output"], page["next"]) == ("99999\n199999\n299999\n", len(text))
            page = await output(scene, process, "filter=.&limit=10")
            assert (page["output"], page["next"]) == ("0\n1\n2\n3\n4\n", 10)

        play(tmp_path, act)


class TestFollowing:
    def test_until_nobody_can_write_any_more(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"one\n")
            lines = scene.stream(f"/v1/processes/{process}/output?follow=1")
            assert (await anext(lines))["output"] == "one\n"
            await played.write(b"two\n")
            assert (await anext(lines))["output"] == "two\n"
            await played.end(3, close=False)
            ended = await anext(lines)
            assert (ended["running"], ended["exit_code"], ended["closed"]) == (False, 3, False)
            await played.write(b"late\n")
            assert (await anext(lines))["output"] == "late\n"
            await played.close()
            last = await anext(lines)
            assert (last["closed"], last["output"]) == (True, "")
            assert [line async for line in lines] == []

        play(tmp_path, act)

    def test_one_that_is_over_has_all_its_output_and_its_end(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            text = b"x" * 1_000_000
            scene.keeper.at_start = prints(text, 7)
            process = (await scene.exec(argv=["x"], limit=0)).json["process_id"]
            pages = [line async for line in scene.stream(f"/v1/processes/{process}/output?follow=1&after=10")]
            assert "".join(page["output"] for page in pages) == "x" * 999_990
            assert (pages[-1]["next"], pages[-1]["bytes"], pages[-1]["exit_code"]) == (1_000_000, 1_000_000, 7)

        play(tmp_path, act)

    def test_until_a_line_matches_as_it_comes(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"one\nrea")
            lines = scene.stream(f"/v1/processes/{process}/output?follow=1&until=%5Eready%24")
            assert (await anext(lines))["output"] == "one\nrea"
            await played.write(b"dy\nmore\n")
            last = await anext(lines)
            assert (last["output"], last["matched"], last["next"]) == ("dy\n", True, 10)
            assert [line async for line in lines] == []

        play(tmp_path, act)

    def test_only_lines_that_match(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"error 1\nok\ner")
            lines = scene.stream(f"/v1/processes/{process}/output?follow=1&filter=error&limit=10")
            assert (await anext(lines))["output"] == "error 1\n"
            await played.write(b"ror 2\nok\nerror 3\nerror 4\nlast error")
            assert (await anext(lines))["output"] == "error 2\nerror 3\nerror 4\n"
            await played.end()
            assert "".join([line["output"] async for line in lines]) == "last error"

        play(tmp_path, act)

    def test_an_unknown_one_is_told_by_the_status(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            assert (await scene.ask("GET", f"/v1/processes/{process}/output?follow=1&agent=b")).status == 404

        play(tmp_path, act)


class TestSteering:
    def test_waiting_for_the_end(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene)
            reply = await scene.ask("POST", f"/v1/processes/{process}/wait?wait=0.02")
            assert reply.json["running"]
            waiting = asyncio.ensure_future(scene.ask("POST", f"/v1/processes/{process}/wait"))
            await soon(lambda: scene.keeper.waiting)
            await played.end(None, 11)
            answer = (await waiting).json
            assert (answer["exit_code"], answer["signal"], answer["running"]) == (139, "SIGSEGV", False)
            assert answer["ended_at"] == "1970-01-01T00:16:41.500Z"

        play(tmp_path, act)

    def test_writing(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene)
            reply = await scene.ask("POST", f"/v1/processes/{process}/write", b"\xff\x00")
            assert reply.json == {"process_id": process, "bytes": 2, "eof": False}
            reply = await scene.ask("POST", f"/v1/processes/{process}/write?eof=1")
            assert (reply.json["eof"], played.read, played.eof) == (True, b"\xff\x00", True)
            assert (await scene.ask("POST", f"/v1/processes/{process}/write", b"x")).status == 409
            reader, writer = await asyncio.open_unix_connection(scene.socket)
            head = f"POST /v1/processes/{process}/write HTTP/1.1\r\nContent-Length: {(16 << 20) + 1}\r\n\r\n"
            writer.write(head.encode())
            assert (await reader.readline()).startswith(b"HTTP/1.1 400 ")  # before it was sent
            writer.close()
            assert (await scene.journal())[-1] == ("process.written", "ok", {"process": process, "bytes": 2})

        play(tmp_path, act)

    def test_signals(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            for name in ("INT", "SIGINT", "2"):
                reply = await scene.ask("POST", f"/v1/processes/{process}/signal?signal={name}")
                assert reply.json == {"process_id": process, "signal": "SIGINT", "reached": 1}
            bad = await scene.ask("POST", f"/v1/processes/{process}/signal?signal=FOO")
            assert (bad.status, "HUP INT QUIT" in bad.error["remedy"]) == (400, True)
            event, _, data = (await scene.journal())[-1]
            assert (event, data["signal"], data["reached"]) == ("process.signalled", "SIGINT", 1)

        play(tmp_path, act)

    def test_killing_and_removing(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            assert (await scene.ask("DELETE", f"/v1/processes/{process}")).status == 409
            answer = (await scene.ask("POST", f"/v1/processes/{process}/kill?grace=0.5")).json
            assert (answer["exit_code"], answer["signal"], answer["left"]) == (143, "SIGTERM", [])
            assert scene.keeper.asked[-1] == ("end", {"grace": 0.5})
            reply = await scene.ask("DELETE", f"/v1/processes/{process}")
            assert reply.json == {"process_id": process, "removed": True}
            assert (await scene.ask("GET", f"/v1/processes/{process}")).status == 404
            assert [event for event, *_ in await scene.journal()][-2:] == ["process.killed", "process.removed"]

        play(tmp_path, act)

    def test_the_size_of_a_terminal(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene)
            reply = await scene.ask("POST", f"/v1/processes/{process}/resize?columns=90&rows=30")
            assert reply.json == {"process_id": process, "columns": 90, "rows": 30}
            assert scene.keeper.asked[-1] == ("resize", {"columns": 90, "rows": 30})
            for query in ("", "columns=0&rows=1", "columns=1", "columns=99999&rows=1"):
                assert (await scene.ask("POST", f"/v1/processes/{process}/resize?{query}")).status == 400

        play(tmp_path, act)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.one_of(st.binary(max_size=9), st.text(max_size=4).map(str.encode)), max_size=10),
    st.lists(st.integers(1, 12), min_size=1, max_size=9),
    st.sampled_from(["", "&encoding=base64", "&wait=0.001"]),
)
def test_pages_are_what_was_written(tmp_path: Path, pieces: list[bytes], sizes: list[int], extra: str) -> None:
    async def act(scene: Scene) -> None:
        process, played = await started(scene)
        read, cursor, turn = b"", 0, 0

        async def page() -> None:
            nonlocal read, cursor, turn
            turn += 1
            answer = await output(scene, process, f"after={cursor}&limit={sizes[turn % len(sizes)]}{extra}")
            text = answer["output"]
            read += base64.b64decode(text) if "encoding" in answer else text.encode()
            cursor = answer["next"]

        for piece in pieces:
            await played.write(piece)
            await page()
        await played.end()
        while cursor < len(played.written):
            await page()
        assert read == played.written

    for leftover in tmp_path.iterdir():
        leftover.unlink()
    play(tmp_path, act)


def test_one_agent_is_found_by_its_name_and_its_team_told(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        (found,) = json.loads((await scene.ask("GET", "/v1/agents?agent=z")).body)
        assert (found["team"], found["agent"]) == ("toys", "z")
        assert len(json.loads((await scene.ask("GET", "/v1/agents?agent=b&team=shop")).body)) == 1
        for missing in ("agent=nobody", "agent=z&team=shop", "agent=z&team=gone"):
            assert (await scene.ask("GET", f"/v1/agents?{missing}")).status == 404

    play(tmp_path, act)


def test_ps_tells_how_many_run(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.registry.processes["shop", "a"] = 3
        agents = json.loads((await scene.ask("GET", "/v1/agents?team=shop")).body)
        assert [agent["processes"] for agent in agents] == [3, 0]

    play(tmp_path, act)
