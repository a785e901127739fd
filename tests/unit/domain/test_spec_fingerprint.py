"""Fingerprints: enough to name what differs between two declarations, and nothing more."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.limits import LIMIT_NAMES, Limits
from corral.domain.spec import AgentSpec, adjusted, differences, fingerprint, fingerprints, split_differences

SALT = b"a secret of this instance"
AGENT = AgentSpec(
    name="builder-1",
    declared_as="builder",
    command=("claude",),
    shell=False,
    workspace="worktree",
    env=(("NODE_ENV", "test"), ("TOKEN", "hunter2")),
    restart="never",
    prompt="",
)

ENV = ["env.NODE_ENV", "env.TOKEN"]


def differing(new: AgentSpec, old: AgentSpec = AGENT) -> list[str]:
    return differences(fingerprint(old, SALT), fingerprint(new, SALT))


def test_the_same_declaration_does_not_differ() -> None:
    assert differing(replace(AGENT)) == []


def test_all_of_a_team_have_what_each_would_have_alone() -> None:
    tables = [
        AGENT,
        replace(AGENT, name="builder-2"),
        replace(AGENT, name="tester", declared_as="tester", prompt="Go."),
    ]
    made = fingerprints(tables, SALT, base="/repo")
    assert made == {one.name: fingerprint(one, SALT, base="/repo") for one in tables}


@pytest.mark.parametrize(
    ("new", "keys"),
    [
        (replace(AGENT, command=("claude", "--continue")), ["command"]),
        (replace(AGENT, shell=True), ["command"]),
        (replace(AGENT, workspace="shared"), ["workspace"]),
        (replace(AGENT, restart="always"), ["restart"]),
        (replace(AGENT, prompt="Go."), ["prompt"]),
        (replace(AGENT, terminal="none"), ["terminal"]),
        (replace(AGENT, terminal="none", stdin=False), ["terminal", "stdin"]),
        (replace(AGENT, env=(("NODE_ENV", "live"), ("TOKEN", "hunter2"))), ["env.NODE_ENV"]),
        (replace(AGENT, env=(("TOKEN", "hunter2"),)), ["env.NODE_ENV"]),
        (replace(AGENT, env=(*AGENT.env, ("A", ""))), ["env.A"]),
        (replace(AGENT, limits=Limits(memory_max=5, cpu_weight=5)), ["cpu_weight", "memory_max"]),
        (replace(AGENT, limits=Limits(tasks_max=5), env=(), prompt="Go."), ["prompt", "tasks_max", *ENV]),
        (
            replace(AGENT, prompt="Go.", command=("x",), env=(), restart="always", workspace="/srv"),
            ["command", "workspace", "restart", "prompt", *ENV],
        ),
    ],
)
def test_what_differs_is_named(new: AgentSpec, keys: list[str]) -> None:
    assert differing(new) == keys
    assert differing(AGENT, old=new) == keys


def test_words_are_not_run_together() -> None:
    assert differing(replace(AGENT, command=("a b",)), replace(AGENT, command=("a", "b"))) == ["command"]


def test_the_number_of_agents_is_no_difference_between_them() -> None:
    assert differing(replace(AGENT, name="builder-2")) == []


@pytest.mark.parametrize(("workspace", "keys"), [("worktree", ["workspace"]), ("shared", ["workspace"]), ("/srv", [])])
def test_a_team_that_moved_moves_the_workspaces_that_depend_on_it(workspace: str, keys: list[str]) -> None:
    agent = replace(AGENT, workspace=workspace)
    assert differences(fingerprint(agent, SALT, base="/a"), fingerprint(agent, SALT, base="/b")) == keys


def test_a_key_of_a_later_version_is_named_as_well() -> None:
    later = fingerprint(AGENT, SALT) | {"ports": "1234"}
    assert differences(later, fingerprint(AGENT, SALT)) == ["ports"]


def test_a_terminal_is_left_out_so_that_an_upgrade_changes_no_agent() -> None:
    assert not {"terminal", "stdin"} & fingerprint(AGENT, SALT).keys()


def test_the_mcp_server_is_a_difference_that_needs_a_restart() -> None:
    assert "mcp" not in fingerprint(AGENT, SALT)
    assert differing(replace(AGENT, mcp=True)) == ["mcp"]
    assert split_differences(["mcp"]) == ((), ("mcp",))


def test_a_limit_that_is_not_set_is_left_out_so_that_an_upgrade_changes_no_agent() -> None:
    assert not set(fingerprint(AGENT, SALT)) & set(LIMIT_NAMES)
    assert set(fingerprint(replace(AGENT, limits=Limits(io_weight=5)), SALT)) & set(LIMIT_NAMES) == {"io_weight"}


def test_differences_are_split_into_what_can_be_adjusted_and_what_needs_a_restart() -> None:
    assert split_differences(["command", "memory_max", "tasks_max", "env.memory_max"]) == (
        ("memory_max", "tasks_max"),
        ("command", "env.memory_max"),
    )
    assert split_differences([]) == ((), ())


def test_a_key_of_a_later_version_needs_a_restart() -> None:
    assert split_differences(["ports"]) == ((), ("ports",))


def test_what_was_adjusted_does_not_differ_any_more() -> None:
    old = fingerprint(replace(AGENT, limits=Limits(memory_max=5, tasks_max=5)), SALT)
    new = fingerprint(replace(AGENT, limits=Limits(memory_max=6, cpu_quota=50), command=("x",), env=()), SALT)
    assert differences(adjusted(old, new), new) == ["command", *ENV]
    assert adjusted(old, old) == old


def test_no_value_can_be_read_or_recognised() -> None:
    marks = fingerprint(replace(AGENT, env=(("A", "hunter2"), ("B", "hunter2"))), SALT)
    assert "hunter2" not in str(marks)
    assert marks["env.A"] != marks["env.B"]
    assert marks["env.A"] != fingerprint(replace(AGENT, env=(("A", "hunter2"),)), b"another secret")["env.A"]


def test_a_fingerprint_needs_a_salt() -> None:
    with pytest.raises(ValueError, match="salt"):
        fingerprint(AGENT, b"")


@given(st.dictionaries(st.sampled_from("ABC"), st.text()), st.dictionaries(st.sampled_from("ABC"), st.text()))
def test_exactly_the_variables_that_differ_are_named(old: dict[str, str], new: dict[str, str]) -> None:
    named = differing(replace(AGENT, env=tuple(sorted(new.items()))), replace(AGENT, env=tuple(sorted(old.items()))))
    assert named == [f"env.{name}" for name in "ABC" if old.get(name) != new.get(name)]
