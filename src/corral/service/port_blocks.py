"""The use cases around ports: a block for every agent, a port for a name, and who listens on what."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import msgspec

from corral.domain import shares
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.domain.port_blocks import AgentKey, Block, Blocks, Pool, check_name, weight_of
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Who
from corral.ports.resources import HostPorts, Listening
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.ledger import Ledger
from corral.service.lists import ask_each
from corral.service.reaching import keeper_soon

log = logging.getLogger("corral.daemon")

_KIND = "ports"
#: For a team that has used up the usual one.
_LARGER_RANGE = "10000-32767"
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class PortUse:
    """A port that an agent has, that it listens on, or both; or that it has, and that somebody else listens on."""

    port: int
    #: None if it is nobody's of these teams who listens.
    team: str | None
    agent: str | None
    #: The name that it has in the agent's block; None for `PORT` itself, and where it has none.
    name: str | None
    listening: bool
    pid: int | None
    command: str
    #: It is in the agent's own block.
    leased: bool
    #: The team and the agent that are to be asked about before its command line is told: that of the process; for a
    #: stranger's, whose block the port is in.
    concerns: AgentKey
    #: Why it is not known who listens; empty if it is.
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Uses:
    """The ports of some agents."""

    ports: Sequence[PortUse]
    #: By team, why it is not known who listens.
    unknown: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Survey:
    """What was seen of the host's ports at one moment."""

    #: What the kernel gives to outgoing connections.
    ephemeral: tuple[int, int]
    #: The ports that were looked at, and those of them that somebody has.
    seen: frozenset[int] = frozenset()
    taken: frozenset[int] = frozenset()


class PortBlocks:
    """The use cases. What is decided is decided and written by one at a time, and told when it is on the disk."""

    def __init__(self, context: Context, ledger: Ledger) -> None:
        self._store = context.store
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._ledger = ledger
        self._blocks = Blocks()
        self._deciding = asyncio.Lock()
        #: What the kernel gave to outgoing connections when it was looked at last.
        self._ephemeral = (0, 0)
        ledger.keep(self._read)

    async def _read(self) -> Callable[[], None]:
        found = {
            _agent_key(item.key): msgspec.msgpack.decode(item.value, type=Block)
            for item in await self._store.items(_KIND)
        }

        def put() -> None:
            self._blocks = Blocks(found)

        return put

    async def settle(self) -> None:
        """Free the blocks of agents that are not there any more: a daemon may die before it gets to that."""
        gone = [key for key in self._blocks.owners() if key not in self._registry.agents]
        if gone:
            await self._free(SUPERVISOR, gone)

    # Blocks

    async def survey(self, team: str, pool: Pool, agents: Collection[str]) -> Survey:
        """Look at the ports that these agents would be given now, ahead of `allocate`. Decides nothing."""
        missing = sum(self._blocks.get((team, agent)) is None for agent in agents)
        # What the kernel gives to others hardly ever changes: taken to be as it was, and asked for with the rest.
        known = self._ephemeral
        survey = await self._surveyed(team, pool, list(islice(self._candidates(pool, known), missing)))
        if survey.ephemeral == known:
            return survey
        return await self._more(survey, team, pool, list(islice(self._candidates(pool, survey.ephemeral), missing)))

    async def allocate(
        self,
        who: Who,
        team: str,
        pool: Pool,
        wanted: Mapping[str, Sequence[str]],
        survey: Survey | None = None,
        *,
        user: str,
    ) -> dict[str, Block]:
        """A block for each agent (agent → the names that it declares), on the disk when this returns, in one write.

        An agent that has a block keeps it, if it is still what the file asks for. Nobody listened on a port of a new
        one at the time, which is that of the `survey` for what was seen there. Agents that nothing is left for are not
        in the answer: `nothing_left` says why. They count in the share of the person whose OS user is `user`, whose
        team it is. What is wanted must not be running.
        """
        person = self._ledger.shares.person_of(user)
        if survey is None:
            survey = await self._surveyed(team, pool, [])
        while True:
            # No keeper is waited for under the lock: it is everybody's, and a keeper may never answer.
            async with self._deciding:
                unseen = await self._allocated(who, team, pool, wanted, survey, person)
                if not isinstance(unseen, list):
                    return unseen
            survey = await self._more(survey, team, pool, unseen)

    def nothing_left(self, user: str, pool: Pool) -> RefusedError:
        """Why there is no block of this pool for one more agent of a team of this OS user."""
        person = self._ledger.shares.person_of(user)
        has = self._blocks.weight(person)
        if person and has + weight_of(pool.block) > shares.PORTS:
            return shares.no_ports_left(person, has, pool.block)
        return RefusedError(
            f"no block of {pool.block} ports is left in {pool.shown}",
            f'a larger range below [ports] helps, such as range = "{_LARGER_RANGE}", or a smaller block; corral port '
            "ls shows who has ports",
        )

    async def _allocated(
        self,
        who: Who,
        team: str,
        pool: Pool,
        wanted: Mapping[str, Sequence[str]],
        survey: Survey,
        person: str,
    ) -> dict[str, Block] | list[int]:
        """The blocks, if the survey has all that they depend on. Else slots that have to be looked at before."""
        known = {agent: self._blocks.get((team, agent)) for agent in wanted}
        kept = {
            agent: block
            for agent, block in known.items()
            if block is not None and block.suits(pool, survey.ephemeral, wanted[agent])
        }
        missing = [agent for agent in wanted if agent not in kept]
        if person:
            missing = missing[: self._affordable(person, pool, [known[agent] for agent in missing])]
        firsts, unseen = self._free_slots(pool, survey, len(missing))
        if unseen:
            return unseen
        fresh = {agent: Block(first, pool.block) for agent, first in zip(missing, firsts, strict=False)}
        given = {
            agent: replace(block.with_names(wanted[agent]), person=person) for agent, block in {**kept, **fresh}.items()
        }
        changed = {(team, agent): block for agent, block in given.items() if block != known[agent]}
        outgrown = [(team, agent) for agent in fresh if known[agent] is not None]
        freed = [_event("port.freed", key, block) for key in outgrown if (block := self._blocks.drop(key))]
        for key, block in changed.items():
            self._blocks.put(key, block)
        if changed:
            await self._write(who, changed, [*freed, *(_allocated(key, block) for key, block in changed.items())])
        return given

    def _affordable(self, person: str, pool: Pool, outgrown: Sequence[Block | None]) -> int:
        """How many blocks fit into what is left of the person's share, each in the place of one that is outgrown."""
        left = shares.PORTS - self._blocks.weight(person)
        for count, old in enumerate(outgrown):
            left -= weight_of(pool.block)
            if old is not None and old.person == person:
                left += old.weight
            if left < 0:
                return count
        return len(outgrown)

    def _free_slots(self, pool: Pool, survey: Survey, count: int) -> tuple[list[int], list[int]]:
        """The first ports of so many slots that nobody has and nobody listens in, or fewer if there are no more; and
        of those that would be next, and were not looked at.

        To these come as many as somebody listens in: with each look there are twice as many, so there are few looks
        also where hardly anything is left, or a keeper says so.
        """
        found: list[int] = []
        unseen: list[int] = []
        busy = 0
        for first in self._candidates(pool, survey.ephemeral):
            if len(found) + len(unseen) >= count + (busy if unseen else 0):
                break
            ports = range(first, first + pool.block)
            if not survey.seen.issuperset(ports):
                unseen.append(first)
            elif survey.taken.isdisjoint(ports):
                found.append(first)
            else:
                busy += 1
        return found, unseen

    def _candidates(self, pool: Pool, ephemeral: tuple[int, int]) -> Iterator[int]:
        # Another instance on this host begins elsewhere, so that two that come up at once do not reach for the same.
        return self._blocks.candidates(pool, ephemeral, seed=zlib.crc32(self._store.instance.encode()))

    async def _surveyed(self, team: str, pool: Pool, firsts: Sequence[int]) -> Survey:
        ports = _ports_of(firsts, pool)
        seen = await self._look(team, ports)
        self._ephemeral = seen.ephemeral
        return Survey(seen.ephemeral, frozenset(ports), frozenset(seen.taken))

    async def _more(self, survey: Survey, team: str, pool: Pool, firsts: Sequence[int]) -> Survey:
        """The survey, with these slots looked at as well.

        What the kernel gives to outgoing connections stays as it was told first: a keeper that said something else each
        time would be asked for ever.
        """
        more = await self._surveyed(team, pool, firsts)
        return Survey(survey.ephemeral, survey.seen | more.seen, (survey.taken - more.seen) | more.taken)

    async def free(self, who: Who, team: str, agents: Collection[str] | None = None) -> list[AgentKey]:
        """Take the blocks of these agents away, or of all of a team. Those that are left: the store could not be
        written, and they go with the next daemon, or the next time that this is tried.
        """
        owners = self._blocks.owners(team, agents)
        if owners:
            await self._free(who, owners)
        return self._blocks.owners(team, agents)

    async def _free(self, who: Who, keys: Iterable[AgentKey]) -> None:
        async with self._deciding:
            dropped = {key: block for key in keys if (block := self._blocks.drop(key)) is not None}
            try:
                events = [_event("port.freed", key, block) for key, block in dropped.items()]
                await self._write(who, dict.fromkeys(dropped), events)
            except CorralError as error:
                log.error("ports of %s are not freed: %s", ", ".join("/".join(key) for key in dropped), error.message)

    # Ports

    async def port(self, who: Who, agent: Agent, name: str) -> int:
        """The port of that name in the agent's block, always the same; without a name its first, which is `PORT`.

        A new name gets the next port that nobody listens on; `RefusedError` if there is none.
        """
        if name:
            check_name(name)
        looked_at: list[int] | None = None
        taken: frozenset[int] = frozenset()
        while True:
            # As in `allocate`, no keeper is waited for under the lock. The block may be another when it is held again.
            async with self._deciding:
                block = self._block(agent)
                if not name:
                    return block.first
                if name in block.names:
                    return block.names[name]
                if looked_at is not None and set(looked_at).issuperset(block.nameless):
                    return await self._named(who, agent, block, name, taken)
                looked_at = block.nameless
            taken = frozenset((await self._look(agent.team, looked_at)).taken)

    async def _named(self, who: Who, agent: Agent, block: Block, name: str, taken: frozenset[int]) -> int:
        """The port that the name has from now on."""
        block = block.with_names([name], taken=taken)
        self._blocks.put(agent.key, block)
        data: dict[str, object] = {"name": name, "port": block.names[name]}
        event = NewEvent(event="port.allocated", team=agent.team, agent=agent.name, data=data)
        await self._write(who, {agent.key: block}, [event])
        return block.names[name]

    def names_of(self, agent: Agent) -> Sequence[str]:
        """The names that ports of the agent have."""
        block = self._blocks.get(agent.key)
        return list(block.names) if block is not None else []

    def _block(self, agent: Agent) -> Block:
        block = self._blocks.get(agent.key)
        if block is None:
            raise NotFoundError(
                f"{agent.team}/{agent.name} has no ports: it was started by a version that gave it none, or there were "
                "none left",
                f"corral stop {agent.team}/{agent.name}, then corral up: it gets them when it is started",
            )
        return block

    # Looking

    async def uses(self, agents: Sequence[Agent], *, named: bool = True) -> Uses:
        """The ports of these agents, by team, agent and port: those that are theirs, and those that they listen on.

        `named`: just they are meant, and a keeper that does not answer is raised.
        """
        teams: dict[str, list[Agent]] = {}
        for agent in agents:
            teams.setdefault(agent.team, []).append(agent)
        # All of their blocks, for a stranger may listen where no name has been asked for yet.
        leased = {team: self._all_ports(members) for team, members in teams.items()}
        asked = await ask_each(
            self._supervisor.keepers, list(teams), lambda team: self._listening(team, sorted(leased[team])), named=named
        )
        found: list[PortUse] = []
        for team, members in teams.items():
            for agent in members:
                own = {one.port: one for one in asked.answers.get(team, ()) if one.agent == agent.name}
                found += self._uses_of(agent, own, asked.unknown.get(team, ""))
        seen = {(use.port, use.pid) for use in found}
        # A keeper is asked about the ports of its own team, and believed about no others.
        strangers = {
            one.port: one
            for team, look in asked.answers.items()
            for one in look
            if not one.agent and one.port in leased[team] and (one.port, one.pid) not in seen
        }
        owners = {port: agent.key for agent in agents for port in self._all_ports([agent])}
        others = [_stranger(one, owners[port]) for port, one in sorted(strangers.items()) if port in owners]
        return Uses([*found, *others], asked.unknown)

    async def _listening(self, team: str, ports: list[int]) -> list[Listening]:
        keeper = await keeper_soon(self._supervisor, team)
        return await keeper.listening(team, ports)

    def _all_ports(self, agents: Iterable[Agent]) -> set[int]:
        blocks = [block for agent in agents if (block := self._blocks.get(agent.key)) is not None]
        return {port for block in blocks for port in block.ports}

    def _told_ports(self, agents: Iterable[Agent]) -> set[int]:
        """The ports that somebody was told of as theirs."""
        blocks = [block for agent in agents if (block := self._blocks.get(agent.key)) is not None]
        return {port for block in blocks for port in (block.first, *block.names.values())}

    def _uses_of(self, agent: Agent, listening: Mapping[int, Listening], unknown: str) -> list[PortUse]:
        block = self._blocks.get(agent.key)
        names = {port: name for name, port in block.names.items()} if block is not None else {}
        uses = []
        for port in sorted({*self._told_ports([agent]), *listening}):
            seen = listening.get(port)
            uses.append(
                PortUse(
                    port=port,
                    team=agent.team,
                    agent=agent.name,
                    name=names.get(port),
                    listening=seen is not None,
                    pid=seen.pid if seen is not None else None,
                    command=seen.command if seen is not None else "",
                    leased=block is not None and port in block.ports,
                    concerns=agent.key,
                    unknown=unknown,
                )
            )
        return uses

    async def _look(self, team: str, ports: list[int]) -> HostPorts:
        return await self._supervisor.insist_at(team, lambda keeper: keeper.host_ports(ports))

    async def _write(self, who: Who, blocks: Mapping[AgentKey, Block | None], events: Sequence[NewEvent]) -> None:
        """Write what became of blocks, None for one that is gone. What was decided in memory holds if this returns."""
        await self._ledger.write(
            Change(
                who=who,
                time=self._now(),
                put_items=[Item(_KIND, "/".join(key), _encode(block)) for key, block in blocks.items() if block],
                drop_items=[(_KIND, "/".join(key)) for key, block in blocks.items() if block is None],
                events=events,
            )
        )


def _ports_of(firsts: Sequence[int], pool: Pool) -> list[int]:
    return [port for first in firsts for port in range(first, first + pool.block)]


def _agent_key(key: str) -> AgentKey:
    team, _, agent = key.partition("/")
    return team, agent


def _allocated(key: AgentKey, block: Block) -> NewEvent:
    return _event("port.allocated", key, block, names=dict(block.names))


def _event(event: str, key: AgentKey, block: Block, **data: object) -> NewEvent:
    return NewEvent(event=event, team=key[0], agent=key[1], data={"first": block.first, "last": block.last, **data})


def _stranger(one: Listening, has_it: AgentKey) -> PortUse:
    return PortUse(
        port=one.port,
        team=None,
        agent=None,
        name=None,
        listening=True,
        pid=one.pid,
        command=one.command,
        leased=False,
        concerns=has_it,
    )
