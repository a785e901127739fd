"""Where workspaces are on a host, whatever is in the file that says so."""

from pathlib import Path

import pytest

from corral.adapters.host import look


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
