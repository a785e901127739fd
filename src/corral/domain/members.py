"""Who belongs to a shared server: people with a role, and OS users of agents, each of which is somebody's. Pure.

What a role may do is told by the tables of the policy (`domain.roles`); here is who has which, and what must hold
before that can change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.host_names import AGENTS, LOWEST_UID, MEMBERS
from corral.domain.names import RULE, is_valid
from corral.domain.roles import AGENT_ROLE, Tables

ROOT = "root"
#: Root can do everything on this host without asking, and makes the first owner: it is one, and has no record.
ROOT_ROLE = "owner"
#: What the privileged helper takes for a name, and which numbers it takes for no person's (`privileged/helper.py`).
_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}", re.ASCII)
_NOT_PEOPLE = (range(61184, 65536), range(2**31, 2**32))
_MOST_TEAMS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """Somebody who belongs to this host: a person, or with `of` a user of agents that belongs to one."""

    #: The name of the OS user. Its number is kept as well: who gets the name of somebody who left is somebody else.
    user: str
    uid: int
    role: str
    #: Teams that they work along in, besides those that are their own.
    teams: tuple[str, ...] = ()
    #: Whose it is, if it is a user of agents.
    of: str = ""
    #: Unix time since when, and who let them in.
    since: float = 0.0
    by: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What somebody is to be. What is left out stays as it is."""

    user: str
    role: str = ""
    teams: tuple[str, ...] | None = None
    of: str = ""
    #: They are to have what the member left whose name it was before, under another number.
    inherits: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """An OS user of this host."""

    user: str
    uid: int
    groups: frozenset[str] = frozenset()
    lingers: bool = False
    #: Another user, whom this number means: nobody who asks by it can tell the two apart.
    namesake: str = ""


def group_of(role: str) -> str:
    """The group of the operating system that whoever has this role must be in."""
    return AGENTS if role == AGENT_ROLE else MEMBERS


def become(
    known: Mapping[str, Member],
    wanted: Wanted,
    account: Account | None,
    tables: Tables,
    *,
    now: float,
    by: str,
    former: Mapping[str, int],
) -> Member:
    """The record that follows, the same one if nothing changes. Whether the account is in its group is not looked at.
    `former` has the numbers of those who were members and are not any more, by name.

    Raises NotFoundError for a user that there is not, WrongUseError for what cannot be, RefusedError for what must not.
    """
    uid = _must_be_somebody(wanted.user, account)
    before = known.get(wanted.user)
    if before is not None and before.uid != uid:
        raise RefusedError(
            f"{wanted.user} is another account now (uid {uid}) than when it became a member (uid {before.uid})",
            f"corral member rm {wanted.user}, then add it again, with --inherit if it is the same person",
        )
    if before is None and not wanted.inherits and former.get(wanted.user, uid) != uid:
        raise RefusedError(
            f"{wanted.user} was a member before under uid {former[wanted.user]}, and has uid {uid} now: messages "
            "and worktrees are kept by name, and would be theirs",
            "--inherit if that is right, as for the same person with another uid; else give somebody new another name",
        )
    role = tables.role(wanted.role or _role_of(before, wanted.user, tables)).name
    if before is not None and (before.role == AGENT_ROLE) != (role == AGENT_ROLE):
        raise RefusedError(
            f"{wanted.user} is {_kind(before)} and cannot become {'one of agents' if not before.of else 'a person'}",
            f"corral member rm {wanted.user}, then add it again",
        )
    after = Member(
        user=wanted.user,
        uid=uid,
        role=role,
        teams=_teams(wanted, before),
        of=_whose(known, wanted, before, role),
        since=now,
        by=by,
    )
    if before is not None and after == replace(before, since=now, by=by):
        return before
    # Since when somebody belongs to the host does not change with what they may do.
    return after if before is None else replace(after, since=before.since, by=before.by)


def must_be_in_group(member: Member, account: Account, *, inherits: bool) -> None:
    """Refuse somebody whom the operating system keeps out, with what root has to do."""
    group = group_of(member.role)
    if group not in account.groups:
        of = f" --of {member.of}" if member.of else ""
        teams = "".join(f" --team {team}" for team in member.teams)
        inherit = " --inherit" if inherits else ""
        raise RefusedError(
            f"{member.user} is not in the group {group}, and only root can change that",
            f"sudo corral member add {member.user} --role {member.role}{of}{teams}{inherit} does both",
        )


def leave(known: Mapping[str, Member], user: str, busy: Iterable[str], *, force: bool) -> Member:
    """The record that goes. `busy` are the teams that are up and theirs, or have agents that run as that user."""
    member = must_be_member(known, user)
    theirs = agent_users(known, user)
    if theirs:
        raise RefusedError(
            f"{user} has users for agents: {', '.join(theirs)}", f"first: corral member rm {theirs[0]}", users=theirs
        )
    up = sorted(set(busy))
    if up and not force:
        raise RefusedError(
            f"teams of {user} are up: {', '.join(up)}",
            f"corral down --team {up[0]} takes it down; --force lets {user} go all the same",
            teams=up,
        )
    return member


def must_be_member(known: Mapping[str, Member], user: str) -> Member:
    """The record, or NotFoundError."""
    if user == ROOT:
        raise NotFoundError("root has no record: it is an owner, always", "corral member ls shows who has one")
    if user not in known:
        raise NotFoundError(f"{user} is no member of this host", "corral member ls shows who is")
    return known[user]


def person_of(known: Mapping[str, Member], user: str) -> str:
    """The person whose an OS user is: itself, or whom it belongs to; empty if it is neither a member nor root."""
    if user == ROOT:
        return ROOT
    member = known.get(user)
    return "" if member is None else member.of or member.user


def agent_users(known: Mapping[str, Member], user: str) -> list[str]:
    """The users of agents that belong to somebody."""
    return sorted(member.user for member in known.values() if member.of == user)


def roles_concerned(before: Member | None, after: Member | None) -> tuple[str, ...]:
    """The roles that are given or taken by a change: whoever makes it must be allowed to give each of them."""
    return tuple(dict.fromkeys(member.role for member in (after, before) if member is not None))


def problems(member: Member, account: Account | None) -> list[str]:
    """What keeps somebody from working here, though the record is there; in sentences."""
    if account is None:
        return [f"there is no user {member.user} on this host any more"]
    if account.uid != member.uid:
        return [f"{member.user} is another account now (uid {account.uid})"]
    if account.namesake:
        return [f"uid {account.uid} is that of {account.namesake}"]
    found = []
    if group_of(member.role) not in account.groups:
        found.append(f"not in the group {group_of(member.role)}")
    if not account.lingers:
        found.append("linger is off")
    return found


def is_of_the_system(uid: int) -> bool:
    """Whether that is the number of no person's account, and of none that a person had made for agents."""
    return uid < LOWEST_UID or any(uid in numbers for numbers in _NOT_PEOPLE)


def _must_be_somebody(user: str, account: Account | None) -> int:
    if user == ROOT:
        raise RefusedError("root is always an owner, and needs no record", "add people by their own accounts")
    if account is None or account.user != user:
        raise NotFoundError(f"there is no user {user} on this host", "sudo useradd --create-home NAME makes one")
    if is_of_the_system(account.uid):
        raise RefusedError(
            f"{user} (uid {account.uid}) is an account of the system", f"members have a uid of {LOWEST_UID} or more"
        )
    if not _NAME.fullmatch(user):
        raise RefusedError(
            f"nothing can be started for a user called {user}",
            "names of members have lower-case letters, digits, - and _, and at most 31 of them",
        )
    if account.namesake:
        raise RefusedError(
            f"{user} is not the only name of that account: uid {account.uid} is that of {account.namesake}, who "
            "would be taken for it",
            f"give {user} a uid of its own: sudo usermod --uid UID {user}",
        )
    return account.uid


def _role_of(before: Member | None, user: str, tables: Tables) -> str:
    if before is None:
        raise WrongUseError(f"which role is {user} to have?", f"--role takes one of: {', '.join(tables.roles)}")
    return before.role


def _teams(wanted: Wanted, before: Member | None) -> tuple[str, ...]:
    if wanted.teams is None:
        return before.teams if before is not None else ()
    for team in wanted.teams:
        if not is_valid(team):
            raise WrongUseError(f"{team!r} cannot be a team", f"teams are named with {RULE}")
    if len(wanted.teams) > _MOST_TEAMS:
        raise WrongUseError(f"somebody can be in {_MOST_TEAMS} teams at most", "give fewer")
    return tuple(sorted(set(wanted.teams)))


def _whose(known: Mapping[str, Member], wanted: Wanted, before: Member | None, role: str) -> str:
    if role != AGENT_ROLE:
        if wanted.of:
            raise WrongUseError(f"{wanted.user} is to be {role}, and people are nobody's", "leave --of out")
        return ""
    of = wanted.of or (before.of if before is not None else "")
    if not of:
        raise WrongUseError(f"whose are the agents of {wanted.user}?", "say it with --of MEMBER")
    whose = known.get(of)
    if whose is None or whose.of:
        raise RefusedError(
            f"{of} is no person of this host, so no user of agents can be theirs",
            f"corral member add {of} --role … first" if whose is None else "name the person",
        )
    if wanted.teams:
        raise WrongUseError("a user of agents is in no team: each agent is in its own", "leave --team out")
    return of


def _kind(member: Member) -> str:
    return f"a user of agents of {member.of}" if member.of else "a person"
