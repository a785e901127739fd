"""What somebody is asked about who lets people in: their teams, and the host where it is the host's matter."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from corral.api.about import Case
from corral.api.member_finders import MemberFinders
from corral.api.member_table import MemberBody
from corral.domain.members import Wanted
from corral.domain.policy import HOST, TEAM, Target
from corral.domain.records import Who
from tests.support.members import ROOT, Crowd, crowd

BEN = Who(user="ben", uid=1002)


@dataclass
class Letting:
    """A `Case` of ben's, who sees everything."""

    user: str
    body: MemberBody

    def __post_init__(self) -> None:
        self.request = SimpleNamespace(path_params={"user": self.user})
        self.asking = SimpleNamespace(who=BEN, sees=lambda _: True)

    def order(self, _: type[MemberBody]) -> MemberBody:
        return self.body

    def target(self, team: str) -> Target:
        return Target(kind=TEAM, team=team, owner="ben")


def kinds(one: Crowd, user: str, body: MemberBody) -> list[tuple[str, str]]:
    about = MemberFinders(one.members).added(cast("Case", Letting(user, body)))
    return [(on.kind, on.team) for on in about.on]


def play(directory: Path, act: Callable[[Crowd], Awaitable[None]]) -> None:
    async def run() -> None:
        async with crowd(directory) as one:
            await one.members.put(ROOT, Wanted(user="ben", role="senior"))
            await one.members.put(ROOT, Wanted(user="cleo", role="owner"))
            await one.members.remove(ROOT, "cleo", force=False)
            await act(one)

    asyncio.run(run())


def test_who_is_let_into_a_team_is_a_matter_of_that_team(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        assert kinds(one, "ann", MemberBody(role="junior", teams=["mill"])) == [(TEAM, "mill")]
        # Who comes back is who they were.
        assert kinds(one, "cleo", MemberBody(role="junior", teams=["mill"])) == [(TEAM, "mill")]

    play(tmp_path, act)


def test_what_a_former_member_left_is_a_matter_of_the_host(tmp_path: Path) -> None:
    async def act(one: Crowd) -> None:
        one.accounts.known["cleo"] = replace(one.accounts.known["cleo"], uid=1099)
        for inherit in (False, True):
            body = MemberBody(role="junior", teams=["mill"], inherit=inherit)
            assert (HOST, "") in kinds(one, "cleo", body), f"inherit is {inherit}"

    play(tmp_path, act)
