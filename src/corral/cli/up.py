"""`corral up`: make the team what its `corral.toml` declares."""

import os
from collections.abc import Iterator

from corral.cli import plan
from corral.cli.command import FILES, Argument, Command, Invocation, Option
from corral.cli.output import is_utf8, remark, write_json
from corral.cli.progress import Progress, entries, result_of
from corral.cli.specfile import chosen, read
from corral.client.absence import error_of_absence, nothing_is_up
from corral.client.answers import Record, records_of_present_daemon
from corral.client.wire import DaemonAbsentError
from corral.domain.errors import CorralError, NotFoundError
from corral.places import Places


def run(invocation: Invocation) -> int:
    places = invocation.places
    file = chosen(invocation.text("file"))
    text = read(file)
    agents = invocation.words("AGENT")
    dry_run = invocation.flag("dry-run")
    request: Record = {
        "file": file,
        "text": text,
        "agents": agents,
        "restart_changed": invocation.flag("restart-changed"),
        "dry_run": dry_run,
        "environment": _environment(quiet=invocation.json),
    }
    progress = Progress(silent=invocation.json)
    try:
        result = result_of(_ask(places, request), progress)
    except DaemonAbsentError:
        # A file that cannot be must start nothing, not even a daemon.
        if dry_run:
            result = _plan_without_daemon(places, text, file, agents)
        else:
            _check(text, file, agents)
            with progress:
                progress.note("starting the daemon")
                from corral.client.start import ensure_daemon

                ensure_daemon(places)
            try:
                result = result_of(_ask(places, request), progress)
            except DaemonAbsentError:
                raise error_of_absence(places) from None
    if invocation.json:
        write_json(result)
    else:
        plan.show(result)
    _raise_failures(result)
    return 0


def _environment(*, quiet: bool) -> dict[str, str]:
    """The caller's variables. JSON cannot carry one that is no UTF-8: it is left out, and that is said."""
    kept = {name: value for name, value in os.environ.items() if is_utf8(name) and is_utf8(value)}
    left_out = sorted(os.environ.keys() - kept.keys())
    if left_out and not quiet:
        remark(f"not passed on to agents, because it is not UTF-8: {', '.join(left_out)}")
    return kept


def _ask(places: Places, request: Record) -> Iterator[Record]:
    return records_of_present_daemon(places, "POST", "/v1/up", request)


def _check(text: str, file: str, wanted: list[str]) -> tuple[str, list[str]]:
    """The team's name and the agents that `wanted` means; what is wrong with the file or the words is raised."""
    from corral.domain.spec import parse

    spec = parse(text, file)
    for word in wanted:
        if not any(word in (agent.name, agent.declared_as) for agent in spec.agents):
            from corral.cli.suggest import did_you_mean

            known = [agent.name for agent in spec.agents]
            raise NotFoundError(
                f"{file} declares no agent {word!r}", did_you_mean(word, known) or f"it declares {', '.join(known)}"
            )
    return spec.name, [
        agent.name for agent in spec.agents if not wanted or agent.name in wanted or agent.declared_as in wanted
    ]


def _plan_without_daemon(places: Places, text: str, file: str, wanted: list[str]) -> Record:
    """With nothing up, everything would be started; a dry run need not start a daemon to know that."""
    team, names = _check(text, file, wanted)
    if not nothing_is_up(places):
        raise error_of_absence(places)
    agents = [{"agent": name, "action": "start", "differs": [], "state": "pending", "detail": ""} for name in names]
    return {"team": team, "dry_run": True, "changed": bool(agents), "agents": agents}


def _raise_failures(result: Record) -> None:
    failed = [str(agent.get("agent")) for agent in entries(result, "agents") if agent.get("action") == "failed"]
    if failed:
        what = f"{failed[0]} did not start" if len(failed) == 1 else f"{len(failed)} agents did not start"
        raise CorralError(f"{result.get('team')}: {what}", f"corral logs {failed[0]} shows its last words")


COMMAND = Command(
    "up",
    "start the team of a corral.toml, or what is missing of it",
    description=(
        "Makes the team what the file declares: starts what is missing, leaves alone what is as declared, and\n"
        "says what differs. Run it as often as you like. The file is the corral.toml of this directory or of the\n"
        "nearest one above. A file with a mistake starts nothing. Starts the daemon if it does not run yet."
    ),
    examples=(
        ("corral up", "start the team of this directory"),
        ("corral up --dry-run", "only say what would be done"),
        ("corral up builder", "only the agents of [agents.builder]"),
        ("corral up --restart-changed", "also restart agents whose declaration has changed"),
        ("corral up -f teams/shop.toml", "a file of another name"),
    ),
    arguments=(
        Argument(
            "AGENT",
            summary="only these agents of the file: builder-1, or builder for all of [agents.builder]",
            required=False,
            repeated=True,
        ),
    ),
    options=(
        Option("file", "f", value="FILE", summary="the file that declares the team", offers=FILES),
        Option("restart-changed", summary="restart agents that run otherwise than the file declares"),
        Option("dry-run", summary="print the plan and change nothing"),
    ),
    run=run,
)
