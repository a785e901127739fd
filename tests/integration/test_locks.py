"""`corral lock` with a real daemon: one command at a time, whosever it is; and leases of those who do not run."""

import os
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, toml
from tests.support import repos
from tests.support.instance import Instance


@pytest.fixture
def _up(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    instance.env["PATH"] = f"{os.path.dirname(instance.argv()[0])}:{os.environ['PATH']}"
    instance.run("up")


@pytest.mark.usefixtures("_up")
@pytest.mark.parametrize("name", [[], ["--agent", "a-1"]], ids=["person", "agent"])
def test_a_lock_keeps_out_other_commands_of_the_same_agent_or_person(instance: Instance, name: list[str]) -> None:
    # As another command would be: one that does not run within the first.
    other = f"env -u CORRAL_LOCKS corral lock {' '.join(name)} dep -- echo B"
    done = instance.run("lock", *name, "dep", "--", "sh", "-c", f"{other}; echo $?", check=False)
    assert done.stdout == "4\n"
    assert "holds dep" in done.stderr
    assert instance.run("lock", *name, "dep", "--", "echo", "B").stdout == "B\n"


@pytest.mark.usefixtures("_up")
def test_a_lock_within_itself_is_refused_at_once(instance: Instance) -> None:
    inner = "corral lock db -- corral lock --wait 10m dep -- echo B"
    done = instance.run("lock", "dep", "--", "sh", "-c", inner, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert "this would wait for itself" in done.stderr
    assert "the lock dep" in done.stderr


@pytest.mark.usefixtures("_up")
def test_a_lock_that_was_lost_has_an_exit_code_of_its_own(instance: Instance) -> None:
    lose = "corral lease release l$CORRAL_LOCK_TOKEN"
    done = instance.run("lock", "dep", "--", "sh", "-c", lose, check=False)
    assert (done.returncode, "not held to the end" in done.stderr) == (122, True)
    assert instance.run("lock", "dep", "--", "sh", "-c", f"{lose}; exit 7", check=False).returncode == 7


@pytest.mark.usefixtures("_up")
def test_an_agent_that_was_stopped_is_granted_nothing(instance: Instance) -> None:
    instance.run("stop", "a-1")
    code, error = instance.error("lease", "acquire", "--agent", "a-1", "x")
    assert (code, "shop/a-1 does not run (stopped)" in error["message"]) == (4, True)
    assert "without --agent" in error["remedy"]
    assert instance.json("lease", "ls")["leases"] == []


def test_where_case_does_not_count_two_spellings_are_one_lease(instance: Instance) -> None:
    path = repos.make(Path(instance.directory, "repo"))
    repos.git(path, "config", "core.ignorecase", "true")
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}, repo=path))
    instance.run("up")
    assert instance.json("lease", "acquire", "--agent", "a", "Ab.md")["patterns"] == ["Ab.md"]
    for verb in ("acquire", "check"):
        code, error = instance.error("lease", verb, "--agent", "b", "aB.md")
        assert (code, error["holder"], error["pattern"]) == (4, "shop/a", "Ab.md"), verb
    code, error = instance.error("lease", "wait", "--agent", "b", "--wait", "0.1", "AB.*")
    assert (code, error["holder"]) == (4, "shop/a")
    assert instance.json("lease", "acquire", "--agent", "b", "ac.md")["agent"] == "shop/b"
