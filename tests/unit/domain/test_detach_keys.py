"""Leaving a shared terminal with ctrl-b d, however the keys arrive."""

import pytest

from corral.domain.detach_keys import DetachKeys


def fed(*pieces: bytes) -> tuple[bytes, bool]:
    keys, passed = DetachKeys(), b""
    for piece in pieces:
        more, leaves = keys.feed(piece)
        passed += more
        if leaves:
            return passed, True
    return passed, False


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"hello\r"], (b"hello\r", False)),
        ([b"\x02d"], (b"", True)),
        ([b"\x02", b"d"], (b"", True)),
        ([b"ab\x02dzz"], (b"ab", True)),
        ([b"\x02\x02"], (b"\x02", False)),
        ([b"\x02\x02d"], (b"\x02d", False)),
        ([b"\x02c"], (b"\x02c", False)),
        ([b"\x02", b"\x1b[A"], (b"\x02\x1b[A", False)),
        ([b"\x03"], (b"\x03", False)),
    ],
)
def test_what_goes_to_the_program(pieces: list[bytes], expected: tuple[bytes, bool]) -> None:
    assert fed(*pieces) == expected


def test_a_prefix_waits_for_the_next_key() -> None:
    assert DetachKeys().feed(b"a\x02") == (b"a", False)
