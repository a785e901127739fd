"""What a command writes: plain text, colour where a person looks, JSON where a program does."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

BOLD = "1"
DIM = "2"
RED = "31"
GREEN = "32"
YELLOW = "33"
BLUE = "34"
MAGENTA = "35"
CYAN = "36"

#: Blanks that Python does not call printable: those that do not break a line, and those of other widths.
_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def takes_colour(stream: "TextIO") -> bool:
    """True if `stream` is a terminal and its owner has not asked for plain text (`NO_COLOR`, `TERM=dumb`)."""
    return not os.environ.get("NO_COLOR") and redraws(stream)


def redraws(stream: "TextIO") -> bool:
    """True if `stream` is a terminal on which a line can be written anew."""
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, colour: str, on: bool) -> str:
    """`text` in `colour` if `on`."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on and colour else text


def plain(text: str) -> str:
    """`text` without what could move a cursor or ring a bell; line feeds and tabs stay, and a blank of any kind is one.

    For everything that came from an agent or a file: it must not write on the reader's terminal as it likes.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else " " if letter in _BLANKS else "\ufffd"
        for letter in text
    )


def width_of(stream: "TextIO") -> "int | None":
    """The columns of the terminal behind `stream`; None where lines may be as long as they are."""
    if not stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        # A terminal that does not know its size says 0.
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def say(text: str = "") -> None:
    """A line for the person, on stdout."""
    sys.stdout.write(text + "\n")


def remark(text: str) -> None:
    """A line beside the result, on stderr."""
    sys.stderr.write(text + "\n")


def write_bytes(data: bytes) -> None:
    """Bytes to stdout as they are, in order with the text before and after."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_json(document: object) -> None:
    """One JSON document and a line end, in UTF-8 whatever the locale is."""
    write_bytes(json_line(document))


def json_line(document: object) -> bytes:
    import json

    text = json.dumps(document, ensure_ascii=False)
    # A name that is no UTF-8 is a lone surrogate here; escaped, the document stays valid.
    return shown_json((text if is_utf8(text) else json.dumps(document)).encode("utf-8")) + b"\n"


def shown_json(document: bytes) -> bytes:
    """The same document without control characters. JSON has escaped those of ASCII; others act on a terminal too."""
    if document.isascii() and b"\x7f" not in document:
        return document
    import re

    return re.sub(rb"\x7f|\xc2[\x80-\x9f]", lambda found: b"\\u00%02x" % found[0][-1], document)


def is_utf8(text: str) -> bool:
    """False if `text` has bytes in it that are no UTF-8, as a path or a variable may."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
