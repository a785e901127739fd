"""Speaking to the systemd manager of this user, over D-Bus.

Every call is bounded in time: a bus that hangs costs that long and is an error, never a wait without end.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbus_fast import BusType, DBusError, Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from corral.domain.errors import CorralError, UnavailableError

log = logging.getLogger("corral.keeper")

_SYSTEMD = "org.freedesktop.systemd1"
_PATH = "/org/freedesktop/systemd1"
_MANAGER = f"{_SYSTEMD}.Manager"
_PROPERTIES = "org.freedesktop.DBus.Properties"
#: How long an answer may take, and how long a job (starting or stopping a unit).
_ANSWER_SECONDS = 5.0
_JOB_SECONDS = 10.0
#: A bus that let us wait that long gets less, until it is heard of again: a teardown asks several times.
_STILL_SILENT_SECONDS = 0.5


class SystemdError(CorralError):
    """systemd refused. `name` is the D-Bus name of the error."""

    code = "systemd"

    def __init__(self, message: str, remedy: str = "", *, name: str = "") -> None:
        super().__init__(message, remedy)
        self.name = name

    @property
    def exists(self) -> bool:
        """A unit of that name is there already."""
        return self.name.endswith(".UnitExists")

    @property
    def absent(self) -> bool:
        """There is no such unit."""
        return self.name.endswith((".NoSuchUnit", ".UnknownObject"))


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit that is loaded."""

    name: str
    description: str
    #: active, inactive, failed, activating, deactivating …
    active: str
    sub: str
    path: str


class UserManager:
    """One connection to the user's manager, opened again when it was lost."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._silent = False
        self._bus: MessageBus | None = None
        self._opening = asyncio.Lock()
        self._jobs: dict[str, asyncio.Future[str]] = {}
        self._early: dict[str, str] = {}  # results of jobs whose answer has not come yet

    # Units

    async def start_scope(
        self,
        name: str,
        pids: Sequence[int],
        *,
        slice_name: str,
        description: str,
        properties: Mapping[str, Variant],
        slices: Mapping[str, Mapping[str, Variant]],
    ) -> None:
        """Make a scope with these processes in it, and return when it is there.

        `slices` are made with it, outermost first, and go when nothing is in them any more. None of them may be there.
        """
        listed = [
            ["Description", Variant("s", description)],
            ["Slice", Variant("s", slice_name)],
            ["PIDs", Variant("au", list(pids))],
            # An ended scope is forgotten, whatever became of it: its name is free for the next one.
            ["CollectMode", Variant("s", "inactive-or-failed")],
            *([key, value] for key, value in properties.items()),
        ]
        beside = [
            [one, [["StopWhenUnneeded", Variant("b", True)], *([key, value] for key, value in settings.items())]]
            for one, settings in slices.items()
        ]
        await self._job("StartTransientUnit", "ssa(sv)a(sa(sv))", [name, "fail", listed, beside], what=name)

    async def stop(self, name: str) -> None:
        """Stop a unit and return when it is stopped; one that is not there is stopped."""
        try:
            await self._job("StopUnit", "ss", [name, "replace"], what=name)
        except SystemdError as error:
            if not error.absent:
                raise

    async def set_properties(self, name: str, properties: Mapping[str, Variant]) -> None:
        """Change a unit that runs, until it stops."""
        pairs = [[key, value] for key, value in properties.items()]
        await self._call("SetUnitProperties", "sba(sv)", [name, True, pairs])

    async def units(self, *patterns: str) -> list[Unit]:
        """Loaded units whose names match; in any state."""
        (rows,) = await self._call("ListUnitsByPatterns", "asas", [[], list(patterns)])
        return [Unit(name=row[0], description=row[1], active=row[3], sub=row[4], path=row[6]) for row in rows]

    async def control_group(self, name: str) -> str:
        """The cgroup of a unit below the mount point; empty if it has none, or if there is no such unit."""
        try:
            (path,) = await self._call("GetUnit", "s", [name])
            kind = "Slice" if name.endswith(".slice") else "Scope"
            return str(await self._get(path, f"{_SYSTEMD}.{kind}", "ControlGroup"))
        except SystemdError as error:
            if error.absent:
                return ""
            raise

    async def unit_file(self, name: str) -> str:
        """The file that a unit comes from, loaded or not; empty if there is none."""
        (path,) = await self._call("LoadUnit", "s", [name])
        return str(await self._get(path, f"{_SYSTEMD}.Unit", "FragmentPath"))

    async def began(self, unit: Unit) -> float:
        """When a unit became active, in seconds of the monotonic clock."""
        return int(await self._get(unit.path, f"{_SYSTEMD}.Unit", "ActiveEnterTimestampMonotonic")) / 1e6

    async def version(self) -> int:
        """The version of the manager; also a way to see that it answers."""
        digits = re.match(r"\d+", str(await self._get(_PATH, _MANAGER, "Version")))
        return int(digits.group()) if digits else 0

    async def own_control_group(self) -> str:
        """The cgroup that everything of this manager is in."""
        return str(await self._get(_PATH, _MANAGER, "ControlGroup"))

    async def _get(self, path: str, interface: str, name: str) -> Any:
        (value,) = await self._call("Get", "ss", [interface, name], path=path, interface=_PROPERTIES)
        return value.value

    def close(self) -> None:
        """Let go of the connection."""
        if self._bus is not None:
            self._bus.disconnect()
            self._bus = None

    # The connection

    async def _connected(self) -> MessageBus:
        async with self._opening:
            if self._bus is not None and self._bus.connected:
                return self._bus
            self._bus = None
            try:
                async with asyncio.timeout(self._patience(_ANSWER_SECONDS)):
                    bus = await MessageBus(bus_address=self._address, bus_type=BusType.SESSION).connect()
            except TimeoutError as error:
                self._silent = True
                raise UnavailableError(f"the user bus at {self._address} does not answer", "") from error
            except Exception as error:  # dbus-fast raises what the socket and the handshake raise, of many kinds
                raise UnavailableError(f"the user bus at {self._address} cannot be reached: {error}", "") from error
            bus.add_message_handler(self._heard)
            self._bus = bus
        rule = f"type='signal',sender='{_SYSTEMD}',interface='{_MANAGER}',member='JobRemoved'"
        try:
            await self._call(
                "AddMatch", "s", [rule],
                path="/org/freedesktop/DBus", interface="org.freedesktop.DBus", destination="org.freedesktop.DBus",
            )  # fmt: skip
            # Without it systemd sends no signal about jobs.
            await self._call("Subscribe", "", [])
        except BaseException:
            self.close()
            raise
        return bus

    async def _call(
        self,
        member: str,
        signature: str,
        body: list[Any],
        *,
        path: str = _PATH,
        interface: str = _MANAGER,
        destination: str = _SYSTEMD,
        seconds: float = _ANSWER_SECONDS,
    ) -> list[Any]:
        bus = self._bus if self._bus is not None and self._bus.connected else await self._connected()
        message = Message(
            destination=destination, path=path, interface=interface, member=member, signature=signature, body=body
        )
        patience = self._patience(seconds)
        try:
            async with asyncio.timeout(patience):
                reply = await bus.call(message)
        except TimeoutError as error:
            self._silent = True
            raise UnavailableError(f"systemd did not answer {member} within {patience:g} s", "") from error
        except (DBusError, OSError, EOFError) as error:
            raise UnavailableError(f"the connection to systemd was lost: {error}", "") from error
        if reply is None:
            raise UnavailableError(f"systemd gave no answer to {member}", "")
        if destination == _SYSTEMD:
            self._silent = False  # the bus alone can be well while the manager is not
        if reply.message_type is MessageType.ERROR:
            raise SystemdError(str(reply.body[0] if reply.body else reply.error_name), name=reply.error_name or "")
        return list(reply.body)

    def _patience(self, seconds: float) -> float:
        return min(seconds, _STILL_SILENT_SECONDS) if self._silent else seconds

    # Jobs

    async def _job(self, member: str, signature: str, body: list[Any], *, what: str) -> None:
        """Order a job and wait until systemd says that it is done."""
        (job,) = await self._call(member, signature, body)
        path = str(job)
        result = self._early.pop(path, None)
        if result is None:
            done = self._jobs[path] = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(_JOB_SECONDS):
                    result = await done
            except TimeoutError as error:
                raise UnavailableError(
                    f"systemd has not done {member} of {what} in {_JOB_SECONDS:.0f} s", ""
                ) from error
            finally:
                self._jobs.pop(path, None)
        if result not in ("done", "skipped"):
            raise SystemdError(f"{member} of {what}: {result}")

    def _heard(self, message: Message) -> None:
        if message.message_type is not MessageType.SIGNAL or message.member != "JobRemoved":
            return
        _, path, _, result = message.body
        waiting = self._jobs.get(path)
        if waiting is None:
            # Of somebody else, or of ours and faster than the answer that names it.
            self._early[path] = result
            while len(self._early) > 1000:
                del self._early[next(iter(self._early))]
        elif not waiting.done():
            waiting.set_result(result)
