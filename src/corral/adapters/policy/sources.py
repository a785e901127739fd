"""The files of a policy: those that ship, and over them a host's own.

A directory of a host's own has Rego (`*.rego`) and tables (`data.json`), and for each team that differs a directory
`teams/NAME` with the same. Files of a host add rules to `package corral`; those of a team are in `package
corral.teams.NAME`, and none of them can be elsewhere: so a team's rules count for that team alone. `*_test.rego` is for
`corral policy test` only.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from corral.domain.errors import BadPolicyError
from corral.domain.names import RULE, is_valid
from corral.domain.roles import Tables, merged, tables_of, with_team
from corral.policy import SHIPPED

#: What a policy may be: far more than one needs, and little enough to be read and compiled in a moment.
_MOST_FILES, _MOST_BYTES = 200, 1 << 20
_TEST_FILE = "_test.rego"
#: The first statement of a file; nothing but comments may be before it.
_PACKAGE = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*package[ \t]+(\S+)")
#: What stands below `tables` in the data of a host.
_NAMES_OF_TABLES = ("roles", "acts", "scopes", "verbs", "modes", "teams")
_LAYOUT = "docs/howto/policy.md tells which files a policy has"


@dataclass(frozen=True, kw_only=True, slots=True)
class Module:
    """One file of Rego."""

    path: str
    text: str
    #: What is behind `package`, as it is written.
    package: str

    @property
    def ships(self) -> bool:
        """It is one of those that come with Corral."""
        return os.path.dirname(self.path) == SHIPPED

    @property
    def is_test(self) -> bool:
        return self.path.endswith(_TEST_FILE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """A whole policy, as it was read at one moment."""

    modules: tuple[Module, ...]
    data: dict[str, object] = field(default_factory=dict)
    tables: Tables


def read(directory: str = "", *, tests: bool = False, trusted: bool = True, writers: Collection[int] = ()) -> Sources:
    """The policy that ships, and over it the one in `directory`, if that is there.

    `trusted` is for what decides: files that others than root, this user and `writers` could write are refused. Raises
    BadPolicyError for whatever cannot be read, or says what cannot be.
    """
    modules, data = list(_modules(SHIPPED, "")), _data(SHIPPED)
    if directory and os.path.lexists(directory):
        if not os.path.isdir(directory):
            # Not as if there were none: what a host forbids over the policy that ships would be allowed then.
            raise BadPolicyError(f"{directory} is no directory, or leads to none", _LAYOUT)
        if trusted:
            _must_be_ours(directory, {0, os.geteuid(), *writers})
        modules += _modules(directory, "")
        data = merged(data, _own_data(directory))
        for team in _teams(directory):
            place = os.path.join(directory, "teams", team)
            modules += _modules(place, team)
            data = with_team(data, team, _data(place))
    kept = tuple(module for module in modules if tests or not module.is_test)
    return Sources(modules=kept, data=data, tables=tables_of(data))


def write(sources: Sources, directory: str) -> list[str]:
    """The policy as files that an OPA server can be started with. Nothing that is there is written over."""
    os.makedirs(directory, exist_ok=True)
    if os.listdir(directory):
        raise BadPolicyError(f"{directory} is not empty", "name a directory that is empty or not there yet")
    written = []
    for number, module in enumerate(sources.modules):
        # Numbered, because files of several directories may have the same name.
        written.append(_put(directory, f"{number:03}-{os.path.basename(module.path)}", module.text))
    written.append(_put(directory, "data.json", json.dumps(sources.data, indent=2) + "\n"))
    return written


def _put(directory: str, name: str, text: str) -> str:
    path = os.path.join(directory, name)
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
    return path


def _modules(directory: str, team: str) -> Iterator[Module]:
    for name in _names(directory):
        if not name.endswith(".rego"):
            continue
        path = os.path.join(directory, name)
        text = _text(path)
        found = _PACKAGE.match(text)
        if found is None:
            raise BadPolicyError(f"{path} has no package", "let it begin with: package corral")
        module = Module(path=path, text=text, package=found.group(1))
        if team and not module.is_test and module.package not in _packages_of(team):
            raise BadPolicyError(
                f"{path} is in package {module.package}", f"rules of a team are in: package {_packages_of(team)[-1]}"
            )
        yield module


def _packages_of(team: str) -> tuple[str, ...]:
    return (f"corral.teams.{team}", f'corral.teams["{team}"]')


def _teams(directory: str) -> list[str]:
    place = os.path.join(directory, "teams")
    if not os.path.isdir(place):
        return []
    names = _names(place)
    for name in names:
        if not is_valid(name):
            raise BadPolicyError(f"{os.path.join(place, name)} cannot be of a team", f"teams are named with {RULE}")
    return names


def _own_data(directory: str) -> dict[str, object]:
    """The data of a host. What it says of a team is in a file of that team's: there null means something else."""
    data = _data(directory)
    tables = data.get("tables")
    if isinstance(tables, dict) and "teams" in tables:
        raise BadPolicyError(
            f"{os.path.join(directory, 'data.json')} has tables of teams",
            f"put what a team has of its own into {os.path.join(directory, 'teams', 'NAME', 'data.json')}",
        )
    for name in _NAMES_OF_TABLES:
        if name in data:
            raise BadPolicyError(
                f"{os.path.join(directory, 'data.json')} has {name} at the top, where nobody looks for them",
                f"did you mean tables.{name}? Only the data.json of a team has roles at the top",
            )
    return data


def _data(directory: str) -> dict[str, object]:
    path = os.path.join(directory, "data.json")
    if not os.path.exists(path):
        return {}
    try:
        data = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise BadPolicyError(f"{path} is no JSON: {error}", "mend it; corral policy test tries it") from error
    if not isinstance(data, dict):
        raise BadPolicyError(f"{path} is no JSON object", _LAYOUT)
    return data


def _names(directory: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(directory) if not name.startswith((".", "__")))
    except OSError as error:
        raise BadPolicyError(f"cannot read {directory}: {error.strerror}", _LAYOUT) from error
    if len(names) > _MOST_FILES:
        raise BadPolicyError(f"{directory} has more than {_MOST_FILES} files", _LAYOUT)
    return names


def _text(path: str) -> str:
    try:
        # Not waited for: a pipe that nobody writes to would hold up everybody.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadPolicyError(f"{path} is no regular file", _LAYOUT)
            found = file.read(_MOST_BYTES + 1)
        if len(found) > _MOST_BYTES:
            raise BadPolicyError(f"{path} has more than {_MOST_BYTES} bytes", "split it, or keep lists in data.json")
        return found.decode()
    except OSError as error:
        raise BadPolicyError(f"cannot read {path}: {error.strerror}", _LAYOUT) from error
    except UnicodeDecodeError as error:
        raise BadPolicyError(f"{path} is not UTF-8", "save it as UTF-8") from error


def _must_be_ours(directory: str, writers: Collection[int]) -> None:
    """Raise unless these users alone can change what is in it: who writes the policy may do everything."""
    for place, directories, files in os.walk(directory):
        for path in (place, *(os.path.join(place, name) for name in (*directories, *files))):
            found = os.lstat(path)
            if stat.S_ISLNK(found.st_mode):
                raise BadPolicyError(f"{path} is a symbolic link", "put the file itself there")
            if found.st_uid not in writers:
                raise BadPolicyError(f"{path} belongs to uid {found.st_uid}", f"chown -R root {directory}")
            if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise BadPolicyError(f"{path} can be written by others", f"chmod -R go-w {directory}")
