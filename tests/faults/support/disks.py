"""Small disks: a tmpfs at a place of the test's own, to be filled, emptied and made read-only."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support.waiting import wait_for


class Disk:
    """A small file system at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Not a byte is free in this block."""
        try:
            self._fill()
            yield
        finally:
            self._ballast.unlink()

    def _fill(self) -> None:
        with open(self._ballast, "ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"\0" * size)
        free = os.statvfs(self.path)
        assert free.f_bavail == 0, f"{self.path} still has {free.f_bavail} blocks"

    def read_only(self, yes: bool = True) -> None:
        """Let nothing be written, or let it again."""
        _run("mount", "-o", f"remount,{'ro' if yes else 'rw'}", str(self.path))


@contextlib.contextmanager
def small_disk(path: Path, size: str = "4m") -> Iterator[Disk]:
    """Mount a disk of `size` at `path`, which is made; taken away again at the end."""
    path.mkdir(mode=0o700)
    options = f"size={size},mode=0700,uid={os.getuid()},gid={os.getgid()}"
    _run("mount", "-t", "tmpfs", "-o", options, "corral-test", str(path))
    try:
        yield Disk(path)
    finally:
        try:
            # A keeper that nobody needs any more ends a moment after its daemon, and had its log here.
            wait_for(lambda: not _try("umount", str(path)), 5, f"nobody uses the disk at {path}")
        except AssertionError:
            _run("umount", "--lazy", str(path))
            raise


def _run(*argv: str) -> None:
    problem = _try(*argv)
    assert not problem, f"{' '.join(argv)}: {problem} (these tests mount disks: they need root, or sudo)"


def _try(*argv: str) -> str:
    become_root = [] if os.getuid() == 0 else ["sudo", "-n"]
    done = subprocess.run([*become_root, *argv], capture_output=True, text=True, timeout=20, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
