"""Tasks as a person reads them."""

from corral.cli.output import plain
from corral.cli.table import lines
from corral.client.answers import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_TITLE = 60
_NOTHING = "-"
_MOST_WAITED_FOR = 5
_HEAD = ["TASK", "STATE", "PRIORITY", "ATTEMPT", "CLAIMED BY", "ADDED BY", "WAITS FOR", "TITLE"]
_WAITS_FOR = _HEAD.index("WAITS FOR")


def listed(answer: Record) -> "Iterator[str]":
    """The lines of `task ls`."""
    tasks = answer.get("tasks")
    rows = [_row(task) for task in (tasks if isinstance(tasks, list) else [])]
    if rows:
        table = [_HEAD, *rows]
        if all(row[_WAITS_FOR] == _NOTHING for row in rows):
            table = [[*row[:_WAITS_FOR], *row[_WAITS_FOR + 1 :]] for row in table]
        yield from lines(table)
    if answer.get("more"):
        yield f"and {answer.get('more')} more"


def shown(task: Record) -> "Iterator[str]":
    """The lines of `task show`."""
    yield f"{task.get('task')}  {plain(str(task.get('title')))}"
    yield f"state: {task.get('state')}{_whose(task)}"
    for name, label in (("until", "until"), ("priority", "priority"), ("attempt", "attempts so far")):
        if task.get(name):
            yield f"{label}: {task.get(name)}"
    for name, label in (
        ("labels", "labels"),
        ("lacking", "no agent has"),
        ("waits_for", "waits for"),
        ("needs", "needs"),
    ):
        words = task.get(name)
        if isinstance(words, list) and words:
            yield f"{label}: {plain(', '.join(map(str, words)))}"
    yield f"added by {plain(str(task.get('added_by')))} at {task.get('added_at')}"
    for name in ("body", "result"):
        if task.get(name):
            yield ""
            yield f"{name}:"
            yield plain(str(task.get(name)))
    notes = task.get("notes")
    for note in notes if isinstance(notes, list) else []:
        yield ""
        yield f"note of {plain(str(note.get('by')))} at {note.get('time')}:"
        yield plain(str(note.get("text")))


def _whose(task: Record) -> str:
    return f" by {plain(str(task.get('claimed_by')))}, token {task.get('token')}" if task.get("claimed_by") else ""


def _waited_for(task: Record) -> str:
    """Tasks that are not done, and labels that nobody has."""
    tasks, labels = task.get("waits_for"), task.get("lacking")
    found = [str(one) for one in (tasks if isinstance(tasks, list) else [])]
    found += [f"label {plain(str(one))}" for one in (labels if isinstance(labels, list) else [])]
    more = f" and {len(found) - _MOST_WAITED_FOR} more" if len(found) > _MOST_WAITED_FOR else ""
    return ", ".join(found[:_MOST_WAITED_FOR]) + more or _NOTHING


def _row(task: Record) -> "list[str]":
    title = plain(str(task.get("title")))
    return [
        str(task.get("task")),
        str(task.get("state")),
        str(task.get("priority")),
        f"{task.get('attempt')}/{task.get('max_attempts')}",
        plain(str(task.get("claimed_by") or _NOTHING)),
        plain(str(task.get("added_by"))),
        _waited_for(task),
        title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…",
    ]
