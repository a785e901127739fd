"""Git repositories of every kind that Corral must get along with."""

import os
import subprocess
from pathlib import Path
from typing import Literal

Kind = Literal["normal", "empty", "dirty", "bare"]


def git(where: str | os.PathLike[str], *arguments: str) -> str:
    """Run git in `where`; what it printed, without the last line end. A failure shows what git said."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=where,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
    return done.stdout.removesuffix("\n")


def make(path: Path, kind: Kind = "normal") -> Path:
    """Make a repository at `path`.

    normal: one commit with a README and a source file. empty: no commit. dirty: like normal, with a changed file, a
    staged one and an untracked one. bare: like normal, without a working tree.
    """
    path.mkdir(parents=True)
    if kind == "bare":
        seed = make(path.parent / f"{path.name}-seed")
        git(seed, "clone", "--quiet", "--bare", ".", str(path))
        return path
    git(path, "init", "--quiet")
    if kind == "empty":
        return path
    (path / "README.md").write_text("# A project\n")
    (path / "src").mkdir()
    (path / "src" / "main.py").write_text("print('hello')\n")
    git(path, "add", "-A")
    git(path, "commit", "--quiet", "--message=First")
    if kind == "dirty":
        (path / "README.md").write_text("# A project, being changed\n")
        (path / "staged.txt").write_text("staged\n")
        git(path, "add", "staged.txt")
        (path / "untracked.txt").write_text("untracked\n")
    return path
