"""Files with a mistake in them, and what a mistake must be told with."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.spec import parse

FILE = "/home/ann/shop/corral.toml"

TEAM = '[team]\nname = "shop"\n'
REPO = TEAM + 'repo = "."\n'
AGENT = TEAM + '[agents.builder]\ncommand = ["claude"]\n'


@dataclass(frozen=True)
class Mistake:
    """A file with one mistake, and what is said about it."""

    text: str
    line: int
    key: str
    message: str
    remedy: str


def problems_of(text: str) -> tuple[BadSpecError, list[dict[str, object]]]:
    """What is said of a file that must not be taken."""
    with pytest.raises(BadSpecError) as caught:
        parse(text, FILE)
    problems = caught.value.details["problems"]
    assert isinstance(problems, list)
    return caught.value, problems


def assert_told(mistake: Mistake) -> None:
    """It is told with line, key and remedy; and it is told with the same line in a file from Windows."""
    error, problems = problems_of(mistake.text)
    about = [problem for problem in problems if problem["key"] == mistake.key]
    assert about, f"nothing about {mistake.key} in {error.message}"
    (problem,) = about
    assert problem["file"] == FILE
    assert problem["line"] == mistake.line
    assert mistake.message in str(problem["message"])
    assert mistake.remedy in str(problem["remedy"])
    assert f"{FILE}:{mistake.line}: {mistake.key}: {problem['message']}" in error.message.split("\n")
    _, problems = problems_of("\ufeff" + mistake.text.replace("\n", "\r\n"))
    assert mistake.line in [problem["line"] for problem in problems]


def told_as_several(mistakes: Mapping[str, Mistake]) -> set[str]:
    """The names of the mistakes of which more than one problem is told."""
    return {name for name, mistake in mistakes.items() if len(problems_of(mistake.text)[1]) > 1}
