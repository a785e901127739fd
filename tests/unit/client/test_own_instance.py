"""An instance of one's own beside a shared server: whether something may be up in it, and what is said then."""

from pathlib import Path

import pytest

from corral.client.own_instance import instance_of, look_at, own_instance
from corral.domain import host_names
from corral.places import Places


def used(home: Path) -> Places:
    own = Places(str(home), str(home / "run"))
    (home / "run" / "tmux").mkdir(parents=True)
    Path(own.database).touch()
    return own


def test_one_that_was_never_used_or_is_at_rest_is_not_told_of(tmp_path: Path) -> None:
    assert look_at(Places(str(tmp_path / "none"), str(tmp_path / "run"))) is None
    own = used(tmp_path / "h")
    assert look_at(own) is not None
    Path(own.at_rest_mark).touch()
    assert look_at(own) is None


def test_teams_are_named_by_their_sockets_with_the_command_that_takes_one_down(tmp_path: Path) -> None:
    own = used(tmp_path / "h")
    for name in ("shop.sock", "cash.host", "shop.host", "; rm -rf.sock", "note"):
        (tmp_path / "h" / "run" / "tmux" / name).touch()
    found = look_at(own)
    assert found is not None
    assert found.told("your") == (
        "teams of your own instance may still be up, beside the shared server: cash, shop",
        f"CORRAL_HOME={own.home} corral down -t cash takes it down",
    )


def test_without_names_the_command_that_shows_them_is_told(tmp_path: Path) -> None:
    own = used(tmp_path / "h")
    (tmp_path / "h" / "run" / "tmux").rmdir()
    found = look_at(own)
    assert found is not None
    assert found.told("ann's")[1] == f"CORRAL_HOME={own.home} corral ps shows them"


def test_only_who_means_the_shared_server_has_one_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used(tmp_path / ".local" / "state" / "corral")
    host = Places(host_names.HOME, host_names.RUNTIME)
    for name in ("CORRAL_HOME", "CORRAL_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert own_instance(host) is not None
    assert own_instance(Places.own({"HOME": str(tmp_path)})) is None
    monkeypatch.setenv("CORRAL_HOME", host_names.HOME)
    assert own_instance(host) is None


@pytest.mark.parametrize("session", [True, False])
def test_it_is_found_whether_it_was_started_from_a_log_in_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, session: bool
) -> None:
    home, runtime = tmp_path / "ann", tmp_path / "session"
    env = {"HOME": str(home), **({"XDG_RUNTIME_DIR": str(runtime)} if session else {})}
    places = Places.own(env)
    Path(places.tmux_dir).mkdir(parents=True)
    Path(places.home).mkdir(parents=True, exist_ok=True)
    Path(places.database).touch()
    (Path(places.tmux_dir) / "shop.sock").touch()
    found = instance_of(str(home), 4_000_000)
    assert found is not None
    assert found.teams == (() if session else ("shop",)), "the session of that uid is in another place"

    for name in ("CORRAL_HOME", "CORRAL_RUNTIME_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    mine = own_instance(Places(host_names.HOME, host_names.RUNTIME))
    assert mine is not None
    assert mine.teams == ("shop",)
