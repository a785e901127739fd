"""What a look at a terminal says to whoever types there: may it, is it in the composer, was it taken? Pure."""

from __future__ import annotations

from dataclasses import replace

from corral.agents.profile import Profile
from corral.domain import composer
from corral.domain.activity import WORKING
from corral.domain.composer import Desk
from corral.ports.keyboard import Glimpse


def is_provable(profile: Profile | None) -> bool:
    """True if the profile says what a composer with something in it looks like."""
    return profile is not None and bool(profile.draft_pattern)


def desk(profile: Profile | None, glimpse: Glimpse) -> Desk:
    """The terminal, as `domain.composer` judges it."""
    able = [watcher for watcher in glimpse.watchers if not watcher.read_only]
    shown = profile.desk(glimpse.lines, glimpse.title) if profile is not None else Desk()
    return replace(
        shown,
        in_mode=glimpse.in_mode,
        watched=bool(glimpse.watchers),
        typed_ago=min((watcher.idle for watcher in able), default=None),
        in_command=any(watcher.in_command for watcher in able),
    )


def is_shown(profile: Profile | None, glimpse: Glimpse, text: str) -> bool:
    """True if the text is in the composer."""
    return profile is not None and composer.shows(profile.draft(glimpse.lines), text)


def was_taken(profile: Profile, glimpse: Glimpse, text: str) -> bool:
    """True if the composer, which had the text, has it no more: it is empty, has something else, or work has begun."""
    draft = profile.draft(glimpse.lines)
    if composer.shows(draft, text):
        return False
    reading = profile.reading(glimpse.lines, glimpse.title)
    is_working = reading is not None and reading.rule.says == WORKING
    return bool(draft) or is_working or profile.has_composer(glimpse.lines)
