"""The keepers of a shared server: one for each OS user, which the privileged helper has systemd start (ADR 19, 23)."""

from __future__ import annotations

import asyncio
import logging
import os
import pwd
from collections.abc import Callable

from corral.adapters.unix_keeper.client import KeeperClient
from corral.adapters.unix_keeper.helper import Helper
from corral.adapters.unix_keeper.introducing import introduced
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.domain.host_names import KEEPERS
from corral.peer import peer_of, user_name
from corral.ports.keeper import PROTOCOL, Hello
from corral.ports.reports import Report

log = logging.getLogger("corral.daemon")

_CONNECT_SECONDS = 5.0


class HostKeepers:
    """Connects to the keeper of a user, and has it started if nobody listens.

    Whoever listens must be that user, as the kernel says: their directory is theirs, and they may have let others in.
    """

    def __init__(self, instance: str, helper: Helper, keepers: str = KEEPERS) -> None:
        self._instance = instance
        self._helper = helper
        self._keepers = keepers

    async def connect(
        self, user: str, on_report: Callable[[Report], None], on_lost: Callable[[], None]
    ) -> KeeperClient:
        """A connection to the user's keeper, which speaks our protocol. Called once at a time for each user."""
        uid = await asyncio.to_thread(_uid_of, user)
        return await introduced(
            lambda: self._connected(user, uid, on_report, on_lost), lambda hello: self._wrong(hello, user)
        )

    def _wrong(self, hello: Hello, user: str) -> UnavailableError | None:
        if (hello.protocol, hello.instance, hello.user) == (PROTOCOL, self._instance, user):
            return None
        return UnavailableError(
            f"the keeper of {user} (pid {hello.pid}) is of another version or instance",
            f"when nothing of {user} runs: systemctl --user restart corral-keeper.service, by {user}",
        )

    async def _connected(
        self, user: str, uid: int, on_report: Callable[[Report], None], on_lost: Callable[[], None]
    ) -> KeeperClient:
        path = os.path.join(self._keepers, str(uid), "keeper.sock")
        try:
            return await self._opened(path, user, uid, on_report, on_lost)
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError, PermissionError):
            await self._have_started(user, uid)
        try:
            return await self._opened(path, user, uid, on_report, on_lost)
        except OSError as error:
            raise UnavailableError(
                f"the keeper of {user} was started, and cannot be reached at {path}: {error.strerror}",
                f"journalctl --user -u corral-keeper.service, by {user}, may tell why",
            ) from error

    async def _have_started(self, user: str, uid: int) -> None:
        try:
            await self._helper.ask("keeper_start", user)
        except (RefusedError, UnavailableError):
            raise  # the helper's own words; what follows is what systemd says, in the terms of its jobs
        except CorralError as error:
            log.error("the keeper of %s does not start: %s", user, error.message)
            raise UnavailableError(
                f"the keeper of {user} cannot be started now",
                f"systemctl status user@{uid}.service tells whether the service manager of {user} runs; "
                "journalctl -t corral-helper says what it answered",
            ) from error

    async def _opened(
        self, path: str, user: str, uid: int, on_report: Callable[[Report], None], on_lost: Callable[[], None]
    ) -> KeeperClient:
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_unix_connection(path), _CONNECT_SECONDS)
        except TimeoutError:
            raise UnavailableError(
                f"the keeper of {user} takes no connection", f"systemctl --user status corral-keeper.service, by {user}"
            ) from None
        pid, theirs = peer_of(writer.get_extra_info("socket"))
        if theirs != uid:
            writer.close()
            log.error("at %s, where the keeper of %s has to be, listens uid %d (pid %d)", path, user, theirs, pid)
            raise RefusedError(
                f"at the place of {user}'s keeper somebody else listens: {user_name(theirs)} (pid {pid})",
                f"find out how it came to be there; then, by {user}: systemctl --user restart corral-keeper.service",
                holder=user_name(theirs),
            )
        return KeeperClient(reader, writer, on_report, on_lost, user)


def _uid_of(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise RefusedError(f"there is no user {user} on this host", "corral member ls shows who there is") from None
