"""Teams for tests: a `corral.toml` from values, and what the product says became of it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.instance import Instance

#: Does nothing, for longer than any test.
IDLE = ["sleep", "86400"]
#: The agent that ships with Corral: it answers each message with its size and its SHA-256.
DEMO = [os.path.join(os.path.dirname(sys.executable), "corral"), "demo-agent"]


def toml(agents: Mapping[str, Mapping[str, object]], *, name: str = "shop", repo: str | Path | None = None) -> str:
    """The text of a `corral.toml`."""
    lines = ["[team]", f"name = {_value(name)}"]
    if repo is not None:
        lines.append(f"repo = {_value(str(repo))}")
    for agent, keys in agents.items():
        lines += ["", f"[agents.{agent}]", *(f"{key} = {_value(value)}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, str):
        # A JSON string is a TOML string, except for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


def ps(instance: Instance) -> dict[str, dict[str, Any]]:
    """`corral ps --json` by agent."""
    return {agent["agent"]: agent for agent in instance.json("ps")}


def states(instance: Instance) -> dict[str, str]:
    """The state of every agent as `corral ps` tells it."""
    return {name: agent["state"] for name, agent in ps(instance).items()}


def pids(instance: Instance) -> dict[str, int]:
    """The pid of every agent as `corral ps` tells it."""
    return {name: agent["pid"] for name, agent in ps(instance).items()}


def events(instance: Instance, *arguments: str) -> list[dict[str, Any]]:
    """The whole journal."""
    said = instance.run("events", "--json", "-n", "all", *arguments).stdout
    return [json.loads(line) for line in said.splitlines()]


def last_seq(instance: Instance) -> int:
    """The number of the newest event."""
    journal = events(instance)
    return int(journal[-1]["seq"]) if journal else 0


def await_event(
    instance: Instance, event: str, agent: str = "", *, after: int = 0, seconds: float = 20.0, **data: object
) -> dict[str, Any]:
    """The first event of that kind after a number in the journal, awaited if it has not happened yet."""

    def wanted(entry: dict[str, Any]) -> bool:
        return (
            entry["event"] == event
            and (not agent or entry["agent"] == agent)
            and all(entry["data"].get(name) == value for name, value in data.items())
        )

    with instance.follow("events", "-f", "--json", "--after", str(after)) as stream:
        found: dict[str, Any] = stream.until(wanted, seconds)
        return found


def await_states(instance: Instance, wanted: Mapping[str, str], *, seconds: float = 20.0) -> None:
    """Wait until `corral ps` tells these states: asked again after each event, so nothing is polled."""
    with instance.follow("events", "-f", "--json", "--after", str(last_seq(instance))) as stream:
        stream_after = (entry for entry in iter(lambda: json.loads(stream.line(seconds)), None))
        while True:
            now = states(instance)
            if all(now.get(agent) == state for agent, state in wanted.items()):
                return
            next(stream_after)


def down(instance: Instance, *arguments: str, team: str = "shop") -> dict[str, Any]:
    """`corral down`, which must be clean; the receipt."""
    receipt: dict[str, Any] = instance.json("down", "--team", team, *arguments)
    assert receipt["clean"], receipt
    found = {check["what"]: check["found"] for check in receipt["checks"]}
    assert found.keys() >= {"processes", "tmux_servers", "sockets", "ports", "worktrees"}
    assert set(found.values()) == {0}, found
    return receipt


def failure(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """The error object that a command with `--json` left on standard error."""
    error: dict[str, Any] = json.loads(done.stderr)["error"]
    assert error["message"], error
    return error
