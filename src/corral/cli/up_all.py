"""`corral up --all`: every team that is up, or was when the host went down, as its file declares it now."""

import os
from collections.abc import Callable, Iterator

from corral.cli import plan
from corral.cli.command import Invocation
from corral.cli.output import remark, write_json
from corral.cli.progress import Progress, entries, result_of
from corral.client.absence import nothing_is_up
from corral.client.answers import Record, ask
from corral.domain.errors import CorralError, WrongUseError
from corral.peer import user_name
from corral.places import Places

#: Ask the daemon for one team: (file) → what `up` answers.
Ask = Callable[[str], Iterator[Record]]


def run(invocation: Invocation, ask_for: Ask, check: Callable[[Record], None]) -> int:
    """Bring each of them up. One that cannot be keeps no other from it; the first error is the command's."""
    if invocation.words("AGENT") or invocation.text("file"):
        raise WrongUseError("--all means every team with all its agents", "leave the names and --file out, or --all")
    results: list[Record] = []
    errors: list[CorralError] = []
    for file in _files(invocation.places):
        try:
            result = result_of(ask_for(file), Progress(silent=invocation.json))
            results.append(result)
            if not invocation.json:
                plan.show(result)
            check(result)
        except CorralError as error:
            if errors and not invocation.json:
                remark(f"{file}: {error.message}")
            errors.append(error)
    if invocation.json:
        write_json(results)
    elif not results and not errors:
        remark("no team was up")
    if errors:
        raise errors[0]
    return 0


def _files(places: Places) -> list[str]:
    """The files of the teams that the store knows. With nothing to bring back, no daemon is started.

    On a shared server those of the caller's own: what others have there, they have brought up.
    """
    if nothing_is_up(places):
        return []
    from corral.client.start import ensure_daemon

    ensure_daemon(places)
    teams = entries(ask(places, "GET", "/v1/teams"), "teams")
    own = ("", user_name(os.getuid())) if places.of_host else ("",)
    return [str(team["file"]) for team in teams if team.get("user", "") in own]
