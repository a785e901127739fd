"""What a demo agent shows: lines that stay, and below them one line that is redrawn in place.

The redrawn line is the agent's face: `demo> …` while it can take a message, a progress line while it works. On
anything but a terminal nothing is redrawn and no escape sequence is sent.
"""

import os
import unicodedata
from typing import TextIO

READY = "demo> "
CHOOSE = "choose> "

_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
_AGAIN = "\r\x1b[K"
_FALLBACK_WIDTH = 80


class Screen:
    """Writes to `out`; `terminal` says whether it may redraw."""

    def __init__(self, out: TextIO, terminal: bool) -> None:
        self._out = out
        self._terminal = terminal

    def open(self) -> None:
        """Ask for bracketed pastes, so that a newline in a paste can be told from Enter."""
        if self._terminal:
            self._write(_PASTE_ON)

    def close(self) -> None:
        """Leave the terminal as it was found, on a line of its own."""
        if self._terminal:
            self._write(_AGAIN + _PASTE_OFF)

    def line(self, text: str) -> None:
        """Print a line that stays, above the redrawn one, which goes until it is drawn again."""
        self._write((_AGAIN if self._terminal else "") + _printable(text) + "\n")

    def ready(self, composed: str) -> None:
        """Show that a message can be given, and what of it is there."""
        if self._terminal:
            self._redraw(READY, summary(composed))
        else:
            self._write(READY.rstrip() + "\n")

    def working(self, step: int, of: int) -> None:
        """Show that a message is being worked on."""
        if self._terminal:
            self._redraw("", f"working on step {step} of {of} … esc to interrupt")

    def choose(self, most: int) -> None:
        """Show that nothing goes on until somebody has chosen."""
        if self._terminal:
            self._redraw(CHOOSE, f"1 to {most}, esc is {most}")
        else:
            self._write(CHOOSE.rstrip() + "\n")

    def bell(self) -> None:
        """Draw attention without a word."""
        if self._terminal:
            self._write("\a")

    def _redraw(self, head: str, text: str) -> None:
        self._write(_AGAIN + head + _tail(_printable(text), self._width() - len(head) - 1))

    def _width(self) -> int:
        try:
            return os.get_terminal_size(self._out.fileno()).columns or _FALLBACK_WIDTH
        except OSError:
            return _FALLBACK_WIDTH

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def summary(message: str) -> str:
    """`message` if it is a line to look at, its measure if it is more."""
    if "\n" not in message and len(message) <= 400:
        return message
    return f"[{message.count(chr(10)) + 1} lines, {len(message.encode())} bytes]"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "·" for letter in text)


def _tail(text: str, width: int) -> str:
    """The end of `text` that fits into `width` columns."""
    room = max(width, 1)
    for start in range(len(text) - 1, -1, -1):
        room -= 2 if unicodedata.east_asian_width(text[start]) in "WF" else 1
        if room < 0:
            return text[start + 1 :]
    return text
