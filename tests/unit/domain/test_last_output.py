"""The end of an output, from the record and the screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.last_output import INTERRUPTED, SKIPPED, missing_end


@pytest.mark.parametrize(
    ("recorded", "shown", "missing"),
    [
        ([], [], ""),
        ([], ["boom"], "boom"),
        (["one", "two"], ["one", "two"], ""),
        (["one"], ["one", "two", "three"], "\ntwo\nthree"),
        (["one", "tw"], ["one", "two"], "o"),
        (["one", "", "two"], ["one", "two", "", ""], ""),
        (["a", "same"], ["same", "same", "a", "same", "end"], "\nend"),
        (["dot", "dot"], ["dot", "dot", "dot"], "\ndot"),
        (["gone above", "x", "y"], ["x", "y", "z"], "\nz"),
        (["far above"], ["middle", "end"], "middle\nend"),
        (["painted", "end"], ["frame", "end"], ""),
        (["one", "two", INTERRUPTED], ["one", "two", "three"], "\nthree"),
        (
            ["one", INTERRUPTED, "two", "ok", SKIPPED, "three", "ok"],
            ["one", "two", "ok", "three", "ok", "4", "ok"],
            "\n4\nok",
        ),
        (["one", "tw", INTERRUPTED, "o", "three"], ["one", "two", "three", "four"], "\nfour"),
        (["the prompt:", INTERRUPTED, "go on", "x"], ["the prompt: go on", "x", "y"], "\ny"),
        (["a\tb", "c"], ["a       b", "c d"], " d"),
        ([INTERRUPTED], ["one"], "one"),
    ],
)
def test_what_the_screen_has_beyond_the_record(recorded: list[str], shown: list[str], missing: str) -> None:
    assert missing_end(recorded, shown) == missing


@given(st.lists(st.from_regex(r"[a-z]{1,4}[0-9]{3}", fullmatch=True), min_size=1, unique=True), st.data())
def test_a_record_that_was_cut_anywhere_becomes_whole(lines: list[str], data: st.DataObject) -> None:
    output = "\n".join(lines)
    cut = data.draw(st.integers(0, len(output)))
    recorded = output[:cut]
    whole = recorded + missing_end(recorded.split("\n"), lines)
    assert [line for line in whole.split("\n") if line] == lines
