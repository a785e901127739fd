"""What may be written: not what others hold, not what was lost to them, and nothing by who is left over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.lease_model import EXCLUSIVE, SHARED, Claim, Lease, Party
from corral.domain.lost_leases import Lost
from corral.domain.path_patterns import parse
from corral.domain.writes import ACCESS, HELD, LOST, STALE, Fence, Writer, Writes, refusals

ME = Writer(party="shop/a", present_run="now")


def lease(token: int, party: str, *patterns: str, mode: str = EXCLUSIVE, run: str = "r") -> Lease:
    claim = Claim(realm="/r", patterns=tuple(map(parse, patterns)), mode=mode, party=Party(party, run), ttl=60.0)
    return Lease(lease=f"l{token}", token=token, claim=claim, since=0.0)


def why(
    path: str,
    *held: Lease,
    writer: Writer = ME,
    lost: tuple[Lost, ...] = (),
    ignore_case: bool = False,
    shared: bool = True,
) -> str:
    refusal = Writes(writer, held, lost, ignore_case=ignore_case, shared=shared).refusal(path)
    return refusal.why if refusal else ""


def test_what_another_holds_is_refused_and_what_is_mine_or_nobodys_is_not() -> None:
    theirs, mine = lease(1, "shop/b", "src/", "*.md"), lease(2, "shop/a", "docs/", run="now")
    assert why("src/deep/x.py", theirs, mine) == HELD
    assert why("README.md", theirs, mine) == HELD
    assert why("docs/x", theirs, mine) == ""
    assert why("srcs/x", theirs, mine) == ""
    assert why("src", theirs, mine) == ""  # a file of that name is not below it


def test_what_is_held_shared_counts_only_for_who_asks_for_it() -> None:
    theirs = lease(1, "shop/b", "src/", mode=SHARED)
    assert why("src/x", theirs) == HELD
    assert why("src/x", theirs, shared=False) == ""


def test_the_refusal_names_the_lease_and_its_pattern() -> None:
    theirs = lease(7, "shop/b", "lib/", "src/*.py")
    refusal = Writes(ME, [theirs], [], ignore_case=False, shared=True).refusal("src/x.py")
    assert refusal is not None
    assert (refusal.lease, refusal.pattern.text, refusal.lost) == (theirs, "src/*.py", None)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("SRC/*.Py", "src/x.pY"),
        ("src/x.py", "Src/X.PY"),
        ("[A-C]*", "b"),
        ("stra\u00dfe/", "STRASSE/x"),
        ("\\[a]", "[A]"),
    ],
)
def test_case_is_ignored_where_it_does_not_count(pattern: str, path: str) -> None:
    assert why(path, lease(1, "shop/b", pattern), ignore_case=True) == HELD
    assert why(path, lease(1, "shop/b", pattern)) == ""


def test_a_pattern_that_cannot_be_without_case_is_taken_as_it_is() -> None:
    assert why("_", lease(1, "shop/b", "[Z-a]"), ignore_case=True) == HELD


def test_names_that_no_pattern_could_have_are_checked_as_well() -> None:
    theirs = lease(1, "shop/b", "deep/")
    assert why("deep/" + "/".join("x" * 100), theirs) == HELD
    assert why("deep/" + "x" * 5000, theirs) == HELD
    assert why("deep/\udcff\t\n*", theirs) == HELD
    assert why("\udcff", lease(1, "shop/b", "?")) == HELD


def test_what_was_lost_is_refused_until_it_is_held_again_with_a_greater_token() -> None:
    mine, theirs = lease(1, "shop/a", "src/", run="now"), lease(2, "shop/b", "src/x")
    lost = (Lost(lease=mine, at=0.0, takers=(theirs,)),)
    assert why("src/x", lost=lost) == LOST  # though nobody holds it any more
    assert why("src/y", lost=lost) == ""  # nobody else had that
    assert why("src/x", theirs, lost=lost) == LOST
    assert why("src/x", lease(3, "shop/a", "src/x", run="now"), lost=lost) == ""
    assert why("src/x", lease(3, "shop/a", "src/y", run="now"), lost=lost) == LOST


def test_who_is_left_over_from_an_earlier_run_must_not_write_what_the_present_one_holds() -> None:
    late = Writer(party="shop/a", run="before", present_run="now")
    assert why("src/x", lease(1, "shop/a", "src/", run="now"), writer=late) == STALE
    assert why("src/x", lease(1, "shop/a", "src/", run="before"), writer=late) == ""
    assert why("other", lease(1, "shop/a", "src/", run="now"), writer=late) == ""
    assert why("src/x", lease(1, "shop/a", "src/", run="before")) == ""  # not gone yet, and the agent's own


def test_no_more_are_told_than_are_wanted() -> None:
    writes = Writes(ME, [lease(1, "shop/b", "**")], [], ignore_case=False, shared=True)
    assert [one.path for one in refusals(writes, ["a", "b", "c"], 2)] == ["a", "b"]


_PARTS = st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3).map("/".join)


@given(path=_PARTS, patterns=st.lists(st.sampled_from(["a", "a/", "**", "*/b", "a*/", "b/**/a", "?"]), min_size=1))
def test_it_is_refused_exactly_if_a_pattern_names_it(path: str, patterns: list[str]) -> None:
    named = any(parse(pattern).matches(parse(path)) for pattern in patterns)
    assert (why(path, lease(1, "shop/b", *patterns)) == HELD) == named


def outside(*paths: str, write: tuple[str, ...] = ("src/**", "*.md", "~/x"), ignore_case: bool = False) -> list[str]:
    fence = Fence(write, ignore_case=ignore_case)
    return [path for path in paths if fence.refusal(path) is not None]


def test_what_an_agent_is_declared_to_write() -> None:
    assert outside("src/x.py", "src/a/b", "README.md") == []
    assert outside("src", "docs/x.md", "srcs/x", "x") == ["src", "docs/x.md", "srcs/x", "x"]
    assert outside("SRC/x") == ["SRC/x"]
    assert outside("SRC/x", "readme.MD", ignore_case=True) == []
    assert outside("x", write=()) == ["x"]
    # A submodule is its own path; what is below it is not the repository's.
    assert outside("src/sub", "src/sub/") == []
    assert outside("lib", "lib/") == ["lib"]


def test_it_is_told_before_what_others_hold_and_beside_it() -> None:
    writes = Writes(ME, [lease(1, "shop/b", "**")], (), ignore_case=False, shared=True)
    found = refusals(writes, ["lib/x", "src/x"], 10, Fence(("src/**",), ignore_case=False))
    assert [(one.path, one.why) for one in found] == [("lib/x", ACCESS), ("src/x", HELD)]
