"""`corral member`: who belongs to a shared server, and as what."""

import os
import sys

from corral.cli.command import MEMBERS as NAMES
from corral.cli.command import ROLES, TEAMS, USERS, Argument, Command, Invocation, Option
from corral.cli.output import GREEN, paint, plain, remark, say, takes_colour, write_json
from corral.cli.table import lines
from corral.client.answers import Record, ask, ask_for_list
from corral.client.start import ensure_daemon
from corral.client.wire import is_remote, somebody_listens, target
from corral.domain import host_names
from corral.domain.errors import NotFoundError, RefusedError, UnavailableError
from corral.domain.host_names import SERVICE_FILE
from corral.peer import user_name
from corral.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from corral.domain.host_plan import Step
    from corral.wiring_host import Plan

_HEADINGS = ["USER", "ROLE", "TEAMS", "OF", "SINCE", "BY"]
#: What names of accounts are made of, and nothing that a path could be.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def add(invocation: Invocation) -> int:
    from corral.domain.member_plan import remarks

    places, user, dry_run = _host(), invocation.word("USER"), invocation.flag("dry-run")
    path = _path(user)
    order: dict[str, object] = {"role": invocation.text("role") or "", "of": invocation.text("of") or ""}
    if invocation.flag("inherit"):
        order["inherit"] = True
    if invocation.flag("no-team") or invocation.texts("team"):
        order["teams"] = [] if invocation.flag("no-team") else invocation.texts("team")
    # Whatever the daemon would not take is refused before anything is done.
    told = ask(places, "PUT", path, {**order, "dry_run": True})

    def record() -> None:
        told.update(ask(places, "PUT", path, order))

    note = _noting(told)
    if not _does_accounts(places):
        _do_record(note, record, invocation)
        return _tell(told, note, [], invocation)
    from corral.wiring_members import own_instance_of, plan_joining, see

    before, group = see(user), str(told["group"])
    plan = plan_joining(before, group, note, record, _of(told["member"]), _of(told["before"]))
    _carry_out(plan, invocation)
    # A record that was right all along is asked for once more: it says what is so now.
    if not dry_run and not note:
        record()
    notes = [] if dry_run else remarks(before, see(user), _of(told["member"]))
    notes += own_instance_of(user)
    return _tell(told, plan.steps, notes, invocation)


def remove(invocation: Invocation) -> int:
    places, user, dry_run = _host(), invocation.word("USER"), invocation.flag("dry-run")
    path = _path(user)
    force = ("force", "1" if invocation.flag("force") else None)
    told: Record = {"change": "removed", "dry_run": dry_run, "member": None}
    forget = []
    absent: NotFoundError | None = None
    try:
        told = ask(places, "DELETE", target(path, [force, ("dry_run", "1")]))
        forget = _forgetting(user)
    except NotFoundError as error:
        absent = error

    def record() -> None:
        told.update(ask(places, "DELETE", target(path, [force])))

    if not _does_accounts(places):
        if absent is not None:
            raise absent
        _do_record(forget, record, invocation)
        left = f"{user} may be in the group {told['group']} and linger: sudo corral member rm {user} undoes that too"
        return _tell(told, forget, _left_up(told, served=True) + ([] if dry_run else [left]), invocation)
    from corral.wiring_members import plan_leaving, see

    plan = plan_leaving(see(user), forget, record, _of(told["member"]))
    if absent is not None and not plan.steps:
        raise absent
    _carry_out(plan, invocation)
    return _tell(told, plan.steps, _left_up(told, served=False), invocation)


def list_(invocation: Invocation) -> int:
    members = ask_for_list(_host(), "GET", "/v1/members")
    if invocation.json:
        write_json(members)
        return 0
    if invocation.flag("quiet"):
        for member in members:
            say(str(member["user"]))
        return 0
    if not members:
        say("nobody is a member yet; sudo corral member add USER --role owner makes the first one")
        return 0
    for line in lines([_HEADINGS, *(_row(member) for member in members)]):
        say(plain(line))
    for member in members:
        for problem in _words(member, "problems"):
            remark(plain(f"{member['user']}: {problem}"))
    return 0


def show(invocation: Invocation) -> int:
    path = _path(invocation.word("USER"))
    member = ask(_host(), "GET", path)
    if invocation.json:
        write_json(member)
        return 0
    rows = [[f"{key.replace('_', ' ')}:", _shown(value)] for key, value in member.items() if value not in ([], "")]
    for line in lines(rows):
        say(plain(line))
    return 0


def _host() -> Places:
    """The instance of the shared server. An instance of one person has no members."""
    places = Places.from_environment()
    if places.of_host:
        ensure_daemon(places)
    elif _is_no_member():
        user = user_name(os.getuid())
        raise UnavailableError(
            f"this machine is a shared server, and {user} is no member of it",
            f"root or an owner lets you in: sudo corral member add {user} --role ROLE; "
            "sudo corral member ls shows who is",
        )
    elif not somebody_listens(places):
        if os.path.exists(SERVICE_FILE) and not os.environ.get("CORRAL_HOME"):
            raise UnavailableError(
                "the daemon of this host does not run, or is not for you",
                "sudo systemctl start corral.service; sudo corral member ls shows for whom it is",
            )
        raise RefusedError(
            "this is an instance of one person: there is nobody but you",
            "members are of a shared server, which sudo corral host setup makes",
        )
    return places


def _is_no_member() -> bool:
    """This is a shared server whose door is shut for the caller, who names no other instance: not even one's own counts
    here, since nobody else is in that.
    """
    named = is_remote() or os.environ.get("CORRAL_HOME") or os.environ.get("CORRAL_RUNTIME_DIR")
    return not named and os.path.exists(SERVICE_FILE) and os.path.lexists(host_names.SOCKET)


def _does_accounts(places: Places) -> bool:
    """True if groups and linger of this host can be changed: by root, where it is the host's own daemon."""
    return places.of_host and os.geteuid() == 0 and not is_remote()


def _path(user: str) -> str:
    if not user or user.startswith((".", "-")) or not _LETTERS.issuperset(user):
        raise NotFoundError(f"there is no user {user!r} on this host", "getent passwd lists the users there are")
    return f"/v1/members/{user}"


def _noting(told: Record) -> "list[Step]":
    from corral.domain.host_plan import Step
    from corral.domain.member_plan import NOTE_MEMBER

    if told["change"] == "unchanged":
        return []
    member, before = told["member"], told["before"]
    assert isinstance(member, dict)
    why = f"{_described(before)} until now" if isinstance(before, dict) else "no member yet"
    return [Step(NOTE_MEMBER, str(member["user"]), f"note {member['user']} as {_described(member)}", why)]


def _left_up(told: Record, *, served: bool) -> list[str]:
    """What whoever forces it has to know: what stays up, and what brings it down. `served`: the account is still in the
    groups of this host, so its agents can be ended.
    """
    teams, member = told.get("left_up"), told["member"]
    if not isinstance(teams, list) or not teams or not isinstance(member, dict):
        return []
    user, of = member["user"], f" --of {member['of']}" if member["of"] else ""
    if served:
        return [
            f"still up, with agents of {user}, who is no member any more: {_shown(teams)}",
            f"to take them down: sudo corral down --team {teams[0]}",
        ]
    return [
        f"still up, with agents of {user} that nobody can end as long as {user} is no member: {_shown(teams)}",
        f"to take them down: sudo corral member add {user} --role {member['role']}{of}; "
        f"sudo corral down --team {teams[0]}; sudo corral member rm {user}",
    ]


def _forgetting(user: str) -> "list[Step]":
    from corral.domain.host_plan import Step
    from corral.domain.member_plan import FORGET_MEMBER

    return [Step(FORGET_MEMBER, user, f"strike {user} off the members", "a member")]


def _of(member: object) -> str:
    """Whose it is, if it is a user of agents."""
    return str(member["of"]) if isinstance(member, dict) else ""


def _described(member: Record) -> str:
    of, teams = member["of"], _words(member, "teams")
    return f"{member['role']}{f' of {of}' if of else ''}{f', in {_shown(teams)}' if teams else ''}"


def _do_record(steps: "Sequence[Step]", record: "Callable[[], None]", invocation: Invocation) -> None:
    _show(steps, invocation)
    if not invocation.flag("dry-run"):
        record()


def _carry_out(plan: "Plan", invocation: Invocation) -> None:
    _show(plan.steps, invocation)
    if invocation.flag("dry-run"):
        return
    sys.stdout.flush()  # the plan comes before what is done of it
    colour = takes_colour(sys.stderr)
    plan.carry_out(lambda step: None if invocation.json else remark(f"{paint('→', GREEN, colour)} {plain(step.about)}"))


def _show(steps: "Sequence[Step]", invocation: Invocation) -> None:
    from corral.cli.host import list_steps

    if steps and not invocation.json:
        say("the plan:")
        list_steps(steps)


def _tell(told: Record, steps: "Sequence[Step]", notes: "list[str]", invocation: Invocation) -> int:
    dry_run = invocation.flag("dry-run")
    if invocation.json:
        write_json({**told, "dry_run": dry_run, "steps": [step.as_json() for step in steps], "notes": notes})
        return 0
    user, member = invocation.word("USER"), told["member"]
    if dry_run:
        say("nothing was done" if steps else f"{user}: there is nothing to do")
    elif told["change"] == "removed":
        say(f"{user} is no member of this host any more")
    else:
        assert isinstance(member, dict)
        say(plain(f"{user} is a member of this host: {_described(member)}" + ("" if steps else ", as before")))
    for note in notes:
        remark(plain(note))
    return 0


def _row(member: Record) -> list[str]:
    shown = {**member, "since": str(member["since"])[:10]}
    return [_shown(shown[key.lower()]) for key in _HEADINGS]


def _words(member: Record, key: str) -> list[str]:
    found = member[key]
    return [str(word) for word in found] if isinstance(found, list) else []


def _shown(value: object) -> str:
    return " ".join(str(word) for word in value) if isinstance(value, list) else str(value)


_USER = Argument("USER", summary="the OS user", offers=NAMES)
_DRY_RUN = Option("dry-run", summary="only show the plan")

ADD = Command(
    "member add",
    "let somebody in, or change what they are",
    description=(
        "Run as root, it puts the user into the group corral-members (of agents: corral-agents), turns linger on,\n"
        "and has the daemon note the role; the plan is shown. Whoever is not root, and may change members, does so\n"
        "for users who are in the group already. Roles are those of the policy: owner, senior, junior, observer and\n"
        "agent, if yours has no others. What is left out for somebody who is a member stays. It can be run again at\n"
        "any time. Exit code 3 if there is no such user, 4 if it is refused."
    ),
    examples=(
        ("sudo corral member add ann --role owner", "the first owner, made by root"),
        ("sudo corral member add ben --role junior --team shop", "who works along in the team shop"),
        ("sudo corral member add agent-builder --role agent --of ann", "a user that agents of ann run as"),
        ("corral member add ben --role senior", "an owner gives another role"),
    ),
    arguments=(Argument("USER", summary="the OS user", offers=USERS),),
    options=(
        Option("role", value="ROLE", summary="what they may do; sudo corral policy show has the roles", offers=ROLES),
        Option(
            "team", "t", value="TEAM", summary="a team to work along in; all they are to be in", repeatable=True,
            offers=TEAMS,
        ),
        Option("no-team", summary="have them be in no team but their own"),
        Option("of", value="MEMBER", summary="of a user of agents: whose it is", offers=NAMES),
        Option("inherit", summary="have what a former member of that name left, who had another uid"),
        _DRY_RUN,
    ),
    run=add,
)  # fmt: skip
REMOVE = Command(
    "member rm",
    "have somebody be no member any more",
    description=(
        "Run as root, it has the daemon forget the member, takes the user out of the group, stops their keeper, and\n"
        "turns linger off if Corral turned it on. Whoever is not root does the first of it. Accounts and files stay.\n"
        "Refused while teams of theirs are up, and while they have users of agents. With --force those teams stay up,\n"
        "and are named, with what takes them down."
    ),
    examples=(
        ("sudo corral member rm ben", "show the plan, do it"),
        ("sudo corral member rm ben --dry-run", "only show it"),
    ),
    arguments=(_USER,),
    options=(Option("force", summary="even if teams of theirs are up"), _DRY_RUN),
    run=remove,
)
LIST = Command(
    "member ls",
    "list the members of this host",
    examples=(("corral member ls", "who is here?"), ("corral member ls --json", "for programs")),
    options=(Option("quiet", "q", summary="only their names"),),
    run=list_,
)
SHOW = Command(
    "member show",
    "show a member",
    examples=(("corral member show ann", "role, teams, users of agents, since when and by whom"),),
    arguments=(_USER,),
    run=show,
)

COMMAND = Command(
    "member",
    "say who belongs to this shared server, and as what",
    description=(
        "On a shared server everybody has a role; sudo corral policy show tells what each may do. Root is always an\n"
        "owner, and makes the first one. An instance of one person has no members."
    ),
    examples=(
        ("sudo corral member add ann --role senior", "let somebody in"),
        ("corral member ls", "who is here?"),
    ),
    commands=(ADD, REMOVE, LIST, SHOW),
)
