"""Where names of files lead when symbolic links are followed, and which links a repository has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from corral.domain.errors import CorralError
from corral.git import git
from corral.ports.links import RealPath, SymbolicLink, SymbolicLinks

#: Links that are told of. Where there are more, nobody means each of them.
_MOST_LINKS = 5_000
#: Names that are looked at where there is no git to ask.
_MOST_NAMES = 50_000
#: The mode of a symbolic link in git's index.
_LINK = "120000 "


def real_paths(directory: str, paths: Sequence[str]) -> list[RealPath]:
    """Where each path below the directory leads. What is not there is taken as it is."""
    top = os.path.realpath(directory)
    return [_real(top, path) for path in paths]


def symbolic_links(directory: str) -> SymbolicLinks:
    """The links below a directory: those that git knows of; where there is no git, those that are found."""
    top = os.path.realpath(directory)
    try:
        names = list(_in_index(top))
        whole = True
    except CorralError:
        names, whole = _on_disk(top)
    looked_at = [SymbolicLink(link=name, leads_to=_real(top, name)) for name in names[:_MOST_LINKS]]
    # One that git knows of may be something else by now.
    links = [one for one in looked_at if one.leads_to.path != one.link]
    return SymbolicLinks(links=links, whole=whole and len(names) <= _MOST_LINKS)


def _real(top: str, path: str) -> RealPath:
    real = os.path.realpath(os.path.join(top, path))
    is_inside = real == top or real.startswith(top.rstrip("/") + "/")
    return RealPath(path=os.path.relpath(real, top) if is_inside else None, directory=os.path.isdir(real))


def _in_index(top: str) -> Iterator[str]:
    """The links that git knows of, whether or not they are in a commit yet."""
    for line in git(top, "ls-files", "--stage", "-z").split("\0"):
        if line.startswith(_LINK):
            name = line.partition("\t")[2]
            if _is_text(name):
                yield name


def _on_disk(top: str) -> tuple[list[str], bool]:
    """The links that are found, and whether everything was looked at."""
    found: list[str] = []
    seen = 0
    for directory, directories, files in os.walk(top):
        seen += len(directories) + len(files)
        if seen > _MOST_NAMES:
            return found, False
        names = (os.path.join(directory, name) for name in (*directories, *files))
        found += [os.path.relpath(name, top) for name in names if os.path.islink(name) and _is_text(name)]
    return found, True


def _is_text(name: str) -> bool:
    """False for a name that is no UTF-8: no pattern can name it by more than wildcards, and the wire has text only."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
