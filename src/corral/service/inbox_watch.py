"""How entries of the inbox come and go: whatever changes about an agent or a merge, what is asked for is looked at.

What is known decides, not what was heard: a daemon that comes after one that was killed looks at everything once, and
finds the entries that are there already. Where nobody can tell what an agent does, its entries stay.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable

from corral.agents.catalogue import for_command
from corral.background import Background
from corral.domain import activity as activities
from corral.domain import inbox_causes, states
from corral.domain.activity import ABOUT, Activity
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.inbox_records import CONFLICT, FAILED, STUCK, Entry
from corral.domain.merge_records import CONFLICT as MERGE_CONFLICT
from corral.domain.records import Agent
from corral.domain.terminals import TMUX
from corral.ports.dialogs import ScreenSeen
from corral.service.context import Context
from corral.service.inbox import InboxService
from corral.service.merge_book import MergeBook

log = logging.getLogger("corral.daemon")

#: A keeper or a store that could not be asked is asked again after so long.
_AGAIN_SECONDS = 5.0
#: A hook may tell of a dialog before it is drawn: so often, and so long, its screen is looked at for it.
_LOOKS, _PAUSE = 4, 0.4
#: And it may be seen half drawn: it counts once it looked the same twice, so far apart.
_STEADY = 0.1
_OF_SCREEN = (*ABOUT,)

Key = tuple[str, str]


class InboxWatch:
    """Keeps the inbox as agents and merges are."""

    def __init__(self, context: Context, inbox: InboxService, merges: MergeBook) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._inbox = inbox
        self._merges = merges
        self._background = Background()
        #: Agents to be looked at, and those that somebody looks at now.
        self._doubtful: set[Key] = set()
        self._looking: set[Key] = set()
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        inbox.on_doubt(self.suspect)
        context.registry.watch_activity(lambda key, _: self.suspect(key))
        context.registry.watch_agents(self._agents_changed)

    def begin(self) -> None:
        """Bring the inbox in line with what is known, and keep it so."""
        for key in {*self._registry.agents, *self._inbox.agents()}:
            self.suspect(key)
        self._background.spawn(self._follow_merges(), name="conflicts")

    def end(self) -> None:
        """The daemon goes; entries stay."""
        for timer in self._timers.values():
            timer.cancel()
        self._background.cancel()

    def suspect(self, key: Key) -> None:
        """Something may be different about an agent, by team and name."""
        self._doubtful.add(key)
        if key not in self._looking:
            self._looking.add(key)
            self._background.spawn(self._look(key), name=f"inbox of {'/'.join(key)}")

    def _agents_changed(self, keys: Collection[Key]) -> None:
        asking = self._inbox.agents() | self._looking
        for key in keys:
            if key in asking or self._may_ask(key):
                self.suspect(key)

    def _may_ask(self, key: Key) -> bool:
        """False for one that asks for nothing now: mostly all of them, and a whole team changes at once."""
        agent = self._registry.agents.get(key)
        if agent is None:
            return False
        waits = self._registry.activity(key).word == activities.WAITING
        return waits or agent.state == states.FAILED or bool(agent.stuck_since or agent.late)

    async def _look(self, key: Key) -> None:
        try:
            while key in self._doubtful:
                self._doubtful.discard(key)
                try:
                    await self._settle(key)
                except CorralError as error:
                    log.info("what %s asks for is looked at again later: %s", "/".join(key), error.message)
                    self._later(key)
        finally:
            self._looking.discard(key)

    def _later(self, key: Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._again, key)

    def _again(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.suspect(key)

    # Agents

    async def _settle(self, key: Key) -> None:
        """Have the entries of an agent be what it asks for now."""
        agent = self._registry.agents.get(key)
        await self._left_over(key, agent)
        if agent is None:
            await self._gone(self._inbox.waiting(*key, *_OF_SCREEN, FAILED, STUCK))
        elif agent.state != states.UNKNOWN:
            await self._failed(agent)
            await self._stuck(agent)
            await self._asks(agent)

    async def _asks(self, agent: Agent) -> None:
        now = self._registry.activity(agent.key)
        waiting = self._inbox.waiting(*agent.key, *_OF_SCREEN)
        if agent.state != states.RUNNING or now.word in (activities.WORKING, activities.IDLE):
            await self._gone(waiting)
        elif now.word == activities.WAITING:
            seen = await self._seen(agent, now)
            if self._registry.activity(agent.key) != now or self._registry.agents.get(agent.key) is None:
                return  # it does something else by now, and that is looked at next
            cause = inbox_causes.of_activity(agent, now, seen.lines, seen.dialog)
            known = self._inbox.waiting_for(cause)
            await self._gone(entry for entry in waiting if known is None or entry.number != known.number)
            await self._inbox.came(cause)
            if known is None and not cause.takes_keys:
                self._later(agent.key)  # what its screen shows by then may tell more
        else:
            await self._gone(entry for entry in waiting if entry.cause.run != agent.run)

    async def _seen(self, agent: Agent, now: Activity) -> ScreenSeen:
        """The screen of an agent that waits, with the question on it as soon as all of that is there."""
        looks, before = 1, None
        while True:
            seen = await self._supervisor.insist(
                agent.team, lambda keeper: keeper.look_at_dialog(agent.team, agent.run), [agent.name]
            )
            mark = seen.dialog.mark if seen.dialog is not None else None
            is_steady = mark is not None and mark == before
            if is_steady or looks == _LOOKS or self._registry.activity(agent.key) != now:
                return seen
            await asyncio.sleep(_PAUSE if mark is None else _STEADY)
            looks, before = looks + 1, mark

    async def _failed(self, agent: Agent) -> None:
        known = self._inbox.waiting(*agent.key, FAILED)
        if agent.state != states.FAILED:
            await self._gone(known)
            return
        # Coding agents that there are profiles of paint their screens; of other programs the lines can be read.
        paints = agent.terminal == TMUX and for_command(agent.command, agent.shell) is not None
        cause = inbox_causes.of_failure(agent, repaints=paints)
        await self._gone(entry for entry in known if entry.cause.key != cause.key)
        await self._inbox.came(cause)

    async def _stuck(self, agent: Agent) -> None:
        known = self._inbox.waiting(*agent.key, STUCK)
        if agent.state != states.RUNNING or not (agent.stuck_since or agent.late):
            await self._gone(known)
            return
        of = inbox_causes.of_stuck if agent.stuck_since else inbox_causes.of_late
        key = of(agent, ()).key
        await self._gone(entry for entry in known if entry.cause.key != key)
        if all(entry.cause.key != key for entry in known):
            await self._inbox.came(of(agent, await self._last_screen(agent)))

    async def _last_screen(self, agent: Agent) -> list[str]:
        """What its terminal shows; nothing if it has none any more."""
        try:
            return (
                await self._supervisor.insist(
                    agent.team, lambda keeper: keeper.screen(agent.team, agent.run), [agent.name]
                )
            ).lines
        except NotFoundError as error:
            log.info("%s/%s shows nothing: %s", agent.team, agent.name, error.message)
            return []

    async def _left_over(self, key: Key, agent: Agent | None) -> None:
        """Answers that an earlier daemon began: whether they were given shows on the screen."""
        for entry in self._inbox.waiting(*key, *_OF_SCREEN):
            if not self._inbox.left_over(entry):
                continue
            mark = ""
            if agent is not None and agent.run == entry.cause.run and agent.state in states.LIVE:
                run = entry.cause.run
                seen = await self._supervisor.insist(
                    key[0],
                    lambda keeper, run=run: keeper.look_at_dialog(key[0], run),  # type: ignore[misc]
                    [key[1]],
                )
                mark = seen.dialog.mark if seen.dialog is not None else ""
            await self._inbox.settle(entry, mark)

    async def _gone(self, entries: Iterable[Entry]) -> None:
        for entry in list(entries):
            await self._inbox.went(entry)

    # Merges

    async def _follow_merges(self) -> None:
        while True:
            # From before the look: what changes during it is looked at again.
            changed = self._background.spawn(self._merges.change(), name="the next change of a merge")
            try:
                await self._conflicts()
            except CorralError as error:
                log.info("conflicts are looked at again later: %s", error.message)
                await asyncio.wait({changed}, timeout=_AGAIN_SECONDS)
                changed.cancel()
                continue
            await changed

    async def _conflicts(self) -> None:
        """Have an entry for each merge that somebody has to resolve, of teams that are up."""
        asked = {
            (merge.team, merge.agent, cause.key): cause
            for team in self._registry.teams
            for merge in self._merges.queue(team)
            if merge.state == MERGE_CONFLICT
            for cause in [inbox_causes.of_conflict(merge)]
        }
        for entry in self._inbox.list():
            cause = entry.cause
            if cause.kind == CONFLICT and (cause.team, cause.agent, cause.key) not in asked:
                await self._inbox.went(entry)
        for wanted in asked.values():
            await self._inbox.came(wanted)
