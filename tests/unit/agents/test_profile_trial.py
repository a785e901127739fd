"""What is told to whoever writes a profile: which of its patterns say where to type, as who types goes by them."""

import pytest

from corral.agents.profile_file import read_profile
from corral.agents.profile_trial import places
from corral.domain.composer import obstacle
from corral.keeper.desk import desk
from corral.ports.keyboard import Glimpse
from tests.unit.agents.test_catalogue import GOOD, SCREEN

NO_PLACE = "it shows no place to type a message now"


def test_each_pattern_says_how_it_fares() -> None:
    text = GOOD.replace("['^>$']", "['^>$', '^Ready to ']") + "draft = '^>(?P<text>.*)$'\n"
    profile = read_profile(text, "/x.toml")
    first, second, draft = places(profile, ["Ready to", "> "])
    assert (first.key, first.pattern, first.why_not, first.shown) == ("ready", "^>$", "", ">")
    assert second.why_not == "no line matches; it ends in a blank, and blanks at the ends of lines are not looked at"
    assert (draft.key, draft.why_not, draft.shown) == ("draft", "", "")
    assert places(profile, ["> half"])[2].shown == "half"
    assert places(profile, ["nothing"])[2].why_not == "the screen does not match"


def test_ready_does_not_do_where_there_is_a_draft_that_does_not_fit() -> None:
    # So much stands before the words that nobody can tell by the pattern that there are none.
    profile = read_profile(f"{GOOD}draft = '^(?:> (?P<text>.+))$'\n", "/x.toml")
    ready, draft = places(profile, ["> "])
    assert not ready.why_not
    assert "it has to match an empty composer, too" in draft.why_not
    in_the_way = obstacle(profile.desk(["> "]))
    assert in_the_way is not None
    assert in_the_way.reason == NO_PLACE


@pytest.mark.parametrize("draft", ["", "draft = '^(?:> (?P<text>.+))$'\n", "draft = '^>(?P<text>.*)$'\n"])
@pytest.mark.parametrize("screen", [[">"], ["> half"], ["Allow?"], ["nothing"]], ids=str)
def test_who_types_goes_by_the_same(draft: str, screen: list[str]) -> None:
    profile = read_profile(GOOD + draft + SCREEN, "/x.toml")
    assert desk(profile, Glimpse(lines=screen)) == profile.desk(screen)
