"""What somebody else's keeper says of what went wrong, as it is told to others. Pure.

A keeper can say anything, also what looks like advice of the daemon, or acts on a terminal. So its words are shortened,
made plain, and told as its own; what it would have people do is not told at all.
"""

from __future__ import annotations

from corral.domain.errors import CorralError
from corral.domain.told_names import told_pattern

#: Of what a keeper says, so many letters are told.
_MOST_LETTERS = 300


def foreign_words(text: str) -> str:
    """In one line, as they can be read, and no more of them than there is room for."""
    cut = text[:_MOST_LETTERS] + ("…" if len(text) > _MOST_LETTERS else "")
    return told_pattern(" ".join(cut.split()))


def told_words(said_by: str, text: str) -> str:
    """What the keeper of this user says; where there is one person alone, its word is Corral's own."""
    return f"the keeper of {said_by} says: {foreign_words(text)}" if said_by and text else text


def told_error(error: CorralError) -> str:
    """What went wrong, and if a keeper says so, whose."""
    return told_words(error.said_by, error.message)


def own_remedy(error: CorralError) -> str:
    """What to do about it, if Corral says so."""
    return "" if error.said_by else error.remedy


def as_told_to(error: CorralError, user: str) -> CorralError:
    """The error as somebody is told of it: what another's keeper says is not said by Corral."""
    if error.said_by in ("", user):
        return error
    where = f"journalctl --user -u corral-keeper.service, by {error.said_by}"
    told = type(error)(told_error(error), f"the log of that keeper has it whole, and what helps: {where}")
    told.code, told.said_by = error.code, error.said_by
    return told
