"""The credential of a run of an agent: what it looks like, and what is kept of it. Pure.

It names whose it is, so that it can be looked up, and ends in a secret. Corral keeps a hash: who reads the store cannot
speak for an agent.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

#: The variable of an agent that names the file which has its credential.
FILE_VARIABLE = "CORRAL_CREDENTIAL_FILE"
#: So a credential begins: whoever finds one somewhere can tell what it is.
_KIND = "corral"
_FORM = re.compile(rf"{_KIND}\.([0-9a-z]+)\.([a-z0-9-]+)\.([a-z0-9-]+)\.([0-9a-z]+)\.([A-Za-z0-9_-]+)", re.ASCII)
#: No honest one is longer; nothing that is gets as far as a hash.
LONGEST = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """Whose a credential says it is."""

    instance: str
    team: str
    agent: str
    run: str


def issue(names: Names, secret: str) -> str:
    """The credential of a run. `secret` is for this one alone, and cannot be guessed."""
    return ".".join((_KIND, names.instance, names.team, names.agent, names.run, secret))


def names_in(credential: str) -> Names | None:
    """Whose it says it is, which proves nothing; None if it is no credential at all."""
    found = _FORM.fullmatch(credential) if len(credential) <= LONGEST else None
    if found is None:
        return None
    return Names(instance=found[1], team=found[2], agent=found[3], run=found[4])


def open_letters(credential: str) -> int:
    """How many letters at its beginning are no secret, and are the same for every agent of the instance."""
    found = names_in(credential)
    return len(_KIND) + len(found.instance) + 2 if found is not None else 0


def digest(credential: str) -> str:
    """What is kept of a credential. It is random, so a plain hash does."""
    return hashlib.sha256(credential.encode("utf-8", "surrogateescape")).hexdigest()


def fits(credential: str, kept: str) -> bool:
    """True if this is the credential that `kept` was made of. Takes as long whatever differs."""
    return bool(kept) and hmac.compare_digest(digest(credential).encode(), kept.encode())
