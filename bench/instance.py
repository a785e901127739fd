"""A Corral instance of the bench's own, with its daemon and its keeper warm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bench.commands import output, timed
from bench.peers import rest

CORRAL_UP = "corral up"
_TEAM = "bench"
_FILE = """\
[team]
name = "{team}"

[agents.a]
command = ["sleep", "1000"]
count = {count}
workspace = "shared"
"""


@dataclass(frozen=True)
class Instance:
    """One instance; `up` and `down` say how long the whole command took."""

    corral: str
    directory: str
    runtime: str
    env: Mapping[str, str]

    def declare(self, count: int) -> None:
        """Let the team have `count` agents."""
        with open(os.path.join(self.directory, "corral.toml"), "w", encoding="utf-8") as file:
            file.write(_FILE.format(team=_TEAM, count=count))

    def up(self) -> float:
        """Start the team."""
        return self._timed("up")

    def down(self) -> float:
        """Take the team down; a teardown that is not clean is an error."""
        return self._timed("down")

    def up_once(self, count: int) -> float:
        """Start the team, see that all of it runs, and take it down again; the time of the start alone."""
        seconds = self.up()
        agents = json.loads(output([self.corral, "ps", "--json"], self.env))
        running = sum(agent["state"] == "running" for agent in agents)
        if running != count:
            raise SystemExit(f"bench: {running} agents run instead of {count}")
        self.down()
        rest()
        return seconds

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


@contextmanager
def running(corral: str, directory: str, runtime: str, env: Mapping[str, str]) -> Iterator[Instance]:
    """An instance whose daemon and keeper run; everything of it is gone afterwards."""
    os.makedirs(directory)
    os.makedirs(runtime, mode=0o700)
    own = {"CORRAL_HOME": os.path.join(directory, "home"), "CORRAL_RUNTIME_DIR": runtime}
    instance = Instance(corral, directory, runtime, {**env, **own})
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
