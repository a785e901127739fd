"""What only people may do: an agent that answers for a person would give itself every permission."""

from __future__ import annotations

from corral.domain.errors import RefusedError
from corral.domain.records import Who
from corral.ports.dialogs import Peer
from corral.service.reaching import soon
from corral.supervise.supervisor import Supervisor


async def must_be_a_person(supervisor: Supervisor, who: Who, peer: Peer, *, what: str, remedy: str) -> None:
    """Raise `RefusedError` for whoever says that it is an agent, and for a process that is one, or of Corral's own.

    In doubt it is no person. `what` is for people, and `remedy` is what helps whoever is not taken for one.
    """
    if who.uid == 0 and not who.agent and supervisor.keepers.shared:
        # Root has no keeper, and none could see root's processes. That this one is in no agent, also behind sudo, the
        # daemon of a shared server has seen by itself before (`Callers.identify`).
        return
    asked = f"from within {who.agent}"
    if not who.agent:
        # Of the caller's own processes the caller's keeper can see most.
        asked = await (await soon(supervisor.keepers.of_user(who.user))).no_person(peer)
    if asked:
        raise RefusedError(f"{what} is for people, and this was asked {asked}", remedy)
