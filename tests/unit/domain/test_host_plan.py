"""What is missing on a host, in order; that a host which is set up needs nothing; and what takes it all away again."""

from dataclasses import replace

import pytest

from corral.domain import host_plan
from corral.domain.errors import RefusedError
from corral.domain.host_layout import Layout, as_it_is, layout
from corral.domain.host_names import (
    GROUPS,
    HELPER,
    HOME,
    KEEPER_SERVICE_FILE,
    KEEPER_SETTINGS,
    LINGER_NOTES,
    RUNTIME,
    SERVICE_FILE,
    SHELL,
    SUDOERS,
    USER,
)
from corral.domain.host_plan import Step, refuse_obstacles, remove, setup
from corral.domain.host_seen import DIRECTORY, FILE, PathSeen, PersonSeen, Seen, ServiceSeen, UserSeen

WANTED = layout("/opt/corral/bin/python", "# the helper\n", "/srv/corral")
NOTHING = Seen()


def done(wanted: Layout = WANTED) -> Seen:
    """A host on which everything was done."""
    paths = {one.path: PathSeen(DIRECTORY, one.owner, one.group, one.mode) for one in wanted.directories}
    paths |= {one.path: PathSeen(FILE, "root", one.group, one.mode, one.text) for one in wanted.files}
    return Seen(
        groups=frozenset(GROUPS),
        user=UserSeen(990, USER, HOME, SHELL),
        paths=paths,
        service=ServiceSeen(enabled=True, active=True),
    )


def other(seen: Seen, path: str, **changes: object) -> Seen:
    return replace(seen, paths={**seen.paths, path: replace(seen.paths[path], **changes)})  # type: ignore[arg-type]


def brief(steps: list[Step]) -> list[tuple[str, str]]:
    return [(step.action, step.subject) for step in steps]


def at(steps: list[Step], action: str, subject: str) -> int:
    return brief(steps).index((action, subject))


def test_on_a_fresh_host_everything_is_made_in_an_order_in_which_it_can_be() -> None:
    steps = setup(WANTED, NOTHING)
    assert all(step.why and step.about for step in steps)
    assert at(steps, host_plan.ADD_GROUP, USER) < at(steps, host_plan.ADD_USER, USER)
    assert at(steps, host_plan.ADD_USER, USER) < at(steps, host_plan.MAKE_DIRECTORY, HOME)
    assert at(steps, host_plan.WRITE_FILE, HELPER) < at(steps, host_plan.WRITE_FILE, SUDOERS)
    assert brief(steps)[-3:] == [
        (host_plan.RELOAD_UNITS, "corral.service"),
        (host_plan.ENABLE_SERVICE, "corral.service"),
        (host_plan.START_SERVICE, "corral.service"),
    ]
    assert {step.subject for step in steps} >= {
        *(one.path for one in WANTED.directories),
        *(f.path for f in WANTED.files),
    }


def test_on_a_host_that_is_set_up_nothing_is_done() -> None:
    assert setup(WANTED, done()) == []


@pytest.mark.parametrize("taken", range(len(WANTED.directories) + len(WANTED.files)))
def test_whoever_was_interrupted_gets_the_rest(taken: int) -> None:
    """Whatever of the directories and files is there already, those that are not, and no others, are made."""
    have = dict(list(done().paths.items())[:taken])
    steps = setup(WANTED, replace(done(), paths=have))
    made = [step.subject for step in steps if step.action in (host_plan.MAKE_DIRECTORY, host_plan.WRITE_FILE)]
    assert made == [path for path in done().paths if path not in have]


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        (RUNTIME, {"mode": 0o1777}),
        (HOME, {"owner": "root"}),
        (HOME, {"group": "corral-members"}),
        (SUDOERS, {"mode": 0o644}),
        (SUDOERS, {"text": "corral ALL=(ALL) NOPASSWD: ALL\n"}),
        (HELPER, {"owner": "corral"}),
        (HELPER, {"text": "#!/bin/sh\n"}),
    ],
)
def test_what_differs_is_put_right_and_why_is_told(path: str, changes: dict[str, object]) -> None:
    (step,) = setup(WANTED, other(done(), path, **changes))
    assert step.subject == path
    assert step.why != "missing"


def test_a_new_unit_is_read_and_the_daemon_is_started_by_it() -> None:
    steps = setup(WANTED, other(done(), SERVICE_FILE, text="[Unit]\n"))
    assert [step.action for step in steps] == [host_plan.WRITE_FILE, host_plan.RELOAD_UNITS, host_plan.START_SERVICE]


@pytest.mark.parametrize(
    ("service", "actions"),
    [
        (ServiceSeen(enabled=False, active=True), [host_plan.ENABLE_SERVICE]),
        (ServiceSeen(enabled=True, active=False), [host_plan.START_SERVICE]),
        (ServiceSeen(enabled=True, active=True, stale=True), [host_plan.START_SERVICE]),
        (ServiceSeen(enabled=True, active=True, unread=True), [host_plan.RELOAD_UNITS, host_plan.START_SERVICE]),
    ],
)
def test_whoever_was_interrupted_at_the_units_goes_on_there(service: ServiceSeen, actions: list[str]) -> None:
    assert [step.action for step in setup(WANTED, replace(done(), service=service))] == actions


def test_members_linger_and_hear_of_a_changed_unit() -> None:
    people = (PersonSeen("ann", 1000, lingers=True, has_manager=True), PersonSeen("cleo", 1002, lingers=False))
    seen = replace(done(), people=people)
    assert brief(setup(WANTED, seen)) == [(host_plan.LINGER_ON, "cleo")]
    steps = setup(WANTED, other(seen, KEEPER_SERVICE_FILE, text="old"))
    assert (host_plan.RELOAD_MANAGER, "ann") in brief(steps)


def test_a_service_manager_that_was_stopped_is_started_and_one_that_is_not_to_stay_is_made_to() -> None:
    people = (
        PersonSeen("ann", 1000, lingers=True, has_manager=False),
        PersonSeen("cleo", 1002, lingers=False, has_manager=False),
    )
    steps = setup(WANTED, replace(done(), people=people))
    assert brief(steps) == [(host_plan.START_MANAGER, "ann"), (host_plan.LINGER_ON, "cleo")], "which starts it as well"


def test_a_way_that_the_helper_would_not_go_is_for_a_person_to_look_at() -> None:
    (step,) = setup(WANTED, replace(done(), weak_ways=("/srv can be changed by others (mode 0777)",)))
    assert (step.action, "/srv can be changed by others" in step.about) == (host_plan.IN_THE_WAY, True)


def test_a_unit_is_left_alone_while_nobody_can_tell_what_it_has_to_say() -> None:
    seen = other(done(), SERVICE_FILE, text="[Unit]\n# with more in it\n")
    assert (host_plan.WRITE_FILE, SERVICE_FILE) in brief(setup(WANTED, seen))
    assert setup(as_it_is(WANTED, SERVICE_FILE, seen.paths[SERVICE_FILE]), seen) == []
    assert as_it_is(WANTED, SERVICE_FILE, None) == WANTED


def test_where_checkpoints_are_to_go_the_daemon_may_write_and_a_host_that_does_not_know_is_told_so() -> None:
    wanted = layout("/opt/corral/bin/python", "# the helper\n", "/srv/corral", "/mnt/else where/100%")
    (unit,) = (one.text for one in wanted.files if one.path == SERVICE_FILE)
    assert ' /srv/corral "-/mnt/else where/100%%"\n' in unit
    assert (host_plan.WRITE_FILE, SERVICE_FILE) in brief(setup(wanted, done()))


@pytest.mark.parametrize(
    "user",
    [
        UserSeen(1004, USER, HOME, SHELL),
        UserSeen(0, USER, HOME, SHELL),
        UserSeen(990, "users", HOME, SHELL),
        UserSeen(990, USER, "/home/corral", SHELL),
    ],
)
def test_a_person_who_is_called_corral_does_not_become_the_daemon(user: UserSeen) -> None:
    steps = setup(WANTED, replace(NOTHING, user=user))
    assert len(steps) > 10, "and all else is told as well"
    with pytest.raises(RefusedError, match="there is a user corral already"):
        refuse_obstacles(steps)


def test_the_daemons_user_gets_its_shell_again() -> None:
    steps = setup(WANTED, replace(done(), user=UserSeen(990, USER, HOME, "/bin/bash")))
    assert brief(steps) == [(host_plan.MEND_USER, USER)]
    assert "/bin/bash" in steps[0].why
    refuse_obstacles(steps)


def test_the_daemons_user_has_no_password() -> None:
    steps = setup(WANTED, replace(done(), user=UserSeen(990, USER, HOME, SHELL, password=True)))
    assert brief(steps) == [(host_plan.LOCK_USER, USER)]


def test_the_daemon_keeps_no_group_by_which_it_could_become_root() -> None:
    user = replace(UserSeen(990, USER, HOME, SHELL), groups=frozenset({"sudo", "ssl-cert"}))
    steps = setup(WANTED, replace(done(), user=user, in_daemons_group=("ann",)))
    assert brief(steps) == [
        (host_plan.LEAVE_USER, "corral:sudo"),
        (host_plan.LEAVE_USER, "ann:corral"),
        (host_plan.START_SERVICE, "corral.service"),
    ], "what it reads by another group is somebody's decision"


def test_a_socket_that_is_open_to_everybody_is_made_anew() -> None:
    open_ = ServiceSeen(enabled=True, active=True, open_socket=0o666)
    (step,) = setup(WANTED, replace(done(), service=open_))
    assert (step.action, "0666" in step.why) == (host_plan.START_SERVICE, True)


def test_a_daemon_that_nobody_can_reach_is_started_anew() -> None:
    (step,) = setup(WANTED, replace(done(), service=ServiceSeen(enabled=True, active=True, no_socket=True)))
    assert (step.action, "its socket is gone" in step.why) == (host_plan.START_SERVICE, True)


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (None, "missing"),
        (PathSeen(FILE, USER, USER, 0o666, "CORRAL_INSTANCE=a\n"), "its mode is 0666"),
        (PathSeen(FILE, "ann", "ann", 0o644, "CORRAL_INSTANCE=a\n"), "it belongs to ann:ann"),
        (PathSeen(FILE, USER, USER, 0o644, "LD_PRELOAD=/tmp/x\n"), "its text is another"),
    ],
)
def test_what_keepers_need_of_the_daemon_is_written_anew(seen: PathSeen | None, why: str) -> None:
    service = ServiceSeen(enabled=True, active=True, for_keepers=seen)
    steps = setup(WANTED, replace(done(), service=service))
    removed = [(host_plan.REMOVE_FILE, KEEPER_SETTINGS)] if seen is not None else []
    assert brief(steps) == [*removed, (host_plan.START_SERVICE, "corral.service")]
    assert all(why in step.why for step in steps)
    assert setup(WANTED, replace(done(), service=replace(service, active=False)))[-1].why == "not running"


def test_what_is_in_the_place_of_that_is_for_a_person_to_look_at() -> None:
    link = PathSeen("symbolic link", USER, USER, 0o777)
    steps = setup(WANTED, replace(done(), service=ServiceSeen(enabled=True, active=True, for_keepers=link)))
    assert (host_plan.IN_THE_WAY, KEEPER_SETTINGS) in brief(steps)


def test_members_are_put_into_their_groups_again_also_when_the_group_is_made_anew() -> None:
    people = (
        PersonSeen("ann", 1000, lingers=True, lacks="corral-members"),
        PersonSeen("bot", 1002, lingers=False, lacks="corral-agents"),
    )
    joined = [(host_plan.JOIN_MEMBERS, "ann"), (host_plan.JOIN_AGENTS, "bot"), (host_plan.LINGER_ON, "bot")]
    assert brief(setup(WANTED, replace(done(), people=people))) == joined
    steps = setup(WANTED, replace(done(), people=people, groups=frozenset({USER, "corral-agents"})))
    assert brief(steps) == [
        (host_plan.ADD_GROUP, "corral-members"),
        (host_plan.START_SERVICE, "corral.service"),
        *joined,
    ], "the daemon has the group of before"


def test_who_has_the_group_of_the_daemon_as_their_first_is_for_a_person_to_mend() -> None:
    (step,) = setup(WANTED, replace(done(), of_daemons_group=("ben",)))
    assert (step.action, "usermod --gid GROUP ben" in step.why) == (host_plan.IN_THE_WAY, True)


def test_an_audit_trail_that_others_can_write_is_for_a_person_to_look_at() -> None:
    (step,) = setup(WANTED, replace(done(), strange_audit=("/a/1 belongs to uid 1000", "/a/2 is no file")))
    assert step.action == host_plan.IN_THE_WAY
    assert step.about.endswith("/a/1 belongs to uid 1000, and 1 more")


@pytest.mark.parametrize("path", [HOME, RUNTIME, SUDOERS, HELPER])
def test_what_is_a_link_is_not_replaced(path: str) -> None:
    seen = other(other(done(), path, kind="symbolic link"), "/etc/corral", mode=0o777)
    steps = setup(WANTED, seen)
    assert brief(steps) == sorted(
        [(host_plan.IN_THE_WAY, path), (host_plan.MAKE_DIRECTORY, "/etc/corral")],
        key=lambda step: list(done().paths).index(step[1]),
    )
    with pytest.raises(RefusedError, match="symbolic link"):
        refuse_obstacles(steps)


def test_whom_a_user_of_agents_shares_files_with_is_named_when_all_else_is_gone() -> None:
    builder = PersonSeen("agent-builder", 1004, lingers=True, keeper_runtime="/run/user/1004/x", shares_with=("ann",))
    left = host_plan.left_behind(WANTED, replace(done(), people=(builder,)), purge=True)
    assert left == ["/run/user/1004/x, of the keeper of agent-builder", "ann in the group agent-builder"]


def test_removal_takes_rights_away_before_anything_else_and_leaves_data() -> None:
    seen = replace(
        done(),
        people=(PersonSeen("ann", 1000, lingers=True, has_keeper=True, keeper_home="/home/ann/x"),),
        linger_notes=("ann",),
    )
    steps = remove(WANTED, seen, purge=False)
    assert brief(steps)[:4] == [
        (host_plan.DISABLE_SERVICE, "corral.service"),
        (host_plan.REMOVE_FILE, SUDOERS),
        (host_plan.STOP_KEEPER, "ann"),
        (host_plan.LINGER_OFF, "ann"),
    ]
    touched = {step.subject for step in steps}
    assert not touched & {HOME, "/srv/corral", *GROUPS}
    assert {one.path for one in WANTED.files} <= touched
    left = host_plan.left_behind(WANTED, seen, purge=False)
    assert "/var/lib/corral with its data" in left
    assert "the user corral" in left
    assert any("/home/ann/x" in one for one in left)


def test_a_purge_leaves_nothing_but_what_is_in_homes() -> None:
    steps = remove(WANTED, done(), purge=True)
    gone = {step.subject for step in steps} | {LINGER_NOTES, f"{RUNTIME}/keepers"}
    assert gone >= set(done().paths) | set(GROUPS)
    assert at(steps, host_plan.DELETE_USER, USER) < at(steps, host_plan.DELETE_GROUP, USER)
    assert host_plan.left_behind(WANTED, done(), purge=True) == []


def test_places_where_workspaces_were_are_named_and_go_with_a_purge_if_they_are_empty() -> None:
    empty = PathSeen(DIRECTORY, "root", "root", 0o711, empty=True)
    used = replace(empty, empty=False)
    moved = layout("/opt/corral/bin/python", "# the helper\n", "/data/ws")
    made = {"/srv/corral": empty, "/data/ws": used, "/data": used, "/old/ws": used}
    seen = replace(done(moved), places_made=made, workspaces_of=("ann",))
    named = [f"{path}, which was made for workspaces" for path in ("/srv/corral", "/old/ws", "/data")]
    assert host_plan.left_behind(moved, seen, purge=False)[:3] == named
    assert not {"/srv/corral", "/old/ws", "/data"} & {step.subject for step in remove(moved, seen, purge=False)}
    steps = remove(moved, seen, purge=True)
    assert at(steps, host_plan.REMOVE_TREE, "/data/ws/ann") < at(steps, host_plan.REMOVE_DIRECTORY, "/data/ws")
    assert at(steps, host_plan.REMOVE_DIRECTORY, "/data/ws") < at(steps, host_plan.REMOVE_DIRECTORY, "/data")
    assert (host_plan.REMOVE_DIRECTORY, "/srv/corral") in brief(steps)
    assert "/old/ws" not in {step.subject for step in steps}
    assert host_plan.left_behind(moved, seen, purge=True) == ["/old/ws, which was made for workspaces"]


def test_a_directory_that_is_used_for_something_else_is_not_taken_for_workspaces() -> None:
    used = other(done(), "/srv/corral", mode=0o755)
    seen = replace(used, others_in_workspaces=("report.csv", "www"))
    (step,) = setup(WANTED, seen)
    assert (step.action, step.subject) == (host_plan.IN_THE_WAY, "/srv/corral")
    assert "report.csv is in it, and 1 more" in step.about
    with pytest.raises(RefusedError):
        refuse_obstacles([step])
    # One that is the place for workspaces already is not changed, whatever somebody has put there.
    assert setup(WANTED, replace(done(), others_in_workspaces=("README",))) == []
    # And what Corral itself leaves there, without a purge, is no obstacle to the next set-up.
    assert brief(setup(WANTED, replace(used, workspaces_of=("ann",)))) == [(host_plan.MAKE_DIRECTORY, "/srv/corral")]


def test_a_purge_removes_what_is_of_users_and_names_what_else_is_among_it() -> None:
    seen = replace(done(), workspaces_of=("ann", "ben"), others_in_workspaces=("README",))
    touched = {step.subject for step in remove(WANTED, seen, purge=True)}
    assert {"/srv/corral/ann", "/srv/corral/ben"} <= touched
    assert "/srv/corral" not in touched
    assert "/srv/corral/README, which is no workspace" in host_plan.left_behind(WANTED, seen, purge=True)


def test_where_nothing_is_nothing_is_removed() -> None:
    assert remove(WANTED, NOTHING, purge=True) == []


def test_a_directory_that_others_use_too_is_not_named_again() -> None:
    shared = {"/etc/corral": PathSeen(DIRECTORY, "root", "root", 0o755)}
    assert remove(WANTED, Seen(paths=shared), purge=True) == []
    empty = {"/etc/corral": PathSeen(DIRECTORY, "root", "root", 0o755, empty=True)}
    assert brief(remove(WANTED, Seen(paths=empty), purge=True)) == [(host_plan.REMOVE_DIRECTORY, "/etc/corral")]
