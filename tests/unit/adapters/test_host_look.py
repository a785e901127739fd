"""Where workspaces are on a host, whatever is in the file that says so; who has a password, or a service manager."""

from pathlib import Path

import pytest

from corral.adapters.host import look, tools
from corral.domain.host_trust import Entry, impassable


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"workspaces": "/data/ws"}', "/data/ws"),
        ('{"workspaces": "/tmp/x"}', "/srv/corral"),
        ('{"workspaces": "relative"}', "/srv/corral"),
        ('{"workspaces": 7}', "/srv/corral"),
        ("[]", "/srv/corral"),
        ("rubbish", "/srv/corral"),
    ],
)
def test_a_place_where_none_can_be_is_mended_as_rubbish_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, place: str
) -> None:
    file = tmp_path / "host.json"
    monkeypatch.setattr(look, "SETTINGS", str(file))
    assert look.workspaces() == "/srv/corral"
    file.write_text(text)
    assert look.workspaces() == place


@pytest.mark.parametrize(
    ("field", "has"), [("!", False), ("*", False), ("!$6$x", False), ("!!", False), ("$y$j9T$x", True), ("", True)]
)
def test_a_password_is_one_unless_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, has: bool
) -> None:
    shadow = tmp_path / "shadow"
    shadow.write_text(f"root:$y$x:1::::::\ncorral:{field}:20000::::::\n")
    monkeypatch.setattr(look, "_SHADOW", str(shadow))
    assert look._has_password("corral") == has


def test_a_service_manager_counts_as_long_as_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    units = "user@1000.service loaded active running x\nuser@0.service loaded active running x\n"
    monkeypatch.setattr(tools, "do", lambda *_: units)
    assert look._managers() == {1000, 0}


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (Entry("/srv", 0, 0o040755), None),
        (Entry("/srv", 0, 0o041777), None),
        (Entry("/srv", 0, 0o040711), None),
        (Entry("/srv", 0, 0o040777), "can be changed by others (mode 0777)"),
        (Entry("/srv", 0, 0o040775), "can be changed by others (mode 0775)"),
        (Entry("/srv", 0, 0o040700), "cannot be passed by everybody (mode 0700)"),
        (Entry("/srv", 7, 0o040755), "belongs to uid 7, not to root"),
        (Entry("/srv", 0, 0o120777), "is a link"),
    ],
)
def test_a_way_to_workspaces_is_one_that_the_helper_goes_and_users_can(entry: Entry, fault: str | None) -> None:
    assert impassable([entry]) == ([] if fault is None else [f"/srv {fault}"])
