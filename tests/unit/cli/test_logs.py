"""`corral logs`: text or as it came, the last lines, one agent or several, and following."""

import subprocess
import threading
from collections.abc import Iterator

from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.client.fake_daemon import FakeDaemon, Request, document, refusal, stream


def piece(text: str, agent: str = "a", time: float = 1.0) -> dict[str, object]:
    return {"team": "shop", "agent": agent, "time": time, "text": text}


CAUGHT_UP = {"caught_up": True}


class TestText:
    def test_is_cleaned_and_not_prefixed_for_one_agent(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece("\x1b[3"), piece("1mred\x1b[0m\r\n10%\r20%\r\n$ ")))
        assert corral("logs", "a").out == "red\n20%\n$ \n"

    def test_of_several_is_prefixed_and_in_the_order_of_time(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer(
            "GET", "/v1/logs", stream(piece("one\nthree\n", "a", 1), piece("fo", "a", 3), piece("two\n", "b", 2))
        )
        assert corral("logs").out == "a | one\na | three\nb | two\na | fo\n"

    def test_the_prefix_is_coloured_on_a_terminal(self, real: Instance, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece("one\n", "a"), piece("two\n", "b")))
        text = run_on_terminal(real.argv("logs"), cwd=real.directory)[1]
        assert "\x1b[36ma | \x1b[0mone" in text
        assert "\x1b[33mb | \x1b[0mtwo" in text

    def test_raw_is_as_it_came(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece("\x1b[31mred\r\n"), piece("ü")))
        assert corral("logs", "a", "--raw").out == "\x1b[31mred\r\nü"

    def test_of_an_agent_that_does_not_exist(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", refusal(404, "not_found", "there is no agent x", "corral ps"))
        assert corral("logs", "x").code == 3

    def test_of_nothing(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream())
        assert (corral("logs", "a").out, corral("logs", "a").code) == ("", 0)

    def test_never_starts_anything(self, corral: Corral) -> None:
        assert corral("logs", "a").code == 3


class TestPictures:
    PAINTED = "\x1b[?1049h\x1b[Hone\x1b[2;1Htwo"

    def test_are_pointed_at_on_a_terminal(self, real: Instance, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece(self.PAINTED, "a"), piece("plain\n", "b")))
        text = run_on_terminal(real.argv("logs"), cwd=real.directory)[1]
        assert text.count("shop/a repaints its screen: corral logs --screen shop/a shows what is on it now") == 1
        assert "shop/b" not in text
        for option in ("--json", "--raw"):
            assert "repaints" not in run_on_terminal(real.argv("logs", option), cwd=real.directory)[1]

    def test_are_pointed_at_once_before_what_follows(self, real: Instance, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece(self.PAINTED), CAUGHT_UP, piece("\r\nlater\r\n")))
        text = run_on_terminal(real.argv("logs", "-f", "a"), cwd=real.directory)[1]
        assert text.count("repaints") == 1
        assert text.index("repaints") < text.index("later")

    def test_are_not_spoken_of_where_no_person_looks(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece(self.PAINTED)))
        assert corral("logs", "a").err == ""


class TestTheQuestion:
    def test_by_default(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream())
        corral("logs", "toys/a", "toys/b")
        query = daemon.last.query
        assert (query["team"], query["agent"]) == (["toys"], ["a", "b"])
        assert (query["lines"], query["follow"]) == (["100"], ["0"])
        assert query["cwd"][0].startswith("/tmp/")
        assert "since" not in query

    def test_since_asks_for_all_lines(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream())
        corral("logs", "--since", "1970-01-01T00:01:00Z", "-f")
        assert (daemon.last.query["since"], daemon.last.query["follow"]) == (["60.0"], ["1"])
        assert "lines" not in daemon.last.query

    def test_all_lines(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream())
        corral("logs", "-n", "all")
        assert "lines" not in daemon.last.query


class TestTheLastLines:
    def test_are_counted_after_cleaning_an_agent_each(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer(
            "GET",
            "/v1/logs",
            stream(piece("a1\r\n\x1b[1ma2\r\nx\ra3\r\n", "a", 1), piece("b1\nb2\nb3", "b", 2)),
        )
        assert corral("logs", "-n2").out == "a | a2\na | a3\nb | b2\nb | b3\n"
        assert corral("logs", "-n0").out == ""

    def test_of_raw_output(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece("1\n2"), piece("2\n3"), piece("3\n")))
        assert corral("logs", "a", "--raw", "-n2").out == "22\n33\n"
        assert corral("logs", "a", "--raw", "-n1").out == "33\n"
        assert corral("logs", "a", "--raw", "-n9").out == "1\n22\n33\n"
        assert corral("logs", "a", "--raw", "-n0").out == ""


class TestFollowing:
    def test_begins_with_the_last_lines_and_goes_on_as_it_comes(self, real: Instance, daemon: FakeDaemon) -> None:
        seen, over = threading.Event(), threading.Event()

        def answer(_: Request) -> Iterator[bytes]:
            yield stream(piece("1\r\n2\r\n3\r\nunfin"), CAUGHT_UP)
            seen.wait()
            yield stream(piece("ished\r\n")).partition(b"\r\n\r\n")[2]
            over.wait()

        daemon.answer("GET", "/v1/logs", answer)
        process = subprocess.Popen(real.argv("logs", "-f", "-n2", "a"), stdout=subprocess.PIPE, cwd=real.directory)
        with process:
            assert process.stdout
            assert [process.stdout.readline(), process.stdout.readline()] == [b"2\n", b"3\n"]
            seen.set()
            assert process.stdout.readline() == b"unfinished\n"
            process.terminate()
            over.set()

    def test_an_unfinished_line_comes_out_at_the_end(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece("1\n"), CAUGHT_UP, piece("bye")))
        assert corral("logs", "-f", "a").out == "1\nbye\n"


class TestJson:
    def test_is_a_line_a_line(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece("one\r\ntwo\r\n", time=5.5)))
        assert corral("logs", "a", "--json").json_lines == [piece("one", time=5.5), piece("two", time=5.5)]

    def test_raw_is_a_line_a_piece(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/logs", stream(piece("one\r\ntwo"), CAUGHT_UP))
        assert corral("logs", "a", "--json", "--raw").json_lines == [piece("one\r\ntwo")]

    def test_an_error_in_the_stream(self, corral: Corral, daemon: FakeDaemon) -> None:
        error = {"error": {"code": "unavailable", "message": "the keeper is gone", "remedy": "wait"}}
        daemon.answer("GET", "/v1/logs", stream(piece("one\n"), CAUGHT_UP, error))
        outcome = corral("logs", "-f", "a", "--json")
        assert (outcome.code, outcome.json) == (6, piece("one"))
        assert outcome.error["code"] == "unavailable"


class TestScreen:
    def test_is_shown_as_it_is(self, corral: Corral, daemon: FakeDaemon) -> None:
        daemon.answer("GET", "/v1/screen", document({"team": "shop", "agent": "a", "lines": ["> hi", "", "ready"]}))
        assert corral("logs", "--screen", "a").out == "> hi\n\nready\n"
        assert corral("logs", "--screen", "a", "b").out.startswith("── shop/a ──\n> hi\n")
        assert corral("logs", "--screen", "a", "--json").json["lines"][2] == "ready"

    def test_needs_an_agent_and_stands_still(self, corral: Corral) -> None:
        assert corral("logs", "--screen").code == 2
        assert corral("logs", "--screen", "-f", "a").code == 2
