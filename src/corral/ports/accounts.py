"""What a host knows of an OS user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Account:
    """A user as the account databases have it now."""

    name: str
    uid: int
    home: str
    shell: str
    #: The name of its first group, and of all that it is in.
    own_group: str
    groups: frozenset[str]


#: The account of that name; None if there is none.
Accounts = Callable[[str], Awaitable[Account | None]]
