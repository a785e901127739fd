"""Concurrent clients of a real daemon under a nemesis: what they were told is checked by the rules of each primitive.

CORRAL_HISTORY_ROUNDS gives more of them, and CORRAL_HISTORY_SEED others. How fast the machine is decides what meets
what, so a seed gives the same troubles and the same wishes, and not the same history.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from corral.domain.tasks import KEPT_CLOSED
from tests.faults.support.teams import IDLE, toml
from tests.history import check_leases, check_log, check_messages, check_tasks, check_values
from tests.history.nemesis import Nemesis
from tests.history.record import OK, Operation, read
from tests.history.workloads import FILES, PREFIX, TASKS_EACH, TOPIC
from tests.support.instance import Instance

pytestmark = pytest.mark.slow

#: Of one round.
SECONDS = 20.0
ROUNDS = int(os.environ.get("CORRAL_HISTORY_ROUNDS", "1"))
SEEDS = [f"{os.environ.get('CORRAL_HISTORY_SEED', '1')}.{number}" for number in range(1, ROUNDS + 1)]
ROOT = Path(__file__).parents[2]
#: Clients of each kind. Each is an agent of its own, but that messages are among the first two.
CLIENTS = {
    "messages": 2,
    "leases": 4,
    "locks": 3,
    "tasks": 4,
    "values": 3,
    "topics": 2,
    "watch": 2,
    "follow": 1,
}
#: Operations of which at least one must have come through, or nothing was proved.
NEEDED = {
    "acquire",
    "release",
    "lock",
    "renew",
    "add",
    "claim",
    "done",
    "fail",
    "return",
    "prolong",
    "get",
    "transact",
    "seen",
} | {*("publish", "heard", "send", "inbox", "ack")}


@pytest.fixture(params=SEEDS)
def nemesis(instance: Instance, own_directory: Path, request: pytest.FixtureRequest) -> Nemesis:
    clock = own_directory / "clock"
    instance.env |= {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent / "clock"), os.environ.get("PYTHONPATH", "")]),
        "TEST_CLOCK_OFFSET": str(clock),
    }
    instance.spec(toml({"a": {"command": IDLE, "count": sum(CLIENTS.values())}}))
    instance.run("up")
    return Nemesis(instance, clock, request.param)


class Last:
    """Looks at what is there when all is over, past what was written down."""

    def __init__(self, instance: Instance) -> None:
        self._path = os.path.join(instance.runtime, "daemon.sock")

    def ask(self, method: str, target: str, body: object = None, expected: int = 200) -> Any:
        connection = http.client.HTTPConnection("corral")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(30)
        connection.sock.connect(self._path)
        try:
            connection.request(method, target, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            told = json.loads(answer.read())
            assert answer.status in (200, expected), (method, target, told)
            return told
        finally:
            connection.close()

    def finish_tasks(self) -> dict[str, Any]:
        """Do what is left; every task as it is then."""
        until = time.monotonic() + 30
        while left := [task for task in self._tasks() if task["state"] != "done"]:
            assert time.monotonic() < until, left[:3]
            # What an agent has claimed stays with it: the agents live.
            for task in left:
                if (task["claimed_by"] or "").startswith("shop/"):
                    self._finish(task)
            claimed = self.ask("POST", "/v1/tasks/claim?team=shop", {"wait": 2.0}, expected=404)
            if "task" in claimed:
                self._finish(claimed)
        return {task["task"]: self.ask("GET", f"/v1/tasks/{task['task']}?team=shop") for task in self._tasks()}

    def _finish(self, task: Any) -> None:
        body = {"token": task["token"], "result": "the last one"}
        self.ask("POST", f"/v1/tasks/{task['task']}/done?team=shop", body)

    def _tasks(self) -> list[Any]:
        listed: list[Any] = self.ask("GET", "/v1/tasks?team=shop&limit=100000")["tasks"]
        return listed

    def pages(self, target: str, entries: str) -> list[Any]:
        """All of a log, page by page."""
        found: list[Any] = []
        after = 0
        while page := (told := self.ask("GET", f"{target}&after={after}"))[entries]:
            found += page
            after = told["next"]
        return found


def test_what_is_done_is_kept_for_as_long_as_a_history_looks_at_it() -> None:
    assert CLIENTS["tasks"] * TASKS_EACH < KEPT_CLOSED


def run_clients(instance: Instance, nemesis: Nemesis, directory: Path) -> dict[str, list[Operation]]:
    """Have all clients work under the nemesis; their histories, by kind."""
    started: dict[Path, tuple[str, subprocess.Popen[bytes]]] = {}
    path, number = os.path.join(instance.runtime, "daemon.sock"), 0
    for kind, count in CLIENTS.items():
        for _ in range(count):
            number += 1
            history = directory / f"{kind}-{number}.jsonl"
            argv = [sys.executable, "-m", "tests.history.client", kind, path, str(history), str(number), nemesis.seed]
            started[history] = (kind, subprocess.Popen([*argv, str(SECONDS)], cwd=ROOT))
    try:
        nemesis.trouble([client for _, client in started.values()], SECONDS)
        for _, client in started.values():
            assert client.wait(60) == 0
    finally:
        for _, client in started.values():
            client.kill()
            client.wait()
    found: dict[str, list[Operation]] = {kind: [] for kind in CLIENTS}
    for history, (kind, _) in started.items():
        with history.open(encoding="utf-8") as lines:
            found[kind] += read(lines)
    return found


def test_no_history_shows_what_must_never_happen(instance: Instance, nemesis: Nemesis, own_directory: Path) -> None:
    histories = run_clients(instance, nemesis, own_directory)
    everything = [operation for history in histories.values() for operation in history]
    nemesis.kill()  # what counts is what is on the disk
    last = Last(instance)
    held = {lease["lease"] for lease in last.ask("GET", "/v1/leases?team=shop")["leases"]}
    changes = last.pages(f"/v1/kv/changes?team=shop&prefix={PREFIX}", "changes")
    published = last.pages(f"/v1/topics?team=shop&topic={TOPIC}", "entries")
    inboxes = {
        agent: last.ask("GET", f"/v1/messages/inbox?team=shop&agent={agent}&limit=1000")["messages"]
        for agent in ("a-1", "a-2")
    }
    problems = [
        # Tokens are of one counter, so those of leases, locks and claims are looked at together.
        *check_leases.problems([*histories["leases"], *histories["locks"], *histories["tasks"]], FILES, held),
        *check_tasks.problems(histories["tasks"], last.finish_tasks()),
        *check_values.problems([*histories["values"], *histories["watch"]]),
        *check_values.watch_problems([*histories["values"], *histories["watch"]], changes),
        *check_log.problems([*histories["topics"], *histories["follow"]], published),
        *check_messages.problems(histories["messages"], inboxes),
    ]
    outcomes = Counter((operation.what, operation.outcome) for operation in everything)
    print(f"{len(everything)} operations, {dict(nemesis.made)}: {dict(sorted(outcomes.items()))}")
    assert not problems, "\n".join(problems[:20])
    assert not NEEDED - {what for what, outcome in outcomes if outcome == OK}
    assert nemesis.made["kill"], "the nemesis never killed the daemon"


def test_the_nemesis_moves_the_clock_of_the_daemon(instance: Instance, nemesis: Nemesis) -> None:
    nemesis.jump(-31_536_000)
    before = Last(instance).ask("POST", "/v1/leases?team=shop&agent=a-1", {"patterns": ["x"]})["since"]
    nemesis.jump(31_536_000)
    after = Last(instance).ask("POST", "/v1/leases?team=shop&agent=a-1", {"patterns": ["y"]})["since"]
    assert int(after[:4]) >= int(before[:4]) + 1
