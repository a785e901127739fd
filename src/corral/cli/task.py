"""`corral task`: work that is handed over, and done once."""

import os
import sys

from corral.cli.command import AGENTS, INTEGER, NUMBER, SECONDS, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import plain, remark, say, write_json
from corral.cli.proc_targets import whose
from corral.cli.several import to_each
from corral.cli.task_shown import listed, shown
from corral.cli.team_targets import of_team
from corral.client.answers import Record, ask
from corral.client.wire import ANSWER_SECONDS, path_word
from corral.domain.errors import WrongUseError

_LARGEST = 64 << 10
_STATES = ("ready", "waiting", "delayed", "claimed", "done", "dead")
#: Of the answer to `ls`, as the daemon gives at most.
_MOST_LISTED = "60000"


def add(invocation: Invocation) -> int:
    of = of_team(invocation)
    body: Record = {
        "title": " ".join(invocation.words("TITLE")),
        "body": _text(invocation, "body"),
        "labels": invocation.texts("label"),
        "after": invocation.texts("after"),
        "before": invocation.texts("before"),
        "key": invocation.text("key") or "",
    }
    priority = invocation.number("priority")
    if priority is not None:
        if not priority.is_integer():
            raise WrongUseError(f"--priority cannot be {priority:g}", "it is a whole number; greater is sooner")
        body["priority"] = int(priority)
    for option, field in (("max-attempts", "max_attempts"), ("backoff", "backoff")):
        if option in invocation.options:
            body[field] = invocation.options[option]
    answer = ask(of.places, "POST", of.request("/v1/tasks"), body)
    if invocation.json:
        write_json(answer)
        return 0
    say(str(answer.get("task")))
    if not answer.get("added"):
        remark("a task with this key was there before")
    return 0


def claim(invocation: Invocation) -> int:
    of, wait = whose(invocation), invocation.number("wait") or 0.0
    body: Record = {"labels": invocation.texts("label"), "wait": wait}
    ttl = invocation.number("ttl")
    if ttl is not None:
        body["ttl"] = ttl
    answer = ask(of.places, "POST", of.request("/v1/tasks/claim"), body, seconds=wait + ANSWER_SECONDS)
    if invocation.json:
        write_json(answer)
        return 0
    task, token = answer.get("task"), answer.get("token")
    say(f"{task}  token {token}  attempt {answer.get('attempt')} of {answer.get('max_attempts')}")
    say(plain(str(answer.get("title"))))
    if answer.get("body"):
        say()
        say(plain(str(answer.get("body"))))
    notes = answer.get("notes")
    for note in notes if isinstance(notes, list) else []:
        say(f"note of {plain(str(note.get('by')))}: {plain(str(note.get('text')))}")
    remark(f"when it is done: corral task done {task} --token {token}")
    return 0


def renew(invocation: Invocation) -> int:
    return _change(invocation, "renew", {"token": _token(invocation)})


def done(invocation: Invocation) -> int:
    return _change(invocation, "done", {"token": _token(invocation), "result": _text(invocation, "result")})


def fail(invocation: Invocation) -> int:
    return _change(invocation, "fail", {"token": _token(invocation), "final": invocation.flag("final")})


def release(invocation: Invocation) -> int:
    return _change(invocation, "release", {"token": invocation.integer("token")})


def _change(invocation: Invocation, what: str, body: Record) -> int:
    # The token says whose claim it is; an agent that is named says of which team.
    of = whose(invocation) if invocation.text("agent") else of_team(invocation)
    path = f"/v1/tasks/{path_word(invocation.word('TASK'))}/{what}"
    answer = ask(of.places, "POST", of.request(path), {**body, "note": _text(invocation, "note")})
    if invocation.json:
        write_json(answer)
    else:
        say(f"{answer.get('task')} is {answer.get('state')}")
    return 0


def rm(invocation: Invocation) -> int:
    of, force = of_team(invocation), "1" if invocation.flag("force") else "0"
    return to_each(
        invocation,
        "TASK",
        lambda task: ask(of.places, "DELETE", of.request(f"/v1/tasks/{path_word(task)}", ("force", force))),
        lambda answer: f"{answer.get('task')} is removed",
    )


def ls(invocation: Invocation) -> int:
    mine = invocation.flag("mine")
    of = whose(invocation) if mine else of_team(invocation)
    states = invocation.texts("state")
    if not states and not invocation.flag("all"):
        states = [state for state in _STATES if state != "done"]
    parameters = [("state", state) for state in states]
    filters = (("label", invocation.text("label")), ("by", invocation.text("by")), ("mine", "1" if mine else None))
    answer = ask(of.places, "GET", of.request("/v1/tasks", *parameters, *filters, ("limit", _MOST_LISTED)))
    if invocation.json:
        write_json(answer)
        return 0
    for line in listed(answer):
        say(line)
    return 0


def show(invocation: Invocation) -> int:
    of, task = of_team(invocation), invocation.word("TASK")
    answer = ask(of.places, "GET", of.request(f"/v1/tasks/{path_word(task)}"))
    if invocation.json:
        write_json(answer)
        return 0
    for line in shown(answer):
        say(line)
    return 0


def _token(invocation: Invocation) -> int:
    token = invocation.integer("token")
    if token is None:
        raise WrongUseError("which claim? --token is missing", "corral task claim gave it, and task show has it")
    return token


def _text(invocation: Invocation, option: str) -> str:
    """The value of an option; - is standard input."""
    text = invocation.text(option) or ""
    data = os.fsencode(text)
    if text == "-":
        data = sys.stdin.buffer.read(_LARGEST + 1) if sys.stdin is not None else b""
        if len(data) > _LARGEST:
            raise WrongUseError(f"that is more than {_LARGEST >> 10} KiB", "put it into a file, and its path here")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise WrongUseError(f"--{option} is no UTF-8", "put it into a file, and its path here") from None


_TASK = Argument("TASK", summary="the task, such as t41")
_TOKEN = Option("token", value="N", kind=INTEGER, summary="the token of the claim")
_NOTE = Option("note", value="TEXT", summary="what others should know, kept with the task; - is standard input")
_LABEL = Option("label", value="LABEL", summary="a label that it asks for", repeatable=True)
_AGENT = Option("agent", value="AGENT", summary="the agent whose claim it is, if not this one", offers=AGENTS)

COMMAND = Command(
    "task",
    "hand work over: tasks that are claimed and done once",
    description=(
        "Tasks that people and agents add, and agents claim. A claim is one agent's alone: however many claim at\n"
        "once, no two get the same task. It holds while the agent lives, and lapses some time after its end; then\n"
        "the task is ready for the next. Each claim has a token, and what is said with the token of a claim that\n"
        "is over is refused (exit 4). After its last attempt a task is dead, and stays for a person to look at.\n"
        "The highest priority comes first; within it, the people who added tasks take turns."
    ),
    examples=(
        ('corral task add "Fix the login test" --priority 5', "add one"),
        ("corral task claim --wait 10m", "get the next, or wait for it"),
        ('corral task done t41 --token 57 --result "fixed in 3fa9c1"', "say that it is done"),
    ),
    commands=(
        Command(
            "task add",
            "add a task",
            description=(
                "Prints its id when it is on the disk. The title is what to do in a line, the body all that whoever\n"
                "claims it has to know. With --key, the same task is added once, however often this is repeated."
            ),
            examples=(
                ('corral task add "Fix the login test"', "a task"),
                ("corral task add Review the parser --body - < review.md", "with more to say"),
                ("corral task add Deploy --after t41 --after t42", "when both are done"),
                ("corral task add Train --label gpu --max-attempts 1", "for who has a GPU, and not twice"),
                ("corral task add Nightly --key nightly-2026-02-03", "once a day, however often this runs"),
            ),
            arguments=(Argument("TITLE", summary="what is to be done, in a line", repeated=True),),
            options=(
                Option("body", value="TEXT", summary="all there is to know, up to 64 KiB; - is standard input"),
                Option("priority", value="N", kind=NUMBER, summary="greater is sooner, -1000 to 1000; 0 if not given"),
                _LABEL,
                Option("after", value="TASK", summary="wait until this task is done; repeatable", repeatable=True),
                Option("before", value="TASK", summary="have this task wait for the new one", repeatable=True),
                Option("key", value="KEY", summary="the same key is the same task: it is added once"),
                Option("max-attempts", value="N", kind=INTEGER, summary="so many, then it is dead; 3 if not given"),
                Option(
                    "backoff",
                    value="S",
                    kind=SECONDS,
                    summary="rest after a failure, doubled with each; 5s if not given",
                ),
                TEAM,
            ),
            run=add,
        ),
        Command(
            "task claim",
            "claim the next task",
            description=(
                "Exit code 3 if there is none, with --wait only after that time. In an agent the claim is the\n"
                "agent's: it is renewed while the agent lives. A person's claim holds for --ttl, and longer with\n"
                "task renew. A task that asks for labels is for those who name them."
            ),
            examples=(
                ("corral task claim", "the next, if there is one"),
                ("corral task claim --wait 10m --json", "or the first that comes"),
                ("corral task claim --label gpu --agent builder-1", "for an agent that has a GPU"),
            ),
            options=(
                Option("label", value="LABEL", summary="something that the claimer can do", repeatable=True),
                Option("wait", value="S", kind=SECONDS, summary="wait so long for one"),
                Option("ttl", value="S", kind=SECONDS, summary="holds so long after the last sign of life; 60s"),
                Option("agent", value="AGENT", summary="the agent that claims it, if not this one", offers=AGENTS),
                TEAM,
            ),
            run=claim,
        ),
        Command(
            "task renew",
            "say that work on a task goes on",
            description="A person's claim holds for its whole time again. Agents need this only to leave a note.",
            examples=(("corral task renew t41 --token 57 --note 'half way'", "and how far it is"),),
            arguments=(_TASK,),
            options=(_TOKEN, _NOTE, _AGENT, TEAM),
            run=renew,
        ),
        Command(
            "task done",
            "say that a task is done",
            description="Exit code 4 if the claim is over: somebody else has the task, or has done it.",
            examples=(
                ("corral task done t41 --token 57", "done"),
                ("corral task done t41 --token 57 --result - < report.md", "and what came of it"),
            ),
            arguments=(_TASK,),
            options=(
                _TOKEN,
                Option("result", value="TEXT", summary="what came of it, up to 64 KiB; - is standard input"),
                _NOTE,
                _AGENT,
                TEAM,
            ),
            run=done,
        ),
        Command(
            "task fail",
            "say that an attempt failed",
            description=(
                "The task is ready again after a rest, for anybody. After its last attempt, or with --final, it is\n"
                "dead."
            ),
            examples=(
                ('corral task fail t41 --token 57 --note "no network"', "let somebody try again"),
                ("corral task fail t41 --token 57 --final", "nobody shall try again"),
            ),
            arguments=(_TASK,),
            options=(_TOKEN, _NOTE, Option("final", summary="it is dead at once"), _AGENT, TEAM),
            run=fail,
        ),
        Command(
            "task release",
            "give a task back, or revive a dead one",
            description=(
                "With --token, a claim is given back, and does not count as an attempt. Without it, a dead task gets\n"
                "all its attempts again, and one that rests after a failure is ready at once."
            ),
            examples=(
                ("corral task release t41 --token 57", "somebody else may have it"),
                ("corral task release t41", "try a dead one again"),
            ),
            arguments=(_TASK,),
            options=(_TOKEN, _NOTE, _AGENT, TEAM),
            run=release,
        ),
        Command(
            "task rm",
            "forget tasks that are done or dead",
            description=(
                "Refused (exit 4) for one that is open, or that others wait for. With --force it goes all the same: a\n"
                "claim on it is over, and what waited for it waits for it no more."
            ),
            examples=(
                ("corral task rm t41", "one that is dead and will not be revived"),
                ("corral task rm --force t42", "one that was added by mistake"),
            ),
            arguments=(Argument("TASK", summary="the id of a task", repeated=True),),
            options=(Option("force", summary="also what is open, or what others wait for"), TEAM),
            run=rm,
        ),
        Command(
            "task ls",
            "list tasks",
            description="Those that are not done, in about the order in which they are claimed.",
            examples=(
                ("corral task ls", "what there is to do"),
                ("corral task ls --state dead", "what nobody could do"),
                ("corral task ls --mine --json", "what you have claimed, with the tokens"),
            ),
            options=(
                Option("state", value="STATE", summary="only in this state", choices=_STATES, repeatable=True),
                Option("label", value="LABEL", summary="only with this label"),
                Option("by", value="WHO", summary="only claimed by this person, or agent as TEAM/AGENT"),
                Option("mine", summary="only what you have claimed, or the agent that this runs in"),
                Option("all", "a", summary="also what is done, as far as it is kept"),
                TEAM,
            ),
            run=ls,
        ),
        Command(
            "task show",
            "show a task: what it says, and what became of it",
            examples=(("corral task show t41", "body, result and notes"),),
            arguments=(_TASK,),
            options=(TEAM,),
            run=show,
        ),
    ),
)
