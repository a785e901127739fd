"""Who asks: the process as the kernel sees it, and the agents as the daemon knows them, put together (ADR 26).

What others can rely on: an identity is decided for each request, by what is true at that moment. Whoever is refused is
journalled (`caller.refused`), the same again only after a while.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Collection

from corral.domain import credentials, states
from corral.domain.credentials import Names
from corral.domain.identity import REFUSED, Asked, Holder, Identity, decide, is_login, is_within, place_of_run
from corral.domain.records import Agent, NewEvent, Who
from corral.ports.dialogs import Peer
from corral.ports.peers import Peers
from corral.supervise.registry import Registry

#: A program may speak before it is written down where it is: so long it waits for that.
_PLACED_SECONDS = 10.0
#: The same refusal of the same user is journalled again after so long, and so many are remembered.
_AGAIN_SECONDS, _MOST_REMEMBERED = 10.0, 1000

_Key = tuple[str, str]


class Callers:
    """Tells who callers are. `shared` for the daemon of many people, where nothing is taken at its word."""

    def __init__(
        self,
        registry: Registry,
        peers: Peers,
        *,
        instance: str,
        shared: bool,
        uid_of: Callable[[Agent], int],
        trust_user_units: bool = False,
    ) -> None:
        """`uid_of` is the user that an agent runs as; -1 if there is none of that name.

        With `trust_user_units` what a user's service manager runs is taken for that user.
        """
        self._registry = registry
        self._peers = peers
        self._instance = instance
        self._shared = shared
        self._uid_of = uid_of
        self._trust_user_units = trust_user_units
        #: The cgroups of agents, with their TEAM/AGENT; and by agent the same.
        self._places: dict[str, str] = {}
        self._place_of: dict[_Key, str] = {}
        self._changed = asyncio.Event()
        self._journalled: dict[tuple[int, str], float] = {}
        self._follow(list(registry.agents))
        registry.watch_agents(self._follow)

    async def identify(
        self, uid: int, *, claim: str, credential: str, connection: socket.socket, peer: Peer
    ) -> Identity:
        """Who asks. `claim` is the TEAM/AGENT that it says it is, `credential` what it shows; both may be empty."""
        names = credentials.names_in(credential) if credential else None
        team, _, agent = claim.partition("/")
        is_known = not claim or (team, agent) in self._registry.agents
        asked = Asked(uid=uid, claim=claim, is_known=is_known, shows=bool(credential), names=names)
        holder = None
        if names is not None and names.instance == self._instance:
            await self._placed(names, credential)
            holder = self._holder(names, credential)
        lineage: list[str] | None = None
        if self._shared or holder is not None:
            lineage = self._look(connection, peer, uid, holder)
        return decide(
            asked,
            holder,
            lineage,
            self._places,
            instance=self._instance,
            shared=self._shared,
            trust_user_units=self._trust_user_units,
        )

    def _look(self, connection: socket.socket, peer: Peer, uid: int, holder: Holder | None) -> list[str] | None:
        """As much of the lineage as it takes: few have to be followed further than to where they are."""
        cgroup = self._peers.cgroup(connection, peer)
        if cgroup is None:
            return None
        if holder is not None and holder.cgroup and is_within(cgroup, holder.cgroup):
            return [cgroup]
        if holder is None and is_login(cgroup, uid):
            return [cgroup]
        return self._peers.lineage(connection, peer)

    def _holder(self, names: Names, credential: str) -> Holder | None:
        agent = self._registry.agents.get((names.team, names.agent))
        if agent is None:
            return None
        return Holder(
            fits=agent.run == names.run and credentials.fits(credential, agent.credential),
            live=agent.state in states.LIVE,
            uid=self._uid_of(agent),
            cgroup=self._place_of.get(agent.key, ""),
        )

    async def _placed(self, names: Names, credential: str) -> None:
        """Wait, if need be, until it is known where a run is that has just been started."""
        if not self._shared:
            return
        try:
            async with asyncio.timeout(_PLACED_SECONDS):
                while self._is_being_placed(names, credential):
                    await self._changed.wait()
        except TimeoutError:
            return  # it is decided with what is known

    def _is_being_placed(self, names: Names, credential: str) -> bool:
        agent = self._registry.agents.get((names.team, names.agent))
        if agent is None or agent.state != states.STARTING or agent.cgroup or agent.run != names.run:
            return False
        return credentials.fits(credential, agent.credential)

    def _follow(self, keys: Collection[_Key]) -> None:
        for key in keys:
            agent = self._registry.agents.get(key)
            place = ""
            if agent is not None and agent.cgroup:
                place = place_of_run(agent.cgroup, self._uid_of(agent), shared=self._shared)
            before = self._place_of.pop(key, "")
            if before and self._places.get(before) == "/".join(key):
                del self._places[before]
            if place:
                self._places[place] = "/".join(key)
                self._place_of[key] = place
        self._changed.set()
        self._changed = asyncio.Event()

    def refused(self, who: Who, identity: Identity, verb: str, pid: int, address: str = "") -> None:
        """Take down that somebody was not listened to. Over TCP they have an address, and no pid."""
        self._take_down(who, identity, verb, pid, address)

    def hung_up(self, who: Who, why: str, pid: int, address: str = "") -> None:
        """Take down that somebody was hung up on before it had asked for anything."""
        self._take_down(who, Identity(kind=REFUSED, why=why), "", pid, address)

    def _take_down(self, who: Who, identity: Identity, verb: str, pid: int, address: str) -> None:
        # Not by address: of those somebody has as many as they like.
        now, about = time.monotonic(), (who.uid, identity.why)
        if now - self._journalled.get(about, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
            return
        if len(self._journalled) >= _MOST_REMEMBERED:
            self._journalled.clear()
        self._journalled[about] = now
        team, _, agent = identity.agent.partition("/")
        data: dict[str, object] = {
            "verb": verb,
            "why": identity.why,
            "pid": pid,
            **({"from": address} if address else {}),
        }
        self._registry.note(who, NewEvent(event="caller.refused", team=team, agent=agent, outcome="refused", data=data))
