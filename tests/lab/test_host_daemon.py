"""The daemon of a shared server, as its unit runs it: whom it answers, who it is, and what it can do from in there."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.shared import HELPER, shared_server, system, tidy
from tests.lab.support.users import User, cgroup


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """For all of this file: it takes a while to set one up."""
    with shared_server(User("ann")):
        yield


@pytest.fixture
def server(one_server: None) -> Iterator[None]:
    """A server with ann as its only member, to which whatever was done is undone."""
    yield
    tidy(User("ann"))


def main_pid() -> int:
    return int(system("systemctl", "show", "--property=MainPID", "--value", "corral.service").stdout)


def test_it_runs_as_corral_from_its_unit_with_no_rights(server: None) -> None:
    pid = main_pid()
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
    )
    corral = system("id", "--user", "corral").stdout.strip()
    assert set(status["Uid"].split()) == {corral}
    assert int(status["CapEff"], 16) == 0
    assert int(status["CapPrm"], 16) == 0
    assert cgroup(pid) == "/system.slice/corral.service"


def test_a_member_is_answered_without_setting_anything(server: None, ann: User) -> None:
    health = json.loads(ann.run("corral", "daemon", "status", "--json").stdout)
    assert (health["running"], health["pid"], health["home"]) == (True, main_pid(), "/var/lib/corral")
    assert ann.run("corral", "ps").returncode == 0
    assert "belongs to" not in ann.run("corral", "doctor", check=False).stdout, "its directories need not be ann's"


def test_somebody_else_does_not_get_through_the_door(server: None, ben: User) -> None:
    named = {"CORRAL_HOME": "/var/lib/corral", "CORRAL_RUNTIME_DIR": "/run/corral"}
    done = ben.run("corral", "ps", "--json", env=named, check=False)
    assert done.returncode != 0
    assert "Permission denied" in json.loads(done.stderr)["error"]["message"]
    told = ben.run("corral", "daemon", "status", "--json", check=False)
    assert json.loads(told.stdout) == {"running": False}, "and has an instance of their own, as ever"


def in_the_unit(script: str) -> str:
    """What a script prints that runs as the daemon does: with everything that its unit says, but for the program."""
    unit = Path("/etc/systemd/system/corral.service").read_text().splitlines()
    lines = [line for line in unit if not line.startswith(("ExecStart=", "Type=", "Restart", "WantedBy", "[Install]"))]
    at = lines.index("[Service]") + 1
    program = Path("/var/lib/corral/try.sh")
    program.write_text(script)
    system("chown", "corral", str(program))
    lines[at:at] = ["Type=oneshot", f"ExecStart=/bin/sh {program}", "StandardOutput=file:/run/corral-try"]
    place = Path("/run/systemd/system/corral-try.service")
    place.parent.mkdir(exist_ok=True)
    place.write_text("\n".join(lines))
    try:
        system("systemctl", "daemon-reload")
        system("systemctl", "start", "corral-try.service")
        return Path("/run/corral-try").read_text()
    finally:
        place.unlink()
        program.unlink()
        Path("/run/corral-try").unlink(missing_ok=True)
        system("systemctl", "reset-failed", "corral-try.service", check=False)
        system("systemctl", "daemon-reload")


def test_from_in_there_the_helper_works_through_sudo(server: None, ann: User) -> None:
    requests = [
        {"verb": "keeper_start", "user": "ann"},
        {"verb": "keeper_directory", "user": "ann"},
        {"verb": "workspace", "user": "ann", "path": "shop/api", "group": "corral-members", "mode": "0770"},
        {"verb": "workspace", "user": "ann", "path": "shop/api", "group": "corral-members", "mode": "0770"},
        {"verb": "linger", "user": "ann", "state": "on"},
        {"verb": "keeper_stop", "user": "ann"},
    ]
    script = "".join(f"echo '{json.dumps(request)}' | sudo -n {HELPER} 2>&1\n" for request in requests)
    answers = [json.loads(line) for line in in_the_unit(script).splitlines()]
    assert [answer["ok"] for answer in answers] == [True] * len(requests), answers


def test_from_in_there_little_can_be_seen_and_less_be_written(server: None, ann: User) -> None:
    script = """
for path in /home/ann /root; do ls $path >/dev/null 2>&1 && echo "can see $path"; done
for path in /etc /usr /var /srv /opt /home /run; do touch $path/try 2>/dev/null && echo "can write $path"; done
touch /tmp/try && echo "has a /tmp of its own"
sudo -n id 2>/dev/null && echo "can be root"
sudo -n /bin/sh 2>/dev/null </dev/null && echo "has a shell of root"
exit 0
"""
    assert in_the_unit(script) == "has a /tmp of its own\n"
    assert not os.path.exists("/tmp/try")
