"""A team with a merge queue on a real repository, and branches to submit to it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.faults.support.teams import IDLE, toml
from tests.support import repos
from tests.support.instance import Instance
from tests.support.repos import git


class Merging:
    """A repository whose target is `main`, a team on it, and what may be asked of its queue."""

    def __init__(self, instance: Instance, directory: Path, agents: Sequence[str] = ("a", "b")) -> None:
        self.instance = instance
        self.repo = repos.make(directory / "project")
        git(self.repo, "branch", "--move", "main")
        self._agents = agents

    def up(self, *gates: str, env: Mapping[str, str] | None = None, **rules: object) -> None:
        """Declare the queue and start the team."""
        text = toml({agent: {"command": IDLE} for agent in self._agents}, repo=self.repo)
        # JSON of these is TOML.
        rules = {"gates": list(gates), **rules}
        lines = ["", "[merge]", *(f"{key} = {json.dumps(value)}" for key, value in rules.items())]
        self.instance.spec(text + "\n".join(lines) + "\n")
        self.instance.run("up", env=env)

    def workspace(self, agent: str) -> Path:
        return Path(self.instance.home, "worktrees", "shop", agent)

    def commit(self, agent: str, **files: str) -> str:
        """Have an agent commit files (a dot is `_dot_`); the commit."""
        where = self.workspace(agent)
        return commit(where, {name.replace("_dot_", "."): text for name, text in files.items()})

    def branch(self, name: str, files: Mapping[str, str], start: str = "main") -> str:
        """A branch with one commit, made without touching the person's checkout; the commit."""
        where = Path(self.instance.directory, "scratch", name.replace("/", "-"))
        git(self.repo, "worktree", "add", "--quiet", "-b", name, str(where), start)
        made = commit(where, files)
        git(self.repo, "worktree", "remove", str(where))
        return made

    def submit(self, *arguments: str, wait: str = "60s") -> dict[str, Any]:
        """Submit and wait until it is merged."""
        found: dict[str, Any] = self.instance.json("merge", "submit", *arguments, "--wait", wait, cwd=self.repo)
        return found

    def queue(self, *arguments: str) -> str:
        """Submit, and do not wait; the id."""
        return str(self.instance.json("merge", "submit", *arguments, cwd=self.repo)["merge"])

    def show(self, merge: str, wait: str = "60s") -> dict[str, Any]:
        """A merge when it is at an end."""
        found: dict[str, Any] = self.instance.json("merge", "show", merge, "--wait", wait)
        return found

    def file(self, path: str, at: str = "main") -> str:
        """A file as a branch has it."""
        return git(self.repo, "show", f"{at}:{path}")

    def merges(self) -> list[str]:
        """The merges that main has, the oldest first, by their trailers."""
        trailer = "--format=%(trailers:key=Corral-Merge,valueonly)"
        return git(self.repo, "log", "--reverse", "--first-parent", trailer, "main").split()


def commit(where: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(where, "add", "-A")
    git(where, "commit", "--quiet", "--message", f"Change {', '.join(files)}")
    return git(where, "rev-parse", "HEAD")
