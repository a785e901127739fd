"""Whom a word means, and what is said of a word that means nobody."""

import pytest

from corral.domain.errors import NotFoundError, WrongUseError
from corral.domain.msg_parties import Known, party, recipients, shown

KNOWN = Known(
    agents={
        "shop": {"builder-1": "builder", "builder-2": "builder", "all": "all", "api-2": "api-2"},
        "toys": {"z": "z"},
    },
    people={"ann", "bob@corp"},
)


def meant(*words: str, sender: str = "ann", team: str = "shop") -> list[str]:
    return recipients(words, sender=sender, team=lambda: team, known=KNOWN)


@pytest.mark.parametrize(
    ("word", "parties"),
    [
        ("builder-1", ["shop/builder-1"]),
        ("toys/z", ["toys/z"]),
        ("@ann", ["ann"]),
        ("@bob@corp", ["bob@corp"]),
        ("role:builder", ["shop/builder-1", "shop/builder-2"]),
        ("role:api-2", ["shop/api-2"]),
        ("all", ["shop/builder-1", "shop/builder-2", "shop/all", "shop/api-2"]),
        ("shop/all", ["shop/all"]),
    ],
)
def test_a_word_means(word: str, parties: list[str]) -> None:
    assert meant(word) == parties


def test_nobody_gets_it_twice_and_the_order_is_that_of_the_words() -> None:
    assert meant("builder-2", "role:builder", "@ann", "shop/builder-1") == [
        "shop/builder-2",
        "shop/builder-1",
        "ann",
    ]


def test_a_role_and_everyone_are_the_others_but_one_may_write_to_oneself() -> None:
    assert meant("role:builder", sender="shop/builder-1") == ["shop/builder-2"]
    assert "shop/builder-1" not in meant("all", sender="shop/builder-1")
    assert meant("builder-1", sender="shop/builder-1") == ["shop/builder-1"]


@pytest.mark.parametrize(
    "word", ["", "ann", "@builder-1", "role:api", "role:", "shop/", "/z", "a/b/c", "@", "toys/all"]
)
def test_a_word_that_means_nobody_is_named_with_who_there_is(word: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        meant("builder-1", word)
    assert caught.value.details == {"unknown": [word]}
    assert "nothing was sent" in caught.value.message
    for choice in ("shop/builder-2", "role:builder", "@ann"):
        assert choice in caught.value.remedy


def test_a_role_of_which_one_is_the_only_one_is_nobody() -> None:
    with pytest.raises(NotFoundError):
        meant("role:api-2", sender="shop/api-2")


def test_a_team_is_asked_for_only_where_a_word_needs_one() -> None:
    def none() -> str:
        raise NotFoundError("no team is up")

    assert recipients(["@ann", "toys/z"], sender="ann", team=none, known=KNOWN) == ["ann", "toys/z"]
    with pytest.raises(NotFoundError, match="no team is up"):
        recipients(["z"], sender="ann", team=none, known=KNOWN)
    with pytest.raises(NotFoundError, match="as toys/y"):
        recipients(["toys/y"], sender="ann", team=none, known=KNOWN)


def test_one_party_is_not_several() -> None:
    assert party("@ann", sender="shop/all", team=lambda: "shop", known=KNOWN) == "ann"
    for word in ("all", "role:builder"):
        with pytest.raises(WrongUseError, match="may be several"):
            party(word, sender="ann", team=lambda: "shop", known=KNOWN)


def test_people_and_agents_are_never_taken_for_each_other() -> None:
    assert (shown("ann"), shown("shop/ann")) == ("@ann", "shop/ann")


def test_a_thousand_choices_are_not_all_told() -> None:
    known = Known(agents={"shop": {f"a{number}": "a" for number in range(1000)}}, people=set())
    with pytest.raises(NotFoundError) as caught:
        recipients(["x"], sender="ann", team=lambda: "shop", known=known)
    assert len(caught.value.remedy) < 1000
    assert "961 more" in caught.value.remedy


def test_a_message_among_the_recipients_is_told_where_it_belongs() -> None:
    with pytest.raises(NotFoundError) as caught:
        meant("builder-1", "the schema changed")
    assert "given with --message (-m)" in caught.value.remedy
    assert "shop/builder-2" in caught.value.remedy
    with pytest.raises(NotFoundError) as caught:
        meant("bulider-1")
    assert "--message" not in caught.value.remedy


def test_one_party_that_there_is_not_is_not_about_writing() -> None:
    with pytest.raises(NotFoundError) as caught:
        party("nobody", sender="ann", team=lambda: "shop", known=KNOWN)
    assert caught.value.message == "there is nobody called nobody"
    assert "@ann" in caught.value.remedy
    assert "role:" not in caught.value.remedy
