"""What is to be done with somebody's account, so that they can be a member of this host, or are one no more. Pure.

A plan as that of `host_plan`: nothing is planned for what is as it should be, so who was interrupted runs it again. The
record of the member, which the daemon has, is a step like the others: the last one when somebody comes, and the first
when somebody goes. So nobody has a record whom the host does not let in, and nobody without one is left with a
say in anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.domain.errors import RefusedError
from corral.domain.host_names import AGENTS, MEMBERS
from corral.domain.host_plan import (
    JOIN_AGENTS,
    JOIN_MEMBERS,
    JOIN_USER,
    LEAVE_AGENTS,
    LEAVE_MEMBERS,
    LEAVE_USER,
    Step,
    linger_off,
    linger_on,
    stop_keeper,
)  # fmt: skip

NOTE_MEMBER = "note_member"
FORGET_MEMBER = "forget_member"
_JOIN = {MEMBERS: JOIN_MEMBERS, AGENTS: JOIN_AGENTS}
_LEAVE = {MEMBERS: LEAVE_MEMBERS, AGENTS: LEAVE_AGENTS}


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountSeen:
    """An account as it is; one that was deleted may have left something."""

    user: str
    uid: int = -1
    #: Which of the groups of this host it is in, and which group is its own.
    groups: frozenset[str] = frozenset()
    own_group: str = ""
    #: Who else is in that group, if it has the name of the user and so is nobody else's.
    users: frozenset[str] = frozenset()
    lingers: bool = False
    #: Linger was turned on for Corral's sake.
    noted: bool = False
    has_keeper: bool = False


def join(seen: AccountSeen, group: str, note: Sequence[Step], of: str = "", was: str = "") -> list[Step]:
    """What makes the account that of a member, then the steps that note it.

    Whose a user of agents is (`of`), and not whose it `was`, has the group of that user: workspaces are shared by it.
    """
    steps = []
    if group not in seen.groups:
        steps.append(Step(_JOIN[group], seen.user, f"put {seen.user} into the group {group}", "not in it"))
    if not seen.lingers:
        # Behind the group: a manager that starts now has it.
        steps.append(linger_on(seen.user))
    if was != of and was in seen.users:
        steps.append(_leave_user(was, seen.user))
    if of and seen.own_group == seen.user and of not in seen.users:
        about = f"put {of} into the group {seen.user}, by which they share files"
        steps.append(Step(JOIN_USER, f"{of}:{seen.user}", about, "not in it"))
    return [*steps, *note]


def leave(seen: AccountSeen, forget: Sequence[Step], of: str = "") -> list[Step]:
    """The steps that forget the member, then what makes the account one as any other.

    Before that, whose it was (`of`) is taken out of its group: nobody would know any more who that is.
    """
    if seen.own_group in _LEAVE:
        raise RefusedError(
            f"{seen.own_group} is the own group of {seen.user}, and nobody can be taken out of that",
            f"give them another: usermod --gid GROUP {seen.user}",
        )
    steps = [
        Step(_LEAVE[group], seen.user, f"take {seen.user} out of the group {group}", "in it")
        for group in sorted(seen.groups)
    ]
    if seen.has_keeper:
        steps.append(stop_keeper(seen.user))
    if seen.noted:
        steps.append(linger_off(seen.user))
    before = [_leave_user(of, seen.user)] if of in seen.users else []
    return [*before, *forget, *steps]


def _leave_user(person: str, user: str) -> Step:
    return Step(LEAVE_USER, f"{person}:{user}", f"take {person} out of the group {user}", "in it")


def remarks(before: AccountSeen, after: AccountSeen, of: str = "") -> list[str]:
    """What whoever shares files with a new user of agents has to know: when the group counts."""
    if of in after.users - before.users:
        return [
            f"{of} is in the group {after.user} from the next log-in on",
            f"agents of {of} are in it when the service manager of {of} was started anew: sudo systemctl restart "
            f"user@$(id -u {of}).service does that, and ends all that runs in it",
        ]
    return []
