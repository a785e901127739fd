"""Drawing the attention of people who are attached to a team: a bell, and a line at the bottom of their terminal."""

from __future__ import annotations

import os
import stat

from corral.adapters.tmux.control import ControlClient

#: How long the line stays, in milliseconds.
_SHOWN_FOR = 8000
_LONGEST = 200


async def ring_clients(client: ControlClient, text: str) -> int:
    """Ring every attached terminal and show it a line; how many there were. One that just went is no error."""
    (lines,) = await client.ask(["list-clients", "-F", "#{client_control_mode} #{client_name} #{client_tty}"])
    found = [line.split(" ", 2) for line in lines]
    people = [(name, tty) for control, name, tty in found if control == "0"]
    shown = _plain(text)[:_LONGEST]
    await client.try_many([[["display-message", "-c", name, "-d", str(_SHOWN_FOR), shown]] for name, _ in people])
    return sum(_rung(tty) for _, tty in people)


def _plain(text: str) -> str:
    """Nothing of it is a format, with which tmux would run a command, or a time: what an agent printed could be one."""
    return text.replace("#", "##").replace("%", "%%")


def _rung(tty: str) -> bool:
    """Ring the bell of a terminal, without waiting for one that is stopped.

    tmux has no command for it. A bell is one byte that every terminal takes anywhere, also within what tmux writes.
    """
    try:
        descriptor = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return stat.S_ISCHR(os.fstat(descriptor).st_mode) and os.write(descriptor, b"\a") == 1
    except OSError:
        return False
    finally:
        os.close(descriptor)
