"""How an error reads: two lines for a person, one object for a program."""

import sys

from corral.cli.output import DIM, RED, json_line, paint, plain, takes_colour
from corral.domain.errors import CorralError


def describe(error: CorralError, *, as_json: bool) -> str:
    """The text for stderr, line end included."""
    if as_json:
        return json_line({"error": error.as_json()}).decode("utf-8")
    colour = takes_colour(sys.stderr)
    text = f"{paint('corral:', RED, colour)} {plain(error.message)}\n"
    if error.remedy:
        text += f"  {paint('→', DIM, colour)} {plain(error.remedy)}\n"
    return text
