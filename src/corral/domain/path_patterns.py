"""Patterns that name files of a repository, and whether two of them can name the same one.

A pattern is anchored at the repository and has parts between slashes. In a part `*` is any run of characters, `?` is
one, `[a-z]` is one of those and `[!a-z]` one of the others; a backslash takes the meaning from what is behind it. `**`
as a whole part is any number of parts, and a slash at the end means everything below. A pattern without any of these
names one file.

That two patterns *overlap* is decided exactly: there is a path that both match, or there is none. Whatever somebody
makes up, that takes about as many steps as one of them has characters: the places of the other are gone through all at
once. What a pattern and a request may have of wildcards is bounded, because all of a request is compared with all that
others hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from corral.domain.errors import WrongUseError
from corral.domain.glob_parts import AnyPart, Part, Table, match_at_a_glance, parse_part

#: More than any honest pattern, and little enough that two of them are compared in a moment.
LONGEST_PATTERN = 1024
_MOST_PARTS = 64
#: Wildcards in one pattern, `**` among them, and characters from the part with the first wildcard on.
MOST_WILDCARDS, MOST_DEEP, LONGEST_REST = 16, 4, 256
#: Wildcards, and characters of that kind, in all patterns of one request.
MOST_WILDCARDS_AT_ONCE, LONGEST_REST_AT_ONCE = 32, 512
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
    #: How many `*`, `**`, sets in brackets and runs of `?` it has; what a slash at its end stands for is none.
    wildcards: int = field(default=0, compare=False, repr=False)
    #: The first of its parts that has `**` in it and is not all of it; empty if there is none.
    doubled: str = field(default="", compare=False, repr=False, kw_only=True)
    #: A bit for each of its steps that is `**`.
    _deep: int = field(default=0, compare=False, repr=False)
    #: Its parts side by side, once they were needed.
    _tables: list[Table] = field(default_factory=list, compare=False, repr=False)

    @property
    def rest(self) -> str:
        """What of it is behind its beginning."""
        return "/".join(self._behind)

    @property
    def _behind(self) -> list[str]:
        return self.text.split("/")[len(self.beginning) :]

    @property
    def parts(self) -> int:
        """How many parts between slashes it has, with those that a slash at its end stands for."""
        return len(self._steps)

    @property
    def is_plain(self) -> bool:
        """True if it names one file and no other."""
        return len(self.beginning) == len(self._steps)

    def below(self, beginning: Sequence[str]) -> Pattern:
        """The same pattern with another beginning: where that leads by way of symbolic links, say."""
        parts = (_SPECIAL.sub(r"\\\g<0>", part) for part in beginning)
        return parse("/".join([*parts, *self._behind]) or "**")

    def overlaps(self, other: Pattern) -> bool:
        """True if there can be a file that both name."""
        shared = min(len(self.beginning), len(other.beginning))
        if self.beginning[:shared] != other.beginning[:shared]:
            return False
        ours, theirs = len(self._steps), len(other._steps)
        if shared in (ours, theirs):
            return ours == theirs
        # Most of what does not overlap differs in its last part.
        last, others = self._steps[-1], other._steps[-1]
        if isinstance(last, Part) and isinstance(others, Part) and match_at_a_glance(last, others) is False:
            return False
        # The one with wildcards is compared at many places at once, and what is compared with many has its table.
        return self._meets(other, shared) if other.wildcards >= self.wildcards else other._meets(self, shared)

    def _meets(self, other: Pattern, begin: int) -> bool:
        """True if there is a path that goes through both, behind so many first parts that are the same."""
        table, deep = other._table, other._deep
        last = 1 << len(other._steps)
        reached = 1 << begin
        for step in self._steps[begin:]:
            reached |= (reached & deep) << 1  # a `**` that stands for nothing, or is over; two are never in a row
            if isinstance(step, _Deep):
                reached = 2 * last - (reached & -reached)  # it takes the other's parts, as many as it likes
                continue
            # The place behind the last part is no part.
            reached = table.matching(step, reached & ~deep & ~last) << 1 | reached & deep
            if not reached:
                return False
        reached |= (reached & deep) << 1
        return bool(reached & last)

    @property
    def _table(self) -> Table:
        if not self._tables:
            self._tables.append(Table([None if isinstance(step, _Deep) else step for step in self._steps]))
        return self._tables[0]

    def matches(self, path: Pattern) -> bool:
        """True if it names the file that a plain pattern names."""
        return self.overlaps(path)


@lru_cache(_MOST_KNOWN)
def parse(text: str) -> Pattern:
    """Read a pattern; a `./` at its beginning is left out. Raises `WrongUseError`, which says what is wrong with it.

    `a**b`, which nobody may ask for (`check_request`), is read as `a*b`: such leases were granted once.
    """
    if text.startswith("./"):
        return parse(text.removeprefix("./") or "**")
    if len(text) > LONGEST_PATTERN:
        raise WrongUseError(
            f"a pattern of {len(text)} characters is too long", f"at most {LONGEST_PATTERN} are allowed: give several"
        )
    parts = _parts(text)
    below = not parts[-1]
    steps: list[_Step] = []
    doubled = ""
    for part in parts[:-1] if below else parts:
        if part == "**":
            if not steps or steps[-1] is not _DEEP:
                steps.append(_DEEP)
        else:
            step = _part(text, part)
            steps.append(step)
            doubled = doubled or (part if step.doubled else "")
    beginning = tuple(_beginning(steps))
    wildcards = sum(1 if isinstance(step, _Deep) else step.wildcards for step in steps)
    deep = sum(isinstance(step, _Deep) for step in steps)
    if below or steps[-1] is _DEEP:
        # Everything below something is at least one part below it.
        if steps and steps[-1] is _DEEP:
            steps.pop()
        steps += [AnyPart, _DEEP]
    found = Pattern(text, tuple(steps), beginning, wildcards, _deep_bits(steps), doubled=doubled)
    _check_bounds(_shown(text), wildcards, deep, found.rest)
    return found


@lru_cache(maxsize=4096)
def folded(pattern: Pattern) -> Pattern:
    """The pattern of names without case. One that cannot be without it (`[Z-a]`) is taken as it is."""
    try:
        return parse(pattern.text.casefold())
    except WrongUseError:
        return pattern


def check_request(patterns: Sequence[Pattern]) -> None:
    """Raise `WrongUseError` if these cannot be asked for: they mean something else than they seem to, or are too much
    at once, since each is compared with all that others hold.
    """
    for one in patterns:
        if one.doubled:
            raise _doubled(one)
    wildcards, rest = sum(one.wildcards for one in patterns), sum(len(one.rest) for one in patterns)
    if wildcards > MOST_WILDCARDS_AT_ONCE:
        what, most = f"{wildcards} wildcards (* ? ** and sets in brackets)", MOST_WILDCARDS_AT_ONCE
    elif rest > LONGEST_REST_AT_ONCE:
        what, most = f"{rest} characters from their first wildcards on", LONGEST_REST_AT_ONCE
    else:
        return
    raise WrongUseError(
        f"these {len(patterns)} patterns have {what} together",
        f"at most {most} are possible at once: ask for some, then for the others, or for directories as a whole (src/)",
    )


def _doubled(pattern: Pattern) -> WrongUseError:
    before, _, after = (half.strip("*") for half in pattern.doubled.partition("**"))
    deep = f"{before}/**/{after}" if before and after else f"{before}*/**" if before else f"**/*{after}"
    return WrongUseError(
        f"{_shown(pattern.text)} has ** in {_shown(pattern.doubled)}, and it has to be a whole part between slashes",
        f"* is any name within one directory ({_shown(re.sub(r'[*]+', '*', pattern.doubled))}), "
        f"** any number of directories ({_shown(deep)})",
    )


def plain(path: str) -> Pattern:
    """The pattern that names this file and no other, whatever characters are in its name. Its text can be parsed."""
    parts = _parts(path)
    if not parts[-1]:
        raise WrongUseError(f"{_shown(path)} names no file", "leave out the slash at its end")
    steps = tuple(Part.literal(part) for part in parts)
    for part in parts:
        _check_name(path, part)
    return Pattern("/".join(_SPECIAL.sub(r"\\\g<0>", part) for part in parts), steps, tuple(parts))


def of_file(path: str) -> Pattern:
    """The pattern that names a file which is there, or was, by what git or the system calls it.

    Nothing about such a name is refused: it may be longer and deeper than a pattern that somebody makes up. A byte of
    it that is no UTF-8 counts as one character. With a slash at its end it is everything below: what a submodule is.
    """
    parts = tuple(path.rstrip("/").split("/"))
    below: tuple[_Step, ...] = (AnyPart, _DEEP) if path.endswith("/") else ()
    steps = (*(Part.literal(part) for part in parts), *below)
    return Pattern(path, steps, parts, 0, _deep_bits(steps) if below else 0)


def _parts(text: str) -> list[str]:
    if not text:
        raise WrongUseError("an empty pattern names no file", "** is every file of the repository")
    if text == "/":
        raise WrongUseError(
            "/ is an absolute path", "patterns begin at the top of the repository: ** is every file of it"
        )
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


def _check_bounds(shown: str, wildcards: int, deep: int, rest: str) -> None:
    if deep > MOST_DEEP:
        what, most = f"{deep} times **", MOST_DEEP
    elif wildcards > MOST_WILDCARDS:
        what, most = f"{wildcards} wildcards (* ? ** and sets in brackets)", MOST_WILDCARDS
    elif len(rest) > LONGEST_REST:
        what, most = f"{len(rest)} characters from its first wildcard on", LONGEST_REST
    else:
        return
    raise WrongUseError(
        f"{shown} has {what}",
        f"at most {most} are allowed: name a directory as a whole (src/), or give several patterns",
    )


def _deep_bits(steps: Sequence[_Step]) -> int:
    return sum(1 << number for number, step in enumerate(steps) if isinstance(step, _Deep))


def _beginning(steps: Sequence[_Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, _Deep) or step.text is None:
            return
        yield step.text


def _shown(text: str) -> str:
    cut = text if len(text) <= 80 else text[:79] + "…"
    return "'" + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut) + "'"
