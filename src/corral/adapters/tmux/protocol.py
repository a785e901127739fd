"""What a control client says, taken apart. Pure: bytes in, messages out.

Replies are blocks between `%begin` and `%end` or `%error`; everything else that starts with `%` outside a block is a
notification. Pane output comes with every byte below blank, and the backslash, written as three octal digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OCTAL = re.compile(rb"\\([0-7]{3})")
_BYTES = {f"{value:03o}".encode(): bytes([value]) for value in range(256)}


@dataclass(frozen=True, slots=True)
class Output:
    """Bytes a pane wrote."""

    pane: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one command; `ours` if this control client gave the command."""

    ok: bool
    lines: list[str]
    ours: bool


@dataclass(frozen=True, slots=True)
class Notification:
    """Something happened in the server; also `%exit` and `%pause`."""

    name: str
    rest: str


Message = Output | Reply | Notification


class Parser:
    """Feed it bytes as they come; it returns the messages that are complete."""

    def __init__(self) -> None:
        self._rest = b""
        self._block: list[str] | None = None
        self._stamp = b""

    def feed(self, data: bytes) -> list[Message]:
        """Messages completed by `data`, in order."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        messages: list[Message] = []
        for line in lines:
            message = self._line(line)
            if message is not None:
                messages.append(message)
        return messages

    def _line(self, line: bytes) -> Message | None:
        if self._block is not None:
            return self._inside(line)
        if line.startswith(b"%extended-output "):
            head, _, data = line.partition(b" : ")
            return Output(head.split(b" ", 2)[1].decode("ascii"), _unescape(data))
        if line.startswith(b"%output "):
            _, pane, data = line.split(b" ", 2)
            return Output(pane.decode("ascii"), _unescape(data))
        if line.startswith(b"%begin "):
            self._block = []
            self._stamp = line.removeprefix(b"%begin")
            return None
        if line.startswith(b"%"):
            name, _, rest = line.partition(b" ")
            return Notification(name.decode("ascii", "replace"), rest.decode("utf-8", "replace"))
        return None  # the DCS that -CC would send, or an empty line

    def _inside(self, line: bytes) -> Message | None:
        assert self._block is not None
        # A line of the answer may look like its end; the real one has the time and numbers it began with.
        if line in (b"%end" + self._stamp, b"%error" + self._stamp):
            reply = Reply(line.startswith(b"%end"), self._block, ours=self._stamp.endswith(b" 1"))
            self._block = None
            return reply
        self._block.append(line.decode("utf-8", "replace"))
        return None


def _unescape(data: bytes) -> bytes:
    if b"\\" not in data:
        return data
    return _OCTAL.sub(lambda match: _BYTES[match[1]], data)
