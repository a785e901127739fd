"""`corral audit`: who did what, whether it was allowed, and whether the record of it holds."""

import re
import sys
from collections.abc import Iterable, Sequence

from corral.cli import audit_source, table
from corral.cli.command import AGENTS, COUNT, FILES, INTEGER, MOMENT, Argument, Command, Invocation, Option
from corral.cli.output import (
    DIM,
    GREEN,
    RED,
    YELLOW,
    json_line,
    paint,
    plain,
    remark,
    say,
    takes_colour,
    width_of,
    write_bytes,
)
from corral.cli.output import write_json as write_document
from corral.domain.audit import Entry, as_object, sealed
from corral.domain.errors import BrokenTrailError, NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.domain.audit_verify import Report

DEFAULT_LINES = 50
JSONL, SYSLOG, JOURNALD = "jsonl", "syslog", "journald"
_HEADINGS = ("NUMBER", "TIME", "WHO", "VERB", "ON", "ALLOWED", "OUTCOME", "TRACE")
_TIME, _WHO, _VERB, _ON, _ALLOWED, _TRACE = 1, 2, 3, 4, 5, 7
#: Columns that become narrower on a terminal that is, one after the other, and how wide each stays.
_SHORTENED = ((_ALLOWED, 12), (_ON, 10), (_WHO, 8), (_VERB, 8))
#: A time, of which neither the year nor the milliseconds are shown then.
_MOMENT = re.compile(r"^\d{4}-(\d\d-\d\d)T([\d:]+)\.\d+Z$")
#: Flaws that are shown; the rest is counted, and in the JSON.
_SHOWN = 20


def verify(invocation: Invocation) -> int:
    from corral.wiring_audit import checkpoint_directory, verify

    elsewhere = invocation.text("directory")
    path = elsewhere or invocation.places.audit_dir
    # Asked first: what is written meanwhile is more than the daemon says, and never less.
    writer = audit_source.writer(invocation)
    report = verify(
        path,
        shipped=invocation.text("checkpoints") or "",
        configured="" if elsewhere else checkpoint_directory(invocation.places),
        keys=invocation.texts("key"),
        writer=writer,
    )
    if invocation.json:
        write_document(_document(path, report))
    else:
        for line in _shown(path, report, takes_colour(sys.stdout)):
            say(line)
    if not report.ok:
        count = len(report.flaws) + report.left_out
        raise BrokenTrailError(
            f"the audit trail {path} does not hold: {count} {'flaw' if count == 1 else 'flaws'}",
            "keep a copy of the directory as it is, and compare it with the checkpoints that were shipped",
        )
    return 0


def export(invocation: Invocation) -> int:
    kind = invocation.text("format") or JSONL
    host = _host()
    for entry in audit_source.entries(invocation):
        write_bytes(_exported(entry, kind, host))
    return 0


def ls(invocation: Invocation) -> int:
    found = audit_source.entries(invocation, default=DEFAULT_LINES)
    if invocation.flag("follow"):
        for entry in found:
            if invocation.json:
                write_bytes(json_line(as_object(entry)))
            else:
                say("  ".join(part for part in _row(entry) if part))
                sys.stdout.flush()
        return 0
    if invocation.json:
        write_document([as_object(entry) for entry in found])
        return 0
    rows = [_row(entry) for entry in found]
    if not rows:
        remark("nothing in the audit trail fits that, or nothing that you may see")
        return 0
    for line in fitting(rows, width_of(sys.stdout)):
        say(line)
    return 0


def show(invocation: Invocation) -> int:
    word = invocation.word("ENTRY")
    numbered = word.isascii() and word.isdigit() and len(word) < 16
    if numbered:
        first = next(audit_source.entries(invocation, after=max(0, int(word) - 1)), None)
        found = [first] if first is not None and first.number == int(word) else []
    else:
        found = list(audit_source.entries(invocation, trace=word))
    if not found:
        raise audit_source.nothing_found(invocation)
    if invocation.json:
        write_document([as_object(entry) for entry in found])
        return 0
    for at, entry in enumerate(found):
        if at:
            say()
        for line in _in_full(entry):
            say(line)
    return 0


def key(invocation: Invocation) -> int:
    from corral.wiring_audit import public_key

    path = invocation.text("directory") or invocation.places.audit_dir
    pem = public_key(path)
    if pem is None:
        raise NotFoundError(f"{path} has no key yet", "the daemon makes one when it begins the trail")
    if invocation.json:
        write_document({"public_key": pem.decode("ascii")})
    else:
        write_bytes(pem)
    return 0


def _exported(entry: Entry, kind: str, host: str) -> bytes:
    if kind == JSONL:
        # The same bytes as in the trail: whoever keeps them can check the hashes.
        return sealed(entry.number, entry.note, entry.previous)[0]
    from corral.domain.audit_export import journald, syslog

    return syslog(entry, host) if kind == SYSLOG else journald(entry, host)


def _host() -> str:
    import os

    return os.uname().nodename


def _row(entry: Entry) -> Sequence[str]:
    note = entry.note
    who = f"{note.who.user}:{note.who.agent}" if note.who.agent else note.who.user
    thing = "/".join(part for part in (note.on.team, note.on.agent) if part) or note.on.kind
    allowed = "yes" if note.allowed else "NO"
    words = (note.time, who, note.verb, thing, f"{allowed} ({note.rule})" if note.rule else allowed, note.outcome)
    return (str(entry.number), *map(plain, words), plain(note.trace))


def fitting(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """The table, as narrow as the terminal where it can be. What is left out for that is said below it."""
    whole = [_HEADINGS, *rows]
    if width is None or _needed(whole) <= width:
        return table.lines(whole)
    shown = [[*row[:_TRACE]] for row in whole]
    for row in shown[1:]:
        row[_TIME] = _MOMENT.sub(r"\1 \2Z", row[_TIME])
    for at, least in _SHORTENED:
        over = _needed(shown) - width
        if over > 0:
            room = max(least, table.widths(shown)[at] - over)
            for row in shown:
                row[at] = table.shortened(row[at], room)
    return [*table.lines(shown), "shortened to fit: corral audit show NUMBER has all of an entry, --json of each"]


def _needed(rows: Sequence[Sequence[str]]) -> int:
    measures = table.widths(rows)
    return sum(measures) + len(table.GAP) * (len(measures) - 1)


def _in_full(entry: Entry) -> Iterable[str]:
    note = entry.note
    yield from table.lines(
        [
            ("number", str(entry.number)),
            ("time", plain(note.time)),
            ("who", plain(f"{note.who.user} (uid {note.who.uid}{', member' if note.who.member else ''})")),
            *((name, plain(value)) for name in ("agent", "run", "via") if (value := getattr(note.who, name))),
            ("verb", plain(note.verb)),
            ("on", plain(" ".join(part for part in (note.on.kind, note.on.team, note.on.agent) if part))),
            ("allowed", "yes" if note.allowed else "no"),
            ("rule", plain(note.rule) or "-"),
            ("outcome", plain(note.outcome) or "(in an entry of its own, or not known)"),
            ("trace", plain(note.trace) or "-"),
            *((plain(name), plain(str(value))) for name, value in note.detail.items()),
            ("previous", entry.previous),
            ("hash", entry.hash),
        ]
    )


def _document(path: str, report: "Report") -> dict[str, object]:
    from dataclasses import asdict

    return {"directory": path, **asdict(report)}


def _shown(path: str, report: "Report", colour: bool) -> Iterable[str]:
    verdict = paint("it holds", GREEN, colour) if report.ok else paint("IT DOES NOT HOLD", RED, colour)
    entries = f"entries {report.first} to {report.last}" if report.entries else "no entries"
    yield f"{path}: {verdict}; {entries}, {report.checkpoints} checkpoints"
    if report.dropped_through:
        # Which of the two it was, the anchor does not say.
        yield f"  entries up to {report.dropped_through} were dropped because of age or size, as a signed anchor says"
    unsigned = report.last - report.signed_through
    yield f"  signed up to entry {report.signed_through}" + (
        paint(f"; the {unsigned} after it have hashes alone", YELLOW, colour) if unsigned > 0 else ""
    )
    for said in report.remarks:
        yield f"  {paint('·', DIM, colour)} {plain(said)}"
    for flaw in report.flaws[:_SHOWN]:
        yield f"  {paint('✗', RED, colour)} {flaw.what.replace('_', ' ')}: {plain(flaw.message)}"
    more = len(report.flaws) - _SHOWN + report.left_out
    if more > 0:
        yield f"  … and {more} more (--json names up to 1000)"


_DIRECTORY = Option(
    "directory", value="DIR", summary="a trail elsewhere, such as a copy; without it that of the instance", offers=FILES
)
_SINCE = Option("since", value="WHEN", kind=MOMENT, summary="from 10m or 2h ago on, or from a time: 2025-11-30T14:05")
_WHICH = (
    _SINCE,
    Option("until", value="WHEN", kind=MOMENT, summary="up to then, written as --since is"),
    Option("who", value="USER", summary="only what this user did, by name or uid"),
    Option("agent", value="AGENT", summary="only what this agent did, or was done to it", offers=AGENTS),
    Option(
        "verb", value="VERB", summary="only this verb, in which * stands for any letters; repeatable", repeatable=True
    ),
    Option("trace", value="ID", summary="only the decision with this trace id, and its outcome"),
    Option("denied", summary="only what was not allowed"),
    Option("after", value="NUMBER", kind=INTEGER, summary="only entries after this number"),
    Option("follow", "f", summary="go on with what comes, until ctrl-c"),
    _DIRECTORY,
)

COMMAND = Command(
    "audit",
    "read, export and verify the audit trail: who did what",
    description=(
        "An instance with enabled = true below [audit] in its config.toml writes down every request: who asked, as\n"
        "the kernel says, for what, on what, whether it was allowed and by which rule, and what came of it. Entries\n"
        "are chained by hashes, and checkpoints of the chain are signed. Whoever may read the files (root, the\n"
        "daemon's user) reads them; everybody else is answered by the daemon, as far as they may see."
    ),
    examples=(
        ("corral audit ls", f"the last {DEFAULT_LINES}"),
        ("corral audit verify", "whether somebody meddled with it, and where"),
        ("corral audit export --format syslog --since 1d", "the last day, for other programs"),
    ),
    commands=(
        Command(
            "audit ls",
            "list entries, as a table",
            description=(
                "A request that acts has two entries with the same trace id: the decision, and what came of it. One\n"
                "that only reads has one. With --json: a list of entries; with -f a line each."
            ),
            examples=(
                ("corral audit ls --denied --since 1d", "what was refused"),
                ("corral audit ls --who dev1 --verb 'send*'", "what one user sent"),
                ("corral audit ls -f", "as it happens"),
            ),
            options=(
                Option(
                    "lines",
                    "n",
                    value="N",
                    kind=COUNT,
                    summary=f"the last N, or all (default {DEFAULT_LINES}; with --since or --after all)",
                ),
                *_WHICH,
            ),
            run=ls,
        ),
        Command(
            "audit show",
            "show one entry, or a decision and its outcome, in full",
            examples=(
                ("corral audit show 4711", "the entry with this number"),
                ("corral audit show 9f86d081884c7d65", "all entries with this trace id"),
            ),
            arguments=(Argument("ENTRY", summary="the number of an entry, or a trace id"),),
            options=(_DIRECTORY,),
            run=show,
        ),
        Command(
            "audit verify",
            "find what was edited, removed, reordered or cut off",
            description=(
                "Checks every hash and every signature, in the files themselves, and asks the daemon, if it runs, for\n"
                "the last entry that it wrote. Exit code 0 if the trail holds, 7 if it does not; each flaw says in\n"
                "which file, on which line, and about which entry. Without the daemon, what comes after the last\n"
                "checkpoint could have been cut off unseen; and whoever has the key could have signed anything:\n"
                "compare with checkpoints that were kept elsewhere, by a key that was. Without --checkpoints and\n"
                "--directory, those in the configured checkpoint_directory are taken."
            ),
            examples=(
                ("corral audit verify", "with the checkpoints and the key beside the trail"),
                (
                    "corral audit verify --checkpoints kept.jsonl --key kept.pub",
                    "with those that were kept on another host",
                ),
                ("corral audit verify --json", "for programs"),
            ),
            options=(
                Option(
                    "checkpoints",
                    value="FILE",
                    summary="checkpoints that were shipped: a file with one a line, or a directory of such",
                    offers=FILES,
                ),
                Option(
                    "key",
                    value="FILE",
                    summary="a public key that signatures count of, instead of the one beside the trail; repeatable",
                    repeatable=True,
                    offers=FILES,
                ),
                _DIRECTORY,
            ),
            run=verify,
        ),
        Command(
            "audit export",
            "print entries for other programs",
            description=(
                "jsonl: the lines of the trail as they are. syslog: lines of RFC 5424, facility 13 (log audit).\n"
                "journald: its export format, which systemd-journal-remote reads."
            ),
            examples=(
                ("corral audit export --since 1d > day.jsonl", "the last day"),
                ("corral audit export --format syslog -f | nc loghost 601", "as it happens, to another host"),
                (
                    "corral audit export --format journald | systemd-journal-remote -o audit.journal -",
                    "into a journal of its own",
                ),
            ),
            options=(
                Option(
                    "format",
                    value="FORMAT",
                    choices=(JSONL, SYSLOG, JOURNALD),
                    summary="jsonl (the default), syslog or journald",
                ),
                *_WHICH,
            ),
            run=export,
        ),
        Command(
            "audit key",
            "print the public key that checkpoints are checked with",
            description="Keep it on another host, with the checkpoints: one beside the trail can be replaced.",
            examples=(("corral audit key > kept.pub", "to verify elsewhere"),),
            options=(_DIRECTORY,),
            run=key,
        ),
    ),
)
