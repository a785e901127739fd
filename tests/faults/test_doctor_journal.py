"""What `corral doctor --fix` did is in the journal: who did what, and what came of it."""

import getpass
import os
import subprocess
from pathlib import Path

from tests.faults.support.disks import Disk
from tests.faults.support.ghosts import doctor, down, fixes, found
from tests.faults.support.population import environment
from tests.faults.support.teams import IDLE, pids, toml
from tests.support.instance import Instance


def _up(instance: Instance) -> dict[str, int]:
    instance.spec(toml({"a": {"command": IDLE, "count": 2}}))
    instance.run("up")
    return pids(instance)


def test_a_fix_is_an_event_with_who_what_and_outcome(instance: Instance) -> None:
    variables = {**environment(_up(instance)["a-1"]), "CORRAL_RUN": "0123456789ab"}
    with subprocess.Popen(["sleep", "86400"], env=variables, start_new_session=True) as orphan:
        doctor(instance)
        assert fixes(instance) == []
        doctor(instance, "--fix")
        orphan.wait(10)
    (event,) = fixes(instance)
    assert (event["team"], event["agent"], event["outcome"]) == ("shop", "a-1", "ok")
    assert event["who"] == {"user": getpass.getuser(), "uid": os.getuid(), "agent": ""}
    assert (event["data"]["check"], event["data"]["subject"]) == ("orphans", "shop/a-1")
    assert "they were ended" in event["data"]["message"]
    down(instance)


def test_one_that_failed_is_an_event_too(instance: Instance) -> None:
    stray = {**environment(_up(instance)["a-1"]), "CORRAL_RUN": "0123456789ab"}
    script = ["sh", "-c", '"$@"; :', "sh", *instance.argv("doctor", "--fix")]
    subprocess.run(script, env={**instance.environment(), **stray}, capture_output=True, timeout=60, check=False)
    (event,) = fixes(instance)
    assert (event["outcome"], event["data"]["check"]) == ("failed", "orphans")
    assert event["who"]["agent"] == "shop/a-1"
    down(instance)


def test_with_nothing_to_heal_no_daemon_is_started(instance: Instance) -> None:
    _up(instance)
    down(instance)
    instance.run("daemon", "stop")
    assert doctor(instance, "--fix")["healthy"]
    assert not os.path.exists(os.path.join(instance.runtime, "daemon.sock"))


def test_where_no_daemon_can_start_it_heals_all_the_same_and_says_so(home_disk: Disk, instance: Instance) -> None:
    """A directory of ours is open to others, on a host whose disk is full."""
    os.makedirs(instance.runtime, 0o700)
    os.chmod(instance.runtime, 0o755)
    with home_disk.full():
        document = doctor(instance, "--fix")
    assert found(document, "directories", fixed=True)
    (finding,) = found(document, "journal")
    assert (finding["severity"], finding["ours"]) == ("warning", True)
    assert not document["healthy"]
    assert Path(instance.runtime).stat().st_mode & 0o777 == 0o700
