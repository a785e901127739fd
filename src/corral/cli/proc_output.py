"""`corral proc output`: what a process wrote."""

import select
import time
from collections.abc import Callable

from corral.cli.command import COUNT, INTEGER, PROCESSES, SECONDS, Argument, Command, Invocation, Option
from corral.cli.foreign import Foreign
from corral.cli.output import json_line, remark, write_bytes, write_json
from corral.cli.proc_stream import (
    LONGEST_POLL,
    TIMED_OUT,
    TimeIsUpError,
    blocking,
    content,
    number,
    pages,
    remark_on_trouble,
)
from corral.cli.proc_targets import OF_AGENT, Whose, whose
from corral.cli.values import ALL
from corral.client.answers import Record, ask, begin, stream_was_cut
from corral.client.exchange import Exchange
from corral.client.wire import ANSWER_SECONDS
from corral.domain.errors import CorralError, WrongUseError

#: For a pattern that is waited for without a limit of time; the daemon wants one.
_VERY_LONG = 30 * 86400.0


def run(invocation: Invocation) -> int:
    of, process = whose(invocation), invocation.word("ID")
    follow, until = invocation.flag("follow"), invocation.text("until")
    after, lines = invocation.integer("after") or 0, invocation.integer("lines")
    lines = None if lines == ALL else lines
    if until is not None and lines is not None:
        raise WrongUseError("--lines shows the end, and --until reads from the beginning", "leave one of them out")
    if invocation.json:
        return _as_json(invocation, of, process, after)
    patterns = (("filter", invocation.text("filter")), ("until", until))
    if until is not None:
        return _followed(of, process, {"next": after}, invocation.number("wait"), patterns)
    page = _what_is_there(of, process, after, lines, None if follow else invocation.number("wait"), patterns)
    remark_on_trouble(page)
    return _followed(of, process, page, None, patterns) if follow else 0


def _as_json(invocation: Invocation, of: Whose, process: str, after: int) -> int:
    until, wait, limit = invocation.text("until"), invocation.number("wait"), invocation.integer("limit")
    parameters = (
        ("after", str(after)),
        ("filter", invocation.text("filter")),
        ("until", until),
        ("limit", None if limit is None else str(limit)),
    )
    if invocation.flag("follow"):
        answer = begin(of.places, "GET", of.about(process, "/output", *parameters, ("follow", "1")))
        for record in pages(answer, blocking):
            write_bytes(json_line(record))
        return 0
    if wait is None and until is not None:
        wait = _VERY_LONG
    seconds = (wait or 0.0) + ANSWER_SECONDS
    waited = ("wait", None if wait is None else repr(wait))
    page = ask(of.places, "GET", of.about(process, "/output", *parameters, waited), seconds=seconds)
    write_json(page)
    if until is None or page.get("matched"):
        return 0
    return TIMED_OUT if page.get("running") else CorralError.exit_code


def _what_is_there(
    of: Whose,
    process: str,
    cursor: int,
    lines: int | None,
    wait: float | None,
    patterns: tuple[tuple[str, str | None], ...],
) -> Record:
    """Write out what there is, or the last lines of it; the last page of it."""
    kept, write = b"", Foreign()
    while True:
        parameters = (("after", str(cursor)), ("encoding", "base64"), *patterns)
        waited = ("wait", None if wait is None else repr(wait))
        path = of.about(process, "/output", *parameters, waited)
        page = ask(of.places, "GET", path, seconds=(wait or 0.0) + ANSWER_SECONDS)
        data, wait = content(page), None
        if lines is None:
            write(data)
        else:
            kept = _last_lines(kept + data, lines)
        behind, cursor = cursor, number(page, "next")
        if cursor == behind or cursor >= number(page, "bytes"):
            write(kept)
            return page


def _last_lines(data: bytes, count: int) -> bytes:
    begin_at = len(data) - data.endswith(b"\n")
    for _ in range(count):
        begin_at = data.rfind(b"\n", 0, begin_at)
        if begin_at < 0:
            return data
    return data[begin_at + 1 :] if count else b""


def _followed(
    of: Whose, process: str, last: Record, seconds: float | None, patterns: tuple[tuple[str, str | None], ...]
) -> int:
    """Write out what comes behind the last page: until the end of it, until a line matches, or until time is up."""
    until = dict(patterns)["until"]
    parameters = (("after", str(number(last, "next"))), ("follow", "1"), ("encoding", "base64"), *patterns)
    answer = begin(of.places, "GET", of.about(process, "/output", *parameters))
    came, write = False, Foreign()
    try:
        for record in pages(answer, blocking if seconds is None else _within(seconds)):
            write(content(record))
            if record.get("trouble") != last.get("trouble"):
                remark_on_trouble(record)
            last, came = record, True
    except TimeIsUpError:
        remark(f"corral: no line has matched {until!r} within {seconds:g} s")
        return TIMED_OUT
    if not came or not (last.get("matched") or _is_over(last)):
        raise stream_was_cut(of.places)
    if until is not None and not last.get("matched"):
        raise CorralError(f"{process} has ended, and no line matched {until!r}", "corral proc output shows all lines")
    return 0


def _is_over(record: Record) -> bool:
    return not record.get("running") and (bool(record.get("closed")) or not record.get("survivors"))


def _within(seconds: float) -> Callable[[Exchange], bool]:
    """For `pages`: wait for so many seconds in all."""
    deadline = time.monotonic() + seconds

    def wait(answer: Exchange) -> bool:
        poll = select.poll()
        poll.register(answer.fileno(), select.POLLIN)
        while not poll.poll(min(max(0.0, deadline - time.monotonic()), LONGEST_POLL) * 1000):
            if time.monotonic() >= deadline:
                return False
        answer.receive()
        return True

    return wait


OUTPUT = Command(
    "proc output",
    "read what a process wrote",
    description=(
        "All that is kept, from the beginning or from --after on. Output and errors are one stream, as they came. Of\n"
        "very much output the beginning and the end are kept; a line in between says how many bytes were left out.\n"
        "Reading takes nothing away: two readers get the same. With --json, next is where to go on from, and output\n"
        "that is no UTF-8 comes as base64. If output is not recorded, as on a full disk, standard error says so. A\n"
        "file or a pipe gets every byte; a terminal only what shows something, nothing that would have it answer.\n"
        "Patterns are RE2 and are looked for in single lines. --until ends with the first line that matches: the exit\n"
        "code is 1 if the command ended without one, and 124 if --wait was too short."
    ),
    examples=(
        ("corral proc output p3f09ac12de", "all of it"),
        ("corral proc output -f p3f09ac12de", "and what comes, until nobody can write any more"),
        ("corral proc output -n 20 p3f09ac12de", "its last 20 lines"),
        ("corral proc output --until 'listening on' --wait 30s p3f09ac12de", "wait until a server is up"),
        ("corral proc output --filter '(?i)error' p3f09ac12de", "only lines that match"),
        ("corral proc output --json --after 4096 --wait 10s p3f09ac12de", "go on from a cursor, once there is more"),
    ),
    arguments=(Argument("ID", summary="the process", offers=PROCESSES),),
    options=(
        Option("follow", "f", summary="go on with what comes, until nobody can write any more"),
        Option("after", value="N", kind=INTEGER, summary="from this position on: next of an earlier reading"),
        Option("lines", "n", value="N", kind=COUNT, summary="only the last N lines of what is there, or all"),
        Option("wait", value="S", kind=SECONDS, summary="wait so long for something new, or for --until"),
        Option("until", value="PATTERN", summary="wait for a line that matches, and end with it"),
        Option("filter", value="PATTERN", summary="only lines that match"),
        Option("limit", value="BYTES", kind=INTEGER, summary="with --json: most bytes in one document (default 1 MiB)"),
        *OF_AGENT,
    ),
    run=run,
)
