"""What a host and its clients agree on. A line is a JSON object.

A client sends `{"n": 1, "do": "start", …}` and is answered `{"n": 1}`, or `{"n": 1, "error": {…}}`. Without having
asked it is told `{"hello": …, "known": […]}` first, then `born`, `ended`, `gone`, `closed`, `trouble`, `forgotten` as
they happen, and `grew` once for each `watch`.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The name of the process, as `ps` shows it.
HOST_NAME = b"corral: host"
#: Raised with every change that an older host or keeper would misread.
PROTOCOL = 2
#: A longer line is a mistake.
LINE_BYTES = 16 << 20
#: What is written to a process goes in pieces of this size.
WRITE_BYTES = 1 << 18

_encoder = json.JSONEncoder(separators=(",", ":"))


def encode(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return _encoder.encode(message).encode("ascii") + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The message in a line. Raises `ValueError`."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not an object")
    return message
