"""A file that cannot be starts nothing: no daemon, no keeper, no directory."""

import os
from pathlib import Path

import pytest

from tests.faults.support.population import everything, population
from tests.faults.support.teams import IDLE, failure, pids, toml
from tests.support.instance import Instance

_GOOD = '[team]\nname = "shop"\n[agents.a]\ncommand = ["sleep", "86400"]\n'

_BAD = {
    "no TOML": ("[team\n", "1"),
    "an unknown key": (_GOOD + "colour = 1\n", "5"),
    "a wrong type": (_GOOD + 'count = "2"\n', "5"),
    "a name that is none": ('[team]\nname = "My Shop"\n[agents.a]\ncommand = ["x"]\n', "2"),
    "a duplicate": (_GOOD + '[agents.a]\ncommand = ["x"]\n', "5"),
    "two that expand to one": (_GOOD + '[agents.b]\ncount=2\ncommand="x"\n[agents.b-1]\ncommand = ["x"]\n', "8"),
    "a worktree of nothing": (_GOOD + 'workspace = "worktree"\n', "5"),
    "a command with NUL": ('[team]\nname = "shop"\n[agents.a]\ncommand = ["a\\u0000b"]\n', "4"),
    "an empty command": ('[team]\nname = "shop"\n[agents.a]\ncommand = []\n', "4"),
}


@pytest.mark.parametrize("kind", _BAD)
def test_a_bad_spec_is_named_by_file_and_line_and_starts_nothing(instance: Instance, kind: str) -> None:
    text, line = _BAD[kind]
    file = instance.spec(text)
    done = instance.run("up", "--json", check=False)
    error = failure(done)
    assert (done.returncode, error["code"], done.stdout) == (2, "bad_spec", "")
    assert f"{file}:{line}:" in error["message"]
    assert error["remedy"]
    _nothing_was_made(instance)


def test_bytes_that_are_no_text_are_refused(instance: Instance, own_directory: Path) -> None:
    (own_directory / "corral.toml").write_bytes(b'[team]\nname = "shop\xff"\n')
    done = instance.run("up", "--json", check=False)
    assert (done.returncode, failure(done)["code"]) == (2, "bad_spec")
    _nothing_was_made(instance)


def test_a_file_that_is_not_there_starts_nothing(instance: Instance, own_directory: Path) -> None:
    assert instance.error("up")[0] == 3
    assert instance.error("up", "-f", "other.toml")[0] == 3
    assert instance.error("up", "-f", str(own_directory))[0] == 2
    _nothing_was_made(instance)


def test_an_agent_that_the_file_does_not_declare_starts_nothing(instance: Instance) -> None:
    instance.spec(_GOOD)
    code, error = instance.error("up", "b")
    assert code == 3
    assert "'b'" in error["message"]
    _nothing_was_made(instance)


def test_a_file_gone_bad_leaves_its_running_team_alone(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": IDLE}}))
    instance.run("up")
    before = pids(instance)
    instance.spec(_GOOD + "colour = 1\n")
    code, error = instance.error("up")
    assert (code, error["code"]) == (2, "bad_spec")
    assert pids(instance) == before
    assert population(instance) == {"a": [before["a"]]}


def _nothing_was_made(instance: Instance) -> None:
    assert everything(instance) == []
    assert not os.path.exists(instance.home)
    assert not os.path.exists(instance.runtime)
