"""What takes more than one step: reading, waiting, writing, ending; through every face, contained and not."""

import base64
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.exec.faces import Answer, Face, RefusedError
from tests.support.instance import Instance
from tests.support.waiting import wait_for

LONG = "sleep 86398"


@pytest.fixture
def file(shop: Instance) -> Iterator[Path]:
    """A file in the workspace that a command can wait for, and that is not there yet."""
    path = Path(shop.directory, "file")
    yield path
    path.unlink(missing_ok=True)


def started(face: Face, command: str, **more: object) -> str:
    process: str = face.exec(command=command, background=True, **more)["process_id"]
    return process


def of(face: Face, process: str) -> Answer:
    (one,) = (one for one in face.list() if one["process_id"] == process)
    return one


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class TestReading:
    def test_by_cursor_nothing_is_lost_and_nothing_is_repeated(self, face: Face) -> None:
        process = started(face, "for i in 1 2 3; do echo line $i; sleep 0.1; done")
        text, after = "", 0
        while True:
            page = face.output(process, after=after, wait=10)
            text, after = text + page["output"], page["next"]
            if page["closed"] and not page["output"]:
                break
        assert text == "line 1\nline 2\nline 3\n"
        assert face.output(process, after=0)["output"] == text

    def test_two_readers_do_not_disturb_each_other(self, face: Face) -> None:
        process = started(face, "echo abc")
        face.wait(process, 10)
        assert face.output(process)["output"] == face.output(process)["output"] == "abc\n"
        assert face.output(process, after=1)["output"] == "bc\n"

    def test_waiting_ends_with_the_first_of_output_pattern_and_exit(self, face: Face, file: Path) -> None:
        process = started(face, f"echo one; until [ -e {file} ]; do sleep 0.02; done; echo ready now; {LONG}")
        first = face.output(process, after=0, wait=10)
        assert first["output"] == "one\n"
        file.touch()
        matched = face.output(process, after=first["next"], wait=10, until="ready")
        assert (matched["matched"], matched["output"]) == (True, "ready now\n")
        face.kill(process)
        over = face.output(process, after=matched["next"], wait=10, until="never")
        assert (over["matched"], over["running"], over["exit_code"]) == (False, False, 143)

    def test_time_that_is_up_is_no_error(self, face: Face) -> None:
        process = started(face, LONG)
        page = face.output(process, after=0, wait=0.1)
        assert (page["output"], page["running"], page["next"]) == ("", True, 0)
        face.kill(process)

    def test_a_filter_shows_the_lines_that_match_and_counts_all(self, face: Face) -> None:
        process = started(face, "printf 'a\\nerror: b\\nc\\n'")
        face.wait(process, 10)
        page = face.output(process, after=0, filter="error")
        assert (page["output"], page["next"]) == ("error: b\n", 13)

    def test_a_pattern_that_is_none_is_refused(self, face: Face) -> None:
        process = started(face, "true")
        with pytest.raises(RefusedError) as refused:
            face.output(process, after=0, until="(")
        assert refused.value.code in (0, 2)

    def test_what_is_no_utf8_comes_in_base64(self, face: Face) -> None:
        answer = face.exec(command="printf 'a\\377\\000b'")
        assert (answer["encoding"], base64.b64decode(answer["output"])) == ("base64", b"a\xff\x00b")

    def test_a_character_is_not_cut_in_two(self, face: Face, file: Path) -> None:
        process = started(face, f"printf 'a\\342\\202'; until [ -e {file} ]; do sleep 0.02; done; printf '\\254b'")
        page = face.output(process, after=0, wait=10)
        assert (page["output"], page["next"]) == ("a", 1)
        file.touch()
        assert face.output(process, after=1, wait=10)["output"] == "€b"

    def test_head_and_tail_are_kept_and_the_cut_is_counted(self, face: Face) -> None:
        answer = face.exec(command="echo first; yes 0123456 | head -c 40000000; echo last")
        assert answer["output"].startswith("first\n")
        assert answer["output"].endswith("last\n")
        assert 0 < answer["omitted_bytes"] < 40_000_011
        kept, after, left_out = 0, 0, 0
        while True:
            page = face.output(answer["process_id"], after=after, limit=100_000)
            if page["next"] == after:
                break
            left_out += page["omitted_bytes"]
            kept, after = kept + page["next"] - after - page["omitted_bytes"], page["next"]
        assert kept + left_out == after == 40_000_011
        assert left_out > 0
        face.remove(answer["process_id"])


class TestEnding:
    def test_an_exit_is_known_at_once_though_an_orphan_holds_the_output(self, face: Face, file: Path) -> None:
        began = time.monotonic()
        answer = face.exec(command=f"(until [ -e {file} ]; do sleep 0.02; done; echo late) & echo early; exit 7")
        assert time.monotonic() - began < 30
        assert (answer["output"], answer["exit_code"], answer["running"]) == ("early\n", 7, False)
        assert len(answer["survivors"]) >= 1
        page = face.output(answer["process_id"], after=0)
        assert (page["running"], page["closed"]) == (False, False)
        file.touch()
        late = face.output(answer["process_id"], after=page["next"], wait=10)
        assert late["output"] == "late\n"

    def test_a_signal_reaches_the_whole_tree_also_when_its_leader_is_gone(self, face: Face) -> None:
        answer = face.exec(command=f"(setsid {LONG} & {LONG} &)")
        pids = [survivor["pid"] for survivor in answer["survivors"]]
        assert len(pids) == 2
        assert face.signal(answer["process_id"], "TERM")["reached"] == 2
        wait_for(lambda: not any(map(is_alive, pids)), what="their end")

    def test_kill_asks_first_and_then_does_not_ask(self, face: Face) -> None:
        process = started(face, f"trap '' TERM; echo deaf; {LONG} & wait; {LONG}")
        face.output(process, after=0, wait=10)
        ended = face.kill(process, grace=0.2)
        assert (ended["exit_code"], ended["signal"], ended["left"]) == (137, "SIGKILL", [])

    def test_what_can_tidy_up_gets_the_time_to(self, face: Face) -> None:
        process = started(face, "trap 'echo tidy; exit 5' TERM; echo up; while :; do sleep 0.05; done")
        face.output(process, after=0, wait=10)
        ended = face.kill(process)
        assert (ended["exit_code"], ended["signal"]) == (5, None)
        lines = face.output(process, after=0)["output"].splitlines()
        assert (lines[0], lines[-1]) == ("up", "tidy")  # between them bash may tell of its child

    def test_int_is_ctrl_c(self, face: Face) -> None:
        process = started(face, "python3 -c 'import time; print(1, flush=True); time.sleep(1000)'")
        face.output(process, after=0, wait=10)
        face.signal(process, "INT")
        ended = face.wait(process, 10)
        assert (ended["running"], ended["exit_code"] in (1, 130)) == (False, True)
        assert "KeyboardInterrupt" in face.output(process, after=0)["output"]

    def test_int_reaches_the_foreground_of_a_terminal(self, face: Face) -> None:
        process = started(
            face, "set -m; sh -c 'trap \"echo got it; exit 9\" INT; echo up; sleep 1000 & wait'; echo $?", tty=True
        )
        face.output(process, after=0, wait=10, until="up")
        face.signal(process, "INT")
        face.wait(process, 10)
        assert "got it" in face.output(process, after=0)["output"]

    def test_waiting_for_the_end(self, face: Face) -> None:
        process = started(face, "sleep 0.1; exit 4")
        assert face.wait(process, 10)["exit_code"] == 4
        other = started(face, LONG)
        assert face.wait(other, 0.1)["running"] is True
        face.kill(other)


class TestInput:
    def test_it_is_written_to_and_told_the_end(self, face: Face) -> None:
        process = started(face, "tr a-z A-Z", stdin=True)
        face.write(process, b"abc")
        face.write(process, b"def\n", eof=True)
        assert face.wait(process, 10)["exit_code"] == 0
        assert face.output(process, after=0)["output"] == "ABCDEF\n"

    def test_it_takes_any_byte(self, face: Face) -> None:
        process = started(face, "od -An -tx1", stdin=True)
        face.write(process, b"\x00\xff\x04", eof=True)
        face.wait(process, 10)
        assert face.output(process, after=0)["output"].split() == ["00", "ff", "04"]

    def test_one_that_was_not_started_for_it_is_refused(self, face: Face) -> None:
        process = started(face, LONG)
        with pytest.raises(RefusedError) as refused:
            face.write(process, b"x")
        assert refused.value.code in (0, 4)
        face.kill(process)

    def test_a_terminal_is_typed_into(self, face: Face) -> None:
        process = started(face, "read -r name; echo hello $name", tty=True, stdin=True)
        face.write(process, b"ada\n")
        face.wait(process, 10)
        assert "hello ada" in face.output(process, after=0)["output"]


class TestWhich:
    def test_an_id_that_was_never_given_is_not_found(self, face: Face) -> None:
        for ask in (face.output, face.remove, face.kill):
            with pytest.raises(RefusedError) as refused:
                ask("p0000000000")
            assert refused.value.code in (0, 3)

    def test_another_agents_id_is_not_found(self, face: Face, shop: Instance) -> None:
        other = shop.json("exec", "shop/b", "--background", "-c", LONG)["process_id"]
        with pytest.raises(RefusedError) as refused:
            face.output(other)
        assert refused.value.code in (0, 3)
        assert other not in {one["process_id"] for one in face.list()}
        shop.json("proc", "kill", other)

    def test_a_list_tells_what_it_is_and_what_runs_of_it(self, face: Face) -> None:
        process = started(face, f"{LONG} & {LONG}")
        wait_for(lambda: len(of(face, process)["pids"]) == 3, what="the shell and both of its children")
        one = of(face, process)
        assert (one["command"], one["running"], one["exit_code"]) == (f"{LONG} & {LONG}", True, None)
        assert all(map(is_alive, one["pids"]))
        face.kill(process)
        assert of(face, process)["pids"] == []

    def test_a_record_is_dropped_when_nothing_runs(self, face: Face) -> None:
        process = started(face, LONG)
        with pytest.raises(RefusedError) as refused:
            face.remove(process)
        assert refused.value.code in (0, 4)
        face.kill(process)
        face.remove(process)
        assert process not in {one["process_id"] for one in face.list()}

    def test_each_has_a_session_of_its_own(self, face: Face) -> None:
        process = started(face, f"exec {LONG}")
        (pid,) = of(face, process)["pids"]
        assert os.getsid(pid) == os.getpgid(pid) == pid
        face.kill(process)

    def test_each_is_born_in_a_cgroup_of_its_own_below_its_agents(self, face: Face, shop: Instance) -> None:
        level = shop.json("ps")[0]["containment"]
        answer = face.exec(command="cat /proc/self/cgroup")
        below = {"systemd": "/corral-shop-a.scope/", "cgroup": "/shop/a/", "process": ""}[level]
        assert (f"{below}process-{answer['process_id']}\n" in answer["output"]) == (level != "process")

    def test_a_directory_that_is_not_there_is_refused(self, face: Face) -> None:
        with pytest.raises(RefusedError) as refused:
            face.exec(command="true", workdir="no/such/place")
        assert refused.value.code in (0, 2, 3)

    def test_a_program_that_is_not_there_is_refused(self, face: Face) -> None:
        with pytest.raises(RefusedError) as refused:
            face.exec(argv=["no-such-program-here"])
        assert refused.value.code in (0, 3)
