"""The coding agents that Corral knows: one TOML file each, those that ship beside this module and a person's own.

A profile says how to talk to a program; nothing in Corral asks for a program by name. A person's own files are in
`profiles/` of their configuration (`Places.profiles`): one that has the name of one that ships takes its place. They
are read again when they have changed, by whoever asks next. One with a mistake is left out, told by `problems`, and
harms no other.
"""

from __future__ import annotations

import functools
import os
import stat
from dataclasses import dataclass

from corral.agents.command_words import started
from corral.agents.profile import Profile
from corral.agents.profile_file import read_profile
from corral.domain.errors import BadSpecError, CorralError
from corral.domain.spec_text import MAX_BYTES, decode
from corral.places import Places

#: Where those that ship are, and beside them what agents load.
SHIPPED = os.path.dirname(os.path.abspath(__file__))
#: More files than this in a person's directory are not profiles.
_MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class Problem:
    """A file of a person that is no profile."""

    file: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What is known at one moment. Whoever asks for many commands asks one of these, and looks at the files once."""

    #: All profiles, by name.
    profiles: tuple[Profile, ...]
    #: Which of a person's own files are left out, and why.
    problems: tuple[Problem, ...] = ()

    def for_command(self, command: tuple[str, ...], shell: bool) -> Profile | None:
        """As the function of that name."""
        words = _started(command, shell)
        known = [profile for profile in self.profiles if words[: len(profile.command)] == profile.command]
        return max(known, key=lambda profile: (len(profile.command), is_own(profile)), default=None)


#: The agents of a team mostly run the same few commands.
_started = functools.lru_cache(maxsize=64)(started)

#: What a file is known by: as long as it is the same, so is what was read of it.
_Stamp = tuple[str, int, int, int]


def profiles() -> tuple[Profile, ...]:
    """All profiles, by name."""
    return current().profiles


def problems() -> tuple[Problem, ...]:
    """Which of a person's own files are left out, and why."""
    return current().problems


def is_own(profile: Profile) -> bool:
    """True if it is of a person, and not one that ships."""
    return os.path.dirname(profile.file) != SHIPPED


def by_name(name: str) -> Profile | None:
    """The profile of that name."""
    return next((profile for profile in profiles() if profile.name == name), None)


def for_command(command: tuple[str, ...], shell: bool) -> Profile | None:
    """The profile of the program that a command starts, or None if no profile knows it.

    The directory of the program does not matter, nor do arguments. Of a command for a shell only the first program
    counts. Of several profiles that know it, the one that says more of the command counts, and then a person's own.
    """
    return current().for_command(command, shell)


def current() -> Catalogue:
    """What is known now; the same object as long as no file of a person has changed."""
    directory = Places.from_environment().profiles
    return _read_all(directory, _stamps(directory))


def _stamps(directory: str) -> tuple[_Stamp, ...]:
    try:
        with os.scandir(directory) as entries:
            files = sorted((entry for entry in entries if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    except OSError:
        return ()  # most people have none
    found = []
    for entry in files[:_MOST_FILES]:
        try:
            info = entry.stat()
        except OSError:
            continue  # it went this moment, or is a link to nowhere
        found.append((entry.name, info.st_mtime_ns, info.st_size, info.st_ino))
    return tuple(found)


@functools.lru_cache(maxsize=4)
def _read_all(directory: str, stamps: tuple[_Stamp, ...]) -> Catalogue:
    """What there is, as long as the files of a person are these."""
    known = {profile.name: profile for profile in _shipped()}
    wrong = []
    for name, *_ in stamps:
        path = os.path.join(directory, name)
        try:
            profile = _read(path)
        except BadSpecError as error:
            wrong.append(Problem(path, error.message, error.remedy))
        except (OSError, CorralError) as error:
            wrong.append(Problem(path, f"{path} cannot be read: {error}", "it is left out until it can be"))
        else:
            known[profile.name] = profile
    return Catalogue(tuple(known[name] for name in sorted(known)), tuple(wrong))


@functools.cache
def _shipped() -> tuple[Profile, ...]:
    """Raises BadSpecError if one of our own files has a mistake."""
    files = sorted(file for file in os.listdir(SHIPPED) if file.endswith(".toml"))
    return tuple(_read(os.path.join(SHIPPED, file)) for file in files)


def _read(path: str) -> Profile:
    # Not waited for: a pipe that nobody writes to would hold up everybody.
    with open(path, "rb", opener=_at_once) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise BadSpecError(f"{path} is no regular file", "a profile is a file in TOML: docs/reference/profiles.md")
        # One byte more than may be: then it is told that it is too large.
        return read_profile(decode(stream.read(MAX_BYTES + 1), path), path)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
