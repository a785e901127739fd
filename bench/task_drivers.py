"""A task of each contestant, claimed and acked: one of many that wait already, by one of many clients."""

from __future__ import annotations

import json
from typing import Any

from bench.wire import Http, Redis, request

CORRAL, HUEY, REDIS_STREAM = "corral", "huey, SQLite", "Redis stream"
_STREAM, _GROUP = "tasks", "clients"


class CorralTasks:
    """`POST /v1/tasks/claim` and `/done`, with the token of the claim."""

    def __init__(self, address: str, number: int) -> None:
        self._http = Http(address)
        self._agent, self._query = f"bench/a-{number}", f"?team=bench&agent=a-{number}"
        self._claim = request("POST", f"/v1/tasks/claim{self._query}", b"{}", self._agent)

    def cycle(self) -> bool:
        status, answer = self._http.answer(self._claim)
        if status == 404:
            return False
        if status != 200:
            raise SystemExit(f"bench: corral: {answer.decode()}")
        claimed = json.loads(answer)
        body = b'{"token":%d}' % claimed["token"]
        self._http.ask(request("POST", f"/v1/tasks/{claimed['task']}/done{self._query}", body, self._agent))
        return True


class HueyTasks:
    """A queue of huey with `fsync`, opened by every client.

    A task is gone from the queue when it is taken: one whose taker dies is lost. So there is one write, and no ack.
    """

    def __init__(self, address: str, _: int) -> None:
        self._queue, _task = _huey(address)

    def cycle(self) -> bool:
        task = self._queue.dequeue()
        if task is None:
            return False
        self._queue.execute(task)
        return True

    @staticmethod
    def fill(address: str, count: int) -> None:
        """Have so many tasks wait; those of the round before are gone. Not through the front door, which is slow."""
        queue, nothing = _huey(address)
        queue.flush()
        with queue.storage.db(commit=True) as db:
            rows = [(queue.name, queue.serialize_task(nothing.s()), 0) for _ in range(count)]
            db.executemany("INSERT INTO task (queue, data, priority) VALUES (?, ?, ?)", rows)


def _huey(address: str) -> Any:
    """A queue, and a task that does nothing. huey comes without types."""
    from huey import SqliteHuey

    queue = SqliteHuey(filename=address, fsync=True, results=False)
    return queue, queue.task(name="nothing")(_nothing)


def _nothing() -> None:
    """What a task does."""


class RedisTasks:
    """`XREADGROUP`, then `XACK`, with `appendfsync always`."""

    def __init__(self, address: str, number: int) -> None:
        self._redis = Redis(address)
        self._name = f"client-{number}"

    def cycle(self) -> bool:
        answer = self._redis.ask("XREADGROUP", "GROUP", _GROUP, self._name, "COUNT", "1", "STREAMS", _STREAM, ">")
        if answer.startswith(b"*-1"):
            return False
        # *1 *2 $5 tasks *1 *2 $N ID …
        entry = answer.split(b"\r\n")[7].decode()
        self._redis.ask("XACK", _STREAM, _GROUP, entry)
        return True

    @staticmethod
    def fill(address: str, count: int) -> None:
        """Have so many tasks wait."""
        redis = Redis(address)
        redis.ask("DEL", _STREAM)
        redis.ask("XGROUP", "CREATE", _STREAM, _GROUP, "0", "MKSTREAM")
        script = "for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'title', 'task') end return 1"
        redis.ask("EVAL", script, "1", _STREAM, str(count))
