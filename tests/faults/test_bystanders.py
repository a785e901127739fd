"""Processes that are not ours and live in a workspace: they are named, and nothing is taken from under them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.support.teams import IDLE, down, events, toml
from tests.support.instance import Instance
from tests.support.repos import make


@contextmanager
def somebody_in(directory: str | os.PathLike[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A program of a person with this working directory."""
    with subprocess.Popen(["sleep", "86400"], cwd=directory) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_worktree_with_somebody_in_it_stays_until_they_have_left(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}, repo=make(own_directory / "repo")))
    instance.run("up")
    place = {agent["agent"]: agent["workspace"] for agent in instance.json("ps")}
    with somebody_in(place["a"]) as person:
        receipt = instance.json("down")
        assert receipt["clean"]
        assert receipt["bystanders"] == [
            {"pid": person.pid, "command": "sleep 86400", "directory": os.path.realpath(place["a"])}
        ]
        assert [(kept["path"], kept["why"]) for kept in receipt["kept"]] == [
            (place["a"], f"sleep 86400 (pid {person.pid}) is in it")
        ]
        # The journal is for everybody who may see the team: it has no command line.
        (told,) = (one for one in events(instance) if one["event"] == "team.down")
        assert told["data"]["bystanders"] == [f"{person.pid} sleep"]
        assert person.poll() is None
        assert os.path.isdir(place["a"])
        assert not os.path.exists(place["b"])
    instance.run("down", "-t", "shop")
    assert not os.path.exists(place["a"])


def test_rm_takes_no_worktree_from_under_somebody_either(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}, repo=make(own_directory / "repo")))
    instance.run("up")
    place = {agent["agent"]: agent["workspace"] for agent in instance.json("ps")}
    with somebody_in(place["a"]) as person:
        in_it = f"sleep 86400 (pid {person.pid}) is in it"
        assert instance.json("rm", "--force", "a", "b")["agents"] == [
            {"agent": "a", "removed": True, "kept": place["a"], "detail": in_it},
            {"agent": "b", "removed": True, "kept": None, "detail": ""},
        ]
        assert os.path.isdir(place["a"])
        assert not os.path.exists(place["b"])
        # What stays of an agent that is gone is as safe.
        receipt = instance.json("down")
        assert [(kept["path"], kept["why"]) for kept in receipt["kept"]] == [(place["a"], in_it)]
        assert person.poll() is None
    instance.run("down", "-t", "shop")
    assert not os.path.exists(place["a"])


def test_discard_takes_it_away_and_names_whoever_was_there(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": {"command": IDLE}}, repo=make(own_directory / "repo")))
    instance.run("up")
    (place,) = [agent["workspace"] for agent in instance.json("ps")]
    with somebody_in(place) as person:
        (done,) = instance.json("rm", "--force", "--discard", "a")["agents"]
        assert (done["kept"], done["detail"]) == (None, f"sleep 86400 (pid {person.pid}) is in it")
        assert person.poll() is None
    assert not os.path.exists(place)
    down(instance)


def test_in_a_shared_workspace_others_are_named_and_whoever_asks_is_not(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    below = Path(instance.directory, "below")
    below.mkdir()
    with somebody_in(below) as person:
        said = instance.run("down").stdout
        assert "not of this team, and left alone, in its workspaces:" in said
        (line,) = [line for line in said.splitlines() if "sleep 86400" in line]
        assert f"pid {person.pid} " in line
        assert person.poll() is None


def test_without_anybody_there_nobody_is_named(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    assert down(instance)["bystanders"] == []
