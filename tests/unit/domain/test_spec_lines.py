"""The line of a key: the line after the longest beginning of the file that tomllib can parse and that lacks the key.

The tests say it in those words, slowly, and hold the fast way against it.
"""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.spec_lines import Path, lines_of, statements


def parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def contains(table: object, path: Path) -> bool:
    for key in path:
        if not isinstance(table, dict) or key not in table:
            return False
        table = table[key]
    return True


def paths_of(table: dict[str, object], above: Path = ()) -> list[Path]:
    found: list[Path] = []
    for key, value in table.items():
        found.append((*above, key))
        if isinstance(value, dict):
            found += paths_of(value, (*above, key))
    return found


def line_by_the_book(text: str, path: Path) -> int:
    ends = [position + 1 for position, letter in enumerate(text) if letter == "\n"] + [len(text)]
    lacking = 0
    for count, end in enumerate(ends, 1):
        beginning = parsed(text[:end])
        if beginning is not None:
            if contains(beginning, path):
                return lacking + 1
            lacking = count
    raise AssertionError(f"{path} is not in the file")


KEYS = st.sampled_from(["a", "b", "c-1", '"d e"', "'f.g'", '"h=\\"[{#"', '""', "7"])
DOTTED = st.lists(KEYS, min_size=1, max_size=3).map(lambda keys: " . ".join(keys) if len(keys) > 2 else ".".join(keys))
#: Everything that could be mistaken for the end of a string, a comment, a header or a new statement.
BAIT = st.lists(
    st.sampled_from(["x", " ", "#", "[a]", "b = 1", "]", "}", "{", "=", ",", ".", "'", '"', "''", '""', "\\\\", "ü"]),
    max_size=6,
).map("".join)
BAIT_LINES = st.lists(BAIT, max_size=4).map("\n".join)


def basic(text: str) -> str:
    return '"' + text.replace("\\\\", "\\").replace("\\", "\\\\").replace('"', '\\"') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "") + "'"


def long_basic(text: str) -> str:
    return '"""' + text.replace('"""', '""\\"') + '"""'


def long_literal(text: str) -> str:
    return "'''" + text.replace("'''", "") + "'''"


SCALARS = st.one_of(
    st.sampled_from(
        ["1", "true", "1.5", "1979-05-27T07:32:00Z", '""', "''", '""""""', '"""""x"""""', "''''''", '"""\\\n  """']
    ),
    BAIT.map(basic),
    BAIT.map(literal),
    BAIT_LINES.map(long_basic),
    BAIT_LINES.map(long_literal),
)


def array(items: list[str], separator: str) -> str:
    return "[" + separator + ("," + separator).join(items) + separator + "]"


def inline_table(pairs: list[tuple[str, str]]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in pairs) + " }"


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(array, st.lists(inner, max_size=3), st.sampled_from(["", " ", "\n", "\n  # ] ' \"\n"])),
        st.lists(st.tuples(DOTTED, inner), max_size=3).map(inline_table),
    ),
    max_leaves=4,
)
STATEMENTS = st.one_of(
    st.sampled_from(["", "  ", "\t", "# [a] b = 1", "  # '''", '# """']),
    st.builds("[{}]".format, DOTTED),
    st.builds("  [ {} ] # x]".format, DOTTED),
    st.builds("[[{}]]".format, DOTTED),
    st.builds("{} = {}".format, DOTTED, VALUES),
    st.builds("\t{}={} # ' \"".format, DOTTED, VALUES),
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """A valid TOML file: statements are put together as long as the whole can still be parsed."""
    text = ""
    for statement in draw(st.lists(STATEMENTS, max_size=12)):
        if parsed(f"{text}{statement}\n") is not None:
            text += statement + "\n"
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text


@given(files())
def test_every_key_of_a_file_has_the_line_that_the_parser_gives_it(text: str) -> None:
    table = parsed(text)
    assert table is not None
    paths = paths_of(table)
    assert lines_of(text, paths) == {path: line_by_the_book(text, path) for path in paths}


@given(files())
def test_statements_are_the_file_cut_into_pieces_that_can_be_parsed(text: str) -> None:
    pieces = list(statements(text))
    assert "".join(piece.text for piece in pieces) == text
    for piece in pieces:
        assert parsed(piece.text) is not None
        assert text[: piece.start].count("\n") + 1 == piece.line
        assert piece.last_line - piece.line == piece.text.rstrip("\n").count("\n")


@given(st.text("ab=[]{}'\"#.,\\\n \r", max_size=60))
def test_anything_at_all_is_cut_without_loss(text: str) -> None:
    assert "".join(piece.text for piece in statements(text)) == text
    assert lines_of(text, [("a",), ("a", "b")]).keys() == {("a",), ("a", "b")}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("team",), 2),
        (("team", "name"), 3),
        (("agents", "a"), 5),
        (("agents", "a", "prompt"), 6),
        (("agents", "a", "command"), 9),
        (("agents", "a", "env"), 13),
        (("agents", "a", "env", "B"), 13),
        (("agents", "a", "env", "C"), 14),
        # Not in the file: the table that it would be in.
        (("agents", "a", "restart"), 5),
        (("agents", "x"), 5),
        (("other",), 1),
        ((), 1),
    ],
)
def test_lines_in_an_example(path: Path, line: int) -> None:
    text = '''\
# [agents.x]
[team]
name = "shop"

[agents.a]
prompt = """
name = "no"
[agents.x]"""
command = [
  "x", # ]
  'y',
]
env.B = "1"
env.C = "2"
'''
    assert lines_of(text, [path]) == {path: line}
