"""Which directories a merge queue takes for workspaces of its gates."""

import asyncio
from pathlib import Path

from corral.adapters.git.merge_checkouts import MergeCheckouts
from corral.places import Places
from tests.support import repos


def test_what_others_say_of_their_worktrees_is_not_removed(tmp_path: Path) -> None:
    """Whoever may write in the repository can say that a worktree is anywhere."""
    repo = repos.make(tmp_path / "repo")
    places = Places(str(tmp_path / "home"), str(tmp_path / "run"))
    checkouts = MergeCheckouts(places)
    root = Path(places.merge_dir("shop"))
    kept = root.parent / "another" / "file"
    kept.parent.mkdir(parents=True)
    kept.touch()
    root.mkdir()
    evil = repo / ".git" / "worktrees" / "evil"
    evil.mkdir(parents=True)
    for name, text in (("HEAD", "ref: refs/heads/x"), ("commondir", "../.."), ("gitdir", f"{root}/../.git")):
        (evil / name).write_text(text + "\n")
    (evil / "locked").touch()
    assert asyncio.run(checkouts.clear(team="shop", repo=str(repo))) == []
    assert kept.exists()
