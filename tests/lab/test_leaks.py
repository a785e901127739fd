"""The leak check of the lab finds what a test could leave on a machine, names it, and takes it away."""

import os

from tests.lab.support.leaks import LabLeaks
from tests.lab.support.users import User
from tests.support.waiting import wait_for

_LISTEN = "import socket,time; s=socket.socket(); s.bind(('127.0.0.1',20999)); s.listen(); time.sleep(1000)"


def test_everything_that_is_left_is_named_and_can_be_cleared(ann: User, cleo: User) -> None:
    check = LabLeaks()
    ann.run("sh", "-c", "setsid sleep 1001 >/dev/null 2>&1 </dev/null &")
    ann.run("systemd-run", "--user", "--quiet", "--unit=lab-left", "--slice=lab-left.slice", "sleep", "1002")
    ann.run("systemd-run", "--user", "--quiet", "--unit=lab-failed", "false")
    cleo.run("sh", "-c", f'setsid python3 -c "{_LISTEN}" >/dev/null 2>&1 </dev/null &')
    ann.run("touch", f"{ann.runtime_dir}/left", "/tmp/left")
    wait_for(lambda: any("20999" in leak for leak in check.leaks(0)), what="the socket")

    leaks = check.leaks(0.5)
    for part in (
        "sleep 1001", "sleep 1002", "unit lab-left.service of ann: active (running)", "unit lab-left.slice of ann",
        "unit lab-failed.service of ann: failed", "unit session-", "listening socket tcp port 20999",
        f"file {ann.runtime_dir}/left", "file /tmp/left",
    ):  # fmt: skip
        assert any(part in leak for leak in leaks), (part, leaks)

    check.clear()
    assert check.leaks() == []
    wait_for(lambda: not os.path.exists(cleo.runtime_dir), 10, "her runtime directory went")


def test_a_test_that_leaves_nothing_has_no_leaks(ann: User, cleo: User) -> None:
    check = LabLeaks()
    ann.run("true")
    cleo.run("systemd-run", "--user", "--scope", "--quiet", "--collect", "true")
    assert check.leaks() == []
