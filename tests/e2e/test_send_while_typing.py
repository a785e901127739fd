"""Messages to an agent at whose terminal a person writes as well: each arrives once and whole, and so do their own.

The agent tells of everything that it is given, by size and hash: so what was merged, cut, lost or doubled shows.
"""

import hashlib
import json
import random
import re
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.tmux]

DEMO = json.dumps([sys.executable, "-m", "corral", "demo-agent"])
TEAM = f"""
[team]
name = "shop"
[agents.a]
command = {DEMO}
workspace = "shared"
"""
MESSAGES = 300
_TOLD = re.compile(r"^message \d+: (\d+ bytes, sha256 [0-9a-f]{12})$", re.MULTILINE)


def told(text: str) -> str:
    """What the demo agent says of a message."""
    raw = text.encode()
    return f"{len(raw)} bytes, sha256 {hashlib.sha256(raw).hexdigest()[:12]}"


def messages() -> list[str]:
    """Of every kind: short, of several lines, long, in other scripts, and with what must not act as a key."""
    kinds = [
        "say: number {}",
        "say: {}\nsay: in two lines",
        "say: {} " + "wide " * 200,
        "say: {} größer 大きい больше \U0001f30d",
        "say: {};",
    ]
    return [kinds[number % len(kinds)].format(number) for number in range(MESSAGES)]


def test_300_messages_while_a_person_writes(instance: Instance) -> None:
    instance.spec(TEAM)
    instance.run("up")
    sent, written = messages(), []
    chance = random.Random(6)

    def write(person: AtTheKeyboard, stop: threading.Event) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            line = f"say: mine {number} é"
            # Noted first: an Enter that is pressed counts, whenever it is noticed.
            written.append(line)
            person.type(line + "\r", chance.uniform(0.005, 0.03))
            stop.wait(chance.uniform(3.0, 5.0))

    def send(text: str) -> str:
        return str(json.loads(instance.run("send", "--wait", "queued", "--json", "a", input=text).stdout)["message"])

    with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as person:
        with person.meanwhile(write), ThreadPoolExecutor(4) as people:
            ids = list(people.map(send, sent))
            for message in ids:
                instance.run("send", "--status", message, "--wait", "observed", "--timeout", "10m", timeout=700)
        wait_for(lambda: len(_arrived(instance)) >= MESSAGES + len(written), 30, "all that was written arrives")
        time.sleep(0.5)  # for one too many to show
    assert Counter(_arrived(instance)) == Counter(map(told, sent + written))
    # So few at the least: the faster a machine, the sooner all messages have arrived.
    assert len(written) >= 3
    instance.run("down")


def _arrived(instance: Instance) -> list[str]:
    return _TOLD.findall(instance.run("logs", "--lines", "all", "a").stdout)
