"""Reading one TOML table strictly: every key that is unknown, missing or of the wrong type is a reported problem.

A value that is not there and a value that is wrong both read as None; the wrong one is reported, so a caller
goes on with a default and all mistakes of a file come out together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from corral.domain.spec_lines import Path
from corral.domain.spec_problems import Problems, one_of, shown, shown_path

T = TypeVar("T", str, int, float, bool, list[object], dict[str, object])

_WORDS: tuple[tuple[type, str], ...] = (
    # bool first: to Python a boolean is an integer as well, to a person it is not.
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a float"),
    (str, "a string"),
    (list, "an array"),
    (dict, "a table"),
)


class Table:
    """One table of a file, at `path`, with its problems going to `problems`."""

    def __init__(self, problems: Problems, path: Path, data: Mapping[str, object]) -> None:
        self.problems = problems
        self.path = path
        self.data = data
        self._misspelt: set[str] = set()

    def wrong(self, key: str, message: str, remedy: str) -> None:
        self.problems.add((*self.path, key), message, remedy)

    def only(
        self,
        allowed: Iterable[str],
        aliases: Mapping[str, str] | None = None,
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        """Report every key that is not one of `allowed`.

        `aliases` are words that other tools use for one of them; `elsewhere` says in which table a key belongs that
        is known but stands in the wrong place.
        """
        known = tuple(allowed)
        for key in self.data:
            if key in known:
                continue
            meant = self.problems.meant(key, known, aliases)
            if elsewhere and key in elsewhere:
                remedy = f"it belongs below {elsewhere[key]}"
            elif meant:
                remedy = f"did you mean '{meant}'?"
                self._misspelt.add(meant)
            else:
                remedy = f"{shown_path(self.path) or 'the file'} takes {one_of(known, last='and')}"
            self.wrong(key, f"there is no such {'key' if self.path else 'table'}", remedy)

    def take(self, key: str, kind: type[T], example: str) -> T | None:
        """The value of `key` if it is there and of that type; `example` shows how it is written."""
        value = self.data.get(key)
        if value is None:
            return None
        if type(value) is kind:
            return value
        self.wrong(key, f"this must be {type_word(kind)}, not {type_word(type(value))}", f"such as {example}")
        return None

    def word(
        self,
        key: str,
        words: Sequence[str],
        default: str,
        *,
        wrong: str,
        example: str = "",
        aliases: Mapping[str, str] | None = None,
    ) -> str:
        """The value of `key`, which is one of `words`; the default if it is not there, or wrong.

        `wrong` ends the sentence about another word: "x `is no restart policy`".
        """
        value = self.take(key, str, f'{key} = "{example or default}"')
        if value is None or value in words:
            return value or default
        meant = self.problems.meant(value, words, aliases)
        hint = f"did you mean '{meant}'? " if meant else ""
        self.wrong(key, f"{shown(value)} {wrong}", f"{hint}It is {one_of(words)}")
        return default

    def need(self, key: str, kind: type[T], example: str) -> T | None:
        """Like `take`, but a missing key is a problem as well."""
        if key not in self.data:
            self.missing(key, f"add it, such as {example}")
        return self.take(key, kind, example)

    def missing(self, key: str, remedy: str) -> None:
        """Report that `key` is missing, unless `only` has found it misspelt: that is one mistake, not two."""
        if key not in self._misspelt:
            self.wrong(key, "this is missing", remedy)

    def table(self, key: str, example: str) -> "Table | None":
        value = self.take(key, dict, example)
        return None if value is None else Table(self.problems, (*self.path, key), value)


def type_word(kind: type) -> str:
    """The TOML word for a Python type, with its article."""
    return next((word for known, word in _WORDS if kind is known), "a date or time")
