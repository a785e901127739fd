"""What `corral doctor` says on a shared server: to a member of its own part, to root of everybody's."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.support.doctors import Document, found, not_checked
from tests.lab.support.people import daemon, keeper, leave, rows, spec, up
from tests.lab.support.shared import shared_server, system, tidy
from tests.lab.support.users import User
from tests.support.waiting import wait_for

#: What the machines of the lab lack, whatever is done.
LACKED = {"controllers"}
POLICY, CONFIG = "/var/lib/corral/policy", "/var/lib/corral/config.toml"


@pytest.fixture
def server(ann: User, ben: User) -> Iterator[None]:
    with shared_server(ann, ben):
        yield
        leave(ann, ben)
        tidy(ann, ben)


def doctor(user: User | None) -> Document:
    """As a member, or as root."""
    words = ("corral", "doctor", "--json")
    done: Any = system(*words, check=False) if user is None else user.run(*words, check=False)
    assert done.returncode in (0, 5), done.stderr
    document: Document = json.loads(done.stdout)
    return document


def wrong(document: Document) -> list[tuple[str, str]]:
    """What is not as it should be: check and subject."""
    return [
        (one["check"], one["subject"])
        for one in document["findings"]
        if one["severity"] != "ok" and one["check"] not in LACKED
    ]


def test_each_is_told_of_what_it_may_look_at_and_that_there_is_more(server: None, ann: User, ben: User) -> None:
    up(ann, "shop")
    up(ben, "mill")
    for person in (ann, ben, None):
        document = doctor(person)
        assert wrong(document) == [], document["findings"]
        assert ("other_users" in not_checked(document)) == (person is not None)
    # What a unit says at boot: of the teams that are to be seen, one's own.
    again = json.loads(ann.run("corral", "up", "--all", "--json").stdout)
    assert [team["team"] for team in again] == ["shop"]
    seen = {one["subject"] for one in found(doctor(ann), "scopes")}
    assert {"corral-shop-api.scope", "corral-shop-web.scope"} <= seen
    assert not any("mill" in subject for subject in seen)
    by_root = {(one["subject"], one["user"]) for one in found(doctor(None), "scopes")}
    assert {("corral-shop-api.scope", "ann"), ("corral-mill-api.scope", "ben")} <= by_root

    # A keeper that is stopped, a tmux server whose socket is gone, and one that is left of a team that is not up.
    stopped = keeper(ben)
    os.kill(stopped, signal.SIGSTOP)
    try:
        os.unlink(f"{ben.runtime_dir}/corral-host/tmux/mill.sock")
        document = doctor(None)
        assert found(document, "keeper", user="ben", pid=stopped), document["findings"]
        (ghost,) = found(document, "ghost_servers", user="ben")
        assert (ghost["team"], ghost["ours"], ghost["fixable"]) == ("mill", True, False)
        assert ghost["remedy"].startswith("by ben: ")
        assert not document["healthy"]
        assert found(doctor(ben), "ghost_servers", team="mill")
        assert wrong(doctor(ann)) == []
    finally:
        os.kill(stopped, signal.SIGCONT)
    ben.run("corral", "doctor", "--fix", check=False)
    wait_for(lambda: not found(doctor(None), "ghost_servers"), what="ben has healed what was his")


def test_without_the_daemon_it_is_said_what_could_not_be_told(server: None, ann: User) -> None:
    up(ann, "shop")
    stopped = daemon()
    os.kill(stopped, signal.SIGSTOP)
    try:
        for person in (ann, None):
            document = doctor(person)
            assert found(document, "daemon", pid=stopped)
            assert {"lost_sessions", "orphans", "worktrees"} <= not_checked(document).keys()
    finally:
        os.kill(stopped, signal.SIGCONT)
    # Nobody who belongs to a host has an instance of their own in its place because its daemon is away.
    system("systemctl", "stop", "corral.service")
    try:
        for words in (("ps",), ("up",), ("down", "--team", "shop"), ("events",)):
            done = ann.run("corral", *words, cwd=f"{ann.home}/shop", check=False)
            assert (done.returncode, "the daemon of this host" in done.stderr) == (6, True), done.stdout + done.stderr
        assert "lost_sessions" in not_checked(doctor(ann))
        # Nor has root, which is told what is up when it would remove the host.
        for words in (("ps",), ("up", "-f", f"{ann.home}/shop/corral.toml"), ("down", "--team", "shop")):
            done = system("corral", *words, check=False)
            assert (done.returncode, "sudo systemctl start corral.service" in done.stderr) == (6, True), done.stderr
        done = system("corral", "host", "remove", "--yes", check=False)
        assert (done.returncode, "any more: shop" in done.stderr) == (4, True), done.stderr
    finally:
        system("systemctl", "start", "corral.service")
    assert {row["state"] for row in rows(ann)} == {"running"}


def test_what_is_wrong_with_the_server_as_such_is_told_with_what_helps(server: None, ann: User, ben: User) -> None:
    # A team from before somebody became a member goes on, and nothing shows it any more.
    own = f"{ann.home}/.local/state/corral"
    file = f"{up_in_own(ann, own)}/corral.toml"
    document = doctor(ann)
    (found_own,) = found(document, "own_instances")
    assert (found_own["teams"], f"CORRAL_HOME={own} corral down -t mine" in found_own["remedy"]) == (["mine"], True)
    assert found(doctor(None), "own_instances", user="ann")
    assert "beside the shared server: mine" in ann.run("corral", "ps").stderr
    again = system("corral", "member", "add", "ann", "--json").stdout
    assert "beside the shared server: mine" in json.loads(again)["notes"][0]
    ann.run("corral", "down", "-f", file, env={"CORRAL_HOME": own})
    ann.run("corral", "daemon", "stop", env={"CORRAL_HOME": own})
    system("rm", "-r", f"{ann.home}/mine", f"{ann.runtime_dir}/corral")
    assert not found(doctor(ann), "own_instances")

    # Who is removed by force leaves a team that nobody reaches.
    up(ben, "mill")
    said = system("corral", "member", "rm", "ben", "--force").stderr
    assert "can end as long as ben is no member: mill" in said
    (left,) = found(doctor(None), "members")
    assert (left["team"], left["user"]) == ("mill", "ben")
    refused = system("corral", "down", "-t", "mill", check=False)
    assert "sudo corral member add ben --role ROLE" in refused.stderr, refused.stderr
    system("corral", "member", "add", "ben", "--role", "junior")
    system("corral", "down", "-t", "mill")
    assert not found(doctor(None), "members")

    # With a policy that cannot be used everything is denied.
    system("install", "--directory", "--owner=root", "--mode=0755", POLICY)
    try:
        with open(f"{POLICY}/rules.rego", "w") as rules:
            rules.write("package corral\n\ndeny[\n")
        os.chmod(f"{POLICY}/rules.rego", 0o644)
        system("systemctl", "restart", "corral.service")
        for person in (ann, None):
            document = doctor(person)
            (problem,) = found(document, "policy")
            assert (document["healthy"], "rules.rego" in problem["message"]) == (False, True)
            assert "sudo corral host setup --check" in problem["remedy"]
        shown = system("corral", "doctor", check=False).stdout
        assert shown.count("no_policy") == 1, shown
        checked = system("corral", "host", "setup", "--check", check=False)
        assert (checked.returncode, "rules.rego" in checked.stderr) == (3, True), checked.stderr
    finally:
        system("rm", "-r", POLICY)
        system("systemctl", "restart", "corral.service")


def checked() -> str:
    """What `corral host setup --check` says of a host that is not as it should be."""
    done = system("corral", "host", "setup", "--check", check=False)
    assert done.returncode in (3, 4), done.stdout
    assert "nothing is missing" not in done.stdout
    return done.stdout + done.stderr


def configure(text: str) -> None:
    """Write the host's config.toml; without a text there is none."""
    if text:
        with open(CONFIG, "w") as config:
            config.write(text)
    else:
        os.unlink(CONFIG)


def test_a_daemon_that_does_not_run_or_does_nothing_is_a_problem_to_whoever_looks(server: None, ann: User) -> None:
    up(ann, "shop")
    system("systemctl", "stop", "corral.service")
    for person in (ann, None):
        document = doctor(person)
        (problem,) = found(document, "daemon")
        assert (document["healthy"], problem["severity"]) == (False, "problem")
        assert problem["remedy"].startswith("sudo systemctl start corral.service; journalctl")
    assert "not running" in checked()

    # It fails as it starts.
    configure("[listen]\naddress = 7\n")
    assert "address" in checked(), "before anybody has started it by that"
    system("systemctl", "start", "corral.service", check=False)
    said = " ".join(one["message"] for one in found(doctor(None), "daemon"))
    assert ("address" in said, "does not stay up" in said) == (True, True), said
    assert found(doctor(ann), "daemon")
    assert "does not stay up" in checked()
    configure("")
    system("systemctl", "restart", "corral.service")
    assert wrong(doctor(None)) == wrong(doctor(ann)) == []

    # Somebody took its trail away: it refuses everything.
    system("mv", "/var/lib/corral/audit", "/var/lib/corral/audit.kept")
    wait_for(lambda: ann.run("corral", "ps", check=False).returncode == 7, what="the daemon has noticed")
    for person in (ann, None):
        document = doctor(person)
        (problem,) = found(document, "daemon")
        assert (document["healthy"], "refuses everything" in problem["message"]) == (False, True)
    assert "refuses everything" in checked()
    system("systemctl", "restart", "corral.service")
    system("rm", "-r", "/var/lib/corral/audit.kept")
    assert wrong(doctor(ann)) == []

    # Nobody can reach it: it ends by itself, and another comes.
    pid = daemon()
    os.unlink("/run/corral/daemon.sock")
    (gone,) = found(doctor(None), "daemon")
    assert (str(pid) in gone["message"], "systemd starts another" in gone["remedy"]) == (True, True)
    assert found(doctor(ann), "daemon")
    wait_for(lambda: daemon() not in (0, pid) and not found(doctor(ann), "daemon"), seconds=60, what="another daemon")
    assert {row["state"] for row in rows(ann)} == {"running"}


def test_what_the_set_up_lacks_and_what_the_helper_refuses_is_told_by_doctor_and_check(server: None, ann: User) -> None:
    os.rename("/etc/sudoers.d/corral", "/etc/corral/kept")
    try:
        (lacks,) = found(doctor(None), "host_setup")
        assert lacks["subject"] == "/etc/sudoers.d/corral"
    finally:
        os.rename("/etc/corral/kept", "/etc/sudoers.d/corral")
    for mode, word in ((0o777, "can be changed by others"), (0o700, "cannot be passed by everybody")):
        os.chmod("/srv", mode)
        try:
            assert word in checked()
            assert any(word in one["message"] for one in found(doctor(None), "host_setup"))
        finally:
            os.chmod("/srv", 0o755)
    # What else sudo is told of the daemon, in files that are others'.
    said = "/etc/sudoers.d/zz-other"
    for rule, word in (
        ("corral ALL=(ALL) !ALL", "does not let corral"),
        ("corral ALL=(ALL) NOPASSWD: ALL", "may do more"),
    ):
        with open(said, "w") as file:
            file.write(f"{rule}\n")
        os.chmod(said, 0o440)
        try:
            assert word in checked()
            assert any(word in one["message"] for one in found(doctor(None), "host_setup"))
        finally:
            os.unlink(said)
    system("usermod", "--password", "$y$j9T$x$x", "corral")
    assert "lock the password" in checked()
    system("corral", "host", "setup", "--yes")
    assert wrong(doctor(None)) == []

    # Checkpoints go where the unit lets them.
    kept = "/srv/kept checkpoints"
    system("install", "-d", "-o", "corral", "-g", "corral", "-m", "0700", kept)
    configure(f'[audit]\ncheckpoint_directory = "{kept}"\ncheckpoint_every = "1s"\n')
    try:
        system("systemctl", "restart", "corral.service")
        wait_for(lambda: "not shipped" in checked(), what="it says that they cannot be put there")
        assert "corral.service (root:root 0644)" in checked()
        system("corral", "host", "setup", "--yes")
        wait_for(lambda: os.listdir(kept), what="they are there")
        assert wrong(doctor(None)) == []
    finally:
        configure("")
        system("corral", "host", "setup", "--yes")
        system("rm", "-r", kept)


def test_who_has_no_service_manager_is_told_so_with_what_helps(server: None, ann: User) -> None:
    up(ann, "shop")
    unit = f"user@{ann.uid}.service"
    system("systemctl", "stop", unit)
    try:
        refused = system("corral", "restart", "-t", "shop", "api", check=False)
        assert (refused.returncode, f"sudo systemctl start {unit}" in refused.stderr) == (6, True), refused.stderr
        (lacks,) = found(doctor(None), "linger", subject="ann")
        assert "service manager of ann" in lacks["message"]
        assert "start the service manager of ann" in checked()
        system("loginctl", "disable-linger", "ann")
        assert found(doctor(None), "linger", subject="ann")
        assert not doctor(ann)["healthy"], "who has logged in has a manager, and not for long"
    finally:
        system("loginctl", "enable-linger", "ann")  # as before the test; what a set-up turns on, a removal turns off
        system("corral", "host", "setup", "--yes")
    assert not found(doctor(None), "linger")
    system("corral", "down", "-t", "shop")


def up_in_own(user: User, home: str) -> str:
    """A team `mine` in an instance of the user's own; the directory of its file."""
    directory = spec(user, "mine", '[team]\nname = "mine"\n[agents.a]\ncommand = ["sleep", "1000"]\n')
    user.run("corral", "up", cwd=directory, env={"CORRAL_HOME": home})
    return directory
