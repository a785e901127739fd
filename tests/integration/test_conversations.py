"""Conversations go on over restarts, kills and reboots, start over when asked to, and can be forked."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import daemons, keepers, tmux_servers
from tests.faults.support.teams import await_event, await_states, down, events, last_seq, pids, ps, toml
from tests.support import processes, repos
from tests.support.instance import Instance
from tests.support.teller import Teller
from tests.support.waiting import wait_for


@pytest.fixture
def teller(instance: Instance, own_directory: Path) -> Teller:
    return Teller(instance, own_directory / "t")


@pytest.fixture
def up(instance: Instance, teller: Teller, repo: Callable[..., Path]) -> Callable[..., None]:
    """Start a team of one teller, which has heard its prompt when this returns."""
    project = repo()

    def start(**keys: object) -> None:
        agent = {"command": teller.command, "env": teller.env, "prompt": "one", "restart": "on-failure", **keys}
        instance.spec(toml({"a": agent}, repo=project))
        instance.run("up")
        hears(teller, "a", ["one"])

    return start


def hears(teller: Teller, agent: str, said: list[str]) -> None:
    wait_for(lambda: teller.told(agent)[-1:] == [said], 20, f"{agent} was told {said}: {teller.told(agent)}")


def runs(instance: Instance, agent: str = "a", **expected: object) -> dict[str, Any]:
    """Wait until the agent runs, with what `ps` says of its conversation."""

    def seen() -> dict[str, Any] | None:
        now = ps(instance).get(agent, {})
        matches = all(now.get(name) == value for name, value in expected.items())
        return now if now.get("state") == "running" and matches else None

    return wait_for(seen, 20, f"{agent} runs with {expected}")


def test_the_id_of_a_conversation_is_known_from_the_start(
    instance: Instance, teller: Teller, up: Callable[..., None]
) -> None:
    up()
    agent = runs(instance, resumed=False)
    assert teller.starts("a") == [["--id", agent["session"]]]
    assert agent["command"] == teller.command
    starting = await_event(instance, "agent.starting", "a")
    assert starting["data"]["session"] == agent["session"]


def test_a_killed_agent_comes_back_with_its_conversation_and_without_its_prompt(
    instance: Instance, teller: Teller, up: Callable[..., None]
) -> None:
    up()
    before = runs(instance)
    os.kill(before["pid"], signal.SIGKILL)
    after = runs(instance, resumed=True)
    assert after["session"] == before["session"]
    assert after["prompt"] == "sent"
    instance.run("send", "a", "two")
    hears(teller, "a", ["one", "two"])
    assert teller.starts("a")[1:] == [["--resume", before["session"]]]


def test_a_restart_goes_on_and_a_fresh_one_does_not(
    instance: Instance, teller: Teller, up: Callable[..., None]
) -> None:
    up()
    first = runs(instance)["session"]
    instance.run("restart", "a")
    assert runs(instance, resumed=True)["session"] == first
    instance.run("restart", "--fresh", "a")
    second = runs(instance, resumed=False)["session"]
    assert second != first
    wait_for(lambda: teller.told("a") == [["one"], ["one"]], 20, "its prompt was said again")
    left = await_event(instance, "conversation.left", "a")
    assert left["data"]["session"] == first
    instance.run("restart", "a")
    assert runs(instance, resumed=True)["session"] == second


def test_stop_and_up_go_on_with_the_conversation(instance: Instance, teller: Teller, up: Callable[..., None]) -> None:
    up()
    first = runs(instance)["session"]
    instance.run("stop", "a")
    instance.run("up")
    assert runs(instance, resumed=True)["session"] == first


def test_a_conversation_in_which_nothing_was_said_is_not_continued(
    instance: Instance, teller: Teller, repo: Callable[..., Path]
) -> None:
    instance.spec(toml({"a": {"command": teller.command, "env": teller.env}}, repo=repo()))
    instance.run("up")
    wait_for(lambda: len(teller.starts("a")) == 1, 20, "it has begun")
    instance.run("restart", "a")
    runs(instance, resumed=False)
    wait_for(lambda: len(teller.starts("a")) == 2, 20, "it has begun again")
    assert [words[0] for words in teller.starts("a")] == ["--id", "--id"]


def test_a_command_that_decides_itself_is_started_as_it_is(
    instance: Instance, teller: Teller, repo: Callable[..., Path]
) -> None:
    instance.spec(toml({"a": {"command": [*teller.command, "--own"], "env": teller.env}}, repo=repo()))
    instance.run("up")
    instance.run("send", "a", "one")
    hears(teller, "a", ["one"])
    instance.run("restart", "a")
    runs(instance, resumed=False, session="")
    wait_for(lambda: teller.starts("a") == [["--own"], ["--own"]], 20, "it was started twice")


def test_one_that_cannot_be_continued_is_told_and_the_next_start_is_fresh(
    instance: Instance, teller: Teller, up: Callable[..., None]
) -> None:
    up()
    lost = runs(instance)["session"]
    teller.breaks()
    os.kill(pids(instance)["a"], signal.SIGKILL)
    told = await_event(instance, "conversation.not_resumed", "a")
    assert told["data"]["session"] == lost
    fresh = runs(instance, resumed=False)
    assert fresh["session"] not in ("", lost)
    wait_for(lambda: teller.told("a") == [["one"], ["one"]], 20, "its prompt was said again")
    assert [words[0] for words in teller.starts("a")] == ["--id", "--resume", "--id"]


def test_without_a_policy_the_next_start_by_a_person_is_fresh(
    instance: Instance, teller: Teller, up: Callable[..., None]
) -> None:
    up(restart="never")
    lost = runs(instance)["session"]
    teller.breaks()
    instance.run("restart", "a", check=False)
    await_states(instance, {"a": "failed"})
    assert f"its conversation {lost} could not be continued" in ps(instance)["a"]["reason"]
    instance.run("restart", "a")
    runs(instance, resumed=False)


def test_after_a_reboot_up_brings_the_team_back_with_its_conversations(
    instance: Instance, teller: Teller, up: Callable[..., None]
) -> None:
    up()
    instance.run("fork", "a", "b", "--prompt", "other")
    hears(teller, "b", ["one", "other"])
    before = {name: agent["session"] for name, agent in ps(instance).items()}
    _reboot(instance)
    instance.run("up")
    for name in before:
        assert runs(instance, name, resumed=True)["session"] == before[name]
    instance.run("send", "b", "again")
    hears(teller, "b", ["one", "other", "again"])


def _reboot(instance: Instance) -> None:
    """Nothing runs any more, and what was in memory is gone."""
    agents = list(pids(instance).values())
    for one in [*daemons(instance), *keepers(instance), *tmux_servers(instance)]:
        processes.kill(one)
    for pid in agents:
        if (left := processes.process(pid)) is not None:
            processes.kill(left)
    shutil.rmtree(instance.runtime)


def test_a_fork_has_the_past_and_goes_its_own_way(instance: Instance, teller: Teller, up: Callable[..., None]) -> None:
    up()
    source = runs(instance)
    workspace = Path(source["workspace"])
    (workspace / "done.txt").write_text("done\n")
    repos.git(workspace, "add", "done.txt")
    repos.git(workspace, "commit", "--quiet", "--message=Done")
    (workspace / "open.txt").write_text("open\n")
    made = instance.json("fork", "a", "b", "--prompt", "theirs")
    assert (made["agent"], made["source"], made["session"]) == ("b", "a", source["session"])
    assert made["commit"] == repos.git(workspace, "rev-parse", "HEAD")
    assert any("1 untracked file of a" in note for note in made["notes"])
    hears(teller, "b", ["one", "theirs"])
    instance.run("send", "a", "mine")
    hears(teller, "a", ["one", "mine"])
    fork = runs(instance, "b", resumed=True)
    assert fork["fork_of"] == "a"
    assert fork["session"] != source["session"]
    assert (Path(fork["workspace"]) / "done.txt").exists()
    assert not (Path(fork["workspace"]) / "open.txt").exists()
    assert repos.git(fork["workspace"], "branch", "--show-current") == made["branch"] == "corral/shop/b"


def test_a_fork_stays_until_somebody_removes_it(instance: Instance, teller: Teller, up: Callable[..., None]) -> None:
    up()
    instance.run("fork", "a", "b")
    runs(instance, "b")
    again = instance.json("up")
    assert not again["changed"]
    assert {agent["agent"]: agent["action"] for agent in again["agents"]} == {"a": "keep", "b": "fork"}
    instance.run("stop", "b")
    instance.run("up")
    runs(instance, "b")
    instance.run("rm", "--force", "b")
    assert set(ps(instance)) == {"a"}
    instance.run("fork", "a", "c")
    down(instance, "--discard")
    assert instance.json("ps") == []


def test_a_fork_has_ports_and_a_name_of_its_own(instance: Instance, teller: Teller, up: Callable[..., None]) -> None:
    up(ports=["web"])
    instance.run("fork", "a", "b")
    port = {agent: instance.run("port", "get", "web", "--agent", agent).stdout.strip() for agent in ("a", "b")}
    assert port["a"] != port["b"]
    own = instance.run("exec", "b", "--", "sh", "-c", "echo $CORRAL_AGENT $CORRAL_PORT_WEB $TELLER_HOME").stdout
    assert own.split() == ["b", port["b"], str(teller.home)]


@pytest.mark.parametrize(("name", "code"), [("a", 4), ("No Name", 2), ("", 2)])
def test_what_cannot_be_forked_is_refused_and_leaves_nothing(
    instance: Instance, teller: Teller, up: Callable[..., None], name: str, code: int
) -> None:
    up()
    assert instance.error("fork", "a", name)[0] == code
    assert set(ps(instance)) == {"a"}
    assert instance.error("fork", "nobody", "b")[0] == 3


def test_a_fork_whose_worktree_cannot_be_made_leaves_nothing(
    instance: Instance, teller: Teller, up: Callable[..., None]
) -> None:
    up()
    in_the_way = Path(instance.home, "worktrees", "shop", "b")
    in_the_way.write_text("somebody's")
    code, error = instance.error("fork", "a", "b")
    assert (code, "in the way" in error["message"]) == (4, True)
    assert set(ps(instance)) == {"a"}
    assert in_the_way.read_text() == "somebody's"
    in_the_way.unlink()
    instance.run("fork", "a", "b")


def test_a_program_that_nobody_knows_is_forked_with_a_new_conversation(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    instance.spec(toml({"a": {"command": ["sleep", "86400"]}}, repo=repo()))
    instance.run("up")
    made = instance.json("fork", "a", "b")
    assert made["session"] == ""
    assert any("begins a new conversation" in note for note in made["notes"])
    assert not [event for event in events(instance) if event["event"].startswith("conversation.")]
    assert last_seq(instance)
