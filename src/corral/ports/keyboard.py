"""The keyboard of one session with a terminal: looking first, typing, and keeping others from it meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Watcher:
    """A person's terminal that shows the session."""

    #: Seconds since a key was pressed there, or since it was attached. tmux counts in whole seconds.
    idle: float
    #: Its keys reach nobody.
    read_only: bool = False
    #: Somebody has begun a command of tmux there (the prefix was pressed) and not ended it.
    in_command: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """A terminal at one moment."""

    lines: Sequence[str]
    #: The title that the program gave it.
    title: str = ""
    #: Keys go to tmux itself: somebody reads back in copy mode, or left it so.
    in_mode: bool = False
    watchers: Sequence[Watcher] = ()


class Keyboard(Protocol):
    """Every method raises `CorralError` if there is nobody to type to, and `UnavailableError` if nobody can tell.

    A lease ends by itself after some seconds, so that no death of ours can lock a person out.
    """

    async def look(self) -> Glimpse:
        """What is on the screen, and who sits before it."""

    async def lease(self) -> None:
        """From when this returns until `give_back`, what people type waits. None of it is lost."""

    async def give_back(self) -> None:
        """What people typed meanwhile goes on now. Without a lease nothing happens."""

    async def leave_mode(self) -> None:
        """Have keys go to the program again."""

    async def paste(self, text: str) -> None:
        """All of the text, as one paste, with control characters made visible. If this raises `CorralError` and not
        `UnavailableError`, nothing was typed."""

    async def press(self, keys: Sequence[str]) -> None:
        """Keys, as tmux names them."""

    async def press_if(self, keys: Sequence[str], shown: Sequence[str]) -> bool:
        """Press keys if the screen shows each of these texts in the very turn in which they are pressed.

        False if it does not, or keys would go to tmux itself: nothing was pressed then.
        """
