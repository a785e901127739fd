"""Teams of several people on one server: each run by the keeper of its user, and by nobody else's."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.people import daemon, down, events, keeper, leave, pids, repository, rows, states, up
from tests.lab.support.shared import shared_server, system, tidy
from tests.lab.support.users import User, cgroup
from tests.support.waiting import wait_for


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """For all of this file: it takes a while to set one up."""
    with shared_server(User("ann"), User("ben")):
        yield


@pytest.fixture
def server(one_server: None, ann: User, ben: User) -> Iterator[None]:
    """A server with ann and ben as its members, to which whatever was done is undone."""
    yield
    leave(ann, ben)
    tidy(ann, ben)


def test_two_people_have_their_teams_side_by_side(server: None, ann: User, ben: User) -> None:
    up(ann, "shop")
    up(ben, "mill")
    for person in (ann, ben):
        seen = {(row["team"], row["agent"]): row for row in rows(person)}
        assert {key: (row["user"], row["state"]) for key, row in seen.items()} == {
            ("shop", "api"): ("ann", "running"),
            ("shop", "web"): ("ann", "running"),
            ("mill", "api"): ("ben", "running"),
            ("mill", "web"): ("ben", "running"),
        }
        assert {row["host"] for row in seen.values()} == {os.uname().nodename}
    for row in rows(ann):
        owner = ann if row["user"] == "ann" else ben
        assert os.stat(f"/proc/{row['pid']}").st_uid == owner.uid
        assert cgroup(row["pid"]).startswith(f"/user.slice/user-{owner.uid}.slice/user@{owner.uid}.service/")
    corral = int(system("id", "--user", "corral").stdout)
    of_daemon = [pid for pid in os.listdir("/proc") if pid.isdigit() and os.stat(f"/proc/{pid}").st_uid == corral]
    of_daemon.remove(str(daemon()))
    beside = [Path("/proc", pid, "cmdline").read_text().split("\0")[-2] for pid in of_daemon]
    assert beside == ["corral.adapters.policy.engine_process"], "nothing but the daemon, and what decides for it"
    for person, team in ((ann, "shop"), (ben, "mill")):
        receipt = down(person, team)
        assert receipt["clean"], receipt
        assert all(check["found"] == 0 for check in receipt["checks"])
    assert rows(ann) == []


def test_a_name_that_is_anothers_is_refused(server: None, ann: User, ben: User) -> None:
    up(ann, "shop")
    denied = up(ben, "shop", check=False)
    assert (denied.returncode, json.loads(denied.stderr)["error"]["code"]) == (4, "denied")
    # Nor by who may do everything to what runs: it would be run as ann.
    system("corral", "member", "add", "ben", "--role", "owner")
    refused = up(ben, "shop", check=False)
    system("corral", "member", "add", "ben", "--role", "junior")
    error = json.loads(refused.stderr)["error"]
    assert (refused.returncode, error["code"], error["holder"]) == (4, "refused", "ann")
    assert {row["user"] for row in rows(ben)} == {"ann"}
    # Nor when nothing of it runs: ann's tasks and messages are kept under that name.
    down(ann, "shop")
    left = up(ben, "shop", check=False)
    error = json.loads(left.stderr)["error"]
    assert (left.returncode, error["code"], error["holder"]) == (4, "refused", "ann")


def test_a_keeper_that_is_killed_concerns_its_user_alone(server: None, ann: User, ben: User) -> None:
    up(ann, "shop")
    up(ben, "mill")
    before, mark = pids(ann), events(ann)[-1]["seq"]
    pid, bens = keeper(ann), keeper(ben)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: keeper(ann) not in (0, pid), what="ann's keeper is there again")
    wait_for(lambda: set(states(ann).values()) == {"running"}, what="all are found again")
    assert pids(ann) == before
    assert keeper(ben) == bens
    since = events(ann, mark)
    assert [event["data"] for event in since if event["event"] == "keeper.lost"] == [{"user": "ann"}]
    assert not [event for event in since if event["team"] == "mill" and event["outcome"] != "ok"]


def test_a_keeper_that_is_stopped_concerns_its_user_alone(server: None, ann: User, ben: User) -> None:
    repository(ann, "shop")
    up(ann, "shop")
    up(ben, "mill")
    own = json.loads(ann.run("corral", "exec", "--json", "--background", "shop/api", "--", "sleep", "99").stdout)
    hook = ("corral", "hook", "claude", "pre-tool-use")
    place = f"{ben.home}/mill"
    bens = {"session_id": "s", "cwd": place, "tool_name": "Write", "tool_input": {"file_path": f"{place}/x"}}
    anns = {"session_id": "s", "cwd": f"{ann.home}/shop", "tool_name": "Write", "tool_input": {"file_path": "x"}}
    stopped = keeper(ben)
    os.kill(stopped, signal.SIGSTOP)
    try:
        # His own hook waits for his keeper, and nobody else's does.
        with ben.start(*hook) as waiting:
            assert waiting.stdin is not None
            waiting.stdin.write(json.dumps(bens))
            waiting.stdin.close()
            ann.run("corral", "port", "get", "web", "--agent", "shop/api", timeout=8)
            written = ann.run(*hook, input=json.dumps(anns), timeout=8)
            assert "deny" not in written.stdout, written.stdout
            waiting.terminate()
        listed = ann.run("corral", "proc", "ls", "--all", "--json")
        assert [process["process_id"] for process in json.loads(listed.stdout)] == [own["process_id"]]
        assert "mill is not known" in listed.stderr
        ports = json.loads(ann.run("corral", "port", "ls", "--json").stdout)
        assert {(port["team"], bool(port["unknown"])) for port in ports} == {("shop", False), ("mill", True)}
        stats = json.loads(ann.run("corral", "stats", "--json").stdout)
        assert {(stat["team"], bool(stat["unknown"])) for stat in stats} == {("shop", False), ("mill", True)}
        ann.run("corral", "proc", "kill", own["process_id"])
        assert ann.run("corral", "proc", "ls", "--team", "mill", check=False).returncode == 6
    finally:
        os.kill(stopped, signal.SIGCONT)


def test_stop_and_restart_are_done_by_the_right_keeper(server: None, ann: User, ben: User) -> None:
    up(ann, "shop")
    up(ben, "mill")
    ann.run("corral", "stop", "shop/api")
    assert states(ann)["shop", "api"] == "stopped"
    ann.run("corral", "restart", "shop/api", "shop/web")
    assert set(states(ann).values()) == {"running"}
    assert {row["user"] for row in rows(ann) if row["team"] == "shop"} == {"ann"}


SQUATTER = """
import socket, sys, time
one = socket.socket(socket.AF_UNIX)
one.bind(sys.argv[1])
one.listen()
time.sleep(100)
"""


def test_a_socket_that_somebody_else_serves_is_no_keeper(server: None, ann: User, ben: User) -> None:
    place = f"/run/corral/keepers/{ann.uid}"
    system("install", "-d", "-o", "ann", "-g", "corral", "-m", "0755", place)
    ann.run("chmod", "0777", place)  # it is hers, so she may be as careless as she likes
    with ben.start("python3", "-c", SQUATTER, f"{place}/keeper.sock") as squatter:
        try:
            wait_for(lambda: os.path.exists(f"{place}/keeper.sock"), what="ben listens there")
            os.chmod(f"{place}/keeper.sock", 0o777)
            done = up(ann, "shop", check=False)
            assert done.returncode == 4, done.stderr
            assert json.loads(done.stderr)["error"]["holder"] == "ben"
            assert rows(ann) == []
            log = system("journalctl", "--unit", "corral.service", "--no-pager").stdout
            assert f"listens uid {ben.uid}" in log
        finally:
            squatter.terminate()
    Path(f"{place}/keeper.sock").unlink()
