"""Finding the conversation of a workspace among what a coding agent keeps."""

import json
import os
from pathlib import Path

import pytest

from corral.adapters.files.transcripts import find, look, tail
from corral.domain.conversations import Transcripts
from corral.ports.conversations import ConversationsSeen

WHERE = Transcripts(
    roots=("$X_HOME/sessions", "~/.x/sessions"),
    files=("*/*.jsonl",),
    session=r"(?P<session>[a-z0-9]+)\.jsonl",
    directory="payload.cwd",
)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    directory = tmp_path / ".x" / "sessions" / "day"
    directory.mkdir(parents=True)
    return directory


def write(kept: Path, name: str, cwd: object, at: float, before: str = '{"type": "begin"}\n') -> None:
    path = kept / f"{name}.jsonl"
    path.write_text(f"{before}{json.dumps({'payload': {'cwd': cwd}})}\n")
    os.utime(path, (at, at))


def seen(tmp_path: Path, directory: str = "/w", since: float = 100.0, session: str = "") -> ConversationsSeen:
    return look(WHERE, {"HOME": str(tmp_path)}, directory=directory, since=since, session=session)


def test_the_newest_of_the_workspace_counts(tmp_path: Path, kept: Path) -> None:
    write(kept, "old", "/w", 110)
    write(kept, "new", "/w", 120)
    write(kept, "elsewhere", "/other", 130)
    assert seen(tmp_path).newest == "new"


def test_what_was_written_before_the_run_began_is_not_of_it(tmp_path: Path, kept: Path) -> None:
    write(kept, "old", "/w", 99)
    assert seen(tmp_path, session="old") == ConversationsSeen(looked=True, there=True)


def test_one_that_is_asked_for_is_found_wherever_it_was_held(tmp_path: Path, kept: Path) -> None:
    write(kept, "theirs", "/other", 50)
    assert seen(tmp_path, session="theirs").there
    assert not seen(tmp_path, session="other").there


def test_one_in_which_nothing_was_said_yet_is_not_there(tmp_path: Path, kept: Path) -> None:
    (kept / "begun.jsonl").write_text('{"type": "begin"}\n')
    assert not seen(tmp_path, session="begun").there


def test_a_workspace_that_is_reached_by_a_link_is_the_same(tmp_path: Path, kept: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write(kept, "new", str(tmp_path / "real"), 120)
    assert seen(tmp_path, directory=str(tmp_path / "link")).newest == "new"


def test_the_first_place_whose_variables_are_set_counts(tmp_path: Path, kept: Path) -> None:
    write(kept, "new", "/w", 120)
    empty = {"HOME": str(tmp_path), "X_HOME": str(tmp_path / "none")}
    assert look(WHERE, empty, directory="/w", since=0.0, session="") == ConversationsSeen(looked=True)
    assert look(WHERE, {}, directory="/w", since=0.0, session="") == ConversationsSeen(looked=True)


@pytest.mark.parametrize(
    "content", ["", "no json\n", "[1]\n", '{"payload": 1}\n', '{"payload": {"cwd": 1}}\n', "[" * 10_000]
)
def test_what_is_no_conversation_is_passed_over(tmp_path: Path, kept: Path, content: str) -> None:
    (kept / "odd.jsonl").write_text(content)
    (kept / "no id.jsonl").write_text('{"payload": {"cwd": "/w"}}\n')
    (kept / "directory.jsonl").mkdir()
    (kept / "nowhere.jsonl").symlink_to("/nonexistent")
    write(kept, "new", "/w", 120)
    assert seen(tmp_path, since=0.0).newest == "new"


def test_a_root_with_signs_of_a_pattern_is_taken_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / "[ab]*"
    (home / ".x" / "sessions" / "day").mkdir(parents=True)
    write(home / ".x" / "sessions" / "day", "new", "/w", 120)
    assert seen(home).newest == "new"


def test_the_file_of_a_conversation_is_found_or_the_newest_of_the_workspace(tmp_path: Path, kept: Path) -> None:
    write(kept, "known", "/other", 110)
    write(kept, "old", "/w", 120)
    write(kept, "new", "/w", 130)
    write(kept, "elsewhere", "/other", 140)

    def found(session: str = "", since: float = 100.0) -> str:
        home = {"HOME": str(tmp_path)}
        return os.path.basename(find(WHERE, home, directory="/w", since=since, session=session))

    assert found() == "new.jsonl"
    assert found("known") == "known.jsonl"
    assert found("known", since=115.0) == "", "nothing was written to it since"
    assert found("none") == found(since=150.0) == ""
    assert find(WHERE, {}, directory="/w", since=0, session="known") == ""


def test_of_a_long_file_the_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("x" * (1 << 20) + "\nthe last\n")
    lines = tail(str(path))
    assert lines[-2:] == [b"the last", b""]
    assert sum(map(len, lines)) < 1 << 19
    assert tail(str(tmp_path / "nothing")) == []
