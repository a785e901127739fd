"""An agent that uses tmux has one of its own: it cannot get at the team's, and what it starts there ends with it."""

import json
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.support import processes
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: The best level that this host has, and the one that every host has.
LEVELS = ["auto", "off"]
#: Starts a terminal as an agent would, in which a shell notes its pid and adds to a file, over and over.
STARTING = "tmux new-session -d -s mine 'echo $$ >inner; while sleep 0.02; do echo >>ticks; done'; exec sleep 86400"


@pytest.fixture(params=LEVELS)
def inner(instance: Instance, own_directory: Path, request: pytest.FixtureRequest) -> int:
    """The process in the terminal that agent `a` started in its own tmux."""
    instance.spec(
        f'[team]\nname = "shop"\n[containment]\nsystemd = "{request.param}"\n'
        f"[agents.a]\ncommand = {json.dumps(['sh', '-c', STARTING])}\n"
        '[agents.b]\ncommand = ["cat"]\n'
    )
    instance.run("up")
    file = own_directory / "inner"
    return int(wait_for(lambda: _words(file), what="the agent's own terminal"))


def _words(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


def own_directories(instance: Instance) -> list[Path]:
    return sorted(Path(instance.runtime, "own").iterdir())


def sessions_of_the_team(instance: Instance) -> set[str]:
    socket = os.path.join(instance.runtime, "tmux", "shop.sock")
    asked = ["tmux", "-N", "-S", socket, "list-sessions", "-F", "#{session_name}"]
    return set(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split())


def tmux_server_of(pid: int) -> processes.Process:
    one = processes.process(pid)
    assert one is not None
    server = processes.process(one.parent)
    assert server is not None
    assert server.name == "tmux: server"
    return server


def test_it_is_not_the_teams_and_goes_with_the_agent(instance: Instance, inner: int) -> None:
    assert sessions_of_the_team(instance) == {"_hub", "a", "b"}
    server = tmux_server_of(inner)
    assert b"\0CORRAL_AGENT=a\0" in Path(f"/proc/{server.pid}/environ").read_bytes()
    instance.run("stop", "a")
    assert not processes.is_alive(inner)
    assert not processes.is_alive(server.pid)
    assert sessions_of_the_team(instance) == {"_hub", "b"}


def test_it_stands_still_with_the_agent_and_is_removed_with_it(
    instance: Instance, own_directory: Path, inner: int
) -> None:
    ticks = own_directory / "ticks"
    wait_for(ticks.exists, what="the first tick")
    instance.run("pause", "a")
    before = ticks.stat().st_size
    time.sleep(0.3)
    assert ticks.stat().st_size == before
    instance.run("resume", "a")
    wait_for(lambda: ticks.stat().st_size > before, what="the next tick")
    instance.run("rm", "--force", "a")
    assert not processes.is_alive(inner)


@pytest.mark.usefixtures("inner")
def test_every_run_has_a_private_place_for_it_that_goes_with_the_run(instance: Instance) -> None:
    before = own_directories(instance)
    assert len(before) == 2
    assert {stat.S_IMODE(one.stat().st_mode) for one in before} == {0o700}
    instance.run("restart", "a")
    after = own_directories(instance)
    assert len(after) == 2
    assert len(set(before) & set(after)) == 1
    instance.run("stop", "a")
    assert len(own_directories(instance)) == 1
    instance.run("down")
    assert own_directories(instance) == []


def test_a_place_of_it_that_is_declared_is_used(instance: Instance, own_directory: Path) -> None:
    elsewhere = own_directory / "t"
    elsewhere.mkdir(mode=0o700)
    script = "printenv TMUX_TMPDIR >seen; exec sleep 86400"
    instance.spec(
        f'[team]\nname = "shop"\n[agents.a]\ncommand = {json.dumps(["sh", "-c", script])}\n'
        f'env = {{ TMUX_TMPDIR = "{elsewhere}" }}\n'
    )
    instance.run("up")
    assert wait_for(lambda: _words(own_directory / "seen"), what="what it sees") == str(elsewhere)
