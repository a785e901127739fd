"""A machine: boots from the tree in a second or two, holds a copy of the repository, goes without a trace.

Everything that it needs of the host is in a mount namespace, a pid namespace and a cgroup of its own. The processes go
with this one, even if it is killed; the namespaces go with the processes; the cgroup is removed at the end, or if we
were killed by the next machine.
"""

import os
import secrets
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from tests.lab.host import cgroups
from tests.lab.host.errors import LabError
from tests.lab.host.repository import repository
from tests.lab.host.tree import PRIVATE

BOOT_SECONDS = 60
OFF_SECONDS = 30
#: What systemd takes as the request to power off.
_POWER_OFF = signal.SIGRTMIN + 4
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# $1 is the cgroup, $2 the tree, the rest is the command. The repository comes as a tar archive on standard input.
# All writing goes to memory: below /run, over which we mount, as over /tmp, so that nothing of nspawn is left there
# either. The tree may be anywhere, also below one of them: so it is opened first.
_LAUNCH = r"""
set -eu
echo 0 >"$1/cgroup.procs"
exec 3<"$2"
shift 2
mount --types tmpfs --options mode=755 tmpfs /run
mkdir --parents /run/lab/upper /run/lab/work /run/lab/root
mount --types overlay --options lowerdir=/proc/self/fd/3,upperdir=/run/lab/upper,workdir=/run/lab/work lab /run/lab/root
exec 3<&-
tar --extract --directory /run/lab/root/corral --no-same-owner
mount --types tmpfs --options mode=1777 tmpfs /tmp
exec "$@" </dev/null
"""


class Machine:
    """A booted machine, for the length of a `with` block."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._leader = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._console = tempfile.TemporaryFile()  # noqa: SIM115 - closed by _end

    def __enter__(self) -> "Machine":
        for place in cgroups.abandoned():
            cgroups.remove(place)
        self._cgroup = cgroups.make()
        try:
            self._boot()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._power_off()
        finally:
            self._end()

    def argv(self, command: Sequence[str]) -> list[str]:
        """The command line that runs `command` in the machine, as root and outside of its services."""
        namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"]
        environment = ["env", "-i", f"PATH={_PATH}", f"TERM={os.environ.get('TERM', 'dumb')}", "LANG=C.UTF-8"]
        return ["nsenter", "--target", str(self._leader), *namespaces, "--", *environment, *command]

    def ask(self, *command: str, seconds: float = 30) -> str:
        """What `command` prints in the machine."""
        done = subprocess.run(self.argv(command), capture_output=True, text=True, timeout=seconds, check=False)
        if done.returncode:
            raise LabError(f"{' '.join(command)} failed in the machine", done.stdout + done.stderr)
        return done.stdout

    def run(
        self, command: Sequence[str], *, seconds: float, environment: Mapping[str, str] | None = None, tty: bool = False
    ) -> int:
        """Run `command` as a service of the machine, with our input and output; its exit code.

        A service, and not merely a process in the machine's namespaces: only so it is in the machine's cgroups, and
        only so a log-in below it makes a session of its own.
        """
        runner = ["systemd-run", "--quiet", "--wait", "--collect", "--service-type=exec", "--working-directory=/corral"]
        runner += ["--pty" if tty else "--pipe", f"--property=RuntimeMaxSec={seconds:g}"]
        runner += [f"--setenv={name}={value}" for name, value in (environment or {}).items()]
        with subprocess.Popen(self.argv([*runner, "--", *command])) as inside:
            try:
                return inside.wait(seconds + 20)
            except subprocess.TimeoutExpired:
                raise LabError(f"not done within {seconds:g} s: {' '.join(command)}", self.console()) from None
            finally:
                inside.kill()

    def console(self) -> str:
        """What the machine said while it booted, the end of it."""
        self._console.seek(0)
        return "\n".join(self._console.read().decode("utf-8", "replace").splitlines()[-60:])

    def _boot(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
            # An abstract name: there is no file that could be left.
            name = f"corral-lab-{secrets.token_hex(8)}"
            notices.bind(f"\0{name}")
            self._process = subprocess.Popen(
                # nspawn goes with us, and the machine goes with nspawn.
                [*PRIVATE, "sh", "-c", _LAUNCH, "launch", str(self._cgroup), str(self._tree), *_nspawn()],
                stdin=subprocess.PIPE,
                stdout=self._console,
                stderr=subprocess.STDOUT,
                env={"PATH": _PATH, "NOTIFY_SOCKET": f"@{name}", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
                start_new_session=True,  # a ctrl-c is for us; we then power off
            )
            assert self._process.stdin
            try:
                self._process.stdin.write(repository())
                self._process.stdin.close()
            except BrokenPipeError:
                pass  # it ended already, and the console says why
            self._await_ready(notices)
        # The boot does not wait for the managers of lingering users; tests want to.
        users = self.ask("ls", "/var/lib/systemd/linger").split()
        uids = [self.ask("id", "--user", user).strip() for user in users]
        self.ask("systemctl", "start", *(f"user@{uid}.service" for uid in uids))
        # Once for all, since users cannot write there, and every command would compile all of it again.
        self.ask("/opt/corral-venv/bin/python", "-m", "compileall", "-q", "/corral/src", "/corral/tests")

    def _await_ready(self, notices: socket.socket) -> None:
        assert self._process
        until = time.monotonic() + BOOT_SECONDS
        gone = os.pidfd_open(self._process.pid)
        try:
            while True:
                readable = select.select([notices.fileno(), gone], [], [], max(0, until - time.monotonic()))[0]
                if notices.fileno() in readable:
                    if b"READY=1" in notices.recv(65536).splitlines():
                        break
                elif gone in readable:
                    raise LabError(f"the machine ended while it booted (code {self._process.wait()})", self.console())
                else:
                    raise LabError(f"the machine did not boot within {BOOT_SECONDS} s", self.console())
        finally:
            os.close(gone)
        # nspawn tells its number in a namespace that is not ours; the machine's init.scope has the one we need. The
        # managers of users have such scopes as well, further below.
        init = min(self._cgroup.glob("**/init.scope"), key=lambda scope: len(scope.parts))
        self._leader = int((init / "cgroup.procs").read_text().split()[0])

    def _power_off(self) -> None:
        assert self._process
        os.kill(self._leader, _POWER_OFF)
        try:
            self._process.wait(OFF_SECONDS)
        except subprocess.TimeoutExpired:
            raise LabError(f"the machine did not power off within {OFF_SECONDS} s", self.console()) from None

    def _end(self) -> None:
        """Take away what is still there. After a clean power-off that is an empty cgroup."""
        cgroups.remove(self._cgroup)
        if self._process:
            try:
                self._process.wait(5)  # it waits for nspawn, which was in the cgroup
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        self._console.close()


def _nspawn() -> list[str]:
    return [
        "systemd-nspawn",
        "--quiet",
        "--directory=/run/lab/root",
        "--boot",
        "--machine=lab",
        "--hostname=lab",
        "--register=no",  # there may be no systemd here
        "--keep-unit",
        "--console=pipe",
        "--private-network",  # loopback and nothing else
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--notify-ready=yes",
    ]
