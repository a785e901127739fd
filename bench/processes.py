"""Commands that are started through Corral: how much longer they take, how soon their end is known, how much they say.

Everything goes through the HTTP API on one connection, as from a program that stays: the MCP server of an agent, say.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from bench.instance import Instance, running
from bench.rounds import Ratio, Times, take_turns
from bench.sizes import Setting
from bench.wire import Http, request

EXEC, BARE = "POST /v1/exec of true", 'subprocess.run(["true"])'
THROUGH, CAT = "200 MB through a process", "cat into a file, with a reader behind it"
#: The goals: issue 4, "How good".
MOST_TIMES_BARE = 3.0
MOST_NOTICE_SECONDS = 0.005
LEAST_SHARE_OF_CAT = 0.5
MOST_LIST_SECONDS = 0.1
_BYTES = 200_000_000
_TRIES, _NOTICES = 200, 100


@dataclass(frozen=True, kw_only=True)
class Processes:
    """The results."""

    level: str
    starting: Times
    #: Seconds between the death of a process and the answer to somebody who waits for it.
    notices: list[float]
    output: Times
    #: How many processes ran at once, how long listing them took, and how many were left after `down`.
    crowd: int
    listing: list[float]
    left: int

    @property
    def ratios(self) -> list[Ratio]:
        # Speed is the other way round than time: half the speed is twice the time.
        return [
            self.starting.ratio(EXEC, BARE, at_most=MOST_TIMES_BARE),
            self.output.ratio(THROUGH, CAT, at_most=1 / LEAST_SHARE_OF_CAT),
        ]

    @property
    def noticed_in_time(self) -> bool:
        return statistics.median(self.notices) < MOST_NOTICE_SECONDS

    @property
    def listed_in_time(self) -> bool:
        return max(self.listing) < MOST_LIST_SECONDS


def measure(setting: Setting, crowd: int) -> Processes:
    """Measure all of it, in a team of one agent."""
    directory, runtime = os.path.join(setting.directory, "processes"), os.path.join(setting.runtime, "processes")
    with running(setting.corral, directory, runtime, setting.env) as instance:
        instance.declare(1)
        instance.up()
        level = instance.levels()[0]
        api = Api(os.path.join(runtime, "daemon.sock"))
        starting = _starting(api, setting)
        notices = _notices(api, setting)
        output = _output(api, directory, setting)
        listing, pids = _crowd(api, crowd, setting)
        left = _take_down(instance, pids)
    return Processes(
        level=level, starting=starting, notices=notices, output=output, crowd=crowd, listing=listing, left=left
    )


class Api:
    """One connection to the daemon."""

    def __init__(self, path: str) -> None:
        self._http = Http(path)

    def exec(self, **body: object) -> Any:
        return self.ask("POST", "/v1/exec?agent=a", json.dumps(body))

    def ask(self, method: str, target: str, body: str = "") -> Any:
        """The answer; an error ends the bench."""
        return json.loads(self._http.ask(request(method, target, body.encode())))


def _starting(api: Api, setting: Setting) -> Times:
    """Each round is many commands in a row, because one is too short for a noisy machine."""

    def many(run: Callable[[], object]) -> float:
        seconds = []
        for _ in range(_TRIES):
            began = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - began)
        return statistics.median(seconds)

    contestants = {
        EXEC: lambda: many(lambda: api.exec(argv=["true"])),
        BARE: lambda: many(lambda: subprocess.run(["true"], check=True)),
    }
    return take_turns(contestants, setting.rounds, lambda what: setting.note(f"start to exit of true, {what}"))


def _notices(api: Api, setting: Setting) -> list[float]:
    """Kill a process by its pid while somebody waits for its end: how long until they have their answer."""
    found = []
    for number in range(_NOTICES):
        setting.note(f"exit notification {number + 1} of {_NOTICES}")
        started = api.exec(argv=["sleep", "1000"], background=True)
        process = started["process_id"]
        (pid,) = (one["pids"][0] for one in _listed(api) if one["process_id"] == process)
        killed: list[float] = []

        def kill(pid: int = pid, killed: list[float] = killed) -> None:
            time.sleep(0.02)  # until the other one certainly waits
            killed.append(time.perf_counter())
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        api.ask("POST", f"/v1/processes/{process}/wait?wait=10")
        answered = time.perf_counter()
        killer.join()
        found.append(answered - killed[0])
    return found


def _output(api: Api, directory: str, setting: Setting) -> Times:
    source = os.path.join(directory, "source")
    with open(source, "wb") as file:
        line = b"0123456789abcdef" * 4 + b"\n"
        file.writelines(line * 1000 for _ in range(_BYTES // len(line) // 1000 + 1))
        file.truncate(_BYTES)

    def through() -> float:
        began = time.perf_counter()
        process = api.exec(argv=["cat", source], background=True)["process_id"]
        after = 0
        while True:
            query = urlencode({"after": after, "wait": 10, "limit": 1 << 20})
            page = api.ask("GET", f"/v1/processes/{process}/output?{query}")
            after = page["next"]
            if page["closed"] and after >= _BYTES:
                return time.perf_counter() - began

    def cat() -> float:
        target = os.path.join(directory, "target")
        began = time.perf_counter()
        with open(target, "wb") as written, open(target, "rb") as read:
            program = subprocess.Popen(["cat", source], stdout=subprocess.PIPE)
            writer = subprocess.Popen(["cat"], stdin=program.stdout, stdout=written)
            seen = 0
            while seen < _BYTES:
                part = read.read(1 << 20)
                seen += len(part)
                if not part:
                    time.sleep(0.001)
            program.wait()
            writer.wait()
        seconds = time.perf_counter() - began
        os.unlink(target)
        return seconds

    return take_turns(
        {THROUGH: through, CAT: cat}, setting.rounds, lambda what: setting.note(f"200 MB of output, {what}")
    )


def _crowd(api: Api, crowd: int, setting: Setting) -> tuple[list[float], list[int]]:
    for number in range(crowd):
        setting.note(f"background process {number + 1} of {crowd}")
        api.exec(argv=["sleep", "1000"], background=True)
    seconds, pids = [], []
    for _ in range(setting.rounds):
        began = time.perf_counter()
        listed = [one for one in _listed(api) if one["running"]]
        seconds.append(time.perf_counter() - began)
        pids = [pid for one in listed for pid in one["pids"]]
        if len(listed) != crowd or len(pids) != crowd:
            raise SystemExit(f"bench: {len(listed)} processes with {len(pids)} pids are listed instead of {crowd}")
    return seconds, pids


def _take_down(instance: Instance, pids: list[int]) -> int:
    instance.down()
    return sum(os.path.exists(f"/proc/{pid}") for pid in pids)


def _listed(api: Api) -> Any:
    return api.ask("GET", "/v1/processes?agent=a")
