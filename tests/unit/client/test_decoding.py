"""What is answered, as JSON: the same that the standard library reads in it, without loading it."""

import json
import math
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import corral
from corral.client.decoding import decoded

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_it_reads_what_the_standard_library_wrote(value: object, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    assert decoded(text) == value
    assert decoded(b" \t\r\n" + text + b" \t\r\n") == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\u\n\tNI', max_size=12))
def test_of_anything_else_it_says_the_same_as_the_standard_library(text: str) -> None:
    try:
        expected: object = json.loads(text)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            decoded(text.encode())
    else:
        assert repr(decoded(text.encode())) == repr(expected)


@pytest.mark.parametrize("text", [b"", b" ", b"{", b'{"a":1}x', b'{"a":1} {}', b"\xff", b'"\n"', b"[1,]", b"nul"])
def test_what_is_no_json_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decoded(text)


def test_constants_are_as_there() -> None:
    found = decoded(b"[NaN, Infinity, -Infinity]")
    assert isinstance(found, list)
    assert math.isnan(found[0])
    assert found[1:] == [math.inf, -math.inf]


def test_what_is_too_deep_is_told_as_there() -> None:
    with pytest.raises(RecursionError):
        decoded(b"[" * 100_000)


def test_nothing_of_it_loads_the_parser() -> None:
    script = "import sys; from corral.client.decoding import decoded; decoded(b'{\"a\": [1.5]}'); print(*sys.modules)"
    where = {"PYTHONPATH": os.path.dirname(corral.__path__[0])}
    told = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True, env=where)
    assert {"json", "re"}.isdisjoint(told.stdout.split())


def test_a_python_whose_parser_wants_to_know_more_is_served_by_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_scanner(context: object) -> object:
        raise AttributeError("no attribute 'hook_of_the_future'")

    monkeypatch.setattr("_json.make_scanner", make_scanner)
    assert decoded(b' {"a": [1, 2.5, null]} ') == {"a": [1, 2.5, None]}
    with pytest.raises(ValueError, match=r"."):
        decoded(b"{")
