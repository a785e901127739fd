"""Work that takes its time: whoever asked for it hears how it goes on, and it goes on without them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from corral.api import answers
from corral.background import Background
from corral.service.progress import Tell


class Working:
    """Answers with the progress of some work and then with its result. The daemon counts as busy until then."""

    def __init__(self, busy: Callable[[int], None]) -> None:
        self._busy = busy
        self._background = Background()

    def __call__(self, do: Callable[[Tell], Awaitable[object]]) -> Response:
        async def counted(tell: Tell) -> object:
            self._busy(1)
            try:
                return await do(tell)
            finally:
                self._busy(-1)

        return answers.work(self._background, counted)
