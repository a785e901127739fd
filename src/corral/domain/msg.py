"""Mailboxes: what a message is, how far it got with each of its recipients, and when there is no room for more.

A message says something and permits nothing: no rule of Corral asks for one. With each recipient it goes from stored to
injected (it was put in front of the agent), read and acked (the recipient says that it dealt with it), and never back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.msg_parties import shown

STORED, INJECTED, READ, ACKED = "stored", "injected", "read", "acked"
_ORDER = (STORED, INJECTED, READ, ACKED)

LARGEST_TEXT, LONGEST_SUBJECT, LONGEST_KEY, LONGEST_NOTE = 1 << 20, 200, 200, 4096
MOST_RECIPIENTS = 1000
#: What one mailbox may have of one person's that is not acked: messages, and what they weigh.
MOST_UNACKED, HEAVIEST_MAILBOX = 10_000, 32 << 20
#: What all messages of one person together may weigh.
HEAVIEST = 256 << 20
#: A message that all recipients acked is kept so long, and so many of one person's are, unless there is no room.
KEPT_SECONDS, KEPT_FINISHED = 7 * 86400.0, 10_000
#: What a message weighs besides its text, and once more for each recipient.
_WEIGHT_OF_ONE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What somebody wrote. It does not change."""

    #: Greater than that of every earlier one.
    number: int
    #: Parties: an agent as TEAM/AGENT, or a person.
    sender: str
    recipients: tuple[str, ...]
    text: str
    subject: str = ""
    #: The message that it answers; 0 for none.
    reply_to: int = 0
    #: A name of the sender's choice: the same key of the same sender is the same message. Empty for none.
    key: str = ""
    #: In whose share it counts (`shares`), for as long as it is kept: the person who sent it, or had it sent.
    person: str = ""
    #: Unix seconds.
    time: float

    @property
    def size(self) -> int:
        """The bytes of its text."""
        return len(self.text.encode())

    @property
    def weight(self) -> int:
        """What it costs to keep it: bytes, roughly."""
        return self.size + _WEIGHT_OF_ONE * (1 + len(self.recipients))

    @property
    def share(self) -> int:
        """What of that a mailbox has."""
        return self.size + _WEIGHT_OF_ONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How far a message got with one recipient; times in unix seconds, None for what has not happened."""

    state: str = STORED
    injected_at: float | None = None
    read_at: float | None = None
    acked_at: float | None = None
    #: What the recipient said about it when it acked.
    note: str = ""


@dataclass(slots=True)
class _Box:
    """What a party got of one person's and has not acked."""

    count: int = 0
    weight: int = 0


@dataclass(slots=True)
class _Share:
    """What is kept of one person's."""

    weight: int = 0
    #: Messages that all recipients acked, in the order in which that came about.
    finished: dict[int, None] = field(default_factory=dict)
    finished_weight: int = 0


class Mail:
    """All messages of an instance."""

    def __init__(
        self, messages: Iterable[Message] = (), deliveries: Mapping[tuple[int, str], Delivery] | None = None
    ) -> None:
        self._messages: dict[int, Message] = {}
        self._deliveries: dict[tuple[int, str], Delivery] = {}
        #: By party, in the order of their numbers: what it sent, and what it got and has not acked.
        self._sent: dict[str, dict[int, Message]] = {}
        #: By sender and key.
        self._keys: dict[tuple[str, str], int] = {}
        self._unacked: dict[str, dict[int, Message]] = {}
        #: Those of them that the party has not been told of in any way.
        self._untold: dict[str, dict[int, Message]] = {}
        #: By party and person.
        self._boxes: dict[tuple[str, str], _Box] = {}
        #: By person.
        self._shares: dict[str, _Share] = {}
        #: Messages that all recipients acked, and since when, in that order.
        self._finished: dict[int, float] = {}
        known = deliveries or {}
        for message in sorted(messages, key=lambda message: message.number):
            self._take_in(message, {party: known.get((message.number, party)) for party in message.recipients})
        self._finished = dict(sorted(self._finished.items(), key=lambda item: item[1]))
        for share in self._shares.values():
            share.finished = dict(sorted(share.finished.items(), key=lambda item: self._finished[item[0]]))

    # Looking

    def message(self, number: int, party: str) -> Message:
        """The message, if that party sent or got it; else `NotFoundError`."""
        message = self._messages.get(number)
        if message is None or (party != message.sender and party not in message.recipients):
            raise NotFoundError(
                f"{shown(party)} has no message {name_of(number)}",
                "corral msg inbox shows those that you got, corral msg ls --sent those that you sent; what everybody "
                "acked is forgotten after a while",
            )
        return message

    def delivery(self, number: int, party: str) -> Delivery | None:
        """How far a message got with a recipient; None if that party got none."""
        return self._deliveries.get((number, party))

    def deliveries(self, message: Message) -> list[tuple[str, Delivery]]:
        """How far it got with each recipient."""
        return [(party, self._deliveries[message.number, party]) for party in message.recipients]

    def unacked(self, party: str) -> list[tuple[Message, Delivery]]:
        """What is in the mailbox of a party and not acked, the oldest first."""
        box = self._unacked.get(party, {})
        return [(message, self._deliveries[number, party]) for number, message in box.items()]

    def untold(self, party: str) -> list[Message]:
        """What is in the mailbox of a party and still stored: it was neither injected nor read. The oldest first."""
        return list(self._untold.get(party, {}).values())

    def sent(self, party: str) -> list[Message]:
        """What a party sent and what is still kept, the oldest first."""
        return list(self._sent.get(party, {}).values())

    def known(self, sender: str, key: str, text: str, subject: str) -> Message | None:
        """The message of this sender that has the key already. Raises `RefusedError` if it says something else."""
        number = self._keys.get((sender, key)) if key else None
        if number is None:
            return None
        message = self._messages[number]
        if (message.text, message.subject) != (text, subject):
            name = name_of(number)
            raise RefusedError(
                f"the key {key!r} belongs to {name}, which says something else",
                f"corral msg show {name}; take another key",
                message_id=name,
            )
        return message

    def knows(self, party: str) -> bool:
        """True if there is anything that it sent, or got and has not acked."""
        return bool(self._sent.get(party) or self._unacked.get(party))

    def taken(self, person: str) -> int:
        """What the messages weigh that count in a person's share and are not to be forgotten yet."""
        share = self._shares.get(person, _Share())
        return share.weight - share.finished_weight

    # Changing

    def send(self, message: Message) -> list[Message]:
        """Put it into the mailbox of each recipient, or raise and put it into none. What was forgotten to make room."""
        check(message)
        if message.reply_to:
            self.message(message.reply_to, message.sender)
        for party in message.recipients:
            self._check_room(party, message)
        person = message.person
        if self.taken(person) + message.weight > HEAVIEST:
            raise RefusedError(
                f"all messages {f'of {person} ' if person else ''}together have more than {HEAVIEST >> 20} MiB",
                "ack those that are dealt with, with --agent TEAM/AGENT also those of an agent that is gone; corral "
                "msg ls --sent tells who has not acked",
            )
        forgotten = self.forget(message.time, person, message.weight)
        self._take_in(message, dict.fromkeys(message.recipients))
        return forgotten

    def advance(self, number: int, party: str, state: str, time: float, note: str = "") -> Delivery | None:
        """A message got so far with a recipient. What is known of that now; None if it had got so far before."""
        message = self.message(number, party)
        before = self._deliveries.get((number, party))
        if before is None:
            raise RefusedError(
                f"{name_of(number)} was sent by {shown(party)}, and not to it",
                f"corral msg show {name_of(number)} tells how far it got",
            )
        if _ORDER.index(before.state) >= _ORDER.index(state):
            return None
        check_note(note)
        at = {INJECTED: "injected_at", READ: "read_at", ACKED: "acked_at"}[state]
        # Who acks has read it, in whatever way.
        more = {"read_at": time} if state == ACKED and before.read_at is None else {}
        now = replace(before, state=state, note=note, **{at: time, **more})
        self._deliveries[number, party] = now
        self._shares[message.person].weight += _weight_of_note(now)
        self._is_told(number, party)
        if state == ACKED:
            self._leave_mailbox(message, party)
            self._note_finish(message)
        return now

    def forget(self, now: float, person: str, weight: int = 0) -> list[Message]:
        """Let go of what was dealt with long ago, and of a person's as much as is too much, with so much to come."""
        old = list(itertools.takewhile(lambda number: self._finished[number] <= now - KEPT_SECONDS, self._finished))
        forgotten = [self._drop(number) for number in old]
        share = self._shares.get(person, _Share())
        while share.finished and (len(share.finished) > KEPT_FINISHED or share.weight + weight > HEAVIEST):
            forgotten.append(self._drop(next(iter(share.finished))))
        return forgotten

    def _take_in(self, message: Message, known: Mapping[str, Delivery | None]) -> None:
        self._messages[message.number] = message
        self._sent.setdefault(message.sender, {})[message.number] = message
        if message.key:
            self._keys[message.sender, message.key] = message.number
        self._shares.setdefault(message.person, _Share()).weight += message.weight
        for party, delivery in known.items():
            self._deliveries[message.number, party] = delivery or Delivery()
            self._shares[message.person].weight += _weight_of_note(self._deliveries[message.number, party])
            if delivery is None or delivery.state != ACKED:
                self._unacked.setdefault(party, {})[message.number] = message
                box = self._boxes.setdefault((party, message.person), _Box())
                box.count, box.weight = box.count + 1, box.weight + message.share
            if delivery is None or delivery.state == STORED:
                self._untold.setdefault(party, {})[message.number] = message
        self._note_finish(message)

    def _weight(self, message: Message) -> int:
        """What it weighs, with what its recipients said about it."""
        return message.weight + sum(_weight_of_note(delivery) for _, delivery in self.deliveries(message))

    def _is_told(self, number: int, party: str) -> None:
        untold = self._untold.get(party, {})
        if untold.pop(number, None) is not None and not untold:
            del self._untold[party]

    def _leave_mailbox(self, message: Message, party: str) -> None:
        unacked, box = self._unacked[party], self._boxes[party, message.person]
        del unacked[message.number]
        if not unacked:
            del self._unacked[party]
        box.count, box.weight = box.count - 1, box.weight - message.share
        if not box.count:
            del self._boxes[party, message.person]

    def _note_finish(self, message: Message) -> None:
        times = [delivery.acked_at for _, delivery in self.deliveries(message)]
        acked = [time for time in times if time is not None]
        if len(acked) == len(times):
            self._finished[message.number] = max(acked)
            share = self._shares[message.person]
            share.finished[message.number] = None
            share.finished_weight += self._weight(message)

    def _check_room(self, party: str, message: Message) -> None:
        box, of_whom = (
            self._boxes.get((party, message.person), _Box()),
            f" of {message.person}" if message.person else "",
        )
        if box.count < MOST_UNACKED and box.weight + message.share <= HEAVIEST_MAILBOX:
            return
        raise RefusedError(
            f"the mailbox of {shown(party)} is full: {box.count} messages{of_whom} wait there to be acked",
            f"it has to ack some first; at most {MOST_UNACKED} may wait, of {HEAVIEST_MAILBOX >> 20} MiB together",
            recipient=shown(party),
        )

    def _drop(self, number: int) -> Message:
        """Forget one that all recipients acked."""
        message = self._messages.pop(number)
        del self._finished[number]
        if self._keys.get((message.sender, message.key)) == number:
            del self._keys[message.sender, message.key]
        share = self._shares[message.person]
        del share.finished[number]
        weight = self._weight(message)
        share.weight, share.finished_weight = share.weight - weight, share.finished_weight - weight
        sent = self._sent[message.sender]
        del sent[number]
        if not sent:
            del self._sent[message.sender]
        for party in message.recipients:
            del self._deliveries[number, party]
        return message


def _weight_of_note(delivery: Delivery) -> int:
    return len(delivery.note.encode())


def check(message: Message) -> None:
    """Raise `WrongUseError` for what can be no message."""
    if not message.recipients:
        raise WrongUseError("to whom?", "name agents, people (@ann), role:builder, or all")
    if len(message.recipients) > MOST_RECIPIENTS:
        raise WrongUseError(f"{len(message.recipients)} recipients are too many", f"{MOST_RECIPIENTS} are the most")
    size = _size(message.text, "the message")
    if not size:
        raise WrongUseError("the message is empty", "give it with --message, or pipe it in")
    if size > LARGEST_TEXT:
        raise WrongUseError(
            f"the message has {size} bytes, and {LARGEST_TEXT} (1 MiB) are the most",
            "put it into a file, and send where that is",
        )
    _check_line(message.subject, "the subject", LONGEST_SUBJECT)
    _check_line(message.key, "the key", LONGEST_KEY)


def check_note(note: str) -> None:
    """Raise `WrongUseError` for what can be no note."""
    if _size(note, "the note") > LONGEST_NOTE:
        raise WrongUseError(f"the note has more than {LONGEST_NOTE} bytes", "send a message with --reply-to instead")


def name_of(number: int) -> str:
    """What a message is called."""
    return f"m{number}"


def number_of(name: str) -> int:
    """The number of the message of that name, or `NotFoundError`."""
    digits = name.removeprefix("m")
    if digits == name or not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise NotFoundError(f"there is no message {name!r}", "corral msg inbox shows those that you got, such as m41")
    return int(digits)


def _check_line(text: str, what: str, longest: int) -> None:
    if _size(text, what) > longest:
        raise WrongUseError(f"{what} has more than {longest} bytes", "say more in the message itself")
    if not text.isprintable():
        raise WrongUseError(f"{what} must be one line", "leave out line ends and what cannot be seen")


def _size(text: str, what: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise WrongUseError(f"{what} is no text", "use UTF-8") from None
