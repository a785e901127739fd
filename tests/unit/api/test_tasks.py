"""Tasks over HTTP: what is told, what is refused, who waits, and what happens by itself."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.domain import states, task_records
from corral.domain.task_records import NewTask
from corral.service.tasks import Seen, Wanted
from tests.support.records import AGENT, PERSON
from tests.unit.api.scene import Reply, Scene, play

SHOP = "team=shop"


async def add(scene: Scene, title: str = "x", **more: object) -> str:
    reply = await scene.ask("POST", f"/v1/tasks?{SHOP}", {"title": title, **more})
    assert reply.status == 200, reply.json
    return str(reply.json["task"])


async def claim(scene: Scene, query: str = "agent=a", **body: object) -> Reply:
    return await scene.ask("POST", f"/v1/tasks/claim?{SHOP}&{query}", body)


async def claimed(scene: Scene, query: str = "agent=a", **body: object) -> Any:
    reply = await claim(scene, query, **body)
    assert reply.status == 200, reply.json
    return reply.json


async def say(scene: Scene, task: str, what: str, **body: object) -> Reply:
    return await scene.ask("POST", f"/v1/tasks/{task}/{what}?{SHOP}", body)


async def show(scene: Scene, task: str) -> Any:
    return (await scene.ask("GET", f"/v1/tasks/{task}?{SHOP}")).json


async def in_line(scene: Scene, agent: str = "a", *labels: str) -> asyncio.Task[Seen]:
    """Somebody who waits for a task, and is in line when this returns."""
    wanted = Wanted(agent=scene.registry.agents["shop", agent], labels=labels, wait=30)
    waiting = asyncio.ensure_future(scene.services.tasks.claim(PERSON, scene.registry.teams["shop"], wanted))
    await asyncio.sleep(0)
    return waiting


def test_a_task_is_added_claimed_and_done(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        task = await add(scene, "Fix it", body="all of it", priority=3, labels=["gpu"])
        got = await claimed(scene, labels=["gpu", "big"])
        assert {name: got[name] for name in ("task", "title", "body", "attempt", "by", "priority")} == {
            "task": task,
            "title": "Fix it",
            "body": "all of it",
            "attempt": 1,
            "by": "shop/a",
            "priority": 3,
        }
        seen = await show(scene, task)
        assert (seen["state"], seen["claimed_by"], seen["token"]) == ("claimed", "shop/a", got["token"])
        reply = await say(scene, task, "done", token=got["token"], result="42", note="it was easy")
        assert (reply.status, reply.json["state"], reply.json["result"]) == (200, "done", "42")
        seen = await show(scene, task)
        assert (seen["claimed_by"], seen["token"], seen["notes"][0]["text"]) == (None, None, "it was easy")

    play(tmp_path, act)


def test_there_may_be_none(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        reply = await claim(scene)
        assert (reply.status, reply.error["code"]) == (404, "not_found")
        assert (await claim(scene, wait=0.05)).status == 404
        await add(scene, labels=["gpu"])
        assert "gpu" not in (await claim(scene, labels=["cpu"])).error["message"]
        assert (await scene.ask("POST", "/v1/tasks/claim?team=toys&agent=z", {})).status == 404

    play(tmp_path, act)


def test_stale_tokens_are_refused_and_named(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        task = await add(scene, backoff=0)
        first = await claimed(scene)
        assert (await say(scene, task, "fail", token=first["token"], note="no network")).json["state"] == "ready"
        second = await claimed(scene, "agent=b")
        assert (second["attempt"], second["notes"][0]["text"]) == (2, "no network")
        assert second["token"] > first["token"]
        for what in ("renew", "done", "fail", "release"):
            reply = await say(scene, task, what, token=first["token"])
            assert reply.status == 409
            assert (reply.error["holder"], reply.error["task"]) == ("shop/b", task)
        assert (await say(scene, task, "done", token=second["token"])).status == 200
        # Who did not hear the answer asks again.
        assert (await say(scene, task, "done", token=second["token"])).json["state"] == "done"
        assert (await say(scene, task, "done", token=first["token"])).error["state"] == "done"
        assert [event for event, _, _ in await scene.journal()].count("task.done") == 1
        assert (await say(scene, "t999", "done", token=1)).status == 404

    play(tmp_path, act)


def test_what_cannot_be_understood_is_refused(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        wrong: list[dict[str, object]] = [
            {},
            {"title": ""},
            {"title": "x", "labels": ["\0"]},
            {"title": 1},
            {"titel": ""},
        ]
        for body in wrong:
            assert (await scene.ask("POST", f"/v1/tasks?{SHOP}", body)).status == 400, body
        wrong = [{"ttl": 0}, {"ttl": 1e9}, {"wait": -1}, {"wait": 1e9}, {"labels": [""]}, {"label": "x"}]
        for body in wrong:
            assert (await scene.ask("POST", f"/v1/tasks/claim?{SHOP}", body)).status == 400, body
        assert (await claim(scene, "agent=nobody")).status == 404
        assert (await say(scene, "t1", "done")).status == 400
        assert (await scene.ask("GET", f"/v1/tasks?{SHOP}&state=gone")).status == 400
        assert (await scene.ask("GET", f"/v1/tasks?{SHOP}")).json == {"tasks": [], "more": 0}

    play(tmp_path, act)


def test_the_list_says_what_is_asked_for(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        first = await add(scene, "one", body="long", labels=["gpu"])
        second = await add(scene, "two", after=[first])
        third = await add(scene, "three", priority=9)
        assert (await claimed(scene))["task"] == third

        async def listed(query: str = "") -> list[str]:
            reply = await scene.ask("GET", f"/v1/tasks?{SHOP}{query}")
            return [task["task"] for task in reply.json["tasks"]]

        assert await listed() == [third, first, second]
        assert await listed("&state=waiting") == [second]
        assert await listed("&state=waiting&state=claimed") == [third, second]
        assert await listed("&label=gpu") == [first]
        assert await listed("&by=shop/a") == [third]
        assert await listed("&limit=1") == [third]
        reply = (await scene.ask("GET", f"/v1/tasks?{SHOP}&limit=1")).json
        assert reply["more"] == 2
        assert "body" not in reply["tasks"][0]
        assert (await show(scene, second))["waits_for"] == [first]

    play(tmp_path, act)


def test_the_same_key_is_the_same_task_also_at_the_same_time(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        body = {"title": "nightly", "key": "n-1"}
        replies = await asyncio.gather(*(scene.ask("POST", f"/v1/tasks?{SHOP}", body) for _ in range(20)))
        assert len({reply.json["task"] for reply in replies}) == 1
        assert sum(reply.json["added"] for reply in replies) == 1
        assert (await scene.ask("POST", f"/v1/tasks?{SHOP}", {**body, "title": "weekly"})).status == 409

    play(tmp_path, act)


def test_fifty_who_claim_at_once_never_share_a_task(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        tasks = [await add(scene) for _ in range(40)]
        replies = await asyncio.gather(*(claim(scene, f"agent={'ab'[number % 2]}") for number in range(50)))
        got = [reply.json for reply in replies if reply.status == 200]
        assert sorted(one["task"] for one in got) == sorted(tasks)
        assert len({one["token"] for one in got}) == 40
        assert [reply.status for reply in replies].count(404) == 10

    play(tmp_path, act)


class TestWaiting:
    def test_it_is_for_a_while_and_ends_with_a_task(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            got, task = await asyncio.gather(claimed(scene, wait=30), add(scene))
            assert got["task"] == task

        play(tmp_path, act)

    def test_who_waits_is_told_at_once_and_in_order(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            first, second = await in_line(scene, "a"), await in_line(scene, "b")
            one = await add(scene)
            assert (await first).task.id == one
            two = await add(scene)
            assert (await second).task.id == two

        play(tmp_path, act)

    def test_one_for_whom_it_is_not_is_passed_over(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            plain, gpu = await in_line(scene, "a"), await in_line(scene, "b", "gpu")
            wanted = await add(scene, labels=["gpu"])
            assert (await gpu).task.id == wanted
            other = await add(scene)
            assert (await plain).task.id == other

        play(tmp_path, act)

    def test_one_who_was_told_of_what_is_gone_does_not_keep_others_from_what_is_there(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            gpu, plain = await in_line(scene, "a", "gpu"), await in_line(scene, "b")
            tasks, team = scene.services.tasks, scene.registry.teams["shop"]
            # All of this before anybody who waits gets to run: the first is told of what is taken from under it.
            adding = asyncio.ensure_future(tasks.add(PERSON, team, NewTask(title="x", labels=["gpu"])))
            taking = asyncio.ensure_future(tasks.claim(PERSON, team, Wanted(labels=["gpu"])))
            other = asyncio.ensure_future(tasks.add(PERSON, team, NewTask(title="y")))
            assert (await taking).task.id == (await adding)[0]
            got, _ = await asyncio.wait([gpu, plain], timeout=10, return_when=asyncio.FIRST_COMPLETED)
            assert [one.result().task.id for one in got] == [(await other)[0]]
            for waiting in (gpu, plain):
                waiting.cancel()

        play(tmp_path, act)

    @pytest.mark.parametrize("how", ["done", "release", "fail"])
    def test_what_becomes_ready_again_is_told_too(self, tmp_path: Path, how: str) -> None:
        async def act(scene: Scene) -> None:
            task = await add(scene, backoff=0)
            expected = await add(scene, after=[task]) if how == "done" else task
            token = (await claimed(scene))["token"]
            waiting = await in_line(scene, "b")
            assert (await say(scene, task, how, token=token)).status == 200
            assert (await waiting).task.id == expected

        play(tmp_path, act)

    def test_who_goes_away_takes_nothing_along(self, tmp_path: Path) -> None:
        """Whether the daemon notices it before the task comes or after: it comes to the one who is still there."""

        async def act(scene: Scene) -> None:
            for _ in range(20):
                _, writer = await scene.begin("POST", f"/v1/tasks/claim?{SHOP}&agent=a", {"wait": 30})
                here, task, _ = await asyncio.gather(
                    claimed(scene, "agent=b", wait=30), add(scene, max_attempts=1), closed(writer)
                )
                assert (here["task"], here["by"], here["attempt"]) == (task, "shop/b", 1)

        play(tmp_path, act)

    def test_one_who_leaves_while_the_claim_is_written_gives_it_back(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            task = await add(scene)
            leaving = await in_line(scene, "a")  # which is in no line, for there is a task: the claim is on its way
            leaving.cancel()
            got = await claimed(scene, "agent=b", wait=30)
            assert (got["task"], got["attempt"]) == (task, 1)
            assert [event for event, _, _ in await scene.journal()][-3:] == [
                "task.claimed",
                "task.released",
                "task.claimed",
            ]

        play(tmp_path, act)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()


class TestWhatHappensByItself:
    @pytest.fixture(autouse=True)
    def _short_times(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(task_records, "SHORTEST_TTL", 0.05)

    @pytest.mark.parametrize("state", [states.RUNNING, states.UNKNOWN, states.STOPPING])
    def test_a_claim_holds_while_its_run_may_be_alive(self, tmp_path: Path, state: str) -> None:
        async def act(scene: Scene) -> None:
            task = await add(scene)
            scene.registry.agents[AGENT.key] = replace(AGENT, state=state)
            token = (await claimed(scene, ttl=0.1))["token"]
            await asyncio.sleep(0.5)
            assert (await show(scene, task))["token"] == token
            scene.registry.agents[AGENT.key] = replace(AGENT, state=states.FAILED)
            assert (await claimed(scene, "agent=b", wait=30))["attempt"] == 2

        play(tmp_path, act)

    def test_another_run_of_the_agent_is_another(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            task = await add(scene)
            token = (await claimed(scene, ttl=0.1))["token"]
            scene.registry.agents[AGENT.key] = replace(AGENT, run="r2")
            again = await claimed(scene, wait=30, ttl=5)
            assert again["attempt"] == 2
            assert (await say(scene, task, "done", token=token)).status == 409

        play(tmp_path, act)

    def test_one_of_a_person_holds_as_long_as_it_is_renewed(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            task = await add(scene, max_attempts=1)
            token = (await claimed(scene, "", ttl=0.4))["token"]
            for _ in range(4):
                await asyncio.sleep(0.2)
                assert (await say(scene, task, "renew", token=token)).status == 200
            assert (await claim(scene, wait=1)).status == 404
            assert (await show(scene, task))["state"] == "dead"
            assert (await say(scene, task, "renew", token=token)).status == 409
            assert (await say(scene, task, "release")).json["state"] == "ready"

        play(tmp_path, act)

    def test_after_a_failure_it_rests_and_comes_to_who_waits(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            task = await add(scene, backoff=0.3)
            first = await claimed(scene)
            assert (await say(scene, task, "fail", token=first["token"])).json["state"] == "delayed"
            assert (await claim(scene)).status == 404
            assert (await claimed(scene, wait=10))["attempt"] == 2

        play(tmp_path, act)

    def test_a_lapsed_task_comes_to_who_waits(self, tmp_path: Path) -> None:
        async def act(scene: Scene) -> None:
            await add(scene)
            await claimed(scene, "", ttl=0.2)
            assert (await claimed(scene, wait=10))["attempt"] == 2

        play(tmp_path, act)


def test_the_journal_tells_who_did_what_and_nothing_that_tasks_say(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        task = await add(scene, "secret title", body="secret body", max_attempts=1, key="secret key")
        got = await claimed(scene)
        await say(scene, task, "release", token=got["token"], note="secret note")
        token = (await claimed(scene))["token"]
        await say(scene, task, "fail", token=token, note="secret why")
        await say(scene, task, "release")
        last = (await claimed(scene))["token"]
        await say(scene, task, "done", token=last, result="secret result")
        journal = [entry for entry in await scene.journal() if entry[0].startswith("task.")]
        assert [(event, outcome) for event, outcome, _ in journal] == [
            ("task.added", "ok"),
            ("task.claimed", "ok"),
            ("task.released", "ok"),
            ("task.claimed", "ok"),
            ("task.failed", "failed"),
            ("task.dead", "failed"),
            ("task.released", "ok"),
            ("task.claimed", "ok"),
            ("task.done", "ok"),
        ]
        assert journal[-1][2] == {"task": task, "attempt": 1, "token": last, "by": "shop/a"}
        assert "secret" not in repr(journal)

    play(tmp_path, act)


def test_teams_do_not_see_each_others_tasks(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        task = await add(scene)
        assert (await scene.ask("GET", f"/v1/tasks/{task}?team=toys")).status == 404
        assert (await scene.ask("GET", "/v1/tasks?team=toys")).json["tasks"] == []

    play(tmp_path, act)


def test_labels_that_nobody_has_are_told(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for agent, label in (("a", "gpu"), ("b", "linux")):
            known = scene.registry.agents["shop", agent]
            scene.registry.agents["shop", agent] = replace(known, labels=(label,))
        asked: list[tuple[list[str], list[str]]] = [
            ([], []),
            (["gpu"], []),
            (["gpu", "tpu"], ["tpu"]),
            (["gpu", "linux"], ["gpu", "linux"]),
        ]
        for labels, lacking in asked:
            assert (await show(scene, await add(scene, labels=labels)))["lacking"] == lacking

    play(tmp_path, act)
