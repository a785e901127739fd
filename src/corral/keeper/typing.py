"""Getting a message into an agent's terminal, with proof, and without spoiling what a person does there.

Look first, and again once nobody else can type; paste; see it in the composer; press Enter; see that it went. Where the
program has no profile, or its profile knows no composer, there is nothing to see: then it is pasted and entered, and no
more is claimed than that. How far it got is remembered for each run, so that a step that is asked for twice is done
once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from corral.agents.profile import Profile
from corral.background import Background
from corral.domain import composer
from corral.domain.composer import Obstacle
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.failpoint import point
from corral.keeper import desk as desks
from corral.keeper.runtimes import Runtimes
from corral.ports.keyboard import Glimpse, Keyboard
from corral.ports.typing import Typing

log = logging.getLogger("corral.keeper")

_DEFAULT_PASTE_PAUSE = 0.15
#: How long a program may take to show what was pasted, and how much longer for each MiB.
_SHOWN_SECONDS, _SHOWN_SECONDS_MIB = 3.0, 4.0
#: How long the proof that a message was taken is waited for.
_PROOF_SECONDS = 15.0
#: An Enter that has changed nothing for so long was not taken.
_TAKEN_SECONDS = 1.5
_MOST_ENTERS = 3
#: A lease is given back if nobody has gone on after so long; tmux itself would end it soon after.
_LEASE_SECONDS = 8.0
#: Another look is worth it when output has paused for so long.
_SETTLED_SECONDS = 0.1


@dataclass(slots=True)
class _Message:
    """The last message that was typed into a run, or was about to be."""

    message: str
    text: str
    #: `pasting`, `pasted` or `submitted`.
    step: str = "pasting"
    pasted_at: float = 0.0
    entered_at: float | None = None
    #: It was seen in the composer.
    proved: bool = False


@dataclass(slots=True)
class _Run:
    """What is known of the keyboard of a run."""

    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    keyboard: Keyboard | None = None
    #: The message that the keyboard is leased for.
    leased_for: str = ""
    ending: asyncio.TimerHandle | None = None
    typed: _Message | None = None
    #: Somebody was told that it is not known here: it must not be pasted any more.
    given_up: str = ""
    #: The run wrote something.
    output: asyncio.Event = field(default_factory=asyncio.Event)
    #: A message waits for something to change here.
    awaited: bool = False
    settling: asyncio.TimerHandle | None = None


class Typist:
    """Types for one team. `on_change(run)` is called when a run that something waits for is worth another look."""

    def __init__(
        self,
        runtime: Runtimes,
        profile: Callable[[str], Awaitable[Profile | None]],
        on_change: Callable[[str], None],
    ) -> None:
        self._runtime = runtime
        self._profile = profile
        self._on_change = on_change
        self._runs: dict[str, _Run] = {}
        self._background = Background()

    def is_typing(self, run: str) -> bool:
        """True while the keyboard of a run is leased for a message."""
        return run in self._runs and bool(self._runs[run].leased_for)

    # The steps; see `ports.typing.TypingSteps`

    async def begin(self, run: str, message: str) -> Typing:
        """See `TypingSteps.typing_begin`."""
        profile, one = await self._profile(run), self._of(run)
        async with one.busy:
            if one.given_up == message:
                one.given_up = ""  # who gave it up has taken it up again
            return await self._begin(run, one, message, profile)

    async def _begin(self, run: str, one: _Run, message: str, profile: Profile | None) -> Typing:
        keyboard = await self._keyboard(run, one)
        if keyboard is None:
            return Typing(state="free")
        entered_ago = _now() - one.typed.entered_at if one.typed and one.typed.entered_at is not None else None
        found = composer.obstacle(desks.desk(profile, await keyboard.look()), entered_ago=entered_ago)
        if found is None:
            await self._lease(one, keyboard, message)
            # Once more: what somebody typed before the lease is on the screen by now, or they typed a moment ago.
            glimpse = await keyboard.look()
            found = composer.obstacle(desks.desk(profile, glimpse), entered_ago=entered_ago)
            if found is None:
                if glimpse.in_mode:
                    await keyboard.leave_mode()
                return Typing(state="free")
            await self._give_back(one)
        return self._held(one, found)

    async def paste(self, run: str, message: str, text: str, *, enter: bool, last: bool) -> Typing:
        """See `TypingSteps.typing_paste`."""
        profile, one = await self._profile(run), self._of(run)
        async with one.busy:
            if one.typed is not None and one.typed.message == message and one.typed.step != "pasting":
                return Typing(state="pasted" if one.typed.step == "pasted" else "submitted", proved=one.typed.proved)
            if one.given_up == message:
                raise RefusedError("the message was given up", "send it again")
            if one.leased_for != message:
                looked = await self._begin(run, one, message, profile)
                if looked.state != "free":
                    return looked
            typed = one.typed = _Message(message, text)
            keyboard = one.keyboard
            if keyboard is None:
                await self._write(run, one, text, enter=enter, last=last)
                typed.step = "submitted"
                return Typing(state="submitted")
            try:
                await keyboard.paste(text)
            except UnavailableError:
                raise
            except CorralError:
                one.typed = None
                await self._give_back(one)
                raise
            point("keeper.pasted")
            typed.step, typed.pasted_at = "pasted", _now()
            if not desks.is_provable(profile):
                if not enter:
                    await self._give_back(one)
                return Typing(state="pasted")
            seconds = _SHOWN_SECONDS + _SHOWN_SECONDS_MIB * len(text) / (1 << 20)
            reason = composer.NOT_SHOWN
            try:
                typed.proved = await self._until(
                    one, keyboard, seconds, lambda glimpse: desks.is_shown(profile, glimpse, text)
                )
            except CorralError as error:
                # It is pasted all the same: whoever heard an error would have it typed again.
                reason = f"nobody could look at it: {error.message}"
            if not typed.proved or not enter:
                await self._give_back(one)
            return Typing(state="pasted", proved=typed.proved, reason="" if typed.proved else reason)

    async def enter(self, run: str, message: str) -> Typing:
        """See `TypingSteps.typing_enter`."""
        profile, one = await self._profile(run), self._of(run)
        async with one.busy:
            typed = one.typed
            if typed is None or typed.message != message or typed.step == "pasting":
                return Typing(state="lost", reason="it was typed by an earlier keeper, and is not seen any more")
            if typed.step == "submitted":
                return Typing(state="submitted", proved=typed.proved)
            keyboard = await self._keyboard(run, one)
            assert keyboard is not None
            pause = profile.paste_pause if profile is not None else _DEFAULT_PASTE_PAUSE
            # Programs that see keys arrive in a burst take an Enter within it for part of the paste.
            await asyncio.sleep(max(0.0, typed.pasted_at + pause - _now()))
            return await self._press(one, keyboard, typed, profile)

    async def _press(self, one: _Run, keyboard: Keyboard, typed: _Message, profile: Profile | None) -> Typing:
        """Press Enter if the composer has what was typed, and nothing else is on the screen that would hear it.

        Programs may take it a while later (OpenCode does), and then with what was typed meanwhile: where it can be seen
        that it is gone, the keyboard stays leased until `proof` has seen it, or as long as that may take.
        """
        if one.leased_for != typed.message:
            await self._lease(one, keyboard, typed.message)
        pressed = False
        try:
            if desks.is_provable(profile):
                assert profile is not None
                glimpse = await keyboard.look()
                found = composer.before_enter(
                    desks.desk(profile, glimpse),
                    shown=desks.is_shown(profile, glimpse, typed.text),
                    was_shown=typed.proved,
                    seconds=_now() - typed.pasted_at,
                )
                if found is not None:
                    return Typing(state="lost", reason=found.reason) if found.lost else self._held(one, found)
                typed.proved = True
            await keyboard.press(["Enter"])
            pressed, typed.entered_at = True, _now()
            point("keeper.entered")
            typed.step = "submitted"
            return Typing(state="submitted", proved=typed.proved)
        finally:
            if pressed and typed.proved:
                self._lapse_in(one, _TAKEN_SECONDS)
            else:
                await self._give_back(one)

    async def proof(self, run: str, message: str) -> Typing:
        """See `TypingSteps.typing_proof`."""
        profile, one = await self._profile(run), self._of(run)
        async with one.busy:
            typed, keyboard = one.typed, one.keyboard
            if typed is None or typed.message != message or not typed.proved or keyboard is None or profile is None:
                return Typing(state="submitted")
            try:
                return await self._proof(one, keyboard, typed, profile)
            finally:
                await self._give_back(one)

    async def _proof(self, one: _Run, keyboard: Keyboard, typed: _Message, profile: Profile) -> Typing:
        until = _now() + _PROOF_SECONDS
        for enters in range(1, _MOST_ENTERS + 1):
            if await self._until(
                one, keyboard, _TAKEN_SECONDS, lambda glimpse: not desks.is_shown(profile, glimpse, typed.text)
            ):
                break  # what took its place may not be told yet
            if enters < _MOST_ENTERS:
                pressed = await self._press(one, keyboard, typed, profile)
                if pressed.state != "submitted":
                    return Typing(state="submitted", reason=pressed.reason)
        await self._give_back(one)
        if await self._until(
            one, keyboard, until - _now(), lambda glimpse: desks.was_taken(profile, glimpse, typed.text)
        ):
            return Typing(state="observed", proved=True)
        return Typing(state="submitted", reason="no proof came that it was taken")

    async def recall(self, run: str, message: str, text: str) -> Typing:
        """See `TypingSteps.typing_recall`."""
        profile, one = await self._profile(run), self._of(run)
        async with one.busy:
            typed = one.typed
            if typed is not None and typed.message == message and typed.step in ("pasted", "submitted"):
                return Typing(state="pasted" if typed.step == "pasted" else "submitted", proved=typed.proved)
            if typed is not None and typed.message == message:
                return Typing(state="lost", reason="tmux did not say whether it was pasted")
            one.given_up = message
            keyboard = await self._keyboard(run, one)
            if keyboard is None or not desks.is_provable(profile):
                return Typing(state="none")
            assert profile is not None
            if not desks.is_shown(profile, await keyboard.look(), text):
                return Typing(state="none")
            one.typed = _Message(message, text, step="pasted", pasted_at=_now(), proved=True)
            return Typing(state="pasted", proved=True)

    # What happens by itself

    def output(self, run: str) -> None:
        """The run wrote something."""
        one = self._runs.get(run)
        if one is None:
            return
        one.output.set()
        if one.awaited:
            if one.settling is not None:
                one.settling.cancel()
            one.settling = asyncio.get_running_loop().call_later(_SETTLED_SECONDS, self._settled, run, one)

    def _settled(self, run: str, one: _Run) -> None:
        one.settling = None
        if one.awaited:
            one.awaited = False
            self._on_change(run)

    def ended(self, run: str) -> None:
        """The program of a run has ended: whoever waits for it to show something is told so by the next look."""
        if run in self._runs:
            self._runs[run].output.set()

    def forget(self, run: str) -> None:
        """The run is over."""
        one = self._runs.pop(run, None)
        if one is not None:
            for timer in (one.ending, one.settling):
                if timer is not None:
                    timer.cancel()

    def close(self) -> None:
        """Stop all timers. A lease ends in tmux by itself."""
        for run in list(self._runs):
            self.forget(run)
        self._background.cancel()

    # Helpers

    def _of(self, run: str) -> _Run:
        return self._runs.setdefault(run, _Run())

    async def _keyboard(self, run: str, one: _Run) -> Keyboard | None:
        if one.keyboard is None:
            one.keyboard = await self._runtime.keyboard(run)
        return one.keyboard

    async def _write(self, run: str, one: _Run, text: str, *, enter: bool, last: bool) -> None:
        try:
            await self._runtime.send(run, text, enter=enter, pause=0.0, last=last)
        except UnavailableError:
            raise
        except CorralError:
            one.typed = None
            raise

    def _held(self, one: _Run, found: Obstacle) -> Typing:
        one.awaited = True
        return Typing(state="held", reason=found.reason, again=found.again)

    async def _until(self, one: _Run, keyboard: Keyboard, seconds: float, fits: Callable[[Glimpse], bool]) -> bool:
        """Look whenever the run has written something, for so long; True once the screen is as wanted."""
        deadline = _now() + seconds
        while True:
            one.output.clear()
            if fits(await keyboard.look()):
                return True
            try:
                async with asyncio.timeout(max(0.0, deadline - _now())):
                    await one.output.wait()
            except TimeoutError:
                return False

    async def _lease(self, one: _Run, keyboard: Keyboard, message: str) -> None:
        await self._give_back(one)
        await keyboard.lease()
        one.leased_for = message
        self._lapse_in(one, _LEASE_SECONDS)

    def _lapse_in(self, one: _Run, seconds: float) -> None:
        if one.ending is not None:
            one.ending.cancel()
        one.ending = asyncio.get_running_loop().call_later(seconds, self._lapse, one)

    def _lapse(self, one: _Run) -> None:
        """Whoever wanted to go on did not."""
        self._background.spawn(self._give_back(one), name="give a keyboard back")

    async def _give_back(self, one: _Run) -> None:
        if one.ending is not None:
            one.ending.cancel()
            one.ending = None
        if one.leased_for and one.keyboard is not None:
            one.leased_for = ""
            try:
                await one.keyboard.give_back()
            except CorralError as error:
                log.info("a keyboard is given back by tmux itself: %s", error.message)


def _now() -> float:
    return asyncio.get_running_loop().time()
