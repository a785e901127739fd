"""What can be wrong with a shared server as such: its policy, whose teams are up, what is up beside it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from corral.domain.diagnosis import DAEMON, HOST_SETUP, MEMBERS, OWN_INSTANCES, PROBLEM, WARNING, Finding
from corral.domain.errors import CorralError
from corral.domain.host_plan import LINGER_ON, MAKE_DIRECTORY, START_MANAGER, START_SERVICE, Step
from corral.domain.host_trouble import Trouble
from corral.domain.own_instance import OwnInstance

#: Which check a step of the set-up is about; the others are about the set-up as such.
_CHECKS = {
    LINGER_ON: "linger",
    START_MANAGER: "linger",
    MAKE_DIRECTORY: "directories",
    START_SERVICE: DAEMON,
}
_AS_BEFORE = "--role ROLE (as corral member show says)"
#: Checks that are made for root by looking at the set-up.
BY_SETUP = frozenset(_CHECKS.values())


def trouble(found: Iterable[Trouble]) -> list[Finding]:
    """The daemon is there, does what it is asked for, and has a policy to decide by."""
    return [
        Finding(check=one.check, severity=PROBLEM, subject=one.check, message=one.message, remedy=one.remedy, ours=True)
        for one in found
    ]


def set_up(steps: Iterable[Step], told: Collection[str]) -> list[Finding]:
    """Nothing of the set-up is missing. `told` are the checks about which something worse is said already."""
    return [
        Finding(
            check=check,
            severity=WARNING,
            subject=step.subject,
            message=f"the set-up of this host lacks: {step.about} ({step.why})",
            remedy="sudo corral host setup shows what it would do, asks, and does it",
            ours=True,
            details=step.as_json(),
        )
        for step in steps
        if (check := _CHECKS.get(step.action, HOST_SETUP)) != DAEMON or DAEMON not in told
    ]


def cannot_be_set_up(refusal: CorralError) -> list[Finding]:
    """The set-up could be looked at, and done. `refusal` says why not."""
    return [
        Finding(
            check=HOST_SETUP,
            severity=PROBLEM,
            subject=HOST_SETUP,
            message=refusal.message,
            remedy=refusal.remedy,
            ours=True,
        )
    ]


def without_member(
    users: Mapping[str, Collection[str]],
    members: Collection[str],
    served: Collection[str],
    owners: Mapping[str, str],
) -> list[Finding]:
    """Every team that is up is a member's. `users` are those whose a team is, or as whom its agents run; for those who
    are `served`, the helper does things all the same: they are in a group of this host still. `owners` has whose a
    team is.
    """
    return [
        Finding(
            check=MEMBERS,
            severity=WARNING,
            subject=team,
            message=f"the team {team} is up with agents of {user}, who is no member"
            + ("" if user in served else ", nor in a group of this host: nobody can take it down"),
            remedy=f"sudo corral down -t {team} takes it down; then sudo corral member rm {user}"
            if user in served
            else f"sudo corral member add {user} {_role(user, owners.get(team, ''))}; sudo corral down -t {team}; "
            f"sudo corral member rm {user}",
            ours=True,
            details={"team": team, "user": user},
        )
        for team in sorted(users)
        for user in sorted(set(users[team]) - {"", "root", *members})
    ]


def without_account(uids: Mapping[str, int], users: Mapping[str, Collection[str]]) -> list[Finding]:
    """Every member has an account. `uids` are the numbers of those whose account is gone, `users` as above."""
    return [_gone(user, uids[user], sorted(team for team in users if user in users[team])) for user in sorted(uids)]


def _gone(user: str, uid: int, teams: list[str]) -> Finding:
    message, remedy = f"the member {user} has no account on this host any more", f"sudo corral member rm {user}"
    if teams:
        message += f", and teams are up with agents of {user}: {', '.join(teams)}"
        back = f"sudo useradd --uid {uid} {user}; sudo corral member add {user} {_AS_BEFORE}; "
        remedy = f"{back}{''.join(f'sudo corral down -t {team}; ' for team in teams)}{remedy}; sudo userdel {user}"
    return Finding(
        check=MEMBERS,
        severity=WARNING,
        subject=user,
        message=message,
        remedy=remedy,
        ours=True,
        details={"user": user, "teams": teams},
    )


def _role(user: str, owner: str) -> str:
    """As what somebody is let in again who runs agents of a team of that owner."""
    return f"--role agent --of {owner}" if owner not in ("", user) else "--role ROLE"


def own_instances(found: Iterable[tuple[str, OwnInstance]]) -> list[Finding]:
    """Nobody who is a member has teams up in an instance of their own, which their commands do not show any more."""
    return [_own(user, own) for user, own in found]


def _own(user: str, own: OwnInstance) -> Finding:
    message, remedy = own.told(f"{user}'s")
    return Finding(
        check=OWN_INSTANCES,
        severity=WARNING,
        subject=user,
        message=message,
        remedy=f"as {user}: {remedy}",
        ours=True,
        details={"user": user, "home": own.home, "teams": list(own.teams)},
    )
