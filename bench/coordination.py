"""What it costs to agree: lease cycles, tasks, the check before a write; beside what people use instead.

Every client is a process with one connection that stays. Whoever says that something is done has it on the disk, but
for filelock. Contestants take turns, so the ratios are of one run.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec

from bench import lease_drivers, servers, task_drivers
from bench.clients import Crowd, Load
from bench.commands import output, timed
from bench.installation import ROOT, interpreter_of
from bench.instance import Instance, running
from bench.rounds import Ratio, Times, take_turns
from bench.sizes import PYTHON, Setting
from bench.wire import Http, request

#: The goals: issue 5, "Proof and speed".
LEAST_CYCLES, MOST_P99_SECONDS = 2500, 0.020
MOST_OVERLAP_SECONDS = 0.002
MOST_TO_PYTHON = 2.0
LEASES = 1000
CHECK, OVERLAP, FNMATCH = "corral lease check", "overlap check", "fnmatch scan"
_WARM_UP = 1
#: More than any of them does in a second.
_OUR_TASKS, _PEERS_TASKS = 3_000, 15_000


@dataclass(frozen=True, kw_only=True)
class Race:
    """One thing that all contestants do, with every load of every round."""

    loads: dict[str, list[Load]]
    #: Those that could not be measured here.
    missing: list[str]

    def rate(self, name: str) -> float:
        return statistics.median(load.rate for load in self.loads[name])

    def quantile(self, name: str, share: float) -> float:
        return statistics.median(load.quantile(share) for load in self.loads[name])

    def ratios(self) -> list[Ratio]:
        """How many times as much we do as each of the others, round by round."""
        times = Times({name: [1 / load.rate for load in loads] for name, loads in self.loads.items()})
        return [times.ratio(name, lease_drivers.CORRAL) for name in self.loads if name != lease_drivers.CORRAL]


@dataclass(frozen=True, kw_only=True)
class Coordination:
    """The results."""

    clients: int
    leases: Race
    tasks: Race
    #: In process, against a thousand leases; and the whole command.
    overlap: Times
    checking: Times

    @property
    def fast_enough(self) -> bool:
        return self.leases.rate(lease_drivers.CORRAL) >= LEAST_CYCLES

    @property
    def soon_enough(self) -> bool:
        return self.leases.quantile(lease_drivers.CORRAL, 0.99) < MOST_P99_SECONDS

    @property
    def overlap_in_time(self) -> bool:
        return self.overlap.median(OVERLAP) < MOST_OVERLAP_SECONDS

    @property
    def ratios(self) -> list[Ratio]:
        return [
            self.checking.ratio(CHECK, PYTHON, at_most=MOST_TO_PYTHON),
            self.overlap.ratio(OVERLAP, FNMATCH),
        ]


def measure(setting: Setting, clients: int, seconds: float) -> Coordination:
    """Measure all of it, with so many clients at once, each load for so many seconds."""
    directory, runtime = os.path.join(setting.directory, "coordination"), os.path.join(setting.runtime, "coordination")
    with running(setting.corral, directory, runtime, setting.env) as instance:
        instance.declare_each([["sleep", "1000"]] * clients, contained=False)
        instance.up()
        socket = os.path.join(runtime, "daemon.sock")
        crowd = Crowd(clients, seconds)
        leases = _leases(setting, directory, socket, crowd)
        tasks = _tasks(setting, directory, socket, crowd)
        checking = _checking(setting, instance)
        instance.down()
    return Coordination(clients=clients, leases=leases, tasks=tasks, overlap=_overlap(setting), checking=checking)


Contestant = Callable[[], Load]


def _leases(setting: Setting, directory: str, socket: str, crowd: Crowd) -> Race:
    def run(name: str, address: str) -> Contestant:
        return lambda: crowd.run("leases", name, address)

    with ExitStack() as stack:
        contestants = {lease_drivers.CORRAL: run(lease_drivers.CORRAL, socket)}
        database = os.path.join(directory, "leases.db")
        lease_drivers.SqliteLeases.prepare(database)
        contestants[lease_drivers.SQLITE] = run(lease_drivers.SQLITE, database)
        missing = []
        for name, serve in ((lease_drivers.REDIS, _redis), (lease_drivers.ETCD, _etcd)):
            address = stack.enter_context(serve(setting, directory))
            if address:
                contestants[name] = run(name, address)
            else:
                missing.append(name)
        if find_spec("filelock"):
            contestants[lease_drivers.FILELOCK] = run(lease_drivers.FILELOCK, directory)
        else:
            missing.append(lease_drivers.FILELOCK)
        return _race(setting, contestants, missing)


def _tasks(setting: Setting, directory: str, socket: str, crowd: Crowd) -> Race:
    def run(name: str, address: str, fill: Callable[[str, int], None]) -> Contestant:
        def filled() -> Load:
            fill(address, int(crowd.seconds * (_OUR_TASKS if name == task_drivers.CORRAL else _PEERS_TASKS)))
            return crowd.run("tasks", name, address)

        return filled

    missing = []
    with ExitStack() as stack:
        contestants = {task_drivers.CORRAL: run(task_drivers.CORRAL, socket, _add_tasks)}
        if find_spec("huey"):
            queue = os.path.join(directory, "huey.db")
            contestants[task_drivers.HUEY] = run(task_drivers.HUEY, queue, task_drivers.HueyTasks.fill)
        else:
            missing.append(task_drivers.HUEY)
        if address := stack.enter_context(_redis(setting, directory)):
            contestants[task_drivers.REDIS_STREAM] = run(
                task_drivers.REDIS_STREAM, address, task_drivers.RedisTasks.fill
            )
        else:
            missing.append(task_drivers.REDIS_STREAM)
        return _race(setting, contestants, missing)


def _add_tasks(socket: str, count: int) -> None:
    """Have so many tasks wait; those of the round before count."""
    http = Http(socket)
    page = json.loads(http.ask(request("GET", "/v1/tasks?team=bench&state=ready&limit=1")))
    there = page["more"] + len(page["tasks"])
    for number in range(count - there):
        http.ask(request("POST", "/v1/tasks?team=bench", b'{"title":"task %d"}' % number))


def _race(setting: Setting, contestants: dict[str, Contestant], missing: list[str]) -> Race:
    loads: dict[str, list[Load]] = {name: [] for name in contestants}

    def once(name: str) -> Callable[[], float]:
        def run() -> float:
            load = contestants[name]()
            loads[name].append(load)
            return 1 / load.rate

        return run

    take_turns(
        {name: once(name) for name in contestants},
        setting.rounds,
        lambda what: setting.note(f"many clients, {what}"),
    )
    return Race(loads={name: each[_WARM_UP:] for name, each in loads.items()}, missing=missing)


@contextmanager
def _redis(setting: Setting, directory: str) -> Iterator[str]:
    if not servers.installed("redis-server"):
        yield ""
        return
    with servers.redis(directory, setting.env) as address:
        yield address


@contextmanager
def _etcd(setting: Setting, directory: str) -> Iterator[str]:
    if not servers.installed("etcd"):
        yield ""
        return
    with servers.etcd(directory, setting.env) as address:
        yield address


def _checking(setting: Setting, instance: Instance) -> Times:
    """The whole command, as a hook calls it, while nobody holds what it asks about."""
    env = {**instance.env, "CORRAL_AGENT": "a-0", "CORRAL_TEAM": "bench"}
    contestants = {
        PYTHON: lambda: timed([interpreter_of(setting.corral), "-c", "pass"], env, instance.directory),
        CHECK: lambda: timed([setting.corral, "lease", "check", "src/main.py"], env, instance.directory),
    }
    return take_turns(contestants, setting.ps_rounds, lambda what: setting.note(f"checking, {what}"))


def _overlap(setting: Setting) -> Times:
    program = os.path.join(ROOT, "bench", "overlap.py")
    said = output([interpreter_of(setting.corral), program, str(LEASES), "200"], setting.env)
    ours, floor = json.loads(said)
    return Times({OVERLAP: ours, FNMATCH: floor})
