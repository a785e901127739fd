"""The stage of the demonstration: a git repository and a Corral instance that exist only for it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

TEAM = "shop"

_README = "# Shop\n\nA small web shop that nobody has built yet.\n"

#: The demonstration may be started from an agent's terminal or from a git hook; it is still on its own.
_ELSEWHERE = frozenset(
    {"CORRAL_AGENT", "CORRAL_TEAM", "CORRAL_RUN", "CORRAL_INSTANCE", "CORRAL_CREDENTIAL_FILE", "TMUX", "TMUX_PANE"}
)


class Trouble(Exception):  # noqa: N818 - told to a person as it is
    """The demonstration cannot go on; the text says why."""


class Scratch:
    """A directory of our own with a repository and an instance in it. `remove` takes away exactly that."""

    def __init__(self, spec: str) -> None:
        # Not below TMPDIR, which may be deep: the paths of sockets must be short.
        self.directory = tempfile.mkdtemp(prefix="corral-demo-", dir="/tmp")  # mkdtemp makes it ours alone # nosec B108
        self.repo = os.path.join(self.directory, "shop")
        self.home = os.path.join(self.directory, "home")
        self.runtime = os.path.join(self.directory, "run")
        self.bin = os.path.dirname(sys.executable)
        try:
            self._fill(spec)
        except BaseException:
            self.remove()
            raise

    def _fill(self, spec: str) -> None:
        os.mkdir(self.repo)
        self._write("README.md", _README)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "-A")
        self.git("commit", "--quiet", "--no-gpg-sign", "--message=Say what this is going to be")
        # The file of the team is the person's, not part of the shop.
        self._write(os.path.join(".git", "info", "exclude"), "corral.toml\n")
        self._write("corral.toml", spec)

    def environment(self) -> dict[str, str]:
        """The variables of a command that belongs to the demonstration."""
        kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE and name[:4] != "GIT_"}
        kept["PATH"] = self.bin + os.pathsep + kept.get("PATH", os.defpath)
        return {**kept, "CORRAL_HOME": self.home, "CORRAL_RUNTIME_DIR": self.runtime}

    def corral(self, *arguments: str) -> list[str]:
        """The command line of `corral` with these arguments."""
        return [sys.executable, "-m", "corral", *arguments]

    def run(self, argv: Sequence[str], *, capture: bool = False, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command that reads `text` in the repository, before the eyes of the person unless `capture`."""
        return subprocess.run(
            argv,
            cwd=self.repo,
            env=self.environment(),
            input=text,
            stdout=subprocess.PIPE if capture else None,
            text=True,
            check=False,
        )

    def git(self, *arguments: str) -> str:
        """Run git in the repository, as a person who commits even where none is configured; what it printed."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.repo,
            env={**self.environment(), **_identity(self.environment())},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Trouble(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.rstrip("\n")

    def remove(self) -> None:
        """Take the directory away."""
        shutil.rmtree(self.directory)

    def _write(self, name: str, text: str) -> None:
        with open(os.path.join(self.repo, name), "w", encoding="utf-8") as file:
            file.write(text)


def _identity(environ: Mapping[str, str]) -> dict[str, str]:
    name = environ.get("USER") or "you"
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", f"{name}@demo.invalid"))
    }
