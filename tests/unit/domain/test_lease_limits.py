"""What one request may make the daemon do, counted: pairs of patterns compared, nodes kept, what is waited for."""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pytest

from corral.domain import lease_comparing, lease_index, lease_room
from corral.domain.errors import RefusedError
from corral.domain.glob_parts import Part
from corral.domain.lease_index import LeaseIndex
from corral.domain.lease_model import EXCLUSIVE, SHARED, Claim, Party
from corral.domain.leases import Leases
from corral.domain.path_patterns import Pattern, parse


def claim(party: str, *patterns: str, realm: str = "/r", mode: str = EXCLUSIVE) -> Claim:
    read = tuple(parse(pattern) for pattern in patterns)
    return Claim(realm=realm, patterns=read, mode=mode, party=Party(party), ttl=10.0)


def filled(count: int, each: int = 8) -> Leases:
    """So many leases of one party, of so many files each."""
    leases = Leases()
    for number in range(count):
        wanted = claim("spy", *(f"d{number}a/p{place}/f" for place in range(each)))
        leases.grant(wanted, number + 1, 0.0, 0.0)
    return leases


@pytest.fixture
def overlaps(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many pairs of patterns were compared since this was asked before."""
    made, before = [0], Pattern.overlaps

    def counted(one: Pattern, other: Pattern) -> bool:
        made[0] += 1
        return before(one, other)

    def count() -> int:
        found, made[0] = made[0], 0
        return found

    monkeypatch.setattr(Pattern, "overlaps", counted)
    return count


class TestComparing:
    def test_it_is_done_in_steps_and_nothing_twice(self, overlaps: Callable[[], int]) -> None:
        leases = filled(100)
        compared = leases.comparing(claim("mill", *(f"**/*b/p{number}/*" for number in range(10))))
        steps = []
        while compared.step(500):
            steps.append(overlaps())
        steps.append(overlaps())
        assert max(steps) < 500 + 8 * 10, "a step ends with the claim that it is at"
        assert sum(steps) == 100 * 8 * 10
        assert not compared.step(500)
        assert overlaps() == 0
        assert leases.is_free(compared.claim, compared)

    def test_so_is_found_what_may_be_in_the_way_at_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        leases, found = filled(200), [0]
        pieces = LeaseIndex.pieces

        def counted(index: LeaseIndex[Any], realm: str, patterns: Sequence[Pattern]) -> Iterator[Sequence[Any]]:
            for piece in pieces(index, realm, patterns):
                found[0] += len(piece)
                yield piece

        monkeypatch.setattr(LeaseIndex, "pieces", counted)
        compared = leases.comparing(claim("mill", "**/*b"))
        steps = []
        while compared.step(100):
            steps.append(found[0])
            found[0] = 0
        assert len(steps) > 16, "each of so many patterns was found, and then compared"
        assert max(steps) <= 100 + 8

    @pytest.mark.parametrize("seed", range(50))
    def test_whatever_comes_and_goes_between_two_steps_what_is_decided_is_exact(
        self, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lease_index, "_PIECE", 2)
        chance, leases, token = random.Random(seed), Leases(), 0

        def some() -> list[str]:
            return chance.sample(["a", "a/", "a/x", "a/*", "*/x", "b/a/", "**/c", "b/*/c", "c", "?"], 2)

        def grant() -> None:
            nonlocal token
            token += 1
            leases.grant(claim("spy", *some()), token, 0.0, 0.0)

        for _ in range(chance.randrange(20)):
            grant()
        compared = leases.comparing(claim("mill", *some()))
        while compared.step(1 + chance.randrange(4)):
            if leases.held and chance.random() < 0.4:
                gone = leases.release(chance.choice(list(leases.held)), "spy")
                leases.forget([gone] if chance.random() < 0.5 else [])
            elif token < 60 and chance.random() < 0.6:
                grant()
        wanted = compared.claim
        in_the_way = {one.lease for one in leases.held.values() if one.claim.is_in_the_way_of(wanted)}
        assert {one.lease.lease for one in leases.obstacles(compared) if one.lease is not None} == in_the_way

    def test_what_came_meanwhile_is_compared_as_well_and_what_went_is_in_nobodys_way(self) -> None:
        leases = filled(100)
        compared = leases.comparing(claim("mill", "**/late", "d0a/p0/*"))
        assert compared.step(10)
        leases.release("l1", "spy")
        leases.grant(claim("spy", "x/late"), 1000, 0.0, 0.0)
        compared.all()
        assert [one.lease.lease for one in leases.obstacles(compared) if one.lease is not None] == ["l1000"]
        leases.release("l1000", "spy")
        assert leases.is_free(compared.claim, compared)

    def test_whoever_does_not_wait_is_compared_up_to_the_first_that_is_in_the_way(
        self, overlaps: Callable[[], int]
    ) -> None:
        leases = filled(100)
        leases.comparing(claim("mill", "**"), first_only=True).all()
        assert overlaps() == 1

    def test_files_elsewhere_are_not_compared_however_many_are_asked_for(self, overlaps: Callable[[], int]) -> None:
        leases = filled(100, each=64)
        wanted = claim("mill", *(f"d{number}a/p{number}/mine" for number in range(64)))
        assert leases.is_free(wanted)
        assert overlaps() == 0

    def test_too_much_is_refused_and_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease_comparing, "MOST_COMPARED", 1000)
        leases = filled(50)
        with pytest.raises(RefusedError, match=r"'\*\*/\*b' and the others .* more than 1000 times") as refused:
            leases.wait(claim("mill", "**/*b", "**/*c", "**/*d"))
        assert "fewer at once" in refused.value.remedy
        assert leases.numbers == 0
        assert leases.is_free(claim("mill", "**/*b"))


class TestTheLine:
    def test_nothing_is_compared_when_something_is_given_back(self, overlaps: Callable[[], int]) -> None:
        leases = filled(50)
        for number in range(20):
            leases.wait(claim(f"w{number}", *(f"**/{place}/*" for place in "abcd"), "d0a/p0/*"))
        assert overlaps() > 0
        leases.release("l1", "spy")
        ((number, wanted, met),) = [self.granted(leases, 2000)]
        assert (number, wanted.party.name, list(met)) == (1, "w0", ["l1"])
        leases.release("l2000", "w0")
        number, wanted, met = self.granted(leases, 2001)
        assert (number, sorted(met)) == (2, ["l1", "l2000"]), "what was in the way of it, also before it was a lease"
        assert leases.waited_for(3) == {"w1"}
        assert overlaps() == 0

    @staticmethod
    def granted(leases: Leases, token: int) -> tuple[int, Claim, Collection[str]]:
        found = []
        for number, wanted, met in leases.next_in_line():
            leases.grant(wanted, token, 0.0, 0.0)
            found.append((number, wanted, met))
        (one,) = found
        return one

    def test_only_those_are_told_of_it_whom_it_concerns(self) -> None:
        leases = filled(10)
        one, other = (leases.wait(claim(f"w{number}", f"d{number}a/p0/f")) for number in range(2))
        assert leases.changed_waits() == [one, other]
        leases.release("l2", "spy")
        assert leases.changed_waits() == [other]
        assert leases.changed_waits() == []

    def test_one_party_waits_only_so_often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease_room, "MOST_WAITS", 3)
        leases = filled(1)
        first, *_ = [leases.wait(claim("w", "d0a/p0/f")) for _ in range(3)]
        with pytest.raises(RefusedError, match="w waits for leases and locks 3 times"):
            leases.wait(claim("w", "d0a/p0/f"))
        leases.wait(claim("another", "d0a/p0/f"))
        leases.leave(first)
        leases.wait(claim("w", "d0a/p0/f"))

    def test_and_for_only_so_much(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease_room, "MOST_IN_THE_WAY", 15)
        leases = filled(10)
        leases.wait(claim("w", "**"))
        with pytest.raises(RefusedError, match="20 leases and waits of others"):
            leases.wait(claim("w", "*/p0/"))
        leases.release("l1", "spy")
        leases.wait(claim("w", "d1a/", "d2a/"))


class TestRoom:
    @pytest.mark.parametrize(
        ("limit", "most", "told"),
        [("MOST_PATTERNS", 8, "9 patterns"), ("MOST_PARTS", 24, "27 parts"), ("MOST_CHARACTERS", 60, "63 characters")],
    )
    def test_what_a_party_holds_is_counted(
        self, limit: str, most: int, told: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(lease_room, limit, most)
        leases = Leases()
        for number in range(8):
            leases.check_room(claim("a", f"d/e/p{number}x"))
            leases.grant(claim("a", f"d/e/p{number}x"), number + 1, 0.0, 0.0)
        with pytest.raises(RefusedError, match=f"a would hold {told}") as refused:
            leases.check_room(claim("a", "d/e/pyx"))
        assert "release some" in refused.value.remedy
        leases.check_room(claim("b", "d/e/pyx"))
        leases.release("l1", "a")
        leases.check_room(claim("a", "d/e/pyx"))

    def test_what_waits_counts_as_held(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease_room, "MOST_PATTERNS", 8)
        leases = filled(1)
        number = leases.wait(claim("w", *(f"d0a/p{place}/f" for place in range(8))))
        with pytest.raises(RefusedError, match="w would hold 9 patterns"):
            leases.check_room(claim("w", "x"))
        leases.leave(number)
        leases.check_room(claim("w", "x"))

    def test_and_what_all_hold_of_one_repository(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease_room, "MOST_PATTERNS", 2)
        leases = Leases()
        for number in range(8):
            leases.grant(claim(f"p{number}", f"f{number}", mode=SHARED), number + 1, 0.0, 0.0)
        with pytest.raises(RefusedError, match="all who hold files of this repository would hold 9 patterns"):
            leases.check_room(claim("b", "x"))
        leases.check_room(claim("b", "x", realm="/another"))


class TestMemory:
    def test_of_a_repository_in_which_nothing_is_held_nothing_is_kept(self) -> None:
        leases, seen = Leases(), set[int]()
        for number in range(10):
            for realm in ("/r", f"/gone/{number}"):
                leases.grant(claim("a", "x", realm=realm), number + 1, 0.0, 0.0)
                waiting = leases.wait(claim("b", "x", realm=realm))
                seen.add(leases.version(realm))
                leases.leave(waiting)
                leases.release(f"l{number + 1}", "a")
                assert leases.version(realm) == 0
        assert len(seen) == 20, "each of them is another"
        assert not leases._versions

    def test_there_is_a_node_for_a_directory_however_many_patterns_go_through_it(self) -> None:
        index: LeaseIndex[int] = LeaseIndex()
        deep = "/x" * 62
        claims = [claim("a", *(f"top{deep}/f{number}-{place}" for place in range(4))) for number in range(10)]
        for number, one in enumerate(claims):
            index.add(number, one)
        assert index.nodes == 1 + 63 + 40
        for number, one in enumerate(claims):
            index.remove(number, one)
        assert index.nodes == 0

    def test_and_never_more_than_parts(self) -> None:
        index: LeaseIndex[int] = LeaseIndex()
        wanted = claim("a", *(f"{number}/x/y/z" for number in range(64)), "**/any")
        index.add(0, wanted)
        assert index.nodes == 1 + 64 * 4 <= sum(pattern.parts for pattern in wanted.patterns)

    def test_names_share_what_stands_for_their_characters(self) -> None:
        one, other = Part.literal("xy"), Part.literal("yx")
        assert one.takes[0] is other.takes[1]

    def test_patterns_without_case_are_made_once(self) -> None:
        wanted = Claim(realm="/r", patterns=(parse("A"),), mode=EXCLUSIVE, party=Party("a"), ttl=1.0, ignore_case=True)
        assert wanted.compared is wanted.compared
