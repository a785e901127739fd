"""The grammar of bash: lists, pipelines and commands.

A text that bash refuses is refused here; see `shell_text` for what is refused besides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from corral.domain.shell_tokens import TIME_OPTIONS, TokenReader
from corral.domain.shell_words import Assignment

#: Reserved words that end a list.
_CLOSING = frozenset("then elif else fi do done esac }".split())
_END_OF_CASE = (";;", ";&", ";;&")
_EMPTY_PARENTHESES = re.compile(r"\([ \t]*\)")

#: Builtins whose arguments can be assignments of arrays.
_DECLARES = frozenset("declare typeset local export readonly".split())
#: Redirects standard input.
_INPUT = re.compile(r"0?<")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program, a builtin or a function that is called."""

    #: Where it begins.
    at: int
    #: Its words, as far as they can be known without running anything.
    words: tuple[str | None, ...]
    #: It is called only when a function is.
    in_function: bool
    #: Its standard input is redirected.
    input_redirected: bool


class ShellReader(TokenReader):
    """Reads a whole text, and collects on the way what callers want to know."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.commands: list[SimpleCommand] = []
        #: Where the `&` are that put something into the background.
        self.ampersands: list[int] = []
        #: It starts coprocesses, whose grammar is not known here.
        self.coprocesses = False
        self._functions = 0

    def program(self) -> tuple[int, int | None]:
        """Read everything; where the last item of the outermost list begins, and where its `&` is if it has one."""
        last = self._list(may_be_empty=True)
        self.need(self.at == len(self.text) and not self._documents)
        return last

    def substituted_list(self) -> None:
        self.blanks()
        # In this place `time` is a program like any other, and what follows is words.
        self.need(self.reserved() != "time")
        self._list(may_be_empty=True)
        self.need(self.operator(")"))

    # Lists and pipelines.

    def _list(self, *, may_be_empty: bool = False) -> tuple[int, int | None]:
        """Items with `;`, `&` or an end of line behind them; where the last begins, and where its `&` is."""
        if self._list_ends():
            self.need(may_be_empty)
            return self.at, None
        while True:
            start, ampersand = self.at, None
            self._item()
            if self.operator("&"):
                ampersand = self.at - 1
                self.ampersands.append(ampersand)
            elif not self.operator(";") and self.next() != "\n":
                return start, None
            if self._list_ends():
                return start, ampersand

    def _list_ends(self) -> bool:
        letter = self.newlines()
        if letter == ";":
            return self.next_operator() in _END_OF_CASE
        return letter in ("", ")") or self.reserved() in _CLOSING

    def _item(self) -> None:
        """Pipelines with `&&` and `||` between them."""
        self._pipeline()
        while self.operator("&&", "||"):
            self.newlines()
            self._pipeline()

    def _pipeline(self) -> None:
        while (word := self.reserved()) in ("!", "time"):
            self.take(word)
            self.blanks()
            if word == "time" and (options := TIME_OPTIONS.match(self.text, self.at)):
                self.at = options.end()
            # Both can stand alone, but not before every operator.
            if self.blanks() in ("", "\n") or self.next_operator() == ";":
                return
        self._command(word)
        while bar := self.operator("|", "|&"):
            self.portable = self.portable and bar == "|"
            line_ends = self.blanks() == "\n"
            self.newlines()
            word = self.reserved()
            # Directly behind a bar, `time` is a program like any other.
            self._command("" if word == "time" and not line_ends else word)

    # Commands that are made of others.

    def _command(self, word: str) -> None:
        """A command; `word` is the reserved word that it begins with, if it does."""
        if word == "coproc":
            self.coprocesses = True
        if not self._compound(word):
            self.need(not word)
            self._simple()

    def _compound(self, word: str) -> bool:
        """Read a compound command and its redirections, if one begins here."""
        with self.deeper():
            if self.next() == "(":
                self._parentheses()
            elif word == "{":
                self._enclosed("{", "}")
            elif word == "if":
                self._if()
            elif word in ("while", "until"):
                self.take(word)
                self._list()
                self._enclosed("do", "done")
            elif word in ("for", "select"):
                self._for(word)
            elif word == "case":
                self._case()
            elif word == "[[":
                self.portable = False
                self.take("[[")
                self.condition()
                self.take("]]")
            elif word == "function":
                self.portable = False
                self.take("function")
                self.blanks()
                self.some_word()
                self._function()
                return True
            else:
                return False
        if self.redirection():
            while self.redirection():
                pass
            # Behind a redirection no word is a reserved one, and no other may come.
            self.need(self.blanks() in ("", "\n", ";", "&", "|", ")"))
        return True

    def _enclosed(self, opening: str, closing: str) -> None:
        self.take(opening)
        self._list()
        self.take(closing)

    def _parentheses(self) -> None:
        """`(list)`, or `((expression))`: two of them are taken for arithmetic first."""
        start = self.at
        if self.text.startswith("((", start):
            self.at += 2
            self.brackets("(", ")", arithmetic=True)
            if self.next() == ")":
                self.portable = False
                self.at += 1
                return
            # Then bash reads these once more, and has lost track of here-documents.
            self.need(self.next() != "\\" and not self._documents and "<<" not in self.text[start : self.at])
            self.at = start
        self.operator("(")
        self._list()
        self.need(self.operator(")"))

    def _if(self) -> None:
        self.take("if")
        self._list()
        self.take("then")
        self._list()
        while self.reserved() == "elif":
            self.take("elif")
            self._list()
            self.take("then")
            self._list()
        if self.reserved() == "else":
            self.take("else")
            self._list()
        self.take("fi")

    def _for(self, word: str) -> None:
        self.take(word)
        if self.blanks() == "(":
            self._for_numbers()
        else:
            self.some_word()
            if not self.operator(";"):
                self.newlines()
                if self.reserved() == "in":
                    self._in_words()
        if word == "select":
            self.portable = False
        self.newlines()
        if self.reserved() == "{":
            self.portable = False
            self._enclosed("{", "}")
        else:
            self._enclosed("do", "done")

    def _in_words(self) -> None:
        self.take("in")
        self.blanks()
        while self.word():
            self.blanks()
        self.need(self.operator(";") or self.next() == "\n")

    def _for_numbers(self) -> None:
        """`((expression; expression; expression))`."""
        self.portable = False
        start = self.at
        self.need(self.text.startswith("((", start))
        self.at += 2
        self.brackets("(", ")", arithmetic=True)
        self.need(self.next() == ")" and self.text.count(";", start, self.at) == 2)
        self.at += 1
        self.operator(";")

    def _case(self) -> None:
        self.take("case")
        self.blanks()
        self.some_word()
        self.newlines()
        self.take("in")
        self.newlines()
        while self.reserved() != "esac":
            self.operator("(")
            self.blanks()
            self.some_word()
            while self.operator("|"):
                self.blanks()
                self.some_word()
            self.need(self.operator(")"))
            self._list(may_be_empty=True)
            end = self.operator(*_END_OF_CASE)
            if not end:
                break
            self.portable = self.portable and end == ";;"
            self.newlines()
        self.take("esac")

    def _function(self) -> None:
        """What comes behind the name of a function."""
        self.blanks()
        if found := _EMPTY_PARENTHESES.match(self.text, self.at):
            self.at = found.end()
        self.newlines()
        word = self.reserved()
        self.need(word != "function")
        self._functions += 1
        self.need(self._compound(word))
        self._functions -= 1

    # Simple commands.

    def _simple(self) -> None:
        start = self.at
        words: list[str | None] = []
        assignment, assigned, input_redirected = Assignment.ANY, False, False
        while True:
            self.blanks()
            here = self.at
            if sign := self.redirection():
                input_redirected = input_redirected or bool(_INPUT.match(sign))
                if assigned and not words:
                    assignment = Assignment.PLAIN
                continue
            word = self.word(assignment)
            if not word:
                break
            if word.assigns and not words:
                assigned = True
                continue
            words.append(word.value)
            if len(words) == 1:
                assignment = Assignment.ARRAY if word.bare and word.value in _DECLARES else Assignment.NONE
                if here == start and self.blanks() == "(":
                    self.need(_EMPTY_PARENTHESES.match(self.text, self.at))
                    self._function()
                    return
        self.need(self.at > start)
        self.commands.append(SimpleCommand(start, tuple(words), self._functions > 0, input_redirected))
