"""Pressing keys into what a pane shows now, and into nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.adapters.tmux.quoting import command


async def press_if_shown(client: ControlClient, pane_id: str, keys: Sequence[str], shown: Sequence[str]) -> bool:
    """Press the keys if the pane shows each of these texts; False if nothing was pressed.

    tmux looks and presses in one turn: nothing that the program paints can come between.
    """
    # There is no buffer of that name: tmux refuses, and nothing is pressed.
    refuse = command("show-buffer", "-b", "the screen has changed")
    send = command("send-keys", "-t", pane_id, *keys)
    try:
        await client.ask(["if-shell", "-F", "-t", pane_id, _condition(shown), send, refuse])
    except TmuxRefusedError:
        return False
    return True


def _condition(shown: Sequence[str]) -> str:
    """A format of tmux that is true while a program reads the pane, nobody scrolls in it, and all texts are there."""
    whole = "#{==:#{pane_dead}#{pane_in_mode},00}"
    for text in shown:
        # What is neither a letter nor a digit may mean something to tmux; what is no ASCII, to its idea of a letter.
        pattern = re.sub(r"[^A-Za-z0-9 ]+", "*", text)
        whole = f"#{{&&:{whole},#{{C:{pattern}}}}}"
    return whole
