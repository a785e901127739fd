"""`corral doctor` as a person reads it."""

import subprocess
import sys

import pytest

from corral.cli.doctor import lines
from tests.support.instance import Instance
from tests.unit.cli.conftest import Corral

GHOST = {
    "check": "ghost_servers",
    "severity": "problem",
    "subject": "shop",
    "message": "the tmux server of team shop lives, but its socket is gone",
    "remedy": "corral doctor --fix",
    "ours": True,
    "fixable": True,
    "fixed": None,
}
SCOPE = {**GHOST, "check": "scopes", "severity": "warning", "message": "x.scope is empty", "ours": False}
DONE = [{"check": "ghost_servers", "done": True}, {"check": "scopes", "done": True}]


def shown(*findings: dict[str, object], healthy: bool = False, checked: object = DONE) -> list[str]:
    return lines({"healthy": healthy, "findings": list(findings), "checked": checked})


def test_the_verdict_comes_first_and_what_is_fine_last() -> None:
    assert shown(GHOST) == [
        "not healthy (1 problem)",
        "  ✗ ghost servers  the tmux server of team shop lives, but its socket is gone",
        "                   → corral doctor --fix",
        "  ✓ fine: scopes",
    ]


def test_nothing_found() -> None:
    assert shown(healthy=True) == ["healthy", "  ✓ fine: ghost servers, scopes"]


def test_what_was_healed_is_ticked_and_counted() -> None:
    text = shown({**GHOST, "fixed": True, "remedy": ""}, SCOPE, healthy=True)
    assert text[0] == "healthy (1 healed, 1 warning)"
    assert text[1].startswith("  ✓ ghost servers")


def test_many_alike_are_counted_and_not_listed() -> None:
    text = shown(*[SCOPE] * 77, healthy=True)
    assert len(text) == 11
    assert text[9].strip() == "… and 73 more like these (--json names them)"


def test_what_could_not_be_checked_is_said() -> None:
    checked = [{"check": "scopes", "done": False, "why": "no bus"}]
    assert shown(healthy=True, checked=checked)[-1] == "  ? scopes  not all could be checked: no bus"


def test_on_a_terminal_lines_are_broken_under_their_text_and_paths_are_not() -> None:
    path = "/run/user/1000/corral/tmux/a-rather-long-name-of-a-team.sock"
    finding = {**GHOST, "message": f"a server whose socket {path} is gone, so that nobody can reach it any more"}
    text = lines({"healthy": False, "findings": [finding], "checked": DONE}, columns=60)
    assert text[1:5] == [
        "  ✗ ghost servers  a server whose socket",
        f"                   {path}",
        "                   is gone, so that nobody can reach it any",
        "                   more",
    ]


def test_of_what_is_as_it_should_be_one_is_shown() -> None:
    assert shown(*[{**SCOPE, "severity": "ok", "remedy": ""}] * 3, healthy=True) == [
        "healthy",
        "  ✓ scopes         x.scope is empty",
        "                   … and 2 more like these (--json names them)",
        "  ✓ fine: ghost servers",
    ]


def test_a_command_line_cannot_write_on_the_readers_terminal() -> None:
    assert "\x1b" not in "".join(shown({**GHOST, "message": "\x1b[2J"}))


class TestTheCommand:
    @pytest.fixture(autouse=True)
    def result(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
        document: dict[str, object] = {"healthy": False, "findings": [GHOST], "checked": DONE}
        asked = self.asked = []  # type: list[bool]

        def run_doctor(_: object, *, fix: bool) -> dict[str, object]:
            asked.append(fix)
            return document

        monkeypatch.setattr("corral.wiring_doctor.run_doctor", run_doctor)
        return document

    def test_ends_with_5_if_something_of_ours_is_left(self, corral: Corral) -> None:
        outcome = corral("doctor")
        assert outcome.code == 5
        assert "1 thing that needs care" in outcome.err
        assert "--fix" in outcome.err

    def test_ends_with_0_if_all_is_well(self, corral: Corral, result: dict[str, object]) -> None:
        result["healthy"] = True
        assert corral("doctor").code == 0

    def test_changes_something_only_if_told_to(self, corral: Corral) -> None:
        corral("doctor")
        corral("doctor", "--fix")
        assert self.asked == [False, True]

    def test_gives_programs_the_document_and_the_error(self, corral: Corral, result: dict[str, object]) -> None:
        outcome = corral("doctor", "--json")
        assert outcome.json == result
        assert (outcome.code, outcome.error["code"]) == (5, "residue")


def test_no_other_command_loads_it(real: Instance) -> None:
    code = (
        "import sys; from corral.cli.main import main; main(['ps']);"
        "print([name for name in sys.modules if 'doctor' in name or 'diagnosis' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=real.environment(), capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
