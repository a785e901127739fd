"""`corral who`: which agents and people had to do with a file."""

from corral.cli.command import AGENTS, FILES, INTEGER, MOMENT, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import plain, remark, say, write_json
from corral.cli.proc_targets import whose
from corral.cli.table import lines
from corral.client.answers import Record, ask
from corral.domain.errors import WrongUseError

#: So many the daemon tells at most.
_MOST = 1000


def run(invocation: Invocation) -> int:
    since, limit = invocation.number("since"), invocation.integer("limit")
    if limit is not None and not 1 <= limit <= _MOST:
        raise WrongUseError(f"--limit cannot be {limit}", f"give a number from 1 to {_MOST}; without it there are 50")
    of = whose(invocation)
    answer = ask(
        of.places,
        "GET",
        of.request(
            "/v1/who",
            ("path", invocation.word("PATH")),
            ("since", None if since is None else repr(since)),
            ("limit", None if limit is None else str(limit)),
        ),
    )
    if invocation.json:
        write_json(answer)
        return 0
    traces, more, unseen = (answer.get(key) for key in ("traces", "more", "unseen"))
    rows = [_row(one, str(answer.get("path"))) for one in traces] if isinstance(traces, list) else []
    for line in lines([["WHEN", "WHO", "WHAT", "DETAIL"], *rows]) if rows else ():
        say(line)
    if not rows:
        remark(f"nobody had to do with {plain(str(answer.get('path')))}" + (" since then" if since else ""))
    if more:
        remark(f"{more} more: --limit shows more of them, --since fewer")
    for one in unseen if isinstance(unseen, list) else ():
        remark(f"not looked at: {plain(str(one))}")
    return 0


def _row(one: Record, path: str) -> list[str]:
    then = one.get("path")
    parts = [
        str(one.get("commit"))[:12] if one.get("commit") else "",
        str(one.get("lease") or one.get("task") or ""),
        str(one.get("pattern") or ""),
        str(one.get("detail") or ""),
        f"(then {then})" if then != path else "",
    ]
    what = str(one.get("what"))
    return [
        str(one.get("time") or "now"),
        plain(_who(one)),
        what if one.get("now") or what == "committed" else f"{_noun(one)}{what}",
        plain("  ".join(part for part in parts if part)),
    ]


def _who(one: Record) -> str:
    agent, person = one.get("agent"), one.get("person")
    if agent and person:
        return f"{agent} ({person})"
    return str(agent or person or "somebody in " + str(one.get("workspace")))


def _noun(one: Record) -> str:
    return "lease " if one.get("lease") else "task " if one.get("task") else "merge "


COMMAND = Command(
    "who",
    "tell who changed, holds or claimed a file",
    description=(
        "From git (commits on all branches, renames followed, and changes that are in no commit yet), from leases,\n"
        "from tasks that name the file, and from the journal. What is so now comes first, then what happened, the\n"
        "newest first. PATH is relative to the current directory or to the top of the repository. A file that nobody\n"
        "knows is an error (exit 3)."
    ),
    examples=(
        ("corral who src/api/users.py", "who had to do with it"),
        ("corral who --since 2h src/api/users.py", "in the last two hours; what is so now is told anyway"),
    ),
    arguments=(Argument("PATH", summary="a file of the repository", offers=FILES),),
    options=(
        Option("since", value="WHEN", kind=MOMENT, summary="from 10m or 2h ago on, or from a time: 2025-11-30T14:05"),
        Option("limit", value="N", kind=INTEGER, summary="at most so many (default 50, up to 1000)"),
        Option(
            "agent",
            value="AGENT",
            summary="as this agent sees it, AGENT or TEAM/AGENT; in an agent, that one",
            offers=AGENTS,
        ),
        TEAM,
    ),
    run=run,
)
