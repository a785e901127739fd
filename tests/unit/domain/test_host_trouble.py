"""What keeps a shared server from working although nothing of its set-up is missing."""

import pytest

from corral.domain import host_trouble
from corral.domain.errors import CorralError
from corral.domain.host_seen import ServiceSeen
from corral.domain.host_trouble import DaemonSeen


def test_of_a_daemon_that_does_its_work_there_is_nothing_to_say() -> None:
    assert host_trouble.of_daemon(DaemonSeen()) == []
    assert host_trouble.of_daemon(DaemonSeen(denied="denied by observer")) == [], "that is an answer"
    assert host_trouble.of_service(ServiceSeen(active=True)) == []
    assert host_trouble.of_policy("", "") == []


@pytest.mark.parametrize(
    ("seen", "check", "said"),
    [
        (DaemonSeen(absent=("it is not running", "start it")), "daemon", "it is not running"),
        (DaemonSeen(refuses=("no room", "make room")), "daemon", "refuses everything: no room"),
        (DaemonSeen(undecided=("no answer", "look")), "policy", "no answer"),
        (DaemonSeen(not_shipped="Read-only file system"), "daemon", "not shipped: Read-only file system"),
    ],
)
def test_what_it_cannot_do_is_told_with_what_it_is_about(seen: DaemonSeen, check: str, said: str) -> None:
    (found,) = host_trouble.of_daemon(seen)
    assert (found.check, said in found.message, bool(found.remedy)) == (check, True, True)


@pytest.mark.parametrize(
    ("service", "said"),
    [
        (ServiceSeen(active=True, starting=True), "is starting"),
        (ServiceSeen(active=True, starting=True, failing=True), "does not stay up: it has just failed"),
        (ServiceSeen(active=True, starting=True, restarts=1), "it was started again once"),
        (ServiceSeen(active=True, starting=True, failing=True, restarts=3), "it was started again 3 times"),
    ],
)
def test_a_service_that_is_not_up_is_told_of_from_its_first_failure_on(service: ServiceSeen, said: str) -> None:
    (found,) = host_trouble.of_service(service)
    assert said in found.message


def test_sudo_lets_the_daemon_run_the_helper_and_nothing_else() -> None:
    ours = '(root) NOPASSWD: NOSETENV: /usr/local/libexec/corral/helper ""'
    assert host_trouble.of_sudo("", [ours]) == []
    (refused,) = host_trouble.of_sudo("a password is required", [])
    assert (refused.check, "a password is required" in refused.message) == ("host_setup", True)
    assert host_trouble.of_sudo("", [ours, "(ALL) !ALL", "(ALL : ALL) NOPASSWD: !/bin/sh, !/bin/su"]) == []
    (more,) = host_trouble.of_sudo("", ["(ALL) NOPASSWD: !/bin/sh, /bin/cat"])
    assert "/bin/cat" in more.message
    (more,) = host_trouble.of_sudo("", ["(ALL) NOPASSWD: ALL", ours])
    assert more.message.endswith("than to run the helper: (ALL) NOPASSWD: ALL")


def test_what_is_configured_and_cannot_be_is_told_before_it_counts() -> None:
    (found,) = host_trouble.of_config(CorralError("config.toml:3: no such key", "it is spelt address"))
    assert (found.check, "config.toml:3" in found.message, found.remedy) == ("daemon", True, "it is spelt address")


def test_what_it_said_last_is_told() -> None:
    (found,) = host_trouble.of_service(ServiceSeen(active=True, failing=True, last_words="config.toml:3: no such key"))
    assert found.message.endswith("its last words: config.toml:3: no such key")
