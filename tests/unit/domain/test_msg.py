"""Mailboxes against a model, and case by case: who sees what, how far it got, and what is forgotten when."""

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from corral.domain import msg
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.msg import (
    ACKED,
    INJECTED,
    READ,
    STORED,
    Delivery,
    Mail,
    Message,
    name_of,
    number_of,
)


def message(number: int, *to: str, sender: str = "ann", text: str = "hello", **more: object) -> Message:
    return Message(number=number, sender=sender, recipients=to, text=text, time=float(number), **more)  # type: ignore[arg-type]


def test_a_message_is_in_the_mailbox_of_each_recipient_until_that_one_acks() -> None:
    mail = Mail()
    assert mail.send(message(1, "shop/a", "shop/b")) == []
    mail.advance(1, "shop/a", ACKED, 5.0, "done")
    assert mail.unacked("shop/a") == []
    assert [one.number for one, _ in mail.unacked("shop/b")] == [1]
    assert mail.deliveries(mail.sent("ann")[0]) == [
        ("shop/a", Delivery(state=ACKED, read_at=5.0, acked_at=5.0, note="done")),
        ("shop/b", Delivery()),
    ]


def test_it_goes_on_and_never_back() -> None:
    mail = Mail()
    mail.send(message(1, "shop/a"))
    assert mail.advance(1, "shop/a", INJECTED, 2.0) == Delivery(state=INJECTED, injected_at=2.0)
    assert mail.advance(1, "shop/a", READ, 3.0) == Delivery(state=READ, injected_at=2.0, read_at=3.0)
    assert mail.advance(1, "shop/a", INJECTED, 4.0) is None
    assert mail.advance(1, "shop/a", READ, 4.0) is None
    done = mail.advance(1, "shop/a", ACKED, 5.0, "n")
    assert done == Delivery(state=ACKED, injected_at=2.0, read_at=3.0, acked_at=5.0, note="n")
    assert mail.advance(1, "shop/a", ACKED, 6.0, "other") is None
    assert mail.delivery(1, "shop/a") == done


def test_a_message_is_of_its_sender_and_its_recipients_alone() -> None:
    mail = Mail()
    mail.send(message(1, "shop/a"))
    for party in ("ann", "shop/a"):
        assert mail.message(1, party).text == "hello"
    for party in ("shop/b", "a", "bob"):
        with pytest.raises(NotFoundError, match="has no message m1"):
            mail.message(1, party)
        with pytest.raises(NotFoundError):
            mail.advance(1, party, READ, 2.0)
    with pytest.raises(NotFoundError):
        mail.message(2, "ann")
    with pytest.raises(RefusedError, match="sent by @ann, and not to it"):
        mail.advance(1, "ann", ACKED, 2.0)


def test_only_what_one_sent_or_got_can_be_answered() -> None:
    mail = Mail()
    mail.send(message(1, "shop/a"))
    mail.send(message(2, "ann", sender="shop/a", reply_to=1))
    mail.send(message(3, "shop/a", reply_to=1))
    with pytest.raises(NotFoundError):
        mail.send(message(4, "ann", sender="shop/b", reply_to=1))
    assert [one.number for one, _ in mail.unacked("ann")] == [2]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (message(1), "to whom?"),
        (message(1, "a", text=""), "empty"),
        (message(1, "a", text="x" * (msg.LARGEST_TEXT + 1)), "1 MiB"),
        (message(1, "a", text="\udcff"), "no text"),
        (message(1, "a", subject="x" * 201), "more than 200"),
        (message(1, "a", subject="a\nb"), "one line"),
        (message(1, "a", subject="a\x1b[2J"), "one line"),
        (message(1, *map(str, range(1001))), "too many"),
    ],
)
def test_what_can_be_no_message_is_refused_in_words(wrong: Message, words: str) -> None:
    mail = Mail()
    with pytest.raises(WrongUseError, match=words):
        mail.send(wrong)
    assert mail.sent("ann") == []


def test_a_note_has_an_end_and_one_that_is_refused_acks_nothing() -> None:
    mail = Mail()
    mail.send(message(1, "shop/a"))
    with pytest.raises(WrongUseError):
        mail.advance(1, "shop/a", ACKED, 2.0, "x" * (msg.LONGEST_NOTE + 1))
    assert mail.delivery(1, "shop/a") == Delivery()


def test_a_mailbox_that_is_full_refuses_the_message_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msg, "MOST_UNACKED", 2)
    mail = Mail()
    for number in (1, 2):
        mail.send(message(number, "shop/a"))
    with pytest.raises(RefusedError) as caught:
        mail.send(message(3, "shop/b", "shop/a"))
    assert caught.value.details == {"recipient": "shop/a"}
    assert mail.unacked("shop/b") == []
    mail.advance(1, "shop/a", ACKED, 3.0)
    mail.send(message(4, "shop/b", "shop/a"))


def test_a_mailbox_is_full_by_what_is_in_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msg, "HEAVIEST_MAILBOX", 1800)
    mail = Mail()
    mail.send(message(1, "shop/a", text="x" * 1000))
    with pytest.raises(RefusedError, match="full"):
        mail.send(message(2, "shop/a", text="ä" * 400))
    mail.send(message(3, "shop/a", text="x"))
    mail.send(message(4, "shop/b", text="x" * 1000))


def test_what_everybody_acked_makes_room_and_what_somebody_did_not_is_never_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(msg, "HEAVIEST", 4000)
    mail = Mail()
    mail.send(message(1, "shop/a", text="x" * 1000))
    mail.send(message(2, "shop/b", text="x" * 1000))
    mail.advance(2, "shop/b", ACKED, 2.0)
    assert [one.number for one in mail.send(message(3, "shop/c", text="x" * 1000))] == [2]
    with pytest.raises(RefusedError, match="all messages together"):
        mail.send(message(4, "shop/d", text="x" * 1000))
    assert mail.message(1, "shop/a").number == 1


def test_nobody_fills_the_mail_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msg, "HEAVIEST", 4000)
    mail = Mail()
    mail.send(message(1, "shop/a", text="x" * 1000, person="ann"))
    mail.advance(1, "shop/a", ACKED, 2.0)
    for number in (2, 3):
        mail.send(message(number, "mill/b", sender="mill/b", text="x" * 1000, person="ben"))
    with pytest.raises(RefusedError, match="all messages of ben together"):
        mail.send(message(4, "mill/b", sender="ben", text="x" * 1000, person="ben"))
    assert mail.send(message(5, "mill/b", text="x" * 1000, person="ann")) == []
    assert [one.number for one in mail.send(message(6, "shop/c", text="x" * 1000, person="ann"))] == [1]
    # Once it is acked there is room again, as it is after a restart.
    mail.advance(2, "mill/b", ACKED, 7.0)
    messages = [mail.message(number, "mill/b") for number in (2, 3)]
    again = Mail(messages, {(2, "mill/b"): dict(mail.deliveries(messages[0]))["mill/b"]})
    for one in (mail, again):
        assert [gone.number for gone in one.send(message(7, "mill/b", text="x" * 1000, person="ben"))] == [2]
        with pytest.raises(RefusedError):
            one.send(message(8, "mill/b", text="x" * 1000, person="ben"))


def test_nobody_fills_a_mailbox_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msg, "MOST_UNACKED", 2)
    mail = Mail()
    for number in (1, 2):
        mail.send(message(number, "ann", sender="mill/b", person="ben"))
    with pytest.raises(RefusedError, match="the mailbox of @ann is full: 2 messages of ben wait there"):
        mail.send(message(3, "ann", sender="ben", person="ben"))
    mail.send(message(4, "ann", sender="shop/a", person="ann"))
    mail.advance(2, "ann", ACKED, 5.0)
    mail.send(message(6, "ann", sender="ben", person="ben"))
    assert [one.number for one, _ in mail.unacked("ann")] == [1, 4, 6]


def test_too_much_that_is_dealt_with_goes_of_that_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msg, "KEPT_FINISHED", 2)
    mail, gone = Mail(), []
    for number in range(1, 9):
        mail.send(message(number, "shop/a", person="ann" if number < 3 else "ben"))
        mail.advance(number, "shop/a", ACKED, float(number))
        gone += [one.number for one in mail.forget(float(number), "ben")]
    assert gone == [3, 4, 5, 6]
    assert [one.number for one in mail.sent("ann")] == [1, 2, 7, 8]


def test_what_is_dealt_with_is_forgotten_after_a_while() -> None:
    mail = Mail()
    mail.send(message(1, "shop/a"))
    mail.send(message(2, "shop/a", "shop/b"))
    for number in (1, 2):
        mail.advance(number, "shop/a", ACKED, 10.0)
    assert mail.forget(10.0 + msg.KEPT_SECONDS - 1, "") == []
    assert [one.number for one in mail.forget(10.0 + msg.KEPT_SECONDS, "")] == [1]
    with pytest.raises(NotFoundError):
        mail.message(1, "ann")
    assert [one.number for one in mail.sent("ann")] == [2]


def test_names_of_messages() -> None:
    assert name_of(41) == "m41"
    assert number_of("m41") == 41
    for wrong in ("41", "m", "m4x", "", "m-1", "m1 ", "m٤", "mm1", "m" + "9" * 30):
        with pytest.raises(NotFoundError):
            number_of(wrong)


PARTIES = ("ann", "shop/a", "shop/b")
parties = st.sampled_from(PARTIES)
SMALL, KEPT = 3, 2


@dataclass
class Letter:
    """A message in the model."""

    sender: str
    to: list[str]
    states: dict[str, str] = field(default_factory=dict)
    done: float | None = None


class Mailboxes(RuleBasedStateMachine):
    """Every order of sending, reading, acking and forgetting, beside a list that anybody would write."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(msg, "MOST_UNACKED", SMALL)
        self.patch.setattr(msg, "KEPT_FINISHED", KEPT)
        self.mail = Mail()
        self.letters: dict[int, Letter] = {}
        self.finished: list[int] = []
        self.number = 0

    def teardown(self) -> None:
        self.patch.undo()

    def forgotten(self) -> list[int]:
        """What the model lets go of now."""
        gone = []
        while self.finished:
            done = self.letters[self.finished[0]].done
            assert done is not None
            if len(self.finished) <= KEPT and done > self.number - msg.KEPT_SECONDS:
                break
            gone.append(self.finished.pop(0))
            del self.letters[gone[-1]]
        return gone

    @rule(sender=parties, to=st.lists(parties, min_size=1, max_size=3, unique=True))
    def send(self, sender: str, to: list[str]) -> None:
        self.number += 1
        boxes = {party: sum(one.states.get(party, ACKED) != ACKED for one in self.letters.values()) for party in to}
        full = [party for party, count in boxes.items() if count >= SMALL]
        if full:
            with pytest.raises(RefusedError) as caught:
                self.mail.send(message(self.number, *to, sender=sender))
            assert str(caught.value.details["recipient"]).removeprefix("@") in full
            return
        gone = self.mail.send(message(self.number, *to, sender=sender))
        assert [one.number for one in gone] == self.forgotten()
        self.letters[self.number] = Letter(sender, to, dict.fromkeys(to, STORED))

    @precondition(lambda self: self.number)
    @rule(data=st.data(), party=parties, state=st.sampled_from((INJECTED, READ, ACKED)))
    def advance(self, data: st.DataObject, party: str, state: str) -> None:
        number = data.draw(st.integers(1, self.number))
        self.number += 1
        letter = self.letters.get(number)
        order = (STORED, INJECTED, READ, ACKED)
        if letter is None or party not in letter.states:
            is_sender = letter is not None and letter.sender == party
            with pytest.raises(RefusedError if is_sender else NotFoundError):
                self.mail.advance(number, party, state, float(self.number))
            return
        now = self.mail.advance(number, party, state, float(self.number))
        before = letter.states[party]
        assert (now is not None) == (order.index(state) > order.index(before))
        if now is not None:
            assert now.state == state
            letter.states[party] = state
            if state == ACKED and set(letter.states.values()) == {ACKED}:
                letter.done = float(self.number)
                self.finished.append(number)

    @rule()
    def forget(self) -> None:
        self.number += 1
        assert [one.number for one in self.mail.forget(float(self.number), "")] == self.forgotten()

    @rule(seconds=st.sampled_from((60, 86400, 8 * 86400)))
    def time_passes(self, seconds: int) -> None:
        self.number += seconds

    @rule()
    def restart(self) -> None:
        """What was written down is read again."""
        messages = [self.mail.message(number, letter.sender) for number, letter in self.letters.items()]
        deliveries = {
            (one.number, party): delivery for one in messages for party, delivery in self.mail.deliveries(one)
        }
        self.mail = Mail(reversed(messages), deliveries)

    @invariant()
    def as_the_model(self) -> None:
        for party in PARTIES:
            expected = [
                (number, letter.states[party])
                for number, letter in self.letters.items()
                if letter.states.get(party, ACKED) != ACKED
            ]
            assert [(one.number, delivery.state) for one, delivery in self.mail.unacked(party)] == expected
            assert [one.number for one in self.mail.untold(party)] == [
                number for number, state in expected if state == STORED
            ]
            sent = [number for number, letter in self.letters.items() if letter.sender == party]
            assert [one.number for one in self.mail.sent(party)] == sent
            assert self.mail.knows(party) == bool(expected or sent)


TestMailboxes = Mailboxes.TestCase
TestMailboxes.settings = settings(stateful_step_count=40)


def test_untold_is_what_nobody_has_put_before_the_recipient_and_it_has_not_read() -> None:
    messages, party = [message(number, "shop/a") for number in (1, 2, 3, 4)], "shop/a"
    mail = Mail()
    for one in messages:
        mail.send(one)
    assert mail.untold(party) == messages
    for number, state in ((1, INJECTED), (2, READ), (3, ACKED)):
        mail.advance(number, party, state, 5.0)
    assert mail.untold(party) == messages[3:]
    kept = {(number, party): mail.delivery(number, party) or Delivery() for number in (1, 2, 3, 4)}
    assert Mail(messages, kept).untold(party) == messages[3:], "as it is read again"
    mail.advance(4, party, INJECTED, 6.0)
    assert mail.untold(party) == []
