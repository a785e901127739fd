"""How what a request about members is about is found. See `about`."""

from __future__ import annotations

from dataclasses import dataclass

from corral.api.about import About, Case
from corral.api.member_table import MemberBody
from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.members import Wanted
from corral.domain.policy import TEAM, Target
from corral.service.members import Members

_HOST = Target()


@dataclass(frozen=True, slots=True)
class MemberFinders:
    """Roles are the host's, teams are those of whoever has them. Without members nobody is one."""

    members: Members | None

    def shown(self, case: Case) -> About:
        """It is about a person."""
        return About(on=(case.asking.authority.person(_user(case)),))

    def added(self, case: Case) -> About:
        """Somebody is let in, or comes to be something else. Each team that they come to or leave is asked about. What
        is not about teams is about the host. To change a role, one must be able to give the new one and take the old.
        """
        if self.members is None:
            return About(on=(_HOST,))  # the handler says what is wrong
        order, user = case.order(MemberBody), _user(case)
        teams = None if order.teams is None else tuple(order.teams)
        before = self.members.get(user)
        wanted = Wanted(user=user, role=order.role, teams=teams, of=order.of, inherits=order.inherit)
        try:
            after = self.members.becoming(case.asking.who, wanted)
        except (NotFoundError, RefusedError):
            # What speaks against it, the handler says: to those who may do such things, and to nobody else.
            asked = tuple(_team(case, team) for team in teams or ())
            return About(on=asked if asked and not order.role else (*asked, _HOST), facts={"role": order.role})
        had = () if before is None else before.teams
        on = tuple(_team(case, team) for team in sorted({*had} ^ {*after.teams}))
        is_other = before is not None and (before.role, before.of) != (after.role, after.of)
        # What a former member left is no matter of the teams alone that somebody is let into.
        is_other = is_other or self.members.is_namesake(after)
        roles = dict.fromkeys((after.role, after.role if before is None else before.role))
        facts = tuple({"role": role} for role in roles)
        return About(on=(*on, _HOST) if is_other or not on else on, facts=facts[0], more_facts=facts[1:])

    def removed(self, case: Case) -> About:
        """Somebody is to be no member of the host any more."""
        if self.members is None:
            return About(on=(_HOST,))
        known = self.members.get(_user(case))
        # Of whom there is no record, the handler says so; only those who may remove anybody get as far.
        return About(on=(_HOST,), facts={"role": "" if known is None else known.role})


def _team(case: Case, team: str) -> Target:
    """A team. Whose one is that the caller may not see, a denial is not to tell: it is nobody's."""
    return case.target(team) if case.asking.sees(team) else Target(kind=TEAM, team=team)


def _user(case: Case) -> str:
    user: str = case.request.path_params["user"]
    return user
