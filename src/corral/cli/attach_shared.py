"""Joining an agent's terminal through its keeper, beside others: what is typed goes out, what is shown comes in."""

import os
from binascii import a2b_base64, b2a_base64

from corral.cli.command import Invocation
from corral.cli.foreign import Harmless
from corral.cli.output import plain, remark, write_bytes
from corral.cli.proc_stream import blocking, pages
from corral.cli.raw_terminal import ENDING, RawTerminal
from corral.client.absence import error_of_absence
from corral.client.answers import Record, stream_was_cut
from corral.client.exchange import Exchange
from corral.client.wire import DaemonAbsentError, target
from corral.domain.detach_keys import DetachKeys
from corral.domain.session_modes import OBSERVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.places import Places

#: The exit code if somebody did not answer.
_NO_ANSWER = 6
#: With these, too, somebody leaves who only watches: nothing else can be meant.
_LEAVE_WATCHING = b"q\x03"
#: Where the last line of the terminal is, for a word of ours that the next picture paints over.
_LAST_LINE = b"\x1b7\x1b[999;1H\x1b[7m %s \x1b[m\x1b[K\x1b8"


def attach_shared(invocation: Invocation, whose: list[tuple[str, str | None]], mode: str) -> "tuple[int, str]":
    """Stay until somebody leaves or it is over: the exit code, and why it is over if we did not leave."""
    if invocation.json:
        return _as_json(invocation, whose, mode), ""
    terminal = RawTerminal()
    exchange = _begun(invocation, whose, mode, RawTerminal.size())
    try:
        with terminal:
            return _attended(invocation.places, terminal, exchange, mode)
    finally:
        exchange.close()


def _begun(invocation: Invocation, whose: list[tuple[str, str | None]], mode: str, size: "tuple[int, int]") -> Exchange:
    columns, rows = size
    joining = target(
        "/v1/sessions",
        [
            *whose,
            ("mode", mode),
            ("columns", str(columns)),
            ("rows", str(rows)),
            ("term", os.environ.get("TERM", "")),
        ],
    )
    try:
        return Exchange(invocation.places, "POST", joining, None, [("Content-Type", "application/x-ndjson")])
    except DaemonAbsentError:
        raise error_of_absence(invocation.places) from None


def _attended(places: "Places", terminal: RawTerminal, exchange: Exchange, mode: str) -> "tuple[int, str]":
    detach = DetachKeys()
    attention = _Attention(terminal, exchange, detach, mode)
    # It comes from a program of whoever is watched, which need not be the keeper that it should be. Who drives has to
    # have all of it, and trusts that person as somebody does who logs in to their machine.
    shown = Harmless() if mode == OBSERVE else bytes
    for record in pages(exchange, attention.wait):
        if "output" in record:
            terminal.paint(shown(a2b_base64(str(record["output"]))))
        elif record.get("refused"):
            terminal.paint(_LAST_LINE % plain(str(record["refused"])).encode())
        elif "over" in record:
            return _NO_ANSWER if record.get("broke") else 0, str(record["over"])
    if attention.ended_by is not None:
        return 128 + attention.ended_by, ""
    if attention.left:
        return 0, ""
    raise stream_was_cut(places)


class _Attention:
    """Waits for more of the answer, and deals with keys and signals meanwhile."""

    def __init__(self, terminal: RawTerminal, exchange: Exchange, detach: DetachKeys, mode: str) -> None:
        self._terminal = terminal
        self._exchange = exchange
        self._detach = detach
        self._watches = mode == OBSERVE
        self.left = False
        self.ended_by: int | None = None

    def wait(self, exchange: Exchange) -> bool:
        """True when more of the answer has come, or when there will be none because we leave."""
        while True:
            typed, told, signals = self._terminal.wait(exchange.fileno())
            for number in signals:
                if number in ENDING:
                    self.ended_by = number
                else:
                    columns, rows = self._terminal.size()
                    self._say(b'{"columns":%d,"rows":%d}\n' % (columns, rows))
            if typed:
                self._typed(self._terminal.keys())
            if self.left or self.ended_by is not None:
                exchange.over = True
                exchange.status = exchange.status or 200
                return True
            if told:
                exchange.receive()
                return True

    def _typed(self, keys: bytes) -> None:
        if not keys:
            self.left = True  # the terminal is gone
            return
        if self._watches and any(key in _LEAVE_WATCHING for key in keys) and not keys.startswith(b"\x1b"):
            self._leave()
            return
        passed, detached = self._detach.feed(keys)
        if passed and not self._watches:
            self._say(b'{"keys":"%s"}\n' % b2a_base64(passed, newline=False))
        if detached:
            self._leave()

    def _leave(self) -> None:
        """Say so: who only goes away has lost the connection, for all that others can tell."""
        self._say(b'{"leave":true}\n')
        self.left = True

    def _say(self, line: bytes) -> None:
        self._exchange.say(line)


def _as_json(invocation: Invocation, whose: list[tuple[str, str | None]], mode: str) -> int:
    """What is told, a document a line, until it is over; nothing is typed."""
    import json

    exchange = _begun(invocation, whose, mode, (200, 50))
    record: Record = {}
    for record in pages(exchange, blocking):
        write_bytes(json.dumps(record).encode() + b"\n")
    if "over" not in record:
        remark("corral: the daemon went away; the agent goes on")
        return _NO_ANSWER
    return _NO_ANSWER if record.get("broke") else 0
