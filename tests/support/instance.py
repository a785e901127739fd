"""A private Corral instance: the real command, as a person would run it, in directories of one test."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.streams import Stream

_TIMEOUT = 120.0


class Instance:
    """The instance below `directory`. Nothing is made or started before the first command that does so."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.home = os.path.join(directory, "h")
        self.runtime = os.path.join(directory, "r")
        #: Variables for every command of this instance, besides those of the test process.
        self.env: dict[str, str] = {}

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The variables of a command of this instance."""
        own = {"CORRAL_HOME": self.home, "CORRAL_RUNTIME_DIR": self.runtime}
        return {**os.environ, **own, **self.env, **(extra or {})}

    def argv(self, *arguments: str) -> list[str]:
        """The command line of `corral` with these arguments."""
        return [sys.executable, "-m", "corral", *arguments]

    def run(
        self,
        *arguments: str,
        cwd: str | os.PathLike[str] | None = None,
        input: str | bytes | None = None,  # noqa: A002 - as in subprocess.run
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout: float = _TIMEOUT,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end. With `check`, any exit code but 0 fails the test and shows what was said."""
        done = subprocess.run(
            self.argv(*arguments),
            cwd=cwd or self.directory,
            input=b"" if input is None else input.encode() if isinstance(input, str) else input,
            env=self.environment(env),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        result = subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace")
        )
        if check:
            said = f"{result.stdout[-4000:]}\n{result.stderr[-4000:]}".strip()
            assert result.returncode == 0, f"corral {' '.join(arguments)}: exit code {result.returncode}\n{said}"
        return result

    def json(self, *arguments: str, cwd: str | os.PathLike[str] | None = None, check: bool = True) -> Any:
        """The one JSON document that a command prints with `--json`."""
        return json.loads(self.run(*arguments, "--json", cwd=cwd, check=check).stdout)

    def error(self, *arguments: str, cwd: str | os.PathLike[str] | None = None) -> tuple[int, dict[str, Any]]:
        """The exit code and the error object of a command that must fail."""
        done = self.run(*arguments, "--json", cwd=cwd, check=False)
        assert done.returncode != 0, f"corral {' '.join(arguments)} did not fail: {done.stdout}"
        return done.returncode, json.loads(done.stderr)["error"]

    def follow(self, *arguments: str, cwd: str | os.PathLike[str] | None = None) -> Stream:
        """A command that streams (`events -f --json`), to be used in a `with` block."""
        return Stream(self.argv(*arguments), str(cwd or self.directory), self.environment())

    def last_words(self) -> str:
        """What its daemon and its keeper wrote into their logs, and what the journal has."""
        told = []
        for name in ("daemon.log", "keeper.log"):
            path = Path(self.home, name)
            if path.exists():
                told.append(f"--- {name}\n{path.read_text(errors='replace')[-6000:]}")
        journal = self.run("events", "-n", "40", check=False, timeout=20)
        return "\n".join([*told, f"--- events\n{journal.stdout}{journal.stderr}"])

    def spec(self, text: str, where: str | os.PathLike[str] | None = None) -> Path:
        """Write a corral.toml, into the test's directory if `where` names no other; its path."""
        path = Path(where or self.directory, "corral.toml")
        path.write_text(text, encoding="utf-8")
        return path

    def close(self) -> None:
        """Take every team down and stop the daemon, if there ever was one."""
        if not os.path.exists(os.path.join(self.home, "corral.db")):
            return
        listing = self.run("ps", "--json", check=False)
        if listing.returncode != 0:  # the test killed the daemon: a new one finds the agents again
            self.run("daemon", "start", check=False)
            listing = self.run("ps", "--json", check=False)
        agents = json.loads(listing.stdout) if listing.returncode == 0 else []
        for team in sorted({agent["team"] for agent in agents}):
            self.run("down", "--team", team, "--json", check=False)
        self.run("daemon", "stop", check=False)
