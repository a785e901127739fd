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


def told_error(error: CorralError) -> str:
    """What went wrong, and if a keeper says so, whose."""
    if not error.said_by:
        return error.message
    return f"the keeper of {error.said_by} says: {foreign_words(error.message)}"


def as_told_to(error: CorralError, user: str) -> CorralError:
    """The error as somebody is told of it: what another's keeper says is not said by Corral."""
    if error.said_by in ("", user):
        return error
    where = f"journalctl --user -u corral-keeper.service, by {error.said_by}"
    told = type(error)(told_error(error), f"the log of that keeper has it whole, and what helps: {where}")
    told.code, told.said_by = error.code, error.said_by
    return told
