"""`corral inbox`: who waits for a person, and the answers."""

import sys

from corral.cli.command import SECONDS, TEAMS, Argument, Command, Invocation, Option
from corral.cli.inbox_shown import headline, listed, shown
from corral.cli.output import json_line, plain, remark, say, takes_colour, width_of, write_bytes, write_json
from corral.client.answers import Record, ask, records, stream_was_cut
from corral.client.wire import path_word, target
from corral.domain.errors import WrongUseError

_ENTRY = Argument("N", summary="the number of the entry")


def ls(invocation: Invocation) -> int:
    team = invocation.text("team")
    if invocation.flag("watch"):
        return _watch(invocation, team)
    parameters = [("team", team), ("all", "1" if invocation.flag("all") else None)]
    answer = ask(invocation.places, "GET", target("/v1/inbox", parameters))
    if invocation.json:
        write_json(answer)
        return 0
    _say_list(answer)
    return 0


def _say_list(answer: Record) -> None:
    if not answer.get("entries"):
        remark("nobody waits for you")
        return
    for line in listed(answer, width=width_of(sys.stdout), colour=takes_colour(sys.stdout)):
        say(line)


def _watch(invocation: Invocation, team: "str | None") -> int:
    if invocation.flag("all"):
        raise WrongUseError("--watch shows what waits", "leave --all out")
    first = True
    for record in records(invocation.places, "GET", target("/v1/inbox/watch", [("team", team)])):
        if invocation.json:
            write_bytes(json_line(record))
            continue
        if not first:
            say("────")
        _say_list(record)
        first = False
        sys.stdout.flush()
    raise stream_was_cut(invocation.places)


def show(invocation: Invocation) -> int:
    answer = ask(invocation.places, "GET", _about(invocation))
    if invocation.json:
        write_json(answer)
        return 0
    for line in shown(answer):
        say(line)
    return 0


def claim(invocation: Invocation) -> int:
    return _done(invocation, ask(invocation.places, "POST", _about(invocation, "/claim"), {}), "claimed")


def snooze(invocation: Invocation) -> int:
    seconds = invocation.number("for")
    body: Record = {} if seconds is None else {"seconds": seconds}
    return _done(invocation, ask(invocation.places, "POST", _about(invocation, "/snooze"), body), "snoozed")


def approve(invocation: Invocation) -> int:
    return _answer(invocation, {"say": "approve"})


def deny(invocation: Invocation) -> int:
    return _answer(invocation, {"say": "deny"})


def answer(invocation: Invocation) -> int:
    words = invocation.words("ANSWER")
    text = " ".join(words)
    if len(words) == 1 and text.isascii() and text.isdigit() and len(text) <= 3:
        return _answer(invocation, {"option": int(text)})
    return _answer(invocation, {"text": text})


def _answer(invocation: Invocation, body: Record) -> int:
    return _done(invocation, ask(invocation.places, "POST", _about(invocation, "/answer"), body), "answered")


def _done(invocation: Invocation, entry: Record, what: str) -> int:
    if invocation.json:
        write_json(entry)
        return 0
    with_what = f" ({entry.get('answer')})" if entry.get("answer") else ""
    say(f"{plain(headline(entry))}: {what}{with_what}")
    return 0


def _about(invocation: Invocation, path: str = "") -> str:
    return f"/v1/inbox/{path_word(invocation.word('N'))}{path}"


_LIST_OPTIONS = (
    Option("all", "a", summary="also what was answered or is gone, as far as it is kept"),
    Option("watch", "w", summary="go on, and show the list again whenever it is another"),
    Option("team", "t", value="TEAM", summary="only of this team", offers=TEAMS),
)

COMMAND = Command(
    "inbox",
    "see who waits for a person, and answer",
    description=(
        "Every agent that waits for somebody, oldest first, with the lines of its screen: a permission, a question,\n"
        "a trust or login dialog, quota that ran out, a merge conflict, an agent that failed or is stuck. An entry\n"
        "goes when its cause does. It is answered once: claim takes it on for half an hour, and to answer claims it\n"
        "as well; who comes second is refused (exit 4). An answer is pressed only while the screen still shows what\n"
        "was asked, and the dialog is seen to go; otherwise it is refused, and what is there now is told. Answers\n"
        "are for people: an agent cannot give one. All of them are in corral events, with who gave them."
    ),
    examples=(
        ("corral inbox", "who waits, and for what"),
        ("corral inbox approve 3", "say yes to entry 3"),
        ("corral inbox answer 3 2", "choose option 2 of its dialog"),
    ),
    options=_LIST_OPTIONS,
    run=ls,
    commands=(
        Command(
            "inbox ls",
            "list what waits for a person; the same as corral inbox",
            examples=(("corral inbox ls --all", "also what was answered"),),
            options=_LIST_OPTIONS,
            run=ls,
        ),
        Command(
            "inbox show",
            "show an entry with the whole screen as it was",
            examples=(("corral inbox show 3", "all that is known of it"),),
            arguments=(_ENTRY,),
            run=show,
        ),
        Command(
            "inbox claim",
            "take an entry on, so that nobody else answers it",
            description="Holds for half an hour. Exit code 4 if somebody else has it, or it waits no more.",
            examples=(("corral inbox claim 3", "it is yours"),),
            arguments=(_ENTRY,),
            run=claim,
        ),
        Command(
            "inbox answer",
            "choose an option of a dialog, or answer a question in words",
            description=(
                "A number is an option of the dialog. Anything else is words, where corral inbox offers that: they\n"
                "are written into the field that the dialog has for them, one line of at most 500 letters, and\n"
                "submitted; without a dialog on the screen they are sent as corral send does. Exit code 3 if there is\n"
                "no such entry, 4 if it was answered, is somebody else's, is not what the screen shows any more,\n"
                "takes no such answer, or if the dialog is still there afterwards."
            ),
            examples=(
                ("corral inbox answer 3 1", "the first option"),
                ("corral inbox answer 4 use the staging database", "words, for a question that has a field for them"),
            ),
            arguments=(_ENTRY, Argument("ANSWER", summary="the number of an option, or words", repeated=True)),
            run=answer,
        ),
        Command(
            "inbox approve",
            "say yes to an entry",
            description="Presses the keys that the agent's profile has for it. Exit codes as for answer.",
            examples=(("corral inbox approve 3", "let it go on"),),
            arguments=(_ENTRY,),
            run=approve,
        ),
        Command(
            "inbox deny",
            "say no to an entry",
            description="Presses the keys that the agent's profile has for it. Exit codes as for answer.",
            examples=(("corral inbox deny 3", "it must not"),),
            arguments=(_ENTRY,),
            run=deny,
        ),
        Command(
            "inbox snooze",
            "let an entry rest for a while",
            description="It stays in the list, and counts as waiting again when the time is over.",
            examples=(("corral inbox snooze 3 --for 2h", "not before lunch"),),
            arguments=(_ENTRY,),
            options=(Option("for", value="S", kind=SECONDS, summary="so long; 1h without it"),),
            run=snooze,
        ),
    ),
)
