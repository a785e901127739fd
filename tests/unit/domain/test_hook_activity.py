"""What an agent does, by the events of its hooks."""

import pytest

from corral.domain.activity import HOOK, IDLE, PERMISSION, WAITING, WORKING, Said
from corral.domain.hook_activity import said


@pytest.mark.parametrize(
    ("event", "word", "by"),
    [
        ("UserPromptSubmit", WORKING, "UserPromptSubmit"),
        ("user-prompt-submit", WORKING, "UserPromptSubmit"),
        ("PreToolUse", WORKING, "PreToolUse"),
        ("BeforeAgent", WORKING, "BeforeAgent"),
        ("Stop", IDLE, "Stop"),
        ("AfterAgent", IDLE, "AfterAgent"),
    ],
)
def test_an_event_says_what_it_does(event: str, word: str, by: str) -> None:
    assert said(event, {}, 7.0) == Said(word=word, by=by, at=7.0, source=HOOK)


def test_a_permission_is_waited_for() -> None:
    expected = Said(word=WAITING, about=PERMISSION, by="PermissionRequest", at=1.0, source=HOOK)
    assert said("PermissionRequest", {}, 1.0) == expected


@pytest.mark.parametrize(
    ("kind", "does"),
    [("permission_prompt", (WAITING, PERMISSION)), ("idle_prompt", (IDLE, "")), ("auth_success", None), ("", None)],
)
def test_a_notification_says_what_it_is_about(kind: str, does: tuple[str, str] | None) -> None:
    found = said("Notification", {"notification_type": kind}, 1.0)
    assert (None if found is None else (found.word, found.about)) == does


@pytest.mark.parametrize("event", ["SessionStart", "SubagentStop", "SessionEnd", "SomethingNew", ""])
def test_what_can_come_at_any_time_says_nothing(event: str) -> None:
    assert said(event, {}, 1.0) is None


@pytest.mark.parametrize("told", [None, [], "x", {"notification_type": 3}])
def test_what_cannot_be_understood_says_nothing(told: object) -> None:
    assert said("Notification", told, 1.0) is None
