"""Values: each key is linearizable, nothing that was answered is lost, and a watcher sees each change once."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.history.linear import Step, stuck
from tests.history.record import OK, UNKNOWN, Operation

#: A value and its revision; of a key that is not there, nothing and 0. A revision that nobody ever saw is negative.
Register = tuple[str | None, int]
ABSENT: Register = (None, 0)


def problems(history: Sequence[Operation]) -> list[str]:
    """What is wrong, in words."""
    keys = {key for operation in history for key in _keys(operation)}
    return [problem for key in sorted(keys) for problem in not_linearizable(history, key)]


def not_linearizable(history: Sequence[Operation], key: str) -> list[str]:
    """What cannot have happened to one key."""
    revisions = _revisions(history, key)
    steps = [
        step for number, operation in enumerate(history) for step in _steps(operation, key, revisions, -1 - number)
    ]
    left = stuck(steps, ABSENT)
    return [] if left is None else [f"{key} is not linearizable: no place for {'; '.join(s.name for s in left[:4])}"]


def _keys(operation: Operation) -> Iterator[str]:
    if operation.what == "get":
        yield operation.asked["key"]
    elif operation.what == "transact":
        yield from operation.asked["puts"]
        yield from operation.asked["drops"]


def _revisions(history: Sequence[Operation], key: str) -> dict[str, int]:
    """By value the revision that it had, as far as anybody saw: each is written once."""
    found: dict[str, int] = {}
    for operation in history:
        if operation.what == "get" and operation.ok and operation.asked["key"] == key:
            found[operation.told["value"]] = operation.told["revision"]
        elif operation.what == "seen":
            found |= {
                change["value"]: operation.told["revision"]
                for change in operation.told["changes"]
                if change["key"] == key and change["value"] is not None
            }
    return found


def _steps(operation: Operation, key: str, revisions: Mapping[str, int], unseen: int) -> Iterator[Step[Register]]:
    """What an operation means for one key; nothing if it is about others."""

    def step(leads_to: Any, what: str) -> Step[Register]:
        name = f"{operation.client} {what} at {operation.began:.3f}, {operation.outcome}"
        return Step(name, operation.began, operation.ended, leads_to)

    asked, told = operation.asked, operation.told
    if operation.what == "get" and asked["key"] == key and operation.outcome != UNKNOWN:
        found: Register = (told["value"], told["revision"]) if operation.ok else ABSENT
        yield step(lambda state: [state] if state == found else [], f"read {found}")
    elif operation.what == "transact" and key in (*asked["puts"], *asked["drops"]):
        expected = asked["if_revisions"].get(key)
        if operation.outcome in (OK, UNKNOWN):
            value = asked["puts"].get(key)
            revision = told["revision"] if operation.ok else revisions.get(value or "", unseen)
            after: Register = ABSENT if value is None else (value, revision)
            yield step(
                lambda state: [after] if expected is None or state[1] == expected else [],
                f"wrote {value!r} on {expected}",
            )
        elif expected is not None and told.get("key") == key:
            # A lost compare names what was there instead.
            there = told["revision"]
            yield step(lambda state: [state] if state[1] == there != expected else [], f"lost to {there}")


def watch_problems(history: Sequence[Operation], there_at_the_end: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a watcher should not have seen, or should have. At the end all changes are read once more, in one page."""
    found = []
    told = {change["revision"]: _written(change) for change in there_at_the_end}
    last = max(told, default=0)
    for watcher in sorted({operation.client for operation in history if operation.what == "seen"}):
        seen = [one.told for one in history if one.what == "seen" and one.client == watcher]
        found += out_of_order(watcher, [change["revision"] for change in seen])
        until = max((change["revision"] for change in seen), default=0)
        for change in seen:
            if change["revision"] <= last and told.get(change["revision"]) != _written(change):
                found.append(f"{watcher} saw {change['revision']}, which is not so at the end")
        missed = {revision for revision in told if revision <= until} - {change["revision"] for change in seen}
        found += [f"{watcher} never saw {revision}" for revision in sorted(missed)]
    for operation in history:
        if operation.what == "transact" and operation.ok:
            # To remove what is not there changes nothing, and nobody is told of it.
            wanted = {key: operation.asked["puts"].get(key) for key in operation.told["changed"]}
            if told.get(operation.told["revision"], {}) != wanted:
                found.append(f"{operation.client} was told of {operation.told['revision']}, which is lost or torn")
    return found


def _written(change: Mapping[str, Any]) -> dict[str, str | None]:
    return {one["key"]: one["value"] for one in change["changes"]}


def out_of_order(reader: str, revisions: Sequence[int]) -> list[str]:
    """Where a reader of the log was given something twice, or something old after something new."""
    return [f"{reader} was given {after} after {before}" for before, after in pairwise(revisions) if after <= before]
