"""A `corral.toml` that is no TOML, says a thing twice, or cannot even be read as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import BadSpecError
from corral.domain.spec import MAX_BYTES, decode, parse
from tests.unit.domain.mistakes import AGENT, FILE, TEAM, Mistake, assert_told, told_as_several

MISTAKES = {
    # Not TOML
    "text without quotes": Mistake("[team]\nname = shop\n", 2, "team.name", "not TOML: invalid value", "needs quotes"),
    "a key without a value": Mistake("[team]\nname\n", 2, "syntax", "expected '=' after a key", "key = "),
    "no header's end": Mistake("[team\nname = 'a'\n", 1, "syntax", "expected ']'", "[agents.builder]"),
    "an open array": Mistake(
        AGENT + "env = {}\nprompt = [\n'a'\ncount = 2\n", 6, "agents.builder.prompt", "unclosed array", "comma"
    ),
    "an open text": Mistake('[team]\nname = "shop\n', 2, "team.name", "illegal character", 'use """'),
    "an open long text": Mistake(
        AGENT + 'prompt = """\nDo.\n\n[this]\n', 5, "agents.builder.prompt", "the file ends in the middle", "close it"
    ),
    "an open array at the end": Mistake(
        TEAM + "[agents.b]\ncommand = [\n'a',\n", 4, "agents.b.command", "the file ends in the middle", "close it"
    ),
    "a Windows path": Mistake(TEAM + 'repo = "C:\\x"\n', 3, "team.repo", "unescaped '\\'", "single quotes"),
    "two values": Mistake('[team]\nname = "a" "b"\n', 2, "team.name", "expected newline", "key = "),
    "a control character in a comment": Mistake(TEAM + "# \x00\n", 3, "syntax", "invalid character", "key = "),
    "a number without end": Mistake(
        TEAM + f"[agents.b]\ncount = {'9' * 5000}\ncommand = 'x'\n", 4, "agents.b.count", "too long", "shorter"
    ),
    "brackets without end": Mistake(TEAM + "x = " + "[" * 5000 + "\n", 3, "syntax", "nested more than 32", "close"),
    "dots without end": Mistake(TEAM + "a." * 5000 + "a = 1\n", 3, "syntax", "nested more than 32", "close"),
    # Said twice
    "a key twice": Mistake(
        AGENT + '# comment\ncommand = ["codex"]\n',
        6,
        "agents.builder.command",
        "already set, on line 4",
        "keep one of the two",
    ),
    "a key twice at the end of the file": Mistake(
        TEAM + 'name = "b"', 3, "team.name", "already set, on line 2", "keep one"
    ),
    "a table twice": Mistake(
        AGENT + "[agents.x]\ncommand = 'x'\n[agents.builder]\n",
        7,
        "agents.builder",
        "already declared, on line 3",
        "another name",
    ),
    "a table in two places": Mistake(
        AGENT + 'env = { A = "1" }\nenv.B = "2"\n',
        6,
        "agents.builder.env.B",
        "agents.builder.env is already complete, on line 5",
        "one place",
    ),
    "a variable twice": Mistake(
        AGENT + 'env = { A = "1", A = "2" }\n', 5, "agents.builder.env", "duplicate inline table key 'A'", "keep one"
    ),
    "a number and a name that meet": Mistake(
        AGENT + 'count = 2\n[agents.builder-2]\ncommand = "x"\n',
        6,
        "agents.builder-2",
        "the agent builder-2 is declared twice, by [agents.builder] and by [agents.builder-2]",
        "another name",
    ),
    # The file itself
    "an empty file": Mistake("", 1, "team", "missing", "add [team]"),
    "a prompt of more than 1 MiB": Mistake(
        AGENT + f'prompt = "{"x" * MAX_BYTES}"\n', 1, "file", "more than 1048576 bytes", "keep long instructions"
    ),
    "half a character": Mistake(TEAM + "# \udce4\n", 3, "file", "not UTF-8", "save the file as UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_line_key_and_remedy(mistake: Mistake) -> None:
    assert_told(mistake)


def test_one_mistake_is_one_problem() -> None:
    assert told_as_several(MISTAKES) == {"an empty file"}  # which lacks a second thing by its nature


def test_bytes_that_are_not_utf8_are_told_with_their_line() -> None:
    with pytest.raises(BadSpecError, match=f"^{FILE}:2: file: the text is not UTF-8"):
        decode(b"[team]\nname = '\xff'\n", FILE)


def test_too_many_bytes_are_not_even_decoded() -> None:
    with pytest.raises(BadSpecError, match="more than 1048576 bytes"):
        decode(b"\xff" * (MAX_BYTES + 1), FILE)
    assert decode(b"x" * MAX_BYTES, FILE) == "x" * MAX_BYTES


EXAMPLE = (
    AGENT + 'count = 2\nenv = { A = "1", B = """x\ny""" }\nprompt = \'\'\'\nGo.\n\'\'\'\n[agents.c]\ncommand = "x"\n'
)


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(EXAMPLE)), st.integers(0, 12), st.text("\n\r\t\0 =[]{}'\"#.,\\\\a1ä\ud800", max_size=4)
        )
    )
)
def test_whatever_a_slip_of_the_hand_does_to_a_file_it_is_read_or_told_of(slips: list[tuple[int, int, str]]) -> None:
    text = EXAMPLE
    for at, length, typed in slips:
        text = text[:at] + typed + text[at + length :]
    try:
        parse(text, FILE)
    except BadSpecError as error:
        problems = error.details["problems"]
        assert isinstance(problems, list)
        for problem in problems:
            assert 1 <= problem["line"] <= text.count("\n") + 1
            assert problem["key"]
            assert problem["message"]
            assert problem["remedy"]
