"""May something be typed into an agent's terminal now, and is it in its composer? Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from corral.domain.messages import neutralised

#: Somebody who pressed a key so few seconds ago is typing. tmux counts whole seconds, so it is one less at times.
TYPING_SECONDS = 3.0
#: Some show their composer long before they begin to read. What has not come up in it after so long is lost.
LATEST_SECONDS = 60.0
#: A program that changes its whole screen for its first message has done so after so long, or does not at all.
_OPENING_SECONDS = 20.0
#: How often to look meanwhile: one that works writes all the time, so nobody can tell by its output when to look.
_OPENING_LOOK = 0.5
NOT_SHOWN = "its composer does not show it"
#: What programs show in place of a long paste: `[Pasted text #1 +30 lines]`, `[Pasted Content 5000 chars]`.
_NOTE = re.compile(r"\[[^\[\]]*\d[^\[\]]*\]")
#: A text of one line may be shown as a note if it is at least so long.
_NOTED = 100
#: Of a long text a composer may show a part; so much of it cannot be there by chance.
_PART = 40
#: As `Profile.composer` divides columns.
_GAP = re.compile(r"\s{20,}")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why nothing may be typed now."""

    reason: str
    #: Seconds after which it is over by itself; None if somebody has to do something.
    again: float | None = None
    #: What was to be entered is not there any more: it will never be.
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A terminal as whoever wants to type finds it."""

    #: What it waits for a person with (`activity.ABOUT`); empty if it does not.
    waits_for: str = ""
    #: A half-written message in its composer.
    draft: str = ""
    #: Its composer is there; None if nobody knows what that looks like.
    composer: bool | None = None
    #: Keys go to tmux itself.
    in_mode: bool = False
    #: Somebody who could type sits before it.
    watched: bool = False
    #: Seconds since somebody pressed a key; None if nobody could.
    typed_ago: float | None = None
    #: Somebody has begun a command of tmux.
    in_command: bool = False
    #: The screen that its first message replaces.
    opening: bool = False


def obstacle(desk: Desk, *, entered_ago: float | None = None) -> Obstacle | None:
    """What keeps a message from being typed; None if nothing does.

    `entered_ago` says how long ago the last one was entered, if there was one.
    """
    if desk.waits_for:
        return Obstacle(f"it waits for a person ({desk.waits_for})")
    if desk.draft:
        return Obstacle("somebody is writing there")
    if desk.in_mode and desk.watched:
        return Obstacle("somebody reads back there (copy mode)")
    if desk.in_command:
        return Obstacle("somebody is about to give tmux a command there", TYPING_SECONDS)
    if desk.typed_ago is not None and desk.typed_ago < TYPING_SECONDS:
        return Obstacle("somebody has just typed there", TYPING_SECONDS - desk.typed_ago)
    if desk.composer is False:
        return Obstacle("it shows no place to type a message now")
    if desk.opening and entered_ago is not None and entered_ago < _OPENING_SECONDS:
        return Obstacle("it has not opened its conversation yet", _OPENING_LOOK)
    return None


def before_enter(desk: Desk, *, shown: bool, was_shown: bool, seconds: float) -> Obstacle | None:
    """What keeps Enter from being pressed for a text that was pasted so many seconds ago; None if nothing does.

    `shown` says whether the composer has the text, `was_shown` whether it was seen to have it before.
    """
    if desk.waits_for:
        return Obstacle(f"it waits for a person ({desk.waits_for})")
    if shown:
        return None
    if desk.draft:
        return Obstacle("somebody has changed it: a person has to press Enter")
    if desk.composer and (was_shown or seconds > LATEST_SECONDS):
        return Obstacle("it was pasted, and is not in the composer any more", lost=True)
    return Obstacle(NOT_SHOWN, max(LATEST_SECONDS - seconds, 1.0) if desk.composer else None)


def shows(draft: str, text: str) -> bool:
    """True if what a composer shows can be nothing else than this text, by its letters and digits.

    Lines are broken wherever the terminal is too narrow, and every program has its own way to show what is no letter.
    A note in place of a long text counts, and so does a part of a long text: whoever asks has seen that nobody else
    could type.
    """
    if not draft.strip():
        return False
    text = neutralised(text)
    seen, meant = _letters(draft), _letters(text)
    if seen == meant:
        return True
    is_long = "\n" in text or len(text) >= _NOTED
    if is_long and _NOTE.fullmatch(draft.strip()):
        return True
    if len(seen) >= _PART and seen in meant:
        return True
    # What stands far to the right is taken for another column of the screen.
    near = "\n".join(_GAP.split(line.strip(), maxsplit=1)[0] for line in text.split("\n"))
    return near != text and seen == _letters(near)


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())
