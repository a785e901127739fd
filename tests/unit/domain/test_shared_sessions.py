"""Who may type, and what a moderator may do about it."""

import pytest

from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError
from corral.domain.session_modes import DRIVE, END, HANDOVER, MODERATE, MUTE, OBSERVE, RELEASE, UNMUTE
from corral.domain.shared_sessions import MOST_SEATS, Company, Seat, bar_name, checked_size, checked_term


def company(**modes: str) -> Company:
    """A company in which everybody has a seat of their own name with two letters before it."""
    made = Company()
    for name, mode in modes.items():
        made = made.with_seat(Seat(id=f"s-{name}", name=name, mode=mode, since=0.0))
    return made


def typing(made: Company) -> set[str]:
    return {seat.name for seat in made.seats if not made.why_not_type(seat.id)}


def test_drivers_and_moderators_type_and_observers_never_do() -> None:
    made = company(ann=MODERATE, ben=DRIVE, cleo=OBSERVE)
    assert typing(made) == {"ann", "ben"}
    assert made.why_not_type("s-cleo") == "you only watch"
    assert made.why_not_type("s-nobody")


@pytest.mark.parametrize("action", [MUTE, HANDOVER])
def test_nothing_that_a_moderator_does_lets_an_observer_type(action: str) -> None:
    made = company(ann=MODERATE, cleo=OBSERVE)
    with pytest.raises(RefusedError, match="can never type"):
        made.steered(action, "cleo", "cleo")
    after, _ = made.steered(UNMUTE, "cleo", "cleo")
    assert typing(after) == {"ann"}


def test_whoever_is_muted_types_nothing_until_unmuted() -> None:
    made = company(ann=MODERATE, ben=DRIVE)
    muted, gone = made.steered(MUTE, "ben", "cleo")
    assert (typing(muted), gone) == ({"ann"}, ())
    assert typing(muted.steered(UNMUTE, "ben", "cleo")[0]) == {"ann", "ben"}


def test_the_keyboard_is_handed_to_one_and_given_back_when_they_leave() -> None:
    made = company(ann=MODERATE, ben=DRIVE, dora=DRIVE)
    handed, _ = made.steered(HANDOVER, "dora", "cleo")
    assert typing(handed) == {"ann", "dora"}, "a moderator always types"
    assert "dora" in handed.why_not_type("s-ben")
    assert typing(handed.without("s-dora")) == {"ann", "ben"}
    assert typing(handed.steered(RELEASE, "", "cleo")[0]) == {"ann", "ben", "dora"}


def test_a_handover_unmutes() -> None:
    muted, _ = company(ben=DRIVE).steered(MUTE, "ben", "cleo")
    assert typing(muted.steered(HANDOVER, "ben", "cleo")[0]) == {"ben"}


def test_an_end_is_of_one_or_of_all_and_leaves_the_rest_to_whoever_sends_them_away() -> None:
    made = company(ann=MODERATE, ben=DRIVE)
    assert [seat.name for seat in made.steered(END, "ben", "cleo")[1]] == ["ben"]
    assert made.steered(END, "", "cleo") == (made, made.seats)


@pytest.mark.parametrize(
    ("action", "whom", "error"),
    [
        (MUTE, "", WrongUseError),
        (MUTE, "zoe", NotFoundError),
        ("promote", "ben", WrongUseError),
        (MUTE, "twin", WrongUseError),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_remedy(action: str, whom: str, error: type[CorralError]) -> None:
    made = company(ben=DRIVE)
    for seat in ("t1", "t2"):
        made = made.with_seat(Seat(id=seat, name="twin", mode=DRIVE, since=0.0))
    with pytest.raises(error) as told:
        made.steered(action, whom, "cleo")
    assert told.value.remedy


def test_a_seat_can_be_named_by_its_id() -> None:
    made = company(ben=DRIVE).with_seat(Seat(id="s-two", name="ben", mode=DRIVE, since=0.0))
    muted, _ = made.steered(MUTE, "s-two", "cleo")
    assert [seat.muted for seat in muted.seats] == [False, True]


def test_a_company_has_a_limit() -> None:
    made = company(**{f"p{number}": OBSERVE for number in range(MOST_SEATS)})
    with pytest.raises(RefusedError):
        made.with_seat(Seat(id="more", name="more", mode=OBSERVE, since=0.0))


def test_the_status_bar_names_a_few_of_each_kind() -> None:
    made = company(ann=MODERATE, ben=DRIVE, c1=OBSERVE, c2=OBSERVE, c3=OBSERVE, c4=OBSERVE)
    assert made.line() == "ann moderates · ben drives · c1, c2, c3 +1 watch"
    assert "ben (muted)" in made.steered(MUTE, "ben", "cleo")[0].line()
    assert "ben (keyboard)" in made.steered(HANDOVER, "ben", "cleo")[0].line()
    assert Company().line() == ""


@pytest.mark.parametrize("name", ["#(reboot)", "a#[fg=red]b", "x,y}z", "n\nl", 'q"; kill-server', "é" * 99])
def test_nothing_of_a_name_is_a_format_of_tmux(name: str) -> None:
    shown = bar_name(name)
    assert not set(shown) & set("#[]{},;\"'\n$() ")
    assert len(shown) <= 24


def test_sizes_and_terms_are_brought_within_bounds() -> None:
    assert checked_size(0, 0) == (2, 2)
    assert checked_size(10**6, 10**6) == (1000, 500)
    assert checked_size(120, 40) == (120, 40)
    assert checked_term("xterm-256color") == "xterm-256color"
    for bad in ("", "../../etc/passwd", "a b", "-x", "x" * 99):
        assert checked_term(bad) == "xterm-256color"


def test_whoever_is_muted_is_told_by_whom_also_a_moderator() -> None:
    muted, _ = company(ann=DRIVE, sen=MODERATE).steered(MUTE, "sen", "ann")
    assert muted.why_not_type("s-sen") == "ann has muted you"


@pytest.mark.parametrize(("names", "told"), [((), "nobody is"), (("ann",), "ann is"), (("ann", "ben"), "ann, ben are")])
def test_who_is_not_there_is_told_with_who_is(names: tuple[str, ...], told: str) -> None:
    with pytest.raises(NotFoundError, match=f"; {told}$"):
        company(**dict.fromkeys(names, DRIVE)).meant("cleo")
