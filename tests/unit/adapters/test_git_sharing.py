"""What a user of agents gets in somebody's repository, what it must not have, and that all of it is taken back."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from corral.adapters.git.sharing import Guest, let_make_worktrees, share, take_back
from corral.adapters.git.worktree_locks import lock_of_others
from corral.adapters.git.worktrees import registered_path
from corral.domain.acl import ACCESS, DEFAULT, allowed_to, entries_of, entries_of_mode
from corral.domain.errors import RefusedError, UnavailableError

BOT = Guest("bot", 54321, [54321])


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repo")], check=True)
    return tmp_path / "repo" / ".git"


def may(path: Path, guest: Guest = BOT) -> int:
    info = path.lstat()
    has_one = ACCESS in os.listxattr(path)
    entries = entries_of(os.getxattr(path, ACCESS)) if has_one else entries_of_mode(info.st_mode)
    return allowed_to(entries, (info.st_uid, info.st_gid), guest.uid, guest.groups)


def state(top: Path) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Modes and ACLs of all that is there; directories of objects that are empty are git's to remove."""
    found = {}
    for directory, _, files in os.walk(top):
        for path in (Path(directory), *(Path(directory, name) for name in files)):
            if path.is_file() or any(path.iterdir()):
                found[str(path)] = (path.stat().st_mode, tuple(sorted(os.listxattr(path))))
    return found


def git(repo: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    return subprocess.run(["git", *who, *words], cwd=repo, check=True, capture_output=True, text=True).stdout


def test_it_writes_where_git_puts_what_it_makes_and_nowhere_else(git_dir: Path) -> None:
    for path in (git_dir.parent, git_dir):
        path.chmod(0o700)
    share(str(git_dir), "shop", BOT)
    writable = {Path(one) for one, _, _ in os.walk(git_dir) if may(Path(one)) & 2}
    branches = {git_dir / "refs/heads/corral/shop"}
    assert git_dir / "objects/0a" in writable
    packs = {git_dir / "objects", git_dir / "objects/pack", git_dir / "objects/info"}
    assert not packs & writable, "git looks into packs first, and drops what is in one that is to be kept"
    assert branches < writable
    others = branches | {git_dir / "corral-packed-refs"}
    assert all("objects" in path.parts or path in others for path in writable)
    for path in writable:
        assert path.stat().st_mode & stat.S_ISVTX, f"what is the owner's in {path} could be replaced"
    for name in ("config", "HEAD"):
        assert may(git_dir / name) == 4
    assert may(git_dir.parent) == 1, "it gets there, and does not see what else is there"


def test_it_can_be_done_again_and_is_taken_back_without_a_trace(git_dir: Path) -> None:
    before = state(git_dir.parent)
    share(str(git_dir), "shop", BOT)
    once = state(git_dir.parent)
    share(str(git_dir), "shop", BOT)
    assert state(git_dir.parent) == once
    assert once != before
    take_back(str(git_dir), "shop", BOT.uid)
    assert state(git_dir.parent) == before


def test_it_stays_as_long_as_the_user_has_a_worktree(git_dir: Path) -> None:
    share(str(git_dir), "shop", BOT)
    mine = Guest("me", os.geteuid(), [])
    (git_dir / "worktrees" / "api").mkdir()
    take_back(str(git_dir), "shop", mine.uid)
    assert may(git_dir / "objects/0a") & 2


def test_it_makes_worktrees_only_while_it_is_let_and_leaves_no_link(git_dir: Path, tmp_path: Path) -> None:
    share(str(git_dir), "shop", BOT)
    place = git_dir / "worktrees"
    assert may(place) & 2 == 0
    let_make_worktrees(str(git_dir), BOT, allowed=True)
    assert may(place) & 2
    assert place.stat().st_mode & stat.S_ISVTX
    (tmp_path / "thesis").mkdir()
    (place / "evil").symlink_to(tmp_path / "thesis")
    (place / "builder").mkdir()
    let_make_worktrees(str(git_dir), BOT, allowed=False)
    assert may(place) & 2 == 0
    assert os.listdir(place) == ["builder"]


def test_git_that_cleans_up_leaves_the_places(git_dir: Path) -> None:
    repo = git_dir.parent
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "one")
    share(str(git_dir), "shop", BOT)
    git(repo, "gc", "--quiet", "--prune=1.second.ago")
    # Directories that git made anew would be whose it was, and what is in them theirs to replace.
    assert all(may(git_dir / "objects" / f"{number:02x}") & 2 for number in range(256))
    assert may(git_dir / "refs/heads/corral/shop") & 2
    found = subprocess.run(["git", "fsck"], cwd=repo, capture_output=True, text=True, check=True)
    assert "bad sha1 file" not in found.stdout + found.stderr


def test_of_two_users_the_other_keeps_what_it_has(git_dir: Path) -> None:
    other = Guest("other", 54322, [54322])
    share(str(git_dir), "shop", BOT)
    share(str(git_dir), "shop", other)
    take_back(str(git_dir), "shop", BOT.uid)
    assert may(git_dir / "objects/0a", other) == 7
    assert may(git_dir / "objects/0a") & 2 == 0
    assert os.stat(git_dir / "objects/0a").st_mode & stat.S_ISVTX


@pytest.mark.parametrize("name", ["config", "hooks", "info", ".", "refs/heads"])
def test_who_could_change_what_git_runs_is_not_let_in(git_dir: Path, name: str) -> None:
    place = git_dir / name
    place.chmod(place.stat().st_mode | 0o020)
    its = Guest("bot", BOT.uid, [place.stat().st_gid])
    before = state(git_dir.parent)
    with pytest.raises(RefusedError, match="can change") as refused:
        share(str(git_dir), "shop", its)
    assert os.path.normpath(place) in refused.value.message
    assert "chmod -R go-w" in refused.value.remedy
    assert state(git_dir.parent) == before
    # What a group that it is not in may do is no matter.
    share(str(git_dir), "shop", BOT)


def test_nor_who_could_put_another_repository_in_its_place(git_dir: Path) -> None:
    git_dir.parent.chmod(0o777)
    with pytest.raises(RefusedError, match="can change"):
        share(str(git_dir), "shop", BOT)
    git_dir.parent.chmod(0o1777)
    share(str(git_dir), "shop", BOT)


def test_what_is_made_there_is_for_both(git_dir: Path) -> None:
    share(str(git_dir), "shop", BOT)
    before = os.umask(0o077)
    try:
        (git_dir / "objects" / "0a" / "new").touch()
        (git_dir / "ORIG_HEAD").touch()
    finally:
        os.umask(before)
    assert may(git_dir / "objects" / "0a" / "new") & 4
    assert may(git_dir / "ORIG_HEAD") & 6 == 4
    named = entries_of(os.getxattr(git_dir / "worktrees", DEFAULT))
    assert (os.geteuid(), 7) in {(one.number, one.allowed) for one in named}


def test_no_link_of_the_users_is_followed(git_dir: Path, tmp_path: Path) -> None:
    share(str(git_dir), "shop", BOT)
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    kept = git_dir / "refs/heads/corral/shop/_corral.lock"
    kept.unlink()
    kept.symlink_to(private / "made")
    shutil.rmtree(git_dir / "objects/0a")
    (git_dir / "objects/0a").symlink_to(private)
    with pytest.raises(RefusedError, match="objects/0a is a link"):
        share(str(git_dir), "shop", BOT)
    (git_dir / "objects/0a").unlink()
    share(str(git_dir), "shop", BOT)
    assert list(private.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a directory is given to another user")
def test_what_is_in_a_directory_of_the_users_is_not_touched(git_dir: Path, tmp_path: Path) -> None:
    """While it is looked at, the user could put a link in the place of anything there."""
    share(str(git_dir), "shop", BOT)
    its = git_dir / "worktrees/builder"
    (its / "ann").mkdir(parents=True)
    os.chown(its, BOT.uid, BOT.uid)
    os.chmod(its / "ann", 0o700)
    for path in (its, its / "ann"):
        for name in os.listxattr(path):
            os.removexattr(path, name)
    before = state(its)
    share(str(git_dir), "shop", BOT)
    assert state(its) == before


@pytest.mark.parametrize("packed", [False, True])
def test_the_lock_of_packed_branches_is_the_users_to_take_and_the_file_is_not(git_dir: Path, packed: bool) -> None:
    repo = git_dir.parent
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "one")
    git(repo, "branch", "other")
    if packed:
        git(repo, "pack-refs", "--all")
    before = state(repo)
    refs = git(repo, "for-each-ref")
    share(str(git_dir), "shop", BOT)
    share(str(git_dir), "shop", BOT)
    file = git_dir / "packed-refs"
    assert may(file.resolve().parent) & 2
    assert file.resolve().parent.stat().st_mode & stat.S_ISVTX
    assert may(file.resolve()) & 6 == 4
    assert git(repo, "for-each-ref") == refs
    take_back(str(git_dir), "shop", BOT.uid)
    assert state(repo) == before
    assert git(repo, "for-each-ref") == refs


def test_branches_that_were_packed_meanwhile_are_there_afterwards(git_dir: Path) -> None:
    repo = git_dir.parent
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "one")
    share(str(git_dir), "shop", BOT)
    git(repo, "branch", "other")
    git(repo, "pack-refs", "--all")
    refs = git(repo, "for-each-ref")
    take_back(str(git_dir), "shop", BOT.uid)
    assert git(repo, "for-each-ref") == refs
    assert (git_dir / "packed-refs").is_file()
    assert not (git_dir / "packed-refs").is_symlink()


def test_a_lock_that_is_held_is_told_and_nothing_is_lost(git_dir: Path) -> None:
    repo = git_dir.parent
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "one")
    git(repo, "pack-refs", "--all")
    refs = git(repo, "for-each-ref")
    share(str(git_dir), "shop", BOT)
    lock = git_dir / "corral-packed-refs" / "packed-refs.lock"
    lock.touch()
    with pytest.raises(UnavailableError, match="another git is at work"):
        take_back(str(git_dir), "shop", BOT.uid)
    assert git(repo, "for-each-ref") == refs
    lock.unlink()
    take_back(str(git_dir), "shop", BOT.uid)
    assert git(repo, "for-each-ref") == refs


def test_nobody_waits_for_what_an_agent_put_in_the_place_of_a_note(tmp_path: Path) -> None:
    for name in ("gitdir", "locked"):
        os.mkfifo(tmp_path / name)
    assert registered_path(str(tmp_path)) == str(tmp_path.parent)
    assert lock_of_others(str(tmp_path)) == "a lock of somebody's"
