"""The daemon of a shared server, run by anybody for a try: its door, its directories, and no agents of its own."""

import grp
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.instance import Instance
from tests.support.waiting import wait_for

TEAM = '[team]\nname = "shop"\n[agents.api]\nworkspace = "shared"\ncommand = ["sleep", "1000"]\n'


@pytest.fixture
def host_daemon(own_directory: Path) -> Iterator[Path]:
    """A daemon run with `--host` for our own group; its runtime directory."""
    if os.getuid() == 0:
        pytest.skip("root is refused as the daemon of others; in the lab the ordinary tests run as somebody else")
    runtime = Path(os.environ["CORRAL_RUNTIME_DIR"])
    runtime.mkdir(mode=0o711)
    group = grp.getgrgid(os.getgid()).gr_name
    with subprocess.Popen([sys.executable, "-m", "corral", "daemon", "run", "--host", group], cwd="/") as daemon:
        try:
            wait_for(lambda: (runtime / "daemon.sock").exists(), what="it listens")
            yield runtime
        finally:
            daemon.send_signal(signal.SIGTERM)


def test_its_door_is_for_members_and_its_runtime_directory_stays_open(host_daemon: Path) -> None:
    assert stat.S_IMODE((host_daemon / "daemon.sock").stat().st_mode) == 0o600, "there are none"
    assert stat.S_IMODE(host_daemon.stat().st_mode) == 0o711
    assert (host_daemon / "keeper.env").read_text().startswith("CORRAL_INSTANCE=")


def test_it_starts_no_agent_as_itself(host_daemon: Path, own_directory: Path) -> None:
    spec = own_directory / "corral.toml"
    spec.write_text(TEAM)
    words = ["up", "--file", str(spec), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "corral", *words], capture_output=True, text=True, cwd=own_directory, check=False
    )
    assert done.returncode == 6
    assert "privileged helper" in json.loads(done.stderr)["error"]["message"]


def test_root_is_refused(instance: Instance) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be refused for being root")
    group = grp.getgrgid(os.getgid()).gr_name
    code, error = instance.error("daemon", "run", "--host", group)
    assert (code, error["code"]) == (4, "refused")
