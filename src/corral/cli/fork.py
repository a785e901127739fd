"""`corral fork`: a new agent beside another, with the other's past."""

from corral.cli.command import AGENTS, TEAM, Argument, Command, Invocation, Option
from corral.cli.output import plain, say, write_json
from corral.cli.progress import Progress, result_of, strings
from corral.cli.receipt import short_path
from corral.cli.targets import here, one_agent
from corral.client.answers import Record, records
from corral.domain.errors import CorralError


def run(invocation: Invocation) -> int:
    team, agent = one_agent(invocation)
    request: Record = {
        "agent": agent,
        "name": invocation.word("NAME"),
        "cwd": here(),
        "prompt": invocation.text("prompt") or "",
    }
    if team is not None:
        request["team"] = team
    progress = Progress(silent=invocation.json, lines=False)
    made = result_of(records(invocation.places, "POST", "/v1/fork", request), progress)
    if invocation.json:
        write_json(made)
    else:
        for line in lines(made):
            say(line)
    if made.get("state") in ("failed", "backoff", "unknown"):
        raise CorralError(
            f"{made.get('agent')} was made and does not run: {plain(str(made.get('detail')))}",
            f"corral logs {made.get('agent')} shows its last words, corral rm --force {made.get('agent')} removes it",
        )
    return 0


def lines(made: Record) -> list[str]:
    """What was made, as text."""
    text = [f"{made.get('agent')}: forked from {made.get('source')}, {made.get('state')}"]
    if made.get("commit"):
        text.append(
            f"  branch {made.get('branch')} at {str(made['commit'])[:12]}, in {short_path(str(made['workspace']))}"
        )
    if made.get("session"):
        text.append(f"  goes on with conversation {made['session']}")
    return text + [f"  ! {plain(note)}" for note in strings(made.get("notes"))]


COMMAND = Command(
    "fork",
    "make an agent beside another, with the other's past",
    description=(
        "Starts a new agent NAME with the declaration of AGENT. Its worktree begins with the last commit of the\n"
        "other's; what is not committed there stays where it is, and is named. Its conversation begins with the\n"
        "other's, if the program can do that (Claude Code, Codex, pi), else it is a new one, and that is told. AGENT\n"
        "goes on as if nothing had happened. No file declares the new agent: corral up leaves it alone, or starts it\n"
        "again if it does not run, corral down takes it down, corral rm removes it."
    ),
    examples=(
        ("corral fork api api-2", "go on with the same past, beside it"),
        ("corral fork api try-sqlite --prompt 'do it with SQLite instead'", "and say something to it first"),
    ),
    arguments=(
        Argument("AGENT", summary="the agent, as AGENT or TEAM/AGENT", offers=AGENTS),
        Argument("NAME", summary="the name of the new one"),
    ),
    options=(Option("prompt", value="TEXT", summary="what it is told when it is ready"), TEAM),
    run=run,
)
