"""TCP and UDP ports that a team listens on, and which of them somebody still listens on when it is gone.

A port outlives its process if the socket was handed on: to a child that got away, or to a program that was never the
team's. Once the team is gone nothing on a socket says who opened it, so its ports are noted while it runs.

Only ports of this network namespace are seen. Another one goes with the last process in it, and its ports with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from corral.adapters.procfs import listening_sockets, sockets
from corral.adapters.procfs import processes as proc
from corral.adapters.procfs.listening_sockets import Port
from corral.ports.census import Residue
from corral.ports.resources import Listening


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
        listening = listening_sockets.every()
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
        now = listening_sockets.every()
        left = {inode: port for inode, port in now.items() if inode not in self._ports.get(port, (inode,))}
        holders = sockets.holders(set(left))
        self._ports = {port: others for port, others in self._ports.items() if port in left.values()}
        return [_residue(port, holders[inode]) for inode, port in left.items()]


def listening(members: Mapping[str, Sequence[int]], wanted: Sequence[int]) -> list[Listening]:
    """What the processes of agents (agent → pids) listen on with TCP, and who else listens on one of the `wanted`.

    A port is named once for an agent, with the oldest of its processes that listen; those that share a socket are one.
    """
    tcp = {inode: port.number for inode, port in listening_sockets.every().items() if port.protocol == "tcp"}
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
    return {port.number for port in listening_sockets.every().values() if port.protocol == "tcp"}


def _residue(port: Port, pids: list[int]) -> Residue:
    why = "was opened by this team, and somebody still listens"
    if not pids:
        return Residue(kind="port", name=str(port), why=f"{why}, whose processes cannot be seen")
    first, *more = pids
    if more:
        why += f", pid {', '.join(map(str, more))} too"
    return Residue(kind="port", name=str(port), pid=first, command=proc.command_line(first), why=why)
