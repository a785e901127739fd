"""One thread that does one thing after the other for an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

_T = TypeVar("_T")


class Worker:
    """The thread. It runs from its making until `end`.

    An executor of the standard library does more than is needed here, with locks that the event loop has to take while
    the thread has them.
    """

    def __init__(self, name: str) -> None:
        self._todo: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], _T]) -> asyncio.Future[_T]:
        """Have it done in its turn; done with what came of it. It is done also if nobody waits for it any more."""
        done: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._todo.put((work, done))
        return done

    def end(self) -> None:
        """Return when all that is to be done is done, and the thread is gone."""
        self._todo.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (next_one := self._todo.get()) is not None:
            work, done = next_one
            result, error = None, None
            try:
                result = work()
            except BaseException as raised:
                error = raised
            done.get_loop().call_soon_threadsafe(_tell, done, result, error)


def _tell(done: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if done.done():
        return  # whoever waited has gone
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
