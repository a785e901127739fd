"""Which file is meant, whose branch it is, what a text names, and in which order it is told."""

import pytest

from corral.domain.errors import WrongUseError
from corral.domain.traces import CHANGING, COMMITTED, HOLDS, Trace, agent_of_branch, mentions, names_of, newest_first

TOPS = ["/home/ann/shop", "/home/ann/shop/.corral/worktrees/shop/a"]


@pytest.mark.parametrize(
    ("path", "cwd", "names"),
    [
        ("src/x.py", "/home/ann/shop", ["src/x.py"]),
        ("x.py", "/home/ann/shop/src", ["src/x.py", "x.py"]),
        ("../x.py", "/home/ann/shop/src", ["x.py"]),
        ("./src//x.py", "/home/ann/shop", ["src/x.py"]),
        ("x.py", f"{TOPS[1]}/src", ["src/x.py", "x.py"]),
        (f"{TOPS[1]}/src/x.py", "/", ["src/x.py"]),
        ("/home/ann/shop/src/x.py", "", ["src/x.py"]),
        ("src/x.py", "/somewhere/else", ["src/x.py"]),
        ("src/x.py", "", ["src/x.py"]),
        ("caf\udce9.py", "/home/ann/shop", ["caf\udce9.py"]),
    ],
)
def test_a_path_is_from_the_directory_or_from_the_top(path: str, cwd: str, names: list[str]) -> None:
    assert names_of(path, cwd, TOPS) == names


@pytest.mark.parametrize("path", ["", ".", "..", "../x", "a\0b", "/etc/passwd", "/home/ann/shopping/x", "x" * 5000])
def test_what_is_no_file_of_the_repository(path: str) -> None:
    with pytest.raises(WrongUseError):
        names_of(path, "/home/ann/shop", TOPS)


@pytest.mark.parametrize(
    ("branch", "agent"),
    [
        ("corral/shop/api", "shop/api"),
        ("corral/shop/api.1a2b3c", "shop/api"),
        ("corral/shop", ""),
        ("corral/shop/api/x", ""),
        ("corral/Shop/api", ""),
        ("main", ""),
        ("", ""),
    ],
)
def test_a_branch_of_an_agent_is_known_by_its_name(branch: str, agent: str) -> None:
    assert agent_of_branch(branch) == agent


@pytest.mark.parametrize(
    ("text", "is_named"),
    [
        ("mend src/x.py", True),
        ("mend `src/x.py`, then rest.", True),
        ("src/x.py.", True),
        ("(src/x.py:12)", True),
        ("src/x.pyc", False),
        ("src/x.py.orig", False),
        ("lib/src/x.py", False),
        ("src/x-py", False),
        ("-src/x.py", False),
    ],
)
def test_a_text_names_a_file_or_another(text: str, is_named: bool) -> None:
    assert mentions(text, "src/x.py") is is_named


def test_what_is_so_now_comes_first_and_stays_however_old_it_is() -> None:
    traces = [
        Trace(what=COMMITTED, time=5.0),
        Trace(what=HOLDS, time=1.0),
        Trace(what=COMMITTED, time=7.0),
        Trace(what=CHANGING, time=None),
        Trace(what=COMMITTED, time=2.0),
    ]
    told = [(one.what, one.time) for one in newest_first(traces, 4.0)]
    assert told == [(HOLDS, 1.0), (CHANGING, None), (COMMITTED, 7.0), (COMMITTED, 5.0)]
