"""Each check of the privileged helper bites. What needs root, sudo and users is in tests/lab/test_host_helper.py."""

import json
import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from corral.privileged import helper
from corral.privileged.helper import Stop

DAEMON_UID = 990
SUDO = {"SUDO_UID": "990", "SUDO_USER": "corral", "SUDO_COMMAND": helper.PROGRAM}
ROOT = (0, 0, 0)


def refusal(code: str) -> "pytest.RaisesExc[Stop]":
    return pytest.raises(Stop, check=lambda stop: stop.code == code)


# Who is served


def test_the_daemon_is_served_by_way_of_sudo() -> None:
    helper.check_caller([helper.PROGRAM], SUDO, ROOT, ROOT, DAEMON_UID)


@pytest.mark.parametrize(
    ("words", "environment", "uids", "gids", "daemon"),
    [
        (["helper"], {**SUDO, "SUDO_UID": "0"}, ROOT, ROOT, DAEMON_UID),
        (["helper"], {**SUDO, "SUDO_UID": "1000"}, ROOT, ROOT, DAEMON_UID),
        (["helper"], {**SUDO, "SUDO_UID": "0990"}, ROOT, ROOT, DAEMON_UID),
        (["helper"], {**SUDO, "SUDO_USER": "ann"}, ROOT, ROOT, DAEMON_UID),
        (["helper"], {**SUDO, "SUDO_COMMAND": helper.PROGRAM + " x"}, ROOT, ROOT, DAEMON_UID),
        (["helper"], {**SUDO, "SUDO_COMMAND": "/bin/sh"}, ROOT, ROOT, DAEMON_UID),
        (["helper"], {}, ROOT, ROOT, DAEMON_UID),
        (["helper"], {**SUDO, "SUDO_UID": "0"}, ROOT, ROOT, 0),
        (["helper"], SUDO, (990, 0, 0), ROOT, DAEMON_UID),
        (["helper"], SUDO, (0, 0, 990), ROOT, DAEMON_UID),
        (["helper"], SUDO, (990, 990, 990), (990, 990, 990), DAEMON_UID),
        (["helper"], SUDO, ROOT, (990, 0, 0), DAEMON_UID),
    ],
)
def test_nobody_else_is(
    words: list[str],
    environment: dict[str, str],
    uids: tuple[int, int, int],
    gids: tuple[int, int, int],
    daemon: int,
) -> None:
    with refusal(helper.REFUSED):
        helper.check_caller(words, environment, uids, gids, daemon)


def test_it_takes_no_arguments() -> None:
    with refusal(helper.WRONG_USE):
        helper.check_caller([helper.PROGRAM, "--help"], SUDO, ROOT, ROOT, DAEMON_UID)


def test_run_as_anybody_it_does_nothing_and_says_so(own_directory: Path) -> None:
    copy = own_directory / "helper"
    copy.write_bytes(Path(helper.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, "-I", "-S", copy],
        input='{"verb": "keeper_start", "user": "root"}',
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    assert answer["ok"] is False
    # Without the account of a daemon there is nobody to be served at all.
    assert (done.returncode, answer["error"]["code"]) in [(4, "refused"), (1, "failed")]
    assert done.stderr == ""


# What is asked


@pytest.mark.parametrize(
    "request_",
    [
        {"verb": "keeper_start", "user": "ann"},
        {"verb": "keeper_stop", "user": "_agent-1"},
        {"verb": "keeper_directory", "user": "a" * 31},
        {"verb": "workspace", "user": "ann", "path": "shop/api.v2/x_y/1", "group": "corral-members", "mode": "0750"},
        {"verb": "linger", "user": "ann", "state": "off"},
    ],
)
def test_what_is_in_order_is_taken(request_: dict[str, str]) -> None:
    assert helper.parse(json.dumps(request_).encode()) == request_


WORKSPACE = {"verb": "workspace", "user": "ann", "path": "shop/api", "group": "ann", "mode": "0700"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'"keeper_start"',
        b"null",
        b"[" * 4000,
        b'{"verb": "keeper_start", "user": "ann"} {}',
        b'{"verb": "keeper_start", "user": "ann", "user": "root"}',
        '{"verb": "keeper_start", "user": "ännchen"}'.encode(),
        b'\xff\xfe{"verb": "keeper_start", "user": "ann"}',
        b'{"verb": "shell", "user": "ann"}',
        b'{"verb": ["keeper_start"], "user": "ann"}',
        b'{"verb": "", "user": "ann"}',
        b'{"user": "ann"}',
        b'{"verb": "keeper_start"}',
        b'{"verb": "keeper_start", "user": "ann", "unit": "ssh.service"}',
        b'{"verb": "keeper_start", "user": 0}',
        b'{"verb": "keeper_start", "user": true}',
        b'{"verb": "keeper_start", "user": ["ann"]}',
        b'{"verb": "keeper_start", "user": null}',
        b'{"verb": "linger", "user": "ann", "state": "ON"}',
    ],
)
def test_what_is_not_in_order_is_wrong_use(data: bytes) -> None:
    with refusal(helper.WRONG_USE):
        helper.parse(data)


@pytest.mark.parametrize(
    "name",
    ["", "-ann", "Ann", "ann root", "ann\n", "ann\0", "ann;id", "0", "#0", "../ann", "a" * 32, "ann$", "%s", "ａnn"],
)
def test_names_are_names(name: str) -> None:
    for request in ({"verb": "keeper_start", "user": name}, {**WORKSPACE, "group": name}):
        with refusal(helper.WRONG_USE):
            helper.parse(json.dumps(request).encode())


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc",
        "..",
        "a/../b",
        "a//b",
        "a/",
        "./a",
        ".ssh",
        "a/.git",
        "a\0b",
        "a\n",
        "a b",
        "~",
        "a/b/c/d/e",
        "x" * 65,
    ],
)
def test_paths_lead_down_and_nowhere_else(path: str) -> None:
    with refusal(helper.WRONG_USE):
        helper.parse(json.dumps({**WORKSPACE, "path": path}).encode())


@pytest.mark.parametrize("mode", ["0777", "4755", "02770", "755", "0750 ", "-1", "0o700"])
def test_modes_are_of_the_closed_list(mode: str) -> None:
    with refusal(helper.WRONG_USE):
        helper.parse(json.dumps({**WORKSPACE, "mode": mode}).encode())


def test_a_request_ends_and_is_short() -> None:
    assert len(_read(b"x" * helper.LARGEST_REQUEST)) == helper.LARGEST_REQUEST
    with refusal(helper.WRONG_USE):
        _read(b"x" * (helper.LARGEST_REQUEST + 1))


def _read(data: bytes) -> bytes:
    ours, theirs = os.pipe()
    try:
        os.write(theirs, data)
        os.close(theirs)
        return helper.read_request(ours)
    finally:
        os.close(ours)


# For whom


@pytest.mark.parametrize("name", ["root", "daemon", "bin", "nobody", "corral"])
def test_nothing_is_done_for_accounts_of_the_system(name: str) -> None:
    with refusal(helper.REFUSED):
        helper.served(name)


def test_nothing_is_done_for_somebody_unknown() -> None:
    with refusal(helper.REFUSED):
        helper.served("nobody-of-that-name")


# Directories: as ourselves, since every check is the same for whomever it is made


def test_a_directory_is_made_and_made_right_again(own_directory: Path) -> None:
    parent = os.open(own_directory, os.O_RDONLY)
    try:
        for mode in (0o700, 0o750, 0o711):
            helper.make_directory(parent, "x", os.getuid(), os.getgid(), mode)
            assert stat.S_IMODE((own_directory / "x").stat().st_mode) == mode
    finally:
        os.close(parent)


def test_a_link_or_a_file_in_its_place_is_not_followed_nor_changed(own_directory: Path) -> None:
    target = own_directory / "target"
    target.mkdir(mode=0o700)
    (own_directory / "link").symlink_to(target)
    (own_directory / "file").touch(mode=0o600)
    parent = os.open(own_directory, os.O_RDONLY)
    try:
        for name in ("link", "file"):
            with pytest.raises(OSError, match="Not a directory"):
                helper.make_directory(parent, name, os.getuid(), os.getgid(), 0o755)
    finally:
        os.close(parent)
    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    assert stat.S_IMODE((own_directory / "file").stat().st_mode) == 0o600


def test_what_is_somebody_elses_stays_so(own_directory: Path) -> None:
    (own_directory / "x").mkdir(mode=0o700)
    parent = os.open(own_directory, os.O_RDONLY)
    stranger = os.getuid() + 1
    try:
        # As one who is not root, who finds what is ours: neither the caller's nor the user's.
        with pytest.MonkeyPatch.context() as patch, refusal(helper.REFUSED):
            patch.setattr(os, "geteuid", lambda: stranger)
            helper.make_directory(parent, "x", stranger, os.getgid(), 0o755)
    finally:
        os.close(parent)
    assert stat.S_IMODE((own_directory / "x").stat().st_mode) == 0o700


def test_a_workspace_is_made_step_by_step_and_through_no_link(own_directory: Path) -> None:
    made = _run(f"helper.make_path({str(own_directory)!r}, 'shop/api', os.getuid(), os.getgid(), 0o750)")
    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE((own_directory / "shop").stat().st_mode) == 0o711
    assert stat.S_IMODE((own_directory / "shop/api").stat().st_mode) == 0o2750
    elsewhere = own_directory / "elsewhere"
    elsewhere.mkdir()
    (own_directory / "link").symlink_to(elsewhere)
    refused = _run(f"helper.make_path({str(own_directory)!r}, 'link/api', os.getuid(), os.getgid(), 0o750)")
    assert "NotADirectoryError" in refused.stderr
    assert list(elsewhere.iterdir()) == []


def test_a_way_through_a_link_or_through_what_others_can_change_is_refused(own_directory: Path) -> None:
    if os.getuid() != 0:
        pytest.skip(
            "only root can make directories of root: this runs where the tests do, in a container as in the lab"
        )
    inside = own_directory / "a" / "b"
    inside.mkdir(parents=True)
    os.chmod(own_directory, 0o755)
    os.close(helper.opened(str(inside)))
    for weak in (inside, inside.parent):
        os.chmod(weak, 0o775)
        with refusal(helper.REFUSED):
            helper.opened(str(inside))
        os.chmod(weak, 0o755)
        os.chown(weak, 12345, 0)
        with refusal(helper.REFUSED):
            helper.opened(str(inside))
        os.chown(weak, 0, 0)
    os.chmod(inside, 0o1777)
    with refusal(helper.REFUSED):  # on the way a sticky directory will do, and at the end it will not
        helper.opened(str(inside))
    (own_directory / "link").symlink_to(own_directory / "a")
    with pytest.raises(OSError, match="Not a directory"):
        helper.opened(str(own_directory / "link" / "b"))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"workspaces": 1}', '{"workspaces": "srv"}', '{"workspaces": "/srv/../etc"}']
)
def test_settings_that_do_not_say_where_workspaces_are(own_directory: Path, text: str) -> None:
    settings = own_directory / "host.json"
    settings.write_text(text)
    with pytest.MonkeyPatch.context() as patch, refusal(helper.FAILED):
        patch.setattr(helper, "ROOT", os.getuid())
        helper.workspaces_root(str(settings))


def test_settings_that_others_can_write_or_that_a_link_leads_to(own_directory: Path) -> None:
    settings = own_directory / "host.json"
    settings.write_text('{"workspaces": "/srv/corral"}')
    (own_directory / "link").symlink_to(settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(helper, "ROOT", os.getuid())
        assert helper.workspaces_root(str(settings)) == "/srv/corral"
        with pytest.raises(OSError, match="symbolic link"):
            helper.workspaces_root(str(own_directory / "link"))
        os.chmod(settings, 0o664)
        with refusal(helper.REFUSED):
            helper.workspaces_root(str(settings))
        os.chmod(settings, 0o644)
        patch.setattr(helper, "ROOT", os.getuid() + 1)
        with refusal(helper.REFUSED):
            helper.workspaces_root(str(settings))


# Children


def test_a_child_that_fails_is_told_of_in_plain_and_few_words() -> None:
    loud = _run("helper.run(['/bin/sh', '-c', 'yes \"\\033[31mno\" | head -c 100000; exit 3'])")
    assert "Stop" in loud.stderr
    said = loud.stderr.rpartition("Stop: ")[2]
    assert "no" in said
    assert "\x1b" not in said
    assert len(said) <= helper.MOST_WORDS_OF_A_PROGRAM + 1


def test_a_child_has_an_environment_of_its_own_its_own_session_and_no_descriptor_of_ours() -> None:
    ours = "ours = os.open('/', os.O_RDONLY); os.set_inheritable(ours, True); os.environ['PYTHONPATH'] = '/tmp'"
    look = "env | sort; ls /proc/self/fd | wc -l; cut -d' ' -f6 /proc/$$/stat; echo $$; exit 1"
    done = _run(f"{ours}; helper.run(['/bin/sh', '-c', {look!r}])")
    words = done.stderr.rpartition("Stop: ")[2].split()
    assert [word for word in words if "=" in word and not word.startswith(("PWD=", "OLDPWD=", "SHLVL=", "_="))] == [
        "LANG=C.UTF-8",
        "PATH=/usr/bin:/bin",
        "SYSTEMD_COLORS=0",
    ]
    descriptors, session, pid = words[-3:]
    assert descriptors == "4", "the first three, and the one that ls reads the directory by"
    assert session == pid


def test_a_child_that_takes_too_long_is_ended() -> None:
    done = _run(
        "signal.signal(signal.SIGALRM, helper._too_late); signal.setitimer(signal.ITIMER_REAL, 0.3);"
        "helper.in_a_child(lambda: signal.pause())"
    )
    assert "Stop: it took too long" in done.stderr


def test_nobody_else_can_be_become_by_one_who_is_not_root() -> None:
    if os.getuid() == 0:
        someone = next(user for user in pwd.getpwall() if user.pw_uid not in (0, 65534))
        code = f"os.setresuid(65534, 65534, 65534); helper.become(pwd.getpwnam({someone.pw_name!r}))"
    else:
        code = "helper.become(pwd.getpwnam('root'))"
    assert "PermissionError" in _run(code).stderr


def _run(code: str) -> "subprocess.CompletedProcess[str]":
    """In a process of its own: it forks, and it must not be ours that does."""
    program = f"import os, pwd, signal; from corral.privileged import helper; {code}"
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        errors="replace",
        env={"PYTHONPATH": str(Path(helper.__file__).parents[2]), "PATH": os.environ["PATH"]},
        timeout=60,
        check=False,
    )
