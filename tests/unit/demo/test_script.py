"""The line language of demo agents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.demo.script import (
    Claim,
    Commit,
    Confused,
    Exit,
    Hold,
    Merge,
    Say,
    Submit,
    Think,
    Wait,
    Write,
    parse,
)


def test_every_instruction() -> None:
    text = """
    Please do this, carefully:
    write docs/a.md: # Title: with a colon
    append docs/a.md: more
    commit: Say what is there
    wait: 0.5
    say:  hello
    claim: 60
    hold docs/a.md: 2.5
    merge: main
    submit: 90
    exit: 3
    """
    assert parse(text) == [
        Think("Please do this, carefully:"),
        Write("docs/a.md", "# Title: with a colon", append=False),
        Write("docs/a.md", "more", append=True),
        Commit("Say what is there"),
        Wait(0.5),
        Say("hello"),
        Claim(60),
        Hold("docs/a.md", 2.5),
        Merge("main"),
        Submit(90),
        Exit(3),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "note: this",
        "write about it: soon",
        "commit often: yes",
        "writer: x",
        "https://example.invalid",
        "hold on a moment: 5",
        "claim back: 5",
        "merge it: now",
    ],
)
def test_prose_is_thought_about(line: str) -> None:
    assert parse(line) == [Think(line)]


@pytest.mark.parametrize(
    "line",
    ["write: text", "append :text", "commit:", "wait: soon", "wait: -1", "wait: nan", "wait: 1e9", "exit: 256",
     "exit: -1", "exit: x", "exit: ²", "exit: 00000000001", "claim:", "claim: a task", "submit: -1", "hold: 5",
     "hold a.py: long", "merge:", "merge: main now", "merge: --abort"],
)  # fmt: skip
def test_a_wrong_instruction_is_told_from_prose(line: str) -> None:
    (step,) = parse(line)
    assert isinstance(step, Confused)
    assert step.why


@given(st.text())
def test_any_text_can_be_followed(text: str) -> None:
    assert len(parse(text)) <= text.count("\n") + 1
