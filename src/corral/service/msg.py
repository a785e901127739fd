"""The use cases around messages: mailboxes that outlive the daemon, and waiting for what comes into one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence

import msgspec

from corral.background import Background
from corral.domain import msg_parties
from corral.domain.errors import CorralError, NotFoundError, WrongUseError
from corral.domain.msg import ACKED, INJECTED, READ, Delivery, Mail, Message, name_of
from corral.domain.msg_parties import Known, shown
from corral.domain.records import NewEvent, Who
from corral.domain.waits import Waits
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.resolve import find_agent, find_team

#: The kinds of records: messages; how far each got with a recipient; people who sent one.
_MESSAGE, _DELIVERY, _PERSON = "message", "delivery", "correspondent"
LONGEST_WAIT = 86400.0
_encode = msgspec.msgpack.Encoder().encode

#: A message in the mailbox of somebody.
Received = tuple[Message, Delivery]


class Msg:
    """The use cases. Parties are as in `domain/msg_parties.py`."""

    def __init__(self, context: Context, ledger: Ledger, waits: Waits, owner: str) -> None:
        self._store = context.store
        self._registry = context.registry
        self._now = context.now
        self._ledger = ledger
        self._waits = waits
        #: The person whose daemon this is.
        self._owner = owner
        self._people: set[str] = set()
        self._mail = Mail()
        #: Of each who waits: set when something has come for that party.
        self._arrivals: dict[str, set[asyncio.Event]] = {}
        self._background = Background()
        ledger.keep(self._read)
        ledger.shares.count(lambda person: self._mail.taken(person))

    async def _read(self) -> Callable[[], None]:
        messages = [msgspec.msgpack.decode(item.value, type=Message) for item in await self._store.items(_MESSAGE)]
        deliveries: dict[tuple[int, str], Delivery] = {}
        for item in await self._store.items(_DELIVERY):
            number, _, party = item.key.partition(" ")
            deliveries[int(number), party] = msgspec.msgpack.decode(item.value, type=Delivery)
        people = {item.key for item in await self._store.items(_PERSON)}

        def put() -> None:
            self._mail = Mail(messages, deliveries)
            self._people = people

        return put

    def unacked(self, party: str) -> int:
        """How many messages wait in a mailbox to be acked."""
        return len(self._mail.unacked(party))

    # Who

    def caller(self, who: Who, *, agent: str, team: str, cwd: str) -> str:
        """The party in whose name somebody asks: the agent that is named (AGENT or TEAM/AGENT), else the person.

        An agent that is gone may still be named while there is mail of it.
        """
        if not agent:
            return who.user
        named, slash, name = agent.rpartition("/")
        of_team = named if slash else team
        if of_team and self._mail.knows(f"{of_team}/{name}"):
            return f"{of_team}/{name}"
        return "/".join(find_agent(self._registry, team=of_team, agent=name, cwd=cwd).key)

    def recipients(self, words: Sequence[str], *, sender: str, team: str, cwd: str, nearest: str) -> list[str]:
        """All whom the words mean; `NotFoundError` names those that mean nobody."""
        meant = self._team(sender, team, cwd, nearest)
        return msg_parties.recipients(words, sender=sender, team=meant, known=self._known())

    def party(self, word: str, *, asking: str, team: str, cwd: str, nearest: str) -> str:
        """The one whom a word means."""
        meant = self._team(asking, team, cwd, nearest)
        return msg_parties.party(word, sender=asking, team=meant, known=self._known())

    def knows(self, party: str) -> bool:
        """True if there is mail of this party, also of an agent that is gone."""
        return self._mail.knows(party)

    @property
    def people(self) -> frozenset[str]:
        """All people who can be written to."""
        return frozenset(self._people | {self._owner})

    def _team(self, asking: str, team: str, cwd: str, nearest: str) -> Callable[[], str]:
        own = asking.partition("/")[0] if "/" in asking else ""
        return lambda: find_team(self._registry, name=team or own, cwd=cwd, nearest=nearest).name

    def _known(self) -> Known:
        agents = {
            team: {name: agent.declared_as or name for name, agent in self._registry.of_team(team).items()}
            for team in self._registry.teams
        }
        return Known(agents=agents, people=self.people)

    # Sending

    async def send(
        self,
        who: Who,
        sender: str,
        to: Sequence[str],
        text: str,
        *,
        subject: str = "",
        reply_to: int = 0,
        key: str = "",
        user: str = "",
    ) -> Message:
        """Put a message into the mailboxes of these parties, or into none; it is on the disk when this returns.

        An answer that names nobody goes to the sender of what it answers. With a key that the sender has used it is the
        message of then, and nothing is sent. What Corral itself sends counts in the share of the person whose OS user
        is `user`.
        """
        known = self._mail.known(sender, key, text, subject)
        if known is not None:
            await self._ledger.caught_up()
            return known
        if reply_to and not to:
            to = [self._mail.message(reply_to, sender).sender]
        number, now = self._ledger.next_revision(), self._now()
        message = Message(
            number=number,
            sender=sender,
            recipients=tuple(to),
            text=text,
            subject=subject,
            reply_to=reply_to,
            key=key,
            person=self._ledger.shares.person_of(user or who.user),
            time=now,
        )
        self._ledger.shares.check(message.person, message.weight)
        forgotten = self._mail.send(message)
        people = []
        # Corral itself writes as nobody whom one could answer.
        if who.uid >= 0 and "/" not in sender and sender not in self._people:
            self._people.add(sender)
            people.append(Item(_PERSON, sender, b""))
        change = Change(
            who=who,
            time=now,
            put_items=[
                Item(_MESSAGE, _key(number), _encode(message)),
                *(Item(_DELIVERY, _key(number, party), _encode(Delivery())) for party in message.recipients),
                *people,
            ],
            drop_items=_items_of(forgotten),
            events=[_sent_event(message)],
        )
        # Whoever waits for it hears of it, also if the sender does not wait for the answer.
        writing = self._background.spawn(self._write_and_tell(change, message.recipients), name="message")
        failure: CorralError | None = await asyncio.shield(writing)
        if failure is not None:
            raise failure
        return message

    async def _write_and_tell(self, change: Change, recipients: Iterable[str]) -> CorralError | None:
        try:
            await self._ledger.write(change)
        except CorralError as error:
            return error  # for the sender, if it is still there
        for party in recipients:
            for arrival in self._arrivals.get(party, ()):
                arrival.set()
        return None

    # Looking

    async def inbox(self, party: str, *, sender: str | None = None, wait: float = 0.0) -> list[Received]:
        """What a party has not acked, the oldest first; of one sender only, if one is given.

        With `wait`, and nothing in it that was not read yet, so many seconds until there is. To wait for somebody who
        waits for this party is refused, as is any other wait that could never end.
        """
        if not 0 <= wait <= LONGEST_WAIT:
            raise WrongUseError(f"wait={wait:g}: 0 to {LONGEST_WAIT:g} seconds are possible")
        found = self._received(party, sender)
        if wait <= 0 or has_unread(found):
            return found
        waiting = None if sender is None else self._waits.begin(party, [sender], "a message")
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._unread(party, sender)
        finally:
            if waiting is not None:
                self._waits.end(waiting)
        return self._received(party, sender)

    async def _unread(self, party: str, sender: str | None) -> None:
        """Wait until there is something that was not read."""
        arrival = asyncio.Event()
        waiting = self._arrivals.setdefault(party, set())
        waiting.add(arrival)
        try:
            while not has_unread(self._received(party, sender)):
                await arrival.wait()
                arrival.clear()
        finally:
            waiting.discard(arrival)
            if not waiting and self._arrivals.get(party) is waiting:
                del self._arrivals[party]

    def _received(self, party: str, sender: str | None) -> list[Received]:
        # What is not on the disk yet may still turn out never to have been sent.
        settled = self._ledger.settled
        return [
            (message, delivery)
            for message, delivery in self._mail.unacked(party)
            if message.number <= settled and sender in (None, message.sender)
        ]

    def untold(self, party: str) -> list[Message]:
        """What is in the mailbox of a party and was neither injected nor read, the oldest first."""
        return [message for message in self._mail.untold(party) if message.number <= self._ledger.settled]

    def sent(self, party: str) -> list[Message]:
        """What a party sent, the oldest first."""
        return [message for message in self._mail.sent(party) if message.number <= self._ledger.settled]

    def show(self, party: str, number: int) -> Message:
        """A message that the party sent or got, or `NotFoundError`."""
        message = self._mail.message(number, party)
        if number > self._ledger.settled:
            raise NotFoundError(f"{shown(party)} has no message {name_of(number)} yet", "look again")
        return message

    def deliveries(self, message: Message) -> list[tuple[str, Delivery]]:
        """How far it got with each recipient; nothing if it is forgotten by now."""
        found = ((party, self._mail.delivery(message.number, party)) for party in message.recipients)
        return [(party, delivery) for party, delivery in found if delivery is not None]

    # How far it got

    async def injected(self, who: Who, party: str, number: int) -> None:
        """It was put in front of the agent. For what does that; nobody else may say so."""
        await self._advance(who, party, number, INJECTED)

    async def read(self, who: Who, party: str, number: int) -> Message:
        """The message, which counts as read by this recipient from now on."""
        message = self.show(party, number)
        if self._mail.delivery(number, party) is not None:  # else it is its sender who looks
            await self._advance(who, party, number, READ)
        return message

    async def ack(self, who: Who, party: str, number: int, note: str = "") -> Message:
        """This recipient has dealt with it. Again is no harm, and changes nothing."""
        message = self.show(party, number)
        await self._advance(who, party, number, ACKED, note)
        return message

    async def _advance(self, who: Who, party: str, number: int, state: str, note: str = "") -> None:
        now = self._now()
        message = self._mail.message(number, party)
        delivery = self._mail.advance(number, party, state, now, note)
        if delivery is None:
            # It had got so far before; whoever said so may not have been answered yet.
            await self._ledger.caught_up()
            return
        forgotten = self._mail.forget(now, message.person)
        team, slash, agent = party.rpartition("/")
        data: dict[str, object] = {"message": name_of(number), "from": shown(message.sender), "by": shown(party)}
        await self._ledger.write(
            Change(
                who=who,
                time=now,
                put_items=[Item(_DELIVERY, _key(number, party), _encode(delivery))],
                drop_items=_items_of(forgotten),
                events=[NewEvent(event=f"message.{state}", team=team, agent=agent if slash else "", data=data)],
            )
        )


def has_unread(found: Iterable[Received]) -> bool:
    """True if the recipient has not read all of it."""
    return any(delivery.state not in (READ, ACKED) for _, delivery in found)


def _sent_event(message: Message) -> NewEvent:
    team, slash, agent = message.sender.rpartition("/")
    if not slash:
        # Of a person: about the team of the first recipient that has one.
        team, agent = next((party.partition("/")[0] for party in message.recipients if "/" in party), ""), ""
    data: dict[str, object] = {
        "message": name_of(message.number),
        "from": shown(message.sender),
        "to": [shown(party) for party in message.recipients],
        "bytes": message.size,
    }
    return NewEvent(event="message.sent", team=team, agent=agent, data=data)


def _key(number: int, party: str = "") -> str:
    return f"{number:020d} {party}" if party else f"{number:020d}"


def _items_of(messages: Iterable[Message]) -> list[tuple[str, str]]:
    return [
        item
        for message in messages
        for item in (
            (_MESSAGE, _key(message.number)),
            *((_DELIVERY, _key(message.number, party)) for party in message.recipients),
        )
    ]
