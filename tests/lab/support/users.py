"""The users of a machine, and commands that they run: as after a log-in, or as a bare process."""

import os
import pwd
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tests.support import processes
from tests.support.processes import Process

Result = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class User:
    """A user of this machine, by name."""

    name: str

    @cached_property
    def account(self) -> pwd.struct_passwd:
        return pwd.getpwnam(self.name)

    @property
    def uid(self) -> int:
        return self.account.pw_uid

    @property
    def home(self) -> str:
        return self.account.pw_dir

    @property
    def runtime_dir(self) -> str:
        return f"/run/user/{self.uid}"

    @property
    def lingers(self) -> bool:
        return os.path.exists(f"/var/lib/systemd/linger/{self.name}")

    def run(
        self,
        *argv: str,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        input: str | None = None,  # noqa: A002 - as in subprocess.run
        check: bool = True,
        timeout: float = 60.0,
    ) -> Result:
        """Log in, run `argv`, log out; what a person has who comes by ssh.

        PAM makes a session with a scope of its own, logind starts the user's manager if it is not there, and the
        environment is that of a log-in shell, with `env` on top. Nothing of the test process shines through.
        """
        done = subprocess.run(
            self.argv(*argv, cwd=cwd, env=env),
            env=_login_environment(),
            input=input or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        if check:
            said = f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}".strip()
            assert done.returncode == 0, f"{self.name}: {shlex.join(argv)}: exit code {done.returncode}\n{said}"
        return done

    def start(
        self, *argv: str, cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Like `run`, but stay logged in while the test goes on: a session to be ended by the test."""
        return subprocess.Popen(
            self.argv(*argv, cwd=cwd, env=env),
            env=_login_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def argv(
        self, *argv: str, cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None
    ) -> list[str]:
        """The command line by which root makes this user log in and run `argv`."""
        words = ["exec", "env", "-C", os.fspath(cwd or self.home)]
        words += [f"{name}={value}" for name, value in (env or {}).items()]
        return ["runuser", "--login", self.name, "--command", shlex.join([*words, *argv])]

    def bare(self, *argv: str, check: bool = True, timeout: float = 30.0) -> Result:
        """Run `argv` with this user's rights and way to the manager, without a session: for looking only."""
        done = subprocess.run(
            argv,
            user=self.uid,
            group=self.account.pw_gid,
            extra_groups=[],
            cwd="/",
            env={"PATH": os.environ["PATH"], "HOME": self.home, "XDG_RUNTIME_DIR": self.runtime_dir},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )
        assert not check or done.returncode == 0, f"{self.name}: {shlex.join(argv)}: {done.stdout}{done.stderr}"
        return done

    def systemctl(self, *arguments: str, check: bool = True) -> Result:
        """Ask, or tell, this user's own manager."""
        return self.bare("systemctl", "--user", "--no-pager", *arguments, check=check)

    def processes(self) -> list[Process]:
        """Everything that runs with this user's id now; zombies do not run."""
        found = []
        for one in processes.snapshot().values():
            try:
                if not one.zombie and os.stat(f"/proc/{one.pid}").st_uid == self.uid:
                    found.append(one)
            except FileNotFoundError:
                continue
        return found


#: The users that a machine of the lab has. cleo alone does not linger, dev alone may become root.
EVERYONE = (User("ann"), User("ben"), User("cleo"), User("dev"))


def cgroup(pid: int) -> str:
    """Where a process is in the unified hierarchy; a host with the old ones beside it shows those in further lines."""
    with open(f"/proc/{pid}/cgroup") as file:
        return next(line[3:].rstrip("\n") for line in file if line.startswith("0::"))


def _login_environment() -> dict[str, str]:
    # Without a terminal PAM would take a log-in for a background job.
    return {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "XDG_SESSION_CLASS": "user"}
