"""The keyboard of a pane, leased: while Corral types, what people type waits, and nothing of it is lost.

tmux looks each key up in a table before it hands the key to a program. For the time of the lease, the sessions that
show the pane get a table in which every key means: wait, then press yourself. Such a wait holds up the queue that tmux
keeps for that person's client, so all keys behind the first wait as well, in order. When the lease ends they go on, to
where they would have gone. No key is kept by us, so none can be forgotten by us: a keeper that dies meanwhile leaves a
timer in tmux that ends the lease.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from corral.adapters.tmux.control import ControlClient
from corral.adapters.tmux.panes import Pane
from corral.adapters.tmux.quoting import command
from corral.adapters.tmux.screens import read_screens
from corral.ports.keyboard import Glimpse, Watcher
from corral.ports.runtime import Screen

#: tmux itself ends a lease after so many seconds, whatever became of us.
LONGEST_LEASE = 10.0
_CLIENTS = (
    "#{client_activity} #{client_readonly} #{client_control_mode} #{window_id} #{session_id} #{client_key_table} "
    "#{client_name}"
)
#: What a client's table is called while nothing is under way there.
_ROOT = "root"


@dataclass(frozen=True, slots=True)
class _Attached:
    """A person's terminal that shows the pane."""

    name: str
    session: str
    watcher: Watcher


async def look(client: ControlClient, pane: Pane, *, scratch_dir: str) -> Glimpse:
    """The screen of a pane, and who sits before it."""
    shown = (await read_screens(client, [pane.pane_id], scratch_dir=scratch_dir)).get(pane.pane_id, Screen([]))
    (in_mode,) = await client.ask(["display-message", "-p", "-t", pane.pane_id, "#{pane_in_mode}"])
    people = await _attached(client, pane)
    return Glimpse(
        lines=shown.lines,
        title=shown.title,
        in_mode=bool(in_mode) and in_mode[0] not in ("", "0"),
        watchers=tuple(person.watcher for person in people),
    )


async def _attached(client: ControlClient, pane: Pane) -> list[_Attached]:
    (lines,) = await client.ask(["list-clients", "-F", _CLIENTS])
    now = time.time()
    found = []
    for line in lines:
        fields = line.split(" ", 6)
        if len(fields) != 7 or fields[2] == "1" or fields[3] != pane.window_id:
            continue  # a control client has no keys, and who looks at another window types there
        watcher = Watcher(
            idle=max(0.0, now - int(fields[0] or 0)),
            read_only=fields[1] == "1",
            in_command=fields[5] not in (_ROOT, _table(pane)),
        )
        found.append(_Attached(name=fields[6], session=fields[4], watcher=watcher))
    return found


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that was taken."""

    token: str
    sessions: tuple[str, ...]


async def take(client: ControlClient, pane: Pane) -> Lease:
    """From when this returns until `give_back`, no key of a person reaches the pane."""
    people = await _attached(client, pane)
    sessions = tuple(dict.fromkeys([pane.session_id, *(person.session for person in people)]))
    lease = Lease(secrets.token_hex(6), tuple(session for session in sessions if session))
    waits = [["set-option", "-g", _waiting(pane), "1"], ["wait-for", _table(pane)], ["send-keys"]]
    # Doubled below: tmux fills formats in when it begins to count, and this one is to be looked at in the end.
    still_ours = f"#{{==:#{{{_holder(pane)}}},{lease.token}}}"
    ends = " ; ".join(command(*words) for words in _ending(pane, lease))
    in_the_end = command("if-shell", "-F", still_ours, ends).replace("#", "##")
    await client.ask(
        ["bind-key", "-T", _table(pane), "Any", " ; ".join(command(*words) for words in waits)],
        ["set-option", "-g", _holder(pane), lease.token],
        ["run-shell", "-b", "-d", f"{LONGEST_LEASE:g}", "-C", in_the_end],
        *(["set-option", "-t", session, "key-table", _table(pane)] for session in lease.sessions),
    )
    if people:
        told = ["display-message", "-d", "1000", "Corral is typing: your keys follow in a moment"]
        await client.try_many([[[*told[:1], "-c", person.name, *told[1:]]] for person in people])
    return lease


async def give_back(client: ControlClient, pane: Pane, lease: Lease) -> None:
    """Let the keys go on, those that wait first."""
    # Each for itself: a session that somebody ended meanwhile must not keep the others waiting.
    await client.try_many([[words] for words in _ending(pane, lease)])


def _ending(pane: Pane, lease: Lease) -> list[list[str]]:
    wake, nobody = command("wait-for", "-S", _table(pane)), command("set-option", "-gq", _waiting(pane), "")
    return [
        *(["set-option", "-u", "-t", session, "key-table"] for session in lease.sessions),
        # A wake that nobody waits for would be kept, and let the next one who waits go on at once.
        ["if-shell", "-F", f"#{{{_waiting(pane)}}}", wake, nobody],
        ["set-option", "-guq", _waiting(pane)],
        ["set-option", "-guq", _holder(pane)],
        ["unbind-key", "-aq", "-T", _table(pane)],
    ]


def _table(pane: Pane) -> str:
    """The table of keys, and the channel that they wait at."""
    return f"corral-typing-{pane.pane_id.removeprefix('%')}"


def _waiting(pane: Pane) -> str:
    """The option that says that a client waits."""
    return f"@corral-waits-{pane.pane_id.removeprefix('%')}"


def _holder(pane: Pane) -> str:
    """The option that says which lease it is."""
    return f"@corral-types-{pane.pane_id.removeprefix('%')}"
