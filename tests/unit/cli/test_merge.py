"""Merges as a person sees them: what others wrote must not act on the reader's terminal."""

from corral.cli.merge_shown import listed, shown
from corral.client.answers import Record
from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, whole

EVIL = "\x1b[2Jx\a"
GATE: Record = {
    "command": f"make {EVIL}",
    "passed": False,
    "exit_code": 2,
    "timed_out": False,
    "seconds": 1.5,
    "output": f"broken {EVIL}\nagain\n",
    "omitted": 100,
    "left": 2,
}
MERGE: Record = {
    "merge": "q12",
    "state": "failed",
    "branch": "corral/shop/a",
    "target": "main",
    "subject": f"Add {EVIL}",
    "step": "",
    "reason": f"because {EVIL}",
    "remedy": "mend it",
    "agent": "shop/a",
    "person": "ann",
    "tip": "1" * 40,
    "commit": "2" * 40,
    "batch": ["q12", "q13"],
    "files": [f"src/{EVIL}"],
    "changed_at": "2026-11-15T10:48:54.328Z",
    "gates": [GATE],
}


def test_what_others_wrote_is_harmless_everywhere() -> None:
    texts = [*listed({"merges": [MERGE]}), *shown(MERGE)]
    assert not any("\x1b" in text or "\a" in text for text in texts)
    assert sum("\ufffd" in text for text in texts) >= 5


def test_a_whole_merge_tells_whose_it_is_and_what_failed() -> None:
    lines = list(shown(MERGE))
    assert lines[0] == "q12  failed  corral/shop/a into main"
    assert "accountable: shop/a, ann" in lines
    assert "tested with: q12, q13" in lines
    assert any("exit 2, 1.5 s, 2 processes that it left were ended" in line for line in lines)
    assert "  … 100 bytes before this are not kept" in lines
    assert not any(line.startswith("merged as") for line in lines)
    assert f"merged as: {'2' * 40}" in shown({**MERGE, "state": "merged"})


def test_a_gate_whose_time_was_up_says_so() -> None:
    lines = shown({**MERGE, "gates": [{**GATE, "timed_out": True, "exit_code": None, "left": 0, "omitted": 0}]})
    assert any("(timed out, 1.5 s)" in line for line in lines)


def test_an_empty_line_prints_nothing() -> None:
    assert list(listed({"merges": []})) == []


def test_a_line_is_whole_in_a_pipe_and_cut_on_a_terminal() -> None:
    waits = "waits: " + "x" * 200
    merges: Record = {"merges": [{**MERGE, "branch": "b", "reason": "", "step": waits}]}
    assert list(listed(merges))[1].endswith(waits)
    assert all(len(line) <= 100 for line in listed(merges, 100))


def test_every_column_has_a_heading() -> None:
    head, row = listed({"merges": [MERGE]})
    assert head.split() == ["MERGE", "STATE", "BRANCH", "FOR", "SINCE", "ABOUT"]
    assert head.index("ABOUT") == row.index("because")


def test_what_is_no_merge_is_named_as_it_was_typed(corral: Corral) -> None:
    for command in ("show", "cancel", "retry"):
        outcome = corral("merge", command, "corral/shop/builder-2")
        assert (outcome.code, "'corral/shop/builder-2' is no merge" in outcome.err) == (3, True)


def test_of_an_empty_line_it_is_said_what_has_the_rest(corral: Corral, daemon: FakeDaemon) -> None:
    daemon.answer("GET", "/v1/merges", whole(b'{"merges": [], "note": ""}'))
    outcome = corral("merge", "ls")
    assert (outcome.out, outcome.err) == ("", "nothing is in line; corral merge ls --all has what is at an end\n")
    assert corral("merge", "ls", "--all").err == ""
