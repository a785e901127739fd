"""JSON of what is answered, parsed without loading the parser of the standard library.

That one loads `re` and what `re` needs: half as long as Python itself takes to start, in every command. What reads the
text is the very function that `json` reads it with.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS = " \t\n\r"
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _AsInJson:
    """What `json.JSONDecoder` tells its scanner by default."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, _CONSTANTS.__getitem__


def decoded(text: bytes) -> object:
    """What `json.loads(text)` says of UTF-8; ValueError if it is no JSON, and RecursionError if it is too deep."""
    words = text.decode("utf-8", "surrogatepass")
    begin = len(words) - len(words.lstrip(_BLANKS))
    try:
        value, end = _scanner()(words, begin)
    except StopIteration as stop:
        raise ValueError(f"no JSON at character {stop.value}") from None
    if words[end:].strip(_BLANKS):
        raise ValueError(f"something behind the JSON, at character {end}")
    return value


def _scanner() -> "Callable[[str, int], tuple[object, int]]":
    try:
        from _json import make_scanner

        scanner: Callable[[str, int], tuple[object, int]] = make_scanner(_AsInJson)  # type: ignore[arg-type]  # any object that says these things does
    except (ImportError, AttributeError):
        # As in `json`: a Python without it has one that is written in Python. And one to come may want to know more.
        from json.decoder import JSONDecoder

        return JSONDecoder().raw_decode
    return scanner
