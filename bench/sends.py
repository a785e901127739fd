"""A message to an agent, from the request to the proof that the agent took it: beside a paste and Enter by hand.

The demo agent is the one that is spoken to: it takes no time of its own. By hand nothing is proved and nothing is
written down; it is there to show what the proof costs.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from dataclasses import dataclass

from bench.instance import running
from bench.rounds import Ratio, Times, take_turns
from bench.sizes import Setting

OBSERVED, BY_HAND = "corral send, observed", "tmux paste-buffer and send-keys"
#: What was promised: the median, in seconds.
GOAL = 0.150
#: Each round is one message, so there are more of them than of other things.
_ROUNDS_EACH = 10
_READY_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Sends:
    """The results."""

    times: Times

    @property
    def goal_met(self) -> bool:
        """The promise holds."""
        return self.times.median(OBSERVED) <= GOAL

    @property
    def ratios(self) -> list[Ratio]:
        return [self.times.ratio(OBSERVED, BY_HAND)]


class _Daemon(http.client.HTTPConnection):
    """The daemon at its socket."""

    def __init__(self, path: str) -> None:
        super().__init__("corral")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self._path)


def measure(setting: Setting) -> Sends:
    """Measure both ways, in turns."""
    setting.note("a message, until it is observed")
    home, runtime = (os.path.join(place, "send") for place in (setting.directory, setting.runtime))
    with running(setting.corral, home, runtime, setting.env) as corral:
        corral.declare_each([[setting.corral, "demo-agent"]] * 2, contained=True)
        corral.up()
        try:
            times = take_turns(
                {OBSERVED: lambda: _sent(corral.runtime), BY_HAND: lambda: _by_hand(corral.runtime)},
                setting.rounds * _ROUNDS_EACH,
                lambda _: None,
            )
        finally:
            corral.down()
    return Sends(times=times)


def _sent(runtime: str) -> float:
    daemon = _Daemon(os.path.join(runtime, "daemon.sock"))
    began = time.perf_counter()
    daemon.request("POST", f"/v1/send?agent=a-0&wait=observed&timeout={_READY_SECONDS:g}", b"say: hello")
    answer = json.loads(daemon.getresponse().read())
    took = time.perf_counter() - began
    daemon.close()
    if answer.get("state") != "observed":
        raise SystemExit(f"bench: a message was not observed: {answer}")
    return took


def _by_hand(runtime: str) -> float:
    tmux = ["tmux", "-N", "-S", os.path.join(runtime, "tmux", "bench.sock")]
    began = time.perf_counter()
    for words in (
        ["set-buffer", "-b", "bench", "say: hello"],
        ["paste-buffer", "-p", "-d", "-b", "bench", "-t", "=a-1:"],
        ["send-keys", "-t", "=a-1:", "Enter"],
    ):
        subprocess.run([*tmux, *words], check=True)
    return time.perf_counter() - began
