"""The files of a shared server say what they must, and workspaces are not where nobody could get at them."""

import configparser
import json
import os
import re

import pytest

from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.host_layout import File, layout
from corral.domain.host_names import (
    HELPER,
    HOME,
    KEEPER_PLACE_FILE,
    KEEPER_SERVICE,
    KEEPER_START_FILE,
    KEEPER_STOP_FILE,
    RUNTIME,
    SERVICE_FILE,
    SETTINGS,
    SUDOERS,
)
from corral.domain.host_trust import Entry, refuse_weak, refuse_weak_ground, weaknesses
from corral.domain.identity import is_corrals
from corral.privileged import helper

LAYOUT = layout("/opt/my corral/bin/python", "# the helper\n", "/srv/corral")


def file(path: str) -> File:
    return next(one for one in LAYOUT.files if one.path == path)


def unit(path: str) -> configparser.RawConfigParser:
    read = configparser.RawConfigParser(strict=False, delimiters=("=",))
    read.optionxform = str  # type: ignore[assignment,method-assign]
    read.read_string(file(path).text)
    return read


def test_sudo_gives_one_command_without_arguments_and_knows_no_wildcard() -> None:
    text = file(SUDOERS).text
    rules = [line for line in text.splitlines() if line and not line.startswith(("#", "Defaults"))]
    assert rules == [f'corral ALL=(root) NOPASSWD: NOSETENV: {HELPER} ""']
    assert not re.search(r"[*?\[\]]", text)
    defaults = " ".join(line for line in text.splitlines() if line.startswith("Defaults"))
    assert defaults.count(f"Defaults!{HELPER} ") == defaults.count("Defaults")
    for option in ("env_reset", "!env_keep", "!env_check", "!setenv", "closefrom=3"):
        assert option in defaults
    assert file(SUDOERS).mode == 0o440


def test_the_daemon_is_not_root_and_sees_little_and_may_still_use_sudo() -> None:
    service = unit(SERVICE_FILE)["Service"]
    assert (service["User"], service["Group"], service["Type"]) == ("corral", "corral", "notify")
    assert service["ExecStart"].startswith('"/opt/my corral/bin/python" "-I" "-m" "corral" "daemon" "run"')
    assert service["ProtectSystem"] == "strict"
    assert service["ReadWritePaths"].split() == [HOME, RUNTIME, "/var/lib/corral-host", "/srv/corral"]
    assert "CAP_SYS_ADMIN" not in service["CapabilityBoundingSet"]
    # Each of these has systemd set NoNewPrivileges for a service that is not root's; then there is no sudo.
    implying = (
        "NoNewPrivileges SystemCallFilter SystemCallArchitectures RestrictAddressFamilies RestrictNamespaces "
        "PrivateDevices ProtectKernelTunables ProtectKernelModules ProtectKernelLogs ProtectClock ProtectHostname "
        "MemoryDenyWriteExecute RestrictRealtime RestrictSUIDSGID LockPersonality DynamicUser"
    )
    assert not set(service) & set(implying.split())


def test_only_what_is_for_everybody_is_open_to_others() -> None:
    modes = {one.path: one.mode for one in LAYOUT.directories}
    assert modes[HOME] == 0o700
    assert modes[RUNTIME] == 0o1771, "root's, so that the daemon cannot move what is root's in it"
    assert all(not mode & 0o002 for mode in modes.values())
    assert all(one.mode & 0o022 == 0 for one in LAYOUT.files)


def test_the_settings_are_what_the_helper_reads() -> None:
    assert json.loads(file(SETTINGS).text) == {"workspaces": "/srv/corral"}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "srv",
        "/",
        "/srv",
        "/srv/../etc",
        "/srv/corral/",
        "/home/x",
        "/tmp/x",
        "/run/x",
        "/srv/a b",
        "/srv/%u",
        "/etc/x",
    ],
)
def test_workspaces_are_not_where_they_would_be_hidden_lost_or_misread(path: str) -> None:
    with pytest.raises(WrongUseError):
        layout("/usr/bin/python3", "", path)


# What a shared server may run

DIRECTORY, FILE, LINK = 0o040000, 0o100000, 0o120000


@pytest.mark.parametrize(
    "entry",
    [
        Entry("/opt", 0, DIRECTORY | 0o755),
        Entry("/opt/x.py", 0, FILE | 0o644),
        Entry("/opt/python", 0, LINK | 0o777),
    ],
)
def test_what_is_roots_to_write_and_everybodys_to_read_will_do(entry: Entry) -> None:
    assert weaknesses([entry]) == []


@pytest.mark.parametrize(
    "entry",
    [
        Entry("/home/ann/venv", 1000, DIRECTORY | 0o755),
        Entry("/opt/python", 1000, LINK | 0o777),
        Entry("/opt/x.py", 0, FILE | 0o646),
        Entry("/usr/local", 0, DIRECTORY | 0o2775),
        Entry("/tmp", 0, DIRECTORY | 0o1777),
        Entry("/opt/acl", 0, DIRECTORY | 0o775),
        Entry("/root", 0, DIRECTORY | 0o700),
        Entry("/opt/x.py", 0, FILE | 0o640),
    ],
)
def test_all_else_will_not(entry: Entry) -> None:
    with pytest.raises(RefusedError, match=entry.path) as refused:
        refuse_weak("/x/python", [entry])
    assert "sudo /opt/corral/bin/corral host setup" in refused.value.remedy
    with pytest.raises(RefusedError, match=entry.path) as refused:
        refuse_weak_ground(HELPER, [entry])
    assert "install" not in refused.value.remedy
    assert "chmod" in refused.value.remedy


def test_the_place_of_a_keeper_is_mounted_once_and_has_room_for_little() -> None:
    place = unit(KEEPER_PLACE_FILE)
    assert place["Unit"]["ConditionPathIsMountPoint"] == "!/run/corral/keepers/%i"
    assert place["Service"]["Slice"] == "system.slice"
    command = place["Service"]["ExecStart"].split()
    assert (command[:3], command[-1]) == (["/usr/bin/mount", "-t", "tmpfs"], "/run/corral/keepers/%i")
    assert {"mode=0700", "size=256k", "nr_inodes=64", "nosuid", "nodev", "noexec"} == set(command[4].split(","))


@pytest.mark.parametrize(("path", "verb"), [(KEEPER_START_FILE, "start"), (KEEPER_STOP_FILE, "stop")])
def test_what_asks_a_users_manager_is_that_users_and_far_from_the_daemon(path: str, verb: str) -> None:
    service = unit(path)["Service"]
    assert (service["Type"], service["User"], service["Slice"]) == ("oneshot", "%i", "user-%i.slice")
    assert service["ExecStart"] == f"/usr/bin/systemctl --user --no-ask-password {verb} {KEEPER_SERVICE}"
    assert service["NoNewPrivileges"] == "yes"
    assert int(service["TimeoutStartSec"]) + int(service["TimeoutStopSec"]) < helper.WORK_SECONDS
    # Whoever is in it is refused by the daemon, and taken for nobody.
    assert is_corrals(f"/user.slice/user-1000.slice/{os.path.basename(path).replace('@', '@1000')}")
