"""`corral doctor`: look at this host, say what is wrong, and with `--fix` heal what is ours."""

import sys
from collections.abc import Iterable

from corral.cli.command import Command, Invocation, Option
from corral.cli.output import BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint, plain, say, takes_colour, width_of, write_json
from corral.cli.progress import entries
from corral.cli.receipt import short_path
from corral.cli.table import padded
from corral.client.answers import Record
from corral.domain.errors import ResidueError

_MARKS = {"problem": ("✗", RED), "warning": ("!", YELLOW), "info": ("·", CYAN), "ok": ("✓", GREEN)}
#: Findings of one kind that are shown one by one; of more, the rest is counted. Of what is as it should be: one.
_SHOWN, _SHOWN_OK = 4, 1
#: In fewer columns than this, text is left for the terminal to break.
_NARROWEST = 30


def run(invocation: Invocation) -> int:
    from corral.wiring_doctor import run_doctor

    result = run_doctor(invocation.places, fix=invocation.flag("fix"))
    if invocation.json:
        write_json(result)
    else:
        for line in lines(result, colour=takes_colour(sys.stdout), columns=width_of(sys.stdout)):
            say(line)
    if result["healthy"] is not True:
        left = [finding for finding in entries(result, "findings") if _is_left(finding)]
        fixable = any(finding.get("fixable") and finding.get("fixed") is None for finding in left)
        raise ResidueError(
            f"the doctor found {_counted(len(left), 'thing')} that {'needs' if len(left) == 1 else 'need'} care",
            "corral doctor --fix heals what it can" if fixable else "do what stands beside each arrow",
        )
    return 0


def lines(result: Record, *, colour: bool = False, columns: int | None = None) -> list[str]:
    """The result as text: the verdict, what was found with its remedy, then what is fine and what was not seen.

    Lines are broken for a terminal of so many columns; without, they are as long as they are.
    """
    findings = entries(result, "findings")
    checked = entries(result, "checked")
    width = max((len(_title(check)) for check in checked), default=0)
    text = [_verdict(result, findings, colour)]
    for group in _groups(findings):
        shown = _SHOWN_OK if group[0].get("severity") == "ok" else _SHOWN
        for finding in group[:shown]:
            text += _finding(finding, width, colour, columns)
        if len(group) > shown:
            text.append(f"    {padded('', width)}  … and {len(group) - shown} more like these (--json names them)")
    found = {finding.get("check") for finding in findings}
    fine = [_title(check) for check in checked if check.get("done") and check.get("check") not in found]
    if fine:
        text += _broken(f"  {paint('✓', GREEN, colour)} fine: ", 10, ", ".join(fine), columns)
    # One reason mostly stands in the way of several checks.
    undone: dict[str, list[str]] = {}
    for check in checked:
        if not check.get("done"):
            undone.setdefault(plain(str(check.get("why"))), []).append(_title(check))
    for why, titles in undone.items():
        start = f"  ? {padded(titles[0], width)}  "
        more = f" (nor {', '.join(titles[1:])})" if titles[1:] else ""
        text += _broken(start, len(start), f"not all could be checked{more}: {why}", columns)
    return text


def _verdict(result: Record, findings: list[Record], colour: bool) -> str:
    left = [finding for finding in findings if finding.get("fixed") is not True]
    healed = len(findings) - len(left)
    counts = [
        _counted(sum(finding.get("severity") == severity for finding in left), word)
        for severity, word in (("problem", "problem"), ("warning", "warning"), ("info", "remark"))
        if any(finding.get("severity") == severity for finding in left)
    ]
    if healed:
        counts.insert(0, f"{healed} healed")
    tail = f" ({', '.join(counts)})" if counts else ""
    if result.get("healthy") is True:
        return paint("healthy", GREEN, colour) + tail
    return paint("not healthy", f"{BOLD};{RED}", colour) + tail


def _groups(findings: list[Record]) -> Iterable[list[Record]]:
    """Those of one check, of one weight and with one outcome belong together."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for finding in findings:
        key = (finding.get("check"), finding.get("severity"), finding.get("fixed"), finding.get("ours"))
        groups.setdefault(key, []).append(finding)
    return groups.values()


def _finding(finding: Record, width: int, colour: bool, columns: int | None) -> list[str]:
    mark, tone = _MARKS.get(str(finding.get("severity")), _MARKS["info"])
    if finding.get("fixed") is True:
        mark, tone = "✓", GREEN
    start = f"  {paint(mark, tone, colour)} {padded(_title(finding), width)}  "
    text = _broken(start, width + 6, _readable(finding.get("message")), columns)
    if finding.get("remedy"):
        start = f"    {padded('', width)}  {paint('→', DIM, colour)} "
        text += _broken(start, width + 8, _readable(finding.get("remedy")), columns)
    return text


def _broken(start: str, indent: int, text: str, columns: int | None) -> list[str]:
    """`start` and `text`, with the lines after the first under the text. No path is broken: it is to be copied."""
    if columns is None or columns - indent < _NARROWEST:
        return [start + text]
    from textwrap import wrap

    first, *more = wrap(text, columns - indent, break_long_words=False, break_on_hyphens=False) or [""]
    return [start + first, *(" " * indent + line for line in more)]


def _readable(text: object) -> str:
    return plain(" ".join(short_path(word) for word in str(text).split(" ")))


def _is_left(finding: Record) -> bool:
    grave = finding.get("severity") == "problem" or (finding.get("severity") == "warning" and finding.get("ours"))
    return bool(grave) and finding.get("fixed") is not True


def _title(about: Record) -> str:
    return str(about.get("check", "")).replace("_", " ")


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


COMMAND = Command(
    "doctor",
    "look for what is wrong on this host; --fix heals what is ours",
    description=(
        "Looks for tmux servers that cannot be reached any more, processes, terminals, scopes, sockets and\n"
        "worktrees that belong to no agent, agents that are not what they are said to be, and for what this\n"
        "host lacks. Needs no daemon. Without --fix it changes nothing and starts nothing; what --fix did is\n"
        "written to the journal, by the daemon, which is started for that. What is not ours is named and left\n"
        "alone. Exit code 0 if this host is healthy or was healed, 5 if something is left."
    ),
    examples=(
        ("corral doctor", "say what is wrong, and what helps"),
        ("corral doctor --fix", "bring hidden tmux servers back, end orphans, stop empty scopes"),
        ("corral doctor --json", "the findings for programs"),
    ),
    options=(Option("fix", summary="heal what is ours and can be healed without losing anything"),),
    run=run,
)
