"""Shells of users that stay open while a test goes on: after a log-in, or in a scope as agents are."""

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.support.users import User


class Shell:
    """A shell of somebody's: `run` has it do something."""

    def __init__(self, shell: "subprocess.Popen[str]") -> None:
        self._shell = shell

    def run(self, line: str) -> tuple[int, str]:
        """The exit code and all that was said."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        mark = secrets.token_hex(8)
        self._shell.stdin.write(f"{{ {line}\n}} 2>&1 </dev/null; code=$?; echo; echo {mark} $code\n")
        self._shell.stdin.flush()
        said: list[str] = []
        for heard in self._shell.stdout:
            if heard.startswith(mark):
                return int(heard.split()[1]), "".join(said)
            said.append(heard)
        raise AssertionError(f"the shell ended: {''.join(said)}")


@contextmanager
def logged_in(user: User, *before: str) -> Iterator[Shell]:
    """A shell in a session of its own, which ends with the block; `before` are words before the shell's name."""
    shell = user.start(*before, "sh")
    try:
        yield Shell(shell)
    finally:
        assert shell.stdin is not None
        shell.stdin.close()
        shell.wait(30)
        assert shell.stdout is not None
        shell.stdout.close()


@contextmanager
def in_scope(user: User, unit: str) -> Iterator[Shell]:
    """A shell in a scope of the user's manager, which ends with the block."""
    with logged_in(user, "systemd-run", "--user", "--quiet", "--scope", f"--unit={unit}") as shell:
        yield shell
