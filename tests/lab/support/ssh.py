"""An ssh server of a test's own, on this machine, to which root has a key for every user."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.support.shared import system
from tests.support.waiting import wait_for

_PORT = 2022


@contextmanager
def ssh_server(directory: Path) -> Iterator[list[str]]:
    """The words by which root gets in, as long as the block lasts; keys are put into `directory`."""
    os.chmod(directory, 0o755)
    for name in ("host", "own"):
        system("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{directory}/{name}")
    os.makedirs("/run/sshd", exist_ok=True)
    options = {
        "Port": str(_PORT),
        "ListenAddress": "127.0.0.1",
        "HostKey": f"{directory}/host",
        "PidFile": "none",
        "AuthorizedKeysFile": f"{directory}/own.pub",
        "StrictModes": "no",
        "UsePAM": "yes",
    }
    words = [f"-o{name}={value}" for name, value in options.items()]
    with subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", *words]) as server:
        try:
            wait_for(_is_listening, 30, "sshd listens")
            silent = ["-oStrictHostKeyChecking=no", f"-oUserKnownHostsFile={directory}/known", "-oLogLevel=ERROR"]
            yield ["ssh", "-p", str(_PORT), "-i", f"{directory}/own", *silent]
        finally:
            server.terminate()


def _is_listening() -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", _PORT)) == 0
