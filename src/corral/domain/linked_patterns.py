"""Where a pattern with wildcards leads by way of symbolic links: two names for a file must not be two leases on it.

A link is followed where a part of the pattern *names* it: `inl*/a.py` goes through the link `inlink`, and so does
`**/inlink/a.py`. What `**` and a slash at the end stand for are directories and not links, as for git: so `src/` is
what is below `src` and nothing else, whatever links are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from corral.domain.errors import RefusedError
from corral.domain.path_patterns import Pattern, of_file, parse, plain

#: Patterns that one can become. It is compared with all that others hold.
_MOST = 64
_DEEP, _BELOW = "**", ""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads: from the top of the repository, `.` for that itself, or None for out of it."""

    path: str | None
    directory: bool


def can_name_links(pattern: Pattern) -> bool:
    """True if a part of it behind its beginning names something: then a link can be meant that nobody spelled out."""
    return any(part not in (_DEEP, _BELOW) for part in _parts(pattern)[len(pattern.beginning) :])


def names_directories(pattern: Pattern) -> bool:
    """True if such a part stands for a directory."""
    parts = _parts(pattern)
    return any(part not in (_DEEP, _BELOW) for part in parts[len(pattern.beginning) : -1])


def followed(pattern: Pattern, links: Mapping[str, Target]) -> tuple[Pattern, ...]:
    """The pattern, and each that it is by way of links. `RefusedError` for one that leads out of the repository.

    A link itself, at the end of the pattern, is a file of the repository wherever it leads; below one to a file there
    is nothing.
    """
    found = {pattern.text: pattern}
    ahead = [pattern]
    while ahead:
        one = ahead.pop()
        for link, target in links.items():
            for rest in _behind(one, link.split("/")):
                further = _led_to(pattern, link, target, rest)
                if further is not None and further.text not in found:
                    found[further.text] = further
                    ahead.append(further)
        if len(found) > _MOST:
            raise RefusedError(
                f"{pattern.text} goes through more than {_MOST} symbolic links",
                "name the directories that you mean; a slash at the end is all that is below one, and follows no link",
            )
    return tuple(found.values())


def _led_to(pattern: Pattern, link: str, target: Target, rest: Sequence[str]) -> Pattern | None:
    if target.path is None:
        if not rest or not target.directory:
            return None
        raise RefusedError(
            f"{pattern.text} leads out of the repository, by the symbolic link {link}",
            "name the directories that you mean, without that link; ** and a slash at the end follow no link",
        )
    if not rest:
        return None if target.directory else plain(target.path)
    beginning = [] if target.path == "." else [plain(target.path).text]
    return parse("/".join([*beginning, *rest]) or _DEEP)


def _behind(pattern: Pattern, link: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """What is left of the pattern behind the link, for each way in which its parts name the link."""
    # Most links are elsewhere.
    if any(ours != theirs for ours, theirs in zip(pattern.beginning, link, strict=False)):
        return
    parts = _parts(pattern)
    places = _through_deep(parts, {0})
    for name in link[:-1]:
        places = _through_deep(parts, set(_after(parts, places, name)))
    for place in sorted(places):
        if _names(parts[place], link[-1]):
            yield tuple(parts[place + 1 :])


def _after(parts: Sequence[str], places: set[int], name: str) -> Iterator[int]:
    for place in places:
        if parts[place] == _DEEP:
            yield place
        elif place + 1 < len(parts) and _names(parts[place], name):
            yield place + 1


def _through_deep(parts: Sequence[str], places: set[int]) -> set[int]:
    """The places, and those behind a `**` that stands for nothing."""
    found = set(places)
    for place in sorted(places):
        at = place
        while parts[at] == _DEEP and at + 1 < len(parts):
            at += 1
            found.add(at)
    return found


def _names(part: str, name: str) -> bool:
    return part not in (_DEEP, _BELOW) and parse(part).matches(of_file(name))


def _parts(pattern: Pattern) -> list[str]:
    return pattern.text.split("/")
