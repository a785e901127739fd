"""`corral lease`: who may write which files."""

import os

from corral.cli.command import AGENTS, INTEGER, SECONDS, TEAM, Argument, Command, Invocation, Option
from corral.cli.meant_paths import remark_on_paths
from corral.cli.output import plain, say, shown_json, write_bytes, write_json
from corral.cli.proc_targets import Whose, whose
from corral.cli.several import to_each
from corral.cli.table import lines, on_one_line
from corral.client.answers import Record, ask, ask_unparsed
from corral.client.wire import ANSWER_SECONDS, path_word
from corral.domain.errors import WrongUseError

_AGENT = Option(
    "agent",
    value="AGENT",
    summary="in the name of this agent, AGENT or TEAM/AGENT; in an agent, that one",
    offers=AGENTS,
)
#: What the system has as the longest path.
_LONGEST_PATH = 4096
_TOKEN = Option("token", value="N", kind=INTEGER, summary="refuse (exit 4) if the lease has another token")
_PATTERNS = Argument("PATTERN", summary="from the top of the repository: src/, '*.md', 'src/**/*.py'", repeated=True)


def acquire(invocation: Invocation) -> int:
    answer = _ask_for(invocation, "/v1/leases")
    if invocation.json:
        write_json(answer)
    else:
        say(
            f"{answer.get('lease')}  token {answer.get('token')}  {_patterns(answer)}  until {answer.get('expires_at')}"
        )
    return 0


def wait(invocation: Invocation) -> int:
    answer = _ask_for(invocation, "/v1/leases/wait")
    if invocation.json:
        write_json(answer)
    return 0


def _ask_for(invocation: Invocation, path: str) -> Record:
    of, seconds = whose(invocation), invocation.number("wait")
    if seconds is None:
        seconds = 0.0 if path == "/v1/leases" else 366 * 86400.0
    if not invocation.json:
        remark_on_paths(invocation.words("PATTERN"))
    body: Record = {
        "patterns": [_text(pattern) for pattern in invocation.words("PATTERN")],
        "shared": invocation.flag("shared"),
        "literal": invocation.flag("literal"),
        "ttl": time_to_live(invocation),
        "wait": seconds,
    }
    return ask(of.places, "POST", of.request(path), body, seconds=seconds + ANSWER_SECONDS)


def time_to_live(invocation: Invocation) -> float | None:
    """What `--ttl` says, which must be some time."""
    seconds = invocation.number("ttl")
    if seconds is not None and seconds <= 0:
        raise WrongUseError(f"--ttl cannot be {seconds:g}", "give a time such as 30s or 10m")
    return seconds


def _text(pattern: str) -> str:
    """A pattern is text. A file whose name is none can be held all the same, by a pattern that names it."""
    try:
        pattern.encode()
    except UnicodeEncodeError:
        shown = "".join("?" if "\udc80" <= letter <= "\udcff" else letter for letter in pattern)
        raise WrongUseError(f"{plain(pattern)} is no UTF-8", f"write a ? for each byte that is none: {shown}") from None
    return pattern


def check(invocation: Invocation) -> int:
    """Hooks and scripts ask this before they write, so it is done in little more than the start of the interpreter."""
    of = whose(invocation)
    paths = invocation.words("PATH")
    for path in paths:
        if len(path) > _LONGEST_PATH:
            raise WrongUseError(
                f"the path {plain(path[:40])}… has {len(path)} characters", f"no file has more than {_LONGEST_PATH}"
            )
    if not invocation.json:
        remark_on_paths(paths)
    body = b"".join(os.fsencode(path) + b"\0" for path in paths)
    answer = ask_unparsed(of.places, "POST", of.request("/v1/leases/check"), body)
    if invocation.json:
        write_bytes(shown_json(answer) + b"\n")
    return 0


def renew(invocation: Invocation) -> int:
    return _with_each(invocation, "renew", "until {expires_at}")


def release(invocation: Invocation) -> int:
    return _with_each(invocation, "release", "released")


def _with_each(invocation: Invocation, verb: str, told: str) -> int:
    of, token = whose(invocation), invocation.integer("token")
    return to_each(
        invocation,
        "LEASE",
        lambda lease: ask(of.places, "POST", _about(of, lease, verb), {"token": token}),
        lambda answer: f"{answer.get('lease')}: {told.format(expires_at=answer.get('expires_at'))}",
    )


def _about(of: Whose, lease: str, verb: str) -> str:
    return of.request(f"/v1/leases/{path_word(lease)}/{verb}")


def ls(invocation: Invocation) -> int:
    of, only = whose(invocation), invocation.text("agent")
    answer = ask(of.places, "GET", Whose(of.places, of.team, None).request("/v1/leases"))
    found = answer.get("leases")
    if only and isinstance(found, list):
        # A holder is TEAM/AGENT, or a person.
        answer["leases"] = [one for one in found if f"/{one.get('agent')}".endswith(f"/{only}")]
    return show(invocation, answer)


def show(invocation: Invocation, answer: Record) -> int:
    """A list of leases, or of locks."""
    if invocation.json:
        write_json(answer)
        return 0
    found = answer.get("leases")
    rows = [
        [
            str(one.get("lease")),
            plain(str(one.get("agent"))) + (" (suspect)" if one.get("suspect") else ""),
            str(one.get("mode")),
            str(one.get("since")),
            str(one.get("expires_at")),
            _patterns(one),
        ]
        for one in (found if isinstance(found, list) else [])
    ]
    for line in lines([["LEASE", "HOLDER", "MODE", "SINCE", "UNTIL", "WHAT"], *rows]) if rows else ():
        say(line)
    return 0


def _patterns(answer: Record) -> str:
    patterns = answer.get("patterns")
    return on_one_line(plain(" ".join(map(str, patterns)))) if isinstance(patterns, list) else ""


_LITERAL = Option("literal", summary="the patterns are paths, whatever characters they have")
_SHARED = Option("shared", summary="together with others that are shared, and with no exclusive one")

COMMAND = Command(
    "lease",
    "hold files, so that nobody else changes them meanwhile",
    description=(
        "A lease is on patterns of files of the repository: nobody else gets one that can name the same file. In a\n"
        "pattern * and ? stay within a name, [a-z] is a set, ** is any number of directories, and a slash at the end\n"
        "means everything below. A lease of an agent lives as long as the agent's run; nobody has to renew it. Every\n"
        "lease has a token that is greater than all before. In the worktrees of agents, git refuses commits that\n"
        "change what somebody else holds exclusively."
    ),
    examples=(
        ("corral lease acquire src/api/", "hold everything below src/api"),
        ("corral lease check src/api/users.py", "may I change this file?"),
        ("corral lease ls", "who holds what"),
    ),
    commands=(
        Command(
            "lease acquire",
            "hold all that the patterns name, or nothing",
            description=(
                "Refused (exit 4) if somebody else holds a file that one of them can name; the error names the\n"
                "holder, the pattern and until when. With --wait it stands in line: first come, first served. A wait\n"
                "that could never end, because the holder waits for you, is refused at once."
            ),
            examples=(
                ("corral lease acquire src/api/ 'docs/*.md'", "both, or nothing"),
                ("corral lease acquire --wait 5m src/", "stand in line for up to five minutes"),
                ("corral lease acquire --shared src/", "others may read too, nobody may write"),
            ),
            arguments=(_PATTERNS,),
            options=(
                _SHARED,
                Option("ttl", value="S", kind=SECONDS, summary="how long it stays without a sign of life"),
                Option("wait", value="S", kind=SECONDS, summary="stand in line for so long"),
                _LITERAL,
                _AGENT,
                TEAM,
            ),
            run=acquire,
        ),
        Command(
            "lease renew",
            "show that you still need a lease",
            description="For people: the daemon renews those of agents by itself while they run.",
            examples=(("corral lease renew l42", "its whole time again"),),
            arguments=(Argument("LEASE", summary="the name of the lease", repeated=True),),
            options=(_TOKEN, _AGENT, TEAM),
            run=renew,
        ),
        Command(
            "lease release",
            "give leases back",
            description=(
                "In the name of an agent, with --agent and without its token, it is taken away from under it and\n"
                "counts as lost: once somebody else gets it, what the agent meant to write there is refused, until\n"
                "the agent has acquired it again."
            ),
            examples=(("corral lease release l42", "others can have it now"),),
            arguments=(Argument("LEASE", summary="the name of the lease", repeated=True),),
            options=(_TOKEN, _AGENT, TEAM),
            run=release,
        ),
        Command(
            "lease ls",
            "list the leases of the repository",
            examples=(("corral lease ls", "who holds what, and since when"),),
            options=(
                Option("agent", value="AGENT", summary="only those of this agent, AGENT or TEAM/AGENT", offers=AGENTS),
                TEAM,
            ),
            run=ls,
        ),
        Command(
            "lease check",
            "tell whether files may be changed",
            description=(
                "Exit code 0 if they are free or mine, 4 if somebody else holds one of them. A path counts from the\n"
                "top of the repository, wherever you are in it; a note says so if one from here may be meant."
            ),
            examples=(("corral lease check src/api/users.py && vi src/api/users.py", "only if nobody holds it"),),
            arguments=(Argument("PATH", summary="a path from the top of the repository", repeated=True),),
            options=(_AGENT, TEAM),
            run=check,
        ),
        Command(
            "lease wait",
            "wait until files are free",
            description="Holds nothing when it returns: to hold them, use acquire --wait.",
            examples=(("corral lease wait --wait 10m src/api/", "until nobody else holds it"),),
            arguments=(_PATTERNS,),
            options=(
                _SHARED,
                Option("wait", value="S", kind=SECONDS, summary="at most so long; exit 4 then"),
                _LITERAL,
                _AGENT,
                TEAM,
            ),
            run=wait,
        ),
    ),
)
