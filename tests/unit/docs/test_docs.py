"""The pages hold what they promise: links lead somewhere, files parse, commands exist with the options shown."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from corral.cli.commands import named
from corral.cli.parse import parse as parse_words
from corral.domain.spec import parse as parse_spec

ROOT = Path(__file__).parents[3]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")])

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(?P<text>.+?) *$", re.MULTILINE)
_TEAM = re.compile(r"^\[team\]", re.MULTILINE)
#: Where a command ends and the shell goes on.
_SHELL = re.compile(r"[|&;<>]+")


@dataclass(frozen=True)
class Block:
    """A fenced block and where it stands, for the name of a test."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{_name(self.page)}:{self.line}"


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _blocks(*languages: str) -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in _FENCE.finditer(text):
            if found["language"] in languages:
                yield Block(page, text.count("\n", 0, found.start()) + 1, found["language"], found["text"])


def _prose(page: Path) -> str:
    return _INLINE_CODE.sub("code", _FENCE.sub("", page.read_text(encoding="utf-8")))


def _anchors(page: Path) -> set[str]:
    """The anchors of a page as GitHub makes them from its headings."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", found["text"].lower()).replace(" ", "-") for found in _HEADING.finditer(text)}


def _commands(block: Block) -> Iterator[str]:
    """The command lines of a block that begin with `corral`: in a session those behind the prompt."""
    prompt = "$ " if block.language == "console" else ""
    for line in block.text.splitlines():
        if line.startswith(prompt + "corral "):
            yield line.removeprefix(prompt)


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.commenters = "#"
    words: list[str] = []
    for word in lexer:
        if _SHELL.fullmatch(word):
            break
        words.append(word)
    return words


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for found in _LINK.finditer(_prose(page)):
        path, _, anchor = found["target"].partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), found["target"]
        assert target.exists(), found["target"]
        assert not anchor or anchor in _anchors(target), found["target"]


@pytest.mark.parametrize("block", [block for block in _blocks("toml") if _TEAM.search(block.text)], ids=str)
def test_a_file_that_is_shown_is_right(block: Block) -> None:
    team = parse_spec(block.text, "/home/ada/shop/corral.toml")
    assert team.agents


@pytest.mark.parametrize("block", [block for block in _blocks("console", "sh") if any(_commands(block))], ids=str)
def test_commands_that_are_shown_exist_with_their_options(block: Block) -> None:
    for line in _commands(block):
        _, name, *rest = _words(line)
        parse_words(named(name).load(), rest)


def test_there_is_something_to_check() -> None:
    assert any(True for _ in _blocks("toml"))
    assert sum(len(list(_commands(block))) for block in _blocks("console", "sh")) > 50
