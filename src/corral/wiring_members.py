"""Puts together what `corral member` does with accounts: in its own process, as root, beside what the daemon notes."""

from __future__ import annotations

import pwd
from collections.abc import Callable, Sequence

from corral.adapters.host import member_look
from corral.adapters.host.hands import Hands
from corral.client.own_instance import instance_of
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


def own_instance_of(user: str) -> list[str]:
    """What is to be said of teams from before somebody became a member; nothing if there are none."""
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        return []
    found = instance_of(account.pw_dir, account.pw_uid)
    if found is None:
        return []
    message, remedy = found.told(f"{user}'s")
    return [message, f"as {user}: {remedy}"]


def plan_joining(
    seen: AccountSeen, group: str, note: Sequence[Step], record: Callable[[], None], of: str, was: str
) -> Plan:
    """What lets somebody in; `record` has the daemon note it."""
    return Plan(member_plan.join(seen, group, note, of, was), (), _MemberHands(record))


def plan_leaving(seen: AccountSeen, forget: Sequence[Step], record: Callable[[], None], of: str) -> Plan:
    """What has somebody be no member; `record` has the daemon forget them."""
    return Plan(member_plan.leave(seen, forget, of), (), _MemberHands(record))
