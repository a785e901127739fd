"""No daemon: is nothing up, or does nobody know?"""

import os
from pathlib import Path

import pytest

from corral.client.absence import error_of_absence, nothing_is_up
from corral.domain.errors import NotFoundError, UnavailableError
from corral.places import Places


@pytest.fixture
def used(places: Places) -> Places:
    os.makedirs(places.home)
    Path(places.database).touch()
    return places


def test_an_instance_that_was_never_used_has_nothing_up(places: Places) -> None:
    assert nothing_is_up(places)
    assert isinstance(error_of_absence(places), NotFoundError)


def test_who_may_have_meant_the_shared_server_is_told_of_it(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.client.absence.host_names.HOME", str(tmp_path / "nowhere"))
    assert error_of_absence(places).remedy == "corral up starts the team of a corral.toml"
    (tmp_path / "host").mkdir()
    monkeypatch.setattr("corral.client.absence.host_names.HOME", str(tmp_path / "host"))
    assert (
        "; the shared server of this machine is for its members: sudo corral member" in error_of_absence(places).remedy
    )


def test_an_instance_at_rest_has_nothing_up(used: Places) -> None:
    Path(used.at_rest_mark).touch()
    assert nothing_is_up(used)


def test_otherwise_agents_may_be_running(used: Places) -> None:
    error = error_of_absence(used)
    assert isinstance(error, UnavailableError)
    assert (error.message, error.remedy) == ("the daemon is not running; its agents may be", "corral daemon start")


def test_of_a_shared_server_it_is_root_who_starts_the_daemon(used: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.places.host_names.RUNTIME", used.runtime)
    error = error_of_absence(used)
    assert isinstance(error, UnavailableError)
    assert error.message == "the daemon of this host is not running; agents may be"
    assert error.remedy == (
        "sudo systemctl start corral.service; journalctl --unit corral.service says why it ended"
    ), "it may do so again"


def test_the_home_of_a_shared_server_that_is_closed_is_not_taken_for_empty(
    used: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corral.client.absence.host_names.HOME", used.home)
    monkeypatch.setattr(os, "access", lambda *_: False)
    error = error_of_absence(used)
    assert isinstance(error, UnavailableError)
    assert "shared server, and closed to you" in error.message
    assert "sudo corral member add" in error.remedy
