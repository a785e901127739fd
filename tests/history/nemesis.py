"""What goes wrong while clients work: the daemon is killed, daemon and clients stand still, the wall clock jumps."""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.support.population import daemons, kill_daemon
from tests.support.instance import Instance

#: Seconds that the clock is moved by: an hour, a day and a year, either way.
_JUMPS = tuple(sign * seconds for seconds in (3600, 86400, 31_536_000) for sign in (1, -1))


class Nemesis:
    """Troubles an instance and its clients, in an order that its seed decides."""

    def __init__(self, instance: Instance, clock: Path, seed: str) -> None:
        self._instance = instance
        self._clock = clock
        self.seed = seed
        self._chance = random.Random(seed)
        #: How often each kind of trouble was made.
        self.made: Counter[str] = Counter()

    def trouble(self, clients: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
        """Make trouble for so long. When this returns, a daemon serves, and nobody stands still."""
        until = time.monotonic() + seconds
        kinds: Mapping[str, int] = {"kill": 3, "stop the daemon": 2, "stop clients": 3, "jump": 2}
        while time.monotonic() < until:
            time.sleep(self._chance.uniform(0.2, 1.0))
            (kind,) = self._chance.choices(list(kinds), list(kinds.values()))
            self.made[kind] += 1
            match kind:
                case "kill":
                    self.kill()
                case "stop the daemon":
                    self._stop([one.pid for one in daemons(self._instance)], self._chance.uniform(0.1, 1.5))
                case "stop clients":
                    some = self._chance.sample(list(clients), 3)
                    # Longer than a lock or a claim lives without a word.
                    self._stop([one.pid for one in some], self._chance.uniform(0.5, 2.5))
                case "jump":
                    self.jump(self._chance.choice(_JUMPS))

    def kill(self) -> None:
        """Kill the daemon in the middle of whatever it does, and start another."""
        kill_daemon(self._instance)
        self._instance.run("daemon", "start")

    def jump(self, seconds: float) -> None:
        """Move the wall clock of the daemon."""
        beside = self._clock.with_suffix(".new")
        beside.write_text(str(seconds), encoding="ascii")
        beside.rename(self._clock)

    def _stop(self, pids: Sequence[int], seconds: float) -> None:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
