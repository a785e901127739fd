"""A shell command as a text that is read from front to back: what is between its words, and its here-documents.

Whatever bash reads by a rule that is not written down in these modules is refused, so a text that is read to its end
is read as bash reads it. One pass, in time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: Real commands nest a few levels. Far beyond that, Python's own stack would end.
MAX_DEPTH = 40

#: What may come between two words: blanks, ends of lines behind a backslash, a comment.
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*(?:#[^\n]*)?")


class UnreadableError(Exception):
    """The text is no shell command, or one that is written in a way that is not known here."""


@dataclass(frozen=True, slots=True)
class Document:
    """A here-document that was announced; its text begins on the next line."""

    delimiter: str
    #: Its text is taken as it is. Otherwise a backslash at the end of a line joins it to the next.
    quoted: bool
    #: Tabs before its lines do not count.
    indented: bool


class TextReader:
    """A text, and the place up to which it was read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        #: So far every POSIX shell reads it the same way.
        self.portable = True
        self._documents: list[Document] = []
        self._depth = 0

    def need(self, holds: object) -> None:
        """Give up unless it does."""
        if not holds:
            raise UnreadableError

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """One level down."""
        self._depth += 1
        self.need(self._depth <= MAX_DEPTH)
        yield
        self._depth -= 1

    # Between words.

    def next(self) -> str:
        """The next character; nothing at the end of the text."""
        return self.text[self.at : self.at + 1]

    def blanks(self) -> str:
        """Skip blanks and a comment; the character that comes then."""
        if found := _BLANKS.match(self.text, self.at):
            self.at = found.end()
        return self.next()

    def newlines(self) -> str:
        """Skip to where something is said again, through ends of lines and here-documents."""
        while self.blanks() == "\n":
            self.at += 1
            documents, self._documents = self._documents, []
            for document in documents:
                self._read_document(document)
        return self.next()

    # Here-documents.

    def _read_document(self, document: Document) -> None:
        while True:
            line = self._line(joined=not document.quoted)
            if (line.lstrip("\t") if document.indented else line) == document.delimiter:
                return

    def _line(self, *, joined: bool) -> str:
        pieces = []
        while True:
            # Without a delimiter bash takes what there is, and warns. Nobody meant that.
            self.need(self.at < len(self.text))
            end = self.text.find("\n", self.at)
            piece = self.text[self.at : end if end >= 0 else None]
            self.at += len(piece) + (end >= 0)
            goes_on = joined and (len(piece) - len(piece.rstrip("\\"))) % 2
            pieces.append(piece[:-1] if goes_on else piece)
            if not goes_on:
                return "".join(pieces)
