"""How a team's tmux server is born: what it finds, what it is handed, and what it says if it does not come up."""

import asyncio
import os
import resource
import signal
from pathlib import Path

import pytest

from corral.adapters.procfs import processes as proc
from corral.adapters.tmux import identity, native_birth
from corral.adapters.tmux.birth import start_server
from corral.domain.errors import UnavailableError
from tests.support.waiting import wait_for

_ENVIRONMENT = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MARK": "ä = 'x'"}


@pytest.fixture(params=["cloned", "forked", "refused"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ways to be born: quickly, on a machine without machine code, and where a filter refuses clone3."""
    if request.param == "cloned" and native_birth.clone is None:
        pytest.skip("there is no machine code for this machine")
    if request.param == "forked":
        monkeypatch.setattr(native_birth, "clone", None)
    if request.param == "refused":
        monkeypatch.setattr(native_birth, "clone", lambda _: -38)


class _Server:
    def __init__(self, directory: Path) -> None:
        self.socket = str(directory / "tmux.sock")
        self.base = ["tmux", "-S", self.socket, "-f", "/dev/null"]

    async def start(self) -> int:
        await start_server([*self.base, "-D"], self.socket, _ENVIRONMENT)
        presence, process = identity.server_behind(self.socket)
        assert presence == "present"
        assert process is not None
        return process.pid

    async def ask(self, *words: str) -> str:
        asked = await asyncio.create_subprocess_exec(*self.base, "-N", *words, stdout=asyncio.subprocess.PIPE)
        said, _ = await asked.communicate()
        assert asked.returncode == 0
        return said.decode()

    async def end(self, pid: int) -> None:
        await self.ask("kill-server")
        async with asyncio.timeout(10):
            while proc.read(pid) is not None:  # noqa: ASYNC110 - reaped by its parent, which is this loop
                await asyncio.sleep(0.01)


@pytest.fixture
def server(own_directory: Path) -> _Server:
    return _Server(own_directory)


def _status(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(name + ":"))


@pytest.mark.usefixtures("way")
def test_it_has_what_it_needs_and_nothing_of_ours(server: _Server) -> None:
    async def act() -> None:
        before = len(os.listdir("/proc/self/fd"))
        pid = await server.start()
        assert len(os.listdir("/proc/self/fd")) == before + 1  # the one that tells of its end
        assert os.getsid(pid) == os.getpgid(pid) == pid
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        assert [os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1)] == ["/dev/null", "/dev/null"]
        assert os.readlink(f"/proc/{pid}/fd/2").startswith("pipe:")
        variables = set(Path(f"/proc/{pid}/environ").read_bytes().rstrip(b"\0").split(b"\0"))
        assert variables >= {f"{name}={value}".encode() for name, value in _ENVIRONMENT.items()}
        # What Python ignores; tmux has its own mind about others.
        await server.ask("new-session", "-d", "-s", "a", "cat", "-")
        pane = int(await server.ask("list-panes", "-a", "-F", "#{pane_pid}"))
        wait_for(lambda: _status(pane, "Name") == "cat", what="the pane's program runs")
        ignored = int(_status(pane, "SigIgn"), 16)
        assert [number for number in (signal.SIGPIPE, signal.SIGXFSZ) if ignored >> (number - 1) & 1] == []
        await server.end(pid)
        assert len(os.listdir("/proc/self/fd")) == before

    asyncio.run(act())


@pytest.mark.usefixtures("way")
def test_what_is_abandoned_below_it_is_handed_to_it(server: _Server, own_directory: Path) -> None:
    async def act() -> None:
        pid, note = await server.start(), own_directory / "pid"
        await server.ask("new-session", "-d", "-s", "a", f"(setsid sleep 86400 & echo $! >{note}); exec cat")
        wait_for(lambda: note.exists() and note.read_text().strip(), what="it was abandoned")
        orphan = int(note.read_text())
        wait_for(lambda: int(_status(orphan, "PPid")) == pid, what="it is the server's")
        os.kill(orphan, signal.SIGKILL)
        wait_for(lambda: proc.read(orphan) is None, what="the server reaps it")
        await server.end(pid)

    asyncio.run(act())


@pytest.mark.usefixtures("way")
def test_what_it_says_when_it_cannot_come_up_is_told(own_directory: Path) -> None:
    socket = str(own_directory / "no" / "such" / "directory" / "tmux.sock")

    async def act() -> None:
        before = len(os.listdir("/proc/self/fd"))
        with pytest.raises(UnavailableError, match=r"tmux could not be started: .*no/such/directory"):
            await start_server(["tmux", "-S", socket, "-f", "/dev/null", "-D"], socket, _ENVIRONMENT)
        assert len(os.listdir("/proc/self/fd")) == before

    asyncio.run(act())


@pytest.mark.usefixtures("way")
def test_a_tmux_that_is_no_program_is_told(own_directory: Path) -> None:
    program = own_directory / "tmux"
    program.write_bytes(b"\x7fELF nothing of the kind")
    program.chmod(0o755)

    async def act() -> None:
        with pytest.raises(UnavailableError, match=r"tmux could not be started: Exec format error"):
            await start_server([str(program), "-D"], str(own_directory / "tmux.sock"), _ENVIRONMENT)

    asyncio.run(act())


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("left", [0, 1, 2])
def test_without_descriptors_it_is_told_and_none_is_lost(server: _Server, left: int) -> None:
    async def act() -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: None)  # what asyncio opens by and by is open
        before = set(os.listdir("/proc/self/fd"))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        # Descriptors are given out from the lowest on: those below the highest that is open are filled up.
        filled = [os.open(os.devnull, os.O_RDONLY)]
        while filled[-1] <= max(map(int, before)):
            filled.append(os.open(os.devnull, os.O_RDONLY))
        resource.setrlimit(resource.RLIMIT_NOFILE, (filled[-1] + 1 + left, limits[1]))
        try:
            with pytest.raises(UnavailableError, match="tmux could not be started: Too many open files"):
                await start_server([*server.base, "-D"], server.socket, _ENVIRONMENT)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for descriptor in filled:
                os.close(descriptor)
        assert set(os.listdir("/proc/self/fd")) == before

    asyncio.run(act())
