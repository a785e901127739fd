"""The server on which roles are tried: ann has the team `shop`, with a mark in all that it has, and cleo has `prey`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.marks import KINDS, mark
from tests.fuzz.taming import Ground as Fuzzed
from tests.lab.security.attacks import DAEMON
from tests.lab.support.people import daemon, leave, repository, rows, spec
from tests.lab.support.shared import as_daemon, shared_server, system, tidy
from tests.lab.support.users import Result, User

ANN, BEN, CLEO = User("ann"), User("ben"), User("cleo")
SOCKET = "/run/corral/daemon.sock"
PYTHON = "/opt/corral-venv/bin/python"
SOURCE = "/corral"
SHOP, PREY = ("shop-a", "shop-b"), ("prey-a", "prey-b")

_SPEC = """
[team]
name = "{team}"
repo = "."
[recording]
on = true
max_size = "2M"
[agents.{team}-a]
command = ["sh", "-c", "exec cat # {argv}"]
env = {{ TOKEN = "{environment}" }}
[agents.{team}-b]
command = ["cat"]
"""
#: Of ann's alone: it has failed, and its last words wait for somebody.
_FAILED = """
[agents.shop-c]
command = ["sh", "-c", "echo {words}; exit 3"]
restart = "never"
"""


@dataclass(frozen=True)
class Run:
    """What came of a fuzz."""

    done: Result
    report: dict[str, Any]


class Server:
    """The server, with what ann has there."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = 0
        words = {kind: mark("shop", kind) for kind in KINDS}
        text = _SPEC.format(team="shop", argv=words["argv"], environment=words["environment"])
        ANN.run("corral", "up", cwd=spec(ANN, "shop", text + _FAILED.format(words=words["last-words"])), check=False)
        self.marks = words
        self.others = self._planted(ANN, "shop", SHOP)
        self.others |= {"team": ["shop"], "agent": [*SHOP, "shop-c"], "user": ["ann"], "person": ["ann"]}
        # What serves cleo comes with her first team, and stays.
        with self.prey():
            pass
        self.daemon, self.before = daemon(), self.shop()

    def shop(self) -> list[tuple[Any, ...]]:
        """What must stay as it is of ann's team, whoever asks for what."""
        fields = ("agent", "pid", "state", "paused", "restarts", "since", "processes")
        return [tuple(row[field] for field in fields) for row in rows(ANN) if row["team"] == "shop"]

    def become(self, role: str) -> None:
        """Give cleo that role."""
        system("corral", "member", "add", "cleo", "--role", role)

    @contextmanager
    def prey(self, *, mighty: bool = False, settings: str = "") -> Iterator[Fuzzed]:
        """Cleo's team, with something of each kind in it, while it is needed; `settings` are more of its file."""
        directory = spec(CLEO, "prey", _SPEC.format(team="prey", argv="plain", environment="plain") + settings)
        CLEO.run("corral", "up", cwd=directory)
        try:
            yield Fuzzed("prey", PREY, directory, self._planted(CLEO, "prey", PREY), self.others, mighty)
        finally:
            self.become("junior")
            if any(row["team"] == "prey" for row in rows(CLEO)):  # else the fuzz has done it
                CLEO.run("corral", "down", "--team", "prey", "--discard")

    def fuzz(self, who: User | str, ground: Fuzzed, told: set[str], *words: str) -> Run:
        """Fuzz as somebody, as the daemon's user, or as an agent of cleo's."""
        file = self._directory / "ground.json"
        file.write_text(json.dumps({"ground": asdict(ground), "marks": self.marks, "told": sorted(told)}))
        argv = ("env", "-C", SOURCE, PYTHON, "-m", "tests.fuzz", SOCKET, str(file), *words)
        if who == DAEMON:
            done = as_daemon(*argv)
        elif isinstance(who, str):
            done = CLEO.run("corral", "exec", who, "--", *argv, check=False, timeout=600)
        else:
            done = who.run(*argv, check=False, timeout=600)
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        return Run(done, json.loads(done.stdout))

    def _planted(self, user: User, team: str, agents: tuple[str, ...]) -> dict[str, list[Any]]:
        self._number += 1
        ids = [f"p{self._number:09x}{part}" for part in "0f"]
        argv = (
            "env",
            "-C",
            SOURCE,
            PYTHON,
            "-m",
            "tests.fuzz.planting",
            SOCKET,
            team,
            f"{user.home}/{team}",
            *ids,
            *agents,
        )
        found: dict[str, list[Any]] = json.loads(user.run(*argv).stdout)
        return found


@contextmanager
def server(directory: Path) -> Iterator[Server]:
    """It, of which nothing is left. Ben is a member as well; the daemon's user may connect and is none."""
    with shared_server(ANN, BEN, CLEO):
        system("corral", "member", "add", "ann", "--role", "senior")
        try:
            for user, team in ((ANN, "shop"), (CLEO, "prey")):
                repository(user, team)
            yield Server(directory)
            assert json.loads(system("corral", "audit", "verify", "--json").stdout)["ok"]
        finally:
            system("corral", "member", "add", "cleo", "--role", "junior")
            leave(ANN, BEN, CLEO)
            system("rm", "-rf", f"{CLEO.home}/prey")
            tidy(ANN, BEN, CLEO)
