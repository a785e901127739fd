"""Members as the daemon tells of them. These classes are the schemas of the OpenAPI document as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from corral.api.answers import Answer
from corral.domain.timestamps import timestamp

if TYPE_CHECKING:
    from corral.domain import members as rules
    from corral.service import members

_TIME = Meta(extra_json_schema={"format": "date-time"})


class Member(Answer, frozen=True):
    """Somebody who belongs to this host."""

    user: str
    uid: int
    role: str
    teams: Annotated[list[str], Meta(description="teams that they work along in, besides their own")]
    of: Annotated[str, Meta(description="whose it is, if it is a user of agents; else empty")]
    agent_users: Annotated[list[str], Meta(description="the users of agents that are theirs")]
    since: Annotated[str, _TIME]
    by: Annotated[str, Meta(description="who let them in")]
    problems: Annotated[list[str], Meta(description="what keeps them from working here, as sentences")]


class MemberChanged(Answer, frozen=True):
    """What was done, or with `dry_run` would be."""

    change: Annotated[str, Meta(description="`added`, `changed`, `removed` or `unchanged`")]
    dry_run: bool
    group: Annotated[str, Meta(description="the group of the operating system that the role is for")]
    member: Member
    before: Annotated[Member | None, Meta(description="the record that there was")]
    left_up: Annotated[list[str], Meta(description="teams of whoever was removed by force that are up all the same")]


def member(known: members.Members, one: rules.Member) -> Member:
    """A member, and whether the operating system agrees."""
    from corral.domain.members import problems

    return Member(
        user=one.user,
        uid=one.uid,
        role=one.role,
        teams=list(one.teams),
        of=one.of,
        agent_users=known.agent_users(one.user),
        since=timestamp(one.since),
        by=one.by,
        problems=problems(one, known.account(one.user)),
    )


def changed(known: members.Members, done: members.Changed, *, dry_run: bool) -> MemberChanged:
    """A change."""
    from corral.domain.members import group_of

    return MemberChanged(
        change=done.change,
        dry_run=dry_run,
        group=group_of(done.member.role),
        member=member(known, done.member),
        before=None if done.before is None else member(known, done.before),
        left_up=list(done.left_up),
    )


def noted(done: members.Changed) -> dict[str, object]:
    """What the audit trail has of a change: what they are now, and what they were, if that is something else."""
    now, before = done.member, done.before
    facts: dict[str, object] = {"change": done.change, "role": now.role, "teams": ", ".join(now.teams)}
    if before is not None and before.role != now.role:
        facts["role_before"] = before.role
    if before is not None and before.teams != now.teams:
        facts["teams_before"] = ", ".join(before.teams)
    return facts
