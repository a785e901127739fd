"""What a terminal sends, turned into what a person meant. Pure: bytes in, events out.

However the byte stream is cut into reads, the same events come out: a character, an escape sequence or a paste
that is split over two reads waits for its rest.
"""

import codecs
from dataclasses import dataclass

PASTE_START = b"\x1b[200~"
PASTE_END = b"\x1b[201~"

_ESC = 0x1B
_SS3_OR_CSI = b"O["


@dataclass(frozen=True, slots=True)
class Typed:
    """One character, or the newline of an Alt+Enter, that joins the message."""

    text: str


@dataclass(frozen=True, slots=True)
class Pasted:
    """A whole bracketed paste. Its line ends, CR, LF or CR LF as the terminal sent them, are `\\n`."""

    text: str


@dataclass(frozen=True, slots=True)
class TooLong:
    """A paste larger than the limit. None of it is kept: half a message is worse than none."""

    size: int


@dataclass(frozen=True, slots=True)
class Key:
    """A key that does something: `enter`, `escape`, `backspace`, `clear`, `interrupt` or `end`."""

    name: str


Event = Typed | Pasted | TooLong | Key

ENTER = Key("enter")
ESCAPE = Key("escape")
BACKSPACE = Key("backspace")
CLEAR = Key("clear")
INTERRUPT = Key("interrupt")
END = Key("end")

_CONTROLS = {
    0x03: INTERRUPT,
    0x04: END,
    0x08: BACKSPACE,
    0x0A: ENTER,
    0x0D: ENTER,
    0x15: CLEAR,
    0x7F: BACKSPACE,
}


class Keyboard:
    """Decodes a raw terminal. `paste_limit` is the largest paste, in bytes, that is taken."""

    def __init__(self, paste_limit: int) -> None:
        self._limit = paste_limit
        self._pending = bytearray()
        self._pasting = False
        self._paste_size = 0
        self._searched = 0
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def undecided(self) -> bool:
        """True while a lone Escape waits: for the rest of a sequence, or for `settle` to say none comes."""
        return not self._pasting and self._pending == b"\x1b"

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes, in order."""
        self._pending += data
        events: list[Event] = []
        while self._pending:
            taken = self._paste(events) if self._pasting else self._keys(events)
            if not taken:
                break
        return events

    def settle(self) -> list[Event]:
        """Call when nothing followed for a moment: an Escape that stands alone is the Escape key."""
        if not self.undecided:
            return []
        self._pending.clear()
        return [ESCAPE]

    def _paste(self, events: list[Event]) -> bool:
        end = self._pending.find(PASTE_END, self._searched)
        if end < 0:
            self._drop_excess()
            self._searched = max(0, len(self._pending) - len(PASTE_END) + 1)
            return False
        size = self._paste_size + end
        if size > self._limit:
            events.append(TooLong(size))
        else:
            events.append(Pasted(_lines(self._pending[:end])))
        del self._pending[: end + len(PASTE_END)]
        self._pasting = False
        self._paste_size = self._searched = 0
        return True

    def _drop_excess(self) -> None:
        # The last bytes may be the beginning of the end marker, so they stay.
        excess = len(self._pending) - len(PASTE_END) + 1
        if self._paste_size + excess > self._limit:
            self._paste_size += excess
            del self._pending[:excess]

    def _keys(self, events: list[Event]) -> bool:
        data = self._pending
        position = 0
        while position < len(data) and not self._pasting:
            byte = data[position]
            if byte == _ESC:
                self._characters(b"", events, final=True)
                length = self._sequence(data, position, events)
                if length == 0:
                    break
                position += length
                continue
            if byte < 0x20 or byte == 0x7F:
                self._characters(b"", events, final=True)
                if byte in _CONTROLS:
                    events.append(_CONTROLS[byte])
                elif byte == 0x09:
                    events.append(Typed("\t"))
            else:
                self._characters(bytes((byte,)), events, final=False)
            position += 1
        del data[:position]
        return position > 0

    def _characters(self, data: bytes, events: list[Event], final: bool) -> None:
        events.extend(Typed(letter) for letter in self._utf8.decode(data, final))

    def _sequence(self, data: bytearray, start: int, events: list[Event]) -> int:
        """Take the sequence that begins with the Escape at `start`; its length, or 0 if it is not complete."""
        if len(data) < start + 2:
            return 0
        second = data[start + 1]
        if second == _ESC:
            events.append(ESCAPE)
            return 1
        if second in (0x0A, 0x0D):
            events.append(Typed("\n"))
            return 2
        if second not in _SS3_OR_CSI:
            return 2  # Alt with a key: it means nothing here
        if second == _SS3_OR_CSI[0]:
            if len(data) < start + 3:
                return 0
            return 3 if data[start + 2] >= 0x20 else 2
        for end in range(start + 2, len(data)):
            if 0x20 <= data[end] <= 0x3F:
                continue
            if not 0x40 <= data[end] <= 0x7E:
                return end - start  # broken off: the byte that broke it counts on its own
            self._pasting = data[start : end + 1] == PASTE_START
            return end + 1 - start
        return 0


class Lines:
    """Decodes a pipe or a file: every line is a message, and there are no keys."""

    undecided = False

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Event]:
        """The lines that `data` completes."""
        *whole, rest = (bytes(self._pending) + data).split(b"\n")
        self._pending = bytearray(rest)
        return [event for line in whole for event in self._message(line)]

    def settle(self) -> list[Event]:
        """Nothing: a pipe has no keys to be undecided about."""
        return []

    def close(self) -> list[Event]:
        """The last line, if it has no line end."""
        rest = bytes(self._pending)
        self._pending.clear()
        return self._message(rest) if rest else []

    @staticmethod
    def _message(line: bytes) -> list[Event]:
        return [Pasted(line.decode("utf-8", "replace")), ENTER]


def _lines(raw: bytearray) -> str:
    return raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
