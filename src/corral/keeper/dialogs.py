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
#: And how long to open a field for words, and to show those: with the rest it is less than a lease of the keyboard.
_FIELD_SECONDS = 3.0
#: Somebody who is attached and pressed a key so few seconds ago may be answering it. tmux counts whole seconds.
_TYPING_SECONDS = 3.0
#: Letters of a line that tmux is asked for: more could be on the next row of a narrow terminal.
_LONGEST_TEXT = 30
#: Lines of a dialog that tmux is asked for, those at its end: that is where the choices are.
_MOST_TEXTS = 12
_THIS_MOMENT = "its screen changed in this very moment"
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

    async def press(self, run: str, keys: Sequence[str], mark: str, words: str = "") -> Pressed:
        """See `Dialogs.press`."""
        if bool(keys) == bool(words) or not all(_KEY.fullmatch(key) for key in keys):
            raise WrongUseError(f"{' '.join(keys)!r} are no keys", "name keys as tmux does: 1, y, Enter, Escape")
        keyboard = await self._runtime.keyboard(run)
        if keyboard is None:
            raise RefusedError("the agent has no terminal, so it has no keys", "corral send writes to it")
        if run in self._pressing or self._is_typing(run):
            why = "somebody else's answer, or a message, is just being typed there"
            return Pressed(outcome="busy", why=why, seen=await self.look(run))
        self._pressing.add(run)
        try:
            pressed = await self._press(run, keyboard, keys, mark, words)
            return pressed if isinstance(pressed, Pressed) else await self._went(run, keyboard, pressed.asked)
        finally:
            self._pressing.discard(run)

    async def _press(
        self, run: str, keyboard: Keyboard, keys: Sequence[str], mark: str, words: str
    ) -> Pressed | Dialog:
        """Press them while nobody else can press any: the dialog that they went into, or why they did not."""
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
            if words:
                return await self._write(run, keyboard, seen.dialog, words)
            if not await keyboard.press_if(keys, texts_of(seen.dialog)):
                return Pressed(outcome="changed", why=_THIS_MOMENT, seen=seen)
            return seen.dialog
        finally:
            await keyboard.give_back()

    async def _write(self, run: str, keyboard: Keyboard, dialog: Dialog, words: str) -> Pressed | Dialog:
        """Go to the field of the dialog, write there, and submit what is seen to be there; nothing else is."""
        field = dialog.field
        if field is None or not dialog.takes_words:
            raise RefusedError("it has no empty field for words", "corral inbox shows what it takes")
        if not field.under_cursor:
            if not await keyboard.press_if([str(field.number)], texts_of(dialog)):
                return Pressed(outcome="changed", why=_THIS_MOMENT, seen=await self.look(run))
            seen = await self._until(run, keyboard, _FIELD_SECONDS, lambda now: _holds(now, dialog, ""))
            if not _holds(seen, dialog, ""):
                return Pressed(outcome="still", why="its field for words did not open", seen=seen)
        await keyboard.paste(words)
        seen = await self._until(run, keyboard, _FIELD_SECONDS, lambda now: _holds(now, dialog, words))
        if seen.dialog is None or not _holds(seen, dialog, words):
            return Pressed(
                outcome="still", why="its field does not show the words, so Enter was not pressed", seen=seen
            )
        profile = await self._profile(run)
        await asyncio.sleep(profile.paste_pause if profile is not None else 0.0)
        if not await keyboard.press_if(["Enter"], texts_of(seen.dialog)):
            return Pressed(outcome="still", why="its screen changed, so Enter was not pressed", seen=seen)
        return seen.dialog

    async def _went(self, run: str, keyboard: Keyboard, asked: str) -> Pressed:
        """Look until the same is asked no more, and for no longer than a program takes for that."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _GOES_SECONDS
        while (left := deadline - loop.time()) > 0:
            await self._until(run, keyboard, left, lambda now: not _asks(now, asked))
            # A screen that is just being painted anew asks nothing for a moment.
            await asyncio.sleep(_FIRST_LOOK)
            seen = await self._seen(run, await keyboard.look())
            if not _asks(seen, asked):
                return Pressed(outcome="gone", seen=seen)
        return Pressed(outcome="still", why=f"it is still there after {_GOES_SECONDS:g} s", seen=await self.look(run))

    async def _until(
        self, run: str, keyboard: Keyboard, seconds: float, fits: Callable[[ScreenSeen], bool]
    ) -> ScreenSeen:
        """What is there as soon as that fits, or at the latest after so long."""
        loop = asyncio.get_running_loop()
        deadline, delay = loop.time() + seconds, _FIRST_LOOK
        while True:
            await asyncio.sleep(delay)
            seen = await self._seen(run, await keyboard.look())
            if fits(seen) or loop.time() > deadline:
                return seen
            delay = min(delay * 2, 0.5)

    async def _seen(self, run: str, glimpse: Glimpse) -> ScreenSeen:
        profile = await self._profile(run)
        lines = list(glimpse.lines)
        while lines and not lines[-1].strip():
            lines.pop()
        dialog = find(profile.rules, lines, glimpse.title) if profile is not None else None
        return ScreenSeen(lines=lines, dialog=dialog)


def _asks(seen: ScreenSeen, asked: str) -> bool:
    return seen.dialog is not None and seen.dialog.asked == asked


def _holds(seen: ScreenSeen, dialog: Dialog, words: str) -> bool:
    """True if the same is asked, and the cursor is in its field, which has these words; they may be broken anywhere."""
    field = seen.dialog.field if seen.dialog is not None and seen.dialog.asked == dialog.asked else None
    return field is not None and field.under_cursor and "".join(field.typed.split()) == "".join(words.split())


def texts_of(dialog: Dialog) -> list[str]:
    """What tmux is to see in the very turn in which keys are pressed: the beginnings of the lines at its end."""
    texts = [line.strip()[:_LONGEST_TEXT].rstrip() for line in dialog.lines]
    return [text for text in texts if any(letter.isalnum() for letter in text)][-_MOST_TEXTS:]
