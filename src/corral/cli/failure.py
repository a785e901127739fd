"""How an error reads: two lines for a person, or two for each of its problems, and one object for a program."""

import sys

from corral.cli.output import DIM, RED, json_line, paint, plain, takes_colour
from corral.domain.errors import CorralError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Where the error object has those that failed besides.
_OTHERS = "others"
#: Where the error object has what is wrong with a file, mistake by mistake, and how many more there are.
_PROBLEMS = "problems"
_LEFT_OUT = "left_out"


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
    problems = error.get(_PROBLEMS)
    if not isinstance(problems, list) or len(problems) < 2:
        return _pair(str(error["message"]), str(error["remedy"]))
    # What would be right is read with what is wrong, not after all the others.
    text = "".join(_pair(_shown(problem), str(problem["remedy"])) for problem in problems)
    left_out = error.get(_LEFT_OUT)
    return text + (_pair(f"and {left_out} more mistakes", "") if left_out else "")


def _pair(message: str, remedy: str) -> str:
    colour = takes_colour(sys.stderr)
    text = f"{paint('corral:', RED, colour)} {plain(message)}\n"
    if remedy:
        text += f"  {paint('→', DIM, colour)} {plain(remedy)}\n"
    return text


def _shown(problem: "Mapping[str, object]") -> str:
    return f"{problem['file']}:{problem['line']}: {problem['key']}: {problem['message']}"
