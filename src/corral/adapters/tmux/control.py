"""One control-mode connection to a tmux server: no fork a question, and output as it happens."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import cast

from corral.adapters.tmux.birth import not_there
from corral.adapters.tmux.protocol import Notification, Output, Parser, Reply
from corral.adapters.tmux.quoting import command
from corral.domain.errors import CorralError, UnavailableError

#: A healthy server answers in a millisecond; one that needs longer than this is not answering.
ANSWER_SECONDS = 5.0
#: One that owes an answer from before gets less: it is asked again in case it has come back, not to be waited for.
_STILL_SILENT_SECONDS = 1.0
#: How many sequences go out before the next ones are made: few enough that tmux never waits for work for long.
_WAVE = 12
#: tmux stops waiting for a reader that is this many seconds behind, so a stuck keeper never holds up an agent.
PAUSE_AFTER = 2
#: A window, and the columns and rows that it has.
_LAYOUT = re.compile(r"(@[0-9]+) [0-9a-f]{4},([0-9]{1,5})x([0-9]{1,5}),")


class TmuxRefusedError(CorralError):
    """tmux understood the command and said no. The message is tmux's own."""

    code = "tmux_refused"


class _Group:
    """The commands of one line, which tmux answers one by one until the first that fails."""

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.replies: list[list[str]] = []
        self.future: asyncio.Future[list[list[str]]] = asyncio.get_running_loop().create_future()

    def take(self, reply: Reply) -> bool:
        """Add a reply; True if the group is complete."""
        if not reply.ok:
            if not self.future.done():
                self.future.set_exception(TmuxRefusedError("; ".join(reply.lines) or "tmux refused the command"))
            return True
        self.replies.append(reply.lines)
        if len(self.replies) < self.parts:
            return False
        if not self.future.done():
            self.future.set_result(self.replies)
        return True


def _answers(arguments: Sequence[str]) -> int:
    """How often tmux answers a command: once, and once more for the one that an `if-shell` runs."""
    return 2 if arguments[0] == "if-shell" else 1


class ControlClient(asyncio.Protocol):
    """A connected control client. Callbacks run in the event loop, in the order tmux sent things."""

    def __init__(
        self,
        on_output: Callable[[str, bytes], None],
        on_pause: Callable[[str], None],
        on_closed: Callable[[str], None],
        on_late_answer: Callable[[], None],
        on_layout: Callable[[str, int, int], None] = lambda _window, _columns, _rows: None,
    ) -> None:
        self._on_layout = on_layout
        self._on_late_answer = on_late_answer
        self._on_output = on_output
        self._on_pause = on_pause
        self._on_closed = on_closed
        self._parser = Parser()
        self._in_waves = asyncio.Lock()
        self._waiting: deque[_Group] = deque()
        self._transport: asyncio.Transport | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._greeted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._said = ""
        self.closed = False

    @classmethod
    async def open(
        cls,
        argv: Sequence[str],
        environment: Mapping[str, str],
        on_output: Callable[[str, bytes], None],
        on_pause: Callable[[str], None],
        on_closed: Callable[[str], None],
        on_late_answer: Callable[[], None],
        on_layout: Callable[[str, int, int], None] = lambda _window, _columns, _rows: None,
    ) -> ControlClient:
        """Start `argv` (a tmux client with -C) and wait for its first answer."""
        client = cls(on_output, on_pause, on_closed, on_late_answer, on_layout)
        ours, theirs = socket.socketpair()
        try:
            client._process = subprocess.Popen(
                list(argv),
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd="/",
                start_new_session=True,
            )
        except FileNotFoundError as error:
            ours.close()
            raise not_there(argv[0]) from error
        except OSError as error:
            ours.close()
            raise UnavailableError(
                f"tmux cannot be run as {argv[0]}: {error.strerror}",
                "set CORRAL_TMUX to a tmux that can, or unset it, then `corral daemon stop` and try again",
            ) from error
        finally:
            theirs.close()
        await asyncio.get_running_loop().create_unix_connection(lambda: client, sock=ours)
        try:
            await asyncio.wait_for(asyncio.shield(client._greeted), ANSWER_SECONDS)
        except TimeoutError:
            client.close()
            raise UnavailableError(
                f"tmux did not answer within {ANSWER_SECONDS:.0f} s",
                "is the machine overloaded, or tmux stopped? then try again",
            ) from None
        except CorralError:
            client.close()
            raise
        return client

    async def ask(self, *commands: Sequence[str], seconds: float = ANSWER_SECONDS) -> list[list[str]]:
        """Run the commands as one sequence that nothing can come between; the lines each of them answered."""
        return (await self.ask_many([commands], seconds=seconds))[0]

    async def ask_many(
        self, groups: Sequence[Sequence[Sequence[str]]], seconds: float = ANSWER_SECONDS
    ) -> list[list[list[str]]]:
        """Run many sequences in one write. Raises the first refusal, after all were answered."""
        outcomes = await self.try_many(groups, seconds=seconds)
        for outcome in outcomes:
            if isinstance(outcome, TmuxRefusedError):
                raise outcome
        return [outcome for outcome in outcomes if not isinstance(outcome, TmuxRefusedError)]

    async def try_many(
        self, groups: Sequence[Sequence[Sequence[str]]], seconds: float = ANSWER_SECONDS
    ) -> list[list[list[str]] | TmuxRefusedError]:
        """Like `ask_many`, but a refusal is the outcome of its own sequence only."""
        return await self._outcomes(self._send(groups), seconds)

    async def try_in_waves(
        self, groups: Iterable[Sequence[Sequence[str]]], seconds: float, seconds_each: float
    ) -> list[list[list[str]] | TmuxRefusedError]:
        """Like `try_many`, for sequences that take time to make: tmux has begun with the first ones meanwhile.

        Who came first is sent whole before the next: nobody waits for the end of those who came later.
        """
        pending: list[asyncio.Future[list[list[str]]]] = []
        making = iter(groups)
        async with self._in_waves:
            while wave := list(islice(making, _WAVE)):
                if pending and self.closed:
                    break  # those before know why
                pending += self._send(wave)
                await asyncio.sleep(0)  # what was written goes out
        # Others may have asked before, and tmux answers one after the other.
        return await self._outcomes(pending, seconds + seconds_each * len(self._waiting))

    def _send(self, groups: Sequence[Sequence[Sequence[str]]]) -> list[asyncio.Future[list[list[str]]]]:
        if not groups:
            return []  # an empty line would tell tmux to detach this client
        if self.closed or self._transport is None:
            raise UnavailableError("the connection to tmux is closed", "try again: the keeper opens a new one")
        pending = []
        lines = []
        for group in groups:
            waiting = _Group(sum(_answers(arguments) for arguments in group))
            self._waiting.append(waiting)
            pending.append(waiting.future)
            lines.append(" ; ".join(command(*arguments) for arguments in group))
        self._transport.write(("\n".join(lines) + "\n").encode())
        return pending

    async def _outcomes(
        self, pending: Sequence[asyncio.Future[list[list[str]]]], seconds: float
    ) -> list[list[list[str]] | TmuxRefusedError]:
        if self._owes_an_answer:
            seconds = min(seconds, _STILL_SILENT_SECONDS)
        outcomes: list[list[list[str]] | TmuxRefusedError] = []
        try:
            async with asyncio.timeout(seconds):
                for future in pending:
                    try:
                        outcomes.append(await asyncio.shield(future))
                    except TmuxRefusedError as refusal:
                        outcomes.append(refusal)
        except TimeoutError:
            for future in pending:
                future.cancel()
            raise UnavailableError(
                f"tmux did not answer within {seconds:.0f} s; what it looks after may be alive",
                "try again; if it stays silent, `corral down` ends what is provably ours",
            ) from None
        return outcomes

    @property
    def _owes_an_answer(self) -> bool:
        """True while a question that nobody waits for any more has not been answered: the server hangs."""
        return bool(self._waiting) and self._waiting[0].future.cancelled()

    def close(self) -> None:
        """Leave the server as it is and end the client process."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()
        # A client whose server hangs would wait with it. It is our child and not reaped yet: the pid is its own.
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By name: that of another loop than asyncio's own is no subclass.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._greeted.done() and not data.startswith(b"%"):
            self._said += data.decode("utf-8", "replace")  # an error before control mode began
        for message in self._parser.feed(data):
            if isinstance(message, Output):
                self._on_output(message.pane, message.data)
            elif isinstance(message, Reply):
                self._replied(message)
            else:
                self._notified(message)

    def connection_lost(self, _: Exception | None) -> None:
        self.closed = True
        problem = UnavailableError(
            "the tmux server closed the connection" + (f" ({self._said.strip()})" if self._said.strip() else ""),
            "run the command again; `corral events` tells what happened",
        )
        if not self._greeted.done():
            self._greeted.set_exception(problem)
            self._greeted.exception()  # the opener may have given up already
        while self._waiting:
            future = self._waiting.popleft().future
            if not future.done():
                future.set_exception(problem)
                future.exception()
        self._reap()
        self._on_closed(self._said.strip())

    def _replied(self, reply: Reply) -> None:
        if reply.ours:
            if self._waiting and self._waiting[0].take(reply):
                nobody_waits = self._waiting.popleft().future.cancelled()
                if nobody_waits and not self._waiting:
                    self._on_late_answer()  # it was silent for too long, and has caught up
        elif not self._greeted.done():
            if reply.ok:
                self._greeted.set_result(None)
            else:
                self._greeted.set_exception(TmuxRefusedError("; ".join(reply.lines)))

    def _notified(self, notification: Notification) -> None:
        if notification.name == "%pause":
            self._on_pause(notification.rest.strip())
        elif notification.name == "%layout-change" and (layout := _LAYOUT.match(notification.rest)):
            self._on_layout(layout[1], int(layout[2]), int(layout[3]))
        elif notification.name == "%exit":
            self._said = notification.rest or self._said
            self.close()

    def _reap(self) -> None:
        """Collect the client process without blocking the loop: it ends when its socket is closed."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        loop = asyncio.get_running_loop()
        descriptor = os.pidfd_open(process.pid)

        def ended() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            process.wait()

        loop.add_reader(descriptor, ended)
