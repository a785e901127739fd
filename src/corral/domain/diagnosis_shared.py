"""What can be wrong with a shared server as such: its policy, whose teams are up, what is up beside it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from corral.domain.diagnosis import MEMBERS, OWN_INSTANCES, POLICY, PROBLEM, WARNING, Finding
from corral.domain.own_instance import OwnInstance


def policy(denial: str, remedy: str) -> list[Finding]:
    """The policy can be used. `denial` is what the daemon says if it cannot, and so denies everything."""
    if not denial:
        return []
    return [Finding(check=POLICY, severity=PROBLEM, subject=POLICY, message=denial, remedy=remedy, ours=True)]


def without_member(users: Mapping[str, Collection[str]], members: Collection[str]) -> list[Finding]:
    """Every team that is up is a member's. `users` are those whose a team is, or as whom its agents run."""
    return [
        Finding(
            check=MEMBERS,
            severity=WARNING,
            subject=team,
            message=f"the team {team} is up with agents of {user}, who is no member: nobody can take it down",
            remedy=f"sudo corral member add {user} --role ROLE; sudo corral down -t {team}; "
            f"sudo corral member rm {user}",
            ours=True,
            details={"team": team, "user": user},
        )
        for team in sorted(users)
        for user in sorted(set(users[team]) - {"", "root", *members})
    ]


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
