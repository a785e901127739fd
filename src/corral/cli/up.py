"""`corral up`: make the team what its `corral.toml` declares."""

import os

from corral.cli import plan
from corral.cli.command import DECLARED, FILES, SECONDS, Argument, Command, Invocation, Option
from corral.cli.output import is_utf8, remark, say, write_json
from corral.cli.progress import Progress, entries, result_of
from corral.cli.specfile import chosen, read
from corral.client.absence import error_of_absence, nothing_is_up
from corral.client.answers import Record, records_of_present_daemon
from corral.client.wire import DaemonAbsentError, speak_for
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from corral.domain.spec import AgentSpec, TeamSpec

#: Who asks if it is no person, and no agent (whose names are TEAM/AGENT).
_SERVICE = "service"


def run(invocation: Invocation) -> int:
    places = invocation.places
    if invocation.flag("service"):
        speak_for(_SERVICE)
    if invocation.flag("all"):
        from corral.cli import up_all

        return up_all.run(
            invocation, lambda file: _ask(places, _request(invocation, file, read(file))), _raise_failures
        )
    file = chosen(invocation.text("file"))
    text = read(file)
    if invocation.flag("names"):
        return _say_names(text, file)
    agents = invocation.words("AGENT")
    dry_run = invocation.flag("dry-run")
    request = _request(invocation, file, text)
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
        if places.of_host:
            from corral.cli.beside import remark_on_own_instance

            remark_on_own_instance(places)
    _raise_failures(result)
    if invocation.number("wait") is not None and not dry_run:
        _raise_pending(result)
    return 0


def _say_names(text: str, file: str) -> int:
    """What may be named on the command line: each table, and where it makes several agents, each of these."""
    from corral.domain.spec import parse

    names = dict.fromkeys(name for agent in parse(text, file).agents for name in (agent.declared_as, agent.name))
    for name in names:
        say(name)
    return 0


def _environment(*, quiet: bool) -> dict[str, str]:
    """The caller's variables. JSON cannot carry one that is no UTF-8: it is left out, and that is said."""
    kept = {name: value for name, value in os.environ.items() if is_utf8(name) and is_utf8(value)}
    left_out = sorted(os.environ.keys() - kept.keys())
    if left_out and not quiet:
        remark(f"not passed on to agents, because it is not UTF-8: {', '.join(left_out)}")
    return kept


def _ask(places: Places, request: Record) -> "Iterator[Record]":
    return records_of_present_daemon(places, "POST", "/v1/up", request)


def _check(text: str, file: str, wanted: list[str]) -> "tuple[TeamSpec, list[AgentSpec]]":
    """The team and the agents that `wanted` means; what is wrong with the file or the words is raised."""
    from corral.domain.spec import parse

    spec = parse(text, file)
    for word in wanted:
        if not any(word in (agent.name, agent.declared_as) for agent in spec.agents):
            from corral.cli.suggest import did_you_mean

            known = [agent.name for agent in spec.agents]
            raise NotFoundError(
                f"{file} declares no agent {word!r}", did_you_mean(word, known) or f"it declares {', '.join(known)}"
            )
    return spec, [agent for agent in spec.agents if not wanted or agent.name in wanted or agent.declared_as in wanted]


def _plan_without_daemon(places: Places, text: str, file: str, wanted: list[str]) -> Record:
    """With nothing up, everything would be started; a dry run need not start a daemon to know that."""
    team, chosen_agents = _check(text, file, wanted)
    if not nothing_is_up(places):
        raise error_of_absence(places)
    notes: list[str] = []
    if team.repo is not None:
        from corral.domain.repository import check
        from corral.repository import look

        notes = check(team, chosen_agents, look(team.repo))
    agents = [
        {"agent": agent.name, "action": "start", "differs": [], "state": "pending", "detail": "", "remedy": ""}
        for agent in chosen_agents
    ]
    return {"team": team.name, "dry_run": True, "changed": bool(agents), "agents": agents, "notes": notes}


def _raise_failures(result: Record) -> None:
    failed = [agent for agent in entries(result, "agents") if agent.get("action") == "failed"]
    if failed:
        name = failed[0].get("agent")
        what = f"{name} did not start" if len(failed) == 1 else f"{len(failed)} agents did not start"
        # Without a remedy of its own it ran, and what it said tells more than we can.
        remedy = str(failed[0].get("remedy") or f"corral logs {name} shows its last words")
        raise CorralError(f"{result.get('team')}: {what}", remedy)


def _raise_pending(result: Record) -> None:
    pending = [agent for agent in entries(result, "agents") if agent.get("action") == "pending"]
    if pending:
        name, why = pending[0].get("agent"), str(pending[0].get("detail") or "")
        what = f"{name} is" if len(pending) == 1 else f"{len(pending)} agents are"
        raise RefusedError(
            f"{result.get('team')}: {what} still pending: {why}", "they start by themselves when they can; corral ps"
        )


def _request(invocation: Invocation, file: str, text: str) -> Record:
    return {
        "file": file,
        "text": text,
        "agents": invocation.words("AGENT"),
        "restart_changed": invocation.flag("restart-changed"),
        "dry_run": invocation.flag("dry-run"),
        "wait": invocation.number("wait"),
        "environment": _environment(quiet=invocation.json),
    }


COMMAND = Command(
    "up",
    "start the team of a corral.toml, or what is missing of it",
    description=(
        "Makes the team what the file declares: starts what is missing, leaves alone what is as declared, and\n"
        "says what differs. Run it as often as you like. What has to wait, for another agent, for a place or for\n"
        "memory, is pending and starts by itself later; it is named with the reason. The file is the corral.toml\n"
        "of this directory or of the nearest one above. A file with a mistake starts nothing. Starts the daemon\n"
        "if it does not run yet."
    ),
    examples=(
        ("corral up", "start the team of this directory"),
        ("corral up --dry-run", "only say what would be done"),
        ("corral up builder", "only the agents of [agents.builder]"),
        ("corral up --restart-changed", "also restart agents whose declaration has changed"),
        ("corral up --wait 2m", "also wait for agents that start after others"),
        ("corral up -f teams/shop.toml", "a file of another name"),
        ("corral up --all", "after a reboot: bring back every team that was up"),
    ),
    arguments=(
        Argument(
            "AGENT",
            summary="only these agents of the file: builder-1, or builder for all of [agents.builder]",
            required=False,
            repeated=True,
            offers=DECLARED,
        ),
    ),
    options=(
        Option("file", "f", value="FILE", summary="the file that declares the team", offers=FILES),
        Option("all", "a", summary="every team that is up, or was when the host went down"),
        Option("restart-changed", summary="restart agents that run otherwise than the file declares"),
        Option(
            "wait",
            value="S",
            kind=SECONDS,
            summary="wait so long for agents that are pending; exit 4 if some still are",
        ),
        Option(
            "service",
            summary="no person asks, as at boot: what Corral had stopped, or paused for want of people, stays so",
        ),
        Option("dry-run", summary="print the plan and change nothing"),
        Option("names", summary="names of the agents in the file only, for completion", hidden=True),
    ),
    run=run,
)
