"""Carrying out cures. Each looks once more at what it is about to change."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Sequence

from corral.adapters.doctor import scopes
from corral.adapters.doctor.revival import bring_back
from corral.adapters.git.workspaces import GitWorkspaces
from corral.adapters.procfs import ending
from corral.adapters.procfs import processes as proc
from corral.adapters.tmux import identity
from corral.domain.diagnosis_cures import (
    BringBack,
    Cure,
    EndProcesses,
    Healed,
    MakePrivate,
    RemoveSocket,
    RemoveWorktree,
    StartDaemon,
    StopScope,
)
from corral.domain.errors import CorralError, RefusedError
from corral.places import Places
from corral.ports.doctor import UserUnits

_GRACE_SECONDS = 5.0


class LocalHands:
    """See `ports.doctor.Hands`."""

    def __init__(
        self, places: Places, instance: str, units: UserUnits | None, start_daemon: Callable[[], object]
    ) -> None:
        """`start_daemon` returns when the daemon takes requests, or raises why there is none."""
        self._places = places
        self._start_daemon = start_daemon
        self._instance = instance
        self._units = units

    def heal(self, cures: Sequence[Cure]) -> list[Healed]:
        """See `Hands.heal`."""
        # All at once: they share one period of grace.
        ended = _end([cure for cure in cures if isinstance(cure, EndProcesses)])
        return [ended[cure] if isinstance(cure, EndProcesses) else self._heal(cure) for cure in cures]

    def _heal(self, cure: Cure) -> Healed:
        try:
            if isinstance(cure, BringBack):
                return bring_back(cure)
            if isinstance(cure, StopScope):
                return self._stop(cure)
            if isinstance(cure, RemoveSocket):
                return _remove_socket(cure)
            if isinstance(cure, RemoveWorktree):
                return self._remove_worktree(cure)
            if isinstance(cure, MakePrivate):
                return self._make_private(cure)
            if isinstance(cure, StartDaemon):
                self._start_daemon()
                return Healed(True, "it was started")
        except CorralError as error:
            return Healed(False, error.message)
        except OSError as error:
            return Healed(False, f"{error.filename or 'it failed'}: {error.strerror or error}")
        raise AssertionError(cure)

    def _stop(self, cure: StopScope) -> Healed:
        if self._units is None:
            return Healed(False, "the service manager cannot be asked")
        if not scopes.is_empty(cure.control_group):
            return Healed(False, "something runs in it now, so it was left alone")
        self._units.stop(cure.name)
        return Healed(True, "it was stopped")

    def _remove_worktree(self, cure: RemoveWorktree) -> Healed:
        # Nobody can bring the team up meanwhile: that needs a daemon, and a daemon needs this lock.
        with _held((self._places.start_lock, self._places.daemon_lock)):
            workspaces = GitWorkspaces(self._places, self._instance)
            removal = asyncio.run(
                workspaces.remove(team=cure.team, agent=cure.agent, path=cure.path, repo=None, discard=False)
            )
        if removal.removed:
            return Healed(True, "it was removed")
        return Healed(False, f"it stays: {removal.why}" if removal.why else "it stays")

    def _make_private(self, cure: MakePrivate) -> Healed:
        if not self._places.may_close(cure.path):
            return Healed(False, "it holds things that are not Corral's, so it was left alone")
        descriptor = os.open(cure.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_uid != os.getuid():
                return Healed(False, "it is not ours any more, so it was left alone")
            os.fchmod(descriptor, 0o700)
        finally:
            os.close(descriptor)
        return Healed(True, "its mode is 0700 now")


def _end(cures: list[EndProcesses]) -> dict[EndProcesses, Healed]:
    if not cures:
        return {}
    above = proc.with_parents(os.getpid())
    healed = {
        cure: Healed(False, "the doctor itself was started from there: run it from another terminal")
        for cure in cures
        if above & {pid for pid, _ in cure.processes}
    }
    cures = [cure for cure in cures if cure not in healed]
    wanted = {key for cure in cures for key in cure.processes}

    async def end() -> ending.Ending:
        return await ending.end(lambda everyone: [one for one in everyone if one.key in wanted], _GRACE_SECONDS)

    left = {process.key for process in asyncio.run(end()).left}
    for cure in cures:
        stuck = [pid for pid, start in cure.processes if (pid, start) in left]
        said = f"pid {stuck[0]} did not end, not even when killed" if stuck else "they were ended"
        healed[cure] = Healed(not stuck, said)
    return healed


def _remove_socket(cure: RemoveSocket) -> Healed:
    with _held(cure.locks):
        presence, _ = identity.server_behind(cure.path)
        if presence != "absent":
            return Healed(False, "somebody listens there now, so it was left alone")
        if os.path.lexists(cure.path):
            if not stat.S_ISSOCK(os.lstat(cure.path).st_mode):
                return Healed(False, "it is no socket any more, so it was left alone")
            os.unlink(cure.path)
    return Healed(True, "it was removed")


@contextlib.contextmanager
def _held(locks: Sequence[str]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for path in locks:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RefusedError("a daemon or a keeper is starting or running, so it was left alone") from None
        yield
