"""What is wrong with a TOML file: collected, so that a person sees every mistake at once, with file, line and key."""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from corral.domain.errors import BadSpecError
from corral.domain.spec_lines import Path, lines_of

#: A file with more mistakes than this is not a corral.toml with mistakes; the rest is only counted.
MAX_SHOWN = 100
#: Behind so many mistakes a file is read no further: each takes its time, and a file may have any number.
MAX_FOUND = 1000
_LONGEST_WORD = 60
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One mistake, as it joins the error object of `--json`."""

    #: The file, as the caller named it.
    file: str
    #: The line on which the statement with the mistake begins, counted from 1.
    line: int
    #: The key in dotted form, or `syntax` where there is no key yet.
    key: str
    #: What is wrong.
    message: str
    #: What would be right.
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.key}: {self.message}"


class Problems:
    """Collects the mistakes of one file; the lines are looked up only if there is one to report."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._text = text
        self._found: list[tuple[Path, str, str]] = []
        self._guessed = 0

    def add(self, path: Path, message: str, remedy: str) -> None:
        """Collect a mistake; raises as `raise_if_any` if there are too many to go on."""
        self._found.append((path, message, remedy))
        if len(self._found) > MAX_FOUND:
            self.raise_if_any()

    def meant(self, word: str, allowed: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
        """As `did_you_mean`, of as many words as mistakes are told of: comparing takes long with many `allowed`."""
        self._guessed += 1
        return did_you_mean(word, allowed, aliases) if self._guessed <= MAX_SHOWN else ""

    def raise_if_any(self) -> None:
        """Raise one BadSpecError that tells of all problems, in the order of their lines."""
        if not self._found:
            return
        lines = lines_of(self._text, {path for path, _, _ in self._found})
        found = sorted(self._found, key=lambda problem: lines[problem[0]])
        raise bad_spec(
            [
                Problem(file=self._file, line=lines[path], key=shown_path(path), message=message, remedy=remedy)
                for path, message, remedy in found[:MAX_SHOWN]
            ],
            left_out=max(0, len(found) - MAX_SHOWN),
            is_all=len(found) <= MAX_FOUND,
        )


def bad_spec(problems: list[Problem], left_out: int = 0, *, is_all: bool = True) -> BadSpecError:
    """The error that reports `problems`, all of one file; `left_out` is how many more there are, at least."""
    messages = [str(problem) for problem in problems]
    if left_out:
        messages.append(f"{problems[0].file}: and {'' if is_all else 'at least '}{left_out} more")
    if len(problems) == 1:
        remedy = problems[0].remedy
    else:
        remedy = "\n".join(f"line {problem.line}: {problem.remedy}" for problem in problems)
    more = {"left_out": left_out} if left_out else {}
    return BadSpecError("\n".join(messages), remedy, problems=[asdict(problem) for problem in problems], **more)


def shown_path(path: Path) -> str:
    """`path` as a person writes it in TOML, safe to print on a terminal; a very long key is cut."""
    return ".".join(key if _BARE_KEY.fullmatch(key) and len(key) <= _LONGEST_WORD else shown(key) for key in path)


def shown(word: str) -> str:
    """`word` in quotes, safe to print on a terminal, cut if it is very long."""
    cut = word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"
    escaped = cut.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'


def did_you_mean(word: str, allowed: Iterable[str], aliases: Mapping[str, str] | None = None) -> str:
    """The allowed word that `word` was most likely meant to be, or an empty string."""
    plain = word[:_LONGEST_WORD].lower()
    if aliases and plain in aliases:
        return aliases[plain]
    close = difflib.get_close_matches(plain, list(allowed), n=1, cutoff=0.6)
    return close[0] if close else ""


def one_of(allowed: Iterable[str], last: str = "or") -> str:
    """`a, b or c`, for remedies."""
    words = list(allowed)
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" {last} " + words[-1]
