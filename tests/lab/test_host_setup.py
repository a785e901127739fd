"""`corral host setup` and `remove` on a real machine: what is made, twice changes nothing, nothing is left."""

import grp
import json
import os
import pwd
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.shared import add_member, as_daemon, ask, footprint, host, missing, shared_server, system
from tests.lab.support.users import User

SUDOERS = "/etc/sudoers.d/corral"
#: The kinds of steps that take a host with no members away again.
REMOVAL = "disable_service remove_file reload_units remove_tree remove_directory delete_user delete_group".split()
MADE = {
    "/etc/corral": "root:root 755",
    "/etc/corral/host.json": "root:root 644",
    "/etc/sudoers.d/corral": "root:root 440",
    "/etc/systemd/system/corral.service": "root:root 644",
    "/etc/systemd/user/corral-keeper.service": "root:root 644",
    "/etc/tmpfiles.d/corral.conf": "root:root 644",
    "/run/corral": "root:corral 1771",
    "/run/corral/daemon.sock": "corral:corral 600",
    "/run/corral/keepers": "root:root 711",
    "/srv/corral": "root:root 711",
    "/usr/local/libexec/corral": "root:root 755",
    "/usr/local/libexec/corral/helper": "root:root 755",
    "/var/lib/corral": "corral:corral 700",
    "/var/lib/corral-host/linger": "root:root 755",
}


@pytest.fixture
def server() -> Iterator[None]:
    with shared_server():
        yield


def described(path: str) -> str:
    info = os.lstat(path)
    owner, group = pwd.getpwuid(info.st_uid).pw_name, grp.getgrgid(info.st_gid).gr_name
    return f"{owner}:{group} {stat.S_IMODE(info.st_mode):o}"


def stamps() -> dict[str, tuple[int, int]]:
    return {path: ((info := os.lstat(path)).st_ino, info.st_mtime_ns) for path in MADE}


def test_a_fresh_machine_lacks_everything_and_a_check_changes_nothing() -> None:
    before = footprint()
    assert {step["subject"] for step in missing()} >= {*MADE, "corral-members", "corral-agents"} - {
        "/run/corral/daemon.sock"
    }
    assert footprint() == before


def test_everything_is_made_with_its_owner_and_mode(server: None) -> None:
    assert {path: described(path) for path in MADE} == MADE
    user = pwd.getpwnam("corral")
    assert (user.pw_uid < 1000, user.pw_dir, user.pw_shell) == (True, "/var/lib/corral", "/usr/sbin/nologin")
    assert system("passwd", "--status", "corral").stdout.split()[1] == "L", "nobody can log in as it"
    assert system("systemctl", "is-enabled", "corral.service").stdout == "enabled\n"
    assert missing() == []


def test_run_twice_it_changes_nothing(server: None) -> None:
    before = stamps()
    pid = system("systemctl", "show", "--property=MainPID", "corral.service").stdout
    assert host("setup", "--yes").stdout == "this host is set up: there is nothing to do\n"
    assert json.loads(host("setup", "--yes", "--json").stdout) == {"ready": True, "done": []}
    assert stamps() == before
    assert system("systemctl", "show", "--property=MainPID", "corral.service").stdout == pid


def test_what_was_changed_is_found_and_put_right(server: None) -> None:
    os.chmod("/run/corral", 0o777)
    os.chmod(SUDOERS, 0o644)
    system("systemctl", "disable", "--now", "corral.service")
    Path("/usr/local/libexec/corral/helper").write_text("#!/bin/sh\n")
    assert {step["subject"] for step in missing()} == {
        "/run/corral",
        SUDOERS,
        "/usr/local/libexec/corral/helper",
        "corral.service",
    }
    host("setup", "--yes")
    assert missing() == []
    assert {path: described(path) for path in MADE} == MADE


def test_what_stands_open_is_found_with_all_else_and_closed(server: None, ann: User) -> None:
    add_member(ann)
    assert ask("keeper_directory", "ann")[0] == 0
    keepers = f"/run/corral/keepers/{ann.uid}"
    system("usermod", "--shell", "/bin/bash", "--append", "--groups", "sudo", "corral")
    system("gpasswd", "--add", "ben", "corral")
    system("chmod", "777", "/usr/local/libexec/corral", keepers)
    system("chmod", "755", "/var/lib/corral/audit")
    system("chmod", "666", "/run/corral/daemon.sock")
    found = [(step["action"], step["subject"]) for step in missing()]
    assert sorted(found) == [
        ("leave_user", "ben:corral"),
        ("leave_user", "corral:sudo"),
        ("make_directory", keepers),
        ("make_directory", "/usr/local/libexec/corral"),
        ("make_directory", "/var/lib/corral/audit"),
        ("mend_user", "corral"),
        ("start_service", "corral.service"),
    ]
    host("setup", "--yes")
    assert missing() == []
    assert {path: described(path) for path in MADE} == MADE
    assert described(keepers) == "ann:corral 750"
    assert os.stat("/run/corral/daemon.sock").st_mode & 0o007 == 0
    assert system("id", "--name", "--groups", "corral").stdout.split() == ["corral"]
    # What nobody but a person can put right hides nothing of the rest.
    system("chmod", "777", "/run/corral/keepers")
    os.unlink(SUDOERS)
    os.symlink("/nowhere", SUDOERS)
    done = host("setup", "--check", "--json", check=False)
    assert (done.returncode, f"{SUDOERS} is there and is a symbolic link" in done.stderr) == (4, True)
    assert {step["subject"] for step in json.loads(done.stdout)["missing"]} == {SUDOERS, "/run/corral/keepers"}
    os.unlink(SUDOERS)
    host("setup", "--yes")


def test_what_keeps_members_out_is_found_and_mended(server: None, ann: User, ben: User) -> None:
    system("corral", "member", "add", "ann", "--role", "junior")
    system("corral", "member", "add", "ben", "--role", "junior")
    system("gpasswd", "--delete", "ben", "corral-members")
    os.unlink("/run/corral/keeper.env")
    found = [(step["action"], step["subject"]) for step in missing()]
    assert found == [("start_service", "corral.service"), ("join_members", "ben")]
    host("setup", "--yes")
    assert missing() == []
    os.chmod("/run/corral/keeper.env", 0o666)
    system("groupdel", "corral-members")
    host("setup", "--yes")
    assert missing() == []
    assert described("/run/corral/keeper.env") == "corral:corral 644"
    assert sorted(grp.getgrnam("corral-members").gr_mem) == ["ann", "ben"]
    assert ben.run("corral", "ps", "--json").stdout == "[]\n"


def test_what_only_a_person_can_mend_is_told_with_how(server: None, ben: User) -> None:
    own = str(pwd.getpwnam("ben").pw_gid)
    system("usermod", "--gid", "corral", "ben")
    trail = next(Path("/var/lib/corral/audit").iterdir())
    os.chown(trail, ben.uid, -1)
    try:
        done = host("setup", "--check", "--json", check=False)
    finally:
        os.chown(trail, pwd.getpwnam("corral").pw_uid, -1)
        system("usermod", "--gid", own, "ben")
    assert done.returncode == 4
    assert [step["subject"] for step in json.loads(done.stdout)["missing"]] == ["ben:corral", "audit"]
    assert "usermod --gid GROUP ben" in done.stderr
    assert f"{trail} belongs to uid {ben.uid}" in done.stderr


def killed_at(directory: Path, actions: list[str], *words: str) -> list[str]:
    """Run `corral host` again and again, killed before its first step of each kind; the kinds that it came to."""
    reached = []
    for action in actions:
        armed = directory / "armed"
        armed.touch()
        point = f"CORRAL_FAILPOINT=host.{action}:{armed}"
        done = system("env", point, "corral", "host", *words, "--yes", check=False)
        assert done.returncode in (0, -9), done.stderr
        if not armed.exists():
            reached.append(action)
    return reached


def test_whoever_is_killed_on_the_way_runs_it_again_and_it_is_finished(own_directory: Path) -> None:
    before = footprint()
    steps = list(dict.fromkeys(step["action"] for step in missing()))
    try:
        assert killed_at(own_directory, steps, "setup") == steps
        host("setup", "--yes")
        assert missing() == []
        assert {path: described(path) for path in MADE} == MADE
        assert killed_at(own_directory, REMOVAL, "remove", "--purge") == REMOVAL
    finally:
        host("remove", "--purge", "--yes")
    assert footprint() == before


def test_if_visudo_refuses_nothing_is_installed_at_all(own_directory: Path) -> None:
    """As on a host with a sudo that does not know an option of ours."""
    before = footprint()
    real = own_directory / "visudo"
    # With --quiet the real one says nothing of what is wrong.
    real.write_text("#!/bin/sh\ncase $* in *-q*) exit 1 ;; esac\necho 'unknown defaults entry' >&2\nexit 1\n")
    real.chmod(0o755)
    system("mount", "--bind", str(real), "/usr/sbin/visudo")
    try:
        done = host("setup", "--yes", "--json", check=False)
    finally:
        system("umount", "/usr/sbin/visudo")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["code"]) == (4, "refused")
    assert "unknown defaults entry" in error["message"]
    assert footprint() == before


@pytest.mark.parametrize(
    ("change", "told"), [(["chown", "ann"], "belongs to uid"), (["chmod", "o+w"], "can be written by others")]
)
def test_a_corral_that_others_can_change_is_not_set_up(change: list[str], told: str) -> None:
    module = "/corral/src/corral/places.py"
    before = footprint()
    system(*change, module)
    try:
        done = host("setup", "--yes", "--json", check=False)
    finally:
        system("chown", "root", module)
        system("chmod", "644", module)
    assert done.returncode == 4
    assert f"{module} {told}" in json.loads(done.stderr)["error"]["message"]
    assert footprint() == before


def test_members_linger_from_then_on_and_no_longer_after_the_removal(cleo: User) -> None:
    assert not cleo.lingers
    with shared_server():
        add_member(cleo)
        assert [(step["action"], step["subject"]) for step in missing()] == [("linger_on", "cleo")]
        host("setup", "--yes")
        assert cleo.lingers
        assert cleo.systemctl("is-system-running", "--wait").stdout.strip() == "running"
    assert not cleo.lingers


def test_managers_of_members_read_a_changed_unit_and_their_keepers_go_with_the_removal(ann: User) -> None:
    unit = Path("/etc/systemd/user/corral-keeper.service")
    with shared_server(ann):
        ask("keeper_start", "ann")
        unit.write_text(unit.read_text().replace("Description=", "Description=Another "))
        ann.systemctl("daemon-reload")
        assert [step["action"] for step in missing()] == ["write_file", "reload_units", "reload_manager"]
        host("setup", "--yes")
        assert "Another" not in ann.systemctl("show", "--property=Description", "corral-keeper.service").stdout
        pid = int(ann.systemctl("show", "--property=MainPID", "--value", "corral-keeper.service").stdout)
        document = json.loads(host("remove", "--yes", "--json").stdout)
        assert ("stop_keeper", "ann") in [(step["action"], step["subject"]) for step in document["done"]]
        assert not os.path.exists(f"/proc/{pid}")
        assert f"{ann.home}/.local/state/corral-host, of the keeper of ann" in document["left"]


def test_nothing_is_left_of_places_that_workspaces_have_moved_from() -> None:
    with shared_server():
        host("setup", "--workspaces", "/data-of-the-lab/ws", "--yes")
        assert described("/data-of-the-lab/ws") == "root:root 711"
    assert not os.path.exists("/data-of-the-lab"), "and of /srv/corral the footprint tells"


def test_a_directory_that_somebody_uses_is_neither_taken_nor_removed() -> None:
    used, elsewhere = Path("/srv/data-of-the-lab"), Path("/srv/report.csv")
    used.mkdir(mode=0o755)
    (used / "report.csv").write_text("1,2\n")
    try:
        before = footprint()
        done = host("setup", "--workspaces", str(used), "--yes", "--json", check=False)
        assert done.returncode == 4
        assert "report.csv is in it" in json.loads(done.stderr)["error"]["message"]
        assert (footprint(), described(str(used))) == (before, "root:root 755")
        (used / "report.csv").rename(elsewhere)
        with shared_server():
            host("setup", "--workspaces", str(used), "--yes")
            elsewhere.rename(used / "report.csv")
            assert missing() == []
            document = json.loads(host("remove", "--purge", "--yes", "--json").stdout)
            assert document["left"] == [f"{used}/report.csv, which is no workspace"]
        assert (used / "report.csv").read_text() == "1,2\n"
    finally:
        shutil.rmtree(used)


def test_linger_that_somebody_had_before_stays(ann: User) -> None:
    with shared_server(ann):
        assert os.listdir("/var/lib/corral-host/linger") == []
    assert ann.lingers


def test_without_purge_data_stays_with_its_owner_and_is_named(server: None) -> None:
    document = json.loads(host("remove", "--yes", "--json").stdout)
    assert "/var/lib/corral with its data" in document["left"]
    assert described("/var/lib/corral") == "corral:corral 700"
    for path in (
        SUDOERS,
        "/usr/local/libexec/corral",
        "/run/corral",
        "/etc/corral",
        "/etc/systemd/system/corral.service",
    ):
        assert not os.path.lexists(path), path
    assert as_daemon("sudo", "-n", "-l").returncode != 0, "no right is left to anybody"
    host("setup", "--yes")
    assert missing() == [], "and it is found again"


def test_a_user_is_not_set_up_by_another_user(ann: User) -> None:
    done = ann.run("corral", "host", "setup", "--yes", check=False)
    assert done.returncode == 4
    assert "sudo corral host setup" in done.stderr


def test_systemd_and_sudo_have_nothing_to_complain_of(server: None) -> None:
    said = subprocess.run(
        ["systemd-analyze", "verify", "/etc/systemd/system/corral.service"], capture_output=True, text=True, check=False
    )
    assert "corral" not in said.stderr, said.stderr
    # What sudo leaves possible of its sandbox (ADR 19); less would be worse.
    system("systemd-analyze", "security", "--no-pager", "--threshold=67", "corral.service")
    system("visudo", "--check", "--strict", f"--file={SUDOERS}")
