"""What each agent does, out of what its hooks say and what its keeper sees (`domain.activity` tells which counts).

Kept in memory alone: whoever comes after a restart hears it again, from the keeper at once and from hooks in time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

from corral.domain import activity
from corral.domain.activity import OUTPUT, SCREEN, UNKNOWN, Said
from corral.domain.states import LIVE
from corral.ports.keeper import Run
from corral.ports.reports import ActivityChanged
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
        self._see((report.team, report.agent), report.run, report.activity, report.about, report.rule, report.at)

    def looked(self, team: str, run: Run) -> None:
        """A keeper listed a run, with what it does."""
        at = run.activity_at or run.last_output or 0.0
        self._see((team, run.agent), run.run, run.activity, run.activity_about, run.activity_rule, at)

    def end(self) -> None:
        """Wait for nothing any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _see(self, key: _Key, run: str, word: str, about: str, rule: str, at: float) -> None:
        agent = self._registry.agents.get(key)
        if agent is None or agent.state not in LIVE or run not in ("", agent.run):
            return
        self._seen[key] = Said(word=word, about=about, by=rule, at=at, source=SCREEN if rule else OUTPUT)
        self._settle(key)

    def _settle(self, key: _Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        hook = self._hooks.get(key)
        said, seconds = activity.combined(hook[1] if hook else None, self._seen.get(key, _NOTHING), self._now())
        self._registry.set_activity(key, activity.become(self._registry.activity(key), said))
        if seconds is not None:
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._settle, key)

    def _agents_changed(self, keys: Collection[_Key]) -> None:
        """What was known of a run that is over is known of nobody."""
        for key in keys:
            agent = self._registry.agents.get(key)
            hook = self._hooks.get(key)
            if agent is None or agent.state not in LIVE or (hook is not None and hook[0] != agent.run):
                self._hooks.pop(key, None)
                self._seen.pop(key, None)
                timer = self._timers.pop(key, None)
                if timer is not None:
                    timer.cancel()
