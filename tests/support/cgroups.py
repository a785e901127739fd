"""Real cgroups for tests: a subtree of the test's own, and processes that are born in it."""

import asyncio
import contextlib
import itertools
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from corral.adapters.cgroup import delegation, events
from corral.adapters.cgroup.delegation import Delegation
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.procfs import processes as proc
from tests.support.waiting import wait_for

_numbers = itertools.count()


def delegated() -> Delegation:
    """The part of the cgroup tree that the tests may use; skips the test, with the reason, where there is none."""
    found = delegation.find("test")
    if isinstance(found, str):
        pytest.skip(f"NO CGROUPS HERE, so this is not tested: {found}")
    return found


@dataclass
class Subtree:
    """A cgroup of the test's own, and what was started in it."""

    given: Delegation
    top: Cgroup
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def make(self, name: str) -> Cgroup:
        """A cgroup below, `a/b` with all on the way to it."""
        group = self.top
        for part in name.split("/"):
            group = group.child(part)
            group.make()
        return group

    def start(
        self, group: Cgroup | None, script: str, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a shell in a cgroup (None: where the test is), and go on when it says `ready`."""
        enter = f"echo $$ >{group.path}/cgroup.procs && " if group else ""
        process = subprocess.Popen(
            ["sh", "-c", f'{enter}exec sh -c "$0" "$@"', script, *words],
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        self.started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    def close(self) -> None:
        """End what is left, reap it, and remove the cgroups; nothing may stay."""
        if self.top.exists():
            self.top.write("cgroup.kill", "1")
            asyncio.run(events.wait_empty([self.top], 10))
        for process in self.started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        wait_for(self.top.remove, what=f"{self.top.path} goes away")


@contextmanager
def subtree() -> Iterator[Subtree]:
    """A subtree for one test."""
    given = delegated()
    top = given.root.child(f"corral-test-{os.getpid()}-{next(_numbers)}")
    top.make()
    own = Subtree(given, top)
    try:
        yield own
    finally:
        own.close()


@contextmanager
def in_state_d(pid: int) -> Iterator[None]:
    """Puts a process into state D for a while: frozen as cgroups of version 1 do it, it cannot even be killed."""
    freezer = Path("/sys/fs/cgroup/freezer")
    if not os.access(freezer / "cgroup.procs", os.W_OK):
        pytest.skip("NO FREEZER OF VERSION 1 HERE, so nothing can be put into state D")
    group = freezer / f"corral-test-{os.getpid()}"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(pid))
    (group / "freezer.state").write_text("FROZEN")
    try:
        wait_for(lambda: (now := proc.read(pid)) and now.state == "D", what="state D")
        yield
    finally:
        (group / "freezer.state").write_text("THAWED")
        with contextlib.suppress(ProcessLookupError):
            (freezer / "cgroup.procs").write_text(str(pid))
        wait_for(lambda: not (group / "cgroup.procs").read_text(), what="nothing is left in the freezer")
        group.rmdir()
