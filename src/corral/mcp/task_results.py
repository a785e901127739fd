"""What the tools of tasks answer with: as schemas, and in words."""

from __future__ import annotations

from corral.mcp.telling import field, listing, record
from corral.mcp.words import Record

_TASK_FIELD = field("string", "the id of the task, such as t41")
_NOTES = listing(
    record(
        {
            "time": field("string", "when"),
            "by": field("string", "who: an agent as TEAM/AGENT, or a person"),
            "text": field("string", "what was said"),
        }
    ),
    "what was said about it, the oldest first",
)
ADDED = record(
    {"task": _TASK_FIELD, "added": field("boolean", "false if a task with this key was there before: it is that one")}
)
CLAIMED = record(
    {
        "task": _TASK_FIELD,
        "token": field("integer", "proves that it is yours: give it with everything that you say about the task"),
        "title": field("string", "what is to be done"),
        "body": field("string", "all there is to know about it"),
        "attempt": field("integer", "1 for the first; if it is more, somebody has tried before"),
        "max_attempts": field("integer", "after so many it is put aside for a person"),
        "notes": _NOTES,
    }
)
_OF_A_TASK = {
    "task": _TASK_FIELD,
    "title": field("string", "what is to be done"),
    "state": field("string", "ready, waiting, delayed, claimed, done or dead"),
    "priority": field("integer", "greater is sooner"),
    "attempt": field("integer", "how often it was tried"),
    "claimed_by": field(["string", "null"], "whose it is now: an agent as TEAM/AGENT, or a person; else null"),
    "token": field(["integer", "null"], "of the claim; null if there is none"),
    "waits_for": listing({"type": "string"}, "tasks that must be done before it and are not"),
}
CHANGED = record(_OF_A_TASK)
SHOWN = record(
    {
        **_OF_A_TASK,
        "body": field("string", "all there is to know about it"),
        "result": field("string", "what came of it; empty before it is done"),
        "added_by": field("string", "who asked for it: an agent as TEAM/AGENT, or a person"),
        "notes": _NOTES,
    }
)
LISTED = record(
    {
        "tasks": listing(CHANGED, "the tasks, the next first"),
        "more": field("integer", "how many more there are than were asked for"),
    }
)


def added_words(answer: Record) -> str:
    """The answer of `task_add`."""
    return f"{answer.get('task')} is on the list" + ("" if answer.get("added") else "; it was there before")


def claimed_words(answer: Record) -> str:
    """The answer of `task_claim`."""
    task, token = answer.get("task"), answer.get("token")
    lines = [
        f"{task} is yours, with token {token} (attempt {answer.get('attempt')} of {answer.get('max_attempts')})",
        f"task_done with task={task} and token={token} when it is done; task_fail or task_release if not",
        "",
        str(answer.get("title")),
    ]
    return "\n".join([*lines, *_at_length(answer)])


def shown_words(answer: Record) -> str:
    """The answer of `task_show`."""
    lines = [_row(answer), f"added by {answer.get('added_by')}", *_at_length(answer)]
    if answer.get("result"):
        lines += ["", f"result: {answer.get('result')}"]
    return "\n".join(lines)


def _at_length(answer: Record) -> list[str]:
    """What a task says, and what was said of it."""
    lines = ["", str(answer.get("body"))] if answer.get("body") else []
    notes = answer.get("notes")
    for note in notes if isinstance(notes, list) else []:
        lines += ["", f"note of {note.get('by')} at {note.get('time')}: {note.get('text')}"]
    return lines


def changed_words(answer: Record) -> str:
    """The answer of what says something about a claim."""
    return f"{answer.get('task')} is {answer.get('state')} now"


def listed_words(answer: Record) -> str:
    """The answer of `task_list`."""
    tasks = answer.get("tasks")
    lines = [_row(task) for task in (tasks if isinstance(tasks, list) else [])]
    if answer.get("more"):
        lines.append(f"and {answer.get('more')} more")
    return "\n".join(lines) or "no tasks"


def _row(task: Record) -> str:
    whose = f" by {task.get('claimed_by')}, token {task.get('token')}" if task.get("claimed_by") else ""
    waits = task.get("waits_for")
    after = f", waits for {', '.join(map(str, waits))}" if isinstance(waits, list) and waits else ""
    return f"{task.get('task')}  {task.get('state')}{whose}{after}  {task.get('title')}"
