"""The token of a person: what it looks like, what is kept of it, and whether it is good. Pure.

With a token somebody asks over TCP, where the kernel cannot say who is at the other end (ADR 29). It ends in 256 random
bits, and Corral keeps a hash: who reads the store cannot speak for anybody.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass

from corral.domain.errors import RefusedError, WrongUseError

#: Bytes of its id, which everybody may see, and of its secret.
ID_BYTES, SECRET_BYTES = 6, 32
#: So a token begins: whoever finds one somewhere can tell what it is.
_KIND = "corral_token"
_FORM = re.compile(rf"{_KIND}_([0-9a-f]{{{2 * ID_BYTES}}})_[A-Za-z0-9_-]{{43}}", re.ASCII)
#: No honest one is longer; nothing that is gets as far as a hash.
LONGEST = 120
#: Of one person, those that are expired included: nobody needs more, and no script that runs wild makes more.
MOST_OF_ONE = 100
_LONGEST_NOTE = 100
_SHORTEST_LIFE, _LONGEST_LIFE = 60.0, 3660 * 86400.0

# What becomes of a token.
VALID, EXPIRED, VOID = "valid", "expired", "void"


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """What is kept of a token."""

    id: str
    #: Whose it is: an OS user of this host. Its number is kept as well: who gets the name later is somebody else.
    user: str
    uid: int
    #: SHA-256 of the token as a whole.
    digest: str
    #: What its maker calls it: which machine or which script has it.
    note: str = ""
    #: Unix time at which it was made, and by whom.
    created: float = 0.0
    by: str = ""
    #: Unix time from which it counts for nothing; None if it is good until it is revoked.
    expires: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """Whoever a token is of, as they are now."""

    uid: int
    #: Since when they belong to this host: who left and came back starts without tokens.
    since: float = 0.0


def spelled(id_: str, secret: str) -> str:
    """The token of that id. `secret` is for this one alone, and cannot be guessed."""
    return f"{_KIND}_{id_}_{secret}"


def id_in(text: str) -> str:
    """The id of the token that this says it is, which proves nothing; empty if it is no token at all."""
    found = _FORM.fullmatch(text) if len(text) <= LONGEST else None
    return "" if found is None else found[1]


def digest(text: str) -> str:
    """What is kept of a token. It is random, so a plain hash does."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def fits(text: str, token: Token) -> bool:
    """True if this is the token. Takes as long whatever differs."""
    return hmac.compare_digest(digest(text).encode(), token.digest.encode())


def state(token: Token, holder: Holder | None, now: float) -> str:
    """Whether it is good. Void: whoever it is of is nobody here any more, or is somebody else."""
    if holder is None or holder.uid != token.uid or holder.since > token.created:
        return VOID
    return EXPIRED if token.expires is not None and token.expires <= now else VALID


def must_be_possible(kept: Iterable[Token], user: str, note: str, seconds: float | None) -> None:
    """Refuse a new token of somebody that cannot be, or is one too many."""
    if len(note) > _LONGEST_NOTE or not note.isprintable():
        raise WrongUseError(
            f"the note of a token has at most {_LONGEST_NOTE} letters, in one line", "say it in fewer words"
        )
    if seconds is not None and not _SHORTEST_LIFE <= seconds <= _LONGEST_LIFE:
        raise WrongUseError(
            f"a token cannot be good for {seconds:g} seconds", "from a minute to ten years, such as --expires 90d"
        )
    if sum(token.user == user for token in kept) >= MOST_OF_ONE:
        raise RefusedError(
            f"{user} has {MOST_OF_ONE} tokens, and may have no more",
            "corral token rm revokes those that nobody needs",
        )
