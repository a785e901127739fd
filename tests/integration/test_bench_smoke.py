"""The bench runs and says what it promises, at a scale at which its times mean nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.tmux, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FLOOR = {"one tmux command, shell strings", "one tmux command, argvs"}
LISTING = {"python3 -c pass", "corral ps", "corral ps --json"}
PROCESSES = {"daemon", "keeper", "tmux server", "tmux client"}


def bench(directory: Path, *options: str) -> str:
    command = directory / "corral"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom corral.cli.main import main\nsys.exit(main())\n")
    command.chmod(0o755)
    small = ["--agents", "3", "--growth", "2", "--rounds", "2", "--ps-rounds", "2", "--idle-seconds", "0.5"]
    argv = [sys.executable, "-m", "bench", "--corral", str(command), "--directory", str(directory), *small, *options]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_number_is_in_the_document(own_directory: Path) -> None:
    document: dict[str, Any] = json.loads(bench(own_directory, "--json"))
    assert document["machine"]["tmux"].startswith("tmux ")
    small, main = document["sizes"]
    assert (small["agents"], main["agents"]) == (2, 3)
    for size in (small, main):
        assert {"corral up", *FLOOR, *LISTING} <= size["seconds"].keys()
        assert all(len(times) == 2 and min(times) > 0 for times in size["seconds"].values())
        assert size["memory"].keys() == PROCESSES
        assert min(size["memory"].values()) > 0
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


def test_the_table_is_for_people(own_directory: Path) -> None:
    text = bench(own_directory)
    for line in ("### Ratios at 3 agents", "### Idle for", "### Growth", "| corral up ", "| memory, daemon + keeper "):
        assert line in text
