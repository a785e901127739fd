"""`corral down`: take a team away, and show the proof."""

from corral.cli import receipt
from corral.cli.command import FILES, SECONDS, TEAM, Command, Invocation, Option
from corral.cli.output import write_json
from corral.cli.progress import Progress, result_of
from corral.cli.specfile import nearest
from corral.cli.targets import absolute, here
from corral.client.answers import Record, records
from corral.domain.errors import ResidueError, WrongUseError


def run(invocation: Invocation) -> int:
    team, file = invocation.text("team"), invocation.text("file")
    if team is not None and file is not None:
        raise WrongUseError("--team and --file both name the team", "give one of them")
    request: Record = {
        "cwd": here(),
        "grace": invocation.number("grace"),
        "discard": invocation.flag("discard"),
    }
    if team is not None:
        request["team"] = team
    elif file is not None:
        request["file"] = absolute(file)
    elif (found := nearest()) is not None:
        request["file"] = found
    progress = Progress(silent=invocation.json)
    result = result_of(records(invocation.places, "POST", "/v1/down", request), progress)
    if invocation.json:
        write_json(result)
    else:
        receipt.show(result)
    if result.get("clean") is not True:
        raise ResidueError(
            f"{result.get('team')}: something was left behind: {receipt.residue_in_short(result)}",
            "end or remove what is named, then run corral down again",
        )
    return 0


COMMAND = Command(
    "down",
    "take a team down and prove that nothing is left",
    description=(
        "Stops every agent of the team, its terminals and all processes they started, removes its worktrees, and\n"
        "then counts what is left: the receipt. Without -t or -f it is the team of this directory. A workspace\n"
        "with work that is nowhere else (changed or untracked files, commits that are not pushed or merged) stays\n"
        "and is named, unless --discard says otherwise. Exit code 5 if anything is left behind."
    ),
    examples=(
        ("corral down", "take down the team of this directory"),
        ("corral down -t shop", "take down a team by its name, from anywhere"),
        ("corral down --grace 30s", "give the agents half a minute to end by themselves"),
        ("corral down --json", "the receipt for programs"),
    ),
    options=(
        Option("file", "f", value="FILE", summary="the file that declares the team", offers=FILES),
        TEAM,
        Option("grace", value="S", kind=SECONDS, summary="how long agents may take to end by themselves"),
        Option("discard", summary="remove workspaces also if work in them would be lost"),
    ),
    run=run,
)
