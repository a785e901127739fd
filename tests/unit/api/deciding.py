"""A shared server for tests of decisions: a policy that does as it is told, and people by name."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from corral.adapters.audit.writer import TrailWriter
from corral.domain.audit import Note
from corral.domain.audit_filter import Wanted
from corral.domain.audit_terms import AuditTerms
from corral.domain.policy import Caller, Decision, Question, Target
from corral.peer import user_name
from corral.ports.policy import Facts, Policy
from corral.service.audit import Audit
from corral.service.authority import Authority
from tests.unit.api.scene import Scene, served

ME = user_name(os.getuid())


class Scripted:
    """Allows what `allows` says, and notes what it was asked. Answers come as late as an engine's would."""

    def __init__(self, allows: Callable[[Question], bool]) -> None:
        self.allows = allows
        self.asked: list[Question] = []
        self._awaited: list[tuple[str, asyncio.Event]] = []

    async def decide(self, question: Question) -> Decision:
        self.asked.append(question)
        for verb, came in self._awaited:
            if verb == question.verb:
                came.set()
        await asyncio.sleep(0)
        allow = self.allows(question)
        return Decision(allow=allow, rule="yes" if allow else "no", reason="allowed" if allow else "not allowed")

    def known(self, question: Question) -> Decision | None:
        return None

    async def close(self) -> None:
        return None

    async def asked_about(self, verb: str) -> None:
        """Return when it has been asked about that verb."""
        came = asyncio.Event()
        self._awaited.append((verb, came))
        if not self.about(verb):
            await came.wait()

    def about(self, verb: str) -> list[Target]:
        """What it was asked about, for a verb."""
        return [question.on for question in self.asked if question.verb == verb]


class People:
    """Whose everything is: `shop` is that of whoever runs the tests, `toys` is ann's."""

    def __init__(self, role: str = "junior") -> None:
        self.roles = {ME: role, "ann": "junior"}
        self.stamps = 0
        self.owners = {"shop": ME, "toys": "ann"}

    def caller(self, user: str) -> Caller | None:
        if user not in self.roles:
            return None
        return Caller(user=user, uid=os.getuid(), member=True, role=self.roles[user], teams=("shop",))

    def target(self, team: str, agent: str) -> Target | None:
        owner = self.owners.get(team, "")
        if not owner:
            return None
        return Target(
            kind="agent" if agent else "team", team=team, agent=agent, owner=owner, owner_role=self.roles[owner]
        )

    def stamp(self) -> int:
        """As if something had changed since, every time."""
        self.stamps += 1
        return self.stamps


def decided(
    directory: Path,
    policy: Policy | None,
    act: Callable[[Scene], Awaitable[None]],
    facts: Facts | None = None,
    *,
    audited: bool = True,
    several: bool = False,
) -> list[Note]:
    """Do something with a daemon that asks this policy; what its audit trail has then, but for what is about itself.
    Without a policy it is the daemon of one person. `several`: everybody of `People` has a keeper of their own.
    """
    notes: list[Note] = []

    async def run() -> None:
        audit = None
        if audited:
            terms = AuditTerms(enabled=True)
            audit = Audit(await TrailWriter.open(str(directory / "audit"), terms, lambda: 0.0, {}), terms, lambda: 0.0)
        users = People().owners if several else {}
        authority = None if policy is None else Authority(policy, facts or People())
        async with served(directory, str(directory / "d.sock"), authority, audit, users) as scene:
            await asyncio.wait_for(act(scene), 60)
            if audit is not None:
                notes.extend([entry.note async for entry in audit.read(Wanted(), lambda _: True)])
        if audit is not None:
            await audit.close()

    asyncio.run(run())
    return [note for note in notes if not note.verb.startswith("audit.")]
