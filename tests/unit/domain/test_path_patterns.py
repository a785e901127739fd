"""Which files a pattern names, and whether two patterns can name the same one: exactly, and in bounded time."""

import itertools
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.errors import WrongUseError
from corral.domain.glob_parts import Table, can_match_the_same, parse_part
from corral.domain.path_patterns import LONGEST_PATTERN, check_request, parse, plain


def overlap(one: str, other: str) -> bool:
    first, second = parse(one), parse(other)
    answer = first.overlaps(second)
    assert second.overlaps(first) == answer, "the order says nothing"
    return answer


@pytest.mark.parametrize(
    ("pattern", "path", "named"),
    [
        ("README.md", "README.md", True),
        ("README.md", "readme.md", False),
        ("README.md", "docs/README.md", False),
        ("./README.md", "README.md", True),
        ("*.md", "README.md", True),
        ("*.md", ".md", True),
        ("*.md", "docs/README.md", False),
        ("*", "a/b", False),
        ("?", "é", True),
        ("?", "ab", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[^a-c]x", "dx", True),
        ("[]x]", "]", True),
        ("[a-]", "-", True),
        (r"app/\[id\]/page.tsx", "app/[id]/page.tsx", True),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", False),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("src/", "src/a", True),
        ("src/", "src/a/b/c", True),
        ("src/", "src", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("src/**/x", "src/x", True),
        ("src/**/x", "src/a/b/x", True),
        ("src/**/x", "src/a/b/y", False),
        ("**", "a", True),
        ("**", "a/b/c", True),
        ("**/x", "x", True),
        ("**/**/x", "a/x", True),
        ("**.py", "a.py", True),
        ("**.py", "d/a.py", False),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/c", False),
    ],
)
def test_a_pattern_names_files(pattern: str, path: str, named: bool) -> None:
    assert parse(pattern).matches(plain(path)) is named


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("src/a.py", "src/b.py", False),
        ("src/*.py", "src/a*", True),
        ("src/*.py", "src/*.ts", False),
        ("src/*.py", "src/*.p?", True),
        ("src/", "src/deep/er/file", True),
        ("src/", "source/", False),
        ("src/**/test_*.py", "src/api/*_x.py", True),
        ("**/a/**/b", "x/b", False),
        ("**/a/**/b", "a/x/y/*", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "*d", False),
        ("*a", "b*", True),
        ("?", "*", True),
        ("[ab]", "[bc]", True),
        ("[ab]", "[cd]", False),
        ("[!a]", "[!b]", True),
        ("**", "x", True),
        # The one name that both match is one that no file can have.
        (".?", "?.", False),
        (".*", "*.", True),
        ("*.", "?", False),
        ("..?", "?..", True),
    ],
)
def test_two_patterns_overlap_if_a_file_can_have_both_names(one: str, other: str, expected: bool) -> None:
    assert overlap(one, other) is expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "names no file"),
        ("/", "/ is an absolute path"),
        ("/etc/passwd", "absolute"),
        ("../x", "'..'"),
        ("a/../b", "'..'"),
        ("a/..", "'..'"),
        ("a/./b", "'.'"),
        (".", "'.'"),
        (r"a/\.\./b", "'..'"),
        ("a//b", "two slashes"),
        ("a\0b", "zero byte"),
        ("[a", "not closed"),
        ("[]", "not closed"),
        ("[.]", "'.'"),
        ("[z-a]", "wrong way round"),
        ("[a/b]", "not closed"),
        ("a\\", "backslash"),
        ("*a" * 17, "17 wildcards"),
        ("[ab]" * 17, "17 wildcards"),
        ("?a" * 17, "17 wildcards"),
        ("**/a/" * 5 + "b", "5 times **"),
        ("src/" + "a" * 250 + "*/" + "b" * 10, "262 characters from its first wildcard on"),
        ("a" * (LONGEST_PATTERN + 1), "too long"),
        ("x" * 100_000, "too long"),
        ("/".join("a" * 65), "parts"),
    ],
)
def test_what_can_be_no_pattern_is_refused_in_words(pattern: str, message: str) -> None:
    with pytest.raises(WrongUseError, match=re.escape(message)) as caught:
        parse(pattern)
    assert caught.value.remedy
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("pattern", "part", "remedy"),
    [
        ("a**b", "a**b", "('a*b'), ** any number of directories ('a/**/b')"),
        ("src/**.py", "**.py", "('*.py'), ** any number of directories ('**/*.py')"),
        ("**/test**/x", "test**", "('test*'), ** any number of directories ('test*/**')"),
        ("x/***", "***", "('*'), ** any number of directories ('**/*')"),
    ],
)
def test_two_stars_that_are_not_a_whole_part_cannot_be_asked_for(pattern: str, part: str, remedy: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        check_request([parse("src/"), parse(pattern)])
    assert f"{pattern!r} has ** in {part!r}" in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize("pattern", ["**", "a/**/b", "**/*.py", r"a\**b", "a[**]b", "*a*"])
def test_stars_that_mean_what_they_say_can_be_asked_for(pattern: str) -> None:
    check_request([parse(pattern)])


@pytest.mark.parametrize("path", ["a/", "../a", "/a", ""])
def test_a_path_is_no_pattern(path: str) -> None:
    with pytest.raises(WrongUseError):
        plain(path)


def test_a_plain_path_is_taken_as_it_is() -> None:
    assert plain("app/[id]/*.tsx").overlaps(parse(r"app/\[id\]/\*.tsx"))
    assert not plain("app/[id]").overlaps(parse("app/[id]"))
    assert parse(plain("app/[id]/*.tsx").text) == plain("app/[id]/*.tsx")
    assert plain("a\udcff").overlaps(parse("a?"))
    assert parse("a/b").is_plain
    assert not parse("a/*").is_plain
    assert not parse("a/").is_plain


# Against a judge that tries every name.

NAMES = ["".join(letters) for size in range(1, 8) for letters in itertools.product("ab.", repeat=size)]
FILE_NAMES = [name for name in NAMES if name not in (".", "..")]
tokens = st.sampled_from(["a", "b", ".", "?", "*", "[ab]", "[!a]", "[.b]"])
parts = st.lists(tokens, min_size=1, max_size=3).map("".join)


def regex_of(part: str) -> "re.Pattern[str]":
    text = part.replace(".", r"\.").replace("?", ".").replace("*", ".*").replace("[!", "[^").replace("[\\.", "[.")
    return re.compile(text)


@given(parts, parts)
def test_two_parts_match_the_same_name_if_there_is_one(one: str, other: str) -> None:
    if one in (".", "..") or other in (".", ".."):
        return
    first, second = regex_of(one), regex_of(other)
    found = next((name for name in FILE_NAMES if first.fullmatch(name) and second.fullmatch(name)), None)
    # Three tokens each: if there is a name at all, there is one of this length.
    assert can_match_the_same(parse_part(one), parse_part(other)) is (found is not None), found


PATHS = ["/".join(names) for size in range(1, 7) for names in itertools.product("abc", repeat=size)]
paths = st.lists(st.sampled_from(["a", "b", "*", "**"]), min_size=1, max_size=4).map("/".join)


def path_regex(pattern: str) -> "re.Pattern[str]":
    parts = pattern.split("/")
    last = len(parts) - 1
    text = ""
    for number, part in enumerate(parts):
        if part == "**":
            text += "(?:[^/]+/)*[^/]+" if number == last else "(?:[^/]+/)*"
        else:
            text += part.replace("*", "[^/]+") + ("" if number == last else "/")
    return re.compile(text)


@given(paths, paths)
def test_two_patterns_meet_if_there_is_a_path(one: str, other: str) -> None:
    first, second = path_regex(one), path_regex(other)
    found = next((path for path in PATHS if first.fullmatch(path) and second.fullmatch(path)), None)
    assert overlap(one, other) is (found is not None), found


@given(paths, st.sampled_from(PATHS))
def test_a_pattern_names_what_an_expression_says(pattern: str, path: str) -> None:
    assert parse(pattern).matches(plain(path)) is (path_regex(pattern).fullmatch(path) is not None)


@given(st.text(max_size=60))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    try:
        pattern = parse(text)
    except WrongUseError:
        return
    assert pattern.overlaps(pattern), "it names itself"


def test_a_long_name_of_which_no_character_is_text_is_a_pattern() -> None:
    assert parse("docs/" + "?" * 250).matches(plain("docs/" + "\udcff" * 250))


# Made to take for ever: of two that nearly meet at many places, as much as a request may have.


def test_a_request_may_have_so_many_wildcards_and_no_more() -> None:
    check_request([parse(f"src/{number}/**/*.py") for number in range(16)])
    check_request([parse(f"src/{number}/") for number in range(64)])
    with pytest.raises(WrongUseError, match="these 17 patterns have 34 wildcards") as caught:
        check_request([parse(f"src/{number}/**/*.py") for number in range(17)])
    assert "at most 32" in caught.value.remedy
    with pytest.raises(WrongUseError, match="600 characters from their first wildcards on"):
        check_request([parse("?" + "a" * 199)] * 3)


NASTY = [
    "*a" * 15 + "{}[ab]",
    "**/*a*/" * 4 + "*{}[ab]",
    "**/" + "?a/" * 12 + "*{}[ab]",
    "**/" + "?" * 240 + "*{}[ab]",
    "**/" + "a" * 200 + "*{}[ab]",
    "**/" + "a/" * 60 + "*{}[ab]",
    "**/" + "*[ab]?[!b]/" * 3 + "*{}[ab]",
]


@pytest.mark.parametrize("nasty", NASTY)
def test_two_patterns_are_compared_in_as_many_steps_as_one_has_characters(
    monkeypatch: pytest.MonkeyPatch, nasty: str
) -> None:
    steps = 0
    through_one_of = Table._through_one_of

    def counted(self: Table, *args: Any) -> Any:
        nonlocal steps
        steps += 1
        return through_one_of(self, *args)

    monkeypatch.setattr(Table, "_through_one_of", counted)
    one, other = parse(nasty.format("x")), parse(nasty.format("y"))
    assert not one.overlaps(other)
    # Three for each star at the beginning of a part, while it is not known to be no dots.
    assert 0 < steps <= 4 * max(len(one.text), len(other.text))


@pytest.mark.parametrize(("written", "text"), [("./README.md", "README.md"), ("./src/", "src/"), ("./", "**")])
def test_a_dot_at_the_beginning_is_left_out(written: str, text: str) -> None:
    assert parse(written) == parse(text)
    assert parse(written).text == text
    if not written.endswith("/"):
        assert plain(written).text == text
