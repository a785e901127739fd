"""What is held, who waits, in which order it is given out, and when it goes by itself."""

from dataclasses import replace
from operator import itemgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from corral.domain.deadlines import Deadlines
from corral.domain.errors import NotFoundError, RefusedError
from corral.domain.lease_index import LeaseIndex
from corral.domain.lease_model import EXCLUSIVE, SHARED, Claim, Lease, Party
from corral.domain.lease_room import MOST_HELD
from corral.domain.leases import Leases
from corral.domain.path_patterns import parse

REPO = "/repo"


def claim(party: str, *patterns: str, mode: str = EXCLUSIVE, run: str = "", ttl: float = 10.0) -> Claim:
    read = tuple(parse(pattern) for pattern in patterns)
    return Claim(realm=REPO, patterns=read, mode=mode, party=Party(party, run), ttl=ttl)


def grant(leases: Leases, wanted: Claim, token: int, now: float = 0.0) -> Lease:
    assert leases.is_free(wanted)
    return leases.grant(wanted, token, 0.0, now)


def test_nobody_holds_more_than_one_may_and_others_are_not_kept_from_anything() -> None:
    leases = Leases()
    for number in range(1, MOST_HELD):
        grant(leases, claim("a", f"src/{number}"), number)
    leases.check_room(claim("a", "x"))
    last = grant(leases, claim("a", "src/last"), MOST_HELD)
    with pytest.raises(RefusedError, match=f"a holds {MOST_HELD} leases and locks") as refused:
        leases.check_room(claim("a", "x"))
    assert "release some" in refused.value.remedy
    leases.check_room(claim("b", "x"))
    leases.release(last.lease, "a")
    leases.check_room(claim("a", "x"))


class TestWhatIsInTheWay:
    def test_an_exclusive_lease_of_another_on_an_overlapping_pattern(self) -> None:
        leases = Leases()
        held = grant(leases, claim("a", "docs/", "src/*.py"), 1)
        found = leases.conflict(claim("b", "src/api.py"))
        assert found is not None
        assert (found[0], found[1].text) == (held, "src/*.py")
        assert leases.conflict(claim("b", "src/api.ts")) is None
        assert leases.conflict(replace(claim("b", "src/api.py"), realm="/other")) is None
        assert leases.conflict(claim("a", "src/api.py")) is None, "one's own is in nobody's way"

    def test_shared_ones_go_together_and_an_exclusive_one_with_none(self) -> None:
        leases = Leases()
        grant(leases, claim("a", "src/", mode=SHARED), 1)
        grant(leases, claim("b", "src/x", mode=SHARED), 2)
        assert not leases.is_free(claim("c", "src/x"))

    @pytest.mark.parametrize(("held", "wanted"), [("**", "a"), ("a", "**"), ("*/b", "a/"), ("?/b", "*/b")])
    def test_patterns_that_begin_with_anything_are_found(self, held: str, wanted: str) -> None:
        leases = Leases()
        grant(leases, claim("a", held), 1)
        assert leases.conflict(claim("b", wanted)) is not None

    def test_locks_of_one_party_are_in_each_others_way(self) -> None:
        leases = Leases()
        first = grant(leases, replace(claim("a", "dep"), lock=True), 1)
        again = replace(claim("a", "dep"), lock=True, within=(first.lease, "l99"))
        assert not leases.is_free(again)
        assert (leases.own_locks_ahead(again), leases.own_locks_around(again)) == ({"l1"}, ["l1"])
        assert leases.ahead_of(again) == set(), "no party waits for itself because two of its commands do"

    def test_where_case_does_not_count_two_spellings_are_one_file(self) -> None:
        leases = Leases()
        grant(leases, replace(claim("a", "src/Ab.md"), ignore_case=True), 1)
        found = leases.conflict(replace(claim("b", "SRC/aB.*"), ignore_case=True))
        assert found is not None
        assert found[1].text == "src/Ab.md", "it is told as it was asked for"
        assert leases.is_free(replace(claim("b", "src/ac.md"), ignore_case=True))
        assert leases.is_free(claim("b", "src/aB.md"))


class TestTheLine:
    def test_what_is_in_the_way_is_named_also_if_it_waits_itself(self) -> None:
        leases = Leases()
        held = grant(leases, claim("a", "x/1"), 1)
        second = leases.wait(claim("b", "x/"))
        third = leases.wait(claim("c", "x/2", "y"))
        wanted = claim("d", "y")
        (obstacle,) = leases.obstacles(leases.comparing(wanted).all())
        assert (obstacle.claim.party.name, obstacle.pattern.text, obstacle.held) == ("c", "y", False)
        assert obstacle.lease == held, "c waits behind b, and b for a"
        assert [one.claim.party.name for one in leases.obstacles_of(third)] == ["b"]
        assert [one.held for one in leases.obstacles_of(second)] == [True]

    def test_whose_run_is_over_leaves(self) -> None:
        leases = Leases()
        grant(leases, claim("a", "x"), 1)
        mine, anns, others = (
            leases.wait(claim(party, "x", run=run)) for party, run in (("b", "r1"), ("ann", ""), ("c", "r1"))
        )
        assert leases.departed({"b": "r1", "c": "r1"}, []) == []
        assert leases.departed({"b": "r2"}, []) == [mine]
        assert leases.departed({"b": ""}, ["c"]) == [mine, others]
        assert leases.departed({}, ["ann"]) == [anns]

    def test_who_waits_stands_where_they_stood_when_all_is_read_again(self) -> None:
        leases = Leases()
        held = grant(leases, claim("a", "x"), 1)
        first, second = leases.wait(claim("b", "x")), leases.wait(claim("c", "x"))
        again = leases.again([held], 0.0)
        assert [again.waited_for(number) for number in (first, second)] == [{"a"}, {"a", "b"}]
        assert again.wait(claim("d", "x")) > second

    def test_and_waits_for_what_went_though_that_could_not_be_written(self) -> None:
        leases = Leases()
        held, other = grant(leases, claim("a", "x"), 1), grant(leases, claim("a", "y"), 2)
        leases.expire(10.0)
        grant(leases, claim("b", "z"), 3)
        number = leases.wait(claim("c", "x", "y", "z"))
        leases.forget([other])  # that could be written
        assert leases.waited_for(number) == {"b"}
        again = leases.again([held], 10.0)
        assert [one.lease for one in again.obstacles_of(number)] == [held]

    def test_one_whose_grant_could_not_be_written_is_in_the_way_of_those_who_came_since(self) -> None:
        leases = Leases()
        held = grant(leases, claim("a", "x"), 1)
        first = leases.wait(claim("b", "x"))
        leases.release(held.lease, "a")
        for _, wanted, _ in leases.next_in_line():
            leases.grant(wanted, 2, 0.0, 0.0)
        leases.release("l2", "b")
        grant(leases, claim("d", "y"), 3)
        second = leases.wait(claim("c", "x", "y"))
        again = leases.again([held], 0.0, [first])
        assert [again.waited_for(number) for number in (first, second)] == [{"a"}, {"a", "b"}]

    def test_a_shared_claim_waits_behind_an_exclusive_one_that_waits(self) -> None:
        leases = Leases()
        first = grant(leases, claim("a", "x", mode=SHARED), 1)
        exclusive = leases.wait(claim("b", "x"))
        assert not leases.is_free(claim("c", "x", mode=SHARED))
        shared = leases.wait(claim("c", "x", mode=SHARED))
        assert leases.waited_for(exclusive) == {"a"}
        assert leases.waited_for(shared) == {"b"}
        assert list(leases.next_in_line()) == []
        leases.leave(exclusive)
        assert [number for number, *_ in leases.next_in_line()] == [shared]
        assert leases.release(first.lease, "a") == first

    def test_who_is_in_nobodys_way_overtakes(self) -> None:
        leases = Leases()
        grant(leases, claim("a", "x"), 1)
        leases.wait(claim("b", "x"))
        assert leases.is_free(claim("c", "y"))

    def test_all_patterns_or_nothing(self) -> None:
        leases = Leases()
        grant(leases, claim("a", "x"), 1)
        assert not leases.is_free(claim("b", "free", "x"))


class TestKeeping:
    def test_what_belongs_to_a_run_lives_with_it(self) -> None:
        leases = Leases()
        lease = grant(leases, claim("t/a", "x", run="r1"), 1)
        assert leases.expire(1e9) == []
        assert leases.observe({"t/a": "r1"}, [], 5.0) == ([], [])
        _, (suspect,) = leases.observe({"t/a": "r2"}, [], 5.0)
        assert suspect == replace(lease, suspect=True)
        assert leases.next_deadline() == 15.0
        assert leases.expire(14.9) == []
        assert leases.expire(15.0) == [suspect]

    def test_the_same_run_that_comes_back_in_time_keeps_it(self) -> None:
        leases = Leases()
        lease = grant(leases, claim("t/a", "x", run="r1"), 1)
        leases.observe({"t/a": ""}, [], 5.0)
        assert leases.observe({"t/a": "r1"}, [], 9.0) == ([], [lease])
        assert leases.expire(1e9) == []

    def test_of_whom_nothing_is_known_nothing_is_taken(self) -> None:
        leases = Leases()
        grant(leases, claim("t/a", "x", run="r1"), 1)
        assert leases.observe({}, [], 5.0) == ([], [])

    def test_whoever_is_ended_on_purpose_holds_nothing_any_more(self) -> None:
        leases = Leases()
        one = grant(leases, claim("t/a", "x", run="r1"), 1)
        other = grant(leases, claim("t/a", "y"), 2)
        assert leases.observe({}, ["t/a"], 5.0) == ([one, other], [])
        assert leases.held == {}

    def test_what_belongs_to_no_run_is_renewed_or_goes(self) -> None:
        leases = Leases()
        lease = grant(leases, claim("ann", "x"), 1)
        leases.renew(lease.lease, "ann", 8.0)
        assert leases.expires_in(lease, 10.0) == 8.0
        assert leases.expire(17.9) == []
        assert leases.expire(18.0) == [lease]
        with pytest.raises(NotFoundError):
            leases.renew(lease.lease, "ann", 18.0)

    def test_nobody_else_renews_or_releases_it(self) -> None:
        leases = Leases()
        lease = grant(leases, claim("ann", "x"), 1)
        with pytest.raises(RefusedError, match="held by ann, not by bob"):
            leases.release(lease.lease, "bob")
        with pytest.raises(RefusedError, match="held by ann, not by bob"):
            leases.renew(lease.lease, "bob", 0.0)

    def test_after_a_restart_what_needs_renewing_has_its_whole_time_again(self) -> None:
        leases = Leases()
        ours, anns = grant(leases, claim("t/a", "x", run="r1"), 1), grant(leases, claim("ann", "y"), 2)
        again = Leases.restored([ours, anns], 100.0)
        assert again.next_deadline() == 110.0
        assert again.expire(110.0) == [anns]
        assert list(again.held) == [ours.lease]


def test_deadlines_that_are_set_again_and_again_take_no_room() -> None:
    deadlines = Deadlines()
    for number in range(100_000):
        deadlines.set("a", float(number))
    assert len(deadlines._heap) < 2000
    assert deadlines.past(99_998.0) == []
    assert deadlines.past(99_999.0) == ["a"]


SOME = ["a", "a/b", "a/b/c", "a/", "a/b/", "a/*", "a/*/c", "**", "**/c", "*/b", "a/b/**/c", "a/[b]", "b", "?/b/c"]


@given(
    st.lists(st.lists(st.sampled_from(SOME), min_size=1, max_size=2), max_size=8),
    st.lists(st.sampled_from(SOME), min_size=1, max_size=2),
)
def test_whoever_is_in_the_way_is_near(held: list[list[str]], wanted: list[str]) -> None:
    index: LeaseIndex[str] = LeaseIndex()
    leases = [Lease(lease=f"l{n}", token=n, claim=claim("a", *texts), since=0.0) for n, texts in enumerate(held)]
    for lease in leases:
        index.add(lease.lease, lease.claim)
    for lease in leases[::3]:
        index.remove(lease.lease, lease.claim)
    left = [lease for lease in leases if lease not in leases[::3]]
    asked = claim("b", *wanted)
    near = set(index.near(asked.realm, asked.patterns))
    assert near >= {lease.lease for lease in left if lease.claim.is_in_the_way_of(asked)}
    assert near <= {lease.lease for lease in left}


patterns = st.sampled_from(["a", "b", "a/", "a/x", "*/x", "**", "?", "b/*"])


class Machine(RuleBasedStateMachine):
    """Anything that anybody can do, with what must hold after each of it."""

    def __init__(self) -> None:
        super().__init__()
        self.leases = Leases()
        self.line: list[tuple[int, Claim]] = []
        self.token = 0
        self.now = 0.0
        #: What is on the disk, what went since, and whose grants are not there yet.
        self.disk: list[Lease] = []
        self.gone: list[Lease] = []
        self.handed: list[tuple[int, Claim, Lease]] = []

    def settle(self) -> None:
        for number, wanted, _ in self.leases.next_in_line():
            place = [one for one, _ in self.line].index(number)
            for _, earlier in self.line[:place]:
                assert earlier.is_in_the_way_of(wanted) is None, "somebody was overtaken"
            del self.line[place]
            self.handed.append((number, wanted, self.give(wanted)))

    def give(self, wanted: Claim) -> Lease:
        for lease in self.leases.held.values():
            assert lease.claim.is_in_the_way_of(wanted) is None, "it was given to two"
        self.token += 1
        return self.leases.grant(wanted, self.token, 0.0, self.now)

    @rule()
    def written(self) -> None:
        self.disk = list(self.leases.held.values())
        self.leases.forget(self.gone)
        for number, _, lease in self.handed:
            self.leases.sure(number, lease.lease)
        self.gone, self.handed = [], []

    @rule()
    def refused(self) -> None:
        self.leases = self.leases.again(self.disk, self.now, [number for number, *_ in self.handed])
        self.line = sorted([*self.line, *((number, wanted) for number, wanted, _ in self.handed)], key=itemgetter(0))
        self.gone, self.handed = [], []
        self.settle()

    @rule(
        party=st.sampled_from(["a", "b", "c"]),
        wanted=st.lists(patterns, min_size=1, max_size=2),
        mode=st.sampled_from([EXCLUSIVE, SHARED]),
        run=st.sampled_from(["", "r1"]),
        waits=st.booleans(),
    )
    def ask(self, party: str, wanted: list[str], mode: str, run: str, waits: bool) -> None:
        asked = claim(party, *wanted, mode=mode, run=run)
        if self.leases.is_free(asked):
            self.give(asked)
        elif waits:
            self.line.append((self.leases.wait(asked), asked))
            assert self.leases.waited_for(self.line[-1][0]) - {party}

    @precondition(lambda self: self.leases.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(sorted(self.leases.held)))
        self.gone.append(self.leases.release(lease, self.leases.held[lease].claim.party.name))
        self.settle()

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        number, _ = self.line.pop(data.draw(st.integers(0, len(self.line) - 1)))
        self.leases.leave(number)
        self.settle()

    @rule(party=st.sampled_from(["a", "b", "c"]), run=st.sampled_from(["r1", "r2"]))
    def see(self, party: str, run: str) -> None:
        self.leases.observe({party: run}, [], self.now)

    @rule(party=st.sampled_from(["a", "b", "c"]))
    def end(self, party: str) -> None:
        self.gone += self.leases.observe({}, [party], self.now)[0]
        assert party not in {lease.claim.party.name for lease in self.leases.held.values()}
        self.settle()

    @rule(seconds=st.sampled_from([1.0, 6.0, 20.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        for lease in self.leases.expire(self.now):
            assert lease.suspect or not lease.claim.party.run, "it was taken from somebody who may live"
            self.gone.append(lease)
        self.settle()

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        for place, (number, wanted) in enumerate(self.line):
            held = [lease.claim for lease in self.leases.held.values()]
            before = [earlier for _, earlier in self.line[:place]]
            in_the_way = [one for one in (*held, *before) if one.is_in_the_way_of(wanted)]
            assert in_the_way
            assert self.leases.waited_for(number) == {one.party.name for one in in_the_way}

    @invariant()
    def the_next_deadline_is_to_come(self) -> None:
        deadline = self.leases.next_deadline()
        assert deadline is None or deadline > self.now - 1e-9


TestAnySequence = Machine.TestCase
TestAnySequence.settings = settings(max_examples=100, stateful_step_count=30)


@pytest.mark.parametrize(("holder", "recipient"), [("shop/b", "shop/b"), ("ann", "@ann")])
def test_whose_lease_it_is_can_be_written_to_as_it_is_said(holder: str, recipient: str) -> None:
    leases = Leases()
    held = grant(leases, claim(holder, "src/"), 1)
    with pytest.raises(RefusedError) as caught:
        leases.release(held.lease, "shop/a")
    assert caught.value.remedy == f"ask them to release it: corral msg send {recipient} -m '…'"
