"""A team whose agents have worktrees of one repository, and what git does in them."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.support.population import environment
from tests.faults.support.teams import IDLE, pids, toml
from tests.support import repos
from tests.support.instance import Instance


class Guarded:
    """Agents `a` and `b` of the team `shop`, in worktrees of `repo`."""

    def __init__(self, instance: Instance, repo: Path, *, settings: str = "", agents: tuple[str, ...] = ("a", "b")):
        self.instance = instance
        self.repo = repo
        self._agents = agents
        self.up(settings)

    def up(self, settings: str = "") -> str:
        """`corral up`, with more at the end of the file; what it said."""
        text = toml({name: {"command": IDLE} for name in self._agents}, repo=self.repo)
        self.instance.spec(f"{text}\n{settings}")
        return self.instance.run("up").stdout

    def worktree(self, agent: str) -> Path:
        return Path(self.instance.home, "worktrees", "shop", agent)

    def identity(self, agent: str) -> dict[str, str]:
        """What Corral gave the present run of an agent in its environment."""
        whole = environment(pids(self.instance)[agent])
        return {name: value for name, value in whole.items() if name.startswith("CORRAL_")}

    def holds(self, agent: str, *patterns: str) -> dict[str, Any]:
        """Have the agent hold files."""
        lease: dict[str, Any] = self.instance.json("lease", "acquire", "--agent", agent, *patterns)
        return lease

    def release(self, agent: str, lease: Mapping[str, Any]) -> None:
        self.instance.run("lease", "release", "--agent", agent, str(lease["lease"]))

    def git(self, agent: str, *words: str | bytes, env: Mapping[str, str] | None = None) -> "Done":
        """Run git in the worktree of an agent."""
        return git(self.worktree(agent), *words, env=env)

    def write(self, agent: str, path: str | bytes, text: str = "changed\n") -> None:
        """Write a file in the worktree, and stage it."""
        file = os.path.join(os.fsencode(self.worktree(agent)), os.fsencode(path))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "a") as opened:
            opened.write(text)
        self.git(agent, "add", "--", path).ok()

    def commit(self, agent: str, path: str | bytes, *words: str) -> "Done":
        """Change a file and commit it."""
        self.write(agent, path)
        return self.git(agent, "commit", "--quiet", f"--message=Change {path!r}", *words)

    def transaction(self, agent: str, *lines: str) -> "Done":
        """Ask the hook of moves of refs by itself, as a git that speaks so would."""
        hook = Path(self.instance.home, "hooks", "shop", agent, "reference-transaction")
        worktree = self.worktree(agent)
        git_dir = self.git(agent, "rev-parse", "--absolute-git-dir").ok().out.strip()
        done = subprocess.run(
            [hook, "prepared"],
            cwd=worktree,
            input="".join(f"{line}\n" for line in lines).encode(),
            env={**os.environ, "GIT_DIR": git_dir},
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Done(done)

    def tip(self, agent: str) -> str:
        return repos.git(self.worktree(agent), "rev-parse", "HEAD")


class Done:
    """What became of a git command."""

    def __init__(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        self.code = done.returncode
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    def ok(self) -> "Done":
        assert self.code == 0, f"exit code {self.code}\n{self.out}\n{self.err}"
        return self

    def refused(self, *words: str) -> "Done":
        """It was refused, and standard error has these words."""
        assert self.code != 0, f"it was not refused\n{self.out}\n{self.err}"
        assert "corral: refused" in self.err, self.err
        for word in words:
            assert word in self.err, self.err
        return self


def git(where: str | os.PathLike[str], *words: str | bytes, env: Mapping[str, str] | None = None) -> Done:
    """Run git, which may refuse."""
    done = subprocess.run(
        ["git", *words],
        cwd=where,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Done(done)
