"""`corral proc`: the processes of agents, which are seen, steered and never lost."""

import os
import sys

from corral.cli.command import PROCESSES, SECONDS, Argument, Command, Invocation, Option
from corral.cli.output import plain, remark, say, write_json
from corral.cli.proc_list import LIST, state
from corral.cli.proc_output import OUTPUT
from corral.cli.proc_stream import TIMED_OUT, code_of
from corral.cli.proc_targets import OF_AGENT, whose
from corral.cli.several import to_each
from corral.client.answers import ask
from corral.client.wire import ANSWER_SECONDS
from corral.domain.errors import ResidueError, WrongUseError

_ID = Argument("ID", summary="the process", offers=PROCESSES)
_DEFAULT_GRACE = 5.0
_MOST_BYTES = 16 << 20


def wait(invocation: Invocation) -> int:
    of, process, seconds = whose(invocation), invocation.word("ID"), invocation.number("timeout")
    path = of.about(process, "/wait", ("wait", None if seconds is None else repr(seconds)))
    answer = ask(of.places, "POST", path, seconds=None if seconds is None else seconds + ANSWER_SECONDS)
    if invocation.json:
        write_json(answer)
    if answer.get("running"):
        if not invocation.json:
            remark(f"corral: {process} has not ended after {seconds:g} s")
        return TIMED_OUT
    if not invocation.json:
        say(f"{process}: {state(answer)}")
    return code_of(answer)


def write(invocation: Invocation) -> int:
    of, process, words = whose(invocation), invocation.word("ID"), invocation.words("TEXT")
    data = _text(words, invocation)
    eof = "1" if invocation.flag("eof") else "0"
    answer = ask(of.places, "POST", of.about(process, "/write", ("eof", eof)), data)
    if invocation.json:
        write_json(answer)
    else:
        say(f"{process}: {answer.get('bytes')} bytes written" + (", and their end" if answer.get("eof") else ""))
    return 0


def _text(words: list[str], invocation: Invocation) -> bytes:
    """The words joined by a space, or standard input as it is; nothing, if only the end is to be told."""
    end = b"\n" if invocation.flag("newline") else b""
    if words and words != ["-"]:
        return os.fsencode(" ".join(words)) + end
    if not words and (invocation.flag("eof") or invocation.flag("newline")):
        return end
    if not words and sys.stdin is not None and sys.stdin.isatty():
        raise WrongUseError(
            "there is nothing to write", "write it after the id, or pipe it in; - reads what you type until ctrl-d"
        )
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise WrongUseError(f"that is more than {_MOST_BYTES >> 20} MiB", "write it in parts, or use exec --stdin")
    return data + end


def signal(invocation: Invocation) -> int:
    from corral.domain.signal_names import name_of, number_of

    number = number_of(invocation.word("SIGNAL"))
    of, process = whose(invocation), invocation.word("ID")
    answer = ask(of.places, "POST", of.about(process, "/signal", ("signal", str(number))))
    if invocation.json:
        write_json(answer)
    else:
        reached = answer.get("reached")
        say(f"{process}: {name_of(number)} went to {reached} process{'' if reached == 1 else 'es'}")
    return 0


def kill(invocation: Invocation) -> int:
    of, process, grace = whose(invocation), invocation.word("ID"), invocation.number("grace")
    seconds = (_DEFAULT_GRACE if grace is None else grace) + ANSWER_SECONDS
    path = of.about(process, "/kill", ("grace", None if grace is None else repr(grace)))
    answer = ask(of.places, "POST", path, seconds=seconds)
    if invocation.json:
        write_json(answer)
    else:
        say(f"{process}: {state(answer)}")
    left = answer.get("left")
    if isinstance(left, list) and left:
        named = ", ".join(f"{one.get('pid')} {plain(str(one.get('command')))}" for one in left if isinstance(one, dict))
        raise ResidueError(f"{process} has left: {named}", "they may wait for a disk; try again, or look at them")
    return 0


def remove(invocation: Invocation) -> int:
    of = whose(invocation)
    return to_each(
        invocation,
        "ID",
        lambda process: ask(of.places, "DELETE", of.about(process)),
        lambda answer: f"{answer.get('process_id')}: removed",
        always_list=True,
    )


WAIT = Command(
    "proc wait",
    "wait for the end of a process; its exit code becomes ours",
    description=(
        "Returns as soon as the command has ended, also if something that it started goes on. The exit code is that\n"
        "of the command, 128 and the number for a death by signal, and 124 if it has not ended after --timeout."
    ),
    examples=(
        ("corral proc wait p3f09ac12de", "however long it takes"),
        ("corral proc wait --timeout 10m p3f09ac12de && echo well", "at most ten minutes"),
    ),
    arguments=(_ID,),
    options=(Option("timeout", value="S", kind=SECONDS, summary="wait at most so long: 500ms, 30s, 10m"), *OF_AGENT),
    run=wait,
)
WRITE = Command(
    "proc write",
    "give a process something to read",
    description=(
        "Writes the text to its standard input as it is. Words are joined by a space. Without TEXT, or with -, it is\n"
        "standard input, byte for byte, up to 16 MiB. The process must have been started with --stdin or --tty.\n"
        "Text that begins with a dash goes after --."
    ),
    examples=(
        ("corral proc write -n p3f09ac12de yes", "a line: yes, and the end of the line"),
        ("corral proc write --eof p3f09ac12de < data.csv", "a file, and nothing after it"),
        ("corral proc write --eof p3f09ac12de", "only the end"),
    ),
    arguments=(
        _ID,
        Argument("TEXT", summary="what to write; - or nothing reads standard input", required=False, repeated=True),
    ),
    options=(
        Option("newline", "n", summary="end it with a line end"),
        Option("eof", summary="nothing comes after it: the process reads the end of its input"),
        *OF_AGENT,
    ),
    run=write,
)
SIGNAL = Command(
    "proc signal",
    "send a signal to everything of a process",
    description=(
        "It reaches the command and everything that it started, in whatever session that is, and also if the command\n"
        "itself has ended. INT to one that has a terminal is what Ctrl-C would be."
    ),
    examples=(
        ("corral proc signal p3f09ac12de INT", "as Ctrl-C"),
        ("corral proc signal p3f09ac12de USR1", "by any name, with SIG or without, or number"),
    ),
    arguments=(_ID, Argument("SIGNAL", summary="INT, SIGINT or 2")),
    options=OF_AGENT,
    run=signal,
)
KILL = Command(
    "proc kill",
    "end a process with everything that it started",
    description=(
        "SIGTERM to everything of it, then after --grace SIGKILL to what is left. Returns when all of it is gone;\n"
        "if something would not end, it is named and the exit code is 5. Its output stays, until corral proc rm."
    ),
    examples=(
        ("corral proc kill p3f09ac12de", "politely, then after five seconds by force"),
        ("corral proc kill --grace 0 p3f09ac12de", "at once"),
    ),
    arguments=(_ID,),
    options=(
        Option("grace", value="S", kind=SECONDS, summary="how long it may take to end by itself (default 5s)"),
        *OF_AGENT,
    ),
    run=kill,
)
REMOVE = Command(
    "proc rm",
    "forget processes that have ended, with their output",
    description="Refused for one of which something still runs: corral proc kill ends it.",
    examples=(("corral proc rm p3f09ac12de p77b0e1f2a4", "two of them"),),
    arguments=(Argument("ID", summary="the processes", repeated=True, offers=PROCESSES),),
    options=OF_AGENT,
    run=remove,
)

COMMAND = Command(
    "proc",
    "look at and steer what corral exec started",
    description=(
        "A process is a command that was started for an agent by corral exec, by the agent's MCP tools or over HTTP,\n"
        "with everything that the command started. It goes on when the terminal, the daemon or the agent's own\n"
        "program ends; corral stop and corral down take it along. In an agent its own processes are meant, and no\n"
        "others, unless --agent or --team says so."
    ),
    examples=(("corral proc ls", "what runs?"), ("corral proc output -f p3f09ac12de", "what does it say?")),
    commands=(LIST, OUTPUT, WAIT, WRITE, SIGNAL, KILL, REMOVE),
)
