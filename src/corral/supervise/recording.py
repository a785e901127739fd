"""Telling keepers what is recorded and what is masked: each once, and again when the settings or the keeper change."""

from __future__ import annotations

from corral.domain.recording import RecordingTerms
from corral.domain.spec_fingerprint import declared_variables
from corral.ports.casts import RecordingOrder
from corral.ports.keeper import Keeper
from corral.supervise.registry import Registry

_SUBJECT = "recording"
_OVERRULED = "terminals are recorded as this host requires, and not as [recording] in its file says"


class RecordingOrders:
    """What was told to whom."""

    def __init__(self, registry: Registry, terms: RecordingTerms) -> None:
        """`terms` are those of the instance."""
        self._registry = registry
        self._terms = terms
        #: By team and by whose keeper it is.
        self._told: dict[tuple[str, str], tuple[Keeper, RecordingOrder]] = {}

    async def tell(self, keeper: Keeper, team: str, user: str = "", *, is_new: bool = False) -> None:
        """Have the keeper of a user record what the team's file says. One that was told so is not asked again.

        With `is_new` it is a team of which no keeper can have been told anything yet.
        """
        order = self._order(team)
        told = self._told.get((team, user))
        if order is None or (told is not None and told[0] is keeper and told[1] == order):
            return
        if is_new and told is None and not order.on and not order.masked:
            return  # nobody ever said anything else
        await keeper.record(team, order)
        self._told[team, user] = (keeper, order)

    def _order(self, team: str) -> RecordingOrder | None:
        declared = self._registry.teams.get(team)
        if declared is None:
            self._told = {about: told for about, told in self._told.items() if about[0] != team}
            return None
        settings = self._terms.of(declared.recording)
        overruled = self._terms.overrules(declared.recording)
        self._registry.set_notice((team, ""), _SUBJECT, _OVERRULED if overruled else "")
        # What the file gives an agent in its environment is the agent's business, and in no recording and no log.
        names = {agent.name: declared_variables(agent.fingerprint) for agent in self._registry.of_team(team).values()}
        # What is switched off keeps its age: what there is from before is thrown away in time all the same.
        return RecordingOrder(
            on=settings.on,
            keep=settings.keep,
            max_size=settings.max_size,
            masked={agent: sorted(found) for agent, found in names.items() if found},
        )
