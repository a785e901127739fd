"""What the agents of one team do: by their screens, and where those say nothing, by whether they write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from corral.agents import catalogue
from corral.agents.catalogue import Catalogue
from corral.agents.profile import Profile
from corral.domain import stillness
from corral.domain.activity import IDLE, WAITING, WORKING
from corral.domain.dialogs import find
from corral.domain.screens import Rule
from corral.keeper.runtimes import Runtimes
from corral.keeper.watching import Watching
from corral.ports.reports import ActivityChanged, Report
from corral.ports.runtime import Screen, Session

#: An agent that worked is idle once its screen has said so for this long: between two steps it looks idle as well.
_IDLE_SECONDS = 1.0
#: A dialog that took the place of another is told of once it has been the same for this long: one that moves by itself,
#: as with a clock in it, would be another one with each look.
_STILL_SECONDS = 1.5
#: The words of a command, and whether it is for a shell.
Command = tuple[tuple[str, ...], bool]


@dataclass(slots=True)
class _Seen:
    agent: str
    command: Command
    #: What its screen says; None if it says nothing.
    rule: Rule | None = None
    at: float = 0.0
    #: The mark of its dialog that was told; empty if it has none that a key answers.
    dialog: str = ""
    #: Another dialog that the same rule fits, and since when, in the time of the loop.
    other_dialog: tuple[str, float] = ("", 0.0)
    #: The mark of what its screen shows but for what moves by itself, and when that last became another one.
    mark: str = ""
    news_at: float | None = None
    #: Since when it has looked idle, in the time of the loop; None if it does not, or that counts already.
    idle_since: float | None = None
    profile: Profile | None = None
    #: What this one was chosen from: with other profiles, it is chosen anew.
    chosen_from: Catalogue | None = None


class TeamActivity:
    """What is known of each run in a terminal. `report` tells of what changes."""

    def __init__(self, team: str, runtime: Runtimes, report: Callable[[Report], None]) -> None:
        self._team = team
        self._report = report
        self._watching = Watching(runtime.screens, self._look_at)
        self._runs: dict[str, _Seen] = {}
        #: What the output of each agent says: of which run, the word, and since when.
        self._written: dict[str, tuple[str, str, float]] = {}

    def follow(self, sessions: Iterable[Session], command_of: Callable[[Session], Command | None]) -> None:
        """Runs in terminals were started, or are there. A profile that was changed meanwhile is taken over."""
        known = catalogue.current()
        for session in sessions:
            self._follow(session, command_of, known)

    def _follow(self, session: Session, command_of: Callable[[Session], Command | None], known: Catalogue) -> None:
        run = session.run
        seen = self._runs.get(run)
        if seen is None:
            command = command_of(session)
            if command is None:
                return
            seen = self._runs[run] = _Seen(session.agent, command)
        if seen.chosen_from is not known:
            seen.chosen_from, seen.profile = known, known.for_command(*seen.command)
            if seen.profile is not None and seen.profile.rules:
                self._watching.follow(run)
            else:
                self._watching.forget(run)
                seen.mark, seen.news_at = "", None
                self._say(run, seen, None)

    def output(self, run: str) -> None:
        """A run wrote something."""
        self._watching.output(run)

    def wrote(self, agent: str, run: str, word: str, at: float) -> None:
        """A run of an agent began to write, or has fallen quiet."""
        self._written[agent] = (run, word, at)
        seen = self._runs.get(run)
        if seen is not None and seen.rule is not None:
            return  # its screen says more
        self._report(ActivityChanged(team=self._team, agent=agent, run=run, activity=word, at=at))

    def ended(self, run: str) -> None:
        """The run is over."""
        self._watching.forget(run)
        seen = self._runs.pop(run, None)
        if seen is not None:
            self._written.pop(seen.agent, None)

    def of(self, run: str, written: str) -> ActivityChanged:
        """What a run does, if its output says `written`."""
        seen = self._runs.get(run)
        agent = seen.agent if seen is not None else ""
        if seen is None or seen.rule is None:
            at = self._written.get(agent, ("", "", 0.0))[2]
            return ActivityChanged(team=self._team, agent=agent, run=run, activity=written, at=at)
        return self._told(run, seen, seen.rule)

    def news_at(self, run: str) -> float | None:
        """When the screen of a run last showed something new, in wall-clock seconds; None if nobody reads it."""
        seen = self._runs.get(run)
        return seen.news_at if seen is not None else None

    def close(self) -> None:
        """Look at nothing any more."""
        self._watching.close()
        self._runs.clear()
        self._written.clear()

    def _look_at(self, run: str, screen: Screen) -> None:
        seen = self._runs[run]
        if seen.profile is None:
            return
        mark = stillness.mark(screen.lines, seen.profile.volatile)
        if mark != seen.mark:
            seen.mark, seen.news_at = mark, time.time()
        reading = seen.profile.reading(screen.lines, screen.title)
        rule = reading.rule if reading is not None else None
        if rule is not None and rule.says == IDLE and seen.rule is not None and seen.rule.says == WORKING:
            now = asyncio.get_running_loop().time()
            if seen.idle_since is None:
                seen.idle_since = now
            if now - seen.idle_since < _IDLE_SECONDS:
                self._watching.look_again(run, seen.idle_since + _IDLE_SECONDS - now)
                return
        seen.idle_since = None
        dialog = _dialog(seen.profile, screen) if rule is not None and rule.says == WAITING else ""
        if rule == seen.rule and not self._is_still(run, seen, dialog):
            return
        self._say(run, seen, rule, dialog)

    def _is_still(self, run: str, seen: _Seen, dialog: str) -> bool:
        """True if it is the one that was told, or has been there for long enough; else it is looked at again then."""
        now = asyncio.get_running_loop().time()
        if dialog == seen.dialog:
            seen.other_dialog = ("", 0.0)
            return True
        if seen.other_dialog[0] != dialog:
            seen.other_dialog = (dialog, now)
        remaining = seen.other_dialog[1] + _STILL_SECONDS - now
        if remaining > 0:
            self._watching.look_again(run, remaining)
        return remaining <= 0

    def _say(self, run: str, seen: _Seen, rule: Rule | None, dialog: str = "") -> None:
        if (rule, dialog) == (seen.rule, seen.dialog):
            return
        if rule != seen.rule:
            seen.at = time.time()
        seen.rule, seen.dialog = rule, dialog
        if rule is not None:
            self._report(self._told(run, seen, rule))
        elif seen.agent in self._written:
            self.wrote(seen.agent, *self._written[seen.agent])

    def _told(self, run: str, seen: _Seen, rule: Rule) -> ActivityChanged:
        return ActivityChanged(
            team=self._team,
            agent=seen.agent,
            run=run,
            activity=rule.says,
            about=rule.about,
            rule=rule.name,
            dialog=seen.dialog,
            at=seen.at,
        )


def _dialog(profile: Profile, screen: Screen) -> str:
    """The mark of the question on a screen, if a key answers it."""
    dialog = find(profile.rules, screen.lines, screen.title)
    return dialog.mark if dialog is not None and dialog.takes_keys else ""
