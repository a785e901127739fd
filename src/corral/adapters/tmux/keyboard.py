"""Getting a text into a pane: all of it, as one paste, then Enter as a key of its own."""

from __future__ import annotations

import asyncio
import os
import secrets

from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.adapters.tmux.quoting import command
from corral.domain.last_question import HEARD


async def type_into(
    client: ControlClient, pane_id: str, text: str, *, scratch_dir: str, enter: bool, pause: float
) -> None:
    """Paste `text`, bracketed if the program asked for that, and press Enter after `pause` seconds.

    Raises `TmuxRefusedError` if the pane is gone or has nobody who reads any more; nothing was typed then.
    The text goes through a private file: no length limit, no quoting, nothing in an argv. Line feeds become carriage
    returns, as in a paste by hand. Keys sent in copy mode would be lost, so the mode is left first.
    """
    (in_mode,) = await client.ask(["display-message", "-p", "-t", pane_id, "#{pane_in_mode}"])
    if in_mode and in_mode[0] not in ("", "0"):
        await leave_mode(client, pane_id)
    await paste_into(client, pane_id, text, scratch_dir=scratch_dir)
    if enter:
        # Programs that see keys arrive in a burst take an Enter within it for part of the paste.
        await asyncio.sleep(pause)
        await client.ask(["send-keys", "-t", pane_id, "Enter"])


async def leave_mode(client: ControlClient, pane_id: str) -> None:
    """Have keys go to the program again, and not to tmux itself."""
    await client.ask(["send-keys", "-t", pane_id, "-X", "cancel"])


async def paste_into(client: ControlClient, pane_id: str, text: str, *, scratch_dir: str) -> None:
    """Paste `text`, as `type_into` does, and no more."""
    name = f"corral-{secrets.token_hex(6)}"
    path = os.path.join(scratch_dir, name)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode())
    try:
        await client.ask(["load-buffer", "-b", name, path])
        pasted, _ = await client.try_many([[_paste(name, pane_id, "-p")], [["delete-buffer", "-b", name]]])
        if isinstance(pasted, TmuxRefusedError):
            raise pasted
    finally:
        os.unlink(path)


async def answer_call(client: ControlClient, pane_id: str) -> None:
    """Tell a launch shell that everything before its call was heard.

    Pasted, because that reaches the terminal in copy mode too. Refused means that the pane is gone, and with it whoever
    asked.
    """
    name = f"corral-{secrets.token_hex(6)}"
    answer = [["set-buffer", "-b", name, HEARD.decode()], _paste(name, pane_id)]
    await client.try_many([answer, [["delete-buffer", "-b", name]]])


def _paste(name: str, pane_id: str, *flags: str) -> list[str]:
    """Paste a buffer if somebody can read it; refused otherwise.

    tmux up to 3.3a crashes, and every agent of the team with it, when something is pasted into a pane whose program has
    ended. So tmux is made to look first, in the same turn: between the look and the paste nothing can end.
    """
    dead = command("show-buffer", "-b", f"{name} has no reader")  # there is none of that name: tmux refuses
    paste = command("paste-buffer", *flags, "-b", name, "-t", pane_id)
    return ["if-shell", "-F", "-t", pane_id, "#{pane_dead}", dead, paste]
