"""A team name that is already up from another file is refused, and the other team does not notice."""

from pathlib import Path

import pytest

from tests.faults.support.population import assert_one_of_each, population
from tests.faults.support.teams import IDLE, down, last_seq, pids, toml
from tests.support.instance import Instance


def test_a_name_that_is_up_from_another_file_is_refused(instance: Instance, own_directory: Path) -> None:
    first, second = own_directory / "one", own_directory / "two"
    first.mkdir()
    second.mkdir()
    held = instance.spec(toml({"a": {"command": IDLE}}), first)
    instance.spec(toml({"a": {"command": ["sleep", "86402"]}, "b": {"command": IDLE}}), second)
    instance.run("up", cwd=first)
    before, seq = pids(instance), last_seq(instance)
    for arguments in (("up",), ("up", "--restart-changed"), ("up", "b"), ("up", "--dry-run")):
        code, error = instance.error(*arguments, cwd=second)
        assert (code, error["code"], error["holder"]) == (4, "refused", str(held))
        assert str(held) in error["message"]
    assert pids(instance) == before
    assert last_seq(instance) == seq
    assert population(instance) == {"a": [before["a"]]}
    assert instance.run("down", cwd=second, check=False).returncode == 3  # not this file's team
    assert_one_of_each(instance, {"a"})
    down(instance)
    instance.run("up", cwd=second)
    assert_one_of_each(instance, {"a", "b"})


@pytest.mark.slow
def test_two_instances_with_the_same_team_name_do_not_disturb_each_other(
    instance: Instance, own_directory: Path
) -> None:
    other = Instance(str(own_directory / "other"))
    Path(other.directory).mkdir()
    try:
        for one in (instance, other):
            one.spec(toml({"a": {"command": IDLE, "count": 3}}))
            one.run("up")
        names = {"a-1", "a-2", "a-3"}
        assert_one_of_each(instance, names)
        assert_one_of_each(other, names)
        before = pids(other)
        instance.run("stop", "a-1")
        instance.run("restart", "--all")
        down(instance)
        assert population(instance) == {}
        assert pids(other) == before
        assert_one_of_each(other, names)
        instance.run("up")
        down(other)
        assert population(other) == {}
        assert_one_of_each(instance, names)
    finally:
        other.close()
