"""Packs on their way out of a repository and into one, in pieces, each made or read by a git that runs meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence

from corral import git as command
from corral.adapters.git.command import git
from corral.adapters.git.refs import is_hash
from corral.adapters.git.worktrees import common_dir
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError
from corral.ports.lending import PIECE_BYTES

log = logging.getLogger("corral.keeper")

#: Of a pack that comes from another user, so much is taken.
_LARGEST = 1 << 30
#: A git that takes one in may have so much memory of its own, and work for so many seconds of a processor: a small pack
#: can be of objects that fit nowhere, or of more than anybody can unpack.
_MEMORY = 2 << 30
_WORK_SECONDS = 600
#: One that nobody goes on with is given up after so many seconds.
_PATIENCE = 120.0
_MOST_UNDER_WAY = 32
#: Until one that was told to end has removed what it had begun.
_ENDING_SECONDS = 2.0


class Packs:
    """Those of one keeper that are under way. `apart` is the directory for those that are not in a repository yet."""

    def __init__(self, apart: str) -> None:
        self._apart = apart
        self._packs: dict[str, _Pack] = {}

    def clear(self) -> None:
        """Remove what is apart. Only before anything is under way."""
        try:
            shutil.rmtree(self._apart)
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("what came in earlier stays in %s: %s", self._apart, error)

    def end(self) -> None:
        """Give up all that are under way."""
        while self._packs:
            self._packs.popitem()[1].end()

    async def send(self, directory: str, want: Sequence[str], have: Collection[str]) -> str:
        """See `Lending.send_pack`."""
        _check(want)
        known = await _known(directory, have)
        words = ("pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "--quiet")
        feed = "".join(f"{one}\n" for one in want) + "".join(f"^{one}\n" for one in known)
        return self._begin(_Pack(directory, words, feed.encode()))

    async def read(self, name: str) -> bytes:
        """See `Lending.read_pack`."""
        pack = self._get(name)
        piece = await pack.read()
        if not piece:
            del self._packs[name]
        return piece

    async def receive(self, directory: str, *, apart: bool) -> str:
        """See `Lending.receive_pack`. Apart, it knows the objects of the repository, and that not of it."""
        if not apart:
            return self._begin(_Pack(directory, ("index-pack", "--stdin", "--fix-thin")))
        objects = os.path.join(await common_dir(directory), "objects")
        kind = (await git(directory, "rev-parse", "--show-object-format")).strip()
        os.makedirs(self._apart, mode=0o700, exist_ok=True)
        place = tempfile.mkdtemp(dir=self._apart)
        try:
            await git(place, "init", "--bare", "--quiet", "--template=", f"--object-format={kind}")
            with open(os.path.join(place, "objects", "info", "alternates"), "w", errors="surrogateescape") as file:
                file.write(objects + "\n")
            # Strict: what git would stumble over, or what would make it write elsewhere, is told by it now.
            words = ("index-pack", "--strict", "--stdin", "--fix-thin", f"--max-input-size={_LARGEST}")
            return self._begin(_Pack(place, words, remove=place))
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise

    async def write(self, name: str, data: bytes) -> None:
        """See `Lending.write_pack`."""
        await self._get(name).write(data)

    async def received(self, name: str) -> str:
        """Wait until all of a pack is taken in; the repository that it is in. It is to be dropped after that."""
        pack = self._get(name)
        await pack.ended()
        return pack.directory

    async def drop(self, name: str) -> None:
        """See `Lending.drop_pack`."""
        pack = self._packs.pop(name, None)
        if pack is not None:
            await asyncio.to_thread(pack.end)

    def _begin(self, pack: _Pack) -> str:
        if len(self._packs) >= _MOST_UNDER_WAY:
            pack.end()
            raise RefusedError(f"{_MOST_UNDER_WAY} packs are under way already", "try again when one has ended")
        name = secrets.token_hex(8)
        self._packs[name] = pack
        pack.have_patience(lambda: self._packs.pop(name, None))
        return name

    def _get(self, name: str) -> _Pack:
        try:
            return self._packs[name]
        except KeyError:
            raise NotFoundError(f"the pack {name} is not under way", "it is begun anew with the next change") from None


class _Pack:
    """One git that makes a pack, or takes one."""

    def __init__(self, directory: str, words: Sequence[str], feed: bytes | None = None, *, remove: str = "") -> None:
        """`feed` is all of its input, if it is not written in pieces; the directory `remove` goes with it."""
        self.directory = directory
        self._words = words
        self._remove = remove
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._forget: Callable[[], object] = lambda: None
        # A file and no pipe: nobody reads what it says before it has ended.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed at the end
        with tempfile.TemporaryFile() as source:
            source.write(feed or b"")
            source.seek(0)
            self._process = subprocess.Popen(
                command.command_line(directory, *words),
                stdin=subprocess.PIPE if feed is None else source,
                stdout=subprocess.DEVNULL if feed is None else subprocess.PIPE,
                stderr=self._complaints,
                bufsize=0 if feed is None else -1,
                env=command.environment(),
                start_new_session=True,
            )
        if remove:  # from another user; it has nothing of it yet
            resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
            resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (_WORK_SECONDS, _WORK_SECONDS))

    def have_patience(self, forget: Callable[[], object]) -> None:
        """Give it up, and have it forgotten, once nobody has gone on with it for long."""
        self._forget = forget
        self._went_on()

    async def read(self) -> bytes:
        output = self._process.stdout
        if output is None:
            raise WrongUseError("this pack is written, and not read")
        async with self._turn:
            self._stop_waiting()
            piece = await asyncio.to_thread(output.read, PIECE_BYTES)
            if piece:
                self._went_on()
                return piece
            await self._finish()
        return b""

    async def write(self, data: bytes) -> None:
        target = self._process.stdin
        if target is None:
            raise WrongUseError("this pack is read, and not written")
        async with self._turn:
            self._stop_waiting()
            try:
                await asyncio.to_thread(target.write, data)
            except OSError:
                await self._finish()  # it says why
                raise CorralError("git ended before it had the whole pack", "it is tried again") from None
            self._went_on()

    async def ended(self) -> None:
        """Say that all of it was written, and wait for git."""
        async with self._turn:
            self._stop_waiting()
            if self._process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.close()
            await self._finish(keep=True)
            self._went_on()

    async def _finish(self, *, keep: bool = False) -> None:
        code = await asyncio.to_thread(self._process.wait)
        self._complaints.seek(0)
        said = self._complaints.read(1 << 16)
        if code or not keep:
            self.end()
        if code:
            raise command.refusal(self.directory, self._words, code, said)

    def end(self) -> None:
        """Leave nothing of it."""
        self._stop_waiting()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(_ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._remove:
            shutil.rmtree(self._remove, ignore_errors=True)

    def _went_on(self) -> None:
        self._stop_waiting()
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._forget()
        asyncio.get_running_loop().run_in_executor(None, self.end)


def _check(names: Collection[str]) -> None:
    for name in names:
        if not is_hash(name):
            raise WrongUseError(f"{name!r:.80} is not the name of an object")


async def _known(directory: str, names: Collection[str]) -> list[str]:
    """Those of them that the repository has."""
    _check(names)
    feed = "".join(f"{name}\n" for name in names).encode()
    told = await git(directory, "cat-file", "--batch-check=%(objectname) %(objecttype)", feed=feed)
    return [line.partition(" ")[0] for line in told.splitlines() if not line.endswith(" missing")]
