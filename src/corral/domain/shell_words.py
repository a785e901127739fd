"""The words of a shell command: where each ends, with all that may be in it.

Quotes and expansions end where they end for bash, and that is all that is asked here: nothing is expanded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from corral.domain.shell_text import Document, TextReader, UnreadableError

#: Without what is in quotes and here-documents, a thousand are a long script. These take a tenth of a second.
MAX_WORDS = 5_000

#: Characters that mean themselves: anywhere, within double quotes, within the brackets of an expansion.
_PLAIN = re.compile(r"[^ \t\n;&|()<>'\"`\\$]+")
_PLAIN_IN_QUOTES = re.compile(r'[^"`\\$]+')
_PLAIN_IN_BRACKETS = re.compile(r"[^'\"`\\$()\[\]{}<>]+")
#: The rest of what begins with a quote, up to the quote that ends it.
_SINGLE_QUOTED = re.compile(r"([^']*)'")
_ANSI_QUOTED = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_BACKQUOTED = re.compile(r"(?:[^`\\]|\\.)*`", re.DOTALL)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGN = re.compile(r"\+?=")
#: Not a word but part of the redirection behind it: `2>`, `{log}>`.
_DESCRIPTOR = re.compile(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\}")
#: `${…}` as every shell has it.
_PORTABLE_PARAMETER = re.compile(r"#?(?:[A-Za-z0-9_]+|[@*#?$!-])\}|(?:[A-Za-z0-9_]+|[@*#?$!-])(?:[%#]|:?[-=?+])")


class Assignment(IntEnum):
    """Which assignments can be in a place."""

    NONE = 0
    #: `name=value`
    PLAIN = 1
    #: `name=(value value)` as well
    ARRAY = 2
    #: `name[subscript]=value` as well
    ANY = 3


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a command."""

    #: What the shell makes of it, if that can be known without running anything.
    value: str | None
    #: It was written without quotes.
    bare: bool
    #: `NAME=VALUE`, in a place where that sets a variable.
    assigns: bool


class WordReader(TextReader):
    """Reads the words of a text. What they are for is up to the grammar."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._words = 0

    def substituted_list(self) -> None:
        """Read the commands of a substitution, and the parenthesis that closes it: the grammar's part."""
        raise NotImplementedError

    # Words.

    def some_word(self, pattern: str = "") -> Word:
        """The word that must be here."""
        word = self.word(pattern=pattern)
        if word is None:
            raise UnreadableError
        return word

    def word(self, assignment: Assignment = Assignment.NONE, pattern: str = "") -> Word | None:
        """The word that begins here, if one does.

        It may be an assignment where one can be. It may be what the operator `pattern` of a condition compares with:
        then parentheses can belong to it.
        """
        self._words += 1
        self.need(self._words <= MAX_WORDS)
        start = self.at
        assigns = assignment > Assignment.NONE and self._assignment(assignment)
        pieces, known, bare = [self.text[start : self.at]], True, True
        while self.at < len(self.text):
            letter = self.next()
            piece: str | None = None
            if plain := _PLAIN.match(self.text, self.at):
                self.at = plain.end()
                piece = plain.group()
            elif letter == "\\":
                piece = self._escaped()
                bare = bare and not piece
            elif letter in "'\"":
                piece, bare = self._quoted(letter), False
            elif letter == "`":
                self._skip(_BACKQUOTED, 1)
            elif letter == "$":
                piece = self._dollar()
            elif letter in "<>" and self.text.startswith("(", self.at + 1):
                self.portable = False
                self._in_parentheses()
            elif letter == "|" and pattern == "=~":
                self.at += 1
            elif letter == "(" and (pattern == "=~" or (pattern and self.text[self.at - 1] in "?*+@!")):
                self.at += 1
                self.brackets("(", ")", counted=True)
            else:
                break
            pieces.append(piece or "")
            known = known and piece is not None
        if self.at == start:
            return None
        self.need(self.next() not in ("<", ">") or not _DESCRIPTOR.fullmatch(self.text, start, self.at))
        return Word("".join(pieces) if known else None, bare, assigns)

    def _assignment(self, assignment: Assignment) -> bool:
        """Skip the name of a variable and what assigns to it, and the whole of an array."""
        name = _NAME.match(self.text, self.at)
        if not name:
            return False
        end = name.end()
        if assignment is Assignment.ANY and self.text.startswith("[", end):
            self.portable = False
            self.at = end + 1
            self.brackets("[", "]")
            end = self.at
        sign = _ASSIGN.match(self.text, end)
        if not sign:
            return False
        self.at = sign.end()
        self.portable = self.portable and sign.group() == "="
        if assignment >= Assignment.ARRAY and self.next() == "(":
            self.portable = False
            self.at += 1
            while self._between_elements() != ")":
                self._element()
            self.at += 1
        return True

    def _between_elements(self) -> str:
        # Here-documents that begin within an array confuse bash itself.
        self.need(self.blanks() != "\n" or not self._documents)
        return self.newlines()

    def _element(self) -> None:
        """`VALUE` or `[SUBSCRIPT]=VALUE` of an array."""
        if self.next() == "[":
            self.at += 1
            self.brackets("[", "]")
            self.word()
        else:
            self.some_word()

    def announce_document(self, *, indented: bool) -> None:
        """Read the delimiter of a here-document. Its text is read when the line ends."""
        self.blanks()
        start = self.at
        word = self.some_word()
        if word.value is None or "\n" in self.text[start : self.at]:
            raise UnreadableError
        self._documents.append(Document(word.value, quoted=not word.bare, indented=indented))

    # Quotes.

    def _skip(self, rest: re.Pattern[str], opened: int) -> re.Match[str]:
        """Skip what opens something, and the rest of it."""
        found = rest.match(self.text, self.at + opened)
        if not found:
            raise UnreadableError
        self.at = found.end()
        return found

    def _escaped(self) -> str:
        """A backslash and what it protects. The end of a line vanishes with it."""
        letter = self.text[self.at + 1 : self.at + 2]
        self.need(letter)
        self.at += 2
        return "" if letter == "\n" else letter

    def _quoted(self, quote: str) -> str | None:
        """What is between two quotes, if it means itself."""
        if quote == "'":
            return str(self._skip(_SINGLE_QUOTED, 1)[1])
        self.at += 1
        start, literal = self.at, True
        while (letter := self.next()) != '"':
            if plain := _PLAIN_IN_QUOTES.match(self.text, self.at):
                self.at = plain.end()
                continue
            literal = False
            if letter == "$":
                self._dollar(quoted=True)
            elif letter == "`":
                self._skip(_BACKQUOTED, 1)
            else:
                self._escaped()
        self.at += 1
        return self.text[start : self.at - 1] if literal else None

    # Expansions.

    def _dollar(self, *, quoted: bool = False) -> str | None:
        """A dollar sign and what belongs to it; what it is if nothing does."""
        opening = self.text[self.at + 1 : self.at + 2]
        if opening == "'" and not quoted:
            self.portable = False
            self._skip(_ANSI_QUOTED, 2)
        elif opening == '"' and not quoted:
            self.portable = False
            self.at += 1
            self._quoted('"')
        elif opening == "(":
            self._in_parentheses()
        elif opening == "{":
            self._parameter()
        elif opening == "[":
            self.portable = False
            self.at += 2
            self.brackets("[", "]", arithmetic=True)
        elif opening == "$":
            self.at += 2
        else:
            # What follows is plain, and part of a name at most. A line that goes on could hide a parenthesis.
            self.need(opening != "\\" or not self.text.startswith("\n", self.at + 2))
            self.at += 1
            return None if _PLAIN.match(opening) else "$"
        return None

    def _in_parentheses(self) -> None:
        """`$(commands)`, or `$((expression))`: of two parentheses the end is found first, and the meaning later."""
        if self.text.startswith("((", self.at + 1):
            self.at += 2
            self.brackets("(", ")", counted=True)
        else:
            self._substitution()

    def _substitution(self) -> None:
        """`$(commands)`, `<(commands)`, `>(commands)`, whose here-documents end before they do."""
        self.at += 2
        self.need(not self.text.startswith("\\\n", self.at))
        outer, self._documents = self._documents, []
        with self.deeper():
            self.substituted_list()
        self.need(not self._documents)
        self._documents = outer

    def _parameter(self) -> None:
        """`${…}`. What begins with a blank, a bar or a parenthesis is something else for a newer bash."""
        self.at += 2
        self.need(self.next() not in (" ", "\t", "\n", "|", "("))
        self.portable = self.portable and bool(_PORTABLE_PARAMETER.match(self.text, self.at))
        self.brackets("", "}")

    def brackets(self, opening: str, closing: str, *, counted: bool = False, arithmetic: bool = False) -> None:
        """Skip to what closes the bracket that was just opened.

        Quotes are always respected, and expansions unless brackets are only `counted`. In arithmetic bash has changed
        its mind about expansions: one that has such a bracket in it is refused.
        """
        unclosed = 1
        with self.deeper():
            while unclosed:
                if plain := _PLAIN_IN_BRACKETS.match(self.text, self.at):
                    self.at = plain.end()
                    continue
                letter, start = self.next(), self.at
                self.need(letter)
                if letter == "\\":
                    self._escaped()
                elif letter in "'\"":
                    self._quoted(letter)
                elif letter == "`":
                    self._skip(_BACKQUOTED, 1)
                elif letter == "$" and (not counted or self.text.startswith("'", self.at + 1)):
                    self._dollar()
                    inner = self.text[start + 1 : self.at]
                    if arithmetic and inner.startswith(("{", "[")):
                        self.need(not {opening, closing} & set(inner[1:-1]))
                else:
                    # Whether this is a substitution depends on more than can be seen here.
                    self.need(counted or letter not in "<>" or not self.text.startswith("(", self.at + 1))
                    self.at += 1
                    unclosed += (letter == opening) - (letter == closing)
