"""The use cases around what waits for a person: seeing it, taking it on, answering it once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from corral.domain import inbox_causes, states
from corral.domain.activity import ABOUT
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.domain.inbox import Inbox
from corral.domain.inbox_answers import TEXT, Answer, keys_of, must_have_been_shown
from corral.domain.inbox_records import ANSWERING, NOT_KNOWN, PROVED, SNOOZED, Cause, Entry
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Who
from corral.failpoint import point
from corral.ports.dialogs import Peer, Pressed
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.people import must_be_a_person
from corral.service.reaching import keeper_soon
from corral.service.running import must_run

log = logging.getLogger("corral.daemon")

_KIND, _COUNT = "inbox", "inbox-count"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode

#: Sends words to an agent, for a person, as `corral send` does: whether it is proved that the agent took them. Raises
#: `UnavailableError` if nobody can tell whether they were submitted, and any other `CorralError` if they will not be.
Say = Callable[[Who, Agent, bytes], Awaitable[bool]]


class InboxService:
    """The use cases. Entries come and go by `inbox_watch`; people answer them here."""

    def __init__(self, context: Context, ledger: Ledger, say: Say) -> None:
        self._store = context.store
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._ledger = ledger
        self._say = say
        self._inbox = Inbox()
        #: Those whose answers are being pressed by this daemon; what else is being answered, an earlier one began.
        self._pressing: set[int] = set()
        self._changed = asyncio.Event()
        self._tell: Callable[[Entry], None] = lambda _: None
        self._suspect: Callable[[tuple[str, str]], None] = lambda _: None
        ledger.keep(self._read)

    def on_new(self, tell: Callable[[Entry], None]) -> None:
        """Whom to tell of an entry that is new; called when it is on the disk."""
        self._tell = tell

    def on_doubt(self, suspect: Callable[[tuple[str, str]], None]) -> None:
        """Whom to tell that an agent, by team and name, should be looked at again."""
        self._suspect = suspect

    async def _read(self) -> Callable[[], None]:
        entries = [_decode(item.value) for item in await self._store.items(_KIND)]
        last = max((int(item.value) for item in await self._store.items(_COUNT)), default=0)

        def put() -> None:
            self._inbox = Inbox(entries, last)

        return put

    # Looking

    def list(self, *, team: str = "", everything: bool = False) -> list[Entry]:
        """Entries as they are now, oldest first: those that wait, or all that are kept."""
        now = self._now()
        found = (entry.at(now) for entry in self._inbox)
        return [entry for entry in found if (everything or entry.waits) and team in ("", entry.cause.team)]

    def show(self, number: int) -> Entry:
        """One entry, or `NotFoundError`."""
        return self._inbox.get(number).at(self._now())

    def unattended(self, team: str = "") -> Sequence[Entry]:
        """What waits for somebody and does not rest."""
        return [entry for entry in self.list(team=team) if entry.state != SNOOZED]

    def waiting(self, team: str, agent: str, *kinds: str) -> Sequence[Entry]:
        """Those of an agent that wait, of these kinds."""
        return self._inbox.waiting(team, agent, *kinds)

    def agents(self) -> set[tuple[str, str]]:
        """Whose entries wait, by team and agent."""
        return self._inbox.agents()

    async def change(self) -> None:
        """Wait until an entry has changed after this call."""
        await self._changed.wait()

    # Causes

    async def came(self, cause: Cause) -> None:
        """Somebody is needed; a cause that is known already makes no second entry, and brings the first up to date."""
        last, now = self._inbox.last, self._now()
        before = self._inbox.waiting_for(cause)
        team = self._registry.teams.get(cause.team)
        person = "" if team is None else self._ledger.shares.person_of(team.user)
        entry = self._inbox.came(cause, now, person)
        if entry is None:
            return
        event = "inbox.opened" if before is None else "inbox.drawn" if before.cause.becomes(cause) else ""
        await self._write(SUPERVISOR, entry, event, now)
        if entry.number > last:
            self._tell(entry)

    async def went(self, entry: Entry) -> None:
        """What it was about is gone."""
        now = self._now()
        gone = self._inbox.went(entry.number, now)
        if gone is not None:
            await self._write(SUPERVISOR, gone, "inbox.gone", now)

    def waiting_for(self, cause: Cause) -> Entry | None:
        """The entry that waits for the same; None if that would be a new one."""
        return self._inbox.waiting_for(cause)

    def left_over(self, entry: Entry) -> bool:
        """True if an earlier daemon began to answer it, and nobody knows what came of that."""
        return entry.state == ANSWERING and entry.number not in self._pressing

    async def settle(self, entry: Entry, mark: str) -> None:
        """Say what became of an answer that an earlier daemon began, by the dialog that is there now."""
        now = self._now()
        if entry.cause.mark and entry.cause.mark == mark:
            again = self._inbox.not_answered(entry.number, now, gone=False)
            await self._write(SUPERVISOR, again, "inbox.not_answered", now, outcome="failed")
        else:
            done = self._inbox.answered(entry.number, NOT_KNOWN, now)
            await self._write(SUPERVISOR, done, "inbox.answered", now, outcome="unknown")

    # People

    async def claim(self, who: Who, peer: Peer, number: int) -> Entry:
        """It is theirs for a while: nobody else can answer it."""
        await self._must_be_a_person(who, peer)
        now = self._now()
        entry = self._inbox.claim(number, who.user, now)
        await self._write(who, entry, "inbox.claimed", now)
        return entry

    async def snooze(self, who: Who, peer: Peer, number: int, seconds: float) -> Entry:
        """Nobody is told of it for so long."""
        await self._must_be_a_person(who, peer)
        now = self._now()
        entry = self._inbox.snooze(number, who.user, seconds, now)
        await self._write(who, entry, "inbox.snoozed", now)
        return entry

    async def answer(self, who: Who, peer: Peer, number: int, answer: Answer) -> Entry:
        """Give an answer, which is pressed into the dialog that the entry shows and into no other.

        Returns when the dialog is proved to be gone, or words are submitted. `RefusedError` if somebody else has it, if
        what it was about is gone, or if the answer did not take; `UnavailableError` if nobody can tell.
        """
        await self._must_be_a_person(who, peer)
        known = self._inbox.must_be_free(number, who.user, self._now())
        entry = await self._as_shown_now(known)
        must_have_been_shown(known, entry, answer)
        keys = keys_of(entry, answer)
        agent = self._registry.agent(entry.cause.team, entry.cause.agent)
        must_run(agent, ended="there is nothing to answer", paused="it takes no answer", then="answer it")
        keeper = await keeper_soon(self._supervisor, agent.team, agent.name)
        now = self._now()
        entry = self._inbox.begin_answer(number, who.user, answer.named, now)
        self._pressing.add(number)
        try:
            await self._write(who, entry, "inbox.answering", now)
            point("daemon.answer_written")
            if not keys and not entry.cause.mark:
                taken = await self._say(who, agent, answer.text.encode())
                return await self._given(who, number, PROVED if taken else NOT_KNOWN)
            # Words go into the field of the dialog, which is a place for one line.
            words = "" if keys else answer.text.strip()
            pressed = await keeper.press(agent.team, agent.run, list(keys), entry.cause.mark, words)
            point("daemon.answer_pressed")
            return await self._outcome(who, entry, pressed)
        except UnavailableError:
            # Nobody knows whether it was pressed. Whoever looks at the agent next settles it.
            self._pressing.discard(number)
            self._suspect(agent.key)
            raise
        except CorralError:
            if self.show(number).state == ANSWERING:
                await self._not_given(who, number, gone=False)
            raise
        finally:
            self._pressing.discard(number)

    async def _must_be_a_person(self, who: Who, peer: Peer) -> None:
        remedy = "answer it from a terminal of your own: no agent answers for a person"
        await must_be_a_person(self._supervisor, who, peer, what="the inbox", remedy=remedy)

    async def _as_shown_now(self, entry: Entry) -> Entry:
        """The entry, brought up to date if the screen shows more of its question by now than when it was looked at."""
        cause = entry.cause
        agent = self._registry.agents.get((cause.team, cause.agent))
        if not entry.waits or cause.kind not in ABOUT or agent is None:
            return entry
        if agent.state != states.RUNNING or agent.run != cause.run:
            return entry
        seen = await (await keeper_soon(self._supervisor, agent.team, agent.name)).look_at_dialog(agent.team, agent.run)
        if seen.dialog is None or not seen.dialog.takes_keys:
            return entry
        shown = inbox_causes.of_activity(agent, self._registry.activity(agent.key), seen.lines, seen.dialog)
        known = self._inbox.waiting_for(shown)
        if known is not None and known.number == entry.number:
            await self.came(shown)
        return self.show(entry.number)

    async def _outcome(self, who: Who, entry: Entry, pressed: Pressed) -> Entry:
        number, cause = entry.number, entry.cause
        shown = pressed.seen.dialog.lines if pressed.seen.dialog is not None else pressed.seen.lines[-8:]
        if pressed.outcome == "gone":
            given = await self._given(who, number)
            # The next question may be there already.
            self._suspect((cause.team, cause.agent))
            return given
        await self._not_given(who, number, gone=pressed.outcome == "changed")
        self._suspect((cause.team, cause.agent))
        if pressed.outcome == "changed":
            raise RefusedError(
                f"{cause.agent} asks that no more: {pressed.why}; nothing was pressed",
                "corral inbox shows what it asks now",
                state="gone",
                lines=list(shown),
            )
        if pressed.outcome == "busy":
            raise RefusedError(
                f"nothing was pressed: {pressed.why}", "let them answer, or try again in a moment", lines=list(shown)
            )
        raise RefusedError(
            f"{_told(entry)}, and {cause.agent} asks the same: {pressed.why}",
            f"corral attach {cause.team}/{cause.agent}, and answer it there",
            lines=list(shown),
        )

    async def _given(self, who: Who, number: int, outcome: str = PROVED) -> Entry:
        now = self._now()
        entry = self._inbox.answered(number, outcome, now)
        await self._write(who, entry, "inbox.answered", now)
        return entry

    async def _not_given(self, who: Who, number: int, *, gone: bool) -> None:
        now = self._now()
        entry = self._inbox.not_answered(number, now, gone=gone)
        await self._write(who, entry, "inbox.gone" if gone else "inbox.not_answered", now, outcome="refused")

    # Writing

    async def _write(self, who: Who, entry: Entry, event: str, now: float, outcome: str = "ok") -> None:
        """Have it on the disk, with what is kept no more. What its screen shows is not journalled."""
        cause = entry.cause
        facts: dict[str, object] = {
            "entry": entry.number,
            "kind": cause.kind,
            **({"run": cause.run} if cause.run else {}),
            **({"answer": entry.answer} if entry.answer else {}),
            **({"by": entry.by} if entry.by else {}),
        }
        dropped = self._inbox.surplus()
        change = Change(
            who=who,
            time=now,
            put_items=[Item(_KIND, _key(entry.number), _encode(entry)), Item(_COUNT, "last", b"%d" % self._inbox.last)],
            drop_items=[(_KIND, _key(number)) for number in dropped],
            events=[NewEvent(event=event, team=cause.team, agent=cause.agent, outcome=outcome, data=facts)]
            if event
            else (),
        )
        await self._ledger.write(change)
        self._changed.set()
        self._changed = asyncio.Event()


def _told(entry: Entry) -> str:
    return "an answer in words was tried" if entry.answer == TEXT else f"{entry.answer} was pressed"


def _key(number: int) -> str:
    return f"{number:015d}"
