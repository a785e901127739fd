"""Reading `[resume]` of a profile: how a program continues its conversations. Pure."""

from __future__ import annotations

from corral.agents.profile_records import record_rules
from corral.domain import screen_patterns
from corral.domain.bounded_patterns import SYNTAX, NoPatternError
from corral.domain.conversations import NEW, SESSION, Transcripts, Ways
from corral.domain.spec_table import Table

_KEYS = ("words", "fork", "begin", "unless", "transcripts")
_TRANSCRIPT_KEYS = ("roots", "files", "session", "directory", "time", "record")


def resume_ways(profile: Table) -> Ways | None:
    """What the table says; None if there is none."""
    table = profile.table("resume", '[resume] with words = ["--resume", "{session}"]')
    if table is None:
        return None
    table.only(_KEYS)
    words = strings(table, "words", f'words = ["--resume", "{SESSION}"]', needed=True)
    if words and SESSION not in words:
        table.wrong("words", "this does not name the conversation", f'such as words = ["--resume", "{SESSION}"]')
    fork = strings(table, "fork", f'fork = ["fork", "{SESSION}"]')
    if fork and SESSION not in fork:
        table.wrong("fork", "this does not name the conversation", f'such as fork = ["fork", "{SESSION}"]')
    begin = strings(table, "begin", f'begin = ["--session-id", "{NEW}"]')
    if begin and NEW not in begin:
        table.wrong("begin", "this does not name the new conversation", f'such as begin = ["--session-id", "{NEW}"]')
    return Ways(
        resume=words,
        fork=fork,
        begin=begin,
        unless=strings(table, "unless", 'unless = ["--continue"]'),
        transcripts=_transcripts(table),
    )


def _transcripts(resume: Table) -> Transcripts | None:
    table = resume.table("transcripts", '[resume.transcripts] with roots = ["~/.x/sessions"]')
    if table is None:
        return None
    table.only(_TRANSCRIPT_KEYS)
    roots = strings(table, "roots", 'roots = ["$X_HOME/sessions", "~/.x/sessions"]', needed=True)
    if any(not root.startswith(("~/", "$", "/")) for root in roots):
        table.wrong("roots", "these must begin with ~/, a variable or /", 'such as roots = ["~/.x/sessions"]')
    files = strings(table, "files", 'files = ["*/*.jsonl"]', needed=True)
    if any(part in ("..", "**") for file in files for part in file.split("/")):
        table.wrong("files", "patterns name each directory on the way", 'such as files = ["*/*.jsonl"]')
    example = r"session = '(?P<session>[0-9a-f-]{36})\.jsonl'"
    session = table.need("session", str, example) or ""
    try:
        if session and "session" not in screen_patterns.check(session, crosses_lines=True)[1]:
            table.wrong("session", "this has no group `session`", f"such as {example}")
    except NoPatternError as error:
        table.wrong("session", f"this is no regular expression: {error}", f"{SYNTAX}; such as {example}")
    records, time = record_rules(table, "record"), table.take("time", str, 'time = "timestamp"') or ""
    if records and not time:
        table.missing("time", 'records of earlier runs must be told apart, such as time = "timestamp"')
    return Transcripts(
        roots=roots,
        files=files,
        session=session,
        directory=table.need("directory", str, 'directory = "cwd"') or "",
        records=records,
        time=time,
    )


def strings(table: Table, key: str, example: str, *, needed: bool = False) -> tuple[str, ...]:
    """An array of strings that are not empty; an empty one if it is not given, which is wrong if it is needed."""
    values = table.need(key, list, example) if needed else table.take(key, list, example)
    if values is None:
        return ()
    kept = tuple(value for value in values if isinstance(value, str) and value)
    if not kept or len(kept) != len(values):
        table.wrong(key, "this must be an array of strings that are not empty", f"such as {example}")
    return kept
