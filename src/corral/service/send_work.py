"""Getting what is in line into agents: a worker for each agent that something waits for, one step after the other.

Each step that cannot be taken back is written down before it is asked for. What a keeper answers is written down before
the next. A worker that finds a step written and does not know what came of it asks the keeper, which looks at the
screen. If that does not tell, nobody can: then the message is `unknown`, and never typed again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection
from dataclasses import dataclass

from corral.background import Background
from corral.domain import states
from corral.domain.activity import Activity
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.domain.records import Agent
from corral.domain.sends import ENTERING, FAILED, OBSERVED, PASTED, PASTING, PROVING, SUBMITTED, UNKNOWN, Send
from corral.failpoint import point
from corral.ports.keeper import Keeper
from corral.ports.reports import KeyboardChanged
from corral.ports.typing import Typing
from corral.service.context import Context
from corral.service.sends import Sends

log = logging.getLogger("corral.daemon")

#: What waits is tried again after so long, in case nobody told that something has changed.
_AGAIN_SECONDS = 5.0
#: Sooner than this nothing is tried again, whatever happens: a program that paints all the time must not keep us busy.
_SOONEST_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class _Held:
    """It cannot go on now."""

    reason: str
    again: float | None = None


class SendWork:
    """The workers."""

    def __init__(self, context: Context, sends: Sends) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._sends = sends
        self._background = Background()
        self._awake: dict[tuple[str, str], asyncio.Event] = {}
        #: Messages under way of which the agent's hook has told.
        self._heard: set[int] = set()
        self._ended = False
        sends.on_new = self.wake
        context.registry.watch_agents(self._agents_changed)
        context.registry.watch_activity(self._activity_changed)

    def begin(self) -> None:
        """Go on with what an earlier daemon left."""
        for key in self._sends.agents():
            self.wake(key)

    def end(self) -> None:
        """Stop; what is in line stays there."""
        self._ended = True
        self._background.cancel()

    def wake(self, key: tuple[str, str]) -> None:
        """Something may have changed for an agent: try now."""
        if self._ended:
            return
        awake = self._awake.get(key)
        if awake is not None:
            awake.set()
        elif self._sends.first(key) is not None:
            self._awake[key] = asyncio.Event()
            self._background.spawn(self._work(key), name=f"messages of {key[0]}/{key[1]}")

    def keyboard_changed(self, report: KeyboardChanged) -> None:
        """A keeper saw something change where a message waits."""
        self.wake((report.team, report.agent))

    def _agents_changed(self, keys: Collection[tuple[str, str]]) -> None:
        for key in keys:
            if key in self._awake or self._sends.first(key) is not None:
                self.wake(key)

    def _activity_changed(self, key: tuple[str, str], _: Activity) -> None:
        if key in self._awake:
            self.wake(key)

    async def heard(self, key: tuple[str, str], text: str) -> None:
        """The agent's own hook tells that it was given this to read."""
        send = self._sends.said(key, text)
        if send is None:
            return
        if send.step:
            self._heard.add(send.number)  # its worker writes that down, with the rest
            return
        try:
            await self._sends.now(send, state=OBSERVED, reason="")
        except CorralError as error:
            log.error("that %s was observed is not written: %s", send.message, error.message)

    async def _work(self, key: tuple[str, str]) -> None:
        awake = self._awake[key]
        try:
            while (send := self._sends.first(key)) is not None:
                awake.clear()
                try:
                    held = await self._step(send)
                except CorralError as error:
                    held = _Held(error.message)
                if held is None:
                    continue
                self._sends.held(send, held.reason)
                await asyncio.sleep(_SOONEST_SECONDS)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(held.again or _AGAIN_SECONDS, _AGAIN_SECONDS)):
                        await awake.wait()
        finally:
            del self._awake[key]
        # Something may have come between the last look and now.
        self.wake(key)

    async def _step(self, send: Send) -> _Held | None:
        """The next thing to be done about a message; None if there may be more to do at once."""
        agent = self._registry.agents.get(send.key)
        if agent is not None and agent.state in states.AT_REST:
            # Who restarts it holds the lock from its end to its start: then it only seems to be at rest.
            async with self._supervisor.lock(send.team):
                agent = self._registry.agents.get(send.key)
        if agent is None or agent.state in states.AT_REST:
            why = f"{send.agent} is {agent.state}" if agent is not None else f"{send.agent} was removed"
            await self._sends.now(send, state=UNKNOWN if send.was_begun else FAILED, step="", reason=why)
            return None
        if send.was_begun and send.run != agent.run:
            if send.state == SUBMITTED:
                await self._sends.now(send, step="")
            else:
                why = "the agent ended while it was being typed"
                await self._sends.now(send, state=UNKNOWN, step="", reason=why)
            return None
        if send.prompt_of and send.prompt_of != agent.run:
            await self._sends.now(send, state=FAILED, reason="its run is over")
            return None
        if agent.state != states.RUNNING:
            return _Held(f"the agent is {agent.state}" + (f": {agent.reason}" if agent.reason else ""))
        if agent.paused:
            return _Held("the agent is paused")
        keeper = await self._supervisor.link.open()
        hello = self._supervisor.link.hello
        own = f"{hello.boot_id}/{hello.pid}"
        if send.step == PROVING:
            return await self._prove(keeper, send)
        if send.state == PASTED:
            return await self._enter(keeper, send)
        if send.step == PASTING:
            return await self._find_out(keeper, send, own)
        return await self._paste(keeper, agent, send, own)

    async def _paste(self, keeper: Keeper, agent: Agent, send: Send, own: str) -> _Held | None:
        looked = await keeper.typing_begin(agent.team, agent.run, send.message)
        if looked.state != "free":
            return _Held(looked.reason, looked.again)
        send = await self._sends.now(send, step=PASTING, run=agent.run, keeper=own)
        point("daemon.pasting_written")
        try:
            done = await keeper.typing_paste(
                send.team, send.run, send.message, self._sends.text(send), enter=send.enter, last=send.last
            )
        except UnavailableError:
            self._supervisor.suspect(send.team)
            raise
        except RefusedError as error:
            await self._sends.now(send, state=FAILED, step="", reason=error.message, remedy=error.remedy)
            return None
        except CorralError as error:
            # Nothing was typed. If the agent has ended, that is known in a moment, and then it has failed.
            await self._sends.now(send, step="")
            return _Held(error.message)
        point("daemon.pasted")
        return await self._pasted(keeper, send, done)

    async def _pasted(self, keeper: Keeper, send: Send, done: Typing) -> _Held | None:
        if done.state == "held":
            await self._sends.now(send, step="")
            return _Held(done.reason, done.again)
        if done.state == "submitted":
            await self._sends.now(send, state=SUBMITTED, step="")
            return None
        if not send.enter:
            await self._sends.now(send, state=PASTED, step="", reason=done.reason)
            return None
        send = await self._sends.now(send, state=PASTED, step=ENTERING, reason=done.reason)
        point("daemon.entering_written")
        return await self._enter(keeper, send)

    async def _enter(self, keeper: Keeper, send: Send) -> _Held | None:
        done = await keeper.typing_enter(send.team, send.run, send.message)
        if done.state == "lost":
            # A keeper that came after the one that typed it has to be told what to look for.
            done = await keeper.typing_recall(send.team, send.run, send.message, self._sends.text(send))
            if done.state == "pasted":
                done = await keeper.typing_enter(send.team, send.run, send.message)
        if done.state == "held":
            return _Held(done.reason, done.again)
        if done.state != "submitted":
            why = done.reason or "it was pasted, and nobody can tell whether Enter was pressed"
            await self._sends.now(send, state=UNKNOWN, step="", reason=why)
            return None
        point("daemon.entered")
        step = PROVING if done.proved else ""
        send = await self._sends.now(send, state=SUBMITTED, step=step, reason="")
        return await self._prove(keeper, send) if step else None

    async def _prove(self, keeper: Keeper, send: Send) -> _Held | None:
        try:
            done = await keeper.typing_proof(send.team, send.run, send.message)
        except UnavailableError:
            done = Typing(state="submitted", reason="the keeper did not see what came of it")
        heard = send.number in self._heard
        self._heard.discard(send.number)
        if heard or done.state == "observed":
            await self._sends.now(send, state=OBSERVED, step="", reason="")
        else:
            await self._sends.now(send, step="", reason=done.reason)
        return None

    async def _find_out(self, keeper: Keeper, send: Send, own: str) -> _Held | None:
        """It was about to be pasted when somebody died: was it?"""
        done = await keeper.typing_recall(send.team, send.run, send.message, self._sends.text(send))
        if done.state in ("pasted", "submitted"):
            return await self._pasted(keeper, send, done)
        if done.state == "none" and send.keeper == own:
            # The same keeper, and it never pasted it; nor will it, until it is begun anew.
            await self._sends.now(send, step="")
            return None
        why = done.reason or "Corral was interrupted while it typed"
        await self._sends.now(send, state=UNKNOWN, step="", reason=why)
        return None
