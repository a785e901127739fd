"""Patterns with wildcards go through symbolic links where they name them, and never out of the repository."""

import pytest

from corral.domain.errors import RefusedError
from corral.domain.linked_patterns import Target, can_name_links, followed, names_directories
from corral.domain.path_patterns import parse

LINKS = {
    "esc": Target(None, directory=True),
    "inlink": Target("src", directory=True),
    "src/up": Target(".", directory=True),
    "src/deep/one[1]": Target("lib/x", directory=True),
    "README.md": Target("docs/README.md", directory=False),
    "again": Target("src/up2", directory=True),
    "secret.md": Target(None, directory=False),
}


@pytest.mark.parametrize(
    ("pattern", "becomes"),
    [
        ("inl*/a.py", ["inl*/a.py", "src/a.py"]),
        ("inl*/", ["inl*/", "src/"]),
        ("inl*", ["inl*"]),
        ("./inl?nk/**", ["inl?nk/**", "src/**"]),
        ("**/inlink/a.py", ["**/inlink/a.py", "src/a.py"]),
        ("s*/**/one\\[1]/z", ["s*/**/one\\[1]/z", "lib/x/z"]),
        ("src/u?/x", ["src/u?/x", "x"]),
        ("src/u?/", ["src/u?/", "**"]),
        ("R*.md", ["R*.md", "docs/README.md"]),
        ("s*.md", ["s*.md"]),
        ("src/**", ["src/**"]),
        ("src/", ["src/"]),
        ("**", ["**"]),
        ("lib/*.py", ["lib/*.py"]),
        ("s[r]c/deep/*/z", ["s[r]c/deep/*/z", "lib/x/z"]),
    ],
)
def test_a_link_that_a_part_names_is_followed(pattern: str, becomes: list[str]) -> None:
    assert [one.text for one in followed(parse(pattern), LINKS)] == becomes


@pytest.mark.parametrize("pattern", ["es?/passwd", "es?/*", "e*/", "*/passwd", "**/esc/passwd", "in*/u[p]/es?/passwd"])
def test_what_leads_out_is_refused_and_the_link_is_named(pattern: str) -> None:
    with pytest.raises(RefusedError, match=r"out of the repository, by the symbolic link (esc|.*up/esc)"):
        followed(parse(pattern), LINKS)


def test_links_that_lead_in_circles_come_to_an_end() -> None:
    links = {"a/self": Target("a", directory=True), "a/top": Target(".", directory=True)}
    found = {one.text for one in followed(parse("*/*/*/x"), links)}
    assert {"*/*/*/x", "a/*/x", "*/x", "a/x"} <= found


def test_too_many_are_refused_with_a_remedy() -> None:
    links = {f"l{number}": Target(f"d{number}", directory=True) for number in range(100)}
    with pytest.raises(RefusedError, match="more than 64 symbolic links"):
        followed(parse("l*/x"), links)


@pytest.mark.parametrize(
    ("pattern", "links", "directories"),
    [
        ("src/a.py", False, False),
        ("src/", False, False),
        ("src/**", False, False),
        ("**", False, False),
        ("src/*.py", True, False),
        ("**/x", True, False),
        ("*/x", True, True),
        ("*/", True, True),
    ],
)
def test_links_are_asked_for_only_where_they_can_be_named(pattern: str, links: bool, directories: bool) -> None:
    assert can_name_links(parse(pattern)) is links
    assert names_directories(parse(pattern)) is directories
