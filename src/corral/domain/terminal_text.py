"""The text in a terminal's output: what a person would have read, without what moved the cursor and set colours.

A terminal's output is a program for a screen. This runs as much of it as one line needs: a carriage return starts
the line again, so of a progress bar the last state is left; backspace, erasing and moving within the line work;
moving to another row ends the line. Everything else that is not text is dropped.
"""

import re

_TEXT = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f-\x9f]+")

# States of the reader: within which kind of sequence the next character is.
_GROUND, _ESCAPE, _CHARSET, _CONTROL, _TITLE, _STRING = range(6)

#: Sequences are a few characters; what is longer is swallowed, not kept.
_LONGEST_PARAMETERS = 64
#: No screen is wider; a move beyond it must not fill a line with blanks.
_LAST_COLUMN = 1000

#: Final characters of control sequences that go to another row, or move the rows themselves.
_LEAVE_ROW = frozenset("ABEFHLMSTdefr")
_ESCAPES_LEAVE_ROW = frozenset("DEMc")
#: Final characters of those that go back up, or to a place on the screen, and so to what was printed before.
_GO_BACK = frozenset("AFHdf")
#: A program that only clears its screen now and then, as shells do, goes back fewer times.
_REPAINTS_FROM = 6
#: Private modes that put another screen in front of this one.
_OTHER_SCREEN = frozenset({"?47", "?1047", "?1049"})
#: The one that has a picture shown when it is whole.
_PICTURE = "?2026"


class TextCleaner:
    """Takes output in pieces of any size and gives lines of text as soon as nothing can change them any more.

    How the output is cut into pieces makes no difference. What comes out has no control characters but line feeds
    and tabs. A line that is not finished yet is held back; `finish` gives it.
    """

    __slots__ = ("_at", "_edited", "_line", "_out", "_parameters", "_restarted", "_state", "_went_back")

    def __init__(self) -> None:
        self._out: list[str] = []
        self._went_back = 0
        self._reset()

    def _reset(self) -> None:
        self._line = ""
        self._at = 0
        #: A carriage return came: the next text replaces the line.
        self._restarted = False
        #: Something was taken back by backspace, which leaves blanks at the end.
        self._edited = False
        self._state = _GROUND
        self._parameters = ""

    def feed(self, output: str) -> str:
        """The lines that `output` finished, each with its line feed."""
        position, end = 0, len(output)
        while position < end:
            if self._state == _GROUND:
                text = _TEXT.match(output, position)
                if text:
                    self._write(text.group())
                    position = text.end()
                    continue
            self._take(output[position])
            position += 1
        return self._taken()

    def finish(self) -> str:
        """The text of the last, unfinished line; the next `feed` starts anew."""
        if self._line.strip(" "):
            self._out.append(self._finished())
        self._reset()
        return self._taken()

    @property
    def repaints(self) -> bool:
        """True if the output so far was painted over again and again: its lines are then fragments of pictures."""
        return self._went_back >= _REPAINTS_FROM

    def _taken(self) -> str:
        text = "".join(self._out)
        self._out.clear()
        return text

    def _take(self, letter: str) -> None:
        """One character that is not plain text, or is part of a sequence."""
        if letter == "\x1b":
            self._state = _ESCAPE
        elif letter in "\x18\x1a":
            self._state = _GROUND
        elif self._state == _TITLE:
            # A title ends with a bell; one that was cut off must not swallow all that follows.
            if letter in "\x07\x9c\n":
                self._state = _GROUND
        elif self._state == _STRING:
            if letter == "\x9c":
                self._state = _GROUND
        elif letter < " ":
            self._control_character(letter)
        elif self._state == _ESCAPE:
            self._escape(letter)
        elif self._state == _CHARSET:
            # Intermediate characters, then one final one; anything beyond is no sequence at all.
            if not " " <= letter <= "/":
                self._state = _GROUND
                if letter > "~":
                    self._take(letter)
        elif self._state == _CONTROL:
            self._control_sequence(letter)
        elif letter > "\x9f":
            self._write(letter)

    def _control_character(self, letter: str) -> None:
        if letter == "\n":
            self._end_line()
        elif letter == "\r":
            self._at = 0
            self._restarted = True
        elif letter == "\b":
            self._restarted = False
            self._at = max(0, self._at - 1)
            self._edited = True
        elif letter == "\t":
            self._write(letter)
        elif letter in "\v\f":
            self._leave_row()

    def _escape(self, letter: str) -> None:
        if letter == "[":
            self._state, self._parameters = _CONTROL, ""
        elif letter == "]":
            self._state = _TITLE
        elif letter in "PX^_":
            self._state = _STRING
        elif letter == "k":
            # The title of a window, as screen and tmux know it.
            self._state = _TITLE
        elif " " <= letter <= "/":
            self._state = _CHARSET
        else:
            self._state = _GROUND
            if letter in _ESCAPES_LEAVE_ROW:
                self._leave_row()
            elif letter > "~":
                self._take(letter)

    def _control_sequence(self, letter: str) -> None:
        if " " <= letter <= "?":
            if len(self._parameters) < _LONGEST_PARAMETERS:
                self._parameters += letter
            return
        self._state = _GROUND
        if letter > "~":
            self._take(letter)
        elif not self._parameters or self._parameters[0] in "0123456789;":
            self._act(letter)
        elif letter in "hl" and self._parameters in _OTHER_SCREEN:
            self._went_back += _REPAINTS_FROM
            self._leave_row()
        elif letter == "h" and self._parameters == _PICTURE:
            self._went_back += 1

    def _act(self, final: str) -> None:
        if final in _LEAVE_ROW or (final == "J" and self._parameters not in ("", "0")):
            self._went_back += final in _GO_BACK
            self._leave_row()
        elif final in "JK":
            self._erase(self._parameters)
        elif final in "G`":
            column = self._count() - 1
            self._move(column)
            self._restarted = column == 0
        elif final in "Ca":
            self._move(self._at + self._count())
        elif final == "D":
            self._move(self._at - self._count())
        elif final == "P":
            self._line = self._line[: self._at] + self._line[self._at + self._count() :]
        elif final == "@" and self._at < len(self._line):
            self._line = self._line[: self._at] + " " * self._count() + self._line[self._at :]

    def _count(self) -> int:
        first = self._parameters.partition(";")[0]
        return max(1, min(int(first), _LAST_COLUMN)) if first.isdigit() else 1

    def _move(self, column: int) -> None:
        self._restarted = False
        self._at = max(0, min(column, max(_LAST_COLUMN, len(self._line))))

    def _erase(self, what: str) -> None:
        if what in ("", "0"):
            self._line = self._line[: self._at]
        elif what == "1":
            self._line = " " * min(self._at, len(self._line)) + self._line[self._at :]
        elif what == "2":
            self._line = ""

    def _write(self, text: str) -> None:
        if self._restarted:
            self._line = ""
            self._restarted = False
        if self._at > len(self._line):
            self._line += " " * (self._at - len(self._line))
        if self._at == len(self._line):
            self._line += text
        else:
            self._line = self._line[: self._at] + text + self._line[self._at + len(text) :]
        self._at += len(text)

    def _end_line(self) -> None:
        self._out.append(self._finished() + "\n")
        self._line, self._at, self._restarted, self._edited = "", 0, False, False

    def _leave_row(self) -> None:
        if self._line.strip(" "):
            self._edited = True
            self._end_line()
        else:
            self._line, self._at, self._restarted, self._edited = "", 0, False, False

    def _finished(self) -> str:
        return self._line.rstrip(" ") if self._edited else self._line
