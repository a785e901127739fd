"""Which block an agent gets, and which port of it a name: case by case, and against a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.port_blocks import DEFAULT_RANGE, Block, Blocks, Pool, check_name, pieces, variables

USUAL = (32768, 60999)
A, B = ("shop", "a"), ("shop", "b")


def test_the_first_port_has_no_name_and_names_get_those_behind_it_in_their_order() -> None:
    block = Block(20000, 4).with_names(["web", "api"])
    assert block.names == {"web": 20001, "api": 20002}
    assert block.with_names(["db", "web"]).names == {"web": 20001, "api": 20002, "db": 20003}


def test_a_name_passes_over_what_is_taken() -> None:
    assert Block(20000, 4).with_names(["web"], taken={20001, 20002}).names == {"web": 20003}


def test_a_full_block_refuses_and_says_what_helps() -> None:
    full = Block(20000, 2).with_names(["web"])
    with pytest.raises(RefusedError, match="all ports of 20000-20001 have names: web 20001") as caught:
        full.with_names(["api"])
    assert "larger block" in caught.value.remedy
    with pytest.raises(RefusedError, match="somebody listens on 20001 already") as caught:
        Block(20000, 2).with_names(["api"], taken={20001})
    assert "corral port ls" in caught.value.remedy


def test_variables_are_of_what_is_declared() -> None:
    block = Block(20000, 10).with_names(["web", "api-2", "asked-for-later"])
    assert variables(block, ["web", "api-2"]) == {
        "PORT": "20000",
        "CORRAL_PORTS": "20000-20009",
        "CORRAL_PORT_WEB": "20001",
        "CORRAL_PORT_API_2": "20002",
    }


@pytest.mark.parametrize("name", ["", "Web", "a b", "a_b", "-a", "a" * 41, "a\0", "ä", "../a"])
def test_what_can_be_no_name(name: str) -> None:
    with pytest.raises(WrongUseError):
        check_name(name)


class TestRanges:
    def test_the_usual_one_is_below_the_ephemeral_range(self) -> None:
        assert pieces(Pool(), USUAL) == [DEFAULT_RANGE]

    def test_the_default_gives_way_to_a_kernel_that_needs_its_place(self) -> None:
        assert pieces(Pool(), (15000, 61000)) == [(10000, 14999), (61001, 65535)]

    def test_of_a_declared_range_only_what_is_outside_is_used(self) -> None:
        assert pieces(Pool((30000, 40000), 10), USUAL) == [(30000, 32767)]
        assert pieces(Pool((30000, 62000), 10), USUAL) == [(30000, 32767), (61000, 62000)]

    def test_where_everything_is_ephemeral_the_range_is_used_as_it_is(self) -> None:
        assert pieces(Pool(), (1024, 65535)) == [DEFAULT_RANGE]
        assert pieces(Pool((40000, 40099), 10), USUAL) == [(40000, 40099)]


class TestCandidates:
    def test_they_begin_where_the_seed_says_and_come_round(self) -> None:
        found = list(Blocks().candidates(Pool((20000, 20039), 10), USUAL, seed=6))
        assert found == [20020, 20030, 20000, 20010]

    def test_what_somebody_has_is_passed_over_also_in_part(self) -> None:
        blocks = Blocks({A: Block(20005, 10)})
        assert list(blocks.candidates(Pool((20000, 20039), 10), USUAL, seed=0)) == [20020, 20030]

    def test_a_range_that_is_too_short_has_none(self) -> None:
        assert list(Blocks().candidates(Pool((20000, 20008), 10), USUAL, seed=3)) == []


class TestKeeping:
    def test_a_block_that_the_file_still_asks_for_is_kept(self) -> None:
        block = Block(20000, 4).with_names(["web"])
        assert block.suits(Pool(None, 4), USUAL, ["web", "api", "db"])

    @pytest.mark.parametrize(
        ("pool", "declared"),
        [
            (Pool(None, 5), ["web"]),
            (Pool((25000, 26000), 4), ["web"]),
            (Pool(None, 4), ["a", "b", "c"]),
        ],
        ids=["another size", "elsewhere", "no room for names"],
    )
    def test_another_is_not(self, pool: Pool, declared: list[str]) -> None:
        assert not Block(20000, 4).with_names(["web"]).suits(pool, USUAL, declared)


def test_no_port_is_in_two_blocks() -> None:
    blocks = Blocks({A: Block(20000, 10)})
    with pytest.raises(ValueError, match="not free"):
        blocks.put(B, Block(20009, 10))
    blocks.put(A, Block(20005, 10))
    blocks.put(B, Block(19995, 10))
    assert blocks.owners("shop") == [A, B]
    assert blocks.owners("shop", ["b"]) == [B]
    assert blocks.owners("toys") == []


@given(
    low=st.integers(1024, 65535),
    length=st.integers(0, 3000),
    size=st.integers(2, 40),
    ephemeral=st.tuples(st.integers(1, 65535), st.integers(1, 65535)),
    seed=st.integers(0, 1 << 32),
)
def test_a_candidate_is_in_the_range_outside_the_ephemeral_and_apart_from_the_others(
    low: int, length: int, size: int, ephemeral: tuple[int, int], seed: int
) -> None:
    high = min(low + length, 65535)
    pool = Pool((low, high), size)
    begin, end = ephemeral
    found = list(Blocks().candidates(pool, ephemeral, seed))
    ports = [port for first in found for port in range(first, first + size)]
    assert len(ports) == len(set(ports))
    assert all(low <= port <= high for port in ports)
    if any(begin <= port <= end for port in ports):
        # Only because there is no room for one anywhere else.
        assert pieces(pool, ephemeral) == [pool.range]
        assert max(min(begin, high + 1) - low, high - max(end, low - 1)) < size


class Allocation(RuleBasedStateMachine):
    """Agents come and go and ask for names; a model remembers who was told what."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = Blocks()
        self.told: dict[tuple[str, str], dict[str, int]] = {}
        self.pool = Pool((20000, 20059), 6)

    agents = st.tuples(st.sampled_from(["shop", "toys"]), st.sampled_from(["a", "b", "c", "d", "e", "f", "g"]))

    @rule(key=agents, seed=st.integers(0, 100), listens=st.sets(st.integers(20000, 20059), max_size=20))
    def come(self, key: tuple[str, str], seed: int, listens: set[int]) -> None:
        if self.blocks.get(key) is not None:
            return
        free = [
            first
            for first in self.blocks.candidates(self.pool, USUAL, seed)
            if listens.isdisjoint(range(first, first + 6))
        ]
        owned = {port for owner in self.blocks.owners() for port in self._block(owner).ports}
        slots = [set(range(first, first + 6)) for first in range(20000, 20060, 6)]
        assert len(free) == sum(slot.isdisjoint(owned | listens) for slot in slots)
        if free:
            self.blocks.put(key, Block(free[0], 6))
            self.told[key] = {"": free[0]}

    @rule(key=agents, name=st.sampled_from("uvwxyz"), listens=st.sets(st.integers(20000, 20059), max_size=20))
    def ask(self, key: tuple[str, str], name: str, listens: set[int]) -> None:
        block = self.blocks.get(key)
        if block is None:
            return
        left = [port for port in block.ports if port not in self.told[key].values() and port not in listens]
        try:
            block = block.with_names([name], taken=listens)
        except RefusedError:
            assert name not in self.told[key]
            assert not left
            return
        self.blocks.put(key, block)
        port = block.names[name]
        assert port == self.told[key].setdefault(name, port)

    @precondition(lambda self: self.told)
    @rule(key=agents)
    def leave(self, key: tuple[str, str]) -> None:
        assert (self.blocks.drop(key) is None) == (self.told.pop(key, None) is None)

    @invariant()
    def everybody_has_what_they_were_told_and_nobody_else_has_it(self) -> None:
        assert self.blocks.owners() == sorted(self.told)
        given = [port for names in self.told.values() for port in names.values()]
        assert len(given) == len(set(given))
        for key, names in self.told.items():
            block = self._block(key)
            assert {"": block.first, **block.names} == names
            assert set(names.values()) <= set(block.ports)

    def _block(self, key: tuple[str, str]) -> Block:
        block = self.blocks.get(key)
        assert block is not None
        return block


TestAllocation = Allocation.TestCase
