"""`corral down`: take a team away, and show the proof."""

import os

from corral.cli import receipt
from corral.cli.command import FILES, SECONDS, TEAM, Command, Invocation, Option
from corral.cli.output import write_json
from corral.cli.progress import Progress, result_of
from corral.cli.specfile import chosen, team_of
from corral.cli.targets import here, nearest
from corral.client.absence import error_of_absence, how_to_start
from corral.client.answers import Record, records_of_present_daemon
from corral.client.wire import DaemonAbsentError
from corral.domain.errors import CorralError, NotFoundError, ResidueError, UnavailableError, WrongUseError
from corral.places import Places


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
        request["file"] = chosen(file)
    elif (found := nearest()) is not None:
        request["file"] = found
    result = _take_down(invocation, request)
    if invocation.json:
        write_json(result)
    else:
        receipt.show(result)
    unwritten = result.get("written") is False
    make_room = "make room on the disk of CORRAL_HOME, then run it again: corral ps lists the team until then"
    if result.get("clean") is not True:
        raise ResidueError(
            f"{result.get('team')}: something was left behind: {receipt.residue_in_short(result)}",
            make_room if unwritten else "end or remove what is named, then run corral down again",
        )
    if unwritten:
        raise CorralError(f"{result.get('team')} is down, but that could not be written down", make_room)
    return 0


def _take_down(invocation: Invocation, request: Record) -> Record:
    places = invocation.places
    progress = Progress(silent=invocation.json)

    def ask(**more: str) -> Record:
        return result_of(records_of_present_daemon(places, "POST", "/v1/down", {**request, **more}), progress)

    try:
        try:
            return ask()
        except NotFoundError:
            # Of a team at rest there may be kept worktrees. Only its name leads to them, and the file has it.
            name = "" if "team" in request else _left_worktrees(places, request)
            if not name:
                raise
            return ask(team=name)
    except DaemonAbsentError:
        absence, name = error_of_absence(places), _left_worktrees(places, request)
        if name and isinstance(absence, NotFoundError):
            raise UnavailableError(
                f"{name} is down, with worktrees kept, and no daemon runs that could remove them",
                f"{how_to_start(places)}, then run it again",
            ) from None
        raise absence from None


def _left_worktrees(places: Places, request: Record) -> str:
    """The name of the team that is meant, if there are worktrees of it; else empty."""
    name = str(request.get("team") or team_of(str(request.get("file", ""))))
    return name if name and os.path.isdir(os.path.dirname(places.worktree(name, "any"))) else ""


COMMAND = Command(
    "down",
    "take a team down and prove that nothing is left",
    description=(
        "Stops every agent of the team, its terminals and all processes they started, removes its worktrees, and\n"
        "then counts what is left: the receipt. Without -t or -f it is your team of this directory; elsewhere none is\n"
        "guessed. A workspace with work that is nowhere else (changed or untracked files, commits that are not\n"
        "pushed or merged) stays and is named, unless --discard says otherwise. A team that is down already can be\n"
        "named again, to remove what it kept. Exit code 5 if anything is left behind."
    ),
    examples=(
        ("corral down", "take down the team of this directory"),
        ("corral down -t shop", "take down a team by its name, from anywhere"),
        ("corral down -t shop --discard", "throw away kept work as well, also of a team that is down already"),
        ("corral down --grace 30s", "give the agents half a minute to end by themselves"),
        ("corral down --json", "the receipt for programs"),
    ),
    options=(
        Option("file", "f", value="FILE", summary="the file that declares the team", offers=FILES),
        TEAM,
        Option(
            "grace",
            value="S",
            kind=SECONDS,
            summary="how long agents may take to end by themselves: 500ms, 30s, 1m (default 5s)",
        ),
        Option("discard", summary="remove workspaces also if work in them would be lost"),
    ),
    run=run,
)
