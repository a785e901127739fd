"""Recordings of real terminals: what is in them, what is not, and how they are played."""

import json
import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

TEAM = """
[team]
name = "shop"
{recording}
[agents.a]
command = ["bash", "--norc", "--noprofile"]
workspace = "shared"
env = {{ API_TOKEN = "hunter2-very-secret" }}
"""


def up(instance: Instance, recording: str = "[recording]") -> None:
    instance.spec(TEAM.format(recording=recording))
    instance.run("up")


def exported(instance: Instance) -> tuple[dict[str, Any], list[list[Any]]]:
    done = instance.run("replay", "a", "--export", "-")
    header, *events = map(json.loads, done.stdout.splitlines())
    return header, events


def shown(instance: Instance) -> str:
    return "".join(event[2] for event in exported(instance)[1] if event[1] == "o")


def says(instance: Instance, command: str, then: str) -> None:
    instance.run("send", "--wait", "submitted", "a", command)
    wait_for(lambda: then in instance.run("logs", "--screen", "a").stdout, 20, f"{then} is shown")


def recorded(instance: Instance, text: str) -> None:
    wait_for(lambda: text in shown(instance), 20, f"{text} is recorded")


def test_nothing_is_recorded_unless_the_file_says_so(instance: Instance) -> None:
    up(instance, "")
    says(instance, "echo wo''rd", "word")
    assert instance.json("replay", "a") == []
    done = instance.run("replay", "a", "--export", "-", check=False)
    assert (done.returncode, "[recording]" in done.stderr) == (3, True)
    assert not Path(instance.home, "recordings").exists()


def test_whoever_runs_the_instance_says_what_holds_for_teams_that_say_nothing(instance: Instance) -> None:
    home = Path(instance.home)
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[recording]\non = true\n")
    up(instance, "")
    says(instance, "echo wo''rd", "word")
    recorded(instance, "word")
    up(instance, "[recording]\non = false")
    says(instance, "echo no-mo''re", "no-more")
    assert "no-more" not in shown(instance)
    instance.run("daemon", "stop")
    (home / "config.toml").write_text("[recording]\nrequired = true\n")
    instance.run("daemon", "start")
    wait_for(lambda: "this host requires" in instance.run("ps").stderr + instance.run("ps").stdout, 20, "ps tells")
    says(instance, "echo a''gain", "again")
    recorded(instance, "again")


def test_what_a_terminal_shows_is_recorded_and_secrets_are_masked(instance: Instance) -> None:
    up(instance)
    says(instance, "echo wo''rd $API_TOKEN", "hunter2-very-secret")
    # In two pieces, with time for each to be written.
    says(instance, "printf ${API_TOKEN:0:8}; sleep 1.5; echo ${API_TOKEN:8} do''ne", "done")
    recorded(instance, "done")
    header, events = exported(instance)
    assert (header["version"], header["width"], header["height"]) == (2, 200, 50)
    assert [event[0] for event in events] == sorted(event[0] for event in events)
    assert "word ********" in shown(instance)
    files = list(Path(instance.home, "recordings").rglob("*.cast"))
    assert files
    assert all(b"hunter2" not in file.read_bytes() for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


def test_who_came_and_which_size_it_had_is_in_it_and_no_input(instance: Instance) -> None:
    up(instance)
    says(instance, "echo be''gun", "begun")
    with AtTheKeyboard(instance.argv("attach", "--drive", "a"), instance.environment(), instance.directory) as person:
        wait_for(lambda: instance.json("session", "ls"), 20, "somebody is there")
        person.resize(101, 31)
        person.type("read -s word\r")
        person.type("typed-in-secret\recho ta''ken\r")
        wait_for(lambda: "taken" in instance.run("logs", "--screen", "a").stdout)
    wait_for(lambda: any(event[1] == "m" and "left" in event[2] for event in exported(instance)[1]))
    _, events = exported(instance)
    assert any(event[1] == "m" and "joined (drive)" in event[2] for event in events)
    assert [100 + 1, 30] in [[int(part) for part in event[2].split("x")] for event in events if event[1] == "r"]
    assert {event[1] for event in events} == {"o", "r", "m"}
    assert "typed-in-secret" not in shown(instance)


def test_it_goes_on_after_a_keeper_was_killed_and_begins_with_a_picture(instance: Instance) -> None:
    up(instance)
    says(instance, "echo be''fore", "before")
    recorded(instance, "before")
    os.kill(int(Path(instance.runtime, "keeper.lock").read_text()), signal.SIGKILL)
    wait_for(lambda: instance.json("ps")[0]["state"] == "running", 30)
    says(instance, "echo af''ter", "after")
    recorded(instance, "after")
    last = instance.json("replay", "a")[-1]["recording"]
    text = next(Path(instance.home, "recordings").rglob(f"{last}.cast")).read_text()
    assert "before" in text, "the new recording begins with what was there"


def test_settings_take_effect_without_a_restart(instance: Instance) -> None:
    up(instance, "")
    says(instance, "echo not-re''corded", "not-recorded")
    up(instance)
    says(instance, "clear; echo is-re''corded", "is-recorded")
    recorded(instance, "is-recorded")
    up(instance, "[recording]\non = false")
    says(instance, "echo no-mo''re", "no-more")
    assert "no-more" not in shown(instance)


def test_it_is_played_and_left_with_a_key(instance: Instance) -> None:
    up(instance)
    says(instance, "printf '\\033]52;c;aGk=\\007'; echo pla''yed", "played")
    recorded(instance, "played")
    with AtTheKeyboard(
        instance.argv("replay", "a", "--speed", "64"), instance.environment(), instance.directory
    ) as person:
        wait_for(lambda: b"played" in person.shown and b"end" in person.shown, 20, "it is played to its end")
        person.press(b"\x1b[D")
        person.press(b" ")
        wait_for(lambda: b"paused" in person.shown, 20, "it is paused")
        assert b"\x1b]52;" not in person.shown, "nothing is put into the clipboard of whoever looks"
        person.press(b"q")
        assert person.exit_code() == 0
        wait_for(lambda: person.shown.endswith(b"\x1b[?1049l\x1b[999;1H\x1b[K\r\n"), 20, "the prompt is below it")


def test_what_is_exported_from_a_time_on_begins_then_and_not_in_the_future(instance: Instance) -> None:
    up(instance)
    says(instance, "echo ear''ly", "early")
    recorded(instance, "early")
    began = exported(instance)[0]["timestamp"]
    wait_for(lambda: time.time() > began + 2, 20, "two seconds of it are over")
    says(instance, "echo la''te", "late")
    recorded(instance, "late")
    middle = datetime.fromtimestamp(began + 2, UTC).isoformat()
    done = instance.run("replay", "a", "--at", middle, "--export", "-")
    header, *events = map(json.loads, done.stdout.splitlines())
    assert header["timestamp"] == began + 2
    at = {word: next(event[0] for event in events if word in event[2]) for word in ("early", "late")}
    assert at["early"] == 0.0 < at["late"]
    future = datetime.fromtimestamp(time.time() + 3600, UTC).isoformat()
    done = instance.run("replay", "a", "--at", future, "--export", "-", check=False)
    assert (done.returncode, "future" in done.stderr) == (2, True)


def test_a_full_disk_stops_the_recording_and_nothing_else(instance: Instance) -> None:
    up(instance)
    place = Path(instance.home, "recordings", "shop")
    says(instance, "echo be''gun", "begun")
    recorded(instance, "begun")
    for file in place.rglob("*.cast"):
        file.unlink()
    (place / "a").rmdir()
    (place / "a").write_text("in the way")
    instance.run("restart", "a")
    says(instance, "echo go''es-on", "goes-on")
    wait_for(lambda: "not recorded" in instance.run("events", "-t", "shop", "--json").stdout, 20, "it is told")
