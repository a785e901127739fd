"""What a demo agent shows."""

import io

from corral.demo.screen import Screen, summary


def shown(terminal: bool, *calls: tuple[str, object]) -> str:
    out = io.StringIO()
    screen = Screen(out, terminal)
    for name, argument in calls:
        getattr(screen, name)(argument)
    return out.getvalue()


def test_ready_begins_a_line_and_shows_what_was_typed() -> None:
    assert shown(True, ("ready", "hel")) == "\r\x1b[Kdemo> hel"


def test_a_long_line_shows_its_end_and_never_wraps() -> None:
    drawn = shown(True, ("ready", "a" * 100 + "日本"))
    assert drawn.startswith("\r\x1b[Kdemo> aaa")
    assert drawn.endswith("日本")
    assert len(drawn.removeprefix("\r\x1b[K")) == 79 - 2


def test_many_lines_are_measured_not_shown() -> None:
    assert summary("a\nb") == "[2 lines, 3 bytes]"
    assert summary("x" * 401) == "[1 lines, 401 bytes]"


def test_nothing_that_is_printed_can_move_the_cursor() -> None:
    assert shown(True, ("line", "a\x1b[2J\rb")) == "\r\x1b[Ka·[2J·b\n"


def test_without_a_terminal_there_are_no_escape_sequences() -> None:
    out = io.StringIO()
    screen = Screen(out, terminal=False)
    screen.open()
    screen.ready("")
    screen.working(1, 2)
    screen.line("text")
    screen.bell()
    screen.close()
    assert out.getvalue() == "demo>\ntext\n"
