"""Which directories the environment names, and that another home alone is another instance."""

import grp
import os
from pathlib import Path

import pytest

from corral.domain import host_names
from corral.places import Places, _daemon_is_away

_SESSION = {"HOME": "/home/ada", "XDG_RUNTIME_DIR": "/run/user/1000"}


def _runtime(**more: str) -> str:
    return Places.from_environment({**_SESSION, **more}).runtime


def test_the_defaults_follow_xdg() -> None:
    places = Places.from_environment(_SESSION)
    assert (places.home, places.runtime) == ("/home/ada/.local/state/corral", "/run/user/1000/corral")
    assert Places.from_environment({"HOME": "/home/ada"}).runtime == "/home/ada/.local/state/corral/run"


def test_another_home_has_sockets_of_its_own() -> None:
    assert len({_runtime(), _runtime(CORRAL_HOME="/srv/one"), _runtime(CORRAL_HOME="/srv/two")}) == 3
    assert _runtime(CORRAL_HOME="/srv/one").startswith("/run/user/1000/corral-")
    assert _runtime(CORRAL_HOME="/srv/one") == _runtime(CORRAL_HOME="/srv/x/../one")


def test_the_default_home_by_its_name_is_the_default_instance() -> None:
    assert _runtime(CORRAL_HOME="/home/ada/.local/state/corral") == _runtime()


def test_what_is_named_is_used() -> None:
    assert _runtime(CORRAL_HOME="/srv/one", CORRAL_RUNTIME_DIR="/run/one") == "/run/one"


def test_a_member_of_a_shared_server_stays_with_it_while_its_daemon_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keepers, socket = tmp_path / "keepers", tmp_path / "daemon.sock"

    def is_away() -> bool:
        return _daemon_is_away(str(keepers), str(socket))

    members = grp.struct_group(("corral-members", "x", 7001, []))
    monkeypatch.setattr("grp.getgrall", lambda: [members])
    monkeypatch.setattr("os.getgroups", lambda: [7001])
    monkeypatch.setattr("os.geteuid", lambda: 7000)
    assert not is_away(), "this is no shared server"
    keepers.mkdir()
    assert is_away()
    monkeypatch.setattr("os.getgroups", lambda: [7002])
    assert not is_away(), "and this is none of its members"
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert is_away(), "root has no instance of its own there either"
    monkeypatch.setattr("os.geteuid", lambda: 7000)
    monkeypatch.setattr("os.getgroups", lambda: [7001])
    socket.touch()
    assert not is_away(), "whoever may not speak to it is none"


def test_on_a_shared_server_what_its_daemon_wrote_counts_for_whoever_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = os.stat(tmp_path).st_uid
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    assert Places(str(tmp_path), host_names.RUNTIME).writers == {0, 65534, daemon}
    assert Places(str(tmp_path), str(tmp_path)).writers == {0, 65534}, "elsewhere it is nobody's but one's own"
    assert Places(str(tmp_path / "not-yet"), host_names.RUNTIME).writers == {0, 65534}
