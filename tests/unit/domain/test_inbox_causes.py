"""What is told of why somebody is needed: what is asked, of which directory, and lines that say something."""

from dataclasses import replace

from corral.domain import states
from corral.domain.activity import WAITING, Activity
from corral.domain.dialogs import Dialog
from corral.domain.inbox_causes import of_activity, of_failure, of_stuck
from tests.support.records import AGENT

RULE = "─" * 100
RUNS = replace(AGENT, state=states.RUNNING, run="r1", workspace="/home/ann/shop")


def asks(dialog: Dialog) -> Activity:
    return Activity(word=WAITING, about=dialog.about, evidence="screen: x", since=1.0)


def test_of_a_trust_dialog_it_is_told_what_would_be_trusted() -> None:
    dialog = Dialog(
        rule="trust", about="trust", line="Do you trust it?", lines=("Do you?",), key="k", mark="m", approve=("1",)
    )
    assert of_activity(RUNS, asks(dialog), ["Do you?"], dialog).what == "Do you trust it? (/home/ann/shop)"


def test_a_dialog_is_shown_without_the_rules_around_it_and_with_those_within() -> None:
    lines = (RULE, " ☐ Colour", "", "Which?", "❯ 1. Red", RULE, "  2. Chat", "╰───╯")
    dialog = Dialog(rule="q", about="question", line="Which?", lines=lines, key="k", mark="m", deny=("Escape",))
    assert of_activity(RUNS, asks(dialog), list(lines), dialog).lines == lines[1:-1]


def test_of_a_screen_without_a_dialog_frames_and_an_empty_composer_take_no_room() -> None:
    above = [f"line {number}" for number in range(10)]
    screen = [*above, "", "· Fiddle-faddling… (56s)", "", RULE, "❯\u00a0", RULE, "  ? for shortcuts", ""]
    cause = of_stuck(replace(RUNS, stuck_since=1.0), screen)
    assert cause.lines == (*above[-6:], "· Fiddle-faddling… (56s)", "  ? for shortcuts")
    assert cause.screen == tuple(line.rstrip() for line in screen[:-1])


def test_what_points_at_a_mistake_is_no_frame() -> None:
    words = "  File x\n    1 +\n      ^^^\nSyntaxError"
    assert of_failure(replace(RUNS, state=states.FAILED, last_words=words)).lines == tuple(words.split("\n"))
