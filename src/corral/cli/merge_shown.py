"""Merges as a person reads them."""

from corral.cli.output import plain
from corral.cli.progress import entries, strings
from corral.cli.table import lines, shortened
from corral.client.answers import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = ["MERGE", "STATE", "BRANCH", "FOR", "SINCE", "ABOUT"]


def listed(answer: Record, width: "int | None" = None) -> "Iterator[str]":
    """The lines of `merge ls`, each in so many columns."""
    rows = [
        [
            str(merge.get("merge")),
            str(merge.get("state")),
            plain(str(merge.get("branch"))),
            plain(str(merge.get("agent") or merge.get("person"))),
            str(merge.get("changed_at")),
            plain(str(merge.get("step") or merge.get("reason") or merge.get("subject"))),
        ]
        for merge in entries(answer, "merges")
    ]
    if rows:
        yield from (line if width is None else shortened(line, width) for line in lines([_HEAD, *rows]))


def shown(merge: Record) -> "Iterator[str]":
    """The lines of `merge show`."""
    yield f"{merge.get('merge')}  {merge.get('state')}  {plain(str(merge.get('branch')))} into {merge.get('target')}"
    for key in ("subject", "step", "reason", "remedy"):
        if merge.get(key):
            yield f"{key}: {plain(str(merge.get(key)))}"
    whose = f"{merge.get('agent')}, " if merge.get("agent") else ""
    yield f"accountable: {plain(whose + str(merge.get('person')))}"
    yield f"commit: {merge.get('tip')}"
    if merge.get("state") == "merged":
        yield f"merged as: {merge.get('commit')}"
    together = strings(merge.get("batch"))
    if len(together) > 1:
        yield f"tested with: {', '.join(together)}"
    for file in strings(merge.get("files")):
        yield f"conflict: {plain(file)}"
    for gate in entries(merge, "gates"):
        yield from _gate(gate)


def _gate(gate: Record) -> "Iterator[str]":
    how = "passed" if gate.get("passed") else "timed out" if gate.get("timed_out") else f"exit {gate.get('exit_code')}"
    left = f", {gate.get('left')} processes that it left were ended" if gate.get("left") else ""
    yield ""
    yield f"gate: {plain(str(gate.get('command')))} ({how}, {gate.get('seconds')} s{left})"
    if gate.get("omitted"):
        yield f"  … {gate.get('omitted')} bytes before this are not kept"
    yield from (f"  {plain(line)}" for line in str(gate.get("output") or "").splitlines())
