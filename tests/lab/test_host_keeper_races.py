"""What a member swaps in a place of their own, while the daemon goes there: it is never led to somebody else's."""

from collections.abc import Iterator

import pytest

from tests.lab.support.people import leave, pids, rows, states, up
from tests.lab.support.shared import shared_server, system
from tests.lab.support.users import User
from tests.support.waiting import wait_for


@pytest.fixture
def server(ann: User, ben: User) -> Iterator[None]:
    """One of the test's own, whose daemon starts again."""
    with shared_server(ann, ben):
        yield
        leave(ann, ben)


#: Puts a link to somebody else's socket in the place of one's own, and takes it away, until there is a file.
SWAPPER = """
import os, sys
own, theirs, stop = sys.argv[1:]
while not os.path.exists(stop):
    try:
        os.rename(own, own + ".own")
        os.symlink(theirs, own)
        os.unlink(own)
        os.rename(own + ".own", own)
    except OSError:  # a keeper whose socket is not where it was ends, and another one comes
        if os.path.lexists(own + ".own"):
            os.replace(own + ".own", own)
"""


def test_a_link_that_comes_and_goes_in_the_place_of_a_keeper_leads_to_nobody_elses(
    server: None, ann: User, ben: User
) -> None:
    up(ann, "shop")
    up(ben, "mill")
    before, places = pids(ann), [f"/run/corral/keepers/{user.uid}/keeper.sock" for user in (ben, ann)]
    stop = f"/run/user/{ben.uid}/stop"
    caught, log = f"where the keeper of ben has to be, listens uid {ann.uid}", ""
    with ben.start("python3", "-c", SWAPPER, *places, stop) as swapper:
        try:
            for _ in range(20):
                # The daemon that comes connects to everybody's keeper again. systemd counts how often somebody asks.
                system("systemctl", "reset-failed", "corral.service")
                system("systemctl", "restart", "corral.service")
                assert {row["state"] for row in rows(ben) if row["team"] == "mill"} <= {"running", "unknown"}
                log = system("journalctl", "--unit", "corral.service", "--no-pager").stdout
                if caught in log:
                    break
            assert caught in log
        finally:
            ben.run("touch", stop)
            assert swapper.wait(30) == 0
            ben.run("rm", stop)
    wait_for(lambda: {*states(ben).values()} == {"running"}, 30, "ben's own keeper is found again")
    assert pids(ann) == before, "and nothing was done to ann's"
