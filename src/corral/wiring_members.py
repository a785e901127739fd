"""Puts together what `corral member` does with accounts: in its own process, as root, beside what the daemon notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corral.adapters.host import member_look
from corral.adapters.host.hands import Hands
from corral.domain import member_plan
from corral.domain.host_plan import Step
from corral.domain.member_plan import FORGET_MEMBER, NOTE_MEMBER, AccountSeen
from corral.wiring_host import Plan, wanted_layout


class _MemberHands:
    """Does the steps: those with the record by the daemon, the others as root."""

    def __init__(self, record: Callable[[], None]) -> None:
        self._record = record
        self._hands = Hands(wanted_layout(None))

    def do(self, step: Step) -> None:
        if step.action in (NOTE_MEMBER, FORGET_MEMBER):
            self._record()
        else:
            self._hands.do(step)


def see(user: str) -> AccountSeen:
    """The account as it is now."""
    return member_look.look(user)


def plan_joining(
    seen: AccountSeen, group: str, note: Sequence[Step], record: Callable[[], None], of: str, was: str
) -> Plan:
    """What lets somebody in; `record` has the daemon note it."""
    return Plan(member_plan.join(seen, group, note, of, was), (), _MemberHands(record))


def plan_leaving(seen: AccountSeen, forget: Sequence[Step], record: Callable[[], None], of: str) -> Plan:
    """What has somebody be no member; `record` has the daemon forget them."""
    return Plan(member_plan.leave(seen, forget, of), (), _MemberHands(record))
