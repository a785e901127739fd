"""What a hook is told: which paths are refused, that nobody answers, or that there is nothing to ask about."""

import subprocess
import sys
from pathlib import Path

import pytest

from corral.domain.errors import RefusedError
from corral.hook.asking import Asker, DaemonSilentError, refused_writes
from corral.places import Places
from tests.unit.client.fake_daemon import FakeDaemon, refusal, whole

ASKER = Asker("shop", "a", "run1")
LINE = "src/x.py\theld\tshop/b\tsrc/\texclusive\tl7\t7\tSINCE\tUNTIL\t\n"


def test_what_is_refused_comes_in_columns(daemon: FakeDaemon, places: Places) -> None:
    daemon.answer("POST", "/v1/writes/check", whole(LINE.encode()))
    (refused,) = refused_writes(places, ASKER, [b"src/x.py", b"\xff"], ignore_case=True, shared=False)
    assert (refused.path, refused.why, refused.holder, refused.token) == ("src/x.py", "held", "shop/b", "7")
    assert "shop/b holds src/ (token 7) since SINCE, until UNTIL" in refused.sentence
    asked = daemon.last
    assert asked.body == b"src/x.py\0\xff\0"
    assert asked.headers["accept"] == "text/tab-separated-values"
    wanted = {"team": ["shop"], "agent": ["a"], "run": ["run1"], "ignore_case": ["1"], "shared": ["0"]}
    assert asked.query == wanted


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x\tlost\tshop/b\tx\texclusive\tl7\t7\tS\tU\t3\n", "that you had (token 3) is lost: shop/b got x (token 7)"),
        ("x\tstale\tshop/a\tx\texclusive\tl7\t7\tS\tU\t\n", "this process is of an earlier run"),
    ],
)
def test_the_sentence_says_what_is_the_matter(daemon: FakeDaemon, places: Places, line: str, words: str) -> None:
    daemon.answer("POST", "/v1/writes/check", whole(line.encode()))
    (refused,) = refused_writes(places, ASKER, [b"x"])
    assert words in refused.sentence


def test_many_paths_are_asked_about_in_portions(daemon: FakeDaemon, places: Places) -> None:
    daemon.answer("POST", "/v1/writes/check", whole(b""))
    paths = [b"path/%d" % number for number in range(45_000)]
    assert refused_writes(places, ASKER, paths) == []
    bodies = [request.body for request in daemon.requests]
    assert len(bodies) == 3
    assert b"".join(bodies) == b"".join(path + b"\0" for path in paths)
    assert refused_writes(places, ASKER, []) == []
    assert len(daemon.requests) == 3


def test_where_no_team_is_up_nobody_holds_anything(places: Places) -> None:
    assert refused_writes(places, ASKER, [b"x"]) == []
    places.create()
    Path(places.database).touch()
    Path(places.at_rest_mark).touch()
    assert refused_writes(places, ASKER, [b"x"]) == []


def test_a_daemon_that_is_missing_is_no_answer(places: Places) -> None:
    places.create()
    Path(places.database).touch()
    with pytest.raises(DaemonSilentError, match="not running") as caught:
        refused_writes(places, ASKER, [b"x"])
    assert "corral daemon start" in caught.value.remedy


def test_a_daemon_that_stays_silent_or_knows_nothing_of_it_is_no_answer(daemon: FakeDaemon, places: Places) -> None:
    daemon.answer("POST", "/v1/writes/check", b"")
    with pytest.raises(DaemonSilentError, match="never came"):
        refused_writes(places, ASKER, [b"x"])
    daemon.answer("POST", "/v1/writes/check", refusal(404, "not_found", "no", ""))
    with pytest.raises(DaemonSilentError, match="another version"):
        refused_writes(places, ASKER, [b"x"])


def test_another_error_is_an_answer(daemon: FakeDaemon, places: Places) -> None:
    daemon.answer("POST", "/v1/writes/check", refusal(409, "refused", "no", ""))
    with pytest.raises(RefusedError, match="no"):
        refused_writes(places, ASKER, [b"x"])


def test_who_asks_is_known_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TEAM", "shop"), ("AGENT", "b"), ("INSTANCE", "i1"), ("RUN", "r9")):
        monkeypatch.setenv(f"CORRAL_{name}", value)
    asker = Asker.from_environment("i1")
    assert asker is not None
    assert (asker.team, asker.agent, asker.run) == ("shop", "b", "r9")
    assert Asker.from_environment("another") is None
    monkeypatch.delenv("CORRAL_AGENT")
    assert Asker.from_environment() is None


def test_a_hook_of_git_loads_next_to_nothing() -> None:
    """Every module here is time that each commit takes."""
    library = str(Path(__file__).parents[3] / "src")
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import corral.hook.git_hook; "
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('corral')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, library], capture_output=True, text=True, check=True
    )
    # With -S not even these are there at the start, which Python mostly has anyway.
    usual = {"os", "stat", "_stat", "posixpath", "genericpath", "os.path", "_collections_abc", "abc", "_abc", "errno"}
    assert set(done.stdout.split()) - usual == {"_socket"}
