"""One client of a contestant, in a process of its own: `python -m bench.client PART CONTESTANT ADDRESS NUMBER SECONDS`.

It says `ready` when it is connected, begins when it is told to, and then says in one line of JSON when it began and
ended, on the clock that all processes share, and how long each cycle took, in microseconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

from bench import lease_drivers, task_drivers
from bench.lease_drivers import Driver

Make = Callable[[str, int], Driver]
LEASES: dict[str, Make] = {
    lease_drivers.CORRAL: lease_drivers.CorralLeases,
    lease_drivers.FILELOCK: lease_drivers.FileLocks,
    lease_drivers.SQLITE: lease_drivers.SqliteLeases,
    lease_drivers.REDIS: lease_drivers.RedisLeases,
    lease_drivers.ETCD: lease_drivers.EtcdLeases,
}
TASKS: dict[str, Make] = {
    task_drivers.CORRAL: task_drivers.CorralTasks,
    task_drivers.HUEY: task_drivers.HueyTasks,
    task_drivers.REDIS_STREAM: task_drivers.RedisTasks,
}
PARTS = {"leases": LEASES, "tasks": TASKS}


def main() -> int:
    """Be a client."""
    part, contestant, address, number, seconds = sys.argv[1:]
    driver = PARTS[part][contestant](address, int(number))
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(_cycles(driver, float(seconds))), flush=True)
    return 0


def _cycles(driver: Driver, seconds: float) -> dict[str, object]:
    took: list[int] = []
    clock = time.monotonic_ns
    first = now = clock()
    until = now + int(seconds * 1e9)
    while now < until:
        began = now
        if not driver.cycle():
            break
        now = clock()
        took.append((now - began) // 1000)
    return {"began": first / 1e9, "ended": now / 1e9, "took": took}


if __name__ == "__main__":
    sys.exit(main())
