"""TCP and UDP ports that a team listens on, and which of them somebody still listens on when it is gone.

A port outlives its process if the socket was handed on: to a child that got away, or to a program that was never the
team's. Once the team is gone nothing on a socket says who opened it, so its ports are noted while it runs.

Only ports of this network namespace are seen. Another one goes with the last process in it, and its ports with it.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corral.adapters.procfs import processes as proc
from corral.adapters.procfs import sockets
from corral.ports.keeper import Listening, Residue

#: The tables of the kernel, and the state of a socket that others may send to: TCP_LISTEN, or for UDP a socket that is
#: not connected (TCP_CLOSE).
_TABLES = (("tcp", b"0A"), ("tcp6", b"0A"), ("udp", b"07"), ("udp6", b"07"))
_ADDRESS, _STATE, _INODE = 1, 3, 9


@dataclass(frozen=True, slots=True)
class Port:
    """A place to listen at, as the kernel writes it: reading an address costs more than finding it."""

    table: str
    place: bytes

    def __str__(self) -> str:
        """`tcp 127.0.0.1:8080`."""
        address, port = self.place.split(b":")
        words = (int(address[at : at + 8], 16) for at in range(0, len(address), 8))
        # Each word of an address is written as the number that it is on this machine.
        raw = b"".join(struct.pack("=I", word) for word in words)
        family, form = (socket.AF_INET, "{}") if len(raw) == 4 else (socket.AF_INET6, "[{}]")
        return f"{self.table.removesuffix('6')} {form.format(socket.inet_ntop(family, raw))}:{int(port, 16)}"

    @property
    def number(self) -> int:
        return int(self.place.rpartition(b":")[2], 16)


class Noted:
    """The ports of one team. Notes last as long as the keeper: after a crash the next one notes what it still finds.

    What the team had closed, or handed on, before that is then nobody's any more. The census says nothing of it: it has
    no proof.
    """

    def __init__(self) -> None:
        #: With the sockets that others listened with at the same place (SO_REUSEPORT) when it was noted.
        self._ports: dict[Port, frozenset[int]] = {}

    def note(self, pids: Iterable[int]) -> None:
        """Remember what these processes listen on. What was noted before stays."""
        listening = _listening()
        held = {inode for inode, holders in sockets.holders(set(listening), pids).items() if holders}
        ours = {listening[inode] for inode in held} - self._ports.keys()
        others = {inode: port for inode, port in listening.items() if port in ours and inode not in held}
        for port in ours:
            self._ports[port] = frozenset(inode for inode, at in others.items() if at == port)

    def left(self) -> list[Residue]:
        """The noted ports that somebody still listens on; the others are forgotten.

        Whoever it is: a socket of the team in other hands is something that the team left behind.
        """
        if not self._ports:
            return []
        left = {inode: port for inode, port in _listening().items() if inode not in self._ports.get(port, (inode,))}
        holders = sockets.holders(set(left))
        self._ports = {port: others for port, others in self._ports.items() if port in left.values()}
        return [_residue(port, holders[inode]) for inode, port in left.items()]


def listening(members: Mapping[str, Sequence[int]], wanted: Sequence[int]) -> list[Listening]:
    """What the processes of agents (agent → pids) listen on with TCP, and who else listens on one of the `wanted`.

    A port is named once for an agent, with the oldest of its processes that listen; those that share a socket are one.
    """
    tcp = {inode: port.number for inode, port in _listening().items() if port.table.startswith("tcp")}
    agents = {pid: agent for agent, pids in members.items() for pid in pids}
    held = sockets.holders(set(tcp), agents)
    found: dict[tuple[str, int], int | None] = {}
    for inode, pids in held.items():
        for pid in pids:
            key = (agents[pid], tcp[inode])
            found[key] = min(pid, found.get(key) or pid)
    asked = set(wanted)
    others = {inode for inode, pids in held.items() if not pids and tcp[inode] in asked}
    for inode, pids in sockets.holders(others).items():
        found["", tcp[inode]] = min(pids, default=None)
    return [
        Listening(port=port, agent=agent, pid=pid, command="" if pid is None else proc.command_line(pid))
        for (agent, port), pid in sorted(found.items(), key=lambda item: item[0])
    ]


def listened_on() -> set[int]:
    """Every TCP port that somebody of this host listens on."""
    return {port.number for port in _listening().values() if port.table.startswith("tcp")}


def _listening() -> dict[int, Port]:
    """Inode to place of every port that is listened on."""
    found = {}
    for table, state in _TABLES:
        # Without IPv6 its tables are not there.
        with contextlib.suppress(FileNotFoundError), open(f"/proc/net/{table}", "rb") as file:
            for line in file:
                columns = line.split(maxsplit=_INODE + 1)
                if columns[_STATE] == state:
                    found[int(columns[_INODE])] = Port(table, columns[_ADDRESS])
    return found


def _residue(port: Port, pids: list[int]) -> Residue:
    why = "was opened by this team, and somebody still listens"
    if not pids:
        return Residue(kind="port", name=str(port), why=f"{why}, whose processes cannot be seen")
    first, *more = pids
    if more:
        why += f", pid {', '.join(map(str, more))} too"
    return Residue(kind="port", name=str(port), pid=first, command=proc.command_line(first), why=why)
