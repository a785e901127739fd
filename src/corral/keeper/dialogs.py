"""Questions on the screens of one team: seeing them, and pressing what a person answered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence

from corral.agents.profile import Profile
from corral.domain.dialogs import Dialog, find
from corral.domain.errors import RefusedError, WrongUseError
from corral.keeper.runtimes import Runtimes
from corral.ports.dialogs import Pressed, ScreenSeen
from corral.ports.keyboard import Glimpse, Keyboard

#: How long a program gets to take a dialog away, and how soon it is looked at first.
_GOES_SECONDS, _FIRST_LOOK = 4.0, 0.03
#: Somebody who is attached and pressed a key so few seconds ago may be answering it. tmux counts whole seconds.
_TYPING_SECONDS = 3.0
#: Letters of a line that tmux is asked for: more could be on the next row of a narrow terminal.
_LONGEST_TEXT = 30
#: Lines of a dialog that tmux is asked for, those at its end: that is where the choices are.
_MOST_TEXTS = 12
#: A name that tmux has for a key, and nothing that could be an option of its command.
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,19}")


class TeamDialogs:
    """What is asked on the screens of one team."""

    def __init__(
        self,
        runtime: Runtimes,
        profile: Callable[[str], Awaitable[Profile | None]],
        is_typing: Callable[[str], bool],
    ) -> None:
        self._runtime = runtime
        self._profile = profile
        #: Whether a message is on its way into a run.
        self._is_typing = is_typing
        #: Runs into which somebody's answer is being pressed.
        self._pressing: set[str] = set()

    async def look(self, run: str) -> ScreenSeen:
        """The screen of a run, and the question that it asks."""
        keyboard = await self._runtime.keyboard(run)
        if keyboard is None:
            return ScreenSeen(lines=await self._runtime.screen(run))
        return await self._seen(run, await keyboard.look())

    async def ring(self, text: str) -> int:
        """Tell every person who is attached; how many there are."""
        return await self._runtime.ring(text)

    async def press(self, run: str, keys: Sequence[str], mark: str) -> Pressed:
        """See `Dialogs.press`."""
        if not keys or not all(_KEY.fullmatch(key) for key in keys):
            raise WrongUseError(f"{' '.join(keys)!r} are no keys", "name keys as tmux does: 1, y, Enter, Escape")
        keyboard = await self._runtime.keyboard(run)
        if keyboard is None:
            raise RefusedError("the agent has no terminal, so it has no keys", "corral send writes to it")
        if run in self._pressing or self._is_typing(run):
            why = "somebody else's answer, or a message, is just being typed there"
            return Pressed(outcome="busy", why=why, seen=await self.look(run))
        self._pressing.add(run)
        try:
            return await self._press(run, keyboard, keys, mark) or await self._went(run, keyboard, mark)
        finally:
            self._pressing.discard(run)

    async def _press(self, run: str, keyboard: Keyboard, keys: Sequence[str], mark: str) -> Pressed | None:
        """Press them while nobody else can press any; why nothing was pressed, otherwise."""
        before = await keyboard.look()
        if any(watcher.idle < _TYPING_SECONDS and not watcher.read_only for watcher in before.watchers):
            why = "somebody who is attached there has just pressed a key"
            return Pressed(outcome="busy", why=why, seen=await self._seen(run, before))
        await keyboard.lease()
        try:
            glimpse = await keyboard.look()
            seen = await self._seen(run, glimpse)
            if seen.dialog is None or seen.dialog.mark != mark:
                return Pressed(outcome="changed", why="something else is on its screen by now", seen=seen)
            if glimpse.in_mode:
                return Pressed(outcome="busy", why="somebody reads back in copy mode there", seen=seen)
            if not await keyboard.press_if(keys, texts_of(seen.dialog)):
                return Pressed(outcome="changed", why="its screen changed in this very moment", seen=seen)
            return None
        finally:
            await keyboard.give_back()

    async def _went(self, run: str, keyboard: Keyboard, mark: str) -> Pressed:
        """Look until the dialog is gone, and for no longer than a program takes for that."""
        loop = asyncio.get_running_loop()
        deadline, delay = loop.time() + _GOES_SECONDS, _FIRST_LOOK
        while True:
            await asyncio.sleep(delay)
            seen = await self._seen(run, await keyboard.look())
            if seen.dialog is None or seen.dialog.mark != mark:
                return Pressed(outcome="gone", seen=seen)
            if loop.time() > deadline:
                return Pressed(outcome="still", why=f"it is still there after {_GOES_SECONDS:g} s", seen=seen)
            delay = min(delay * 2, 0.5)

    async def _seen(self, run: str, glimpse: Glimpse) -> ScreenSeen:
        profile = await self._profile(run)
        lines = list(glimpse.lines)
        while lines and not lines[-1].strip():
            lines.pop()
        dialog = find(profile.rules, lines, glimpse.title) if profile is not None else None
        return ScreenSeen(lines=lines, dialog=dialog)


def texts_of(dialog: Dialog) -> list[str]:
    """What tmux is to see in the very turn in which keys are pressed: the beginnings of the lines at its end."""
    texts = [line.strip()[:_LONGEST_TEXT].rstrip() for line in dialog.lines]
    return [text for text in texts if any(letter.isalnum() for letter in text)][-_MOST_TEXTS:]
