"""What the daemon of a shared server does otherwise: its door, its directories, what keepers are told; and being a
service.
"""

import asyncio
import grp
import os
import socket
import stat
import struct
import subprocess
from pathlib import Path

import pytest

from corral import hosting
from corral.client.start import ensure_daemon
from corral.domain import host_names
from corral.domain.acl import ACCESS, acl
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError
from corral.keeper.server import VERBS, KeeperServer, KeeperService
from corral.listening import listen
from corral.peer import user_id, user_name
from corral.places import Places
from corral.ports import wire
from corral.sharing import Door, shared_door, tell_keepers


def test_the_socket_is_for_those_who_are_admitted_and_for_nobody_else(own_directory: Path) -> None:
    path, door = str(own_directory / "daemon.sock"), Door("members")
    with door.listen(path, []):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        door.admit(path, [4002, 4001])
        assert os.getxattr(path, ACCESS) == acl(6, 0, users=[(4001, 6), (4002, 6)])
        door.admit(path, [])
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with listen(path):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, "one person's is as it was"


def test_it_is_the_kernel_that_keeps_others_out(own_directory: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can be other users")
    path, door = str(own_directory / "daemon.sock"), Door("members")
    os.chmod(own_directory, 0o711)

    def connects(uid: int, group: int) -> bool:
        script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        done = subprocess.run(
            ["/usr/bin/python3", "-c", script, path],
            user=uid,
            group=group,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or "PermissionError" in done.stderr, done.stderr
        return done.returncode == 0

    with door.listen(path, [4001]):
        assert [connects(uid, 4000) for uid in (4001, 4002)] == [True, False]
        assert not connects(4002, os.stat(path).st_gid), "a group counts for nothing"
        door.admit(path, [4002])
        assert [connects(uid, 4000) for uid in (4001, 4002)] == [False, True]


def test_a_socket_that_is_gone_is_told_of(own_directory: Path) -> None:
    with pytest.raises(CorralError, match="could not be given to who may connect now: No such file"):
        Door("members").admit(str(own_directory / "daemon.sock"), [4001])


def test_an_acl_is_as_the_kernel_takes_it() -> None:
    anybody = 0xFFFFFFFF
    wanted = acl(6, 0, users=[(9, 6), (3, 4)], groups=[(5, 1)])
    assert struct.unpack_from("<I", wanted) == (2,)
    assert [struct.unpack_from("<HHI", wanted, at) for at in range(4, len(wanted), 8)] == [
        (0x01, 6, anybody),
        (0x02, 4, 3),
        (0x02, 6, 9),
        (0x04, 0, anybody),
        (0x08, 1, 5),
        (0x10, 7, anybody),
        (0x20, 0, anybody),
    ]


def test_root_is_no_daemon_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    group = grp.getgrgid(os.getgid()).gr_name
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(RefusedError, match="does not run as root"):
        shared_door(group)
    monkeypatch.setattr(os, "geteuid", lambda: 990)
    assert shared_door(group) == Door(group)
    with pytest.raises(NotFoundError, match="no group of-nobody"):
        shared_door("of-nobody")


def test_keepers_read_which_instance_they_are_of(own_directory: Path) -> None:
    places = Places(str(own_directory / "h"), str(own_directory))
    for instance in ("0123456789ab", "ba9876543210"):
        tell_keepers(places, instance)
        settings = own_directory / "keeper.env"
        assert settings.read_text() == f"CORRAL_INSTANCE={instance}\n"
        assert stat.S_IMODE(settings.stat().st_mode) == 0o644
    assert os.listdir(own_directory) == ["keeper.env"]


def test_the_runtime_directory_of_a_host_is_there_and_cannot_be_changed_by_others(own_directory: Path) -> None:
    home, runtime = own_directory / "h", own_directory / "r"
    places = Places(str(home), str(runtime))
    with pytest.raises(CorralError, match="there is no runtime directory"):
        places.create_shared()
    runtime.mkdir()
    for mode in (0o711, 0o755, 0o1771):
        os.chmod(runtime, mode)
        places.create_shared()
        assert stat.S_IMODE(runtime.stat().st_mode) == mode, "it is not closed to others"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for mode in (0o777, 0o1777, 0o775):
        os.chmod(runtime, mode)
        with pytest.raises(RefusedError, match="can be changed by others"):
            places.create_shared()
    os.chmod(runtime, 0o711)
    if os.getuid() == 0:
        os.chown(runtime, 12345, -1)
        with pytest.raises(RefusedError, match="uid 12345"):
            places.create_shared()


def test_a_member_who_names_no_instance_means_the_hosts(own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = own_directory / "daemon.sock"
    monkeypatch.setattr(host_names, "SOCKET", str(path))
    session = {"HOME": "/home/ada"}
    assert not Places.from_environment(session).of_host
    with listen(str(path)):
        assert Places.from_environment(session).of_host
        assert Places.from_environment(session).home == host_names.HOME
        for named in ("CORRAL_HOME", "CORRAL_RUNTIME_DIR"):
            assert not Places.from_environment({**session, named: "/somewhere"}).of_host


def test_nobody_starts_the_daemon_of_a_host_but_its_service_manager() -> None:
    with pytest.raises(UnavailableError) as absent:
        ensure_daemon(Places(host_names.HOME, host_names.RUNTIME))
    assert absent.value.remedy.startswith("sudo systemctl start corral.service; journalctl")


@pytest.mark.parametrize("abstract", [False, True])
def test_a_service_manager_is_told_once_and_nobody_below_us(
    own_directory: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool
) -> None:
    path = f"{own_directory}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{path}" if abstract else path)
        manager.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{path}" if abstract else path)
        hosting.say_ready(None)
        assert manager.recv(100) == b"READY=1"
        assert "NOTIFY_SOCKET" not in os.environ
        hosting.say_ready(None)
        with pytest.raises(BlockingIOError):
            manager.recv(100)


def test_users_have_numbers() -> None:
    assert user_id(user_name(os.getuid())) == os.getuid()
    with pytest.raises(NotFoundError, match="no user of-that-name"):
        user_id("of-that-name")


class OneKeeper:
    """As much of a keeper's service as answers nobody."""

    def __init__(self) -> None:
        self.done = asyncio.Event()
        self.busy = True

    def listen(self, _: object) -> object:
        return lambda: None

    def close(self) -> None:
        self.done.set()

    async def _nothing(self) -> None:
        return None


for _verb in VERBS:
    setattr(OneKeeper, _verb, OneKeeper._nothing)


@pytest.mark.parametrize("ours", [True, False])
def test_a_keeper_of_a_shared_server_hangs_up_on_everybody_but_the_daemon(own_directory: Path, ours: bool) -> None:
    async def talk() -> bool:
        service = OneKeeper()
        daemon = os.getuid() if ours else os.getuid() + 1
        server = KeeperServer(_as_service(service), daemon)
        ready = asyncio.Event()
        path = str(own_directory / "keeper.sock")
        serving = asyncio.create_task(server.serve(listen(path), ready.set, 10))
        await ready.wait()
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            writer.write(wire.encode(wire.Call(number=1, verb="hello", arguments=wire.pack({}))))
            return bool(await reader.read(1))
        except ConnectionResetError:
            return False
        finally:
            writer.close()
            service.done.set()
            await serving

    assert asyncio.run(talk()) == ours


def _as_service(service: OneKeeper) -> KeeperService:
    return service  # type: ignore[return-value]
