"""The bench runs and says what it promises, at a scale at which its times mean nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench import report
from bench.idle import Idle
from bench.memory import Memory
from bench.rounds import Times
from bench.sizes import Size

pytestmark = [pytest.mark.tmux, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FLOOR = {"one tmux command, shell strings", "one tmux command, argvs"}
LISTING = {"python3 -c pass", "corral ps", "corral ps --json"}
PROCESSES = {"daemon", "keeper", "tmux server", "tmux client"}


def run_bench(directory: Path) -> dict[str, Any]:
    command = directory / "corral"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom corral.cli.main import main\nsys.exit(main())\n")
    command.chmod(0o755)
    small = ["--agents", "3", "--growth", "2", "--rounds", "1", "--ps-rounds", "2", "--idle-seconds", "0.5"]
    argv = [sys.executable, "-m", "bench", "--json", "--corral", str(command), "--directory", str(directory), *small]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_number_is_in_the_document(own_directory: Path) -> None:
    document = run_bench(own_directory)
    assert document["machine"]["tmux"].startswith("tmux ")
    small, main = document["sizes"]
    assert (small["agents"], main["agents"]) == (2, 3)
    for size in (small, main):
        assert {"corral up", *FLOOR, *LISTING} <= size["seconds"].keys()
        assert all(len(size["seconds"][name]) == (2 if name in LISTING else 1) for name in size["seconds"])
        assert all(min(times) > 0 for times in size["seconds"].values())
        assert size["memory"].keys() == PROCESSES
        assert all(0 < memory["own"] <= memory["pss"] for memory in size["memory"].values())
        assert size["idle"]["cpu"].keys() == PROCESSES
        assert size["idle"]["forks_of_a_restart"] > 0, "the counter of forks does not count"
    # All peers meet at the main size only.
    assert "one tmux process a session" in main["seconds"]
    assert "one tmux process a session" not in small["seconds"]
    goals = {(ratio["of"], ratio["to"]): ratio["goal"] for ratio in main["ratios"]}
    assert goals["corral up", "one tmux command, shell strings"] == "≤ 1.5"
    assert goals["corral ps", "python3 -c pass"] == "≤ 2.5"
    for ratio in main["ratios"]:
        assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"]


def test_the_table_has_every_figure() -> None:
    text = report.as_text({"tmux": "tmux 9"}, [size(10), size(100)], main=100)
    for line in (
        "| one | 2000.0 ms | 1000.0 ms | 3000.0 ms |",
        "| one ÷ two | 0.50   | 0.38 – 0.75 | ≤ 0.4 | MISSED |",
        "| processes forked (daemon, keeper) | 1 | 0 | MISSED |",
        "| memory of daemon + keeper (PSS) | 22.0 MiB | 202.0 MiB |",
        "| … of it for each agent beyond 10 | | 1024.0 KiB |",
    ):
        assert squeezed(line) in squeezed(text)


def size(agents: int) -> Size:
    times = Times({"one": [1.0, 2.0, 3.0], "two": [4.0, 4.0, 3.0]})
    return Size(
        agents=agents,
        starting=times,
        listing=Times({"three": [1.0]}),
        ratios=[times.ratio("one", "two", at_most=0.4)],
        idle=Idle(60.0, 1, True, 3, {"daemon": 0.0, "keeper": 0.001}),
        memory={"daemon": Memory(agents << 20, agents << 19), "keeper": Memory((agents + 2) << 20, agents << 19)},
    )


def squeezed(text: str) -> str:
    return " ".join(text.split())
