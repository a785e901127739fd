"""Which patterns never fit a screen, or never a composer with nothing in it; and that no other is said not to."""

import pytest

from corral.agents.catalogue import profiles
from corral.agents.profile import Profile
from corral.domain.pattern_ends import ends_in_a_blank, fits_without, wants_a_blank_at_the_end
from corral.domain.screen_patterns import Shown


@pytest.mark.parametrize("pattern", ["^> $", r"^>\s$", r"^>\s+$", r"> \z", r"\\ $", "^>\t$"])
def test_a_blank_at_the_end_of_a_line_is_nowhere(pattern: str) -> None:
    assert wants_a_blank_at_the_end(pattern)
    assert ends_in_a_blank(pattern)
    assert Shown(["> ", ">\t", "\\ "]).lowest(pattern) is None


@pytest.mark.parametrize("pattern", ["^>$", "^> *$", r"^>\s*$", "^> x$", r" \$", "^$|^> $", r"^a\\s$", "^> ?$"])
def test_what_may_fit_is_not_said_to_be_nowhere(pattern: str) -> None:
    assert not wants_a_blank_at_the_end(pattern)


def test_a_blank_at_the_end_of_a_pattern_may_be_a_mistake() -> None:
    assert ends_in_a_blank("^> ")
    assert not wants_a_blank_at_the_end("^> "), "something may follow it"
    assert not ends_in_a_blank("^>")


@pytest.mark.parametrize(
    ("draft", "empty"),
    [
        ("^chatty> (?P<text>.+)$", "chatty> "),
        ("^chatty> (?P<text>.*)$", "chatty> "),  # the blank is not looked at
        ("^>(?P<text>.+)$", "> "),
        ("^[>)]](?P<text>[^])]+)$", ">] "),
        (r"^\((?P<text>(?: \S+)+)$", "( "),
    ],
)
def test_a_draft_that_needs_words(draft: str, empty: str) -> None:
    assert not fits_without(draft, "text")
    assert Shown([empty]).last_group(draft, "text") is None
    assert Shown([f"{empty}words"]).last_group(draft, "text")


@pytest.mark.parametrize(
    "draft",
    [
        "^chatty>(?P<text>.*)$",
        "^>(?P<text>.+)?$",
        "^> (?:Type here|(?P<text>.+))$",
        "^(?:> (?P<text>.+))?x$",
        "^│ > (?P<text>.*)│$",
        "^> .*$",
    ],
)
def test_a_draft_that_may_do_without(draft: str) -> None:
    assert fits_without(draft, "text")


@pytest.mark.parametrize("profile", profiles(), ids=lambda profile: profile.name)
def test_the_drafts_that_ship(profile: Profile) -> None:
    assert fits_without(profile.draft_pattern, "text")
