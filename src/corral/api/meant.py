"""What a request is about in the instance of one person, for the audit trail: found as on a shared server.

There, it is found to be decided about. Here nobody decides, and the request may say little: an agent without its team,
`all`, a directory. The trail is to have what was meant by that, so it is looked for in the same way, among all there
is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request

from corral.api import requests
from corral.api.about import Case
from corral.api.about_table import BODIES, PROCESSES, Table
from corral.api.endpoint import Endpoint
from corral.api.ruling import rows
from corral.api.team_bodies import UpBody
from corral.api.telling import Rows
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.policy import Decision, Question
from corral.ports.policy import NoFacts
from corral.service.authority import Asking, Authority
from corral.service.processes import Processes
from corral.service.resolve import Roster
from corral.service.spec_files import SpecFiles


class Meant:
    """Finds it. `rule` is that of all entries."""

    def __init__(self, roster: Roster, processes: Processes, files: SpecFiles, table: Table, rule: str) -> None:
        self._roster = roster
        self._processes = processes
        self._files = files
        self._finders = table.finders
        self._authority = Authority(_Open(), NoFacts())
        self._decision = Decision(allow=True, rule=rule, reason="")

    async def rows(self, request: Request, endpoint: Endpoint, order: requests.Body | None) -> Rows | None:
        """Each thing that it is about, with the rule; None if that cannot be told, and its handler will say why."""
        verb = endpoint.handler
        finder = self._finders.get(verb)
        if finder is None or (verb in BODIES and order is None):
            return None
        # Who is an agent by its word alone means what its request names, and not itself: so its handler reads it.
        asking = Asking(self._authority, requests.kernels_word(request))
        try:
            place = await place_of(request, self._processes) if verb in PROCESSES else None
            case = Case(
                verb=verb,
                request=request,
                asking=asking,
                seen=self._roster,
                everything=self._roster,
                body=order,
                place=place,
                declares=await declared_by(order, asking, self._files),
            )
            about = finder(case)
        except CorralError:
            return None
        return rows([(on, self._decision) for on in about.on])


async def place_of(
    request: Request,
    processes: Processes,
    teams: Sequence[str] | None = None,
    sees: Callable[[tuple[str, str]], Awaitable[bool]] | None = None,
) -> tuple[str, str] | None:
    """Whose the process of a request is, among `teams` and agents that whoever asks `sees`; None if nobody knows it, or
    the request says so itself.
    """
    if requests.text(request, "agent"):
        return None
    try:
        found = await processes.find(request.path_params["process"], team="", agent="", cwd="", teams=teams, sees=sees)
    except NotFoundError:
        return None
    return found.team, found.agent


async def declared_by(order: object, asking: Asking, files: SpecFiles) -> str:
    """The name of the team that the file in a body declares; empty if it declares none, or there is no file in it."""
    return await files.name(asking.who.user, order.text, order.file) if isinstance(order, UpBody) else ""


class _Open:
    """The policy of an instance whose people are one: see `ports.policy.Policy`."""

    async def decide(self, question: Question) -> Decision:
        return self.known(question)

    def known(self, question: Question) -> Decision:  # noqa: ARG002 - the port's
        return Decision(allow=True, rule="", reason="")

    async def close(self) -> None:
        """It holds nothing."""
