"""Members and the daemon: a new one knows them, the policy is asked with them, and without one nothing is guessed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.members import is_in, member, refused, told
from tests.lab.support.shared import shared_server, system
from tests.lab.support.users import User
from tests.support.waiting import wait_for


@pytest.fixture
def server() -> Iterator[None]:
    """One for each test, since each has its daemon start again."""
    with shared_server():
        try:
            yield
        finally:
            for one in json.loads(member("ls", "--json").stdout):
                member("rm", one["user"])


def test_members_outlive_the_daemon_and_the_policy_is_asked_with_them(server: None, ann: User, ben: User) -> None:
    told("add", "ann", "--role", "junior")
    told("add", "ben", "--role", "senior", "--team", "shop")
    system("systemctl", "restart", "corral.service")
    words = ("corral", "policy", "check", "--as", "ben", "attach", "ann/builder")
    done = ann.run(*words, "--json")
    answer = json.loads(done.stdout)
    assert (answer["allow"], answer["rule"]) == (True, "senior.steer.below")
    who = {"uid": ben.uid, "user": "ben", "member": True, "role": "senior", "agent": "", "teams": ["shop"]}
    assert answer["input"]["who"] == who
    assert answer["input"]["on"]["owner_role"] == "junior"
    code, said = refused(ann.run("corral", "policy", "show", "--json", check=False))
    assert (code, "sudo corral policy show" in said) == (4, True), "she cannot read its files, and is told no others"
    told("add", "ben", "--role", "observer")
    denied = ann.run(*words, check=False)
    assert (denied.returncode, denied.stdout.startswith("denied by observer.steer")) == (4, True)


def test_a_role_of_the_host_s_own_is_one(server: None, cleo: User) -> None:
    policy = Path("/var/lib/corral/policy")
    system("install", "--directory", "--owner=root", "--mode=0755", str(policy))
    try:
        (policy / "data.json").write_text('{"tables": {"roles": {"auditor": {"grants": {"audit": ["any"]}}}}}')
        (policy / "data.json").chmod(0o644)
        system("systemctl", "restart", "corral.service")
        assert told("add", "cleo", "--role", "auditor")["member"]["role"] == "auditor"
        code, said = refused(member("add", "cleo", "--role", "chief", "--json", check=False))
        assert (code, said.endswith("there are: owner, senior, junior, observer, agent, auditor")) == (2, True)
    finally:
        system("rm", "-r", str(policy))
        system("systemctl", "restart", "corral.service")


def test_where_the_daemon_is_not_or_is_not_for_me_nothing_is_guessed(server: None, ben: User, dev: User) -> None:
    code, said = refused(ben.run("corral", "member", "ls", "--json", check=False))
    assert (code, "sudo corral member ls" in said) == (6, True), "ben is no member"
    system("systemctl", "stop", "corral.service")
    try:
        code, said = refused(member("add", "ben", "--role", "junior", "--json", check=False))
    finally:
        system("systemctl", "start", "corral.service")
    assert (code, "sudo systemctl start corral.service" in said) == (6, True)
    assert is_in("corral-members") == []
    own = {"CORRAL_HOME": f"{dev.home}/.local/own", "CORRAL_RUNTIME_DIR": f"{dev.home}/.local/own/run"}
    code, said = refused(dev.run("corral", "member", "ls", "--json", env=own, check=False))
    assert (code, "nobody but you" in said) == (4, True)


def _is_told_not_to_stay_up() -> bool:
    """Between two starts it is `activating`; nothing waits for that here but the test."""
    done = system("corral", "host", "setup", "--check", check=False)
    return (done.returncode, "does not stay up" in done.stderr) == (3, True)


def test_units_of_members_are_themselves_where_root_says_so(server: None, ann: User) -> None:
    told("add", "ann", "--role", "junior")
    unit = ("systemd-run", "--user", "--quiet", "--collect", "--pipe", "--wait", "corral", "ps", "--json")
    code, said = refused(ann.run(*unit, check=False))
    assert (code, "a user's service manager runs" in said, "trust_user_units" in said) == (4, True, True)
    config = Path("/var/lib/corral/config.toml")
    config.write_text("[identity]\ntrust_user_units = true\n")
    config.chmod(0o644)
    try:
        system("systemctl", "restart", "corral.service")
        assert json.loads(ann.run(*unit).stdout) == []
        config.write_text("[identity]\ntrust_user_units = 1\n")
        assert system("systemctl", "restart", "corral.service", check=False).returncode != 0, "nothing is guessed"
        wait_for(_is_told_not_to_stay_up, what="the set-up says that it fails again and again")
    finally:
        config.unlink()
        system("systemctl", "reset-failed", "corral.service")
        system("systemctl", "restart", "corral.service")
    assert ann.run(*unit, check=False).returncode == 4
