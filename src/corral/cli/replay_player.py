"""A player for recordings, on a terminal of a person."""

import re
import time

from corral.cli.output import plain
from corral.cli.raw_terminal import ENDING, RawTerminal
from corral.domain.asciicast import Event
from corral.domain.playback import Player
from corral.domain.safe_output import SafeOutput

#: What each key means, in seconds to go.
_SEEKS = {b"\x1b[C": 5.0, b"\x1b[D": -5.0, b"\x1b[A": 60.0, b"\x1b[B": -60.0, b"\x1bOC": 5.0, b"\x1bOD": -5.0}
_LEAVE = (b"q", b"\x03", b"\x04", b"\x1b")
#: An arrow, an escape alone, or a letter.
_KEY = re.compile(rb"\x1b[\[O][A-Z]|.", re.DOTALL)
_LAST_LINE = "\x1b7\x1b[r\x1b[999;1H\x1b[m\x1b[7m%s\x1b[m\x1b[K\x1b8"


def play(events: "list[Event]", *, title: str, began: float, at: float, speed: float) -> None:
    """Play until the person leaves. What was on the screen before can be scrolled back to; the last picture stays."""
    player = Player(events, at=at, speed=speed)
    terminal = RawTerminal()
    try:
        _play(terminal, player, title, began)
    finally:
        # Below the picture, and not where putting the terminal in order has left the cursor.
        terminal.paint(b"\x1b[999;1H\x1b[K\n")


def _play(terminal: RawTerminal, player: Player, title: str, began: float) -> None:
    with terminal:
        terminal.paint(b"\n" * terminal.size()[1])
        show = _Screen(terminal, title, began)
        show.paint(player.begin(), player)
        while True:
            begun = time.monotonic()
            wait = player.wait()
            typed, _, signals = terminal.wait(seconds=wait)
            if any(number in ENDING for number in signals):
                return
            if typed:
                player.pass_by(time.monotonic() - begun)
                if not _heeded(player, terminal.keys(), show):
                    return
            elif wait is not None and not signals:
                show.paint(player.advance(), player)


class _Screen:
    """Where it is painted, with a line of ours at the bottom while it stands still."""

    def __init__(self, terminal: RawTerminal, title: str, began: float) -> None:
        self._terminal = terminal
        self._title = title
        self._began = began
        self._safe = SafeOutput()

    def paint(self, output: str, player: Player) -> None:
        shown = self._safe.feed(output)
        if player.paused or player.over:
            shown += _LAST_LINE % self._line(player)
        self._terminal.paint(shown.encode("utf-8", "replace"))

    def _line(self, player: Player) -> str:
        now = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self._began + player.position))
        how = "end" if player.over else "paused" if player.paused else ""
        where = f"{_clock(player.position)}/{_clock(player.length)}  x{player.speed:g}"
        return plain(f" {self._title}  {now}  {where}  {how}  space ← → + - 0 q ")


def _heeded(player: Player, typed: bytes, show: _Screen) -> bool:
    """Do what keys say; False if one says to leave, or the terminal is gone."""
    return bool(typed) and all(_heed(player, key, show) for key in _KEY.findall(typed))


def _heed(player: Player, keys: bytes, show: _Screen) -> bool:
    if keys in _LEAVE:
        return False
    if keys in _SEEKS:
        show.paint(player.seek(player.position + _SEEKS[keys]), player)
    elif keys == b" ":
        player.paused = not player.paused
        show.paint("", player)
    elif keys in (b"+", b"="):
        player.faster(2.0)
    elif keys in (b"-", b"_"):
        player.faster(0.5)
    elif keys == b"0":
        show.paint(player.seek(0.0), player)
    return True


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
