"""`corral replay`: what is said of a time, and of a file, that is not what somebody may think."""

import os
import time
from pathlib import Path

from corral.domain.timestamps import timestamp
from corral.places import Places
from tests.unit.cli.conftest import Corral
from tests.unit.client.fake_daemon import FakeDaemon, Request, document, stream

NAME = "20260101T000000-abcdefabcdef"


def recorded(daemon: FakeDaemon, began: float) -> None:
    """A recording in which one thing happens, two seconds after its beginning."""
    one = {"team": "shop", "agent": "a", "recording": NAME, "began": timestamp(began), "ended": timestamp(began + 2)}
    daemon.answer("GET", "/v1/recordings", document([{**one, "bytes": 9}]))
    head = {"version": 2, "width": 80, "height": 24, "timestamp": int(began)}
    daemon.answer("GET", f"/v1/recordings/{NAME}", stream(head, [2.0, "o", "hello"]))


def test_a_time_behind_the_end_is_told(corral: Corral, daemon: FakeDaemon, tmp_path: Path) -> None:
    recorded(daemon, time.time() - 3600)
    late = corral("replay", "shop/a", "--at", "30m", "--export", str(tmp_path / "late.cast"))
    assert (late.code, "what was recorded ends 29m before that" in late.err) == (0, True)
    early = corral("replay", "shop/a", "--at", "2h", "--export", str(tmp_path / "early.cast"))
    assert (early.code, early.err) == (0, "")


def test_a_file_that_is_written_over_is_told(corral: Corral, daemon: FakeDaemon, tmp_path: Path) -> None:
    recorded(daemon, time.time() - 3600)
    words = ("replay", "shop/a", "--export", str(tmp_path / "a.cast"))
    assert corral(*words).out == f"{tmp_path}/a.cast: 1 events\n"
    assert corral(*words).out == f"{tmp_path}/a.cast: 1 events, written over what was there\n"


def test_a_daemon_that_ends_before_the_recording_is_read_is_told(
    corral: Corral, daemon: FakeDaemon, places: Places, tmp_path: Path
) -> None:
    def ends(_: Request) -> bytes:
        os.unlink(places.daemon_socket)
        return b""

    recorded(daemon, time.time() - 3600)
    daemon.answer("GET", f"/v1/recordings/{NAME}", ends)
    places.create()
    Path(places.database).touch()
    outcome = corral("replay", "shop/a", "--export", str(tmp_path / "a.cast"))
    assert (outcome.code, "the daemon is not running" in outcome.err) == (6, True)
