"""Many clients at once, each in a process of its own: threads of one Python would measure that Python."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

from bench.installation import ROOT


@dataclass(frozen=True)
class Load:
    """What some clients did together."""

    #: From the beginning of the first cycle to the end of the last.
    seconds: float
    #: Of every cycle of every client, in seconds, the fastest first.
    took: list[float]

    @property
    def rate(self) -> float:
        """Cycles a second, of all of them."""
        return len(self.took) / self.seconds

    def quantile(self, share: float) -> float:
        """The time within which this share of the cycles was done."""
        return self.took[min(int(len(self.took) * share), len(self.took) - 1)]


@dataclass(frozen=True)
class Crowd:
    """So many clients, who work for so many seconds."""

    clients: int
    seconds: float

    def run(self, part: str, contestant: str, address: str) -> Load:
        """Have them do what they do, all from the same moment on."""
        argv = [sys.executable, "-m", "bench.client", part, contestant, address]
        started = [
            subprocess.Popen(
                [*argv, str(number), str(self.seconds)],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(self.clients)
        ]
        try:
            for client in started:
                assert client.stdout is not None
                if client.stdout.readline() != "ready\n":
                    raise SystemExit(f"bench: a client of {contestant} did not begin, see above")
            for client in started:
                assert client.stdin is not None
                client.stdin.write("go\n")
                client.stdin.flush()
            answers = [client.communicate()[0] for client in started]
        finally:
            for client in started:
                client.kill()
                client.wait()
        if not all(answers):
            raise SystemExit(f"bench: a client of {contestant} failed, see above")
        said = [json.loads(answer) for answer in answers]
        took = sorted(micros / 1e6 for one in said for micros in one["took"])
        if not took:
            raise SystemExit(f"bench: no client of {contestant} did anything")
        return Load(max(one["ended"] for one in said) - min(one["began"] for one in said), took)
