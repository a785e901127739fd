"""Rego in a process beside this one, asked over pipes.

It is started with the first question and ends with whoever started it. One that dies, or that has to be ended because
it takes too long, is started again with the next question, once a second at most: rules that bring it down keep nobody
busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import deque
from collections.abc import Sequence

import msgspec

from corral.adapters.policy.engine_lines import Answered, Ask, Load, Loaded
from corral.adapters.policy.sources import Sources
from corral.domain.errors import BadPolicyError

#: -P: it starts wherever somebody is, and a file there must not be taken for a module.
_PROGRAM = (sys.executable, "-P", "-m", "corral.adapters.policy.engine_process")
#: A line has a decision in it, of a few hundred bytes; one of a test can have more.
_LONGEST_LINE = 1 << 20
_REST_SECONDS = 1.0
_START_SECONDS = 30.0


class NoAnswerError(Exception):
    """The engine came to no answer, or there is none."""


class _Running:
    """One process, from its start to its end."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._to, self._from = process, process.stdin, process.stdout
        #: Who waits, in the order in which they asked.
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._reading = asyncio.get_running_loop().create_task(self._read(), name="policy engine")

    @property
    def lives(self) -> bool:
        return not self._reading.done()

    async def exchange(self, line: bytes) -> bytes:
        """The line that answers. NoAnswerError if the process ends before."""
        if not self.lives:
            raise NoAnswerError("the engine broke down")  # nobody is there to hear the answer
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._to.write(line + b"\n")
        return await answer

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._reading
        self._to.close()

    async def _read(self) -> None:
        try:
            while line := await self._from.readline():
                if not self._waiting:
                    raise ValueError("an answer that nobody asked for")
                answer = self._waiting.popleft()
                if not answer.done():
                    answer.set_result(line)
        except ValueError:
            # A line without end, or one too many: what comes behind it cannot be told apart.
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        while self._waiting:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(NoAnswerError("the engine broke down"))


class Engine:
    """A policy, compiled in a process of its own."""

    def __init__(self, sources: Sources, entry_points: Sequence[str]) -> None:
        load = Load(modules=list(sources.modules), data=sources.data, entry_points=list(entry_points))
        self._load = msgspec.json.encode(load)
        #: The process, once it has compiled the policy.
        self._running: _Running | None = None
        self._launching: asyncio.Task[_Running] | None = None
        self._not_before = 0.0
        self._encoder = msgspec.json.Encoder()
        self._decoder = msgspec.json.Decoder(Answered)

    async def start(self) -> None:
        """Have it compiled now. Raises BadPolicyError if it is no Rego, or brings the engine down."""
        try:
            await self._alive()
        except NoAnswerError as error:
            raise BadPolicyError(
                f"these rules bring the engine down: {error}", "leave out what it does not know: docs/howto/policy.md"
            ) from None

    async def ask(self, document: object, path: str) -> object:
        """What the policy says at `path`; None if that is undefined. NoAnswerError without an answer.

        Whoever does not wait any longer calls `give_up`: an evaluation that goes on is in everybody's way.
        """
        running = self._running
        if running is None or not running.lives:
            running = await self._alive()
        line = await running.exchange(self._encoder.encode(Ask(path, document)))
        try:
            answered = self._decoder.decode(line)
        except msgspec.MsgspecError:
            # Then the lines behind it may be answers to other questions than they seem.
            await running.end()
            raise NoAnswerError("the engine said what is no answer") from None
        if answered.failure:
            raise NoAnswerError(answered.failure)
        return answered.value

    async def give_up(self) -> None:
        """End what is evaluated. Whoever waits gets a NoAnswerError; the next question starts another process.

        One that is still starting is left to it: on a busy host it would never come to an end.
        """
        running, self._running = self._running, None
        if running is not None:
            await running.end()

    async def end(self) -> None:
        """End the process, whatever it does."""
        if self._launching is not None:
            self._launching.cancel()
            await asyncio.wait([self._launching])
        await self.give_up()

    async def _alive(self) -> _Running:
        if self._running is not None and self._running.lives:
            return self._running
        if self._launching is None or self._launching.done():
            if time.monotonic() < self._not_before:
                raise NoAnswerError("the engine broke down a moment ago")
            self._not_before = time.monotonic() + _REST_SECONDS
            self._launching = asyncio.get_running_loop().create_task(self._launch(), name="policy engine, starting")
            # Asked for here, because those who wait may be gone when it is known.
            self._launching.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Shielded: whoever does not wait any longer must not take it from the others.
        return await asyncio.shield(self._launching)

    async def _launch(self) -> _Running:
        await self.give_up()
        process = await asyncio.create_subprocess_exec(
            *_PROGRAM,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_LINE,
        )
        running = _Running(process)
        try:
            async with asyncio.timeout(_START_SECONDS):
                loaded = msgspec.json.decode(await running.exchange(self._load), type=Loaded)
            if loaded.problem:
                raise BadPolicyError(loaded.problem, loaded.remedy)
        except TimeoutError:
            await running.end()
            raise NoAnswerError(f"it did not start within {_START_SECONDS:g} s") from None
        except msgspec.MsgspecError:
            await running.end()
            raise NoAnswerError("the engine said what is no answer") from None
        except BaseException:
            await running.end()
            raise
        self._running = running
        return running
