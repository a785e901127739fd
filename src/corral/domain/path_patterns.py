"""Patterns that name files of a repository, and whether two of them can name the same one.

A pattern is anchored at the repository and has parts between slashes. In a part `*` is any run of characters, `?` is
one, `[a-z]` is one of those and `[!a-z]` one of the others; a backslash takes the meaning from what is behind it. `**`
as a whole part is any number of parts, and a slash at the end means everything below. A pattern without any of these
names one file.

That two patterns *overlap* is decided exactly: there is a path that both match, or there is none. At worst that takes
time in the product of their lengths, whatever somebody makes up, and both are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from corral.domain.errors import WrongUseError
from corral.domain.glob_parts import AnyPart, Part, can_match_the_same, parse_part

#: More than any honest pattern, and little enough that two of them are compared in a moment.
LONGEST_PATTERN = 1024
_MOST_PARTS = 64
#: Who works on some files asks about them again and again: so many patterns are read once.
_MOST_KNOWN = 2048
_SPECIAL = re.compile(r"[*?\[\\]")


@dataclass(frozen=True, slots=True)
class _Deep:
    """`**`: any number of parts, none as well."""


_DEEP = _Deep()
_Step = Part | _Deep


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, read. Equal texts are equal patterns."""

    text: str
    _steps: tuple[_Step, ...] = field(compare=False, repr=False)
    #: The parts at its beginning that name one directory each: of any file that it names, the path begins with them.
    beginning: tuple[str, ...] = field(compare=False, repr=False)

    @property
    def is_plain(self) -> bool:
        """True if it names one file and no other."""
        return len(self.beginning) == len(self._steps)

    def below(self, beginning: Sequence[str]) -> Pattern:
        """The same pattern with another beginning: where that leads by way of symbolic links, say."""
        rest = self.text.removeprefix("./").split("/")[len(self.beginning) :]
        return parse("/".join([*(_SPECIAL.sub(r"\\\g<0>", part) for part in beginning), *rest]) or "**")

    def overlaps(self, other: Pattern) -> bool:
        """True if there can be a file that both name."""
        shared = min(len(self.beginning), len(other.beginning))
        if self.beginning[:shared] != other.beginning[:shared]:
            return False
        ours, theirs = self._steps[shared:], other._steps[shared:]
        if not ours or not theirs:
            return not ours and not theirs
        # Most of what does not overlap differs in its last part.
        last, others = ours[-1], theirs[-1]
        if isinstance(last, Part) and isinstance(others, Part) and not can_match_the_same(last, others):
            return False
        return _meet(ours, theirs)

    def matches(self, path: Pattern) -> bool:
        """True if it names the file that a plain pattern names."""
        return self.overlaps(path)


@lru_cache(_MOST_KNOWN)
def parse(text: str) -> Pattern:
    """Read a pattern. Raises `WrongUseError`, which says what is wrong with it."""
    if len(text) > LONGEST_PATTERN:
        raise WrongUseError(
            f"a pattern of {len(text)} characters is too long", f"at most {LONGEST_PATTERN} are allowed: give several"
        )
    parts = _parts(text)
    below = not parts[-1]
    steps: list[_Step] = []
    for part in parts[:-1] if below else parts:
        if part == "**":
            if not steps or steps[-1] is not _DEEP:
                steps.append(_DEEP)
        else:
            steps.append(_part(text, part))
    if below or steps[-1] is _DEEP:
        # Everything below something is at least one part below it.
        if steps and steps[-1] is _DEEP:
            steps.pop()
        steps += [AnyPart, _DEEP]
    return Pattern(text, tuple(steps), tuple(_beginning(steps)))


def plain(path: str) -> Pattern:
    """The pattern that names this file and no other, whatever characters are in its name. Its text can be parsed."""
    parts = _parts(path)
    if not parts[-1]:
        raise WrongUseError(f"{_shown(path)} names no file", "leave out the slash at its end")
    steps = tuple(Part.literal(part) for part in parts)
    for part in parts:
        _check_name(path, part)
    return Pattern(_SPECIAL.sub(r"\\\g<0>", path), steps, tuple(parts))


def of_file(path: str) -> Pattern:
    """The pattern that names a file which is there, or was, by what git or the system calls it.

    Nothing about such a name is refused: it may be longer and deeper than a pattern that somebody makes up. A byte of
    it that is no UTF-8 counts as one character.
    """
    parts = tuple(path.split("/"))
    return Pattern(path, tuple(Part.literal(part) for part in parts), parts)


def _parts(text: str) -> list[str]:
    if not text or text == "/":
        raise WrongUseError("an empty pattern names no file", "** is every file of the repository")
    if "\0" in text:
        raise WrongUseError(f"{_shown(text)} has a zero byte in it", "no file can have such a name")
    if text.startswith("/"):
        raise WrongUseError(
            f"{_shown(text)} is an absolute path", "patterns begin at the top of the repository: leave out the slash"
        )
    parts = text.removeprefix("./").split("/")
    if len(parts) > _MOST_PARTS:
        raise WrongUseError(f"{_shown(text)} has {len(parts)} parts", f"at most {_MOST_PARTS} are allowed")
    if "" in parts[:-1]:
        raise WrongUseError(f"{_shown(text)} has two slashes in a row", "one is enough")
    return parts


def _part(text: str, part: str) -> Part:
    _check_name(text, part)
    try:
        found = parse_part(part)
    except ValueError as error:
        raise WrongUseError(f"{_shown(text)}: {error}", "a backslash before it takes a character as it is") from None
    if found.text is not None:
        _check_name(text, found.text)
    return found


def _check_name(text: str, part: str) -> None:
    if part in (".", ".."):
        raise WrongUseError(
            f"{_shown(text)} has {part!r} as a part", "give the path from the top of the repository, without . and .."
        )


def _beginning(steps: Sequence[_Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, _Deep) or step.text is None:
            return
        yield step.text


def _meet(ours: Sequence[_Step], theirs: Sequence[_Step]) -> bool:
    """True if there is a path that goes through both: all places that can be reached in both at once."""
    reached = {(0, 0)}
    ahead = [(0, 0)]
    end = (len(ours), len(theirs))
    while ahead:
        place = ahead.pop()
        if place == end:
            return True
        for following in _following(ours, theirs, *place):
            if following not in reached:
                reached.add(following)
                ahead.append(following)
    return False


def _following(ours: Sequence[_Step], theirs: Sequence[_Step], i: int, j: int) -> Iterator[tuple[int, int]]:
    mine = ours[i] if i < len(ours) else None
    yours = theirs[j] if j < len(theirs) else None
    if isinstance(mine, _Deep):
        yield i + 1, j  # it is over
    if isinstance(yours, _Deep):
        yield i, j + 1
    if mine is None or yours is None:
        return
    if isinstance(mine, _Deep):
        if not isinstance(yours, _Deep):
            yield i, j + 1  # it takes the other's part
    elif isinstance(yours, _Deep):
        yield i + 1, j
    elif can_match_the_same(mine, yours):
        yield i + 1, j + 1


def _shown(text: str) -> str:
    cut = text if len(text) <= 80 else text[:79] + "…"
    return "'" + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut) + "'"
