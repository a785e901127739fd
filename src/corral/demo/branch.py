"""What a demo agent does with git, in the directory that it works in."""

import os

from corral.demo.commit import git_environment
from corral.demo.inbox import Inbox
from corral.demo.running import GiveUp, Ran, run


class Branch:
    """The branch that is checked out in the working directory."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    def commit(self, message: str) -> str:
        """Commit everything that changed; the short name of the commit."""
        env = self._environment()
        self._do(["add", "-A"], env)
        # It is not the person who commits, so it does not sign with the person's key.
        self._do(["commit", "--quiet", "--no-gpg-sign", f"--message={message}"], env)
        return self._git(["rev-parse", "--short", "HEAD"], env).output.strip()

    def merge(self, other: str) -> None:
        """Take in another branch, whole or not at all."""
        env = self._environment()
        try:
            self._do(["merge", "--quiet", "--no-edit", "--no-gpg-sign", other], env)
        except GiveUp:
            self._git(["merge", "--abort"], env)
            raise

    def _environment(self) -> dict[str, str]:
        configured = self._git(["config", "user.email"], git_environment(os.environ, True)).code == 0
        return git_environment(os.environ, configured)

    def _do(self, arguments: list[str], env: dict[str, str]) -> None:
        code, output, errors = self._git(arguments, env)
        if code != 0:
            raise GiveUp(f"git {arguments[0]}: {_gist(output + errors) or f'exit code {code}'}")

    def _git(self, arguments: list[str], env: dict[str, str]) -> Ran:
        return run(["git", *arguments], env, self._inbox)


def _gist(said: str) -> str:
    """The line of git's words that says what is wrong; explanations may follow it."""
    lines = said.strip().splitlines()
    wrong = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return next(iter(wrong + lines[-1:]), "")
