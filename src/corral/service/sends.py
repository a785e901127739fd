"""The use cases around what is typed into agents: a durable line for each, receipts, and waiting for a state.

What is in line is on the disk, with its text. How it gets from there into the agent is in `service/send_work.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import msgspec

from corral.domain import kinds, messages, sends
from corral.domain.errors import CorralError, RefusedError, UnavailableError, WrongUseError
from corral.domain.records import Agent, NewEvent, Who
from corral.domain.sends import FAILED, PASTED, QUEUED, SUBMITTED, UNKNOWN, WAY, Line, Send
from corral.failpoint import point
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.running import must_run, must_run_or_start

#: The kinds of records: how far a message got, and its text while it is needed.
_KIND, _TEXT = "send", "send text"
LONGEST_WAIT = 86400.0
#: How long whoever sends waits, if nothing else is said.
DEFAULT_WAIT = 20.0
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Send).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A receipt for a message."""

    team: str
    agent: str
    message: str
    state: str
    bytes: int
    #: What it waits for, or why it got no further; empty if there is nothing to say.
    reason: str = ""


class Sends:
    """The use cases. `on_new(key)` is called when something was put in line for an agent."""

    def __init__(self, context: Context, ledger: Ledger) -> None:
        self._store = context.store
        self._now = context.now
        self._ledger = ledger
        self._line = Line()
        self._texts: dict[int, str] = {}
        #: What the first of each line is waiting for, as far as was seen. Not stored: it is looked at again.
        self._reasons: dict[int, str] = {}
        #: Those that are for the moment in which they were put in line. One of an earlier daemon is too late.
        self._for_now: set[int] = set()
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self.on_new: Callable[[tuple[str, str]], None] = lambda _: None
        ledger.keep(self._read)
        ledger.shares.count_by_user(lambda: self._line.taken())

    async def _read(self) -> Callable[[], None]:
        found = [_decode(item.value) for item in await self._store.items(_KIND)]
        texts = {int(item.key): item.value.decode() for item in await self._store.items(_TEXT)}

        def put() -> None:
            self._line = Line(found)
            self._for_now = set()
            self._texts = texts
            for events in self._watchers.values():
                for event in events:
                    event.set()

        return put

    # Sending

    async def send(self, who: Who, agent: Agent, raw: bytes, *, enter: bool, force: bool = False) -> Send:
        """Put a message in line for an agent; it is on the disk when this returns.

        It is typed behind the first prompt, also of one that does not run now and is to start by itself. A service is
        refused. With `force` it is not, and nobody waits for a prompt.
        """
        text = messages.checked(raw)
        if agent.kind == kinds.SERVICE and not force:
            raise RefusedError(
                f"{agent.name} is a service, and nobody speaks to it",
                f"corral send --force {agent.team}/{agent.name} types it all the same",
            )
        must_run_or_start(
            agent, ended="nobody would read it", paused="it reads nothing until it goes on", then="send it"
        )
        return await self._add(who, agent, text, raw, enter=enter, ahead=force)

    async def send_at_once(self, who: Who, agent: Agent, raw: bytes) -> Send:
        """Type a message now or not at all; returns when it is submitted, or will not be and then says why.

        For what an agent is told about what it does at this moment: a while later that would be beside the point.
        """
        text = messages.checked(raw)
        must_run(agent, ended="nobody would read it", paused="it reads nothing until it goes on", then="say it")
        before = self._line.first(agent.key)
        if before is not None:
            raise RefusedError(f"message {before.message} waits to be typed first", "say it when that one is typed")
        sent = await self._add(who, agent, text, raw, enter=True, at_once=True)
        return await self.wait(sent.message, SUBMITTED, LONGEST_WAIT)

    async def prompt(self, who: Who, agent: Agent) -> Send:
        """Put the first prompt of an agent's run in line, once."""
        known = self._line.prompt_of(agent.run)
        if known is not None:
            await self._ledger.caught_up()
            return self._line.get(known.message)
        raw = agent.prompt.encode()
        return await self._add(who, agent, agent.prompt, raw, enter=True, last=not agent.stdin, prompt_of=agent.run)

    async def _add(
        self,
        who: Who,
        agent: Agent,
        text: str,
        raw: bytes,
        *,
        enter: bool,
        last: bool = False,
        prompt_of: str = "",
        at_once: bool = False,
        ahead: bool = False,
    ) -> Send:
        now = self._now()
        send = Send(
            number=self._ledger.next_revision(),
            message=secrets.token_hex(8),
            team=agent.team,
            agent=agent.name,
            by=who,
            bytes=len(raw),
            sha256=hashlib.sha256(raw).hexdigest(),
            digest=sends.digest(text),
            time=now,
            enter=enter,
            last=last,
            prompt_of=prompt_of,
            at_once=at_once,
            ahead=ahead,
        )
        if not prompt_of and who.uid >= 0:
            self._ledger.shares.check(self._ledger.shares.person_of(who.user), send.weight)
        self._line.add(send)
        if at_once:
            self._for_now.add(send.number)
        self._texts[send.number] = text
        await self._ledger.write(
            Change(
                who=who,
                time=now,
                put_items=[_item(send), Item(_TEXT, _key(send.number), text.encode())],
                events=_events(send, "message.queued"),
            )
        )
        point("daemon.send_queued")
        self.on_new(send.key)
        return send

    # Waiting

    def receipt(self, message: str) -> Sent:
        """How far a message got, or `NotFoundError`."""
        return self.told(self._line.get(message))

    async def wait(self, message: str, state: str, seconds: float) -> Send:
        """The message once the message got so far, or will not; or after so many seconds, however far it got."""
        if state not in WAY:
            raise WrongUseError(f"there is no state {state} to wait for", f"one of {', '.join(WAY)}")
        if not 0 <= seconds <= LONGEST_WAIT:
            raise WrongUseError(f"nobody can wait for {seconds:g} seconds", f"0 to {LONGEST_WAIT:g} are possible")
        changed = asyncio.Event()
        self._watchers.setdefault(message, set()).add(changed)
        try:
            with contextlib.suppress(TimeoutError):  # the receipt says how far it got
                async with asyncio.timeout(seconds):
                    while not (send := self._line.get(message)).is_over and not send.reached(state):
                        await changed.wait()
                        changed.clear()
        finally:
            events = self._watchers[message]
            events.discard(changed)
            if not events:
                del self._watchers[message]
        await self._ledger.caught_up()
        return self._line.get(message)

    def told(self, send: Send) -> Sent:
        """The receipt of a message."""
        return Sent(
            team=send.team,
            agent=send.agent,
            message=send.message,
            state=send.state,
            bytes=send.bytes,
            reason=send.reason if send.is_over else self._waits_for(send),
        )

    def _waits_for(self, send: Send) -> str:
        """Why one that is not over got no further yet, as far as that is known."""
        first = self._line.first(send.key)
        if first is not None and first.number != send.number:
            return f"{first.message} is before it"
        return self._reasons.get(send.number, send.reason)

    # For whoever does the work

    def first(self, key: tuple[str, str]) -> Send | None:
        """The message of an agent whose turn it is."""
        return self._line.first(key)

    def agents(self) -> Sequence[tuple[str, str]]:
        """Those for whom something waits."""
        return self._line.agents()

    def get(self, message: str) -> Send:
        """The message of that id, or `NotFoundError`."""
        return self._line.get(message)

    def text(self, send: Send) -> str:
        """The text of one that is not over."""
        return self._texts.get(send.number, "")

    def prompt_waits_for(self, run: str) -> str:
        """What the first prompt of a run waits for, if it is in line and that is known."""
        prompt = self._line.prompt_of(run)
        return self.told(prompt).reason if prompt is not None else ""

    def is_too_late(self, send: Send) -> bool:
        """True for one that was to be typed at once, and was not."""
        return send.at_once and not send.was_begun and send.number not in self._for_now

    def held(self, send: Send, reason: str) -> None:
        """Take note of what the first in line waits for; of any other, that is known without."""
        first = self._line.first(send.key)
        if first is not None and first.number == send.number:
            self._reasons[send.number] = reason

    async def now(self, send: Send, **changes: str) -> Send:
        """Write down how far a message got; returns when that is on the disk."""
        changed = replace(send, **changes)  # type: ignore[arg-type]
        gone = self._line.change(changed)
        drop = [(kind, _key(one.number)) for one in gone for kind in (_KIND, _TEXT)]
        if changed.is_over:
            drop.append((_TEXT, _key(changed.number)))
        event = f"message.{changed.state}" if changed.state != send.state else "message.sending"
        quiet = changed.state == send.state and changed.step not in (sends.PASTING, sends.TELLING)
        await self._ledger.write(
            Change(
                who=changed.by,
                time=self._now(),
                put_items=[_item(changed)],
                drop_items=drop,
                events=[] if quiet else _events(changed, event),
            )
        )
        if changed.is_over:
            self._texts.pop(changed.number, None)
            self._for_now.discard(changed.number)
        self._reasons.pop(changed.number, None)
        for watcher in self._watchers.get(changed.message, ()):
            watcher.set()
        return changed

    def said(self, key: tuple[str, str], text: str) -> Send | None:
        """The message that an agent's own words prove to have arrived, if that was not known."""
        return self._line.said(key, text)


def must_have_reached(sent: Sent, state: str, *, remedy: str) -> Sent:
    """The receipt, or the error that says why the message is not where it was to be.

    `remedy` is of one that could never be typed.
    """
    which = f"message {sent.message} to {sent.team}/{sent.agent}"
    if sent.state == FAILED:
        kind = RefusedError if remedy else CorralError
        said = remedy or "send it again when that is over"
        raise kind(f"{which} was not typed: {sent.reason}", said, receipt=asdict(sent))
    if sent.state == UNKNOWN:
        raise UnavailableError(
            f"nobody can tell whether {which} arrived: {sent.reason}",
            f"corral logs {sent.agent} shows what it got; it is not typed again by itself",
            receipt=asdict(sent),
        )
    if WAY.index(sent.state) < WAY.index(state):
        looking = "it is not known yet what it waits for" if sent.state == QUEUED else ""
        why = f": {sent.reason or looking}" if sent.reason or looking else ""
        rest = "it stays in line" if sent.state == QUEUED else "it goes on by itself"
        if sent.state == SUBMITTED:
            rest = "the agent gives no proof that it took it"
        elif sent.state == PASTED:
            rest = "corral attach shows what its composer has"
        raise UnavailableError(
            f"{which} is {sent.state}, and not {state} yet{why}",
            f"{rest}; corral send --status {sent.message}",
            receipt=asdict(sent),
        )
    return sent


def _events(send: Send, event: str) -> list[NewEvent]:
    if send.prompt_of:
        return []  # a prompt has events of its own
    data: dict[str, object] = {"message": send.message, "bytes": send.bytes, "sha256": send.sha256}
    if send.reason:
        data["reason"] = send.reason
    outcome = {FAILED: "failed", UNKNOWN: "unknown"}.get(send.state, "ok")
    if send.state == UNKNOWN:
        event = "message.failed"
    return [NewEvent(event=event, team=send.team, agent=send.agent, outcome=outcome, data=data)]


def _item(send: Send) -> Item:
    return Item(_KIND, _key(send.number), _encode(send))


def _key(number: int) -> str:
    return f"{number:020d}"
