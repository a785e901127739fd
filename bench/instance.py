"""A Corral instance of the bench's own, with its daemon and its keeper warm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from bench.commands import output, timed
from bench.peers import rest

CORRAL_UP = "corral up"
CORRAL_UP_CONTAINED = "corral up, contained"
#: The level of agents that run as tmux starts them.
UNCONTAINED = "process"
_TEAM = "bench"
_FILE = """\
[team]
name = "{team}"

[containment]
systemd = "{systemd}"
"""
_AGENTS = """
[agents.{name}]
command = {command}
count = {count}
workspace = "shared"
"""
#: Of a teardown that left something behind.
_LEFTOVERS = 5


@dataclass(frozen=True)
class Instance:
    """One instance; `up` and `down` say how long the whole command took."""

    corral: str
    directory: str
    runtime: str
    env: Mapping[str, str]

    def declare(self, count: int, *, contained: bool = True) -> None:
        """Let the team have `count` agents, contained as well as this host can or as tmux starts them."""
        self._declare([("a", ["sleep", "1000"], count)], contained)

    def declare_each(self, commands: Sequence[Sequence[str]], *, contained: bool) -> None:
        """Let the team have one agent for each command."""
        self._declare([(f"a-{number}", command, 1) for number, command in enumerate(commands)], contained)

    def _declare(self, tables: Sequence[tuple[str, Sequence[str], int]], contained: bool) -> None:
        with open(os.path.join(self.directory, "corral.toml"), "w", encoding="utf-8") as file:
            file.write(_FILE.format(team=_TEAM, systemd="auto" if contained else "off"))
            # A list of words is written the same in JSON and in TOML.
            file.writelines(
                _AGENTS.format(name=name, command=json.dumps(command), count=count) for name, command, count in tables
            )

    def up(self, env: Mapping[str, str] | None = None) -> float:
        """Start the team, with these variables on top."""
        return timed([self.corral, "up"], {**self.env, **(env or {})}, self.directory)

    def down(self) -> float:
        """Take the team down; a teardown that is not clean is an error."""
        return self._timed("down", "--team", _TEAM)

    def down_anyhow(self, grace: float) -> float:
        """Take the team down, whether or not anything is left."""
        argv = [self.corral, "down", "--team", _TEAM, "--grace", f"{grace:g}s"]
        return timed(argv, self.env, self.directory, (0, _LEFTOVERS))

    def up_once(self, count: int, *, contained: bool) -> float:
        """Start the team, see that all of it runs, and take it down again; the time of the start alone."""
        self.declare(count, contained=contained)
        seconds = self.up()
        levels = self.levels()
        if len(levels) != count:
            raise SystemExit(f"bench: {len(levels)} agents run instead of {count}")
        if not contained and set(levels) != {UNCONTAINED}:
            raise SystemExit(f"bench: agents that should not be contained are: {', '.join(sorted(set(levels)))}")
        self.down()
        rest()
        return seconds

    def levels(self) -> list[str]:
        """How each agent that runs is contained."""
        agents = json.loads(output([self.corral, "ps", "--json"], self.env))
        return [agent["containment"] for agent in agents if agent["state"] == "running"]

    def processes(self) -> dict[str, int]:
        """Our own processes while a team is up, by what they are."""
        daemon = json.loads(output([self.corral, "daemon", "status", "--json"], self.env))["pid"]
        socket = os.path.join(self.runtime, "tmux", f"{_TEAM}.sock")
        line = output(["tmux", "-N", "-S", socket, "list-clients", "-F", "#{pid} #{client_pid}"], self.env)
        server, client = line.split()
        with open(f"/proc/{client}/stat", encoding="ascii") as file:
            keeper = file.read().rpartition(")")[2].split()[1]
        return {"daemon": daemon, "keeper": int(keeper), "tmux server": int(server), "tmux client": int(client)}

    def run(self, *arguments: str) -> None:
        """Any other command, not timed."""
        self._timed(*arguments)

    def _timed(self, *arguments: str) -> float:
        return timed([self.corral, *arguments], self.env, self.directory)


def by_itself(_corral: str, _env: Mapping[str, str]) -> AbstractContextManager[None]:
    """No other daemon than the one that commands start."""
    return nullcontext()


@contextmanager
def running(
    corral: str,
    directory: str,
    runtime: str,
    env: Mapping[str, str],
    config: str = "",
    daemon: Callable[[str, Mapping[str, str]], AbstractContextManager[None]] = by_itself,
) -> Iterator[Instance]:
    """An instance whose daemon and keeper run, configured so; everything of it is gone afterwards.

    `daemon` runs one of another kind than commands start.
    """
    os.makedirs(directory)
    if config:
        os.makedirs(os.path.join(directory, "home"), mode=0o700)
        with open(os.path.join(directory, "home", "config.toml"), "w", encoding="utf-8") as file:
            file.write(config)
    os.makedirs(runtime, mode=0o700)
    own = {"CORRAL_HOME": os.path.join(directory, "home"), "CORRAL_RUNTIME_DIR": runtime}
    instance = Instance(corral, directory, runtime, {**env, **own})
    with daemon(corral, instance.env):
        yield from _warm(instance)


def _warm(instance: Instance) -> Iterator[Instance]:
    corral, directory = instance.corral, instance.directory
    try:
        # The daemon starts the keeper with the first team, and keeps it.
        instance.declare(1)
        instance.up()
        instance.down()
        yield instance
    finally:
        # Both fail where there is nothing left to do, and that is well.
        for command in (["down", "--team", _TEAM], ["daemon", "stop"]):
            subprocess.run([corral, *command], env=instance.env, cwd=directory, capture_output=True, check=False)
