"""The bench runs and says what it promises, at a scale at which its times mean nothing."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from bench import marked, report, stubborn
from bench.clients import Load
from bench.coordination import Coordination, Race
from bench.doctor import Round
from bench.idle import Idle
from bench.memory import Memory
from bench.rounds import Times
from bench.sizes import Size
from bench.teardown import Teardown

pytestmark = [pytest.mark.tmux, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FLOOR = {"one tmux command, shell strings", "one tmux command, argvs"}
LISTING = {"python3 -c pass", "corral ps", "corral ps --json"}
PROCESSES = {"daemon", "keeper", "tmux server", "tmux client"}


def run_bench(directory: Path, *only: str) -> dict[str, Any]:
    command = directory / "corral"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom corral.cli.main import main\nsys.exit(main())\n")
    command.chmod(0o755)
    small = ["--agents", "3", "--growth", "2", "--rounds", "1", "--ps-rounds", "2", "--idle-seconds", "0.5"]
    small += ["--processes", "20", "--descendants", "4", "--teardown-rounds", "1"]
    small += ["--clients", "2", "--load-seconds", "0.2"]
    small += [word for part in only for word in ("--only", part)]
    argv = [sys.executable, "-m", "bench", "--json", "--corral", str(command), "--directory", str(directory), *small]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_number_is_in_the_document(own_directory: Path) -> None:
    document = run_bench(own_directory)
    assert document["machine"]["tmux"].startswith("tmux ")
    small, main = document["sizes"]
    assert (small["agents"], main["agents"]) == (2, 3)
    for size in (small, main):
        assert {"corral up", "corral up, contained", *FLOOR, *LISTING} <= size["seconds"].keys()
        assert all(len(size["seconds"][name]) == (2 if name in LISTING else 1) for name in size["seconds"])
        assert all(min(times) > 0 for times in size["seconds"].values())
        assert size["memory"].keys() == PROCESSES
        assert all(0 < memory["own"] <= memory["pss"] for memory in size["memory"].values())
        assert size["idle"]["cpu"].keys() == PROCESSES
        assert size["idle"]["forks_of_a_restart"] > 0, "the counter of forks does not count"
    # All peers meet at the main size only.
    assert "one tmux process a session" in main["seconds"]
    assert "one tmux process a session" not in small["seconds"]
    check_teardown(document["teardown"])
    assert document["doctor"]["processes"] == 20
    assert min(document["doctor"]["seconds"]["corral doctor"]) > 0
    goals = {(ratio["of"], ratio["to"]): ratio["goal"] for ratio in main["ratios"]}
    assert goals["corral up", "one tmux command, shell strings"] == "≤ 1.5"
    assert goals["corral up, contained", "one tmux command, shell strings"] == ""
    assert goals["corral ps", "python3 -c pass"] == "≤ 2.5"
    for ratio in main["ratios"]:
        assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"]


def check_teardown(teardown: dict[str, Any]) -> None:
    left = {name: counts[0] for name, counts in teardown["left"].items()}
    assert left.keys() == teardown["seconds"].keys()
    ours = {name for name in left if name.startswith("corral down")}
    assert "corral down, process" in ours
    assert ours == teardown["met"].keys()
    assert {left[name] for name in ours} == {0}
    # Of three agents with four each: what has left and what ignores the hangup; by parent, only what has left.
    assert left["tmux kill-server"] == 8
    assert left.get("pgrep -P and kill", 4) == 4


def test_the_table_has_every_figure() -> None:
    text = report.as_text({"tmux": "tmux 9"}, report.Results([size(10), size(100)], TEARDOWN, DOCTOR), main=100)
    for line in (
        "| one | 2000.0 ms | 1000.0 ms | 3000.0 ms |",
        "| one ÷ two | 0.50   | 0.38 – 0.75 | ≤ 0.4 | MISSED |",
        "| processes forked (daemon, keeper) | 1 | 0 | MISSED |",
        "| memory of daemon + keeper (PSS) | 22.0 MiB | 202.0 MiB |",
        "| … of it for each agent beyond 10 | | 1024.0 KiB |",
        "| contained by | cgroup |",
        "### Taking down 100 agents with 10 stubborn processes each",
        "| corral down, cgroup | 2.00 s | 3.50 s | 0 | 1 |",
        "| tmux kill-server | 0.50 s | 0.50 s | 8 | 9 |",
        "| corral down, cgroup: processes left, most | 1 | 0 | MISSED |",
        "| corral down, cgroup: slowest | 3.50 s | ≤ 2 s + 1 s of grace | MISSED |",
        "### The doctor among 2000 processes",
        "| corral doctor | 600.0 ms | 100.0 ms | 700.0 ms | < 500 ms | MISSED |",
    ):
        assert squeezed(line) in squeezed(text)


def test_a_part_of_the_table() -> None:
    text = report.as_text({"tmux": "tmux 9"}, report.Results(teardown=TEARDOWN), main=100)
    assert "### Taking down" in text
    assert "### Growth" not in text


def test_a_part_can_be_measured_alone(own_directory: Path) -> None:
    document = run_bench(own_directory, "ps")
    assert "teardown" not in document
    assert "doctor" not in document
    assert [size["seconds"].keys() for size in document["sizes"]] == [LISTING, LISTING]
    assert [(size["idle"], size["memory"]) for size in document["sizes"]] == [(None, {}), (None, {})]


def test_what_agents_do_is_measured_beside_one_process_each(own_directory: Path) -> None:
    seen = run_bench(own_directory, "activity")["activity"]
    assert seen["agents"] == 3
    assert all(len(times) == 1 and times[0] > 0 for times in seen["seconds"].values())
    (ratio,) = seen["ratios"]
    assert ratio["of"] == "one tmux capture-pane process each"
    assert seen["seconds"].keys() == {ratio["of"], ratio["to"]}


def test_what_watchers_cost_a_driver_is_measured(own_directory: Path) -> None:
    watched = run_bench(own_directory, "observing")["observing"]
    assert all(len(times) == 3 and min(times) > 0 for times in watched["seconds"].values())
    (ratio,) = watched["ratios"]
    assert watched["seconds"].keys() == {ratio["of"], ratio["to"]}


def test_agreeing_is_measured_beside_those_who_are_there(own_directory: Path) -> None:
    agreed = run_bench(own_directory, "coordination")["coordination"]
    assert agreed["clients"] == 2
    for part, ours_and_theirs in (
        ("leases", {"corral", "SQLite opened by every client", "Redis", "etcd", "filelock"}),
        ("tasks", {"corral", "huey, SQLite", "Redis stream"}),
    ):
        race = agreed[part]
        assert race["loads"].keys() | set(race["missing"]) == ours_and_theirs
        assert "corral" in race["loads"]
        for (load,) in race["loads"].values():
            assert load["rate"] > 0
            assert 0 < load["median"] <= load["p99"] <= load["slowest"]
        assert {ratio["of"] for ratio in race["ratios"]} == race["loads"].keys() - {"corral"}
    goals = {(ratio["of"], ratio["to"]): ratio["goal"] for ratio in agreed["ratios"]}
    assert goals == {("corral lease check", "python3 -c pass"): "≤ 2", ("overlap check", "fnmatch scan"): ""}


def test_the_table_of_agreeing_says_what_is_met_and_who_is_missing() -> None:
    fast, slow = Load(1.0, [0.001] * 3000), Load(1.0, [0.002] * 97 + [0.03] * 3)
    agreed = Coordination(
        clients=16,
        leases=Race(loads={"corral": [fast], "Redis": [slow]}, missing=["etcd"]),
        tasks=Race(loads={"corral": [slow]}, missing=["etcd"]),
        overlap=Times({"overlap check": [0.003], "fnmatch scan": [0.001]}),
        checking=Times({"corral lease check": [0.03], "python3 -c pass": [0.02]}),
    )
    text = report.as_text({"tmux": "tmux 9"}, report.Results(coordination=agreed), main=100)
    for line in (
        "### Agreeing: 16 clients at once",
        "| lease taken and given back | Redis | 100 | 2.0 ms | 30.0 ms |",
        "| leases: corral ÷ Redis | 30.00 | 30.00 – 30.00 | | |",
        "| lease cycles a second | 3000 | ≥ 2500 | met |",
        "| … p99 | 1.0 ms | < 20 ms | met |",
        "| overlap check against 1000 leases | 3.000 ms | < 2 ms | MISSED |",
        "| corral lease check ÷ python3 -c pass | 1.50 | 1.50 – 1.50 | ≤ 2 | met |",
        "Not installed here, and left out: etcd.",
    ):
        assert squeezed(line) in squeezed(text)


def test_stubborn_processes_are_what_they_are_called_and_end(own_directory: Path) -> None:
    mark = secrets.token_hex(16)
    argv = stubborn.commands(stubborn.program(str(own_directory)), 1, 6)[0]
    agent = subprocess.Popen(argv, env={**os.environ, marked.VARIABLE: mark})
    try:
        until = time.monotonic() + 10
        while len(found := marked.of_mark(mark, "sleep")) != 7 and time.monotonic() < until:
            time.sleep(0.02)
        kinds = [
            (os.getsid(one.pid) == one.pid, bool(ignored(one.pid) >> (signal.SIGTERM - 1) & 1))
            for one in found
            if one.pid != agent.pid
        ]
        assert sorted(kinds) == sorted([(True, False)] * 2 + [(False, True)] * 2 + [(False, False)] * 2)
    finally:
        marked.end(mark)
        agent.wait(10)
    assert marked.living_of(found) == set()


def ignored(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1], 16) for line in status.splitlines() if line.startswith("SigIgn:"))


TEARDOWN = Teardown(
    agents=100,
    descendants=10,
    grace=1.0,
    times=Times({"corral down, cgroup": [1.0, 2.0, 3.5], "tmux kill-server": [0.5, 0.5, 0.5]}),
    left={"corral down, cgroup": [0, 1, 0], "tmux kill-server": [8, 7, 9]},
)
DOCTOR = Round(processes=2000, times=Times({"corral doctor": [0.7, 0.6, 0.1]}))


def size(agents: int) -> Size:
    times = Times({"one": [1.0, 2.0, 3.0], "two": [4.0, 4.0, 3.0]})
    return Size(
        agents=agents,
        level="cgroup",
        starting=times,
        listing=Times({"three": [1.0]}),
        ratios=[times.ratio("one", "two", at_most=0.4)],
        idle=Idle(60.0, 1, True, 3, {"daemon": 0.0, "keeper": 0.001}),
        memory={"daemon": Memory(agents << 20, agents << 19), "keeper": Memory((agents + 2) << 20, agents << 19)},
    )


def squeezed(text: str) -> str:
    return " ".join(text.split())
