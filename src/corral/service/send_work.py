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
from corral.domain import send_fate, states
from corral.domain.activity import Activity
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.domain.foreign_words import own_remedy, told_error
from corral.domain.records import Agent
from corral.domain.sends import ENTERING, FAILED, OBSERVED, PASTED, PASTING, PROVING, SUBMITTED, TELLING, UNKNOWN, Send
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
#: A hook waits no longer for a look at the keyboard: its agent waits for it.
_LOOKING_SECONDS = 0.5
#: What is to be written of a message that is proved to have arrived.
_TOOK_IT = {"state": OBSERVED, "step": "", "reason": ""}


@dataclass(frozen=True, slots=True)
class _Held:
    """It cannot go on now."""

    reason: str
    again: float | None = None
    #: The keyboard is somebody else's, and nobody knows for how long.
    taken: bool = False


class _Worker:
    """Gets one message after the other to one agent."""

    def __init__(self) -> None:
        #: Something may have changed for the agent.
        self.awake = asyncio.Event()
        #: Held for as long as it takes a step.
        self.stepping = asyncio.Lock()
        #: The message that cannot go on, by its number, and why.
        self.held: tuple[int, _Held] | None = None

    def is_barred(self, send: Send) -> bool:
        """True if this message cannot be typed as long as somebody has the keyboard."""
        return self.held is not None and self.held[0] == send.number and self.held[1].taken


class SendWork:
    """The workers."""

    def __init__(self, context: Context, sends: Sends) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._sends = sends
        self._background = Background()
        self._workers: dict[tuple[str, str], _Worker] = {}
        #: Messages under way of which the agent's hook has told.
        self._heard: set[int] = set()
        #: Messages that a hook is handing over, each until a time of the event loop's clock.
        self._told_until: dict[int, float] = {}
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
        worker = self._workers.get(key)
        if worker is not None:
            worker.awake.set()
        elif self._sends.first(key) is not None:
            self._workers[key] = _Worker()
            self._background.spawn(self._work(key), name=f"messages of {key[0]}/{key[1]}")

    def keyboard_changed(self, report: KeyboardChanged) -> None:
        """A keeper saw something change where a message waits."""
        self.wake((report.team, report.agent))

    def _agents_changed(self, keys: Collection[tuple[str, str]]) -> None:
        for key in keys:
            if key in self._workers or self._sends.first(key) is not None:
                self.wake(key)

    def _activity_changed(self, key: tuple[str, str], _: Activity) -> None:
        if key in self._workers:
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
        worker = self._workers[key]
        try:
            while True:
                async with worker.stepping:
                    send = self._sends.first(key)
                    if send is None:
                        break
                    worker.awake.clear()
                    try:
                        held = await self._step(send)
                        if held is not None and await self._was_for_now(send, held):
                            held = None
                    except CorralError as error:
                        held = _Held(told_error(error))
                    worker.held = (send.number, held) if held is not None else None
                if held is None:
                    continue
                self._sends.held(send, held.reason)
                await asyncio.sleep(_SOONEST_SECONDS)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(held.again or _AGAIN_SECONDS, _AGAIN_SECONDS)):
                        await worker.awake.wait()
        finally:
            del self._workers[key]
        # Something may have come between the last look and now.
        self.wake(key)

    async def _was_for_now(self, send: Send, held: _Held) -> bool:
        """True if it was to be typed at once and nothing of it is: then it is over, and that is written down."""
        now = self._sends.get(send.message)
        if not now.at_once or now.was_begun:
            return False
        await self._sends.now(now, state=FAILED, reason=held.reason)
        return True

    async def _step(self, send: Send) -> _Held | None:
        """The next thing to be done about a message; None if there may be more to do at once."""
        agent = self._registry.agents.get(send.key)
        if agent is not None and agent.state in states.AT_REST:
            # Who restarts it holds the lock from its end to its start: then it only seems to be at rest.
            async with self._supervisor.lock(send.team):
                agent = self._registry.agents.get(send.key)
        changes = send_fate.over(send, agent)
        if changes is not None:
            await self._sends.now(send, **(_TOOK_IT if self._was_heard(send) else changes))
            return None
        if self._sends.is_too_late(send):
            return _Held("it was for a moment that is over")
        assert agent is not None
        if send.step == TELLING:
            return await self._await_telling(send)
        why = send_fate.waits_for(send, agent, self._registry.activity(agent.key))
        if why:
            return _Held(why)
        keeper = await self._supervisor.keepers.of(send.team, [send.agent]).open()
        hello = self._supervisor.keepers.of_agent(agent).hello
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
            return _Held(looked.reason, looked.again, taken=looked.again is None)
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
            await self._sends.now(send, state=FAILED, step="", reason=told_error(error), remedy=own_remedy(error))
            return None
        except CorralError as error:
            # Nothing was typed. If the agent has ended, that is known in a moment, and then it has failed.
            await self._sends.now(send, step="")
            return _Held(told_error(error))
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
        if self._was_heard(send) or done.state == "observed":
            await self._sends.now(send, **_TOOK_IT)
        else:
            await self._sends.now(send, step="", reason=done.reason)
        return None

    def _was_heard(self, send: Send) -> bool:
        """True if the agent's hook has told of it meanwhile. Asked once, when that is written down."""
        heard = send.number in self._heard
        self._heard.discard(send.number)
        return heard

    # By way of a hook

    async def begin_telling(self, key: tuple[str, str], run: str, seconds: float) -> Send | None:
        """Take what waits for a keyboard that is not free out of the worker's hands: a hook of that run hands it over.

        None if there is no such message. Whoever has it says so with `told` within so many seconds, or it is unknown.
        """
        worker = self._workers.get(key)
        if worker is None or not self._may_be_told(key, worker, run):
            return None
        try:
            async with asyncio.timeout(_LOOKING_SECONDS):  # the worker may be looking at the keyboard just now
                await worker.stepping.acquire()
        except TimeoutError:
            return None
        try:
            send = self._may_be_told(key, worker, run)
            if send is None:
                return None
            now = asyncio.get_running_loop().time()
            self._told_until = {number: until for number, until in self._told_until.items() if until > now}
            self._told_until[send.number] = now + seconds
            return await self._sends.now(send, step=TELLING, run=run)
        finally:
            worker.stepping.release()

    def _may_be_told(self, key: tuple[str, str], worker: _Worker, run: str) -> Send | None:
        send, agent = self._sends.first(key), self._registry.agents.get(key)
        if send is None or agent is None or agent.run != run or not worker.is_barred(send):
            return None
        return send if send.may_be_told(self._sends.text(send)) else None

    async def told(self, message: str) -> None:
        """A hook has handed it over: the agent has it."""
        send = self._sends.get(message)
        if send.step == TELLING or send.state == UNKNOWN:
            await self._sends.now(send, state=OBSERVED, step="", reason="its hook told it: the keyboard was not free")
        self.wake(send.key)

    async def _await_telling(self, send: Send) -> _Held | None:
        left = self._told_until.get(send.number, 0.0) - asyncio.get_running_loop().time()
        if left > 0:
            return _Held("its hook is handing it over", left)
        why = "a hook of the agent was to hand it over, and did not say whether it has"
        await self._sends.now(send, state=UNKNOWN, step="", reason=why)
        return None

    async def _find_out(self, keeper: Keeper, send: Send, own: str) -> _Held | None:
        """It was about to be pasted when somebody died: was it?"""
        done = await keeper.typing_recall(send.team, send.run, send.message, self._sends.text(send))
        if done.state in ("pasted", "submitted"):
            return await self._pasted(keeper, send, done)
        sure = done.state == "none"
        await self._sends.now(send, **send_fate.not_pasted(send, own, sure=sure, reason=done.reason))
        return None
