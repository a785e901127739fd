"""How an error reads: two lines for a person, one object for a program."""

import sys

from corral.cli.output import DIM, RED, json_line, paint, plain, takes_colour
from corral.domain.errors import CorralError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Where the error object has those that failed besides.
_OTHERS = "others"


def describe(error: CorralError, *, as_json: bool) -> str:
    """The text for stderr, line end included."""
    if as_json:
        return json_line({"error": error.as_json()}).decode("utf-8")
    others = error.details.get(_OTHERS)
    return _lines(error.as_json()) + "".join(_lines(one) for one in (others if isinstance(others, list) else []))


def of_several(failures: "Sequence[CorralError]") -> CorralError:
    """The first of what failed, each for itself: it makes the exit code, and the others are told with it."""
    first, *others = failures
    if others:
        first.details[_OTHERS] = [other.as_json() for other in others]
    return first


def _lines(error: "Mapping[str, object]") -> str:
    colour = takes_colour(sys.stderr)
    text = f"{paint('corral:', RED, colour)} {plain(str(error['message']))}\n"
    if error["remedy"]:
        text += f"  {paint('→', DIM, colour)} {plain(str(error['remedy']))}\n"
    return text
