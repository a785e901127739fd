"""From the text of a TOML file to its tables; what is not TOML gets file, line, key and what would be right.

Also keeps away what would cost more than it can be worth: files beyond a size, nesting beyond a depth.
"""

import re
import tomllib

from corral.domain.errors import BadSpecError
from corral.domain.spec_lines import Path, Statement, declarations, longest_of, path_set_by, statements
from corral.domain.spec_problems import Problem, bad_spec, shown_path
from corral.domain.spec_text import MAX_BYTES, not_utf8, too_large

#: No table of ours goes deeper than five. Far beyond that tomllib recurses too deep or takes quadratic time.
MAX_DEPTH = 32

_POSITION = re.compile(r"\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
_SYNTAX = ("syntax",)
_GENERAL_REMEDY = 'write key = "text", key = 2, key = ["a", "b"], or a header such as [agents.builder]'
#: What people mean when tomllib says this.
_REMEDIES = (
    ("Invalid value", 'text needs quotes: key = "text"; numbers, true and false go without'),
    ("Unescaped '\\'", "write the text in single quotes, which keep a backslash as it is, or double the backslash"),
    ("Unclosed", "close it with ] or }, and put a comma between the items"),
    ("Illegal character '\\n'", 'close the text with a quote on the same line, or use """ for text of several lines'),
    ("Expected '=' after a key", 'write key = "text", and put quotes around a key with blanks or dots in it'),
    ("Duplicate inline table key", "keep one of them"),
)


def load(text: str, file: str) -> dict[str, object]:
    """The tables of a TOML file. Raises BadSpecError if the text is too large, too deep, or not TOML."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise not_utf8(file, text.count("\n", 0, error.start) + 1) from error
    if size > MAX_BYTES:
        raise too_large(file)
    for statement in statements(text):
        if statement.depth > MAX_DEPTH:
            raise _bad(
                file, statement.line, _SYNTAX, f"nested more than {MAX_DEPTH} deep", "close a bracket or a quote"
            )
    try:
        return tomllib.loads(text)
    except ValueError as error:
        # Also integers of thousands of digits, which are no TOMLDecodeError.
        raise _explained(text, file, str(error)) from error


def _explained(text: str, file: str, complaint: str) -> BadSpecError:
    position = _POSITION.search(complaint)
    what = complaint[: position.start()] if position else complaint
    at_line = int(position["line"] or text.count("\n") + 1) if position else None
    statement, header = _statement_at(text, at_line)
    path = path_set_by(statement, header)
    if path and _can_stand_alone(statement):
        # Good TOML by itself, so it clashes with what stands above it.
        return _clash(file, text[: statement.start], statement, path)
    remedy = next((remedy for start, remedy in _REMEDIES if what.startswith(start)), _GENERAL_REMEDY)
    line = statement.line
    if position is None:
        what, remedy = "the number is too long", "write a shorter one, or put it in quotes"
    elif position["line"] is None:
        what, remedy = "the file ends in the middle of it", "close it with the quotes or the bracket that open it"
    else:
        what = what[:1].lower() + what[1:]
        if not what.startswith("unclosed"):
            line, what = int(position["line"]), f"{what} (column {position['column']})"
    return _bad(file, line, path or _SYNTAX, f"this is not TOML: {what}", remedy)


def _statement_at(text: str, line: int | None) -> tuple[Statement, Path]:
    """The statement that `line` is part of, or without a line the first that is wrong by itself; and its header."""
    header: Path = ()
    found = Statement(line=1, last_line=1, start=0, text="", depth=0)
    for statement in statements(text):
        if found.is_header:
            header = path_set_by(found, ())
        found = statement
        if line is None:
            if not _can_stand_alone(statement):
                break
        elif line <= statement.last_line:
            break
    return found, header


def _can_stand_alone(statement: Statement) -> bool:
    try:
        tomllib.loads(statement.text)
    except ValueError:
        return False
    return True


def _clash(file: str, above: str, statement: Statement, path: Path) -> BadSpecError:
    lines: dict[Path, int] = {}
    for declared, line in declarations(above):
        lines.setdefault(declared, line)
    other = longest_of(path, lines)
    first = lines.get(other, 1)
    if other != path:
        message = f"{shown_path(other)} is already complete, on line {first}"
        remedy = f"put all of {shown_path(other)} in one place"
    elif statement.is_header:
        message = f"this table is already declared, on line {first}"
        remedy = f"move its keys to line {first}, or give this table another name"
    else:
        message = f"this key is already set, on line {first}"
        remedy = "keep one of the two"
    return _bad(file, statement.line, path, message, remedy)


def _bad(file: str, line: int, path: Path, message: str, remedy: str) -> BadSpecError:
    return bad_spec([Problem(file=file, line=line, key=shown_path(path), message=message, remedy=remedy)])
