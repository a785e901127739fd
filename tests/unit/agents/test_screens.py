"""Every profile says of each of its screens what its agent does, whether it takes a message, and what was typed."""

import pathlib
import tomllib

import pytest

from corral.agents.catalogue import profiles
from corral.agents.profile import Profile
from corral.domain import activity
from corral.domain.composer import obstacle
from corral.domain.screen_patterns import Shown

DIRECTORY = pathlib.Path(__file__).parent / "screens"
SCREENS = sorted(DIRECTORY.glob("*.txt"))
EXPECTED = tomllib.loads((DIRECTORY / "expected.toml").read_text())


def profile_of(screen: pathlib.Path) -> Profile:
    name = screen.stem.partition("-")[0]
    return next(profile for profile in profiles() if profile.name == name)


def lines_of(screen: pathlib.Path) -> list[str]:
    return screen.read_text().split("\n")


def said(profile: Profile, lines: list[str], title: str) -> str:
    reading = profile.reading(lines, title)
    if reading is None:
        return ""
    return f"{reading.rule.says} ({reading.rule.about})" if reading.rule.about else reading.rule.says


def test_of_every_screen_it_is_written_down_what_it_says() -> None:
    assert set(EXPECTED) == {screen.stem for screen in SCREENS}


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.stem)
def test_a_screen_says_what_the_agent_does(screen: pathlib.Path) -> None:
    expected = EXPECTED[screen.stem]
    assert said(profile_of(screen), lines_of(screen), expected["title"]) == expected["says"]


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.stem)
def test_a_screen_says_whether_a_message_can_be_typed(screen: pathlib.Path) -> None:
    expected = EXPECTED[screen.stem]
    in_the_way = obstacle(profile_of(screen).desk(lines_of(screen), expected["title"]))
    assert (in_the_way is None) is expected["ready"], in_the_way


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.stem)
def test_what_has_a_first_prompt_said_is_on_no_screen_without_a_composer(screen: pathlib.Path) -> None:
    profile, lines = profile_of(screen), lines_of(screen)
    is_up = any(Shown(lines).lowest(pattern) is not None for pattern in profile.ready)
    assert not is_up or profile.has_composer(lines)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.stem)
def test_a_half_written_message_is_seen(screen: pathlib.Path) -> None:
    assert profile_of(screen).draft(lines_of(screen)) == EXPECTED[screen.stem]["draft"]


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)
def test_every_rule_is_proved_on_a_screen(profile: Profile) -> None:
    spoke = {
        reading.rule.name
        for screen in SCREENS
        if profile_of(screen) is profile
        and (reading := profile.reading(lines_of(screen), EXPECTED[screen.stem]["title"])) is not None
    }
    # What the words of its maker promise, and nobody could have it show here.
    unseen = {"codex": {"attention"}, "gemini": {"working"}}.get(profile.name, set())
    # What the title says first is proved with another title below.
    by_title = {"working-line"}
    assert {rule.name for rule in profile.rules} - by_title == spoke - by_title | unseen


@pytest.mark.parametrize("name", ["claude-working", "codex-working"])
def test_without_its_title_a_working_agent_is_known_by_a_line(name: str) -> None:
    screen = DIRECTORY / f"{name}.txt"
    assert said(profile_of(screen), lines_of(screen), "") == activity.WORKING


def test_a_dialog_that_is_over_says_nothing() -> None:
    over = lines_of(DIRECTORY / "claude-permission-command.txt") + lines_of(DIRECTORY / "claude-idle.txt")
    profile = profile_of(DIRECTORY / "claude-idle.txt")
    assert said(profile, over, "✳ Claude Code") == activity.IDLE


def test_an_unknown_dialog_of_codex_is_seen_by_the_title() -> None:
    profile = profile_of(DIRECTORY / "codex-idle.txt")
    assert said(profile, ["Something new?"], "[ ! ] Action Required | shop") == "waiting (question)"


def test_an_idle_agent_is_not_taken_for_one_by_what_was_said_before() -> None:
    profile = profile_of(DIRECTORY / "claude-idle.txt")
    assert said(profile, ["❯ work", "", "● A new kind of dialog", "  1. This", "  2. That"], "✳ Claude Code") == ""


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)
def test_an_empty_screen_says_nothing(profile: Profile) -> None:
    for screen in ([], [""] * 24):
        assert not profile.has_composer(screen)
        assert profile.reading(screen) is None
        assert profile.draft(screen) == ""


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.stem)
def test_blanks_at_the_end_of_lines_do_not_matter(screen: pathlib.Path) -> None:
    title = EXPECTED[screen.stem]["title"]
    profile = profile_of(screen)
    padded, bare = ([line.rstrip() + blanks for line in lines_of(screen)] for blanks in ("   ", ""))
    assert profile.has_composer(padded) is profile.has_composer(bare)
    assert profile.draft(padded) == profile.draft(bare)
    assert said(profile, padded, title) == said(profile, bare, title)
