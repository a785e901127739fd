"""What a shared server adds to a request: the same ones to an instance that decides and audits, and to one of a single
person that does neither.

Both are run by the same user, with keepers of their own: what differs are the policy, the members and the audit trail.
One client with one connection, one request after the other. What a person waits for is the command; the bare requests
below it are the same without the start of a program, and tell what is left to save.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from bench import installation
from bench.audit import MOST_TO_PLAIN
from bench.commands import timed
from bench.instance import by_itself, running
from bench.rounds import Ratio, Times, take_turns
from bench.sizes import Setting
from bench.wire import Http, request

_COMMANDS = {
    "corral ps": ["ps"],
    "corral exec": ["exec", "bench/a-1", "--", "true"],
    "corral lock": ["lock", "--team", "bench", "bench", "--", "true"],
}
LIST, EXEC, LEASE = "GET /v1/agents", "POST /v1/exec", "POST /v1/locks, then release"
_AUTHORISED = ", authorised"
_REQUESTS, _EXECS, _TIMES = 200, 10, 5
_DAEMON = "import sys; from corral.wiring import run_daemon; run_daemon(int(sys.argv[1]), decides=True)"
_AGENTS = 3


@dataclass(frozen=True, kw_only=True)
class Authorised:
    """The results, in seconds a request."""

    times: Times

    @property
    def ratios(self) -> list[Ratio]:
        commands = [self.times.ratio(name + _AUTHORISED, name, at_most=MOST_TO_PLAIN) for name in _COMMANDS]
        return [*commands, *(self.times.ratio(name + _AUTHORISED, name) for name in (LIST, EXEC, LEASE))]


def measure(setting: Setting) -> Authorised:
    """Measure both instances in turns."""
    with ExitStack() as stack:
        contestants: dict[str, Callable[[], float]] = {}
        for name, suffix in (("not-authorised", ""), ("authorised", _AUTHORISED)):
            directory, runtime = (os.path.join(place, name) for place in (setting.directory, setting.runtime))
            daemon = _deciding if suffix else by_itself
            instance = stack.enter_context(running(setting.corral, directory, runtime, setting.env, daemon=daemon))
            instance.declare(_AGENTS, contained=False)
            instance.up()
            stack.callback(instance.down)
            asking = partial(_asking, os.path.join(runtime, "daemon.sock"))
            for command, words in _COMMANDS.items():
                argv = [setting.corral, *words]
                contestants[command + suffix] = _commanding(argv, instance.env, instance.directory)
            listing = request("GET", "/v1/agents?team=bench")
            executing = request("POST", "/v1/exec?team=bench&agent=a-1", b'{"argv":["true"]}')
            contestants[LIST + suffix] = asking(_REQUESTS, partial(_one, listing))
            contestants[EXEC + suffix] = asking(_EXECS, partial(_one, executing))
            contestants[LEASE + suffix] = asking(_REQUESTS, _lease)
        times = take_turns(contestants, setting.rounds, lambda what: setting.note(f"authorised requests, {what}"))
    return Authorised(times=times)


@contextmanager
def _deciding(corral: str, env: Mapping[str, str]) -> Iterator[None]:
    """The daemon of one person, which asks a policy and keeps a trail as that of a shared server does."""
    ready, write = os.pipe()
    argv = [installation.interpreter_of(corral), "-c", _DAEMON, str(write)]
    with subprocess.Popen(argv, env=dict(env), pass_fds=[write], stderr=subprocess.DEVNULL) as daemon:
        os.close(write)
        if not os.read(ready, 1):
            raise SystemExit("bench: the daemon that decides did not start")
        os.close(ready)
        try:
            yield
        finally:
            daemon.terminate()  # it was told to end already, and that is well


def _commanding(argv: list[str], env: Mapping[str, str], directory: str) -> Callable[[], float]:
    return lambda: statistics.median(timed(argv, env, directory) for _ in range(_TIMES))


def _asking(address: str, count: int, ask: Callable[[Http], object]) -> Callable[[], float]:
    def run() -> float:
        http = Http(address)  # the daemon closes one that rests
        begun = time.perf_counter()
        for _ in range(count):
            ask(http)
        return (time.perf_counter() - begun) / count

    return run


def _one(packet: bytes, http: Http) -> None:
    http.ask(packet)


def _lease(http: Http) -> None:
    held = json.loads(http.ask(request("POST", "/v1/locks?team=bench&agent=a-1", b'{"name":"n"}')))
    http.ask(request("POST", f"/v1/leases/{held['lease']}/release?team=bench&agent=a-1", b"{}"))
