"""Real coding agents in one checkout, with Corral's hooks: what they are refused, and what their models are told."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.instance import Instance
from tests.support.model.script import Call, Rule, Say, Script, Turn
from tests.support.model.server import serving
from tests.support.real_agents import CLAUDE, CODEX, OPENCODE, PI, RealAgent
from tests.support.sharing import Sharing

pytestmark = pytest.mark.slow

TASK = "please change the files"


@pytest.fixture
def team(instance: Instance, own_directory: Path) -> Sharing:
    return Sharing(instance, own_directory / "project")


def work(team: Sharing, agent: RealAgent, home: Path, turns: Sequence[Turn]) -> list[str]:
    """Have the coding agent do these turns as `a` of the team; what its tools gave."""
    team.instance.run("hook", "install", agent.name, str(team.project))
    script = Script([Rule(TASK, [*turns, Say("That is all.")])])
    with serving(script) as address:
        done = agent.run(TASK, team.project, {**agent.environment(home, team.project, address), **team.identity("a")})
    assert done.returncode == 0, done.stderr
    return script.results_of(TASK)


def tools(agent: RealAgent, file: Path) -> dict[str, Call]:
    """One use of each tool that reads or writes the file, and a change that its time does not tell of.

    Claude Code looks at the time itself, and would not even ask.
    """
    change = f"touch -r {file} {file}.time && echo theirs >> {file} && touch -r {file}.time {file}"
    if agent is CLAUDE:
        return {
            "read": Call("Read", {"file_path": str(file)}),
            "edit": Call("Edit", {"file_path": str(file), "old_string": "one", "new_string": "mine"}),
            "write": Call("Write", {"file_path": str(file), "content": "mine\n"}),
            "change": Call("Bash", {"command": change}),
        }
    if agent is PI:
        edits = [{"oldText": "one", "newText": "mine"}]
        return {
            "read": Call("read", {"path": str(file)}),
            "edit": Call("edit", {"path": str(file), "edits": edits}),
            "write": Call("write", {"path": str(file), "content": "mine\n"}),
            "change": Call("bash", {"command": change}),
        }
    return {
        "read": Call("read", {"filePath": str(file)}),
        "edit": Call("edit", {"filePath": str(file), "oldString": "one", "newString": "mine"}),
        "write": Call("write", {"filePath": str(file), "content": "mine\n"}),
        "change": Call("bash", {"command": change, "description": "change it"}),
    }


@pytest.mark.parametrize("agent", [CLAUDE, OPENCODE, PI], ids=lambda agent: agent.name)
def test_what_somebody_else_holds_is_not_written_and_the_model_hears_why(
    agent: RealAgent, team: Sharing, own_directory: Path
) -> None:
    team.instance.run("lease", "acquire", "--agent", "b", "docs/")
    held, free = team.project / "docs" / "new.md", team.project / "free.txt"
    results = work(team, agent, own_directory / "home", [tools(agent, held)["write"], tools(agent, free)["write"]])
    assert not held.exists()
    assert free.read_text() == "mine\n"
    assert "shop/b holds docs/" in results[0]
    assert "corral lease wait --literal docs/new.md" in results[0]


@pytest.mark.parametrize("agent", [CLAUDE, OPENCODE, PI], ids=lambda agent: agent.name)
def test_a_file_that_changed_since_it_was_read_has_to_be_read_again(
    agent: RealAgent, team: Sharing, own_directory: Path
) -> None:
    use = tools(agent, team.file)
    turns = [use["read"], use["change"], use["edit"], use["read"], use["edit"]]
    results = work(team, agent, own_directory / "home", turns)
    assert "it has changed since you read or wrote it last" in results[2]
    assert team.file.read_text() == "mine\ntheirs\n"


def patch(file: str, before: str, after: str) -> Call:
    """A patch as a model gives it to Codex."""
    words = f"*** Begin Patch\n*** Update File: {file}\n@@\n-{before}\n+{after}\n*** End Patch\n"
    return Call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{words}EOF"})


def test_patches_of_codex_are_judged(team: Sharing, own_directory: Path) -> None:
    # Somebody has to trust hooks before it runs them; there is nobody here.
    codex = replace(CODEX, once=("exec", "--dangerously-bypass-hook-trust"))
    held = team.project / "held.txt"
    held.write_text("one\n")
    team.instance.run("lease", "acquire", "--agent", "b", "held.txt")
    turns = [patch("held.txt", "one", "mine"), patch("notes.txt", "one", "two"), patch("notes.txt", "two", "three")]
    results = work(team, codex, own_directory / "home", turns)
    assert "shop/b holds held.txt" in results[0]
    assert held.read_text() == "one\n"
    assert team.file.read_text() == "three\n"
