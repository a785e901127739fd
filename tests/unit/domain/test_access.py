"""What sees to what an agent may touch: which directories the kernel is told of, and what is left to commits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.domain.access import (
    COMMIT,
    KERNEL,
    MERGE,
    NO_NETWORK,
    Access,
    Obstacles,
    Place,
    enforced,
    inexact,
    objections,
    place_of,
    places,
)
from corral.domain.bindings import ANY_PORT, OWN_PORTS
from corral.domain.path_patterns import of_file, parse

OLD = Obstacles(files="too old", ports="too old for ports", network="no filter")
NONE = Obstacles()


@pytest.mark.parametrize(
    ("pattern", "directory", "exact"),
    [
        ("src/**", "src", True),
        ("src/", "src", True),
        ("./src/**", "src", True),
        ("src/**/", "src", True),
        ("**", "", True),
        (r"a\*b/**", "a*b", True),
        ("src/*", "src", False),
        ("src/*.py", "src", False),
        ("src/**/*.py", "src", False),
        ("src/*/**", "src", False),
        ("*.md", "", False),
        ("**/x", "", False),
        ("README.md", "", False),
        ("docs/a/b.md", "docs/a", False),
    ],
)
def test_the_directory_of_a_pattern(pattern: str, directory: str, exact: bool) -> None:
    place = place_of(parse(pattern))
    assert ("/".join(place.parts), place.exact) == (directory, exact)


def test_a_directory_below_another_is_not_named_twice() -> None:
    assert places(("src/a/**", "src/**", "docs/*.md", "docs/**", "/srv", "~/x")) == (
        Place(("src",), exact=True),
        Place(("docs",), exact=False),
    )
    assert places(()) == ()
    assert inexact(("src/**", "*.md", "/srv")) == ("*.md",)


_PART = st.sampled_from(["a", "b", "*", "?", "a*", "[ab]", "**", r"\*"])
_PATH = st.lists(st.sampled_from(["a", "b", "ab", "*"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(_PART, min_size=1, max_size=4).map("/".join), st.sampled_from(["", "/"]), _PATH)
def test_the_kernel_is_never_told_of_less_than_is_declared(pattern: str, end: str, path: str) -> None:
    found = parse(pattern + end)
    if not found.matches(of_file(path)):
        return
    (place,) = places((pattern + end,))
    parts = tuple(path.split("/"))
    assert parts[: len(place.parts)] == place.parts
    assert len(parts) > len(place.parts)  # it is made in the directory, and is not the directory itself


@given(st.lists(_PART, min_size=1, max_size=4).map("/".join), st.sampled_from(["", "/"]), _PATH)
def test_what_is_exact_is_all_of_the_directory(pattern: str, end: str, path: str) -> None:
    (place,) = places((pattern + end,))
    if place.exact:
        assert parse(pattern + end).matches(of_file("/".join([*place.parts, path])))


@pytest.mark.parametrize(
    ("access", "obstacles", "repository", "hooks", "by"),
    [
        (Access(write=("src/**",)), NONE, True, True, KERNEL),
        (Access(write=()), NONE, True, True, KERNEL),
        (Access(write=("src/**", "*.md")), NONE, True, True, "kernel+commit"),
        (Access(write=("src/**", "*.md")), NONE, True, False, "kernel+merge"),
        (Access(write=("*.md",)), NONE, False, False, KERNEL),
        (Access(write=("src/**",)), OLD, True, True, COMMIT),
        (Access(write=("src/**",)), OLD, True, False, MERGE),
        (Access(write=("src/**",)), OLD, False, False, ""),
        (Access(write=("src/**",), enforce=COMMIT), NONE, True, True, COMMIT),
        (Access(), NONE, True, True, ""),
    ],
)
def test_who_sees_to_writing(access: Access, obstacles: Obstacles, repository: bool, hooks: bool, by: str) -> None:
    seen = enforced(access, ANY_PORT, obstacles, repository=repository, hooks=hooks)
    assert seen.write == by
    assert bool(seen.why) == ((access.write is not None and by != KERNEL) or access.write == ("*.md",))


@pytest.mark.parametrize(
    ("access", "bind", "obstacles", "repository", "said"),
    [
        (Access(), ANY_PORT, OLD, False, ""),
        (Access(write=("src/**",)), ANY_PORT, OLD, True, ""),
        (Access(), OWN_PORTS, OLD, True, 'bind = "own" is not possible here: too old for ports'),
        (Access(network=NO_NETWORK), ANY_PORT, OLD, True, 'network = "none" is not possible here: no filter'),
        (Access(read=("src/**",)), ANY_PORT, OLD, True, "read is not possible here: too old"),
        (
            Access(write=("src/**",), enforce=KERNEL),
            ANY_PORT,
            OLD,
            True,
            'write with enforce = "kernel" is not possible',
        ),
        (Access(write=("src/**",)), ANY_PORT, OLD, False, "write is not possible here: too old, and nothing looks at"),
        (Access(write=("src/**",), enforce=COMMIT), ANY_PORT, NONE, False, "write is not possible here: nothing looks"),
    ],
)
def test_what_nothing_would_see_to_is_refused(
    access: Access, bind: str, obstacles: Obstacles, repository: bool, said: str
) -> None:
    seen = enforced(access, bind, obstacles, repository=repository, hooks=repository)
    found = objections(access, bind, obstacles, seen)
    assert [message.startswith(said) and bool(remedy) for message, remedy in found] == ([True] if said else [])


def test_all_that_nothing_would_see_to_is_told_at_once() -> None:
    access = Access(write=("src/**",), read=("src/**",), network=NO_NETWORK, enforce=KERNEL)
    found = objections(access, "own", OLD, enforced(access, "own", OLD, repository=True, hooks=True))
    assert [message.split()[0] for message, _ in found] == ["bind", "network", "read", "write"]
