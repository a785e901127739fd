"""A full machine: the same tree with a kernel of its own, under qemu, where limits are enforced.

Slow where the processor has to be emulated: a boot takes about a minute. Its disk is only read; what is written goes to
a file without a name. The repository comes as a second disk, output and exit code go over two virtio ports.
"""

import fcntl
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.lab.host import tree
from tests.lab.host.errors import CannotRunError, LabError
from tests.lab.host.repository import repository
from tests.lab.host.tree import PRIVATE, say

BOOT_SECONDS = 300
_BUILD_SECONDS = 1200
_OFF_SECONDS = 60
_PROVISION = Path(__file__).with_name("provision-full.sh")
_TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "mke2fs": "e2fsprogs"}

# $1 is the tree, $2 where the results go, $3 the directory with what the build needs; the rest is the environment.
_BUILD = r"""
set -eu
tree=$1 results=$2 needs=$3
shift 3
mount --types tmpfs --options size=3g tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount --types overlay --options "lowerdir=$tree,upperdir=/mnt/upper,workdir=/mnt/work" lab /mnt/root
mount --types tmpfs tmpfs /mnt/root/run
mkdir /mnt/root/run/build
cp -RL "$needs/." /mnt/root/run/build
mount --types proc proc /mnt/root/proc
mount --bind /dev /mnt/root/dev
if [ -e /etc/resolv.conf ]; then cp -L /etc/resolv.conf /mnt/root/etc/resolv.conf; fi
chroot /mnt/root env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive "$@" sh /run/build/provision-full.sh
cp /mnt/root/run/build/vmlinuz /mnt/root/run/build/initrd.img "$results"
umount /mnt/root/dev /mnt/root/proc /mnt/root/run
mke2fs -q -t ext4 -d /mnt/root "$results/disk.img" 3G
"""

# The command runs qemu. The second disk comes on standard input, and is nowhere but in memory.
_LAUNCH = r"""
set -eu
mount --types tmpfs tmpfs /mnt
cat >/mnt/repository.tar
exec "$@" </dev/null
"""


def build(again: bool = False) -> Path:
    """Kernel, initial RAM disk and disk image beside the tree, made if they are not there."""
    base = tree.build()
    place = base.parent / f"full-{tree.digest(_BUILD, _PROVISION.read_text())}"
    with open(tree.cache() / "build.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists() or again:
            tree.install_tools(_TOOLS)
            _make(base, place)
    return place


def run(command: Sequence[str], *, seconds: float) -> int:
    """Boot, run `command` in the repository as root, power off; the exit code. Its output goes to our stdout."""
    with tree.in_use(), ExitStack() as stack:
        place = build()
        console = stack.enter_context(tempfile.TemporaryFile())
        output, output_port = (stack.enter_context(one) for one in socket.socketpair())
        code, code_port = (stack.enter_context(one) for one in socket.socketpair())
        qemu = subprocess.Popen(
            [*PRIVATE, "sh", "-c", _LAUNCH, "launch", *_qemu(place, output_port.fileno(), code_port.fileno())],
            stdin=subprocess.PIPE,
            stdout=console,
            stderr=subprocess.STDOUT,
            pass_fds=[output_port.fileno(), code_port.fileno()],
            env={"PATH": tree.search_path()},
            start_new_session=True,  # a ctrl-c is for us
        )
        output_port.close()
        code_port.close()

        def said() -> str:
            console.seek(0)
            return "\n".join(console.read().decode("utf-8", "replace").splitlines()[-60:])

        began = time.monotonic()
        try:
            assert qemu.stdin
            try:
                qemu.stdin.write(repository(**{"lab-command": f"exec {shlex.join(command)}\n"}))
                qemu.stdin.close()
            except BrokenPipeError:
                pass  # it ended already, and the console says why
            output.settimeout(BOOT_SECONDS)
            first = output.recv(65536)
            if not first:
                raise LabError("the machine ended while it booted", said())
            say(f"booted in {time.monotonic() - began:.0f} s")
            copying = threading.Thread(target=_copy, args=(output, first), daemon=True)
            copying.start()
            code.settimeout(seconds)
            answer = code.recv(64)
            if not answer:
                raise LabError("the machine ended before the tests did", said())
            qemu.wait(_OFF_SECONDS)
            copying.join(5)
            return int(answer)
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise LabError("the full machine did not boot, finish or power off in time", said()) from error
        finally:
            qemu.kill()
            qemu.wait(10)


def _qemu(place: Path, output: int, code: int) -> list[str]:
    return [
        # One processor: with more, the emulation may run code that the kernel has just patched (the first limit on CPU
        # time has it do so), and the machine falls over an int3 that nobody set.
        "qemu-system-x86_64", "-M", "q35", "-smp", "1", "-m", "2048", "-accel", "tcg",
        # The emulation of cmpxchg16b in qemu 7.2 spoils the flags, and the kernel falls over in its first kmalloc.
        "-cpu", "max,-cx16",
        "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio",
        "-kernel", str(place / "vmlinuz"), "-initrd", str(place / "initrd.img"),
        "-append", "root=/dev/vda rw console=ttyS0 panic=-1 mitigations=off systemd.show_status=yes",
        "-drive", f"file={place}/disk.img,if=virtio,format=raw,snapshot=on",
        "-drive", "file=/mnt/repository.tar,if=virtio,format=raw,readonly=on",
        "-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=output,fd={output}", "-device", "virtserialport,chardev=output,name=lab.output",
        "-chardev", f"socket,id=code,fd={code}", "-device", "virtserialport,chardev=code,name=lab.code",
    ]  # fmt: skip


def _copy(output: socket.socket, data: bytes) -> None:
    output.settimeout(None)
    while data:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        try:
            data = output.recv(65536)
        except OSError:
            return


def _make(base: Path, place: Path) -> None:
    if os.uname().machine != "x86_64":
        raise CannotRunError("the full machine is made for x86_64 only")
    began = time.monotonic()
    unfinished = place.with_suffix(".unfinished")
    for leftover in (unfinished, place):
        if leftover.exists():
            shutil.rmtree(leftover)
    needs = unfinished / "needs"
    needs.mkdir(parents=True)
    shutil.copy(_PROVISION, needs)
    log = unfinished / "build.log"
    say(f"building {place}, once: some minutes (log: {log})")
    arguments = [str(base), str(unfinished), str(needs), *tree.plumbing(needs)]
    tree.run_build(_BUILD, arguments, log, _BUILD_SECONDS)
    shutil.rmtree(needs)
    unfinished.rename(place)
    say(f"built in {time.monotonic() - began:.0f} s")
