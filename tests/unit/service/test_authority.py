"""However much one person has decided about, others have their questions answered."""

import asyncio
from dataclasses import dataclass, field

from corral.domain.policy import Decision, Question, denied
from corral.domain.records import Who
from corral.ports.policy import NoFacts
from corral.service.authority import Asking, Authority
from tests.unit.service.fake_keeper import soon

ANN, BEN = Who(user="ann", uid=1001), Who(user="ben", uid=1002)
_LONG = 2000


@dataclass
class _Policy:
    """Allows everything, to ben when it is told to, and denies where too many ask at once, as an engine does."""

    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0

    async def decide(self, question: Question) -> Decision:
        if self.waiting >= 100:
            return denied("busy", "too many")
        self.waiting += 1
        try:
            if question.who.user == "ben":
                await self.go_on.wait()
            return Decision(allow=True, rule="r", reason="")
        finally:
            self.waiting -= 1

    def known(self, _question: Question) -> None:
        return None

    async def close(self) -> None:
        pass


async def _allowed(authority: Authority, who: Who, count: int) -> int:
    asking = Asking(authority, who)
    targets = [authority.target(f"t{number}") for number in range(count)]
    return sum(await asking.settled(lambda: [asking.decision("list_agents", target).allow for target in targets]))


def test_long_lists_keep_nobody_else_from_an_answer_and_lack_nothing() -> None:
    async def act() -> None:
        policy = _Policy()
        authority = Authority(policy, NoFacts())
        lists = [asyncio.ensure_future(_allowed(authority, BEN, _LONG)) for _ in range(10)]
        await soon(lambda: policy.waiting)
        async with asyncio.timeout(10):
            assert await _allowed(authority, ANN, 50) == 50
        policy.go_on.set()
        assert await asyncio.gather(*lists) == [_LONG] * 10

    asyncio.run(act())
