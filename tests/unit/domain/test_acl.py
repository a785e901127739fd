"""ACLs as the kernel reads them: what is added, taken back, and who may do what by them."""

import pytest

from corral.domain.acl import Entry, acl, allowed_to, entries_of, entries_of_mode, letting, packed, without

ANN, BEN, BOT = 1000, 1001, 1002
OWNED = (ANN, ANN)


def may(entries: list[Entry], uid: int, *groups: int) -> int:
    return allowed_to(entries, OWNED, uid, groups)


def test_what_is_packed_is_read_again() -> None:
    raw = acl(7, 5, users=[(BOT, 5)], groups=[(50, 7)])
    assert packed(entries_of(raw)) == raw


@pytest.mark.parametrize("raw", [b"", b"\x02\0\0", b"\x01\0\0\0", acl(7, 5) + b"x"])
def test_what_is_no_acl_is_told(raw: bytes) -> None:
    with pytest.raises(ValueError, match="not an ACL"):
        entries_of(raw)


def test_of_a_file_without_one_the_mode_counts() -> None:
    entries = entries_of_mode(0o640)
    assert [may(entries, ANN), may(entries, BEN, ANN), may(entries, BEN, 50)] == [6, 4, 0]
    assert may(entries_of_mode(0o607), BEN) == 7
    assert may(entries_of_mode(0o407), ANN) == 4, "the owner has the owner's line, and no other"
    assert may(entries_of_mode(0o607), BEN, ANN) == 0, "and so has the group"


def test_a_user_who_is_let_in_gets_that_and_nobody_else_gets_anything() -> None:
    entries = letting(entries_of_mode(0o700), [(BOT, 7)])
    assert [may(entries, who) for who in (ANN, BOT, BEN)] == [7, 7, 0]
    assert may(entries, BEN, ANN) == 0
    assert letting(entries, [(BOT, 7)]) == entries


def test_what_a_mask_has_kept_from_somebody_stays_so() -> None:
    narrow = entries_of(acl(6, 4, users=[(BEN, 7)]))
    narrow = [one._replace(allowed=4) if one.tag == 0x10 else one for one in narrow]
    assert may(narrow, BEN) == 4
    wider = letting(narrow, [(BOT, 6)])
    assert [may(wider, BOT), may(wider, BEN)] == [6, 4]


def test_taken_back_it_is_as_before() -> None:
    before = entries_of_mode(0o750)
    assert without(letting(before, [(BOT, 7)]), BOT) == before
    two = letting(before, [(BOT, 7), (BEN, 5)])
    assert may(without(two, BOT), BEN) == 5
    assert may(without(two, BOT), BOT) == 0


def test_what_the_mask_has_kept_from_the_group_stays_so_without_it() -> None:
    entries = letting(entries_of_mode(0o750), [(BOT, 4)])
    narrow = [one._replace(allowed=4) if one.tag == 0x10 else one for one in entries]
    assert without(narrow, BOT) == entries_of_mode(0o740)


def test_of_several_groups_the_most_counts() -> None:
    entries = entries_of(acl(7, 1, groups=[(50, 6)]))
    assert may(entries, BEN, 50) == 6
    assert may(entries, BEN, 50, ANN) == 7
