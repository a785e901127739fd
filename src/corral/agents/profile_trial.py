"""How the patterns of a profile that say where to type fare on a screen, for whoever writes one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.agents.profile import Profile
from corral.domain.pattern_ends import NO_BLANKS, ends_in_a_blank
from corral.domain.screen_patterns import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceTrial:
    """How one of them fared."""

    #: `ready` or `draft`.
    key: str
    pattern: str
    #: Why it does not fit; empty if it does.
    why_not: str = ""
    #: The line that `ready` was found in, or what stands in the composer by `draft`.
    shown: str = ""


def places(profile: Profile, screen: Sequence[str]) -> list[PlaceTrial]:
    """How each of them fares, in the order of the table in the reference."""
    shown = Shown(screen)
    trials = []
    for pattern in profile.ready:
        found = shown.lowest(pattern)
        why_not = f"no line matches{_blank(pattern)}" if found is None else ""
        line = shown.lines[found].strip() if found is not None else ""
        trials.append(PlaceTrial(key="ready", pattern=pattern, why_not=why_not, shown=line))
    if profile.draft_pattern:
        text = profile.composer(screen)
        why_not = ""
        if text is None:
            why_not = f"the screen does not match{_blank(profile.draft_pattern)}"
            if any(not trial.why_not for trial in trials):
                why_not += "; where there is a draft, ready does not do: it has to match an empty composer, too"
        trials.append(PlaceTrial(key="draft", pattern=profile.draft_pattern, why_not=why_not, shown=text or ""))
    return trials


def _blank(pattern: str) -> str:
    return f"; it ends in a blank, and {NO_BLANKS}" if ends_in_a_blank(pattern) else ""
