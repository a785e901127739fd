"""Reading a screen, past the control connection.

What a program painted may look like anything, also like the answers of tmux itself. So a screen never travels between
them: tmux writes it to a private file.
"""

from __future__ import annotations

import contextlib
import os
import secrets

from corral.adapters.tmux.control import ControlClient


async def read_screen(client: ControlClient, pane_id: str, history: int, *, scratch_dir: str) -> list[str]:
    """The lines of a pane with up to `history` lines above it; wrapped lines are put together."""
    name = f"corral-{secrets.token_hex(6)}"
    path = os.path.join(scratch_dir, name)
    # Made by us, 0600, before tmux writes to it.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        await client.ask(
            ["capture-pane", "-J", "-b", name, "-t", pane_id, "-S", str(-history)],
            ["save-buffer", "-b", name, path],
            ["delete-buffer", "-b", name],
        )
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().split("\n")
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
