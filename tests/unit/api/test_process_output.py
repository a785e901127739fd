"""The output of processes: by cursor, waited for, searched through, and followed."""

import asyncio
import base64
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.ports.processes import Survivor
from tests.unit.api.process_scene import output, started
from tests.unit.api.scene import Scene, play
from tests.unit.service.fake_keeper import prints, soon


class TestOutput:
    def test_is_read_by_cursor(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, text=b"one\ntwo\n")
            page = await output(scene, process)
            assert page == {
                "process_id": process, "output": "one\ntwo\n", "next": 8, "omitted_bytes": 0, "running": True,
                "exit_code": None, "signal": None, "unknown": False, "closed": False, "bytes": 8, "survivors": [],
                "trouble": "",
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
