"""What the agents of one team do: by their screens, and where those say nothing, by whether they write."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from corral.agents import catalogue
from corral.agents.profile import Profile
from corral.domain.activity import IDLE, WORKING
from corral.domain.screens import Rule
from corral.keeper.runtimes import Runtimes
from corral.keeper.watching import Watching
from corral.ports.reports import ActivityChanged, Report
from corral.ports.runtime import Screen

#: An agent that worked is idle once its screen has said so for this long: between two steps it looks idle as well.
_IDLE_SECONDS = 1.0
#: The words of a command, and whether it is for a shell.
Command = tuple[tuple[str, ...], bool]


@dataclass(slots=True)
class _Seen:
    agent: str
    command: Command
    #: What its screen says; None if it says nothing.
    rule: Rule | None = None
    at: float = 0.0
    #: Since when it has looked idle, in the time of the loop; None if it does not, or that counts already.
    idle_since: float | None = None
    profile: Profile | None = None
    #: The profiles that this one was chosen from: with others, it is chosen anew.
    chosen_from: tuple[Profile, ...] = ()


class TeamActivity:
    """What is known of each run in a terminal. `report` tells of what changes."""

    def __init__(self, team: str, runtime: Runtimes, report: Callable[[Report], None]) -> None:
        self._team = team
        self._report = report
        self._watching = Watching(runtime.screens, self._look_at)
        self._runs: dict[str, _Seen] = {}
        #: What the output of each agent says: of which run, the word, and since when.
        self._written: dict[str, tuple[str, str, float]] = {}

    def follow(self, agent: str, run: str, command_of: Callable[[str, str], Command | None]) -> None:
        """A run in a terminal was started, or is there. A profile that was changed meanwhile is taken over."""
        known = catalogue.profiles()
        seen = self._runs.get(run)
        if seen is None:
            command = command_of(agent, run)
            if command is None:
                return
            seen = self._runs[run] = _Seen(agent, command)
        if seen.chosen_from is not known:
            seen.chosen_from, seen.profile = known, catalogue.for_command(*seen.command)
            if seen.profile is not None and seen.profile.rules:
                self._watching.follow(run)
            else:
                self._watching.forget(run)
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

    def close(self) -> None:
        """Look at nothing any more."""
        self._watching.close()
        self._runs.clear()
        self._written.clear()

    def _look_at(self, run: str, screen: Screen) -> None:
        seen = self._runs[run]
        if seen.profile is None:
            return
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
        self._say(run, seen, rule)

    def _say(self, run: str, seen: _Seen, rule: Rule | None) -> None:
        if rule == seen.rule:
            return
        seen.rule, seen.at = rule, time.time()
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
            at=seen.at,
        )
