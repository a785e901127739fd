"""Members of a shared server for tests: a real store behind them, and accounts of the test's own making."""

import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from corral.adapters.policy.sources import read
from corral.adapters.sqlite.store import SqliteStore
from corral.domain.host_names import AGENTS, MEMBERS
from corral.domain.members import Account
from corral.domain.records import Agent, Event, Team, Who
from corral.places import Places
from corral.service.context import Context
from corral.service.member_facts import MemberFacts
from corral.service.members import Members
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, TEAM

ROOT = Who(user="root", uid=0)
OLGA = Who(user="olga", uid=1000)


class FakeAccounts:
    """Accounts as they are said to be."""

    def __init__(self) -> None:
        people = ("olga", "ann", "ben", "cleo")
        self.known = {user: self._account(user, 1000 + at, MEMBERS) for at, user in enumerate(people)}
        self.known["agent-builder"] = self._account("agent-builder", 1010, AGENTS)
        self.known["dora"] = Account(user="dora", uid=1011)

    def find(self, user: str) -> Account | None:
        return self.known.get(user)

    @staticmethod
    def _account(user: str, uid: int, group: str) -> Account:
        return Account(user=user, uid=uid, groups=frozenset({group}), lingers=True)


@dataclass
class Crowd:
    """The members of a host, and what they stand on."""

    members: Members
    facts: MemberFacts
    registry: Registry
    store: SqliteStore
    accounts: FakeAccounts
    context: Context

    async def up(self, team: str, user: str, *agents: tuple[str, str]) -> None:
        """Have a team of somebody be up, with agents by name and OS user."""
        record: Team = replace(TEAM, name=team, user=user)
        started: Sequence[Agent] = [replace(AGENT, team=team, name=name, user=runs_as) for name, runs_as in agents]
        await self.registry.commit(ROOT, teams=[record], agents=started)

    async def journal(self) -> list[Event]:
        return await self.store.events()


@contextlib.asynccontextmanager
async def crowd(directory: Path, policy: str = "") -> AsyncIterator[Crowd]:
    """The members that the store in `directory` has."""
    store = await SqliteStore.open(str(directory / "corral.db"))
    try:
        clock = itertools.count(1.0)
        registry = Registry(store, lambda: next(clock), str(directory / "at-rest"))
        await registry.load()
        context = Context(
            registry=registry,
            supervisor=cast("Supervisor", None),  # nobody is supervised
            store=store,
            places=Places(str(directory), str(directory)),
            now=lambda: next(clock),
        )
        accounts, tables = FakeAccounts(), read(policy).tables
        members = Members(context, accounts, lambda: tables)
        await members.load()
        yield Crowd(members, MemberFacts(registry, members), registry, store, accounts, context)
    finally:
        await store.close()
