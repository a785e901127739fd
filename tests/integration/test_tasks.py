"""`corral task` as a person and an agent use it, and what becomes of tasks when the daemon is killed under load."""

import http.client
import json
import os
import signal
import socket
import threading
from typing import Any

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import IDLE, toml
from tests.support.instance import Instance

CLAIMERS, ADDERS = 50, 4


@pytest.fixture(autouse=True)
def _up(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}))
    instance.run("up")


def test_a_task_is_handed_over_and_done_once(instance: Instance) -> None:
    task = instance.json("task", "add", "Fix", "it", "--body", "all of it", "--priority", "5")["task"]
    assert task.startswith("t")
    claim = instance.json("task", "claim", "--agent", "a")
    assert {name: claim[name] for name in ("task", "title", "body", "attempt")} == {
        "task": task,
        "title": "Fix it",
        "body": "all of it",
        "attempt": 1,
    }
    assert "claimed" in instance.run("task", "ls").stdout
    assert instance.error("task", "claim", "--agent", "b")[0] == 3
    token = str(claim["token"])
    instance.run("task", "renew", task, "--token", token, "--note", "half way")
    instance.run("task", "done", task, "--token", token, "--result", "-", input="fixed")
    assert instance.json("task", "done", task, "--token", token)["result"] == "fixed", "as it was done"
    code, error = instance.error("task", "done", task, "--token", str(int(token) + 1))
    assert (code, error["task"], error["state"]) == (4, task, "done")
    shown = instance.json("task", "show", task)
    assert (shown["state"], shown["result"], shown["notes"][0]["text"]) == ("done", "fixed", "half way")
    assert instance.run("task", "ls").stdout == ""
    assert task in instance.run("task", "ls", "--all").stdout
    assert "half way" in instance.run("task", "show", task).stdout


def test_what_cannot_be_is_said_in_exit_codes(instance: Instance) -> None:
    task = instance.json("task", "add", "x")["task"]
    claim = instance.json("task", "claim")
    stale = str(claim["token"] - 1)
    for command in (("done",), ("fail",), ("renew",), ("release",)):
        assert instance.error("task", *command, task, "--token", stale)[0] == 4
    assert instance.error("task", "done", task)[0] == 2
    assert instance.error("task", "show", "../kv")[0] == 3
    assert instance.error("task", "add", "--priority", "1.5", "x")[0] == 2
    code, error = instance.error("task", "add", "y", "--after", task, "--before", task)
    assert (code, error["cycle"]) == (4, [task])


def test_an_agent_claims_for_itself(instance: Instance) -> None:
    instance.run("task", "add", "x")
    spoken_for = {"CORRAL_AGENT": "b", "CORRAL_TEAM": "shop"}
    claim = json.loads(instance.run("task", "claim", "--json", env=spoken_for).stdout)
    assert claim["by"] == "shop/b"


def test_what_is_claimed_for_an_agent_can_be_ended_for_it(instance: Instance) -> None:
    """By whom, the token says; the agent may be named with it, as it was for the claim."""
    task = instance.json("task", "add", "Fix it")["task"]
    token = str(instance.json("task", "claim", "--agent", "shop/a")["token"])
    assert instance.error("task", "done", task, "--agent", "a", "--token", str(int(token) + 1))[0] == 4
    assert instance.json("task", "renew", task, "--agent", "a", "--token", token)["claimed_by"] == "shop/a"
    assert instance.json("task", "done", task, "--agent", "shop/a", "--token", token)["state"] == "done"


def test_a_claim_outlives_the_daemon_and_lapses_with_its_agent(instance: Instance) -> None:
    task = instance.json("task", "add", "x")["task"]
    token = instance.json("task", "claim", "--agent", "a", "--ttl", "1")["token"]
    kill_daemon(instance)
    instance.run("daemon", "start")
    assert instance.error("task", "claim", "--agent", "b", "--wait", "3")[0] == 3, "its agent lives"
    assert instance.json("task", "show", task)["token"] == token
    instance.run("stop", "a")
    again = instance.json("task", "claim", "--agent", "b", "--wait", "60")
    assert (again["task"], again["attempt"]) == (task, 2)
    assert again["token"] > token
    assert instance.error("task", "done", task, "--token", str(token))[0] == 4


class Client(threading.Thread):
    """Asks the daemon, as fast as it is answered, until there is nobody to answer."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__()
        self._path = path
        self.number = number

    def run(self) -> None:
        connection = http.client.HTTPConnection("corral")
        connection.sock = socket.socket(socket.AF_UNIX)
        try:
            connection.sock.connect(self._path)
            self._connection = connection
            while True:
                self.work()
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()

    def work(self) -> None:
        raise NotImplementedError

    def post(self, path: str, body: object) -> tuple[int, Any]:
        self._connection.request("POST", f"/v1/tasks{path}", json.dumps(body))
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())


class Adder(Client):
    """Adds tasks with keys of its own."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__(path, number)
        #: Key → the task that was told.
        self.told: dict[str, str] = {}
        self.asked = ""

    def work(self) -> None:
        self.asked = f"{self.number}-{len(self.told)}"
        status, answer = self.post("?team=shop", {"title": self.asked, "key": self.asked, "max_attempts": 1000})
        assert status == 200, answer
        self.told[self.asked] = answer["task"]


class Claimer(Client):
    """Claims tasks, and does every other one of them."""

    def __init__(self, path: str, number: int) -> None:
        super().__init__(path, number)
        #: Task and token of each claim that was told, each end that was told, and what was asked for last.
        self.claims: list[tuple[str, int]] = []
        self.done: list[tuple[str, int]] = []
        self.given_back: list[tuple[str, int]] = []
        self.asked: tuple[str, int] | None = None

    def work(self) -> None:
        self.asked = None
        status, answer = self.post(f"/claim?team=shop&agent={'ab'[self.number % 2]}", {"wait": 30})
        assert status == 200, answer
        claim = (answer["task"], answer["token"])
        self.claims.append(claim)
        self.asked = claim
        end, ended = ("done", self.done) if len(self.claims) % 3 else ("release", self.given_back)
        status, answer = self.post(f"/{claim[0]}/{end}?team=shop", {"token": claim[1]})
        assert status == 200, answer
        ended.append(claim)


def test_nothing_that_was_answered_is_lost_and_nothing_is_given_twice_when_the_daemon_is_killed(
    instance: Instance,
) -> None:
    path = os.path.join(instance.runtime, "daemon.sock")
    adders = [Adder(path, number) for number in range(ADDERS)]
    claimers = [Claimer(path, number) for number in range(CLAIMERS)]
    for client in (*adders, *claimers):
        client.start()
    adders[0].join(2.0)
    os.kill(instance.json("daemon", "status")["pid"], signal.SIGKILL)
    for client in (*adders, *claimers):
        client.join()
    instance.run("daemon", "start")

    told = {task: key for adder in adders for key, task in adder.told.items()}
    claims = [claim for claimer in claimers for claim in claimer.claims]
    done = [claim for claimer in claimers for claim in claimer.done]
    given_back = {claim for claimer in claimers for claim in claimer.given_back}
    assert min(len(adder.told) for adder in adders) > 0
    assert len(done) > CLAIMERS, "there was no load"
    assert len({token for _, token in claims}) == len(claims), "a token was given twice"
    assert len({task for task, _ in done}) == len(done), "a task was done twice"

    listed = instance.json("task", "ls", "--all")
    assert listed["more"] == 0
    found = {task["task"]: task for task in listed["tasks"]}
    # Of what is done the newest are kept; all else that was told of must be there.
    ended = {task for task, _ in done} | {claimer.asked[0] for claimer in claimers if claimer.asked}
    assert told.keys() - ended <= found.keys(), "a task that was acknowledged is lost"
    for task, token in done:
        assert task not in found or found[task]["state"] == "done", f"{task} was done with {token}"
    # Agents lived all the time, so a task went to another only when its claim had been given back.
    open_ends = {claimer.asked for claimer in claimers if claimer.asked}
    newest: dict[str, int] = {}
    for task, token in claims:
        newest[task] = max(token, newest.get(task, 0))
    for task, token in claims:
        assert token == newest[task] or (task, token) in given_back | open_ends, "two had a valid claim at once"
    assert all(newest[task] == token for task, token in done), "a task was claimed after it was done"
    for task, state in found.items():
        if state["state"] == "claimed":
            assert state["token"] >= newest.get(task, 0)
    # Whoever holds a claim by what it was told can end it, once; nobody else can.
    for claimer in claimers:
        if claimer.asked is None or found.get(claimer.asked[0], {}).get("token") != claimer.asked[1]:
            continue
        task, token = claimer.asked
        instance.run("task", "done", task, "--token", str(token))
        assert instance.error("task", "fail", task, "--token", str(token))[0] == 4
    # Who was not answered asks again, and there is one task of that key.
    for adder in adders:
        first = instance.json("task", "add", adder.asked, "--key", adder.asked, "--max-attempts", "1000")["task"]
        assert first not in told
        assert instance.json("task", "add", adder.asked, "--key", adder.asked)["task"] == first
    instance.run("task", "add", "last")
    assert instance.json("task", "claim", "--agent", "a")["token"] > max(token for _, token in claims)
