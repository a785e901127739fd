"""Entries of the inbox as a person reads them."""

import time

from corral.cli.output import BOLD, DIM, paint, plain
from corral.cli.progress import entries, strings
from corral.cli.ps import age
from corral.cli.table import shortened
from corral.client.answers import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: Lines of the screen that a list shows of each; `inbox show` has all.
_LISTED = 12


def listed(answer: Record, *, width: "int | None", colour: bool) -> "Iterator[str]":
    """The lines of `corral inbox`: each entry, the lines that it is about, and how to answer it."""
    for number, entry in enumerate(entries(answer, "entries")):
        if number:
            yield ""
        yield paint(headline(entry), BOLD, colour)
        said = _without_blank(strings(entry.get("lines")))
        for line in said[-_LISTED:]:
            text = f"    {plain(line)}"
            yield text if width is None else shortened(text, width)
        if entry.get("state") not in ("answered", "gone"):
            yield paint(f"  → {plain(how(entry))}", DIM, colour)


def headline(entry: Record) -> str:
    """One entry in one line: its number, whose it is, what it wants, since when."""
    agent = f"{entry.get('team')}/{entry.get('agent')}" if entry.get("agent") else str(entry.get("team"))
    return plain(f"{entry.get('entry')}  {agent}  {entry.get('kind')}{_state(entry)}  {_since(entry)}  ") + plain(
        str(entry.get("what"))
    )


def shown(entry: Record) -> "Iterator[str]":
    """The lines of `inbox show`."""
    yield headline(entry)
    if entry.get("answer"):
        proof = "" if entry.get("outcome") == "proved" else "; nobody saw what came of it"
        yield plain(f"answered: {entry.get('answer')} by {entry.get('by')} at {entry.get('changed_at')}{proof}")
    elif entry.get("by"):
        yield plain(f"{entry.get('state')} by {entry.get('by')} until {entry.get('until')}")
    for option in entries(entry, "options"):
        yield plain(f"option {option.get('option')}: {option.get('text')}")
    if entry.get("state") not in ("answered", "gone"):
        yield f"→ {plain(how(entry))}"
    screen = strings(entry.get("screen")) or strings(entry.get("lines"))
    if screen:
        yield ""
        yield from (f"  {plain(line)}" for line in screen)


def how(entry: Record) -> str:
    """What a person types to answer it."""
    number, can = entry.get("entry"), strings(entry.get("can"))
    words = [f"corral inbox {word} {number}" for word in ("approve", "deny") if word in can]
    if "option" in can:
        first = next((option.get("option") for option in entries(entry, "options")), 1)
        words.append(f"corral inbox answer {number} {first}")
    if "text" in can:
        words.append(f"corral inbox answer {number} TEXT")
    return " | ".join(words) or str(entry.get("remedy") or "")


def _state(entry: Record) -> str:
    state = entry.get("state")
    if state == "open":
        return ""
    by = f" by {entry.get('by')}" if entry.get("by") else ""
    until = f" until {_clock(str(entry.get('until')))}" if entry.get("until") else ""
    return f" ({state}{by}{until})"


def _clock(when: str) -> str:
    """A time as the clock on the reader's wall shows it, with the day if that is not today."""
    at = _seconds(when)
    if at is None:
        return when
    local, today = time.localtime(at), time.localtime()
    return time.strftime("%H:%M" if local[:3] == today[:3] else "%Y-%m-%d %H:%M", local)


def _since(entry: Record) -> str:
    since = _seconds(str(entry.get("since")))
    return "-" if since is None else age(time.time() - since)


def _seconds(when: str) -> "float | None":
    from datetime import datetime

    try:
        return datetime.fromisoformat(when).timestamp()
    except ValueError:
        return None


def _without_blank(lines: "list[str]") -> "list[str]":
    return [line for line in lines if line.strip()]
