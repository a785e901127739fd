"""How processes under a host are born: where, with what, and what is said if they cannot be."""

import asyncio
import json
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import corral
from corral.adapters.cgroup.tree import Cgroup
from corral.adapters.subprocess import host_start
from corral.domain.errors import CorralError, NotFoundError, RefusedError, WrongUseError
from corral.ports.runs import ExitStatus
from tests.support.process_host import Hosted, hosted, place
from tests.support.waiting import wait_for


@pytest.fixture(params=["process", "cgroup"])
def group(request: pytest.FixtureRequest) -> Iterator[Cgroup | None]:
    """Where the processes of a test are born."""
    with place(request.param) as found:
        yield found


def test_what_cannot_be_started_says_why_and_leaves_nothing(own_directory: Path, group: Cgroup | None) -> None:
    script = own_directory / "script"
    script.write_text("echo hi\n")
    lost = own_directory / "lost"
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)
    plain = own_directory / "plain"
    plain.write_text("echo hi\n")
    plain.chmod(0o755)

    async def refused(team: Hosted, *argv: str, **more: str) -> CorralError:
        with pytest.raises(CorralError) as caught:
            await team.processes.start(team.order(*argv, **more), dict(os.environ), group.path if group else "")
        return caught.value

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            error = await refused(team, "no-such-program", "x")
            assert isinstance(error, NotFoundError)
            assert "no-such-program" in error.message
            assert isinstance(await refused(team, "./no-such-program", "x"), NotFoundError)
            error = await refused(team, "true", "x", directory="/no/such/directory")
            assert isinstance(error, NotFoundError)
            assert "/no/such/directory" in error.message
            error = await refused(team, str(script), "x")
            assert isinstance(error, RefusedError)
            assert "may not be executed" in error.message
            assert "first line" in (await refused(team, str(lost), "x")).remedy
            assert "no #! line" in (await refused(team, str(plain), "x")).message
            assert isinstance(await refused(team, "echo", "a\0b"), WrongUseError)
            assert "too long" in (await refused(team, "echo", "x" * (1 << 20))).message
            assert await team.processes.table() == []
            assert (await team.run("true")).exit == ExitStatus(code=0)
        if group is not None:
            wait_for(lambda: group.children() == [], what="no cgroup is left")

    asyncio.run(scenario())


def test_the_program_is_looked_for_in_the_path_it_is_given(own_directory: Path) -> None:
    (own_directory / "bin").mkdir()
    program = own_directory / "bin" / "hello-there"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)

    async def scenario() -> None:
        async with hosted(own_directory) as team:
            path = {"PATH": f"/nowhere:bin:{os.environ['PATH']}"}
            assert await team.output(await team.run("hello-there", "x", environment=path)) == b"found\n"
            with pytest.raises(NotFoundError):
                await team.start("hello-there", "x")

    asyncio.run(scenario())


LOOK = r"""
import json, os, resource, signal, sys
print(json.dumps({
    "cwd": os.getcwd(),
    "session": os.getsid(0) == os.getpid() == os.getpgid(0),
    "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")),
    "ignored": [line.split()[1] for line in open("/proc/self/status") if line.startswith("SigIgn")][0],
    "blocked": [line.split()[1] for line in open("/proc/self/status") if line.startswith("SigBlk")][0],
    "umask": os.umask(0),
    "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    "environment": dict(os.environ),
    "stdin": sys.stdin.read(),
    "tty": os.isatty(1),
}))
"""


def test_it_finds_nothing_of_the_host(own_directory: Path, group: Cgroup | None) -> None:
    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            program = "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL); signal.signal(25, signal.SIG_DFL)"
            ended = await team.run(sys.executable, "-I", "-S", "-c", program + LOOK, environment={"MARK": "yes"})
            seen = json.loads(await team.output(ended))
            assert seen["cwd"] == str(own_directory)
            assert seen["session"]
            assert seen["descriptors"] == [0, 1, 2]
            assert int(seen["ignored"], 16) == 0
            assert int(seen["blocked"], 16) == 0
            before = os.umask(0o22)
            os.umask(before)
            assert seen["umask"] == before
            assert tuple(seen["files"]) == resource.getrlimit(resource.RLIMIT_NOFILE)
            assert seen["environment"]["CORRAL_PROCESS"] == ended.process
            assert seen["environment"]["MARK"] == "yes"
            assert "CORRAL_HOST" not in seen["environment"]
            assert seen["environment"]["OWN_TEST_DIRECTORY"] == str(own_directory)
            assert seen["stdin"] == ""
            assert not seen["tty"]

    asyncio.run(scenario())


def test_it_is_born_in_a_cgroup_of_its_own_which_goes_with_it(own_directory: Path) -> None:
    async def scenario(group: Cgroup) -> None:
        async with hosted(own_directory, group) as team:
            process = await team.start("grep ^0:: /proc/self/cgroup; read line", stdin=True)
            page = await team.says(process, b"\n")
            own = group.child(f"process-{process.process}")
            assert page.data.decode() == f"0::{own.name}\n"
            assert process.pid in process.pids
            await team.processes.write(process.process, b"", eof=True)
            await team.processes.exited(process.process)
            wait_for(lambda: not own.exists(), what="its cgroup goes")

    with place("cgroup") as group:
        assert group is not None
        asyncio.run(scenario(group))


def test_without_a_place_in_the_cgroup_it_is_not_started(own_directory: Path) -> None:
    async def scenario() -> None:
        async with hosted(own_directory) as team:
            order = team.order("true")
            with pytest.raises(CorralError, match="cgroup"):
                await team.processes.start(order, dict(os.environ), str(own_directory / "no"))

    asyncio.run(scenario())


#: A host on a machine that knows no quicker way than to fork.
FORKING_HOST = """
import sys
sys.path.append({root!r})
from corral.adapters.subprocess import host_native
host_native.clone = None
from corral.adapters.subprocess.host_main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("tty", [False, True])
def test_where_only_a_fork_will_do_it_is_the_same(
    own_directory: Path, group: Cgroup | None, tty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = own_directory / "host.py"
    program.write_text(FORKING_HOST.format(root=str(Path(corral.__file__).parent.parent)))
    monkeypatch.setattr(host_start, "host_program", lambda: str(program))

    async def scenario() -> None:
        async with hosted(own_directory, group) as team:
            for wrong in ("no-such-program", "./no-such-program"):
                with pytest.raises(NotFoundError):
                    await team.start(wrong, "x", tty=tty)
            with pytest.raises(RefusedError):
                await team.start("/etc/passwd", "x", tty=tty)
            process = await team.start("grep ^0:: /proc/self/cgroup; cut -d' ' -f6 /proc/$$/stat; exit 3", tty=tty)
            ended = await team.processes.exited(process.process)
            assert ended.exit == ExitStatus(code=3)
            cgroup, session = (await team.output(process)).decode().split()
            assert int(session) == process.pid
            assert group is None or cgroup == f"0::{group.child(f'process-{process.process}').name}"
        if group is not None:
            wait_for(lambda: group.children() == [], what="no cgroup is left")

    asyncio.run(scenario())
