"""`corral merge`: the one way into the target branch."""

import sys

from corral.cli.command import AGENTS, SECONDS, TEAM, Argument, Command, Invocation, Option
from corral.cli.merge_shown import listed, shown
from corral.cli.output import plain, remark, say, width_of, write_json
from corral.cli.proc_targets import Whose, whose
from corral.cli.progress import Progress
from corral.cli.team_targets import of_team
from corral.client.answers import Record, ask
from corral.client.wire import ANSWER_SECONDS, path_word
from corral.domain.errors import NotFoundError, RefusedError, WrongUseError

_ON_THE_WAY = ("queued", "testing", "landing")
#: One question to the daemon waits so long at most.
_PORTION = 30.0
#: A daemon has somebody wait so long at most.
_LONGEST_WAIT = 86400.0


def submit(invocation: Invocation) -> int:
    of = whose(invocation)
    body: Record = {
        "branch": invocation.words("BRANCH")[0] if invocation.words("BRANCH") else "",
        **_tokens(invocation),
    }
    answer = ask(of.places, "POST", of.request("/v1/merges"), body, seconds=ANSWER_SECONDS * 3)
    name = answer.get("merge")
    if answer.get("note") and not invocation.json:
        remark(plain(str(answer.get("note"))))
    if name is None:
        if invocation.json:
            write_json(answer)
        else:
            say(plain(f"{answer.get('branch')} is merged: {answer.get('reason')}"))
        return 0
    wait = invocation.number("wait")
    if wait is None:
        if invocation.json:
            write_json(answer)
        else:
            say(plain(f"{name}  {answer.get('state')}  {answer.get('branch')} into {answer.get('target')}"))
        return 0
    found = _until_ended(invocation, Whose(of.places, of.team, None), str(name), wait)
    return _conclude(invocation, found, {**found, "again": answer.get("again"), "note": answer.get("note")})


def retry(invocation: Invocation) -> int:
    of = of_team(invocation)
    answer = ask(of.places, "POST", _about(of, invocation.word("MERGE"), "/retry"), _tokens(invocation))
    wait = invocation.number("wait")
    if wait is not None:
        found = _until_ended(invocation, of, str(answer.get("merge")), wait)
        return _conclude(invocation, found, found)
    return _changed(invocation, answer)


def _until_ended(invocation: Invocation, of: Whose, name: str, seconds: float) -> Record:
    """The merge when it is at an end, or time is up; what happens to it meanwhile is shown."""
    from time import monotonic

    until = monotonic() + seconds
    after, said = 0, ""
    with Progress(silent=invocation.json) as progress:
        while True:
            wait = max(0.0, min(_PORTION, until - monotonic()))
            parameters = (("wait", f"{wait:g}"), ("after", str(after)))
            merge = ask(of.places, "GET", _about(of, name, "", *parameters), seconds=wait + ANSWER_SECONDS)
            state, step = str(merge.get("state")), str(merge.get("step") or "")
            if state not in _ON_THE_WAY or monotonic() >= until:
                return merge
            if (now := f"{state}: {step}" if step else state) != said:
                said = now
                progress.step({"agent": name, "step": now})
            revision = merge.get("revision")
            after = revision if isinstance(revision, int) else after


def _conclude(invocation: Invocation, merge: Record, answer: Record) -> int:
    state, name = str(merge.get("state")), str(merge.get("merge"))
    if state == "merged":
        if invocation.json:
            write_json(answer)
        else:
            say(plain(f"{name}  merged  {merge.get('branch')} into {merge.get('target')} as {merge.get('commit')}"))
        return 0
    details = {key: merge.get(key) for key in ("merge", "state", "branch", "target", "files", "batch", "step")}
    if state in _ON_THE_WAY:
        raise RefusedError(
            f"{name} is {state} still{': ' + str(merge.get('step')) if merge.get('step') else ''}",
            f"it stays in line: corral merge show {name}",
            **details,
        )
    raise RefusedError(
        f"{name} is {state}: {merge.get('reason')}", str(merge.get("remedy") or f"corral merge show {name}"), **details
    )


def ls(invocation: Invocation) -> int:
    of = of_team(invocation)
    answer = ask(of.places, "GET", of.request("/v1/merges", ("all", "1" if invocation.flag("all") else "0")))
    if invocation.json:
        write_json(answer)
        return 0
    lines = list(listed(answer, width_of(sys.stdout)))
    for line in lines:
        say(line)
    if not lines and not invocation.flag("all"):
        remark("nothing is in line; corral merge ls --all has what is at an end")
    if answer.get("note"):
        remark(plain(str(answer.get("note"))))
    return 0


def show(invocation: Invocation) -> int:
    of, wait = of_team(invocation), invocation.number("wait") or 0.0
    if wait > _LONGEST_WAIT:
        raise WrongUseError("--wait cannot be longer than a day", "such as --wait 24h")
    path = _about(of, invocation.word("MERGE"), "", ("wait", f"{wait:g}"))
    answer = ask(of.places, "GET", path, seconds=wait + ANSWER_SECONDS)
    if invocation.json:
        write_json(answer)
        return 0
    for line in shown(answer):
        say(line)
    return 0


def cancel(invocation: Invocation) -> int:
    of = of_team(invocation)
    return _changed(invocation, ask(of.places, "POST", _about(of, invocation.word("MERGE"), "/cancel")))


def _changed(invocation: Invocation, answer: Record) -> int:
    if invocation.json:
        write_json(answer)
    else:
        say(f"{answer.get('merge')} is {answer.get('state')}")
    return 0


def _about(of: Whose, name: str, rest: str, *parameters: tuple[str, str | None]) -> str:
    # What is no id must not lead to another path, and is told as it was typed.
    if path_word(name) != name:
        raise NotFoundError(f"{name[:80]!r} is no merge", "corral merge ls shows those that there are; such as q12")
    return of.request(f"/v1/merges/{name}{rest}", *parameters)


def _tokens(invocation: Invocation) -> Record:
    found = []
    for text in invocation.texts("token"):
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise WrongUseError(f"--token cannot be {text[:50]!r}", "it is the number that lease acquire answered with")
        found.append(int(text))
    return {"tokens": found}


_MERGE = Argument("MERGE", summary="the merge, such as q12")
_TOKEN = Option(
    "token",
    value="N",
    summary="the token of a lease that it relies on: refused if that is not held when it lands; repeatable",
    repeatable=True,
)
_WAIT = Option("wait", value="S", kind=SECONDS, summary="wait so long until it is merged; exit 4 if it is not")

COMMAND = Command(
    "merge",
    "bring branches into the target, tested and in order",
    description=(
        "The one way into the target branch, which is target below [merge] in corral.toml, or the branch that HEAD\n"
        "named at up. First submitted, first merged. A branch is merged beside every working tree; the gates of the\n"
        "team's file run on the merged tree, in a workspace of its own; then the target is moved, by compare and\n"
        "swap. Several that wait are tested together, and if that fails, halves of them, until it is known whose\n"
        "fault it is. What does not go in is told to its agent by a message: corral msg inbox."
    ),
    examples=(
        ("corral merge submit --wait 10m", "merge the branch that you are on"),
        ("corral merge ls", "who is in line"),
        ("corral merge show q12", "what became of one, and what the gates wrote"),
    ),
    commands=(
        Command(
            "merge submit",
            "put a branch into the line",
            description=(
                "Without BRANCH it is the one that the agent is on, or this directory. It is merged as it is now;\n"
                "what is committed later is not part of it. Refused (exit 4) if it changes what somebody else holds\n"
                "exclusively, or if a token is stale; both are looked at again when it lands."
            ),
            examples=(
                ("corral merge submit", "the branch that you are on"),
                ("corral merge submit corral/shop/api --wait 10m", "that of an agent, and wait for it"),
                ("corral merge submit --token 57", "only while the lease with this token is held"),
            ),
            arguments=(Argument("BRANCH", summary="a branch of the repository", required=False),),
            options=(
                _WAIT,
                _TOKEN,
                Option("agent", value="AGENT", summary="the agent whose work it is, if not this one", offers=AGENTS),
                TEAM,
            ),
            run=submit,
        ),
        Command(
            "merge ls",
            "list the line",
            description="The first is merged next. A line that begins with waits: says what has to be done.",
            examples=(
                ("corral merge ls", "what is on its way"),
                ("corral merge ls --all --json", "also what is at an end, as far as it is kept"),
            ),
            options=(Option("all", "a", summary="also those at an end"), TEAM),
            run=ls,
        ),
        Command(
            "merge show",
            "show a merge: how far it is, and what its gates wrote",
            examples=(
                ("corral merge show q12", "as it is now"),
                ("corral merge show q12 --wait 10m", "when it is at an end"),
            ),
            arguments=(_MERGE,),
            options=(Option("wait", value="S", kind=SECONDS, summary="until it is at an end, so long at most"), TEAM),
            run=show,
        ),
        Command(
            "merge cancel",
            "take a branch out of the line",
            description="The branch stays as it is. Those that were tested with it are tested again without it.",
            examples=(("corral merge cancel q12", "it is not wanted any more"),),
            arguments=(_MERGE,),
            options=(TEAM,),
            run=cancel,
        ),
        Command(
            "merge retry",
            "try one again that did not go in",
            description=(
                "At the end of the line, with what its branch is at now. It relies on the tokens that it had, unless\n"
                "others are given."
            ),
            examples=(("corral merge retry q12 --wait 10m", "after the conflict is resolved and committed"),),
            arguments=(_MERGE,),
            options=(_WAIT, _TOKEN, TEAM),
            run=retry,
        ),
    ),
)
