"""Answers in words: what a model reads where a client shows it the text and not the fields. Pure.

What matters comes first: whether it ended and how, then what to do about it, then the output.
"""

from __future__ import annotations

from collections.abc import Mapping

Record = Mapping[str, object]


def execution(record: Record) -> str:
    """The answer of `execute`."""
    process = record.get("process_id")
    running = record.get("running")
    lines = [f"running as {process}" if running else f"{_ending(record)} ({process})"]
    if record.get("note"):
        lines.append(str(record["note"]))
    if running:
        lines.append(
            f"process_output with process_id={process} and after={record.get('next', 0)} reads what it writes from "
            "here on; process_wait waits for its end; process_kill ends it"
        )
    lines += _members(record, "survivors", "still runs")
    return _with_output(lines, record, f"process_output with process_id={process} and after=0 reads all of it")


def output(record: Record) -> str:
    """The answer of `process_output`."""
    lines = [f"{record.get('process_id')}: {_state(record)}"]
    lines += _members(record, "survivors", "still runs")
    if record.get("matched") is not None:
        lines.append("a line matched" if record.get("matched") else "no line matched")
    over = not record.get("running") and record.get("closed")
    following = "" if over else "; with wait it comes as soon as it is written"
    lines.append(f"what follows is read with after={record.get('next')}{following}")
    if record.get("trouble"):
        lines.append(str(record.get("trouble")))
    return _with_output(lines, record, "it is not kept any more")


def processes(record: Record) -> str:
    """The answer of `process_list`."""
    listed = record.get("processes")
    rows = [_row(process) for process in listed if isinstance(process, dict)] if isinstance(listed, list) else []
    return "\n".join(rows) or "no processes"


def process(record: Record) -> str:
    """The answer of `process_wait`."""
    lines = [f"{record.get('process_id')}: {_state(record)}", f"command: {record.get('command')}"]
    others = record.get("pids")
    if not record.get("running") and isinstance(others, list) and others:
        lines.append(f"what it started still runs: pids {', '.join(map(str, others))}")
    if record.get("trouble"):
        lines.append(str(record.get("trouble")))
    lines.append("process_output reads what it wrote")
    return "\n".join(lines)


def killed(record: Record) -> str:
    """The answer of `process_kill`."""
    lines = [f"{record.get('process_id')}: {_state(record)}", *_members(record, "left", "would not end")]
    return "\n".join(lines)


def written(record: Record) -> str:
    """The answer of `process_write`."""
    end = ", and the end of its input" if record.get("eof") else ""
    return f"{record.get('process_id')} was given {record.get('bytes')} bytes{end}"


def signalled(record: Record) -> str:
    """The answer of `process_signal`."""
    return f"{record.get('signal')} was sent to {record.get('reached')} processes of {record.get('process_id')}"


def removed(record: Record) -> str:
    """The answer of `process_remove`."""
    return f"{record.get('process_id')} and its output are gone"


def _with_output(lines: list[str], record: Record, rest: str) -> str:
    omitted = record.get("omitted_bytes")
    if omitted:
        lines.append(f"{omitted} bytes are left out where the output says so: {rest}")
    text = str(record.get("output", ""))
    if record.get("encoding") == "base64":
        lines.append("the output is no UTF-8, and is in base64")
    return "\n".join(lines) + "\n\n" + (text or "(no output)")


def _state(record: Record) -> str:
    return "running" if record.get("running") else _ending(record)


def _ending(record: Record) -> str:
    code, signal = record.get("exit_code"), record.get("signal")
    if signal:
        return f"ended by {signal}, exit code {code}"
    return "ended, and nobody saw with which exit code" if code is None else f"exited with code {code}"


def _members(record: Record, name: str, what: str) -> list[str]:
    found = record.get(name)
    if not isinstance(found, list):
        return []
    return [f"{what}: pid {one.get('pid')}, {one.get('command')}" for one in found if isinstance(one, dict)]


def _row(process: Record) -> str:
    row = f"{process.get('process_id')}  {_state(process)}  since {process.get('started_at')}"
    row = f"{row}  {process.get('bytes', 0)} bytes  {process.get('command')}"
    return f"{row}\n    {process.get('trouble')}" if process.get("trouble") else row
