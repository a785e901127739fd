"""How the receipt of a teardown reads: what was counted, what is left, what was kept and why."""

import os
import sys

from corral.cli.output import GREEN, RED, YELLOW, paint, plain, say, takes_colour
from corral.cli.progress import entries, strings
from corral.cli.table import padded, shown_width
from corral.client.answers import Record

#: So many merges that wait are named.
_MOST_MERGES = 10
#: What people can have as well, which is not counted: a team that goes down does not take it from them.
_OF_AGENTS = ("leases", "claims")


def show(result: Record) -> None:
    """Print the receipt."""
    for line in lines(result, colour=takes_colour(sys.stdout)):
        say(line)


def lines(result: Record, *, colour: bool = False) -> list[str]:
    """The receipt as text."""
    checks = entries(result, "checks")
    width = max((shown_width(_what(check)) for check in checks), default=0)
    text = [_headline(result)]
    for check in checks:
        left = [_residue(item) for item in entries(check, "residue")]
        found = check.get("found")
        bad = bool(left) or found != 0
        mark = paint("✗", RED, colour) if bad else paint("✓", GREEN, colour)
        count = "could not be counted" if found is None else "none left" if found == 0 else f"{found} left"
        if check.get("what") in _OF_AGENTS and found == 0:
            count = "none left with its agents"
        if check.get("what") == "worktrees" and found == 0 and entries(result, "kept"):
            count = f"none left but {len(entries(result, 'kept'))} kept"
        text.append(f"  {mark} {padded(_what(check), width)}  {count}")
        text.extend(f"      {item}" for item in left)
    for key, title in (("given_back", "given back by its agents"), ("waiting", "waits for the next team of this name")):
        if counts := _counts(result.get(key)):
            text.append(f"{title}: {counts}")
    merges = strings(result.get("merges"))
    if merges:
        more = f" and {len(merges) - _MOST_MERGES} more" if len(merges) > _MOST_MERGES else ""
        text.append(plain(f"merges in line: {', '.join(merges[:_MOST_MERGES])}{more}"))
    kept = entries(result, "kept")
    in_the_way = [item for item in kept if item.get("in_the_way")]
    for workspaces, title in (
        (
            [item for item in kept if item not in in_the_way],
            f"kept, because work in it would be lost (corral down -t {result.get('team')} --discard throws it away):",
        ),
        (in_the_way, "left alone, also by --discard (look at what it is, and move it away yourself):"),
        (entries(result, "discarded"), "removed with the work in it:"),
    ):
        if workspaces:
            text.append(title)
            text.extend(f"  {paint('•', YELLOW, colour)} {_workspace(item)}" for item in workspaces)
    bystanders = entries(result, "bystanders")
    if bystanders:
        text.append("not of this team, and left alone, in its workspaces:")
        text.extend(f"  {paint('•', YELLOW, colour)} {_bystander(item)}" for item in bystanders)
    return text


def residue_in_short(result: Record) -> str:
    """What is left, in a few words: `2 processes, 1 socket`."""
    left = [
        _number(found, _what(check)) if isinstance(found := check.get("found"), int) else f"unknown {_what(check)}"
        for check in entries(result, "checks")
        if check.get("found") != 0 or check.get("residue")
    ]
    return ", ".join(left) or "the checks do not say what"


def _counts(of: object) -> str:
    """`2 leases, 1 lock`: all that there is any of."""
    found = of.items() if isinstance(of, dict) else ()
    return ", ".join(_number(count, what) for what, count in found if count)


def _number(count: int, what: str) -> str:
    one = "process" if what == "processes" else what.removesuffix("s")
    return f"{count} {one if count == 1 else what}"


def short_path(path: str) -> str:
    """`path` with the home directory as `~`."""
    home = os.environ.get("HOME", "").rstrip("/")
    return "~" + path[len(home) :] if home and (path == home or path.startswith(home + "/")) else path


def _bystander(item: Record) -> str:
    """`pid 4711  vim notes.md  (in ~/shop)`."""
    return plain(f"pid {item.get('pid')}  {item.get('command')}  (in {short_path(str(item.get('directory')))})")


def _residue(item: Record) -> str:
    """One thing that is left: `pid 4711  sleep 1000  (still runs)`, of a port with the port before it."""
    port = str(item.get("name")) if item.get("kind") == "port" and item.get("command") else ""
    pid = f"pid {item['pid']}" if item.get("pid") else ""
    name = str(item.get("command") or item.get("name") or item.get("kind") or "")
    why = f"({item['why']})" if item.get("why") else ""
    return plain("  ".join(part for part in (port, pid, short_path(name), why) if part))


def _workspace(item: Record) -> str:
    why = f"  {item['why']}" if item.get("why") else ""
    return plain(short_path(str(item.get("path"))) + why)


def _headline(result: Record) -> str:
    seconds = result.get("seconds")
    took = f" ({seconds:.1f} s)" if isinstance(seconds, int | float) else ""
    stopped = strings(result.get("stopped"))
    who = f", {len(stopped)} {'agent' if len(stopped) == 1 else 'agents'} stopped" if stopped else ""
    if result.get("clean") is True:
        return f"{result.get('team')} is down{who}, nothing is left{took}"
    return f"{result.get('team')} is not all down{who}{took}"


def _what(check: Record) -> str:
    return str(check.get("what", "")).replace("_", " ")
