"""Reading a screen, past the control connection.

What a program painted may look like anything, also like the answers of tmux itself. So a screen never travels between
them: tmux writes it to a private file.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Sequence

from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.ports.runtime import Screen


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


async def read_screens(client: ControlClient, pane_ids: Sequence[str], *, scratch_dir: str) -> dict[str, Screen]:
    """The screens and titles of many panes, in one question and one file; panes that are gone are left out."""
    name = f"corral-{secrets.token_hex(6)}"
    path = os.path.join(scratch_dir, name)
    # No program can know what divides the screens: it is made up after they were painted, and for once.
    divider = f"\n{secrets.token_hex(12)}\n"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        outcomes = await client.try_many(
            [
                # A title that looks like an answer of tmux must not be taken for one: no line begins with it.
                [["list-panes", "-a", "-F", "=#{pane_id} #{pane_title}"]],
                *(
                    [
                        ["capture-pane", "-J", "-b", name, "-t", pane_id],
                        ["set-buffer", "-a", "-b", name, divider],
                        ["save-buffer", "-a", "-b", name, path],
                    ]
                    for pane_id in pane_ids
                ),
                [["delete-buffer", "-b", name]],
            ]
        )
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            texts = iter(file.read().split(divider)[:-1])
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    told, *captured, _ = outcomes
    titles = {} if isinstance(told, TmuxRefusedError) else dict(map(_titled, told[0]))
    found = {}
    for pane_id, outcome in zip(pane_ids, captured, strict=True):
        if not isinstance(outcome, TmuxRefusedError) and (text := next(texts, None)) is not None:
            found[pane_id] = Screen(without_blank_end(text.split("\n")), titles.get(pane_id, ""))
    return found


def _titled(line: str) -> tuple[str, str]:
    pane_id, _, title = line.removeprefix("=").partition(" ")
    return pane_id, title


def without_blank_end(lines: list[str]) -> list[str]:
    """The lines without those below which show nothing."""
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
