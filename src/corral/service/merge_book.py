"""Where merges are written down: every decision about one is on the disk before anybody hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from corral.domain.merge_queue import MergeQueue
from corral.domain.merge_records import Merge
from corral.domain.records import SUPERVISOR, NewEvent, Team, Who
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.ledger import Ledger

_KIND = "merges"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Merge).decode

#: Changes a queue, given a revision and the time; the entries as they are then.
Decide = Callable[[MergeQueue, int, float], Sequence[Merge]]


class MergeBook:
    """The queues of all teams, also of those that are not up."""

    def __init__(self, context: Context, ledger: Ledger) -> None:
        self._store = context.store
        self._now = context.now
        self._ledger = ledger
        self._queues: dict[str, MergeQueue] = {}
        self._changed = asyncio.Event()
        ledger.keep(self._read)

    async def _read(self) -> Callable[[], None]:
        found: dict[str, list[Merge]] = {}
        for item in await self._store.items(_KIND):
            merge = _decode(item.value)
            found.setdefault(merge.team, []).append(merge)

        def put() -> None:
            self._queues = {team: MergeQueue(merges) for team, merges in found.items()}

        return put

    def queue(self, team: str) -> MergeQueue:
        """The queue of a team. To be looked at; it is changed by `decide`."""
        return self._queues.get(team) or MergeQueue()

    def elsewhere(self, team: Team) -> str:
        """That some of a team are of another repository than it is up in, in words; empty if none is."""
        found = self.queue(team.name).elsewhere(team.repository)
        if not found:
            return ""
        count = "1 merge is" if len(found) == 1 else f"{len(found)} merges are"
        of = ", ".join(dict.fromkeys(merge.repository for merge in found))
        return (
            f"{count} of another repository ({of}): {', '.join(merge.name for merge in found[:10])}; nothing is done "
            f"until {team.name} is up there again, and corral merge cancel takes one out"
        )

    @property
    def teams(self) -> list[str]:
        """Those that have a queue."""
        return list(self._queues)

    async def decide(
        self,
        team: str,
        decide: Decide,
        event: str,
        *,
        who: Who | None = None,
        outcome: str = "ok",
        data: Mapping[str, object] | None = None,
    ) -> list[Merge]:
        """Change a queue and have that written, with an event for each entry; without `who`, by who submitted it.

        Nothing holds if the store refuses.
        """
        revision, now = self._ledger.next_revision(), self._now()
        changed = list(decide(self._queues.setdefault(team, MergeQueue()), revision, now))
        writing = [
            self._ledger.submit(
                Change(
                    who=who or _submitter(merge),
                    time=now,
                    put_items=[Item(_KIND, _key(merge), _encode(merge))],
                    events=[_event(event, merge, outcome, data or {})] if event else (),
                )
            )
            for merge in changed
        ]
        for written in writing:
            await asyncio.shield(written)
        self._tell()
        return changed

    async def drop(self, merges: Sequence[Merge]) -> None:
        """Forget entries that the queue has forgotten."""
        if merges:
            dropped = [(_KIND, _key(merge)) for merge in merges]
            await self._ledger.write(Change(who=SUPERVISOR, time=self._now(), drop_items=dropped))

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self) -> None:
        """Wait until an entry has changed after this call."""
        await self._changed.wait()


def _submitter(merge: Merge) -> Who:
    """Who is accountable for it."""
    return Who(user=merge.person, uid=merge.uid, agent=f"{merge.team}/{merge.agent}" if merge.agent else "")


def _key(merge: Merge) -> str:
    return f"{merge.team}/{merge.number:020d}"


def _event(event: str, merge: Merge, outcome: str, more: Mapping[str, object]) -> NewEvent:
    facts: dict[str, Any] = {
        "merge": merge.name,
        "branch": merge.branch,
        "tip": merge.tip,
        "target": merge.target,
        "agent": merge.party if merge.agent else "",
        "person": merge.person,
        **({"commit": merge.commit} if merge.commit else {}),
        **({"base": merge.base} if merge.base else {}),
        **({"tokens": list(merge.tokens)} if merge.tokens else {}),
        **({"reason": merge.reason} if merge.reason else {}),
        **({"trace": merge.trace} if merge.trace else {}),
        **more,
    }
    return NewEvent(event=event, team=merge.team, agent=merge.agent, outcome=outcome, data=facts)
