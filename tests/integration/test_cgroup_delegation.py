"""Finding a subtree that was left to us: as root, as an ordinary user with one, and as one without."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from corral.adapters.cgroup import delegation
from corral.adapters.cgroup.tree import Cgroup
from tests.support.cgroups import Subtree, subtree

NOBODY = 65534

IMPORTS = """
import asyncio, os, subprocess, sys
from corral.adapters.cgroup import delegation, ending
from corral.adapters.cgroup.home import Home
from corral.domain.limits import Limits
"""
#: After the imports: the files may be somewhere that only root can read.
DROP = f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})"

FIND = """
found = delegation.find("x")
print(found if isinstance(found, str) else found.root.path)
"""

DRIVE = """
found = delegation.find("x")
home = Home(found, "x")
home.settle()
agent = subprocess.Popen(["sh", "-c", "read go; setsid sleep 1000 & exec sleep 1000"], stdin=subprocess.PIPE)
home.admit("shop", "api", agent.pid, Limits())
agent.stdin.close()
(group,) = home.teams("shop")
outcome = asyncio.run(ending.end([group], 5))
agent.wait()
home.remove_team("shop")
print(found.root.path, outcome.left, os.path.exists(os.path.dirname(group.path)))
"""


@pytest.fixture
def own() -> Iterator[Subtree]:
    with subtree() as mine:
        yield mine


@pytest.fixture
def as_nobody() -> Callable[[Cgroup, str], str]:
    """Runs Python code as an ordinary user in a cgroup, and answers with what it prints."""
    if os.geteuid() != 0:
        pytest.skip("NOT ROOT, so nothing can be delegated to somebody")

    def run(group: Cgroup, script: str) -> str:
        enter = 'echo 0 >"$0/cgroup.procs" && exec "$@"'
        done = subprocess.run(
            ["sh", "-c", enter, group.path, sys.executable, "-c", IMPORTS + DROP + script],
            capture_output=True,
            text=True,
            timeout=60,
            cwd="/",
        )
        assert done.stderr == ""
        return done.stdout

    return run


def _delegate(group: Cgroup) -> None:
    """As the kernel's manual says: the directory, and the files that govern what is in it."""
    os.chown(group.path, NOBODY, NOBODY)
    for file in ("cgroup.procs", "cgroup.threads", "cgroup.subtree_control"):
        os.chown(f"{group.path}/{file}", NOBODY, NOBODY)


def test_looking_leaves_nothing_behind(own: Subtree) -> None:
    found = delegation.find("x")
    assert not isinstance(found, str)
    # By what this process would have left: others look at the same time.
    assert [child.name for child in found.root.children() if child.name.endswith(f"-{os.getpid()}")] == []
    assert own.top.children() == []


def test_a_cgroup_that_takes_no_more_is_refused_with_the_reason(own: Subtree) -> None:
    own.top.write("cgroup.max.descendants", "0")
    assert "no cgroup can be made in" in delegation.probe(own.top)


def test_a_cgroup_that_takes_no_process_is_refused_with_the_reason(own: Subtree) -> None:
    # The parent of a threaded cgroup: whole processes cannot be put into others below it.
    own.make("a").write("cgroup.type", "threaded")
    lower = own.make("a/b")
    assert "no process can be moved into cgroups of" in delegation.probe(lower)
    assert lower.children() == []


def test_an_ordinary_user_without_a_subtree_is_told_what_is_not_writable(
    own: Subtree, as_nobody: Callable[[Cgroup, str], str]
) -> None:
    group = own.make("theirs")
    assert as_nobody(group, FIND) == f"{group.path}/cgroup.procs is not writable\n"


def test_an_ordinary_user_gets_the_highest_that_is_his(own: Subtree, as_nobody: Callable[[Cgroup, str], str]) -> None:
    # Not below a directory of ours: that would mean that an agent asks, and an agent must stay where it is.
    top = Cgroup(name=own.top.name.replace("corral-", "user-"), path=own.top.path.replace("corral-", "user-"))
    top.make()
    try:
        shell = top.child("shell")
        shell.make()
        _delegate(top)
        _delegate(shell)
        assert as_nobody(shell, FIND) == f"{top.path}\n"
        assert as_nobody(shell, DRIVE) == f"{top.path} [] False\n"
        assert [child.path for child in top.children()] == [shell.path]
    finally:
        assert top.remove()


def test_what_an_agent_starts_stays_in_the_agents_cgroup(own: Subtree, as_nobody: Callable[[Cgroup, str], str]) -> None:
    agent = own.make("shop/api")
    for group in (own.top, own.top.child("shop"), agent):
        _delegate(group)
    assert as_nobody(agent, FIND) == f"{agent.path}\n"


def test_homes_of_the_instance_are_found_wherever_they_are(own: Subtree) -> None:
    mine = own.make(f"deep/down/corral-{os.getpid()}x")
    assert delegation.homes(own.given.hierarchy, f"{os.getpid()}x") == [mine]
    assert delegation.homes(own.given.hierarchy, "another") == []
    if os.geteuid() == 0:
        os.chown(mine.path, NOBODY, NOBODY)
        assert delegation.homes(own.given.hierarchy, f"{os.getpid()}x") == []


@pytest.fixture
def controller(own: Subtree, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Some controller that this host has in its unified hierarchy, taken for the only one that limits need."""
    root = own.given.root
    there = sorted(root.words("cgroup.controllers"))
    if not there:
        pytest.skip("NO CONTROLLERS IN THE UNIFIED HIERARCHY HERE, so enabling them is not tested")
    chosen = there[0]
    was_enabled = chosen in root.words("cgroup.subtree_control")
    delegation.enable(root, frozenset([chosen]))
    monkeypatch.setattr(delegation, "CONTROLLERS", (chosen,))
    yield chosen
    if not was_enabled:
        own.top.write("cgroup.subtree_control", f"-{chosen}")
        with contextlib.suppress(OSError):  # somebody else enabled it below meanwhile, and needs it
            root.write("cgroup.subtree_control", f"-{chosen}")


def test_controllers_are_enabled_for_what_is_below(own: Subtree, controller: str) -> None:
    assert delegation.available(own.top) == {controller}
    assert own.make("a").words("cgroup.controllers") == frozenset()
    delegation.enable(own.top, frozenset([controller]))
    assert own.top.child("a").words("cgroup.controllers") == {controller}


def test_processes_in_the_cgroup_itself_forbid_controllers(own: Subtree, controller: str) -> None:
    own.start(own.top, "echo ready; exec sleep 1000")
    assert delegation.available(own.top) == frozenset()
    delegation.enable(own.top, frozenset([controller]))  # fails, and says nothing: the limit that needs it will
    assert own.make("a").words("cgroup.controllers") == frozenset()
