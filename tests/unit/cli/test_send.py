"""`corral send`: the bytes of a message, from words or from standard input, and what cannot be one."""

import os

import pytest

from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.fake_daemon import FakeDaemon, document

ANSWER = {"team": "shop", "agent": "builder-1", "message": "m1", "state": "submitted", "bytes": 5}
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _answers(daemon: FakeDaemon) -> None:
    daemon.answer("POST", "/v1/send", document(ANSWER))


class TestTheMessage:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["hello"], "hello"),
            (["fix", "the", "test"], "fix the test"),
            (["two\nlines;"], "two\nlines;"),
            (["--", "--help"], "--help"),
            (["ends", "with", ";"], "ends with ;"),
            (["größer 🐎"], "größer 🐎"),
            (["-", "b"], "- b"),
        ],
    )
    def test_from_words(self, corral: Corral, daemon: FakeDaemon, words: list[str], message: str) -> None:
        assert corral("send", "builder-1", *words).code == 0
        assert daemon.last.body.decode() == message

    @pytest.mark.parametrize("words", [[], ["-"]])
    def test_from_standard_input_byte_for_byte(self, corral: Corral, daemon: FakeDaemon, words: list[str]) -> None:
        message = "line\r\n\n\ttabs; 🐎 \n".encode()
        assert corral("send", "builder-1", *words, stdin=message).code == 0
        assert daemon.last.body == message

    def test_of_a_mebibyte_through_a_real_pipe(self, real: Instance, daemon: FakeDaemon) -> None:
        message = b"x" * MIB
        real.run("send", "builder-1", input=message)
        assert daemon.last.body == message


class TestWhatCannotBeSent:
    @pytest.mark.parametrize(
        ("stdin", "why"), [(b"x" * (MIB + 1), "longer than 1 MiB"), (b"a\xff", "not UTF-8"), (b"", "empty")]
    )
    def test_is_wrong_use(self, corral: Corral, daemon: FakeDaemon, stdin: bytes, why: str) -> None:
        outcome = corral("send", "builder-1", stdin=stdin)
        assert outcome.code == 2
        assert why in outcome.err
        assert daemon.requests == []

    def test_words_that_are_no_utf8(self, corral: Corral) -> None:
        assert corral("send", "builder-1", os.fsdecode(b"\xff")).code == 2

    def test_nothing_on_a_terminal(self, real: Instance) -> None:
        code, text = run_on_terminal(real.argv("send", "builder-1"), cwd=real.directory)
        assert code == 2
        assert "there is no text to send" in text


class TestTheQuestion:
    def test_names_agent_team_and_place(self, corral: Corral, daemon: FakeDaemon) -> None:
        corral("send", "shop/builder-1", "hi")
        query = daemon.last.query
        assert (query["team"], query["agent"], query["enter"]) == (["shop"], ["builder-1"], ["1"])
        assert query["cwd"] == [os.getcwd()]

    def test_enter_can_be_left_to_a_person(self, corral: Corral, daemon: FakeDaemon) -> None:
        corral("send", "--no-enter", "builder-1", "hi")
        assert daemon.last.query["enter"] == ["0"]

    def test_a_service_is_spoken_to_only_by_force(self, corral: Corral, daemon: FakeDaemon) -> None:
        corral("send", "db", "hi")
        assert "force" not in daemon.last.query
        corral("send", "--force", "db", "hi")
        assert daemon.last.query["force"] == ["1"]

    @pytest.mark.parametrize("name", ["", "/", "shop/", "/builder", "a/b/c"])
    def test_what_names_no_agent(self, corral: Corral, name: str) -> None:
        assert corral("send", name, "hi").code == 2

    def test_two_different_teams(self, corral: Corral) -> None:
        outcome = corral("send", "-t", "toys", "shop/builder-1", "hi")
        assert (outcome.code, outcome.err.splitlines()[0]) == (2, "corral: shop/builder-1 is not of team toys")


def test_the_answer(corral: Corral) -> None:
    assert corral("send", "builder-1", "hi").out == "shop/builder-1: submitted (5 bytes)\n"
    assert corral("send", "builder-1", "hi", "--json").json == ANSWER
