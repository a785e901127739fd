"""Checks of agents: run for as long as an agent runs, told when they say something else, and acted on by its policy.

An agent that a check calls unhealthy is ended and started again as its restart policy says, as if it had failed; with
`never`, and while nothing can be known, nothing is done but told.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import defaultdict
from collections.abc import Collection

from corral.background import Background
from corral.domain import health, states
from corral.domain.errors import CorralError, UnavailableError
from corral.domain.health import Health
from corral.domain.records import Agent, NewEvent
from corral.domain.spec_durations import shown_duration
from corral.domain.upkeep import Check
from corral.ports.checking import CHECK_PREFIX, Checked
from corral.service import process_orders
from corral.service.context import Context
from corral.service.ending import end_by_policy
from corral.service.process_orders import OTHER_SHELL, SHELL, Wanted

log = logging.getLogger("corral.daemon")

_Key = tuple[str, str]
#: Under which subject it is among an agent's notices.
_SUBJECT = "health"
#: Checks of one person's teams that run at once: they are for looking, and not for keeping the host busy.
_AT_ONCE = 8
#: A check that says much is told by the end of it.
_TOLD_CHARACTERS = 300


class HealthChecks:
    """One loop for each agent that runs and has a check."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._registry = context.registry
        self._supervisor = context.supervisor
        #: By whose the teams are: nobody's checks wait for somebody else's.
        self._rooms: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_AT_ONCE))
        #: By agent, the run and the check that are being watched, and what watches.
        self._watched: dict[_Key, tuple[str, Check, asyncio.Task[None]]] = {}
        self._background = Background()

    def begin(self) -> None:
        """Check from now on."""
        self._registry.watch_agents(self._changed)
        self._changed(list(self._registry.agents))

    def end(self) -> None:
        """Check no more."""
        self._background.cancel()

    def _changed(self, keys: Collection[_Key]) -> None:
        for key in keys:
            agent = self._registry.agents.get(key)
            # What is known of one stays known while it cannot be seen; it is not checked then.
            wanted = agent is not None and agent.state in (states.RUNNING, states.UNKNOWN)
            check = agent.upkeep.check if agent is not None and wanted else None
            watched = self._watched.get(key)
            if watched is not None and (agent is None or check is None or watched[:2] != (agent.run, check)):
                watched[2].cancel()
                del self._watched[key]
                self._registry.health.pop(key, None)
                self._registry.set_notice(key, _SUBJECT, "")
                watched = None
            if watched is None and agent is not None and check is not None:
                task = self._background.spawn(self._watch(agent, check), name=f"check {agent.name}")
                self._watched[key] = (agent.run, check, task)

    async def _watch(self, watched: Agent, check: Check) -> None:
        loop = asyncio.get_running_loop()
        began, known = loop.time(), Health()
        self._registry.health[watched.key] = known
        while True:
            await asyncio.sleep(check.every if known.word in (health.HEALTHY, health.UNHEALTHY) else _soon(check))
            agent = self._registry.agents.get(watched.key)
            if agent is None or agent.paused or agent.state != states.RUNNING:
                continue  # what stands still answers nobody, and that is not its fault
            asked = loop.time()
            try:
                async with self._rooms[self._supervisor.keepers.owner(agent.team)]:
                    problem = _problem(check, await self._run(agent, check))
            except CorralError as error:
                # Nobody can tell how it is.
                log.info("%s/%s could not be checked: %s", *agent.key, error.message)
                continue
            current = self._registry.agents.get(watched.key)
            if current is None or current.paused:
                continue  # it was made to stand still meanwhile
            before, known = known, health.checked(known, check, problem, asked - began)
            self._registry.health[watched.key] = known
            if known.word != before.word or known.word != health.UNHEALTHY:
                # Of one that is unhealthy, what made it so stays told.
                self._registry.set_notice(agent.key, _SUBJECT, health.in_words(known, check))
            if known.word != before.word:
                await self._tell(agent, check, known)
            if known.word == health.UNHEALTHY and agent.restart != "never":
                self._restart(agent, health.in_words(known, check))

    async def _run(self, agent: Agent, check: Check) -> Checked:
        try:
            return await self._run_with(agent, check, SHELL)
        except UnavailableError:
            raise
        except CorralError:
            # There may be no bash. With the shell that every host has, it will be known whether that was it.
            return await self._run_with(agent, check, OTHER_SHELL)

    async def _run_with(self, agent: Agent, check: Check, shell: str) -> Checked:
        team = self._registry.teams[agent.team]
        name = f"{CHECK_PREFIX}{agent.run}-{secrets.token_hex(4)}"
        order = process_orders.check_order(team, agent, Wanted(argv=[shell, "-c", check.command]), name)
        # With the next keeper it would be another check: nothing is known of one that got lost.
        keeper = await self._supervisor.keepers.of_agent(agent).open()
        return await keeper.check(agent.team, order, check.timeout)

    async def _tell(self, agent: Agent, check: Check, known: Health) -> None:
        words = health.in_words(known, check) if known.word == health.UNHEALTHY else ""
        if known.word not in (health.HEALTHY, health.UNHEALTHY):
            return
        event = NewEvent(
            event=f"agent.{known.word}",
            team=agent.team,
            agent=agent.name,
            outcome="failed" if words else "ok",
            data={"run": agent.run, **({"reason": words, "failures": known.failures} if words else {})},
        )
        await self._registry.observe((), [event])

    def _restart(self, agent: Agent, why: str) -> None:
        """End it, and have its policy decide. Beside the watch, which ends when the agent does."""
        self._background.spawn(
            # It may get well while this waits for its turn.
            end_by_policy(self._context, agent, why, self._is_unhealthy),
            name=f"end {agent.name}, which is unhealthy",
        )

    def _is_unhealthy(self, agent: Agent) -> bool:
        known = self._registry.health.get(agent.key)
        return known is not None and known.word == health.UNHEALTHY


def _soon(check: Check) -> float:
    """Until something is known, it is checked more often: whoever waits for it to start waits less."""
    return min(check.every, max(0.1, check.start_timeout / 10))


def _problem(check: Check, checked: Checked) -> str | None:
    """What is wrong, in words; None if nothing is."""
    said = f": {checked.output[-_TOLD_CHARACTERS:]}" if checked.output else ""
    if checked.timed_out:
        return f"{check.command!r} had not ended after {shown_duration(check.timeout)}{said}"
    if checked.code is None:
        return f"{check.command!r} ended, and nobody saw how"
    return f"{check.command!r} ended with exit code {checked.code}{said}" if checked.code else None
