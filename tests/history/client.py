"""One client, in a process of its own: `python -m tests.history.client KIND SOCKET FILE NUMBER SEED SECONDS`."""

import random
import sys
import time
from collections.abc import Callable

from tests.history import workloads
from tests.history.record import Recorder
from tests.history.wire import TimeIsUpError, Wire

KINDS: dict[str, Callable[[Wire, random.Random, str], None]] = {
    "leases": workloads.leases,
    "locks": workloads.locks,
    "tasks": workloads.tasks,
    "values": workloads.values,
    "watch": workloads.watch,
    "topics": workloads.topics,
    "follow": workloads.follow,
    "messages": workloads.messages,
}


def main() -> int:
    """Be a client until time is up."""
    kind, path, history, number, seed, seconds = sys.argv[1:]
    agent = f"a-{number}"
    with open(history, "w", encoding="utf-8") as file:
        wire = Wire(path, Recorder(file, agent), agent, time.monotonic() + float(seconds))
        chance = random.Random(f"{seed} {kind} {number}")
        try:
            while True:
                KINDS[kind](wire, chance, agent)
        except TimeIsUpError:
            return 0


if __name__ == "__main__":
    sys.exit(main())
