"""What a keeper does for whoever answers a question that an agent asks on its screen.

It decides nothing: it reads the screen, and presses keys only into the very dialog that was named.
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from corral.domain.dialogs import Dialog
from corral.ports.record import Record

#: What became of keys that were to be pressed: the dialog went; it is still there, pressed or not, nobody can tell;
#: another one is there, or none, and nothing was pressed; somebody types there, and nothing was pressed.
Outcome = Literal["gone", "still", "changed", "busy"]


class ScreenSeen(Record, frozen=True):
    """A screen, and the question on it."""

    lines: list[str] = msgspec.field(default_factory=list)
    #: None if there is none that the agent's profile knows.
    dialog: Dialog | None = None


class Pressed(Record, frozen=True):
    """What came of pressing keys."""

    outcome: Outcome
    #: In words, for a person, if it is not `gone`.
    why: str = ""
    #: What is there now.
    seen: ScreenSeen = ScreenSeen()


class Peer(Record, frozen=True):
    """The process at the other end of a connection."""

    #: As the kernel names it; 0 if it is in a place that this one cannot see into.
    pid: int
    #: When it was connected, in seconds after boot. What started later is another process that has its pid now.
    seen: float


class Behind(Record, frozen=True):
    """What is behind a process that asks."""

    #: Its own and those of its ancestors.
    pids: frozenset[int]
    #: The nearest of them that Corral is, or has started, in words; empty if there is none.
    ours: str = ""


class Announced(Record, frozen=True):
    """Who was told, and why somebody was not."""

    #: Terminals that are attached to the team and were rung.
    terminals: int = 0
    desktop: bool = False
    problems: list[str] = msgspec.field(default_factory=list)


class Dialogs(Protocol):
    """A part of `ports.keeper.Keeper`."""

    async def look_at_dialog(self, team: str, run: str) -> ScreenSeen:
        """The screen of a run, and the question that it asks."""

    async def press(self, team: str, run: str, keys: list[str], mark: str, words: str = "") -> Pressed:
        """Press keys, by the names that tmux has for them, into the dialog with this mark, and see whether it went.

        Without keys, the words are written into its field, seen there, and submitted. Nothing is pressed if the screen
        shows another dialog or none, or if somebody attached has just typed there. It went when the same is asked no
        more: a dialog whose cursor moved, or that holds a text now, is still there.
        """

    async def no_person(self, peer: Peer) -> str:
        """Why a process of this host counts as no person, to go behind "this was asked"; empty if it may be one.

        No person are agents, whatever else Corral started, what descends from either, and a process that has ended or
        cannot be told.
        """

    async def announce(self, team: str, title: str, text: str, *, bell: bool, desktop: bool) -> Announced:
        """Tell whoever is attached to the team, with a bell, and whoever sits at the desktop of this host."""
