"""How the sessions of a team are arranged on its server: one for each agent, and the hub that shows all their windows.

The commands for tmux that make, mend and take away that arrangement. See docs/adr/0004-one-control-client.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from corral.adapters.tmux.control import ControlClient
from corral.adapters.tmux.identity import NOTHING
from corral.adapters.tmux.panes import FORMAT, NEW_FORMAT, Census, Pane, take_census
from corral.ports.runtime import SessionOrder

#: Agent names hold no underscore, so no agent can take this name.
HUB = "_hub"
COLUMNS, ROWS = 200, 50
NEW_HUB = ["new-session", "-s", HUB, "-x", str(COLUMNS), "-y", str(ROWS)]


async def census(client: ControlClient) -> Census:
    """Every pane that there is, and where."""
    (lines,) = await client.ask(["list-panes", "-a", "-F", FORMAT])
    return take_census(lines, HUB)


def new_session(order: SessionOrder) -> list[list[str]]:
    """The session of a run, shown in the hub as well."""
    return [
        [
            "new-session", "-d", "-s", order.agent, "-n", "agent", "-x", str(COLUMNS), "-y", str(ROWS),
            "-P", "-F", NEW_FORMAT, "/bin/sh", order.launch_file,
        ],
        # Linked in the same sequence, before tmux can read the pane: not a byte is missed.
        link(f"={order.agent}:"),
    ]  # fmt: skip


def link(window: str) -> list[str]:
    """Have the hub show a window."""
    return ["link-window", "-d", "-s", window, "-t", f"={HUB}:"]


def new_home(pane: Pane) -> list[list[str]]:
    """A session needs a window from the start: one that the agent's takes the place of, before anybody sees it."""
    name = pane.session.agent
    return [
        ["new-session", "-d", "-s", name, "-x", str(COLUMNS), "-y", str(ROWS), *NOTHING],
        ["link-window", "-k", "-s", pane.window_id, "-t", f"={name}:^"],
    ]


def calming(panes: Iterable[Pane]) -> list[list[list[str]]]:
    """tmux 3.3a and 3.4 tell a dead pane that it gains or loses the focus, if its program had asked, and crash.

    That happens to whoever is attached, when it is taken away as well. A terminal that is reset tells nothing any more.
    """
    return [[["send-keys", "-R", "-t", pane.pane_id]] for pane in panes]


def taking_away(panes: Iterable[Pane]) -> list[list[list[str]]]:
    """What takes panes away, with their sessions."""
    # In this order: the other way round, tmux 3.3a crashes if the session has another window with a dead pane.
    return [
        [command]
        for pane in panes
        for command in (["kill-session", "-t", pane.session_id], ["kill-window", "-t", pane.window_id])
        if command[-1]
    ]
