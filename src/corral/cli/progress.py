"""Long work while it runs: one live line on a terminal, a plain line an event anywhere else. Always on stderr."""

import sys

from corral.cli.output import DIM, paint, plain, redraws, takes_colour, width_of
from corral.cli.table import shortened
from corral.client.answers import Record, concluded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_START_OF_LINE = "\r\x1b[K"
#: Steps on the way: a live line shows them, a log has no use for them.
_PASSING = frozenset({"workspace", "starting", "stopping", "pausing", "resuming", "waiting", "checking"})
#: The summary says these, once for all agents.
_UNREMARKABLE = frozenset({"kept", "changed", "extra"})


class Progress:
    """Shows records of progress; as a context it leaves the terminal's line empty."""

    def __init__(self, *, silent: bool, lines: bool = True) -> None:
        self._silent = silent
        #: False where the result says all that plain lines would.
        self._lines = lines
        self._live = not silent and redraws(sys.stderr)
        self._colour = self._live and takes_colour(sys.stderr)
        self._frame = 0
        self._line_is_used = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self._clear()

    def note(self, text: str) -> None:
        """Something to wait for that has no steps of its own."""
        if self._live:
            self._draw(text)

    def step(self, record: Record) -> None:
        """One `progress` record of the daemon."""
        if self._silent:
            return
        agent, step, detail = (plain(str(record.get(key) or "")) for key in ("agent", "step", "detail"))
        what = f"{agent}: {step}" if agent else step
        if self._live:
            done, of = record.get("done"), record.get("of")
            count = f"{done}/{of} " if isinstance(done, int) and isinstance(of, int) and of else ""
            self._draw(f"{count}{what}")
        elif self._lines and step not in _PASSING and step not in _UNREMARKABLE:
            sys.stderr.write(what + (f": {detail}" if detail else "") + "\n")
            sys.stderr.flush()

    def _draw(self, text: str) -> None:
        self._frame = (self._frame + 1) % len(_FRAMES)
        width = width_of(sys.stderr) or 80
        line = shortened(text, max(1, width - 3))
        sys.stderr.write(f"{_START_OF_LINE}{paint(_FRAMES[self._frame], DIM, self._colour)} {line}")
        sys.stderr.flush()
        self._line_is_used = True

    def _clear(self) -> None:
        if self._line_is_used:
            sys.stderr.write(_START_OF_LINE)
            sys.stderr.flush()
            self._line_is_used = False


def result_of(stream: "Iterator[Record]", progress: Progress) -> Record:
    """Follow a piece of work to its end and give its result."""
    result: Record = {}
    with progress:
        for record in concluded(stream):
            step, end = record.get("progress"), record.get("result")
            if isinstance(step, dict):
                progress.step(step)
            if isinstance(end, dict):
                result = end
    return result


def entries(result: Record, name: str) -> list[Record]:
    """The objects in the list `name` of a result."""
    value = result.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def strings(value: object) -> list[str]:
    """The items of a JSON list as text; none if it is no list."""
    return [str(item) for item in value] if isinstance(value, list) else []
