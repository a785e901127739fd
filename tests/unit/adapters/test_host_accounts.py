"""Accounts of a host of which two have one number: only one of them is meant by it."""

import grp
import pwd
from dataclasses import replace
from pathlib import Path

import pytest

from corral.adapters.host import member_look
from corral.adapters.host.accounts import HostAccounts
from corral.domain.members import Account


def _entry(name: str, uid: int) -> pwd.struct_passwd:
    return pwd.struct_passwd((name, "x", uid, 1000, "", f"/home/{name}", "/bin/sh"))


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user `twin` has the number of `ann`; that of `lost` means nobody any more."""
    accounts = {"ann": _entry("ann", 4001), "twin": _entry("twin", 4001), "lost": _entry("lost", 4002)}
    monkeypatch.setattr(pwd, "getpwnam", accounts.__getitem__)
    monkeypatch.setattr(pwd, "getpwuid", {4001: accounts["ann"]}.__getitem__)
    monkeypatch.setattr("os.getgrouplist", lambda *_: [])


def test_a_second_name_of_an_account_is_told_with_the_one_that_its_number_means(twins: None) -> None:
    plain = Account(user="ann", uid=4001)
    assert HostAccounts().find("ann") == plain
    assert HostAccounts().find("twin") == replace(plain, user="twin", namesake="ann")
    assert HostAccounts().find("lost") == Account(user="lost", uid=4002, namesake="4002")


def test_nothing_of_the_other_ends_with_the_second_name(
    twins: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grp, "getgrall", list)
    monkeypatch.setattr(member_look, "KEEPERS", str(tmp_path))
    monkeypatch.setattr(member_look, "LINGER_NOTES", str(tmp_path))
    (tmp_path / "4001").mkdir()
    for name in ("4001/keeper.sock", "ann", "twin"):
        (tmp_path / name).touch()
    seen = {name: member_look.look(name) for name in ("ann", "twin")}
    assert {name: (one.noted, one.has_keeper) for name, one in seen.items()} == {
        "ann": (True, True),
        "twin": (False, False),
    }
