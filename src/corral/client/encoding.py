"""JSON for what is asked, made without the encoder of the standard library.

That one loads `re` and what `re` needs, which takes longer than the daemon needs to answer; `decoding` does without it
as well. The strings are escaped by the very function that `json` escapes them with.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CONSTANTS = {None: "null", True: "true", False: "false"}


def encoded(value: object) -> str:
    """What `json.dumps(value, ensure_ascii=False)` says, but for the blanks between things."""
    return _encoded(value, _escape())


def _encoded(value: object, escape: "Callable[[str], str]") -> str:
    if isinstance(value, str):
        return escape(value)
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return "{" + ",".join(f"{escape(key)}:{_encoded(item, escape)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_encoded(item, escape) for item in value) + "]"
    import json

    return json.dumps(value, ensure_ascii=False)


def _escape() -> "Callable[[str], str]":
    try:
        from _json import encode_basestring
    except ImportError:  # as in `json`: a Python without it has one that is written in Python
        from json.encoder import encode_basestring
    escape: Callable[[str], str] = encode_basestring
    return escape
