"""The use cases around the members of a shared server. Whether somebody may change them, the policy says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from corral.domain import members as rules
from corral.domain.members import Account, Member, Wanted
from corral.domain.records import NewEvent, Who
from corral.domain.roles import Tables
from corral.ports.member_accounts import Accounts
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.turn import MayGoOn, as_decided

#: Members by name; and the numbers of those who were members, by name.
_KIND, _FORMER = "member", "former_member"
_encode = msgspec.json.Encoder().encode

# What a change comes to.
ADDED, CHANGED, REMOVED, UNCHANGED = "added", "changed", "removed", "unchanged"
_EVENTS = {ADDED: "member.added", CHANGED: "member.changed", REMOVED: "member.removed"}


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, or would be: the record after it, and before it if there was one."""

    change: str
    member: Member
    before: Member | None = None
    account: Account | None = None
    #: Teams of whoever was removed that are up all the same.
    left_up: tuple[str, ...] = ()


class Members:
    """The members by name: in memory for whoever asks, and in the store."""

    def __init__(self, context: Context, accounts: Accounts, tables: Callable[[], Tables]) -> None:
        """`tables` gives those of the policy, or raises BadPolicyError if it cannot be read."""
        self._store = context.store
        self._registry = context.registry
        self._now = context.now
        self._accounts = accounts
        self._tables = tables
        self._known: dict[str, Member] = {}
        self._former: dict[str, int] = {}
        self._changing = asyncio.Lock()
        self._on_change: list[Callable[[], None]] = []
        #: Another one with every change.
        self.version = 0

    async def load(self) -> None:
        """Read who the members are."""
        items = await self._store.items(_KIND)
        self._known = {item.key: msgspec.json.decode(item.value, type=Member) for item in items}
        self._former = {item.key: int(item.value) for item in await self._store.items(_FORMER)}
        self.version += 1

    def watch(self, on_change: Callable[[], None]) -> None:
        """Have it called after every change. What it raises, whoever made the change is told."""
        self._on_change.append(on_change)

    def all(self) -> list[Member]:
        """Everybody, by name."""
        return [self._known[user] for user in sorted(self._known)]

    def get(self, user: str) -> Member | None:
        """The member of that name, if there is one."""
        return self._known.get(user)

    def show(self, user: str) -> Member:
        """The member of that name, or NotFoundError."""
        return rules.must_be_member(self._known, user)

    def person_of(self, user: str) -> str:
        """Whose an OS user is: a person's own, or that of an agent user's person; empty if it is nobody's here."""
        return rules.person_of(self._known, user)

    def agent_users(self, user: str) -> list[str]:
        """The users of agents that belong to somebody."""
        return rules.agent_users(self._known, user)

    def account(self, user: str) -> Account | None:
        """The account of the operating system, as it is now."""
        return self._accounts.find(user)

    def becoming(self, who: Who, wanted: Wanted) -> Member:
        """What somebody would be; raises what speaks against it. Nothing is changed."""
        return self._becoming(who, wanted, self._accounts.find(wanted.user))

    def is_namesake(self, member: Member) -> bool:
        """Whether somebody else was a member under that name, and left what is kept by name."""
        return self._former.get(member.user, member.uid) != member.uid

    def _becoming(self, who: Who, wanted: Wanted, account: Account | None) -> Member:
        return rules.become(
            self._known, wanted, account, self._tables(), now=self._now(), by=who.user, former=self._former
        )

    async def put(self, who: Who, wanted: Wanted, *, dry_run: bool = False, may_go_on: MayGoOn = as_decided) -> Changed:
        """Let somebody in, or change what they are. With `dry_run` only say what would become of it.

        Somebody who is not in the group of the operating system is refused; to root it is said what would be, since it
        can put them there.
        """
        async with self._changing:
            await may_go_on()
            account, before = self._accounts.find(wanted.user), self._known.get(wanted.user)
            member = self._becoming(who, wanted, account)
            change = UNCHANGED if member is before else ADDED if before is None else CHANGED
            assert account is not None  # or `become` would have raised
            if not dry_run or who.uid != 0:
                rules.must_be_in_group(member, account, inherits=wanted.inherits)
            if not dry_run and change != UNCHANGED:
                await self._commit(who, change, member, before)
                self._known[member.user] = member
                self._former.pop(member.user, None)
                self._changed()
            return Changed(change=change, member=member, before=before, account=account)

    async def remove(
        self, who: Who, user: str, *, force: bool, dry_run: bool = False, may_go_on: MayGoOn = as_decided
    ) -> Changed:
        """Have somebody be no member any more. Refused while teams of theirs are up, unless it is forced."""
        async with self._changing:
            await may_go_on()
            busy = self._busy(user)
            member = rules.leave(self._known, user, busy, force=force)
            if not dry_run:
                await self._commit(who, REMOVED, member, member)
                del self._known[user]
                self._former[user] = member.uid
                self._changed()
            return Changed(
                change=REMOVED,
                member=member,
                before=member,
                account=self._accounts.find(user),
                left_up=tuple(sorted(set(busy))),
            )

    def _changed(self) -> None:
        self.version += 1
        for tell in self._on_change:
            tell()

    def _busy(self, user: str) -> list[str]:
        """The teams that are up and belong to somebody, or have agents that run as that user."""
        up = [team.name for team in self._registry.teams.values() if team.user == user]
        return [*up, *(agent.team for agent in self._registry.agents.values() if agent.user == user)]

    async def _commit(self, who: Who, change: str, member: Member, before: Member | None) -> None:
        told: dict[str, object] = {
            "user": member.user,
            "uid": member.uid,
            "role": member.role,
            "teams": list(member.teams),
            "of": member.of,
        }
        if change == CHANGED and before is not None:
            told["before"] = {"role": before.role, "teams": list(before.teams), "of": before.of}
        gone = change == REMOVED
        put: Sequence[Item] = (
            (Item(_FORMER, member.user, str(member.uid).encode()),)
            if gone
            else (Item(_KIND, member.user, _encode(member)),)
        )
        await self._store.commit(
            Change(
                who=who,
                time=self._now(),
                put_items=put,
                drop_items=((_KIND if gone else _FORMER, member.user),),
                events=(NewEvent(event=_EVENTS[change], data=told),),
            )
        )
