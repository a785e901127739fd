"""On which line of a TOML file a key is set.

tomllib says what a file means but not where it says it. A TOML file is a list of statements (a header, or a key
with its value); this module finds where each begins and lets tomllib itself read each one alone, so no rule of
TOML about keys, escapes or values is written down twice. One pass, linear in the file.

What callers rely on: the line of a key is the line on which the statement that first sets it begins, counted
from 1. Put differently: the line after the longest beginning of the file that can be parsed and lacks the key.
"""

import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

Path = tuple[str, ...]

#: What matters next: outside of strings, inside a comment, and inside each of the four kinds of strings. A
#: multi-line string may end in up to two quotes of its own. A one-line string that meets a newline is a mistake;
#: ending it there keeps the damage to its own line.
_NEXT = {
    "": re.compile(r"\"\"\"|'''|[\"'#\n\[\]{}.,=]"),
    "#": re.compile(r"\n"),
    '"': re.compile(r'\\[^\n]|["\n]'),
    "'": re.compile(r"['\n]"),
    '"""': re.compile(r'\\.|"{3,5}', re.DOTALL),
    "'''": re.compile(r"'{3,5}"),
}
#: The start of the next line that is neither blank nor a comment.
_SAYS_SOMETHING = re.compile(r"^[ \t\r]*[^ \t\r\n#]", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """One header, one `key = value`, or the blank lines and comments between two of these."""

    #: The line on which it begins, counted from 1.
    line: int
    #: The line on which it ends.
    last_line: int
    #: Where in the file its first line begins, in characters.
    start: int
    #: Everything from the start of its first line to the end of its last.
    text: str
    #: How deep its brackets nest, or how many dots one of its keys has, whichever is more.
    depth: int

    @property
    def is_header(self) -> bool:
        return self.text.lstrip(" \t").startswith("[")

    @property
    def says_nothing(self) -> bool:
        return self.text.lstrip()[:1] in ("", "#")


def statements(text: str) -> Iterator[Statement]:
    """The statements of `text` in order: exact for valid TOML, and up to its first mistake for any other."""
    start, line = 0, 1
    while start < len(text):
        next_said = _SAYS_SOMETHING.search(text, start)
        if next_said and next_said.start() == start:
            end, depth = _end_of_statement(text, start)
        else:
            end, depth = next_said.start() if next_said else len(text), 0
        body = text[start:end]
        last_line = line + body.rstrip("\n").count("\n")
        yield Statement(line=line, last_line=last_line, start=start, text=body, depth=depth)
        start, line = end, line + body.count("\n")


def lines_of(text: str, paths: Iterable[Path]) -> dict[Path, int]:
    """The lines on which `paths` are set. A path that the file does not set has the line of the table it would be
    in, and line 1 if that is missing as well.
    """
    wanted = set(paths)
    missing = {path[:length] for path in wanted for length in range(1, len(path) + 1)}
    found: dict[Path, int] = {(): 1}
    for path, line in declarations(text):
        if path in missing:
            missing.discard(path)
            found[path] = line
            if not missing:
                break
    return {path: found[longest_of(path, found)] for path in wanted}


def longest_of(path: Path, known: Container[Path]) -> Path:
    """The longest beginning of `path` that is known; the empty path always is."""
    return next((path[:length] for length in range(len(path), 0, -1) if path[:length] in known), ())


def declarations(text: str) -> Iterator[tuple[Path, int]]:
    """Every path that the file sets, with its line, in order and as often as it is set; up to the first mistake."""
    header: Path = ()
    for statement in statements(text):
        if statement.says_nothing:
            continue
        try:
            says = tomllib.loads(statement.text)
        except ValueError:
            return
        if statement.is_header:
            header = _only_path(says)
            for length in range(1, len(header) + 1):
                yield header[:length], statement.line
        else:
            for path in _paths(says, header):
                yield path, statement.line


def path_set_by(statement: Statement, header: Path) -> Path:
    """The path that a header opens, or that the key of any other statement sets; empty if that cannot be told.

    The value may be broken: only what stands before the equals sign is read.
    """
    first_line = statement.text.partition("\n")[0]
    if statement.is_header:
        header, candidates = (), [first_line]
    else:
        # A quoted key may hold equals signs of its own: the first beginning that reads as a key is the key.
        signs = islice(re.finditer("=", first_line), 8)
        candidates = [first_line[: sign.end()] + "0" for sign in signs]
    for candidate in candidates:
        try:
            return header + _only_path(tomllib.loads(candidate))
        except ValueError:
            continue
    return ()


def _end_of_statement(text: str, start: int) -> tuple[int, int]:
    """Where the line after the statement that begins at `start` begins, and how deep the statement nests."""
    inside = ""
    brackets = dots = deepest = 0
    position = start
    while found := _NEXT[inside].search(text, position):
        position, mark = found.end(), found.group()
        if mark == "\n":
            inside = ""
            if brackets == 0:
                return position, deepest
        elif inside:
            if mark.startswith(inside):
                inside = ""
        elif mark in _NEXT:
            inside = mark
        elif mark == ".":
            dots += 1
        else:
            dots = 0
            brackets = max(0, brackets + (mark in "[{") - (mark in "]}"))
        deepest = max(deepest, brackets, dots)
    return len(text), deepest


def _paths(table: Mapping[str, object], above: Path) -> Iterator[Path]:
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))


def _only_path(table: object) -> Path:
    """The one path that a table with a single key at each level leads to; arrays of tables count as tables."""
    path: list[str] = []
    while True:
        if isinstance(table, list):
            table = table[0]
        if not isinstance(table, dict) or not table:
            return tuple(path)
        key, table = next(iter(table.items()))
        path.append(key)
