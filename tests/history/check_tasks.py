"""Tasks: what was added is there, nobody has what another has, a token that is over does nothing, and done is done."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from tests.history.record import OK, Operation

_ENDS = ("done", "fail", "return")


def problems(history: Sequence[Operation], at_the_end: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is wrong, in words. At the end all tasks are looked at once more, by their ids, when all had to be done."""
    return [*_lost(history, at_the_end), *_shared(history), *_not_final(history, at_the_end), *_stale(history)]


def _lost(history: Sequence[Operation], at_the_end: Mapping[str, Mapping[str, Any]]) -> list[str]:
    found = []
    ids: dict[str, set[str]] = {}
    for one in history:
        if one.what == "add" and one.ok:
            ids.setdefault(one.asked["key"], set()).add(one.told["task"])
    for key, tasks in ids.items():
        if len(tasks) > 1:
            found.append(f"{key!r} was added as {' and '.join(sorted(tasks))}")
        for task in tasks:
            if task not in at_the_end:
                found.append(f"{task} was added and is lost")
            elif at_the_end[task]["state"] != "done":
                found.append(f"{task} was never done: it is {at_the_end[task]['state']}")
    keys = Counter(str(task["key"]) for task in at_the_end.values())
    return [*found, *(f"{key!r} is there {count} times" for key, count in keys.items() if count > 1)]


def _claims(history: Sequence[Operation]) -> dict[str, list[tuple[Operation, float]]]:
    """By task: every claim, and until when whoever made it could be sure of it."""
    found: dict[str, list[tuple[Operation, float]]] = {}
    for claim in history:
        if claim.what != "claim" or claim.outcome != OK:
            continue
        token, until = claim.told["token"], claim.began + claim.asked["ttl"]
        about = [one for one in history if one.asked.get("token") == token]
        until = max([until, *(one.began + one.asked["ttl"] for one in about if one.what == "prolong" and one.ok)])
        until = min([until, *(one.began for one in about if one.what in _ENDS)])
        found.setdefault(claim.told["task"], []).append((claim, until))
    return found


def _shared(history: Sequence[Operation]) -> list[str]:
    found = []
    for task, claims in _claims(history).items():
        for (one, until), (other, others) in combinations(claims, 2):
            if max(one.ended, other.ended) < min(until, others):
                found.append(f"{one.client} and {other.client} had {task} at once")
            if one.told["token"] == other.told["token"]:
                found.append(f"{task} was claimed twice with token {one.told['token']}")
    return found


def _not_final(history: Sequence[Operation], at_the_end: Mapping[str, Mapping[str, Any]]) -> list[str]:
    found = []
    done = {one.asked["task"]: one for one in history if one.what == "done" and one.ok}
    counted = Counter(one.asked["task"] for one in history if one.what == "done" and one.ok)
    found += [f"{task} was done {count} times" for task, count in counted.items() if count > 1]
    for task, one in done.items():
        state = at_the_end.get(task, {"state": "lost", "result": ""})
        if (state["state"], state["result"]) != ("done", one.asked["result"]):
            found.append(f"{task} was done by {one.client}, and is {state['state']} with {state['result']!r}")
    for one in history:
        if one.what == "claim" and one.ok and one.told["task"] in done and one.began > done[one.told["task"]].ended:
            found.append(f"{one.told['task']} was claimed by {one.client} after it was done")
    return found


def _stale(history: Sequence[Operation]) -> list[str]:
    """A token is over at the latest when somebody else was told of a greater one."""
    greater: dict[str, list[tuple[int, float]]] = {}
    for one in history:
        if one.what == "claim" and one.ok:
            greater.setdefault(one.told["task"], []).append((one.told["token"], one.ended))
    found = []
    for one in history:
        if one.what in (*_ENDS, "prolong") and one.ok:
            later = min(
                (ended for token, ended in greater.get(one.asked["task"], ()) if token > one.asked["token"]),
                default=math.inf,
            )
            if later < one.began:
                found.append(
                    f"{one.what} of {one.asked['task']} with token {one.asked['token']} came through, though it is over"
                )
    return found
