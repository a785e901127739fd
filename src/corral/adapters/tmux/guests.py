"""Where people who come through the keeper find an agent: a session of their own that shows its window and no other.

It has no prefix key and no mouse, so every key goes to the program: a guest who could give commands to tmux would be
the person whose tmux it is. tmux takes the session away with the last client that is attached to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from corral.adapters.tmux.control import ControlClient, TmuxRefusedError
from corral.adapters.tmux.guest_terminal import PtyGuest
from corral.adapters.tmux.identity import NOTHING
from corral.adapters.tmux.panes import Pane
from corral.background import Background
from corral.domain.errors import CorralError, NotFoundError
from corral.domain.shared_sessions import ANY_TERM, bar_name, checked_size, checked_term
from corral.ports.sessions import SeatOrder

#: Agent names hold no underscore, so no agent can take such a name.
PREFIX = "_with-"
#: The option of a window that says who is there; server.conf has the status bar show it.
COMPANY = "@corral_company"
#: Where a host keeps what it knows of terminals, below the first letter of each. tmux refuses one that is not there.
_TERMINFO = ("/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/local/share/terminfo")


async def open_guest(
    client: ControlClient,
    pane: Pane,
    seat: SeatOrder,
    base: list[str],
    environment: Mapping[str, str],
    background: Background,
    *,
    team: str,
    read_only: bool,
    on_output: Callable[[bytes], None],
    on_closed: Callable[[], None],
) -> PtyGuest:
    """A client of the team's server on a terminal of ours. `base` is tmux with the server's socket."""
    size = checked_size(seat.columns, seat.rows)
    room = PREFIX + pane.session.agent
    await _have_room(client, pane, room, team, size)
    flags = ["-r"] if read_only else []
    # Set by the client once it is attached: an empty session that nobody is attached to would go at once.
    with_last = [";", "set-option", "-t", f"={room}:", "destroy-unattached", "on"]
    argv = [*base, "attach-session", *flags, "-t", f"={room}", *with_last]

    def repaint(terminal: str) -> None:
        background.spawn(_repaint(client, terminal), name="paint anew")

    return PtyGuest(
        argv,
        {**environment, "TERM": _known_term(seat.term)},
        size,
        on_output=on_output,
        on_closed=on_closed,
        repaint=repaint,
    )


async def show_company(client: ControlClient, pane: Pane, line: str) -> None:
    """Have the status bars of everybody who looks at a pane say who is there."""
    where = ["-t", pane.window_id, COMPANY]
    change = ["set-option", "-w", *where, line] if line else ["set-option", "-wu", *where]
    await client.try_many([[change]])


async def _have_room(client: ControlClient, pane: Pane, room: str, team: str, size: tuple[int, int]) -> None:
    """The session of the guests, made if it is not there, with a window that the agent's takes the place of."""
    target = f"={room}:"
    columns, rows = size
    settings = {
        "prefix": "None",
        "prefix2": "None",
        "mouse": "off",
        "status-left": f"#[bold] {bar_name(team)}/{bar_name(pane.session.agent)} #[default]",
    }
    made = [
        ["new-session", "-d", "-s", room, "-x", str(columns), "-y", str(rows), *NOTHING],
        ["link-window", "-k", "-s", pane.window_id, "-t", f"={room}:^"],
        *(["set-option", "-t", target, name, value] for name, value in settings.items()),
    ]
    # One that is there must not go with its last guest before the next one is attached, who has it go with them again.
    stay = ["set-option", "-t", target, "destroy-unattached", "off"]
    there = await client.try_many([[stay, ["list-windows", "-t", f"={room}", "-F", "#{window_id}"]]])
    if not isinstance(there[0], TmuxRefusedError):
        if there[0][-1] == [pane.window_id]:
            return
        # It shows an earlier run, or somebody meddled with it.
        await client.try_many([[["kill-session", "-t", f"={room}"]]])
    (outcome,) = await client.try_many([made])
    if isinstance(outcome, TmuxRefusedError):
        await client.try_many([[["kill-session", "-t", f"={room}"]]])
        raise NotFoundError(f"the agent has no terminal that can be shown: {outcome.message}", "corral ps tells why")


async def _repaint(client: ControlClient, terminal: str) -> None:
    try:
        await client.try_many([[["refresh-client", "-t", terminal]]])
    except CorralError:
        return  # the server is gone, and with it what was to be painted


def _known_term(term: str) -> str:
    checked = checked_term(term)
    described = any(os.path.exists(os.path.join(place, checked[0], checked)) for place in _TERMINFO)
    return checked if described else ANY_TERM
