"""What a daemon has besides its socket: tokens, and where `[listen]` says so a door to the network (ADR 29).

Nothing of it is loaded by a daemon of one person that is not reached over TCP, until somebody asks for a token.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

from corral import config
from corral.peer import user_name
from corral.service.context import Context

if TYPE_CHECKING:
    import socket
    import ssl

    from corral.api.far import FarDoor
    from corral.api.member_routes import Shared
    from corral.api.server import DaemonServer
    from corral.domain.members import Account
    from corral.domain.tokens import Holder
    from corral.service.audit import Audit
    from corral.service.callers import Callers
    from corral.service.far_callers import FarCallers
    from corral.service.tokens import FindHolder, Tokens

#: So long it is remembered what the operating system says of an account: a directory service may be slow to tell.
_ACCOUNT_SECONDS = 5.0


class Network:
    """What is reached over TCP. Made by `open_network`."""

    def __init__(self, context: Context, shared: Shared | None) -> None:
        self._context = context
        self._shared = shared
        self._loading = asyncio.Lock()
        #: Once they are read.
        self.tokens: Tokens | None = None
        #: Who tells who asks over TCP; None if nobody can.
        self.callers: FarCallers | None = None
        self._sockets: list[socket.socket] = []
        self._tls: ssl.SSLContext | None = None
        self._door: FarDoor | None = None

    async def load(self) -> Tokens:
        """The tokens of the instance; read when they are first asked for."""
        async with self._loading:
            if self.tokens is None:
                from corral.service.tokens import Tokens

                tokens = Tokens(self._context, _holder_of(self._shared))
                await tokens.load()
                self.tokens = tokens
        return self.tokens

    async def listen(self, audit: Audit | None) -> None:
        """Bind what `[listen]` asks for, if it does. Raises what speaks against it, and then nothing listens."""
        settings = config.listen_settings(self._context.places)
        if settings is None:
            return
        from corral.adapters import tcp_listening
        from corral.domain.listen_settings import must_be_bindable
        from corral.service.far_callers import FarCallers

        tokens, where = await self.load(), tcp_listening.resolved(settings)
        must_be_bindable(settings, [address for _, (address, _) in where], len(tokens))
        self._tls = tcp_listening.tls_context(settings)
        self._sockets = tcp_listening.bound(where)
        self.callers = FarCallers(tokens, audit)

    def begin(self, server: DaemonServer, callers: Callers) -> None:
        """Take connections from now on, if any can come."""
        if not self._sockets:
            return
        from corral.api.far import FarDoor
        from corral.domain.records import NOBODY_KNOWN

        tokens = self.tokens
        assert tokens is not None
        self._door = door = FarDoor(
            server,
            self._sockets,
            self._tls,
            is_good=tokens.is_good,
            refused=lambda why, address: callers.hung_up(NOBODY_KNOWN, why, 0, address),
            now=time.time,
        )
        tokens.watch(door.look_through)
        if self._shared is not None:
            self._shared.members.watch(door.look_through)
        server.before_shutdown(door.close)
        door.begin()

    @property
    def addresses(self) -> list[str]:
        """Where it is reached, as whoever comes writes it."""
        return [] if self._door is None else self._door.addresses

    async def close(self) -> None:
        """Take no more connections, and have in the trail who was refused."""
        for listening in self._sockets:
            listening.close()
        if self.callers is not None:
            await self.callers.close()


async def open_network(context: Context, shared: Shared | None, audit: Audit | None) -> Network:
    """What is reached over TCP, bound if it is to be; `CorralError` if that must not or cannot be."""
    network = Network(context, shared)
    if shared is not None:
        await network.load()  # the policy is asked whose they are
    await network.listen(audit)
    return network


def _holder_of(shared: Shared | None) -> FindHolder:
    """Who can have tokens: the person of an instance, and the people of a shared server."""
    from corral.domain.tokens import Holder

    if shared is None:
        uid = os.getuid()
        name = user_name(uid)
        return lambda user: Holder(uid=uid) if user == name else None
    members, accounts = shared.members, _Accounts(shared)

    def holder(user: str) -> Holder | None:
        from corral.domain.members import group_of

        member = members.get(user)
        if member is None or member.of:
            return None
        account = accounts.find(user)
        # Whom the operating system keeps from the socket does not come in by another door.
        if account is None or account.uid != member.uid or group_of(member.role) not in account.groups:
            return None
        return Holder(uid=member.uid, since=member.since)

    return holder


class _Accounts:
    """The accounts of the operating system, each remembered for a moment."""

    def __init__(self, shared: Shared) -> None:
        self._members = shared.members
        self._known: dict[str, tuple[float, Account | None]] = {}

    def find(self, user: str) -> Account | None:
        now = time.monotonic()
        known = self._known.get(user)
        if known is None or now - known[0] > _ACCOUNT_SECONDS:
            known = self._known[user] = (now, self._members.account(user))
        return known[1]
