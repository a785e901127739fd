"""Blocks of ports: which one an agent gets, and which port of it a name has.

A range is cut into slots as large as a block. An agent gets a slot that nobody has, and keeps it for as long as it is
in its team. The first port of a block is the agent's `PORT`; those behind it go to names, in the order in which these
are asked for. What the kernel gives to outgoing connections (the ephemeral range) is never part of a block, unless
there is nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain

from corral.domain import names
from corral.domain.errors import RefusedError, WrongUseError

#: First and last port.
Range = tuple[int, int]
#: Team and agent.
AgentKey = tuple[str, str]

#: Below it only root may listen.
LOWEST, HIGHEST = 1024, 65535
#: Below where Linux begins with outgoing connections (32768), and away from the ports that programs have by habit.
DEFAULT_RANGE: Range = (20000, 29999)
#: Where blocks are looked for if that is not outside the ephemeral range.
_FALLBACK_RANGE: Range = (10000, HIGHEST)
DEFAULT_BLOCK = 10
#: With one port there is no room for a name.
SMALLEST_BLOCK, LARGEST_BLOCK = 2, 1000
#: The first port, all of them as `20000-20009`, and the port of a name.
PORT_VARIABLE, BLOCK_VARIABLE, NAMED_VARIABLE = "PORT", "CORRAL_PORTS", "CORRAL_PORT_"


@dataclass(frozen=True, slots=True)
class Pool:
    """Where the agents of a team get their blocks from, as its file says."""

    #: None: `DEFAULT_RANGE`, or another one where that cannot be used.
    range: Range | None = None
    block: int = DEFAULT_BLOCK

    @property
    def shown(self) -> str:
        """As the file has it: `20000-29999`."""
        low, high = self.range or DEFAULT_RANGE
        return f"{low}-{high}"


DEFAULT_POOL = Pool()


@dataclass(frozen=True, slots=True)
class Block:
    """The ports of one agent."""

    first: int
    size: int
    #: Name → port; never the first one.
    names: Mapping[str, int] = field(default_factory=dict)
    #: In whose share it counts (`shares`).
    person: str = ""

    @property
    def last(self) -> int:
        return self.first + self.size - 1

    @property
    def ports(self) -> range:
        return range(self.first, self.first + self.size)

    @property
    def weight(self) -> int:
        """The ports that it counts for in a share."""
        return weight_of(self.size)

    @property
    def nameless(self) -> list[int]:
        """Ports that a name can get."""
        named = set(self.names.values())
        return [port for port in self.ports[1:] if port not in named]

    def with_names(self, wanted: Iterable[str], *, taken: Set[int] = frozenset()) -> Block:
        """The block in which each of these names has a port: the one that it has, or else the next that is not taken.

        Raises `RefusedError` if there are not enough of them.
        """
        room = iter([port for port in self.nameless if port not in taken])
        given = dict(self.names)
        for name in wanted:
            if name not in given:
                port = next(room, None)
                if port is None:
                    raise _full(self, name)
                given[name] = port
        return replace(self, names=given)

    def suits(self, pool: Pool, ephemeral: Range, declared: Sequence[str]) -> bool:
        """True if an agent that is started anew can keep it: it is of the size that the file asks for, where the file
        has its ports, and has room for the names that are declared.
        """
        inside = any(low <= self.first and self.last <= high for low, high in pieces(pool, ephemeral))
        new = [name for name in dict.fromkeys(declared) if name not in self.names]
        return self.size == pool.block and inside and len(new) <= len(self.nameless)


class Blocks:
    """The blocks of all agents. No port is in two of them."""

    def __init__(self, blocks: Mapping[AgentKey, Block] | None = None) -> None:
        self._blocks: dict[AgentKey, Block] = {}
        self._owners: dict[int, AgentKey] = {}
        self._weights: dict[str, int] = {}
        for key, block in (blocks or {}).items():
            self.put(key, block)

    def get(self, key: AgentKey) -> Block | None:
        return self._blocks.get(key)

    def owners(self, team: str | None = None, agents: Collection[str] | None = None) -> list[AgentKey]:
        """Those who have a block, in order; of a team, and of these agents only, if they are given."""
        return sorted(key for key in self._blocks if team in (None, key[0]) and (agents is None or key[1] in agents))

    def weight(self, person: str) -> int:
        """The ports that a person's blocks count for together."""
        return self._weights.get(person, 0)

    def put(self, key: AgentKey, block: Block) -> None:
        """Give a block to an agent, in place of the one that it has. Raises `ValueError` if a port is another's."""
        if any(self._owners.get(port, key) != key for port in block.ports):
            raise ValueError(f"ports {block.first}-{block.last} are not free")
        self.drop(key)
        self._blocks[key] = block
        self._owners.update(dict.fromkeys(block.ports, key))
        self._weights[block.person] = self.weight(block.person) + block.weight

    def drop(self, key: AgentKey) -> Block | None:
        """Take an agent's block away; None if it had none."""
        block = self._blocks.pop(key, None)
        if block is not None:
            for port in block.ports:
                del self._owners[port]
            self._weights[block.person] -= block.weight
            if not self._weights[block.person]:
                del self._weights[block.person]
        return block

    def is_free(self, first: int, size: int) -> bool:
        """True if nobody has one of these ports."""
        return not any(port in self._owners for port in range(first, first + size))

    def candidates(self, pool: Pool, ephemeral: Range, seed: int) -> Iterator[int]:
        """The first ports of the slots that nobody has, each once. The seed says where in the range to begin.

        What is put or dropped meanwhile counts for the slots that are still to come.
        """
        slots = [range(low, high - pool.block + 2, pool.block) for low, high in pieces(pool, ephemeral)]
        every = list(chain.from_iterable(slots))
        begin = seed % len(every) if every else 0
        for first in chain(every[begin:], every[:begin]):
            if self.is_free(first, pool.block):
                yield first


def weight_of(size: int) -> int:
    """The ports that a block of that size counts for in a share.

    A small one counts like the usual: it takes as many slots of that size from others.
    """
    return max(size, DEFAULT_BLOCK)


def pieces(pool: Pool, ephemeral: Range) -> list[Range]:
    """The parts of the range that blocks are cut from: those outside the ephemeral range that have room for a block.

    If there are none, it is the range as it is. Of the default range either all of it is used, or something else.
    """
    if pool.range is None:
        if _outside(DEFAULT_RANGE, ephemeral, pool.block) == [DEFAULT_RANGE]:
            return [DEFAULT_RANGE]
        return _outside(_FALLBACK_RANGE, ephemeral, pool.block) or [DEFAULT_RANGE]
    return _outside(pool.range, ephemeral, pool.block) or [pool.range]


def _outside(whole: Range, ephemeral: Range, room: int) -> list[Range]:
    (low, high), (begin, end) = whole, ephemeral
    around = [(low, min(high, begin - 1)), (max(low, end + 1), high)] if begin <= end else [whole]
    return [(first, last) for first, last in around if last - first + 1 >= room]


def variables(block: Block, declared: Iterable[str]) -> dict[str, str]:
    """What an agent finds in its environment: its first port, the whole block, and the ports of declared names."""
    named = {NAMED_VARIABLE + name.upper().replace("-", "_"): str(block.names[name]) for name in declared}
    return {PORT_VARIABLE: str(block.first), BLOCK_VARIABLE: f"{block.first}-{block.last}", **named}


def check_name(name: str) -> None:
    """Raise `WrongUseError` for what can be no name of a port."""
    if not names.is_valid(name):
        nearest = names.suggestion(name)
        hint = f"did you mean {nearest}? " if nearest else ""
        raise WrongUseError(f"{name[:100]!r} is no name for a port", f"{hint}A name has {names.RULE}")


def _full(block: Block, name: str) -> RefusedError:
    if block.nameless:
        busy = ", ".join(map(str, block.nameless))
        why, remedy = f"somebody listens on {busy} already", "corral port ls tells who listens: end that"
    else:
        has = ", ".join(f"{known} {port}" for known, port in block.names.items())
        why, remedy = f"all ports of {block.first}-{block.last} have names: {has}", "use a name that there is"
    return RefusedError(
        f"no port is left for {name}: {why}",
        f"{remedy}; or write a larger block below [ports] of corral.toml, corral stop the agent, and corral up",
        name=name,
        first=block.first,
        last=block.last,
    )
