"""What the audit trail costs a request: the same requests to an instance that keeps one and to one that does not.

One client with one connection, one request after the other, so nothing is hidden by others that wait as well. A request
that reads, and one that acts: a value that is on the disk when the answer comes, and with it the decision to let it.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from bench.commands import timed
from bench.instance import Instance, running
from bench.rounds import Ratio, Times, take_turns
from bench.sizes import Setting
from bench.wire import Http, request

PS, PS_AUDITED = "corral ps", "corral ps, audited"
READ, ACT = "GET /v1/agents", "POST /v1/kv"
READ_AUDITED, ACT_AUDITED = f"{READ}, audited", f"{ACT}, audited"
#: The goal: issue 7, "Bench", for all that a shared server adds; this is a part of it.
MOST_TO_PLAIN = 1.10
_REQUESTS, _COMMANDS = 300, 5
_CONFIG = "[audit]\nenabled = true\n"


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The results, in seconds a request."""

    times: Times

    @property
    def ratios(self) -> list[Ratio]:
        return [
            self.times.ratio(PS_AUDITED, PS, at_most=MOST_TO_PLAIN),
            self.times.ratio(READ_AUDITED, READ),
            self.times.ratio(ACT_AUDITED, ACT),
        ]


def measure(setting: Setting) -> Audit:
    """Measure both instances in turns."""
    with ExitStack() as stack:
        contestants: dict[str, Callable[[], float]] = {}
        for name, config, ps, read, act in (
            ("plain", "", PS, READ, ACT),
            ("audited", _CONFIG, PS_AUDITED, READ_AUDITED, ACT_AUDITED),
        ):
            directory, runtime = (os.path.join(place, name) for place in (setting.directory, setting.runtime))
            instance = stack.enter_context(running(setting.corral, directory, runtime, setting.env, config))
            instance.declare(1, contained=False)
            instance.up()
            stack.callback(instance.down)
            http = Http(os.path.join(runtime, "daemon.sock"))
            contestants[ps] = _listing(setting.corral, instance)
            contestants[read] = _asking(http, request("GET", "/v1/agents?team=bench"))
            contestants[act] = _asking(http, request("POST", "/v1/kv?team=bench", b'{"puts":{"bench":"value"}}'))
        times = take_turns(contestants, setting.rounds, lambda what: setting.note(f"the audit trail, {what}"))
    return Audit(times=times)


def _listing(corral: str, instance: Instance) -> Callable[[], float]:
    """The request as a person makes it."""
    return lambda: statistics.median(timed([corral, "ps"], instance.env, instance.directory) for _ in range(_COMMANDS))


def _asking(http: Http, packet: bytes) -> Callable[[], float]:
    def run() -> float:
        begun = time.perf_counter()
        for _ in range(_REQUESTS):
            http.ask(packet)
        return (time.perf_counter() - begun) / _REQUESTS

    return run
