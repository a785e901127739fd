"""What is asked, as JSON: the same that the standard library says, without loading it."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import corral
from corral.client.encoding import encoded

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(_VALUES)
def test_it_says_what_the_standard_library_says(value: object) -> None:
    assert json.loads(encoded(value)) == json.loads(json.dumps(value))


@pytest.mark.parametrize("text", ['"', "\\", "\0", "\x1f\x7f", "\u2028", "😀", "é", "\udc80", ""])
def test_every_character_is_escaped_as_there(text: str) -> None:
    assert encoded({text: text}) == json.dumps({text: text}, ensure_ascii=False, separators=(",", ":"))


def test_names_that_are_no_strings_become_such_as_there() -> None:
    assert json.loads(encoded({1: "a", None: "b"})) == {"1": "a", "null": "b"}


def test_nothing_of_it_loads_the_encoder() -> None:
    script = "import sys; from corral.client.encoding import encoded; encoded({'a': ['b', 1]}); print(*sys.modules)"
    where = {"PYTHONPATH": os.path.dirname(corral.__path__[0])}
    told = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True, env=where)
    assert {"json", "re"}.isdisjoint(told.stdout.split())
