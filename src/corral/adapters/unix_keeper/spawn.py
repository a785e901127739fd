"""Finding this user's keeper on this host, or starting one."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable

from corral.adapters.unix_keeper.client import KeeperClient
from corral.adapters.unix_keeper.introducing import introduced
from corral.background import reap_when_it_ends
from corral.domain.errors import CorralError, UnavailableError
from corral.places import Places
from corral.ports.keeper import PROTOCOL, Hello
from corral.ports.reports import Report

log = logging.getLogger("corral.daemon")

_READY_SECONDS = 20.0


class LocalKeeper:
    """Connects to the keeper of an instance; starts it if nobody listens. It outlives whoever started it."""

    def __init__(self, places: Places, instance: str, *, daemon_needs_a_place: bool) -> None:
        self._places = places
        self._instance = instance
        #: This daemon was started by a command, and is where that was: in a login session that may end, for instance.
        self._daemon_needs_a_place = daemon_needs_a_place

    async def connect(
        self, _user: str, on_report: Callable[[Report], None], on_lost: Callable[[], None]
    ) -> KeeperClient:
        """A connection to a keeper that speaks our protocol. There is one user here."""
        client = await introduced(lambda: self._connected(on_report, on_lost), self._wrong)
        if self._daemon_needs_a_place:
            await self._take_shelter(client)
        return client

    def _wrong(self, hello: Hello) -> UnavailableError | None:
        if (hello.protocol, hello.instance) == (PROTOCOL, self._instance):
            return None
        return UnavailableError(
            f"the keeper (pid {hello.pid}) is of another version or instance",
            "take the teams down with the version that started them",
        )

    async def _take_shelter(self, client: KeeperClient) -> None:
        try:
            await client.shelter_daemon(os.getpid())
        except CorralError as error:
            log.warning("the daemon stays where it was started: %s", error.message)

    async def _connected(self, on_report: Callable[[Report], None], on_lost: Callable[[], None]) -> KeeperClient:
        try:
            return await KeeperClient.connect(self._places.keeper_socket, on_report, on_lost)
        except (FileNotFoundError, ConnectionRefusedError):
            await self._start()
        try:
            return await KeeperClient.connect(self._places.keeper_socket, on_report, on_lost)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise UnavailableError(
                "the keeper went away as soon as it had come", f"{self._places.keeper_log} may tell why"
            ) from error

    async def _start(self) -> None:
        ready, theirs = os.pipe()
        try:
            log = os.open(self._places.keeper_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                keeper = subprocess.Popen(
                    [sys.executable, "-m", "corral", "keeper", "run", "--ready-fd", str(theirs)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs],
                    start_new_session=True,
                    cwd="/",
                    env={**os.environ, "CORRAL_INSTANCE": self._instance},
                )
            finally:
                os.close(log)
                os.close(theirs)
            reap_when_it_ends(keeper)
            if not await _byte_within(ready, _READY_SECONDS):
                raise UnavailableError("the keeper could not be started", f"{self._places.keeper_log} says why")
        finally:
            os.close(ready)


async def _byte_within(descriptor: int, seconds: float) -> bool:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await asyncio.wait_for(readable.wait(), seconds)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 1) == b"1"
