"""What each agent does, out of what its hooks say, what it writes down, and what its keeper sees (`domain.activity`).

Kept in memory alone: whoever comes after a restart hears it again, from the keeper at once and from hooks in time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

from corral.domain import activity
from corral.domain.activity import OUTPUT, SCREEN, UNKNOWN, Said
from corral.domain.states import LIVE
from corral.ports.reports import ActivityChanged, RecordsSaid
from corral.ports.runs import Run, Told
from corral.supervise.registry import Registry

_Key = tuple[str, str]
_NOTHING = Said(word=UNKNOWN)


class Activities:
    """Puts together what is known of each agent, and has the registry tell of it."""

    def __init__(self, registry: Registry, now: Callable[[], float] = time.time) -> None:
        self._registry = registry
        self._now = now
        #: What hooks said last, with the run that it is of; what keepers see.
        self._hooks: dict[_Key, tuple[str, Said]] = {}
        self._seen: dict[_Key, Said] = {}
        #: What they wrote down themselves, with the run that it is of.
        self._written: dict[_Key, tuple[str, Said]] = {}
        #: For those where time alone decides.
        self._timers: dict[_Key, asyncio.TimerHandle] = {}
        registry.watch_agents(self._agents_changed)

    def hooked(self, key: _Key, run: str, said: Said) -> None:
        """A hook of an agent spoke. One of a run that is over says nothing about the present one."""
        agent = self._registry.agents.get(key)
        if agent is not None and agent.state in LIVE and run == agent.run:
            self._hooks[key] = (run, said)
            self._settle(key)

    def seen(self, report: ActivityChanged) -> None:
        """A keeper saw an agent do something else."""
        said = _screen(report.activity, report.about, report.rule, report.dialog, report.at)
        self._see((report.team, report.agent), report.run, said)

    def written(self, report: RecordsSaid) -> None:
        """An agent wrote down what it does."""
        self._write((report.team, report.agent), report.run, report.told)

    def looked(self, team: str, run: Run) -> None:
        """A keeper listed a run, with what it does."""
        if run.told is not None:
            self._write((team, run.agent), run.run, run.told)
        at = run.activity_at or run.last_output or 0.0
        said = _screen(run.activity, run.activity_about, run.activity_rule, run.activity_dialog, at)
        self._see((team, run.agent), run.run, said)

    def end(self) -> None:
        """Wait for nothing any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _see(self, key: _Key, run: str, said: Said) -> None:
        agent = self._registry.agents.get(key)
        if agent is None or agent.state not in LIVE or run not in ("", agent.run):
            return
        self._seen[key] = said
        self._settle(key)

    def _write(self, key: _Key, run: str, told: Told) -> None:
        agent = self._registry.agents.get(key)
        if agent is not None and agent.state in LIVE and run == agent.run:
            self._written[key] = (run, Said(word=told.activity, at=told.at, source=told.source))
            self._settle(key)

    def _settle(self, key: _Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        hook, written = self._hooks.get(key), self._written.get(key)
        said, seconds = activity.combined(
            hook[1] if hook else None,
            written[1] if written else None,
            self._seen.get(key, _NOTHING),
            self._now(),
        )
        self._registry.set_activity(key, activity.become(self._registry.activity(key), said))
        if seconds is not None:
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._settle, key)

    def _agents_changed(self, keys: Collection[_Key]) -> None:
        """What was known of a run that is over is known of nobody."""
        for key in keys:
            agent = self._registry.agents.get(key)
            runs = {said[0] for said in (self._hooks.get(key), self._written.get(key)) if said is not None}
            if agent is None or agent.state not in LIVE or runs - {agent.run}:
                self._hooks.pop(key, None)
                self._written.pop(key, None)
                self._seen.pop(key, None)
                timer = self._timers.pop(key, None)
                if timer is not None:
                    timer.cancel()


def _screen(word: str, about: str, rule: str, dialog: str, at: float) -> Said:
    """What a keeper sees, as evidence."""
    return Said(word=word, about=about, by=rule, at=at, source=SCREEN if rule else OUTPUT, dialog=dialog)
