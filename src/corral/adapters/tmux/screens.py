"""Reading a screen, past the control connection.

What a program painted may look like anything, also like the answers of tmux itself. So a screen never travels between
them: tmux writes it to a private file.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Collection, Sequence

from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.ports.runtime import Screen
from corral.ports.sessions import Picture


async def read_screen(client: ControlClient, pane_id: str, history: int, *, scratch_dir: str) -> list[str]:
    """The lines of a pane with up to `history` lines above it; wrapped lines are put together, if tmux wrapped them."""
    name = f"corral-{secrets.token_hex(6)}"
    path = os.path.join(scratch_dir, name)
    # Made by us, 0600, before tmux writes to it.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        whole = await _whole_screens(client)
        await client.ask(
            [*_capture(name, pane_id, whole), "-S", str(-history)],
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
        whole = await _whole_screens(client)
        outcomes = await client.try_many(
            [
                # A title that looks like an answer of tmux must not be taken for one: no line begins with it.
                [["list-panes", "-a", "-F", "=#{pane_id} #{pane_title}"]],
                *(
                    [
                        _capture(name, pane_id, whole),
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


async def read_picture(client: ControlClient, pane_id: str, *, scratch_dir: str) -> Picture:
    """What a pane shows, with its colours and where its cursor is, as output that paints it on any terminal."""
    name = f"corral-{secrets.token_hex(6)}"
    path = os.path.join(scratch_dir, name)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    facts = "#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{alternate_on}"
    try:
        told, *_ = await client.ask(
            ["display-message", "-p", "-t", pane_id, facts],
            ["capture-pane", "-e", "-b", name, "-t", pane_id],
            ["save-buffer", "-b", name, path],
            ["delete-buffer", "-b", name],
        )
        with open(path, "rb") as file:
            lines = file.read().removesuffix(b"\n").split(b"\n")
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    columns, rows, x, y, other = (int(word or 0) for word in told[0].split(" "))
    screen = b"\x1b[?1049h" if other else b"\x1b[?1049l"
    painted = b"\r\n".join(line + b"\x1b[m" for line in lines)
    return Picture(
        columns=columns, rows=rows, data=b"%s\x1b[m\x1b[H\x1b[2J%s\x1b[%d;%dH" % (screen, painted, y + 1, x + 1)
    )


async def _whole_screens(client: ControlClient) -> Collection[str]:
    """The panes whose programs have the whole screen, and lay out its rows themselves."""
    (told,) = await client.try_many([[["list-panes", "-a", "-F", "#{?alternate_on,#{pane_id},}"]]])
    return frozenset() if isinstance(told, TmuxRefusedError) else frozenset(told[0])


def _capture(name: str, pane_id: str, whole: Collection[str]) -> list[str]:
    """What puts the lines of a pane into a buffer. A line that tmux wrapped is one.

    Not where a program has the whole screen: if it fills its rows to the last column, as OpenCode does, each looks
    wrapped, and the whole screen would be one line.
    """
    joined = [] if pane_id in whole else ["-J"]
    return ["capture-pane", *joined, "-b", name, "-t", pane_id]


def _titled(line: str) -> tuple[str, str]:
    pane_id, _, title = line.removeprefix("=").partition(" ")
    return pane_id, title


def without_blank_end(lines: list[str]) -> list[str]:
    """The lines without those below which show nothing."""
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
