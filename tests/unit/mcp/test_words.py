"""Answers in words: what matters first, then what to do, then the output."""

from corral.mcp import words

P = "p3f09ac12de"
ENDED = {
    "process_id": P,
    "running": False,
    "exit_code": 0,
    "signal": None,
    "timed_out": False,
    "output": "hello\n",
    "omitted_bytes": 0,
    "next": 6,
    "promoted": False,
    "survivors": [],
    "note": "",
}
LISTED = {
    "process_id": P,
    "command": "make",
    "running": True,
    "exit_code": None,
    "started_at": "T",
    "pids": [1],
    "bytes": 6,
}


class TestExecution:
    def test_that_ended(self) -> None:
        assert words.execution(ENDED) == f"exited with code 0 ({P})\n\nhello\n"

    def test_without_output(self) -> None:
        assert words.execution({**ENDED, "output": ""}).endswith("\n\n(no output)")

    def test_by_a_signal(self) -> None:
        text = words.execution({**ENDED, "exit_code": 137, "signal": "SIGKILL"})
        assert text.startswith("ended by SIGKILL, exit code 137")

    def test_in_a_way_that_nobody_saw(self) -> None:
        assert words.execution({**ENDED, "exit_code": None}).startswith("ended, and nobody saw")

    def test_that_goes_on(self) -> None:
        text = words.execution({**ENDED, "running": True, "exit_code": None, "timed_out": True, "note": "it goes on"})
        assert text.splitlines()[:2] == [f"running as {P}", "it goes on"]
        assert f"process_output with process_id={P} and after=6" in text

    def test_with_survivors(self) -> None:
        text = words.execution({**ENDED, "survivors": [{"pid": 7, "command": "sleep 60"}]})
        assert "still runs: pid 7, sleep 60" in text

    def test_with_something_left_out(self) -> None:
        assert "99 bytes are left out" in words.execution({**ENDED, "omitted_bytes": 99})

    def test_of_bytes(self) -> None:
        assert "base64" in words.execution({**ENDED, "output": "/w==", "encoding": "base64"})


def test_output() -> None:
    page = {**ENDED, "closed": True}
    assert words.output(page) == f"{P}: exited with code 0\nwhat follows is read with after=6\n\nhello\n"
    text = words.output({**page, "running": True, "matched": False})
    assert "no line matched" in text
    assert "running" in text


def test_a_list() -> None:
    assert words.processes({"processes": []}) == "no processes"
    assert words.processes({"processes": [LISTED]}) == f"{P}  running  since T  6 bytes  make"


def test_a_process() -> None:
    text = words.process({**LISTED, "running": False, "exit_code": 3, "trouble": "the disk is full"})
    assert text.startswith(f"{P}: exited with code 3\ncommand: make\n")
    assert "still runs: pids 1" in text
    assert "the disk is full" in text


def test_what_was_done() -> None:
    ended = {**LISTED, "running": False, "exit_code": 143, "signal": "SIGTERM"}
    assert words.killed({**ended, "left": []}) == f"{P}: ended by SIGTERM, exit code 143"
    assert "would not end: pid 9, x" in words.killed({**ended, "left": [{"pid": 9, "command": "x"}]})
    assert (
        words.written({"process_id": P, "bytes": 3, "eof": True}) == f"{P} was given 3 bytes, and the end of its input"
    )
    assert (
        words.signalled({"process_id": P, "signal": "SIGINT", "reached": 2}) == f"SIGINT was sent to 2 processes of {P}"
    )
    assert words.removed({"process_id": P, "removed": True}) == f"{P} and its output are gone"


def test_output_that_is_not_recorded_is_told_of() -> None:
    trouble = "its output is not recorded: No space left on device"
    assert trouble in words.output({**ENDED, "closed": False, "trouble": trouble})
    assert words.processes({"processes": [{**LISTED, "trouble": trouble}, LISTED]}).splitlines()[1] == f"    {trouble}"
