"""The demonstration, from beginning to end, and when somebody has seen enough."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.streams import Stream
from tests.support.tmux import Tmux

pytestmark = pytest.mark.tmux

DEMO = [sys.executable, "-m", "corral.demo.show"]
SCRATCH = re.compile(r"/tmp/corral-demo-\w+")


def test_once_has_three_tasks_done_and_merged_and_shows_the_receipt_and_leaves_nothing(own_directory: Path) -> None:
    done = subprocess.run(
        [*DEMO, "--once"], cwd=own_directory, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for title in ("Add up an order", "Give a discount", "Explain how to order"):
        for line in (
            rf"builder-\d │ claimed t\d+: {title}",
            rf"builder-\d │ committed [0-9a-f]+ {title}",
            rf"t\d+ +done .* {title}",
            rf"q\d+ +merged +corral/shop/(builder-\d) +shop/\1 .* {title}",
            rf"[*|/ ]+ [0-9a-f]+ {title}",
        ):
            assert re.search(rf"^{line}$", done.stdout, re.MULTILINE), f"{line}\n{done.stdout}"
    assert len(set(re.findall(r"^(builder-\d) │ claimed", done.stdout, re.MULTILINE))) == 3
    # Both have to do with one file, in whatever order.
    assert re.search(r"^\$ cat src/orders.py\n(?:def \w+\(.*\n){2}\n", done.stdout, re.MULTILINE), done.stdout
    for what in ("processes", "tmux servers", "sockets", "ports", "worktrees", "leases", "claims"):
        assert re.search(rf"✓ {what} +none left", done.stdout), done.stdout
    assert "\x1b" not in done.stdout
    assert not any(map(os.path.exists, SCRATCH.findall(done.stdout)))


def test_what_does_not_work_is_told_and_everything_is_taken_down(own_directory: Path) -> None:
    broken = "from corral.demo import show; show._SPEC = show._SPEC.replace('python3 -m compileall', 'false')"
    done = subprocess.run(
        [sys.executable, "-c", f"{broken}; raise SystemExit(show.main(['--once']))"],
        cwd=own_directory,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^That did not work: builder-\d gave up: q\d+ is failed: ", done.stderr, re.MULTILINE)
    assert "shop is down, 3 agents stopped, nothing is left" in done.stdout
    assert not any(map(os.path.exists, SCRATCH.findall(done.stdout)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_takes_everything_down(own_directory: Path, number: signal.Signals) -> None:
    with Stream(DEMO, str(own_directory), dict(os.environ)) as demo:
        seen: list[str] = []
        while not any("thinking about" in line for line in seen):
            seen.append(demo.line(60))
        demo.process.send_signal(number)
        rest, said = demo.process.communicate(timeout=60)
        assert demo.process.returncode == 128 + number, rest.decode() + said.decode()
    assert "shop is down, 3 agents stopped, nothing is left" in rest.decode()
    (scratch,) = set(SCRATCH.findall("\n".join(seen)))
    assert not os.path.exists(scratch)


@pytest.mark.slow
def test_a_person_can_look_around_with_the_lines_it_shows(own_directory: Path, repo: Callable[..., Path]) -> None:
    with Tmux(own_directory, DEMO, own_directory) as tmux:
        tmux("resize-window", "-x", "200", "-y", "120")
        lines = tmux.shows("corral events")
        exports = [line.strip() for line in lines if line.strip().startswith("export ")]
        looked = subprocess.run(
            ["sh", "-c", "\n".join([*exports, "corral ps"])], capture_output=True, text=True, timeout=30, check=True
        )
        assert [line.split()[1] for line in looked.stdout.splitlines()[1:]] == ["builder-1", "builder-2", "builder-3"]
        tmux.shows("Press Enter", 120)
        tmux("send-keys", "Enter")
        tmux.shows("Nothing of it is left on this machine.", 60)
        assert tmux.exit_code() == 0


def test_wrong_use_starts_nothing() -> None:
    done = subprocess.run([*DEMO, "--twice"], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ./script/demo [--once]")
