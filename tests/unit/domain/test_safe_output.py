"""Recorded output that may be shown on somebody else's terminal."""

import pytest

from corral.domain.safe_output import SafeOutput


@pytest.mark.parametrize(
    "output",
    [
        "plain text, ümläut ✓\r\n\t",
        "\x1b[1;31mred\x1b[0m",
        "\x1b[2J\x1b[H\x1b[10;20H\x1b[K",
        "\x1b[?25l\x1b[?25h\x1b[?1049h\x1b[?1049l",
        "\x1b7\x1b8\x1b(B\x1b(0",
        "\x1b[38;5;196m\x1b[48:2::1:2:3m",
        "\x1b[4h-\x1b[79b\x1b[4l",
    ],
)
def test_what_paints_is_shown(output: str) -> None:
    assert SafeOutput().feed(output) == output


@pytest.mark.parametrize(
    "output",
    [
        "\x1b]52;c;cm0gLXJm\x07",
        "\x1b]0;a title\x1b\\",
        "\x1b[6n",
        "\x1b[5n",
        "\x1b[c",
        "\x1b[>c",
        "\x1b[>q",
        "\x1b[21t",
        "\x1b[?1000h",
        "\x1b[?2004h",
        "\x1b[>4;2m",
        "\x1b[>1u",
        "\x1bP+q544e\x1b\\",
        "\x1b_Gi=1;AAAA\x1b\\",
        "\x1bc",
        "\x1bZ",
        "\x05",
        "\x07",
        "\x1b]0;cut off by another\x1b[6n",
        "\x1b[!p",
        "\x1b[1$p",
        "\x1b[20h",
        "\x1b[999999999b",
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_what_asks_or_changes_a_terminal_is_not(output: str, whole: bool) -> None:
    pieces = [output] if whole else list(output)
    safe = SafeOutput()
    shown = "".join(safe.feed(piece) for piece in ["a", *pieces, "b"])
    assert shown == "ab"


@pytest.mark.parametrize("begun", ["\x1b[3", "\x1b[?10", "\x1b[ ", "\x1b(", "\x1b]0;title", "\x1bP1"])
@pytest.mark.parametrize("cancel", ["\x18", "\x1a", ""])
def test_what_was_cut_off_holds_up_nothing(begun: str, cancel: str) -> None:
    safe = SafeOutput()
    assert safe.feed(f"a{begun}") == "a"
    assert safe.feed(f"{cancel}\x1b[mb") == "\x1b[mb"


def test_of_several_modes_the_harmless_are_kept() -> None:
    assert SafeOutput().feed("\x1b[?25;1000;1049h") == "\x1b[?25;1049h"


def test_what_never_ends_is_not_kept_for_ever() -> None:
    safe = SafeOutput()
    for _ in range(100):
        safe.feed("\x1b]52;" + "x" * 1000)
    assert len(safe._rest) <= 4096
