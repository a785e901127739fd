"""Daemon and keeper die (-9) at every step of a message: it is never typed twice, and never lost in silence."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.faults.support.population import everything
from tests.faults.support.teams import DEMO, down, events, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

#: The steps that a message comes by.
SENDING = (
    "daemon.send_queued",
    "daemon.pasting_written",
    "keeper.pasted",
    "daemon.pasted",
    "daemon.entering_written",
    "keeper.entered",
    "daemon.entered",
)
#: Where nobody else knows how far it got, and the screen does not tell either.
_MAY_BE_UNKNOWN = {"keeper.entered"}
_END = ("observed", "submitted", "unknown", "failed")


@pytest.mark.slow
@pytest.mark.parametrize("step", SENDING)
def test_killed_on_the_way(instance: Instance, own_directory: Path, step: str) -> None:
    instance.spec(toml({"a": {"command": DEMO, "workspace": "shared"}}))
    once = own_directory / "once"
    deadly = {"CORRAL_FAILPOINT": f"{step}:{once}"}
    instance.run("up", env=deadly)
    words = ["one", "two", "three"]
    instance.run("send", "--wait", "observed", "a", "say: before")
    once.touch()
    told: dict[str, str] = {}
    for word in words:
        sent = instance.run("send", "--json", "--wait", "queued", "a", f"say: word {word}", env=deadly, check=False)
        if sent.returncode == 0:
            told[word] = json.loads(sent.stdout)["message"]
        instance.run("daemon", "start", env=deadly)
    wait_for(lambda: not once.exists(), 30, "somebody dies at the step")
    instance.run("daemon", "start", env=deadly)
    ids = [event["data"]["message"] for event in events(instance) if event["event"] == "message.queued"][1:]
    # One that came to a dying daemon may not have been written, and nobody was told of it; all others are seen through.
    assert len(told) >= len(words) - 1
    assert set(told.values()) <= set(ids)
    ended = {one: wait_for(partial(_ended, instance, one), 60, f"an end of {one}") for one in ids}
    said = instance.run("logs", "--lines", "all", "a").stdout
    arrived = {word: re.findall(rf"^word {word}$", said, re.MULTILINE) for word in words}
    assert max(map(len, arrived.values())) <= 1, said
    for word, message in told.items():
        if ended[message] in ("observed", "submitted"):
            assert arrived[word], (word, ended, said)
        else:
            assert ended[message] == "unknown", (word, ended)
            assert step in _MAY_BE_UNKNOWN, (step, word)
    assert list(ended.values()).count("unknown") <= 1
    assert down(instance)["kept"] == []
    instance.run("daemon", "stop")
    wait_for(lambda: not everything(instance), 10, "daemon and keeper end")


def _ended(instance: Instance, message: str) -> str | None:
    receipt = instance.json("send", "--status", message)
    return receipt["state"] if receipt["state"] in _END else None
