"""`corral exec`: run a command in an agent's place."""

import os
import sys

from corral.cli.command import AGENTS, SECONDS, TEAM, Argument, Command, Invocation, Option
from corral.cli.foreign import Foreign
from corral.cli.output import is_utf8, remark, say, write_bytes, write_json
from corral.cli.proc_attention import Attention, EndedBySignalError, own_terminal_size
from corral.cli.proc_stream import TIMED_OUT, TimeIsUpError, code_of, content, number, pages, remark_on_trouble
from corral.cli.proc_targets import Whose
from corral.cli.targets import one_agent
from corral.client.absence import how_to_start
from corral.client.answers import Record, ask, begin, raise_refusal, record_of
from corral.domain.errors import CorralError, UnavailableError, WrongUseError


def run(invocation: Invocation) -> int:
    team, agent = one_agent(invocation)
    whose = Whose(invocation.places, team, agent)
    order = _order(invocation)
    process, seconds = str(order["process_id"]), invocation.number("timeout")
    background = invocation.flag("background")
    # A terminal of ours becomes the command's, if it has one.
    raw = invocation.flag("tty") and not background and os.isatty(0)
    size = own_terminal_size() if raw else None
    if size is not None:
        order["columns"], order["rows"] = size
    feeds = raw or invocation.flag("stdin")
    order["stdin"] = feeds
    if feeds and sys.stdin is None:
        # Ours was closed (`<&-`): what is opened next would get its number, and be read in its place.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        if background or feeds or not invocation.json:
            # What is written to it must find it there.
            started = _started(whose, order, as_json=invocation.json)
            if background or started.get("promoted"):
                if feeds and not background:
                    _add_note(started, _fed(whose, process, seconds))
                return _in_background(started, asked_for=background, as_json=invocation.json)
            if started.get("note") and not invocation.json:
                remark(f"corral: {started.get('note')}")
        if invocation.json:
            # The daemon counts the time.
            attention = Attention(whose, process, seconds=None, feeds=feeds, raw=raw)
            return _as_json(whose, {**order, "timeout": seconds}, attention)
        attention = Attention(whose, process, seconds=seconds, feeds=feeds, raw=raw)
        return _as_it_comes(whose, process, seconds, attention)
    except EndedBySignalError as told:
        return told.exit_code


def _order(invocation: Invocation) -> Record:
    """The body of the request, as far as the command line says it."""
    command, argv = invocation.text("command"), invocation.words("ARGV")
    if command is not None and argv:
        raise WrongUseError(
            "-c and words after the agent exclude each other", "give the command in one of the two ways"
        )
    if command is None and not argv:
        raise WrongUseError("exec needs a command", "-c 'make test' for the shell, or its words after --: -- make test")
    environment = {}
    for pair in invocation.texts("env"):
        name, equals, value = pair.partition("=")
        if not equals:
            raise WrongUseError(f"--env {pair} has no value", f"write --env {pair}=VALUE")
        environment[name] = value
    workdir = invocation.text("workdir") or ""
    if not all(map(is_utf8, (command or "", *argv, workdir, *environment, *environment.values()))):
        raise WrongUseError("the command is not UTF-8", "put what is not into a file")
    return {
        **({"argv": argv} if command is None else {"command": command}),
        # Chosen here, so that it is known before the answer comes, and the same request twice starts one process.
        "process_id": "p" + os.urandom(5).hex(),
        "tty": invocation.flag("tty"),
        "workdir": workdir,
        "env": environment,
    }


def _started(whose: Whose, order: Record, *, as_json: bool) -> Record:
    limit = {} if as_json else {"limit": 0}
    return ask(whose.places, "POST", whose.request("/v1/exec"), {**order, **limit, "background": True})


def _in_background(started: Record, *, asked_for: bool, as_json: bool) -> int:
    """Tell of a command that nobody waits for. Whatever became of it by now, it was started: that is success."""
    process = started.get("process_id")
    if as_json:
        write_json(started)
    elif asked_for:
        say(str(process))
    else:
        remark(f"corral: {started.get('note')}; corral proc output -f {process} follows it")
    return 0


def _fed(whose: Whose, process: str, seconds: float | None) -> str:
    """Give our input to a command in the background, all of it; what there is to say if it was not all."""
    if os.isatty(0):
        return f"its input stays open: corral proc write {process} gives it something, and with --eof ends it"
    with Attention(whose, process, seconds=seconds, feeds=True, raw=False) as attention:
        # Should it end before that, nobody reads the rest.
        end = begin(whose.places, "POST", whose.about(process, "/wait"))
        try:
            attention.feed(end)
            if end.over:
                raise_refusal(end.response())
                return ""
        finally:
            end.close()
        return _left_open(process, attention)


def _left_open(process: str, attention: Attention) -> str:
    """What there is to say of a command that waits for the rest of an input that it will not get."""
    given = attention.given()
    if given is None:
        return ""
    return (
        f"it was given {given} bytes of standard input, which had not ended; its own stays open: "
        f"corral proc write --eof {process} ends it"
    )


def _add_note(answer: Record, note: str) -> None:
    answer["note"] = "; ".join(part for part in (str(answer.get("note", "")), note) if part)


def _as_json(whose: Whose, order: Record, attention: Attention) -> int:
    with attention:
        answer = _one_answer(whose, order, attention)
        if answer.get("timed_out"):
            _add_note(answer, _left_open(str(order["process_id"]), attention))
    write_json(answer)
    if answer.get("timed_out"):
        return TIMED_OUT
    return 0 if answer.get("promoted") else code_of(answer)


def _as_it_comes(whose: Whose, process: str, seconds: float | None, attention: Attention) -> int:
    left_open = ""
    try:
        with attention:
            try:
                ended, omitted = _followed(whose, process, attention)
            except TimeIsUpError:
                left_open = _left_open(process, attention)
                raise
        return _end_of(ended, omitted)
    except TimeIsUpError:
        # A terminal is given back by now.
        remark(
            f"corral: it has not ended after {seconds:g} s and goes on as {process}; "
            f"corral proc wait {process} waits for it"
        )
        if left_open:
            remark(f"corral: {left_open}")
        return TIMED_OUT


def _one_answer(whose: Whose, order: Record, attention: Attention) -> Record:
    """The whole answer, once the command has ended or its time is up."""
    answer = begin(whose.places, "POST", whose.request("/v1/exec"), order)
    try:
        while not answer.over:
            attention.wait(answer)
        response = answer.response()
    finally:
        answer.close()
    raise_refusal(response)
    return record_of(response.body)


def _followed(whose: Whose, process: str, attention: Attention) -> tuple[Record, int]:
    """Write out what the command writes until it has ended: the last heard of it, and how much was not kept."""
    answer = begin(whose.places, "GET", whose.about(process, "/output", ("follow", "1"), ("encoding", "base64")))
    end, cursor, omitted = None, 0, 0
    write = write_bytes if attention.raw else Foreign()
    try:
        for record in pages(answer, attention.wait):
            write(content(record))
            cursor = number(record, "next")
            omitted += number(record, "omitted_bytes")
            if not record.get("running"):
                # What it started may go on to write; what was there when it ended is its own.
                end = number(record, "bytes") if end is None else end
                if cursor >= end:
                    return record, omitted
    except BrokenPipeError:
        from contextlib import suppress

        # As in a pipe of a shell: whoever writes for a reader that went away is told.
        with suppress(CorralError):
            ask(whose.places, "POST", whose.about(process, "/signal", ("signal", "PIPE")))
        raise
    raise UnavailableError(
        f"the daemon went away; {process} goes on",
        f"{how_to_start(whose.places)}, then: corral proc output -f --after {cursor} {process}",
    )


def _end_of(ended: Record, omitted: int) -> int:
    if omitted:
        remark(f"corral: {omitted} bytes of its output were not kept")
    remark_on_trouble(ended)
    survivors = ended.get("survivors")
    if isinstance(survivors, list) and survivors:
        what = "1 process" if len(survivors) == 1 else f"{len(survivors)} processes"
        remark(
            f"corral: {what} that it started did not end with it; "
            f"corral proc kill {ended.get('process_id')} ends what is left"
        )
    return code_of(ended)


COMMAND = Command(
    "exec",
    "run a command in an agent's workspace and environment",
    description=(
        "The command runs as the agent's own would: in its workspace, with its environment, as its user and in its\n"
        "containment. With -c it is a line for bash, otherwise a program and its arguments. What it prints is shown\n"
        "as it comes, errors and all, as proc output shows it, and the exit code is its own. It reads nothing unless\n"
        "--stdin says so. Ctrl-C interrupts it, a second one ends it.\n"
        "A command that has not ended after --timeout goes on in the background: the exit code is 124, and its id is\n"
        "told. With --background, or if a line ends in &, that is so from the start. corral proc looks after it."
    ),
    examples=(
        ("corral exec builder-1 -- git status --short", "a program and its arguments"),
        ("corral exec builder-1 -c 'make test | tail -20'", "a line for the shell"),
        ("corral exec builder-1 --timeout 30s -c 'npm test'", "go on after half a minute, whatever it does"),
        ("id=$(corral exec builder-1 --background -c 'npm run dev')", "start a server; prints its id"),
        ("corral exec builder-1 --tty -- python3", "with a terminal; yours becomes the program's"),
        ("corral exec builder-1 --stdin -- sh -s < setup.sh", "give it something to read"),
    ),
    arguments=(
        Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", offers=AGENTS),
        Argument("ARGV", summary="the program and its arguments, after --", required=False, repeated=True),
    ),
    options=(
        Option("command", "c", value="STRING", summary="a line for bash, instead of ARGV"),
        Option("timeout", value="S", kind=SECONDS, summary="wait so long for its end: 500ms, 30s, 10m; it goes on"),
        Option("background", "b", summary="do not wait for it; print its id"),
        Option("tty", summary="give it a terminal; if you are at one, it becomes the command's"),
        Option("stdin", "i", summary="let it read your standard input, or in the background what proc write gives it"),
        Option("workdir", "w", value="DIR", summary="run it there; a relative one is below the workspace"),
        Option("env", "e", value="NAME=VALUE", summary="a variable besides those of the agent", repeatable=True),
        TEAM,
    ),
    run=run,
)
