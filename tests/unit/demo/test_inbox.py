"""The composer of a demo agent."""

import os
import signal
from collections.abc import Iterator

import pytest

from corral.demo.inbox import LIMIT, End, Inbox, signals_as_bytes


class Desk:
    """An inbox with somebody at its keyboard."""

    def __init__(self, terminal: bool) -> None:
        self.fds: tuple[int, ...] = (*os.pipe(), *os.pipe())
        self.inbox = Inbox(self.fds[0], terminal, self.fds[2])

    def type(self, keys: bytes) -> list[str]:
        os.write(self.fds[1], keys)
        self.inbox.wait(0)
        return list(self.inbox.messages)


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk(terminal=True)
    yield made
    for fd in made.fds:
        os.close(fd)


def test_enter_submits_what_was_composed(desk: Desk) -> None:
    assert desk.type(b"hel") == []
    assert desk.inbox.composed == "hel"
    assert desk.type(b"lo\x1b[200~\rthere\x1b[201~\r") == ["hello\nthere"]
    assert desk.inbox.composed == ""


def test_an_empty_message_is_none(desk: Desk) -> None:
    assert desk.type(b"\r\r") == []


def test_backspace_and_clear(desk: Desk) -> None:
    assert desk.type("aé\x7fb\r".encode()) == ["ab"]
    assert desk.type(b"gone\x15c\r") == ["ab", "c"]


def test_what_would_make_the_message_too_long_is_not_taken(desk: Desk) -> None:
    said: list[str] = []
    desk.inbox.complain = said.append
    desk.inbox._add("x" * LIMIT)
    assert desk.type(b"y\r") == ["x" * LIMIT]
    assert said == [f"a message of {LIMIT + 1} bytes is more than {LIMIT}: not taken"]


def test_escape_interrupts_only_work(desk: Desk) -> None:
    desk.type(b"\x1b\x1b")
    assert not desk.inbox.interrupted
    desk.inbox.busy = True
    desk.inbox.wait()  # nothing follows the second Escape: it is the key
    assert desk.inbox.interrupted


def test_ctrl_c_clears_first_and_ends_then(desk: Desk) -> None:
    assert desk.type(b"draft\x03") == []
    assert desk.inbox.composed == ""
    with pytest.raises(End) as ended:
        desk.type(b"\x03")
    assert ended.value.code == 130


def test_a_terminal_that_is_gone_ends_it(desk: Desk) -> None:
    os.close(desk.fds[1])
    desk.fds = (desk.fds[0], *desk.fds[2:])
    with pytest.raises(End) as ended:
        desk.inbox.wait(0)
    assert ended.value.code == 129


def test_the_end_of_a_pipe_comes_after_its_last_line() -> None:
    desk = Desk(terminal=False)
    os.write(desk.fds[1], b"one\ntwo")
    os.close(desk.fds[1])
    desk.inbox.wait(0)
    desk.inbox.wait(0)
    assert list(desk.inbox.messages) == ["one", "two"]
    assert not desk.inbox.exhausted
    desk.inbox.messages.clear()
    assert desk.inbox.exhausted
    for fd in (desk.fds[0], *desk.fds[2:]):
        os.close(fd)


def test_a_signal_ends_the_wait_and_the_handlers_are_back_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    keys = os.pipe()
    with signals_as_bytes(signal.SIGTERM) as wake_fd:
        inbox = Inbox(keys[0], True, wake_fd)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(End) as ended:
            inbox.wait()
    assert ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before
    for fd in keys:
        os.close(fd)
