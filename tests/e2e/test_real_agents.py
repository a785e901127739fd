"""Real coding agents do what the scripted model tells them: what every other test with them stands on."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.model.script import Call, Rule, Say, Script
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, OPENCODE, RealAgent

pytestmark = pytest.mark.slow

TASK = "please write greeting.txt"


def claude_writes(file: Path) -> Call:
    return Call("Write", {"file_path": str(file), "content": "hello\n"})


def codex_writes(file: Path) -> Call:
    return Call("exec_command", {"cmd": f"echo hello > {file}"})


def opencode_writes(file: Path) -> Call:
    return Call("write", {"filePath": str(file), "content": "hello\n"})


WRITING: Mapping[RealAgent, Callable[[Path], Call]] = {
    CLAUDE: claude_writes,
    CODEX: codex_writes,
    OPENCODE: opencode_writes,
}


@pytest.mark.parametrize("agent", WRITING, ids=lambda agent: agent.name)
def test_an_agent_uses_its_tools_as_the_model_says(agent: RealAgent, own_directory: Path) -> None:
    project = own_directory / "project"
    subprocess.run(["git", "init", "-q", project], check=True)
    file = project / "greeting.txt"
    script = Script([Rule(TASK, [WRITING[agent](file), Say("It is written.")])])
    with serving(script) as address:
        environment = agent.environment(own_directory / "home", project, address)
        done = agent.run(TASK, project, environment)
    assert done.returncode == 0, done.stderr
    assert "It is written." in done.stdout
    assert file.read_text() == "hello\n"
    assert len(script.results_of(TASK)) == 1
