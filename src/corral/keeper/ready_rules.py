"""When is a run ready whose table says what has to be seen: a line, a port that is listened on, or a command's success?

A line is looked for in the output as it comes, a port and a command are tried: again after output, for most programs
say something when they begin to listen, and else after pauses that grow. Nothing is tried any more once it is ready.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from corral.domain.errors import CorralError
from corral.domain.line_patterns import Pattern
from corral.domain.terminal_text import TextCleaner
from corral.ports.runs import ReadyOrder

log = logging.getLogger("corral.keeper")

#: Between two tries: the first pause, and the longest that they grow to.
_FIRST_SECONDS, _LONGEST_SECONDS = 0.1, 5.0
#: What a program wrote before the watch began is found in so many lines of its screen.
_PAST_LINES = 2000
#: A line longer than that is looked at in pieces: a program may write without ever ending one.
_LONGEST_LINE = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Eyes:
    """How a run is looked at: by run, and by the agent whose it is."""

    screen: Callable[[str, int], Awaitable[list[str]]]
    #: Whether a process of the agent listens on the port of that name.
    listens: Callable[[str, str], Awaitable[bool]]
    #: Whether the command of an order, of that run of the agent and with its rights, ends with 0.
    succeeds: Callable[[str, ReadyOrder], Awaitable[bool]]


class RuleWatch:
    """Watches one run until its rule is met, then calls `on_ready(evidence)` once."""

    def __init__(self, order: ReadyOrder, agent: str, eyes: Eyes, on_ready: Callable[[str], None]) -> None:
        self._run = order.run
        self._order = order
        self._agent = agent
        self._rule = rule = order.rule
        self._eyes = eyes
        self._on_ready = on_ready
        self._pattern = Pattern(rule.log, "ready.log") if rule.log else None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cleaner = TextCleaner()
        #: Bytes of a line that has not ended yet.
        self._held = 0
        self._wrote = asyncio.Event()
        look = self._look_back() if self._pattern else self._try_until_met()
        self._task = asyncio.get_running_loop().create_task(look)

    def output(self, data: bytes) -> None:
        """The run wrote something."""
        if self._pattern is None:
            self._wrote.set()
            return
        text = self._cleaner.feed(self._decoder.decode(data))
        end = data.rfind(b"\n")
        self._held = self._held + len(data) if end < 0 else len(data) - end
        if self._held > _LONGEST_LINE:
            text += self._cleaner.finish()
            self._held = 0
        self._search(text.split("\n"))

    def cancel(self) -> None:
        """Stop watching."""
        self._task.cancel()

    def _search(self, lines: list[str]) -> bool:
        assert self._pattern is not None
        for line in lines:
            if self._pattern.found(line.encode("utf-8", "replace")):
                self._on_ready(f"it wrote {line.strip()[:80]!r}")
                return True
        return False

    async def _look_back(self) -> None:
        """Look at what it wrote before anybody watched: another keeper may have begun."""
        try:
            self._search(await self._eyes.screen(self._run, _PAST_LINES))
        except CorralError as error:
            log.info("what %s wrote before cannot be read: %s", self._agent, error.message)

    async def _try_until_met(self) -> None:
        pause = _FIRST_SECONDS
        while not await self._is_met():
            self._wrote.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._wrote.wait()
                await asyncio.sleep(_FIRST_SECONDS)  # what it says often comes just before what it says is true
            except TimeoutError:
                pause = min(2 * pause, _LONGEST_SECONDS)
        what = f"port {self._rule.port} is listened on" if self._rule.port else f"{self._rule.command[:80]!r} succeeded"
        self._on_ready(what)

    async def _is_met(self) -> bool:
        try:
            if self._rule.port:
                return await self._eyes.listens(self._agent, self._rule.port)
            return await self._eyes.succeeds(self._agent, self._order)
        except CorralError as error:
            log.info("nobody can tell whether %s is ready: %s", self._agent, error.message)
            return False


class RuleWatches:
    """The watches of one team, one for a run at most. `on_ready(run, evidence)` is called once for each."""

    def __init__(self, eyes: Eyes, on_ready: Callable[[str, str], None]) -> None:
        self._eyes = eyes
        self._on_ready = on_ready
        self._watches: dict[str, RuleWatch] = {}

    def watch(self, order: ReadyOrder, agent: str) -> None:
        """Watch a run. One that is watched already stays so: it goes on with its pauses."""
        run = order.run
        if run not in self._watches:
            self._watches[run] = RuleWatch(order, agent, self._eyes, lambda evidence: self._met(run, evidence))

    def output(self, run: str, data: bytes) -> None:
        """The run wrote something."""
        watch = self._watches.get(run)
        if watch is not None:
            watch.output(data)

    def cancel(self, run: str) -> None:
        """Stop watching this run."""
        watch = self._watches.pop(run, None)
        if watch is not None:
            watch.cancel()

    def cancel_all(self) -> None:
        """Stop watching."""
        for run in list(self._watches):
            self.cancel(run)

    def _met(self, run: str, evidence: str) -> None:
        if self._watches.pop(run, None) is not None:
            self._on_ready(run, evidence)
