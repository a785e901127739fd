"""How large an agent's terminal is: as large as that of whoever is attached, and as at its start when nobody is."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.at_the_keyboard import AtTheKeyboard
from tests.support.instance import Instance
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tmux

AT_FIRST = "200x50"


def size(instance: Instance) -> str:
    socket = next(Path(instance.environment()["CORRAL_RUNTIME_DIR"], "tmux").glob("*.sock"))
    words = ["tmux", "-S", str(socket), "display-message", "-p", "-t", "=a:", "#{window_width}x#{window_height}"]
    return subprocess.run(words, env=dict(os.environ), capture_output=True, text=True, check=True).stdout.strip()


def comes_to(instance: Instance, wanted: str) -> None:
    wait_for(lambda: size(instance) == wanted, what=f"its terminal is {wanted}")


def test_a_tiny_terminal_leaves_no_tiny_agent_behind(instance: Instance) -> None:
    instance.spec('[team]\nname = "shop"\n[agents.a]\ncommand = ["cat"]\n')
    instance.run("up")
    assert size(instance) == AT_FIRST
    for columns, rows, shown in ((2, 3, "2x2"), (120, 40, "120x39")):
        with AtTheKeyboard(instance.argv("attach", "a"), instance.environment(), instance.directory) as keyboard:
            keyboard.resize(columns, rows)
            comes_to(instance, shown)
        comes_to(instance, AT_FIRST)
