"""Steps of a set-up, done by whoever runs this: what they make does not depend on the umask."""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.adapters.host import hands
from corral.domain import host_plan
from corral.domain.host_layout import Directory, File, Layout
from corral.domain.host_plan import Step


@pytest.fixture(params=[0o022, 0o077, 0o000], ids="{:o}".format)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def do(layout: Layout, action: str, path: Path) -> None:
    hands.Hands(layout).do(Step(action, str(path), "", ""))


def test_what_is_above_is_open_to_all_whatever_the_umask(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hands, "PLACE_NOTES", str(tmp_path / "notes"))
    monkeypatch.setattr(os, "fchown", lambda *_: None)
    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    places, program = tmp_path / "x" / "y" / "ws", tmp_path / "libexec" / "corral" / "helper"
    layout = Layout(
        directories=[Directory(str(places), user, group, 0o711)],
        files=[File(str(program), group, 0o750, "text", "")],
        sudoers=File(str(tmp_path / "sudoers"), group, 0o440, "", ""),
        workspaces=str(places),
    )
    do(layout, host_plan.MAKE_DIRECTORY, places)
    do(layout, host_plan.WRITE_FILE, program)
    above = [places.parent.parent, places.parent, program.parent.parent, program.parent]
    assert [f"{mode(path):o}" for path in above] == ["755"] * 4
    assert (mode(places), mode(program), mode(tmp_path / "notes")) == (0o711, 0o750, 0o644)
    now = os.umask(umask)
    assert now == umask  # whose it was has it again
