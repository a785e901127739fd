"""The routes of members, and of asking the policy about somebody: for the daemon of a shared server."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from corral.api import member_answers, policy_answers
from corral.api.endpoint import Endpoint, Parameter, flag
from corral.api.requests import Body


class MemberBody(Body, frozen=True):
    """`PUT /v1/members/{user}`: what is left out stays as it is"""

    role: Annotated[str, Meta(description="a role of the policy")] = ""
    teams: Annotated[list[str] | None, Meta(description="all teams that they are to work along in")] = None
    of: Annotated[str, Meta(description="of a user of agents: the member whose it is")] = ""
    inherit: Annotated[
        bool, Meta(description="let them have what a former member of that name left, who had another uid")
    ] = False
    dry_run: bool = False


_USER = Parameter("user", "the name of the OS user", required=True)

MEMBERS = (
    Endpoint(
        method="GET",
        path="/v1/members",
        handler="member_ls",
        summary="the members of this host",
        answers=(list[member_answers.Member],),
    ),
    Endpoint(
        method="GET",
        path="/v1/members/{user}",
        handler="member_show",
        summary="a member",
        parameters=(_USER,),
        answers=(member_answers.Member,),
    ),
    Endpoint(
        method="PUT",
        path="/v1/members/{user}",
        handler="member_add",
        summary="let somebody in, or change what they are; who is not in the group of the operating system is refused",
        parameters=(_USER,),
        body=MemberBody,
        answers=(member_answers.MemberChanged,),
    ),
    Endpoint(
        method="DELETE",
        path="/v1/members/{user}",
        handler="member_rm",
        summary="have somebody be no member any more; refused while teams of theirs are up",
        parameters=(_USER, flag("force", "even then"), flag("dry_run", "only say what would be done")),
        answers=(member_answers.MemberChanged,),
    ),
    Endpoint(
        method="GET",
        path="/v1/policy/check",
        handler="policy_check",
        summary="what the policy would decide, by which rule, and from which facts; nothing is done",
        parameters=(
            Parameter("verb", "the operation that is asked for, by its id in this document", required=True),
            Parameter("who", "the person, or TEAM/AGENT; without it, the caller"),
            Parameter("on", "TEAM/AGENT, USER/AGENT, TEAM, or @USER; without it, the host"),
            Parameter("role", "the role of the person, instead of the one they have"),
            Parameter("in_team", "a team that the person is in, instead of theirs", repeated=True),
            Parameter("owner", "whose it is, instead of what is known"),
            Parameter("owner_role", "the role of that person, instead of the one they have"),
            Parameter("fact", "what else counts for the verb, as KEY=VALUE", repeated=True),
        ),
        answers=(policy_answers.Explained,),
    ),
)
