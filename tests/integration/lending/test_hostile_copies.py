"""What somebody who means harm puts into a copy, or sends, is in nobody else's way."""

import asyncio
import hashlib
import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.domain.errors import CorralError
from corral.ports.lending import PIECE_BYTES
from corral.service import lending
from tests.integration.lending.scene import BRANCH, Both


def _without_a_blob(both: Both, worktree: Path) -> str:
    blob = both.git(worktree, "rev-parse", "HEAD:one")
    (both.copy / "objects" / blob[:2] / blob[2:]).unlink()
    return both.git(worktree, "rev-parse", "HEAD")


def _with_other_content(both: Both, worktree: Path) -> str:
    """The object of a file has what another object should have."""
    blob, other = both.git(worktree, "rev-parse", "HEAD:one"), both.git(worktree, "rev-parse", "HEAD^{tree}")
    path = both.copy / "objects" / blob[:2] / blob[2:]
    path.unlink()
    path.write_bytes((both.copy / "objects" / other[:2] / other[2:]).read_bytes())
    return both.git(worktree, "rev-parse", "HEAD")


def _with_a_tree_that_leads_into_git(both: Both, worktree: Path) -> str:
    blob = both.git(worktree, "rev-parse", "HEAD:one")
    (both.copy / "evil").write_bytes(b"100644 .git\0" + bytes.fromhex(blob))
    tree = both.git(worktree, "hash-object", "-t", "tree", "-w", "--literally", str(both.copy / "evil"))
    return both.git(worktree, "commit-tree", "-m", "x", tree)


def _with_a_submodule_that_is_a_command(both: Both, worktree: Path) -> str:
    (worktree / ".gitmodules").write_text('[submodule "x"]\npath = x\nurl = -u./payload\n')
    both.git(worktree, "add", ".gitmodules")
    both.git(worktree, "commit", "--quiet", "--message", "evil")
    return both.git(worktree, "rev-parse", "HEAD")


def _a_file(both: Both, worktree: Path) -> str:
    return both.git(worktree, "rev-parse", "HEAD:one")


@pytest.mark.parametrize(
    "forged",
    [
        _without_a_blob,
        _with_other_content,
        _with_a_tree_that_leads_into_git,
        _with_a_submodule_that_is_a_command,
        _a_file,
    ],
)
def test_what_is_not_whole_or_not_as_git_wants_it_does_not_come_in(
    both: Both, forged: Callable[[Both, Path], str]
) -> None:
    worktree = both.worktree()
    both.commit(worktree, "one")
    before = both.git(both.repo, "count-objects", "-v")
    with pytest.raises(CorralError):
        both.hand_in(forged(both, worktree))
    assert both.branch() == ""
    assert both.git(both.repo, "count-objects", "-v") == before, "nothing of it"
    assert os.listdir(both.places.incoming) == []


def test_a_name_may_hold_what_ends_a_line_elsewhere_or_be_no_text(both: Both) -> None:
    odd = "a\u2028b\x85c"
    both.git(both.repo, "branch", odd)
    subprocess.run(["git", "branch", b"caf\xe9"], cwd=both.repo, check=True)
    worktree = both.worktree()
    assert both.git(worktree, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n") == [
        odd,
        BRANCH,
        "main",
    ], "that which is no text is not brought"
    both.git(worktree, "branch", f"{odd}d")
    subprocess.run(["git", "branch", b"th\xe9"], cwd=worktree, check=True)
    both.git(worktree, "commit", "--quiet", "--allow-empty", "--message", "x\u2028--not")
    both.git(worktree, "commit", "--quiet", "--allow-empty", "--message", "y")
    tip = both.git(worktree, "rev-parse", "HEAD")
    both.hand_in(tip)
    assert both.branch() == tip
    both.git(worktree, "reset", "--quiet", "--hard", "HEAD~2")
    (found,) = both.do(both.workspaces.inspect("shop"))
    assert found.why == "2 commits that are nowhere else"


@pytest.mark.parametrize("what", ["fifo", "file"])
def test_what_somebody_put_into_a_copy_is_not_waited_for(both: Both, what: str) -> None:
    both.worktree()
    if what == "fifo":
        os.mkfifo(both.copy / "shallow")
        both.bring()
    else:
        (both.copy / "worktrees").rename(both.directory / "worktrees")
        (both.copy / "worktrees").write_text("")
    assert both.do(both.workspaces.inspect("shop"))[0].path == str(both.copy if what == "file" else both.path)


def test_a_small_pack_that_fits_nowhere_is_refused(both: Both) -> None:
    """An object that is 24 GB, as the difference to one of 16 MB."""
    base, times = bytes(0xFFFFFF), 1500
    copied = _size(len(base)) + _size(len(base) * times) + b"\xf0\xff\xff\xff" * times
    kept = hashlib.sha1(b"blob %d\0" % len(base) + base).digest()
    body = b"PACK" + (2).to_bytes(4, "big") * 2
    body += _object(3, len(base)) + zlib.compress(base) + _object(7, len(copied)) + kept + zlib.compress(copied)

    async def scene() -> None:
        pack = await both.owner.receive_pack(directory=str(both.repo), apart=True)
        await both.owner.write_pack(pack, body + hashlib.sha1(body).digest())
        tip = both.git(both.repo, "rev-parse", "HEAD")
        with pytest.raises(CorralError, match="Out of memory"):
            await both.owner.hand_in(repo=str(both.repo), team="shop", agent="bot", tip=tip, pack=pack, by="bot")

    both.do(scene())
    assert os.listdir(both.places.incoming) == []


def _size(number: int) -> bytes:
    digits = [number >> at & 0x7F for at in range(0, number.bit_length(), 7)]
    return bytes([*(digit | 0x80 for digit in digits[:-1]), digits[-1]])


def _object(kind: int, size: int) -> bytes:
    return bytes([kind << 4 | size & 15 | 0x80]) + _size(size >> 4)


def test_a_piece_that_is_too_large_is_not_passed_on(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other keeper would hang up on the daemon that sends it a frame of that size."""
    both.commit(both.worktree(), "one")
    passed: list[int] = []

    async def read(_: str) -> bytes:
        return bytes(PIECE_BYTES + 1)

    async def write(_: str, data: bytes) -> None:
        passed.append(len(data))

    monkeypatch.setattr(both.guest, "read_pack", read)
    monkeypatch.setattr(both.owner, "write_pack", write)
    both.bring()
    assert passed == []
    assert "a piece of 1,048,577 bytes was sent" in both.told()[0]


def test_an_agent_without_an_end_to_what_it_sends_holds_up_nobody(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.commit(both.worktree(), "one")

    async def read(_: str) -> bytes:
        await asyncio.sleep(0.01)
        return b"x"

    async def write(_: str, data: bytes) -> None:
        """Git would say no, in the end."""

    monkeypatch.setattr(both.guest, "read_pack", read)
    monkeypatch.setattr(both.owner, "write_pack", write)
    monkeypatch.setattr(lending, "_HANDING_SECONDS", 0.5)
    both.bring()
    assert "within 0 s" in both.told()[0]
    assert os.listdir(both.places.incoming) == []
