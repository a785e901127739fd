"""The routes of processes: lists, who may see what, and steering."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from corral.ports.processes import Process
from tests.support.records import PERSON
from tests.unit.api.process_scene import started
from tests.unit.api.scene import Scene, play
from tests.unit.service.fake_keeper import soon


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
            scene.processes._known._owners.forget(process, ("toys", "z"))
            assert (await scene.ask("GET", f"/v1/processes/{process}")).json["team"] == "toys"
            await scene.ask("POST", f"/v1/processes/{process}/signal?signal=INT")
            await scene.processes.settled()
            assert (await scene.store.events(last=1))[0].agent == "z"

        play(tmp_path, act)

    def test_stays_that_of_its_agent_whatever_ids_another_keeper_names(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, played = await started(scene, "a")
            listed = scene.keeper.processes

            async def altered(team: str, agent: str) -> list[Process]:
                if team == "toys":
                    return [msgspec.structs.replace(played.seen(), agent="z")]
                return await listed(team, agent)

            scene.keeper.processes = altered  # type: ignore[method-assign]
            assert (await scene.ask("GET", "/v1/processes?team=toys")).status == 200
            assert (await scene.ask("GET", f"/v1/processes/{process}")).json["agent"] == "a"
            assert (await scene.ask("GET", f"/v1/processes/{process}?team=toys")).status == 404

        play(tmp_path, act)

    def test_an_id_that_is_another_agents_starts_nothing(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene, "a")
            reply = await scene.exec("team=toys&agent=z", argv=["cat"], process_id=process)
            assert (reply.status, reply.error["code"]) == (404, "not_found")
            assert "shop" not in str(reply.error)
            assert reply.error["remedy"]
            assert [played.order.agent for played in scene.keeper.played.values()] == ["a"]
            assert (await scene.ask("GET", f"/v1/processes/{process}")).json["agent"] == "a"
            assert [event for event, *_ in await scene.journal()] == ["process.started"]

        play(tmp_path, act)

    def test_an_id_of_an_agent_that_is_gone_can_be_chosen_and_its_start_is_noted(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene, "a")
            scene.keeper.played.clear()
            await scene.registry.commit(PERSON, drop_agents=[("shop", "a")])
            reply = await scene.exec("team=toys&agent=z", argv=["cat"], background=True, process_id=process)
            assert reply.status == 200, reply.body
            assert (await scene.ask("GET", f"/v1/processes/{process}")).json["agent"] == "z"
            await scene.processes.settled()
            agents = [event.agent for event in await scene.store.events() if event.event == "process.started"]
            assert agents == ["a", "z"]

        play(tmp_path, act)

    def test_removing_ones_own_of_the_same_id_leaves_anothers_as_it_is(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            process, _ = await started(scene, "a")
            forgotten: list[str] = []

            async def forget(team: str, agent: str, processes: object) -> None:
                forgotten.append(agent)

            scene.keeper.forget_processes = forget  # type: ignore[method-assign]
            assert (await scene.ask("DELETE", f"/v1/processes/{process}?team=toys&agent=z")).status == 200
            assert forgotten == ["z"]
            assert scene.processes._known._owners.get(process) == ("shop", "a")

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
