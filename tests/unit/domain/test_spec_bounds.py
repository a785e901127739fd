"""A file of 1 MiB, however it is made, is told what is wrong with it in bounded time and with a bounded answer."""

import difflib
import time
from collections.abc import Callable

import pytest

from corral.domain.errors import BadSpecError
from corral.domain.spec import MAX_BYTES, name_in, parse

TEAM = '[team]\nname = "shop"\n'
#: Some three times what the slowest takes on a small machine; what this must catch takes minutes or a crash.
SECONDS = 15.0


def filled(before: str, unit: str, after: str = "") -> str:
    return before + unit * ((MAX_BYTES - len(before + after)) // len(unit)) + after


def numbered(before: str, line: Callable[[int], str]) -> str:
    text = [before]
    size = len(before)
    while size < MAX_BYTES - 400:
        text.append(line(len(text)))
        size += len(text[-1])
    return "".join(text)


FILES = {
    "blank lines": filled(TEAM, "\n"),
    "comments": filled(TEAM, "#\n"),
    "unknown keys": numbered(TEAM, "k{}=1\n".format),
    "unknown tables": numbered(TEAM, "[t{}]\n".format),
    "agents without a command": numbered(TEAM, "[agents.a{}]\n".format),
    "variables that are numbers": numbered(TEAM + "[agents.a]\n[agents.a.env]\n", "K{}=1\n".format),
    "a key twice, far apart": filled(TEAM, "#\n", 'name = "b"\n'),
    "an array without end": filled(TEAM + "x=[", "1,\n"),
    "a text without end": filled(TEAM + 'x="""', '\\"\n'),
    "brackets": filled(TEAM + "x=", "["),
    "dots in a key": filled(TEAM, "a.", "b=1\n"),
    "dots in a header": filled(TEAM + "[", "a.", "b]\n"),
    "dots in a table": filled(TEAM + "x={", "a.", "b=1}\n"),
    "equals signs": filled(TEAM + "x", "="),
    "digits": filled(TEAM + "x=", "9"),
    "a long key": filled(TEAM, "a", "=1\n"),
    "as deep as may be": numbered(TEAM, lambda number: f"[{'a.' * 30}b{number}]\n"),
    "a table in an array, again and again": filled(TEAM, "[[a.b]]\n"),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_large_bad_file(text: str) -> None:
    assert len(text) <= MAX_BYTES
    started = time.process_time()
    with pytest.raises(BadSpecError) as caught:
        parse(text, "/home/ann/shop/corral.toml")
    assert time.process_time() - started < SECONDS
    assert len(caught.value.message) < 20_000


def test_no_count_makes_more_agents_than_a_team_can_have() -> None:
    text = numbered(TEAM, lambda number: f"[agents.a{number}]\ncommand='x'\ncount=1000\n")
    with pytest.raises(BadSpecError, match="more than 1000 agents"):
        parse(text, "/home/ann/shop/corral.toml")


@pytest.mark.parametrize(
    "text",
    [
        numbered(TEAM + "[agents.a]\n", "comand{} = 1\n".format),
        TEAM + "".join(f'[agents.a{n}]\ncommand = "x"\nafter = ["b{n}", "c{n}"]\n' for n in range(1000)),
    ],
    ids=["keys", "agents"],
)
def test_what_was_meant_is_guessed_for_as_many_words_as_mistakes_are_told_of(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    guessed: list[str] = []

    def guess(word: str, *_: object, **__: object) -> list[str]:
        guessed.append(word)
        return []

    monkeypatch.setattr(difflib, "get_close_matches", guess)
    with pytest.raises(BadSpecError, match="and at least 901 more") as caught:
        parse(text, "/home/ann/shop/corral.toml")
    assert len(guessed) <= 100
    assert (len(caught.value.details["problems"]), caught.value.details["left_out"]) == (100, 901)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (TEAM, "shop"),
        ("\ufeff" + TEAM + "[agents.a]\nnothing = 1\n", "shop"),
        ('[team]\nname = "Shop!"', ""),
        ("[team]\nname = 1", ""),
        ("[team]", ""),
        ('team = "shop"', ""),
        ("[team", ""),
        (TEAM + "\ud800", ""),
    ],
)
def test_the_name_alone_is_read_whatever_else_is_wrong(text: str, name: str) -> None:
    assert name_in(text, "/home/ann/shop/corral.toml") == name
