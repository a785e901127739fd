"""For whom the privileged helper does something, how far, and for how long: with accounts that are made up here.

Each row differs in one thing alone from what is served, so that there is one check of the helper that it is about.
"""

import grp
import json
import os
import pwd
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from corral.domain.errors import UnavailableError
from corral.privileged import helper
from corral.privileged.helper import Stop

GROUPS = {"root": 0, "ann": 1000, "corral": 990, "corral-members": 2000, "corral-agents": 2001}


def account(name: str = "ann", uid: int = 1000, gid: int = 1000) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, gid, "", f"/home/{name}", "/bin/sh"))


def refusal(words: str) -> "pytest.RaisesExc[Stop]":
    return pytest.raises(Stop, match=words, check=lambda stop: stop.code == helper.REFUSED)


@pytest.fixture
def know(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Have the system know one account: by its name, by its uid, and in these groups beside its own."""

    def one(by_name: pwd.struct_passwd, *, by_uid: pwd.struct_passwd | None = None, groups: Iterable[int]) -> None:
        monkeypatch.setattr(pwd, "getpwnam", lambda _: by_name)
        monkeypatch.setattr(pwd, "getpwuid", lambda _: by_uid or by_name)
        monkeypatch.setattr(grp, "getgrnam", lambda name: grp.struct_group((name, "x", GROUPS[name], [])))
        monkeypatch.setattr(os, "getgrouplist", lambda _, own: [own, *groups])

    return one


# Who


@pytest.mark.parametrize("group", ["corral-members", "corral-agents"])
@pytest.mark.parametrize("uid", [1000, 61183, 65536, 2**31 - 1])
def test_members_and_agents_are_served(know: Callable[..., None], uid: int, group: str) -> None:
    know(account(uid=uid), groups=[GROUPS[group]])
    assert helper.served("ann") == account(uid=uid)


@pytest.mark.parametrize(
    "user",
    [account(uid=0), account(uid=500), account(uid=999), account(gid=0), account("root"), account("corral")],
    ids=lambda user: f"{user.pw_name}-{user.pw_uid}-{user.pw_gid}",
)
def test_an_account_of_the_system_is_not_even_as_a_member(know: Callable[..., None], user: pwd.struct_passwd) -> None:
    know(user, groups=[GROUPS["corral-members"]])
    with refusal("is an account of the system") as refused:
        helper.served(user.pw_name)
    assert refused.value.remedy.startswith("do it as a member")


@pytest.mark.parametrize("uid", [61184, 65534, 65535, 2**31, 2**32 - 1])
def test_a_number_that_no_person_has_is_not_even_as_a_member(know: Callable[..., None], uid: int) -> None:
    know(account(uid=uid), groups=[GROUPS["corral-members"]])
    with refusal("is nobody's account"):
        helper.served("ann")


def test_a_second_name_of_an_account_is_not(know: Callable[..., None]) -> None:
    know(account(), by_uid=account("ben"), groups=[GROUPS["corral-members"]])
    with refusal("is not the only name of that account"):
        helper.served("ann")


def test_a_name_that_the_system_takes_for_another_is_not(know: Callable[..., None]) -> None:
    know(account("Ann"), by_uid=account(), groups=[GROUPS["corral-members"]])
    with refusal("is not the only name of that account"):
        helper.served("ann")


def test_who_is_in_none_of_the_groups_is_not(know: Callable[..., None]) -> None:
    know(account(), groups=[0, GROUPS["corral"]])
    with refusal("is neither in the group corral-members nor in corral-agents") as refused:
        helper.served("ann")
    assert "sudo corral member add ann" in refused.value.remedy


# For which group


@pytest.mark.parametrize(("group", "groups"), [("corral-agents", [2000]), ("root", [2000]), ("root", [2000, 0])])
def test_a_workspace_is_for_a_group_that_the_user_is_in_and_never_for_roots(
    know: Callable[..., None], monkeypatch: pytest.MonkeyPatch, group: str, groups: list[int]
) -> None:
    know(account(), groups=groups)
    monkeypatch.setattr(helper, "SETTINGS", "/nowhere/host.json")
    with refusal(f"ann is not in the group {group}"):
        helper.workspace(account(), "shop/api", group, 0o770)
    # Whoever is in the group gets as far as the settings, which are not there.
    with pytest.raises(FileNotFoundError):
        helper.workspace(account(), "shop/api", "corral-members", 0o770)


# By which manager


@pytest.mark.parametrize(
    ("state", "lingers", "says"),
    [
        ("active", True, None),
        ("active", False, None),
        ("inactive", True, ("the service manager of ann does not run", "sudo systemctl start user@1000.service")),
        ("failed", True, ("the service manager of ann does not run", "sudo systemctl start user@1000.service")),
        ("inactive", False, ("ann has no service manager now: linger is off", "sudo corral host setup turns it on")),
    ],
)
def test_a_manager_that_does_not_run_is_not_asked_and_what_starts_it_is_said(
    own_directory: Path, monkeypatch: pytest.MonkeyPatch, state: str, lingers: bool, says: tuple[str, str] | None
) -> None:
    monkeypatch.setattr(helper, "LINGERING", str(own_directory))
    monkeypatch.setattr(helper, "in_a_child", lambda _: state)
    if lingers:
        (own_directory / "ann").touch()
    if says is None:
        helper.need_manager(account())
        return
    with pytest.raises(Stop) as stop:
        helper.need_manager(account())
    assert (stop.value.code, helper.EXIT_CODES[stop.value.code]) == ("unavailable", UnavailableError.exit_code)
    assert (stop.value.message, says[1] in stop.value.remedy) == (says[0], True)


# Linger


@pytest.fixture
def asked(own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What root's programs are asked for, while linger and our notes of it are files in directories of the test."""
    found: list[str] = []

    def run(argv: list[str]) -> None:
        found.append(" ".join(argv[1:]))

    for name in ("LINGERING", "LINGER_NOTES"):
        (own_directory / name).mkdir()
        monkeypatch.setattr(helper, name, str(own_directory / name))
    # That the way there has to be root's is tested for itself.
    monkeypatch.setattr(helper, "opened", lambda path: os.open(path, os.O_RDONLY))
    monkeypatch.setattr(helper, "run", run)
    return found


MANAGER = "--no-ask-password start user@1000.service"


@pytest.mark.parametrize(
    ("is_on", "is_ours", "on", "does", "ours_then"),
    [
        (False, False, True, ["enable-linger ann", MANAGER], True),
        (True, False, True, [MANAGER], False),
        (True, True, True, [MANAGER], True),
        (True, True, False, ["disable-linger ann"], False),
        (True, False, False, [], False),
        (False, False, False, [], False),
    ],
)
def test_linger_is_turned_on_where_it_is_off_and_off_only_where_it_was_turned_on_here(
    asked: list[str], own_directory: Path, is_on: bool, is_ours: bool, on: bool, does: list[str], ours_then: bool
) -> None:
    lingers, note = own_directory / "LINGERING" / "ann", own_directory / "LINGER_NOTES" / "ann"
    for file, is_there in ((lingers, is_on), (note, is_ours)):
        if is_there:
            file.touch()
    changed = any("linger" in line for line in does)
    assert helper.linger(account(), on=on) == {"uid": 1000, "changed": changed}
    assert asked == does
    assert note.exists() == ours_then


def test_the_note_is_there_before_linger_is_on_and_goes_after_it_is_off(
    asked: list[str], own_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = own_directory / "LINGER_NOTES" / "ann"
    noted: list[bool] = []
    monkeypatch.setattr(helper, "run", lambda argv: noted.append(note.exists()))
    helper.linger(account(), on=True)
    helper.linger(account(), on=False)
    assert noted == [True, True, True]


# For how long: the whole helper in a process of its own, which asks for nothing that only root may do

#: What comes before `main`: a caller who is served, no limits that would outlast the test, and nothing in syslog.
_HARMLESS = """
import pwd, signal, syslog, sys, time
from corral.domain.errors import UnavailableError
from corral.privileged import helper
helper.check_caller = lambda *_: None
pwd.getpwnam = pwd.getpwuid = lambda _: pwd.struct_passwd(("ann", "x", 1000, 1000, "", "/", "/bin/sh"))
helper.LIMITS = ()
syslog.openlog = syslog.syslog = lambda *_: None
helper.REQUEST_SECONDS, helper.WORK_SECONDS = {request}, {work}
"""
LONG, SHORT = 600, 1
TOO_LATE = {"code": "failed", "message": "it took too long", "remedy": ""}


def run_main(changes: str, *, request: int = LONG, work: int = LONG, ends: bool = True) -> object:
    """Ask for a directory with as much time as that; the answer. The request need not end."""
    program = f"{_HARMLESS.format(request=request, work=work)}{changes}\nsys.exit(helper.main())"
    ours, theirs = os.pipe()
    os.write(theirs, b'{"verb": "keeper_directory", "user": "ann"}')
    if ends:
        os.close(theirs)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=ours,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(Path(helper.__file__).parents[2])},
    ) as running:
        os.close(ours)
        try:
            said, trace = running.communicate(timeout=30)
        finally:
            running.kill()
            if not ends:
                os.close(theirs)
    assert trace == ""
    answer: dict[str, object] = json.loads(said)
    return answer.get("error", answer)


def test_a_request_that_does_not_end_is_given_up() -> None:
    assert run_main("helper.perform = lambda _: {}", request=SHORT, ends=False) == TOO_LATE


def test_work_that_does_not_end_is_given_up() -> None:
    assert run_main("helper.perform = lambda _: time.sleep(20) or {}", work=SHORT) == TOO_LATE


def test_work_has_a_time_of_its_own_and_not_what_the_request_left() -> None:
    assert run_main("helper.perform = lambda _: time.sleep(2) or {}", request=SHORT) == {"ok": True}


@pytest.mark.parametrize("work", ["{}", "{}['x']"])
def test_when_it_is_over_the_answer_is_given_however_long_that_takes(work: str) -> None:
    """Else what was done would be taken for a failure, and root's program would end in a trace."""
    slowly = f"helper.perform = lambda _: {work}\nsyslog.syslog = lambda *_: time.sleep(2)"
    failed = {"code": "failed", "message": "keeper_directory ann: 'x'", "remedy": ""}
    assert run_main(slowly, work=SHORT) == ({"ok": True} if work == "{}" else failed)


# The place of a keeper


@pytest.mark.parametrize(
    ("there", "mounts"), [("nothing", True), ("root's", True), ("the user's", False), ("a link", False)]
)
def test_the_place_of_a_keeper_is_mounted_before_it_is_given_away(
    own_directory: Path, monkeypatch: pytest.MonkeyPatch, there: str, mounts: bool
) -> None:
    place, done = own_directory / "1000", []
    if there == "a link":
        place.symlink_to("/etc")
    elif there != "nothing":
        place.mkdir()

    def give(parent: int, name: str, uid: int, gid: int, mode: int) -> None:
        done.append(f"give {name} to {uid}, {mode:o}")

    def run(argv: list[str]) -> None:
        assert place.is_dir()
        done.append(" ".join(argv[1:]))

    # Whoever runs the test stands for root, or is somebody else.
    monkeypatch.setattr(helper, "ROOT", os.getuid() + (there == "the user's"))
    monkeypatch.setattr(helper, "opened", lambda _: os.open(own_directory, os.O_RDONLY))
    monkeypatch.setattr(grp, "getgrnam", lambda _: grp.struct_group(("corral", "x", 999, [])))
    monkeypatch.setattr(helper, "make_directory", give)
    monkeypatch.setattr(helper, "run", run)
    assert helper.keeper_directory(account())["uid"] == 1000
    mounted = ["--no-ask-password start corral-keeper-place@1000.service"] if mounts else []
    assert done == [*mounted, "give 1000 to 1000, 750"]
