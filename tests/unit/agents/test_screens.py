"""Every profile recognises the screens on which its agent can take a message, and no others."""

import pathlib

import pytest

from corral.agents.catalogue import Profile, profiles

SCREENS = sorted((pathlib.Path(__file__).parent / "screens").glob("*.txt"))


def profile_of(screen: pathlib.Path) -> Profile:
    name = screen.stem.partition("-")[0]
    return next(profile for profile in profiles() if profile.name == name)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.stem)
def test_a_screen_is_ready_exactly_if_its_name_says_so(screen: pathlib.Path) -> None:
    says_ready = screen.stem.partition("-")[2].startswith("ready")
    assert profile_of(screen).is_ready(screen.read_text().split("\n")) is says_ready


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)
def test_every_profile_is_proved_on_a_ready_screen_and_on_another_one(profile: Profile) -> None:
    kinds = [screen.stem.partition("-")[2] for screen in SCREENS if profile_of(screen) is profile]
    assert any(kind.startswith("ready") for kind in kinds)
    assert any(not kind.startswith("ready") for kind in kinds)


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)
def test_an_empty_screen_is_never_ready(profile: Profile) -> None:
    assert not profile.is_ready([])
    assert not profile.is_ready([""] * 24)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.stem)
def test_blanks_at_the_end_of_lines_do_not_matter(screen: pathlib.Path) -> None:
    lines = screen.read_text().split("\n")
    profile = profile_of(screen)
    assert profile.is_ready([line + "  " for line in lines]) is profile.is_ready([line.rstrip() for line in lines])
