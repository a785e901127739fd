"""Who has an account on this host, as far as being a member is about it."""

from __future__ import annotations

from typing import Protocol

from corral.domain.members import Account


class Accounts(Protocol):
    """The users of the operating system."""

    def find(self, user: str) -> Account | None:
        """The account of that name, as it is now; None if there is none."""
