"""`corral proc`: lists, output by cursor, waits, signals, and in an agent its own processes only."""

import json
import os
import subprocess
import threading
import time

import pytest

from corral.ports.processes import Survivor
from tests.support.instance import Instance
from tests.support.waiting import wait_for
from tests.unit.cli.conftest import Corral
from tests.unit.cli.house import House
from tests.unit.cli.terminal import run_on_terminal
from tests.unit.service.fake_keeper import Played, prints, runs

TROUBLE = "its output is not recorded: No space left on device"


def started(house: House, agent: str = "a", text: bytes = b"", command: str = "job") -> tuple[str, Played]:
    """A process that runs, and has written something."""
    house.keeper.at_start = runs
    reply = house.do(house.scene.exec(f"agent={agent}", command=command, background=True, stdin=True))
    process = reply.json["process_id"]
    played = house.keeper.played[process]
    if text:
        house.do(played.write(text))
    return process, played


def over(house: House, text: bytes, code: int = 0) -> str:
    """A process that has ended."""
    house.keeper.at_start = prints(text, code)
    reply = house.do(house.scene.exec("agent=a", argv=["job"]))
    return str(reply.json["process_id"])


def in_agent(monkeypatch: pytest.MonkeyPatch, agent: str, instance: str = "i", team: str = "shop") -> None:
    for name, value in (("TEAM", team), ("AGENT", agent), ("INSTANCE", instance)):
        monkeypatch.setenv(f"CORRAL_{name}", value)


class TestList:
    def test_is_a_line_a_process(self, corral: Corral, house: House) -> None:
        first, played = started(house, "a", b"x" * 2048, "npm run\n  dev")
        second, _ = started(house, "b")
        house.do(house.keeper.played[second].end(None, 9))
        lines = corral("proc", "ls", "-t", "shop").out.splitlines()
        assert lines[0].split() == ["ID", "AGENT", "STATE", "AGE", "PIDS", "OUTPUT", "COMMAND"]
        assert lines[1].split() == [first, "a", "running", lines[1].split()[3], "1", "2.0K", "npm", "run", "dev"]
        assert lines[2].split()[:3] == [second, "b", "SIGKILL"]
        assert played.running

    def test_of_one_agent_of_a_team_and_of_all(self, corral: Corral, house: House) -> None:
        ids = {agent: started(house, agent)[0] for agent in ("a", "b", "z")}
        assert corral("proc", "ls", "-q").out.split() == [ids["a"], ids["b"], ids["z"]]
        assert corral("proc", "ls", "-q", "b").out.split() == [ids["b"]]
        assert corral("proc", "ls", "-q", "toys/z").out.split() == [ids["z"]]
        assert corral("proc", "ls", "-q", "-t", "shop").out.split() == [ids["a"], ids["b"]]
        assert "toys/z" in corral("proc", "ls").out
        assert corral("proc", "ls", "--all", "b").code == 2

    def test_of_what_runs(self, corral: Corral, house: House) -> None:
        over(house, b"")
        process, _ = started(house)
        assert corral("proc", "ls", "-r", "-q").out == process + "\n"

    def test_as_json(self, corral: Corral, house: House) -> None:
        process, _ = started(house)
        (one,) = corral("proc", "ls", "--json").json
        assert (one["process_id"], one["command"], one["running"], one["exit_code"]) == (process, "job", True, None)
        assert one.keys() >= {"started_at", "pids"}

    def test_tells_of_output_that_is_not_recorded(self, corral: Corral, house: House) -> None:
        process, played = started(house)
        started(house)
        played.trouble = TROUBLE
        outcome = corral("proc", "ls")
        assert (len(outcome.out.splitlines()), outcome.err) == (3, f"corral: {process}: {TROUBLE}\n")
        assert corral("proc", "ls", "-q").err == corral("proc", "ls", "--json").err == ""

    def test_of_nothing(self, corral: Corral, house: House) -> None:
        outcome = corral("proc", "ls")
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "there is no process\n")
        assert corral("proc", "ls", "--json").json == []

    def test_on_a_terminal_no_line_is_wider_than_it(self, real: Instance, house: House) -> None:
        started(house, command="x" * 300)
        text = run_on_terminal(real.argv("proc", "ls"), columns=70, cwd=real.directory)[1]
        assert "\x1b[32mrunning\x1b[0m" in text
        plain = run_on_terminal(real.argv("proc", "ls"), columns=70, cwd=real.directory, env={"NO_COLOR": "1"})[1]
        assert max(len(line) for line in plain.replace("\r", "").splitlines()) == 70


class TestOutput:
    def test_is_all_of_it_byte_for_byte(self, real: Instance, house: House) -> None:
        data = bytes(range(256)) * 10_000
        process = over(house, data)
        done = subprocess.run(real.argv("proc", "output", process), capture_output=True, check=True)
        assert done.stdout == data

    def test_from_a_cursor_on(self, corral: Corral, house: House) -> None:
        process = over(house, b"0123456789")
        assert corral("proc", "output", "--after", "7", process).out == "789"
        assert corral("proc", "output", "--after", "10", process).out == ""

    def test_the_last_lines(self, corral: Corral, house: House) -> None:
        process = over(house, b"1\n2\n3\nlast")
        assert corral("proc", "output", "-n", "2", process).out == "3\nlast"
        assert corral("proc", "output", "-n", "0", process).out == ""
        assert corral("proc", "output", "-n", "all", process).out == "1\n2\n3\nlast"
        assert corral("proc", "output", "-n", "9", process).out == "1\n2\n3\nlast"

    def test_only_lines_that_match(self, corral: Corral, house: House) -> None:
        process = over(house, b"ok\nerror 1\nok\nerror 2")
        assert corral("proc", "output", "--filter", "^error", process).out == "error 1\nerror 2"
        assert corral("proc", "output", "--filter", "(", process).code == 2

    def test_once_there_is_some(self, corral: Corral, house: House) -> None:
        process, played = started(house, text=b"old\n")
        later = threading.Timer(0.2, lambda: house.do(played.write(b"new\n")))
        later.start()
        assert corral("proc", "output", "--after", "4", "--wait", "20s", process).out == "new\n"
        later.join()
        assert corral("proc", "output", "--after", "8", "--wait", "10ms", process).out == ""

    def test_followed(self, real: Instance, house: House) -> None:
        process, played = started(house, text=b"1\n2\n3\n")
        follower = subprocess.Popen(real.argv("proc", "output", "-f", "-n", "1", process), stdout=subprocess.PIPE)
        with follower:
            assert follower.stdout
            assert follower.stdout.readline() == b"3\n"
            house.do(played.write(b"4\n"))
            assert follower.stdout.readline() == b"4\n"
            house.do(played.end(7, close=False))
            house.do(played.write(b"late\n"))
            assert follower.stdout.readline() == b"late\n"
            house.do(played.close())
            assert follower.wait(20) == 0

    def test_as_json(self, corral: Corral, house: House) -> None:
        process = over(house, b"hello\n", 2)
        page = corral("proc", "output", "--json", process).json
        assert (page["output"], page["next"], page["omitted_bytes"], page["exit_code"]) == ("hello\n", 6, 0, 2)
        assert (page["running"], page["closed"]) == (False, True)
        assert corral("proc", "output", "--json", "--limit", "4", process).json["output"] == "hell"
        assert corral("proc", "output", "--json", process, "--after", "6").json["output"] == ""
        assert [page["output"] for page in corral("proc", "output", "-f", "--json", process).json_lines] == ["hello\n"]
        assert corral("proc", "output", "--json", over(house, b"\xff")).json["encoding"] == "base64"

    def test_that_is_not_recorded_is_told_of(self, corral: Corral, house: House) -> None:
        process, played = started(house, text=b"ready\n")
        played.trouble = TROUBLE
        outcome = corral("proc", "output", process)
        assert (outcome.code, outcome.out, outcome.err) == (0, "ready\n", f"corral: {process}: {TROUBLE}\n")
        outcome = corral("proc", "output", "--until", "ready", process)
        assert (outcome.out, outcome.err) == ("ready\n", f"corral: {process}: {TROUBLE}\n")
        outcome = corral("proc", "output", "--json", process)
        assert (outcome.json["trouble"], outcome.err) == (TROUBLE, "")
        house.do(played.end())
        outcome = corral("proc", "output", "-f", process)
        assert (outcome.out, outcome.err) == ("ready\n", f"corral: {process}: {TROUBLE}\n")  # and not twice

    @pytest.mark.parametrize(
        ("given", "shown"),
        [
            (os.fsdecode(b"p\xff\xfe"), r"p\xff\xfe"),
            ("p\x1b[31m\n", r"p\x1b[31m\n"),
            ("ä/..", "ä/.."),
            ("", "''"),
            ("-", "-"),
            ("x" * 200 + "-", "x" * 100 + "\n"),
        ],
    )
    def test_of_what_is_no_id_shows_it_as_it_was_given(
        self, corral: Corral, house: House, given: str, shown: str
    ) -> None:
        outcome = corral("proc", "output", "--", given)
        assert (outcome.code, outcome.out) == (3, "")
        assert outcome.err.startswith(f"corral: there is no process {shown.rstrip()}\n")

    @pytest.mark.parametrize("options", [[], ["-f"], ["--json"], ["--until", "x"], ["--wait", "1s"], ["-f", "--json"]])
    def test_of_an_unknown_process(self, corral: Corral, house: House, options: list[str]) -> None:
        for process in ("p0123456789", "nonsense", "../agents", "ä"):
            outcome = corral("proc", "output", *options, process)
            assert (outcome.code, outcome.out) == (3, "")


class TestUntil:
    def test_a_line_matches(self, real: Instance, house: House) -> None:
        process, played = started(house, text=b"starting\n")
        waiting = subprocess.Popen(
            real.argv("proc", "output", "--until", "listening on [0-9]+", "--wait", "30s", process),
            stdout=subprocess.PIPE,
        )
        with waiting:
            assert waiting.stdout
            assert waiting.stdout.readline() == b"starting\n"  # as it comes
            house.do(played.write(b"listening on 80\nmore\n"))
            assert waiting.stdout.read() == b"listening on 80\n"
            assert waiting.wait(20) == 0
        assert played.running

    def test_time_is_up(self, corral: Corral, house: House) -> None:
        process, _ = started(house, text=b"starting\n")
        outcome = corral("proc", "output", "--until", "ready", "--wait", "50ms", process)
        assert (outcome.code, outcome.out) == (124, "starting\n")
        assert "no line has matched 'ready' within 0.05 s" in outcome.err
        outcome = corral("proc", "output", "--until", "ready", "--wait", "50ms", "--json", process)
        assert (outcome.code, outcome.json["matched"]) == (124, False)

    def test_the_command_ends_without_it(self, corral: Corral, house: House) -> None:
        process = over(house, b"failed\n", 1)
        outcome = corral("proc", "output", "--until", "ready", process)
        assert (outcome.code, outcome.out) == (1, "failed\n")
        assert "no line matched 'ready'" in outcome.err
        assert corral("proc", "output", "--until", "ready", "--json", process).code == 1
        assert corral("proc", "output", "--until", "fail", "--json", process).code == 0

    def test_and_the_last_lines_exclude_each_other(self, corral: Corral, house: House) -> None:
        assert corral("proc", "output", "--until", "x", "-n", "3", "p0123456789").code == 2


class TestWait:
    @pytest.mark.parametrize(("code", "signal", "exits"), [(0, None, 0), (3, None, 3), (None, 11, 139)])
    def test_ends_as_the_command_did(
        self, corral: Corral, house: House, code: int | None, signal: int | None, exits: int
    ) -> None:
        process, played = started(house)
        later = threading.Timer(0.1, lambda: house.do(played.end(code, signal)))
        later.start()
        assert corral("proc", "wait", process).code == exits
        later.join()
        outcome = corral("proc", "wait", "--json", process)
        assert (outcome.code, outcome.json["exit_code"]) == (exits, exits)

    def test_for_too_long(self, corral: Corral, house: House) -> None:
        process, _ = started(house)
        outcome = corral("proc", "wait", "--timeout", "30ms", process)
        assert (outcome.code, outcome.out, outcome.err) == (124, "", f"corral: {process} has not ended after 0.03 s\n")
        outcome = corral("proc", "wait", "--timeout", "30ms", "--json", process)
        assert (outcome.code, outcome.json["running"]) == (124, True)

    def test_for_an_end_that_nobody_saw(self, corral: Corral, house: House) -> None:
        process, played = started(house)
        house.do(played.end(None, None))
        outcome = corral("proc", "wait", process)
        assert (outcome.code, outcome.out) == (1, f"{process}: unknown\n")


@pytest.mark.parametrize(
    "words",
    [
        ["wait", "--timeout", "30d"],
        ["wait", "--timeout", "366d"],
        ["output", "--wait", "366d"],
        ["output", "--wait", "366d", "--until", "e"],
        ["output", "--until", "e", "--json"],
        ["kill", "--grace", "366d"],
    ],
)
def test_a_time_as_long_as_a_year_is_one(corral: Corral, house: House, words: list[str]) -> None:
    process = over(house, b"end\n")
    assert corral("proc", *words, process).code == 0


def test_milliseconds_that_an_int_cannot_hold_are_waited_for_all_the_same(corral: Corral, house: House) -> None:
    process, played = started(house)
    later = threading.Timer(0.5, lambda: house.do(played.end(7)))
    later.start()
    # With what the answer may take besides: 2 to the 32nd, and a tenth of a second.
    assert corral("proc", "wait", "--timeout", "4294937.4s", process).code == 7
    later.join()


@pytest.mark.parametrize(
    "words", [["wait", "--timeout", "367d"], ["output", "--wait", "9" * 400], ["kill", "--grace", "60w"]]
)
def test_a_longer_one_is_wrong_use_before_anything_is_done(corral: Corral, house: House, words: list[str]) -> None:
    process, _ = started(house)
    outcome = corral("proc", *words, process)
    assert (outcome.code, "at most 366d" in outcome.err) == (2, True)
    assert house.asked("end") == []


class TestWrite:
    @pytest.mark.parametrize(
        ("words", "stdin", "written"),
        [
            (["yes"], b"", b"yes"),
            (["-n", "yes"], b"", b"yes\n"),
            (["a", "b"], b"", b"a b"),
            ([], b"\xff\x00", b"\xff\x00"),
            (["-"], b"x", b"x"),
            (["--", "-x"], b"", b"-x"),
        ],
    )
    def test_as_it_is(self, corral: Corral, house: House, words: list[str], stdin: bytes, written: bytes) -> None:
        process, played = started(house)
        outcome = corral("proc", "write", process, *words, stdin=stdin)
        assert outcome.out == f"{process}: {len(written)} bytes written\n"
        assert (played.read, played.eof) == (written, False)

    def test_the_end(self, corral: Corral, house: House) -> None:
        process, played = started(house)
        answer = corral("proc", "write", "--eof", "--json", process).json
        assert (answer, played.eof) == ({"process_id": process, "bytes": 0, "eof": True}, True)
        assert corral("proc", "write", process, "more").code == 4


class TestSteering:
    @pytest.mark.parametrize("name", ["INT", "sigint", "2"])
    def test_signals(self, corral: Corral, house: House, name: str) -> None:
        process, _ = started(house)
        assert corral("proc", "signal", process, name).out == f"{process}: SIGINT went to 1 process\n"
        assert house.asked("signal") == [{"number": 2}]
        assert corral("proc", "signal", process, name, "--json").json["reached"] == 1

    def test_what_is_no_signal(self, corral: Corral) -> None:
        outcome = corral("proc", "signal", "p0123456789", "FOO")
        assert (outcome.code, "HUP INT QUIT" in outcome.err) == (2, True)

    def test_killing(self, corral: Corral, house: House) -> None:
        process, _ = started(house)
        assert corral("proc", "kill", "--grace", "500ms", process).out == f"{process}: SIGTERM\n"
        assert house.asked("end") == [{"grace": 0.5}]

    def test_killing_what_would_not_end(self, corral: Corral, house: House) -> None:
        process, played = started(house)
        played.survivors = [Survivor(pid=77, command="stuck")]
        outcome = corral("proc", "kill", "--json", process)
        assert (outcome.code, outcome.json["left"]) == (5, [{"pid": 77, "command": "stuck"}])
        assert "77 stuck" in outcome.error["message"]

    def test_removing(self, corral: Corral, house: House) -> None:
        gone, (stays, _) = over(house, b""), started(house)
        outcome = corral("proc", "rm", stays, gone)
        assert (outcome.code, outcome.out) == (4, f"{gone}: removed\n")
        assert f"corral proc kill {stays}" in outcome.err
        house.do(house.keeper.played[stays].end())
        assert corral("proc", "rm", "--json", stays).json == [{"process_id": stays, "removed": True}]
        assert corral("proc", "rm", stays).code == 3


class TestInAnAgent:
    def test_its_own_processes_are_meant(self, corral: Corral, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        own, other = started(house, "a")[0], started(house, "b")[0]
        in_agent(monkeypatch, "a")
        assert corral("proc", "ls", "-q").out == own + "\n"
        assert corral("proc", "wait", "--timeout", "0", own).code == 124
        for words in (["output", other], ["wait", other], ["kill", other], ["signal", other, "INT"], ["rm", other]):
            outcome = corral("proc", *words, "--json")
            assert (outcome.code, outcome.error["code"]) == (3, "not_found"), words
        assert house.asked("end") == []

    def test_unless_others_are_named(self, corral: Corral, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        own, other = started(house, "a")[0], started(house, "b")[0]
        in_agent(monkeypatch, "a")
        assert corral("proc", "output", "--agent", "b", other).code == 0
        assert corral("proc", "output", "--team", "shop", other).code == 0
        assert corral("proc", "output", "--agent", "b", own).code == 3
        assert corral("proc", "ls", "-q", "--all").out.split() == [own, other]

    def test_of_another_instance_it_is_nobody(
        self, corral: Corral, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = started(house, "b")[0]
        in_agent(monkeypatch, "a", instance="another")
        assert corral("proc", "ls", "-q").out == other + "\n"

    def test_what_it_asks_for_is_journalled_with_its_name(
        self, corral: Corral, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        process, _ = started(house, "a")
        in_agent(monkeypatch, "a")
        corral("proc", "signal", process, "HUP")
        house.do(house.scene.processes.settled())
        event = house.do(house.scene.store.events(last=1))[0]
        assert (event.event, event.who.agent, event.agent) == ("process.signalled", "shop/a", "a")


def test_without_a_daemon(corral: Corral) -> None:
    for words in (["ls"], ["output", "p0123456789"], ["wait", "p0123456789"], ["kill", "p0123456789"]):
        assert corral("proc", *words).code == 3


def test_many_are_listed_quickly(real: Instance, house: House) -> None:
    house.keeper.at_start = runs

    async def many() -> None:
        for _ in range(1000):
            await house.scene.exec("agent=a", argv=["x"], background=True)

    house.do(many())
    begun = time.monotonic()
    listed = house.do(house.scene.ask("GET", "/v1/processes")).body
    assert time.monotonic() - begun < 5  # the benchmark says how quickly; here, that nothing is quadratic
    assert len(json.loads(listed)) == 1000
    assert os.path.exists(real.runtime)
    wait_for(lambda: len(house.keeper.played) == 1000)
