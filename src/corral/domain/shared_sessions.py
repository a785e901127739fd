"""People who share an agent's terminal: who is there, who may type, and what a moderator may do about it. Pure.

Everybody who joins has a *seat*, with a mode that does not change: whoever wants another one joins again, and is let in
again. So nobody can be talked into more than was decided when they came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.session_modes import ACTIONS, DRIVE, END, HANDOVER, MODERATE, MUTE, OBSERVE, RELEASE, UNMUTE

#: Those that mean somebody; `end` may, and else means all.
_ABOUT_SOMEBODY = (MUTE, UNMUTE, HANDOVER)

#: More people than ever look at one terminal; each costs a buffer.
MOST_SEATS = 64
SEAT_ID = re.compile(r"[a-z0-9]{4,32}")
#: What is safe in the status bar of tmux, whose own language has `#`, brackets and commas.
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._@/-]")
_LONGEST_NAME = 24
#: A terminal that is smaller shows nothing, and a larger one is no terminal.
_SMALLEST, _LARGEST_COLUMNS, _LARGEST_ROWS = 2, 1000, 500
_TERM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")
#: What a terminal is taken for that does not say what it is.
ANY_TERM = "xterm-256color"
#: What they do: one of them, and several.
_DOING = (
    (MODERATE, "moderates", "moderate"),
    (DRIVE, "drives", "drive"),
    (OBSERVE, "watches", "watch"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A person, or an agent that watches, at one terminal."""

    id: str
    #: The user as the kernel names it, with the agent that it says it is, if any.
    name: str
    mode: str
    #: Unix time.
    since: float
    #: Who muted it; empty if nobody did.
    muted_by: str = ""

    @property
    def muted(self) -> bool:
        return bool(self.muted_by)


@dataclass(frozen=True, slots=True)
class Company:
    """Those who share a terminal, in the order in which they came."""

    seats: tuple[Seat, ...] = ()
    #: The seat that the keyboard was handed to; empty while every driver may type.
    keyboard: str = ""

    def with_seat(self, seat: Seat) -> Company:
        """With one more; `RefusedError` if there are too many."""
        if len(self.seats) >= MOST_SEATS:
            raise RefusedError(
                f"{len(self.seats)} are in that session already, and no more can be", "corral session ls names them"
            )
        return replace(self, seats=(*self.seats, seat))

    def without(self, seat_id: str) -> Company:
        """With one less. The keyboard that was handed to it is free again."""
        rest = tuple(seat for seat in self.seats if seat.id != seat_id)
        return Company(rest, "" if self.keyboard == seat_id else self.keyboard)

    def seat(self, seat_id: str) -> Seat | None:
        """The seat of that id."""
        return next((seat for seat in self.seats if seat.id == seat_id), None)

    def why_not_type(self, seat_id: str) -> str:
        """Why what this one types is not taken, for a person; empty if it is."""
        seat = self.seat(seat_id)
        if seat is None:
            return "you are not in the session any more"
        if seat.mode == OBSERVE:
            return "you only watch"
        if seat.muted:
            return f"{seat.muted_by} has muted you"
        if self.keyboard and self.keyboard != seat_id and seat.mode != MODERATE:
            holder = self.seat(self.keyboard)
            return f"the keyboard was handed to {holder.name if holder else 'somebody else'}"
        return ""

    def meant(self, person: str) -> Seat:
        """The seat that `person` names: its id, or the name of somebody who has one seat here."""
        found = [seat for seat in self.seats if person in (seat.id, seat.name)]
        if not found:
            there = list(dict.fromkeys(seat.name for seat in self.seats))
            here = f"{', '.join(there)} are" if len(there) > 1 else f"{''.join(there) or 'nobody'} is"
            raise NotFoundError(f"{person} is not in that session; {here}", "corral session ls names who is there")
        if len(found) > 1:
            ids = ", ".join(seat.id for seat in found)
            raise WrongUseError(f"{person} has {len(found)} seats in that session", f"name one of them: {ids}")
        return found[0]

    def steered(self, action: str, person: str, by: str) -> tuple[Company, tuple[Seat, ...]]:
        """After what `by` did, who need not have a seat: the company as it is then, and the seats that have to go."""
        if action in _ABOUT_SOMEBODY and not person:
            raise WrongUseError(f"whom is {action} about?", "name a person of the session: corral session ls")
        if action == RELEASE:
            return replace(self, keyboard=""), ()
        if action == END:
            return self, (self.meant(person),) if person else self.seats
        seat = self.meant(person)
        if seat.mode == OBSERVE and action in (MUTE, HANDOVER):
            raise RefusedError(
                f"{seat.name} only watches, and can never type",
                "corral attach --drive lets them, if they may: they have to join again",
            )
        if action == HANDOVER:
            free = replace(seat, muted_by="")
            return Company(self._replaced(free), seat.id), ()
        if action in (MUTE, UNMUTE):
            return replace(self, seats=self._replaced(replace(seat, muted_by=by if action == MUTE else ""))), ()
        raise WrongUseError(f"{action} is nothing that a moderator does", f"one of {', '.join(ACTIONS)}")

    def line(self) -> str:
        """Who is there, for the status bar; empty if nobody is."""
        parts = []
        for mode, one, several in _DOING:
            told = [self._told(seat) for seat in self.seats if seat.mode == mode]
            if told:
                parts.append(f"{_some(told)} {one if len(told) == 1 else several}")
        return " · ".join(parts)

    def _told(self, seat: Seat) -> str:
        mark = " (muted)" if seat.muted else " (keyboard)" if seat.id == self.keyboard else ""
        return bar_name(seat.name) + mark

    def _replaced(self, new: Seat) -> tuple[Seat, ...]:
        return tuple(new if seat.id == new.id else seat for seat in self.seats)


def bar_name(name: str) -> str:
    """A name as it may stand in the status bar of tmux: nothing of it is a format, a style or a command."""
    return _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME]


def checked_size(columns: int, rows: int) -> tuple[int, int]:
    """The size of a terminal, brought within what can be shown."""
    return max(_SMALLEST, min(columns, _LARGEST_COLUMNS)), max(_SMALLEST, min(rows, _LARGEST_ROWS))


def checked_term(term: str) -> str:
    """What a terminal calls itself, if that can be the name of one."""
    return term if _TERM.fullmatch(term) else ANY_TERM


def _some(names: Iterable[str], most: int = 3) -> str:
    """A few of the names, and how many more."""
    listed = list(names)
    more = f" +{len(listed) - most}" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
