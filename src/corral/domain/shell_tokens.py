"""Operators, reserved words, redirections and conditions: what stands between the words of a shell command.

What a character means depends on the place, by bash's own rules; the grammar knows the place.
"""

from __future__ import annotations

import re

from corral.domain.shell_words import WordReader

_END_OF_WORD = r"(?=(?:\\\n)*(?:[ \t\n;&|()]|[<>](?!\()|\Z))"
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|for|select|case|in|esac|while|until|do|done|function|time|coproc|[{}!]|\[\[|\]\])"
    + _END_OF_WORD
)
TIME_OPTIONS = re.compile(rf"(?:-p{_END_OF_WORD}[ \t]*)?(?:--{_END_OF_WORD})?")

_OPERATOR = re.compile(r"&&|&|\|\||\|&|\||;;&|;;|;&|;|\(|\)")
#: A line that goes on where the next one could make another operator of this one.
_SPLIT = re.compile(r"(?:\\\n)+[&|;<>(-]")

_REDIRECTION = re.compile(
    r"(?P<to>[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?(?P<sign><<<|<<-|<<|<&|<>|<(?!\()|>>|>&|>\||>(?!\())|(?P<both>&>>|&>)"
)
#: What `>&` and `<&` take besides words.
_COPIED = re.compile(r"-|[0-9]+(?=[<>])")

_UNARY = re.compile(r"-[abcdefghknoprstuvwxzGLNORS]")
_BINARY = frozenset("= == != =~ -nt -ot -ef -eq -ne -lt -le -gt -ge".split())
_BY_PATTERN = frozenset("= == != =~".split())


class TokenReader(WordReader):
    """Reads what is asked for, if it is there."""

    # Operators and reserved words.

    def next_operator(self) -> str:
        """The operator that comes next, if one does."""
        self.blanks()
        found = _OPERATOR.match(self.text, self.at)
        return found.group() if found else ""

    def operator(self, *signs: str) -> str:
        """Skip the operator that comes next if it is one of these, and say which."""
        sign = self.next_operator()
        if sign not in signs:
            return ""
        self._skip_sign(len(sign))
        return sign

    def _skip_sign(self, length: int) -> None:
        self.at += length
        self.need(self.text[self.at - 1] == ")" or not _SPLIT.match(self.text, self.at))

    def reserved(self) -> str:
        """The reserved word that is here, if one is."""
        found = _RESERVED.match(self.text, self.at)
        return found[1] if found else ""

    def take(self, word: str) -> None:
        """Skip the reserved word that must come next."""
        self.blanks()
        self.need(self.reserved() == word)
        self.at += len(word)

    # Redirections.

    def redirection(self) -> str:
        """Read a redirection, if one comes next; its sign, with the descriptor before it."""
        self.blanks()
        found = _REDIRECTION.match(self.text, self.at)
        if not found:
            return ""
        sign = found["sign"]
        self.portable = self.portable and sign not in (None, "<<<") and not found.group().startswith("{")
        self._skip_sign(len(found.group()))
        self.blanks()
        if sign in ("<<", "<<-"):
            self.announce_document(indented=sign == "<<-")
        elif sign in (">&", "<&") and (copied := _COPIED.match(self.text, self.at)):
            self.at = copied.end()
        else:
            self.some_word()
        return found.group()

    # Conditions, between [[ and ]].

    def condition(self) -> None:
        """Terms with `&&` and `||` between them."""
        self._term()
        while self.operator("&&", "||"):
            self._term()

    def _term(self) -> None:
        with self.deeper():
            self.newlines()
            if self.operator("("):
                self.condition()
                self.need(self.operator(")"))
                self.newlines()
                return
            first = self._operand()
            if first == "!":
                self._term()
            elif _UNARY.fullmatch(first):
                self._operand()
                self.newlines()
            elif self.blanks() in ("<", ">"):
                self.at += 1
                self._operand()
                self.newlines()
            elif self.next() not in ("&", "|", ")") and self.reserved() != "]]":
                sign = self._operand()
                self.need(sign in _BINARY)
                self._operand(sign if sign in _BY_PATTERN else "")
                self.newlines()

    def _operand(self, pattern: str = "") -> str:
        """A word of a condition; what it says, if it has no quotes and can be known."""
        self.blanks()
        self.need(self.reserved() != "]]")
        word = self.some_word(pattern)
        return (word.value or "") if word.bare else ""
