"""A Corral instance of a user of the machine, used through the command that is on everybody's PATH."""

import json
import os
import shutil
from collections.abc import Mapping
from typing import Any

from tests.lab.support.users import Result, User

_TIMEOUT = 120.0

_REPOSITORY = """
git init --quiet "$1" && cd "$1" && echo '# A project' >README.md && git add -A && git commit --quiet --message=First
"""


class LabInstance:
    """The instance of `user` below `directory`. Nothing is made or started before the first command that does so."""

    def __init__(self, user: User, directory: str) -> None:
        self.user = user
        self.directory = directory
        self.home = os.path.join(directory, "h")
        self.runtime = os.path.join(directory, "r")
        #: Variables for every command of this instance, besides those of a log-in.
        self.env: dict[str, str] = {}
        os.mkdir(directory, 0o700)
        shutil.chown(directory, user.name, user.name)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """What makes a command one of this instance."""
        return {"CORRAL_HOME": self.home, "CORRAL_RUNTIME_DIR": self.runtime, **self.env, **(extra or {})}

    def corral(
        self,
        *arguments: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,  # noqa: A002 - as in subprocess.run
        check: bool = True,
        timeout: float = _TIMEOUT,
    ) -> Result:
        """Log in, run `corral` with these arguments, log out."""
        return self.user.run(
            "corral",
            *arguments,
            cwd=cwd or self.directory,
            env=self.environment(env),
            input=input,
            check=check,
            timeout=timeout,
        )

    def json(self, *arguments: str, cwd: str | None = None, check: bool = True) -> Any:
        """The one JSON document that a command prints with `--json`."""
        return json.loads(self.corral(*arguments, "--json", cwd=cwd, check=check).stdout)

    def error(self, *arguments: str, cwd: str | None = None) -> tuple[int, dict[str, Any]]:
        """The exit code and the error object of a command that must fail."""
        done = self.corral(*arguments, "--json", cwd=cwd, check=False)
        assert done.returncode != 0, f"corral {' '.join(arguments)} did not fail: {done.stdout}"
        return done.returncode, json.loads(done.stderr)["error"]

    def spec(self, text: str, where: str | None = None) -> str:
        """Write a corral.toml, into the instance's directory if `where` names no other; its path."""
        path = os.path.join(where or self.directory, "corral.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        shutil.chown(path, self.user.name, self.user.name)
        return path

    def repo(self, name: str = "repo") -> str:
        """A git repository of the user with one commit; its path."""
        path = os.path.join(self.directory, name)
        self.user.run("sh", "-euc", _REPOSITORY, "repo", path)
        return path

    def close(self) -> None:
        """Take every team down and stop the daemon, if there ever was one."""
        if not os.path.exists(os.path.join(self.home, "corral.db")):
            return
        listing = self.corral("ps", "--json", check=False)
        if listing.returncode != 0:  # the test killed the daemon: a new one finds the agents again
            self.corral("daemon", "start", check=False)
            listing = self.corral("ps", "--json", check=False)
        agents = json.loads(listing.stdout) if listing.returncode == 0 else []
        for team in sorted({agent["team"] for agent in agents}):
            self.corral("down", "--team", team, "--json", check=False)
        self.corral("daemon", "stop", check=False)
