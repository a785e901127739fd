"""Text in columns, as wide as it looks."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = "  "
CUT = "…"


def shown_width(text: str) -> int:
    """The columns that `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, width: int) -> str:
    """`text` with spaces up to `width` columns."""
    return text + " " * (width - shown_width(text))


def shortened(text: str, width: int) -> str:
    """`text` in at most `width` columns, cut at its end."""
    if shown_width(text) <= width:
        return text
    while text and shown_width(text) + 1 > width:
        text = text[:-1]
    return text + CUT


def shortened_from_left(text: str, width: int) -> str:
    """`text` in at most `width` columns, cut at its beginning: of a path the end says most."""
    if shown_width(text) <= width:
        return text
    while text and shown_width(text) + 1 > width:
        text = text[1:]
    return CUT + text


def widths(rows: "Sequence[Sequence[str]]") -> "list[int]":
    """The width of each column."""
    return [max(map(shown_width, column)) for column in zip(*rows, strict=True)]


def on_one_line(text: str) -> str:
    """`text` with its line feeds and tabs spelled out."""
    return text.replace("\n", "\\n").replace("\t", "\\t")


def lines(rows: "Sequence[Sequence[str]]") -> "list[str]":
    """The rows with their columns under each other, without spaces at the ends; each row is one line."""
    cells = [[on_one_line(cell) for cell in row] for row in rows]
    measures = widths(cells)
    return [GAP.join(map(padded, row, measures)).rstrip() for row in cells]
