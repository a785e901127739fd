"""Registering Corral's hooks with a coding agent: what the agent's own configuration file is to say. Pure.

Whatever else the file says stays as it is, comments, layout and other hooks included. What is ours is known by what it
runs: `corral hook`, by whatever path. A text that cannot be read is refused: then nothing is to be changed.
"""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corral.domain import mcp_registration_json as form
from corral.domain.errors import RefusedError
from corral.domain.hook_calls import event_word

_TABLE = "hooks"
#: A word in a profile that stands for the directory that the profile is in.
HERE = "{here}"


@dataclass(frozen=True, kw_only=True, slots=True)
class HookFile:
    """Where a coding agent looks for its hooks in a workspace, and which of its events are asked for.

    One that runs commands has `events`: a list for each in the table `hooks`. One that loads code has `plugin`, which
    names a file of ours with `HERE` for the directory of the profiles, and the `list` that such are named in.
    """

    #: Paths in the workspace. The first that is there is used; if there is none, the first is made.
    files: tuple[str, ...]
    #: Event → the tools that it is wanted for, as the agent matches them; empty for an event that has none.
    events: Mapping[str, str]
    plugin: str = ""
    list: str = ""
    #: What a person has to do so that the agent uses them; empty if nothing.
    note: str = ""


def registered(where: HookFile, path: str, text: str, agent: str, command: Sequence[str], here: str) -> str | None:
    """What `text`, the contents of the file at `path`, is to be so that our hooks are in it; None if they are.

    `command` starts this Corral, `here` is where the profiles are. A file that is not there yet has no text. Raises
    `RefusedError` if nothing may be changed.
    """
    wanted = {place: _item(where, place, agent, command, here) for place in _places(where)}
    return _changed(where, path, text, agent, wanted)


def unregistered(where: HookFile, path: str, text: str, agent: str) -> str | None:
    """What the text is to be without our hooks; None if there are none. Raises as `registered` does."""
    return _changed(where, path, text, agent, {})


def without_ours(where: HookFile, found: Mapping[str, object], agent: str) -> dict[str, object]:
    """What a file says besides our hooks."""
    rest = dict(found)
    if where.list:
        rest[where.list] = [item for item in _listed(rest.get(where.list)) if not _is_ours(where, item, agent)]
    elif isinstance(table := rest.get(_TABLE), dict):
        kept = {
            event: [item for item in groups if not _is_ours(where, item, agent)] if isinstance(groups, list) else groups
            for event, groups in table.items()
        }
        rest[_TABLE] = {event: groups for event, groups in kept.items() if groups != []}
    return {key: value for key, value in rest.items() if value not in ([], {})}


def _changed(where: HookFile, path: str, text: str, agent: str, wanted: Mapping[tuple[str, ...], object]) -> str | None:
    new = text
    try:
        for place in _places(where):
            items = _at(form.read(new), place)
            ours = [index for index, item in enumerate(items) if _is_ours(where, item, agent)]
            if place in wanted and [items[index] for index in ours] == [wanted[place]]:
                continue
            for index in reversed(ours):
                new = form.without_item(new, place, index)
            if place in wanted:
                new = form.with_item(new, place, wanted[place])
            elif ours and len(ours) == len(items):
                new = _without_empty(new, place)
        # There are more ways to write a file than we know; what came of it tells whether this was one that we do.
        said = form.read(new)
        if without_ours(where, said, agent) != without_ours(where, form.read(text), agent) or any(
            _at(said, place)[-1:] != [item] for place, item in wanted.items() if new != text
        ):
            raise ValueError("it is written in a way that nothing can be added to")
    except ValueError as error:
        raise RefusedError(
            f"{path} was left as it is: {error}", "put it right or move it away, then register the hooks again"
        ) from None
    return new if new != text else None


def _without_empty(text: str, place: tuple[str, ...]) -> str:
    """The text without a list that has nothing in it any more, and without the table that had nothing but that."""
    while place:
        text, place = form.without_member(text, place), place[:-1]
        if not place or form.read(text).get(place[0]) != {}:
            break
    return text


def _places(where: HookFile) -> list[tuple[str, ...]]:
    return [(where.list,)] if where.list else [(_TABLE, event) for event in where.events]


def _item(where: HookFile, place: tuple[str, ...], agent: str, command: Sequence[str], here: str) -> object:
    if where.list:
        return where.plugin.replace(HERE, here)
    event = place[-1]
    run = {"type": "command", "command": shlex.join([*command, "hook", agent, event_word(event)])}
    matcher = where.events[event]
    return {**({"matcher": matcher} if matcher else {}), "hooks": [run]}


def _at(found: Mapping[str, object], place: tuple[str, ...]) -> list[object]:
    value: object = found
    for name in place:
        if not isinstance(value, dict):
            raise ValueError(f"{'.'.join(place)} is no list")
        value = value.get(name, [] if name == place[-1] else {})
    if not isinstance(value, list):
        raise ValueError(f"{'.'.join(place)} is no list")
    return value


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_ours(where: HookFile, item: object, agent: str) -> bool:
    if where.list:
        return isinstance(item, str) and os.path.basename(item) == os.path.basename(where.plugin)
    runs = item.get("hooks") if isinstance(item, dict) else None
    return isinstance(runs, list) and bool(runs) and all(_runs_ours(run, agent) for run in runs)


def _runs_ours(run: object, agent: str) -> bool:
    command = run.get("command") if isinstance(run, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    if len(words) < 4 or words[-3:-1] != ["hook", agent]:
        return False
    return words[-5:-3] == ["-m", "corral"] or (len(words) == 4 and os.path.basename(words[0]) == "corral")
