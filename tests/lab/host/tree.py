"""The tree: a minimal Debian with systemd, tmux, users and a virtual environment, from which machines boot.

It is made once and kept outside of the repository, under a key that changes with what goes into it. It never holds
Corral's own code.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests.lab.host.errors import CannotRunError, LabError

REPOSITORY = Path(__file__).resolve().parents[3]
SUITE = "trixie"
PACKAGES = (
    "systemd systemd-sysv dbus dbus-user-session libpam-systemd tmux python3 python3-venv procps iproute2 git sudo "
    "openssh-server openssh-client strace libatomic1"
).split()

_LOCK = REPOSITORY / "requirements-dev.lock"
_PROVISION = Path(__file__).with_name("provision.sh")
_BUILD_SECONDS = 1800
#: A tree that nobody booted for so long belongs to a lock file of the past.
_KEEP_SECONDS = 14 * 24 * 3600
#: The package that brings each tool, where apt-get is.
_TOOLS = {"debootstrap": "debootstrap", "systemd-nspawn": "systemd-container"}
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
#: How this host reaches package registries; the build does it the same way.
_PLUMBING = re.compile(r"PIP_\w+|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|(https?|all|no)_proxy", re.IGNORECASE)

#: Runs a command in namespaces of its own. It goes with us, even if we are killed; as the first process of its pid
#: namespace it takes along everything that it started; and what it mounted goes with the last of them.
PRIVATE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "private"]
PRIVATE += ["--pid", "--fork", "--kill-child", "--mount-proc", "--"]

# $1 is the tree, $2 the mirror or
# nothing, $3 the suite, $4 the packages, $5 the directory with what the build needs, the rest is the environment.
_BUILD = r"""
set -eu
tree=$1 mirror=$2 suite=$3 packages=$4 needs=$5
shift 5
debootstrap --variant=minbase --include="$packages" "$suite" "$tree" ${mirror:+"$mirror"}
mount --types tmpfs tmpfs "$tree/run"
mkdir "$tree/run/build"
cp -RL "$needs/." "$tree/run/build"
mount --types proc proc "$tree/proc"
mount --bind /dev "$tree/dev"
if [ -e /etc/resolv.conf ]; then cp -L /etc/resolv.conf "$tree/etc/resolv.conf"; fi
exec chroot "$tree" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive "$@" sh /run/build/provision.sh
"""


def say(text: str) -> None:
    """Tell the person what goes on, on stderr: stdout belongs to what runs inside."""
    print(f"==> lab: {text}", file=sys.stderr, flush=True)


def cache() -> Path:
    """Where trees are kept."""
    return Path(os.environ.get("CORRAL_LAB_CACHE") or "/var/cache/corral-lab")


def key() -> str:
    """Changes with everything that goes into a tree."""
    return digest(SUITE, " ".join(PACKAGES), platform.machine(), _PROVISION.read_text(), _LOCK.read_text(), _BUILD)


def digest(*ingredients: str) -> str:
    """A short name for these ingredients."""
    return hashlib.sha256("\0".join(ingredients).encode()).hexdigest()[:16]


def path() -> Path:
    """Where the tree of today is, or will be."""
    return cache() / key() / "tree"


def missing_tools() -> list[str]:
    """Which of the tools that the lab needs are not installed."""
    return [tool for tool in _TOOLS if not shutil.which(tool, path=search_path())]


@contextmanager
def in_use() -> Iterator[Path]:
    """The tree, built if it is missing, and not to be removed while this lasts."""
    build()
    home = path().parent
    with open(home / "in-use", "w") as mark:
        fcntl.flock(mark, fcntl.LOCK_SH)
        os.utime(home)
        yield path()


def build(again: bool = False) -> Path:
    """Make the tree if there is none for the present ingredients. Two who build at once wait for each other."""
    if path().exists() and not again:
        return path()
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / "build.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path().exists() and not again:
            return path()
        install_tools(_TOOLS)
        _make()
        _prune()
    return path()


def mirror() -> str:
    """The Debian archive that this host uses; empty if it uses none, and debootstrap then takes its own default.

    A host may have other sources beside it (vendors, security updates): the archive is the one whose path is /debian.
    """
    if os.environ.get("CORRAL_LAB_MIRROR"):
        return os.environ["CORRAL_LAB_MIRROR"]
    for uri in _apt_uris():
        if urlsplit(uri).scheme in ("http", "https") and urlsplit(uri).path.rstrip("/").endswith("/debian"):
            return uri
    return ""


def _apt_uris() -> Iterator[str]:
    places = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]
    for place in places:
        if place.suffix == ".list" and place.is_file():
            for line in place.read_text().splitlines():
                found = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)", line)
                if found:
                    yield found[1]
        elif place.suffix == ".sources" and place.is_file():
            for stanza in re.split(r"\n\s*\n", place.read_text()):
                if re.search(r"^Enabled:\s*no", stanza, re.MULTILINE | re.IGNORECASE):
                    continue
                for found in re.finditer(r"^URIs:(.*)$", stanza, re.MULTILINE):
                    yield from found[1].split()


def install_tools(tools: Mapping[str, str]) -> None:
    """Install what is missing of these tools, given with their packages, and not without saying so first."""
    missing = [tool for tool in tools if not shutil.which(tool, path=search_path())]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise CannotRunError(f"{' and '.join(missing)} missing, and no apt-get to install them with")
    packages = [tools[tool] for tool in missing]
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    say(f"This machine lacks: {' '.join(packages)}. Installing with")
    print(f"      apt-get update -qq\n      {' '.join(command)}", file=sys.stderr)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update", "-qq"], command):
        done = subprocess.run(step, env=environment, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise LabError(f"could not install {' '.join(packages)}", done.stdout + done.stderr)


def _make() -> None:
    began = time.monotonic()
    place = path().parent
    unfinished = place.with_suffix(".unfinished")
    for leftover in (unfinished, place):
        if leftover.exists():
            shutil.rmtree(leftover)
    (unfinished / "tree").mkdir(parents=True)
    needs = unfinished / "needs"
    needs.mkdir()
    shutil.copy(_LOCK, needs)
    shutil.copy(_PROVISION, needs)
    settings = plumbing(needs)
    log = unfinished / "build.log"
    say(f"building {path()}, once for these packages and locks: some minutes (log: {log})")
    arguments = [str(unfinished / "tree"), mirror(), SUITE, ",".join(PACKAGES), str(needs), *settings]
    run_build(_BUILD, arguments, log, _BUILD_SECONDS)
    shutil.rmtree(needs)
    unfinished.rename(place)
    say(f"built in {time.monotonic() - began:.0f} s")


def run_build(script: str, arguments: Sequence[str], log: Path, seconds: float) -> None:
    """Run a shell script in namespaces of its own; what it says goes to `log`."""
    with open(log, "w") as file:
        done = subprocess.run(
            [*PRIVATE, "sh", "-c", script, "build", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": search_path()},
            timeout=seconds,
            check=False,
        )
    if done.returncode:
        raise LabError(f"the build failed, log: {log}", "\n".join(log.read_text().splitlines()[-40:]))


def plumbing(needs: Path) -> list[str]:
    """How the host gets at packages, as NAME=value; files and directories that it names are brought along."""
    settings = {name: value for name, value in os.environ.items() if _PLUMBING.fullmatch(name)}
    bundle = next((one for one in _BUNDLES if os.path.isfile(one)), None)
    if bundle:
        settings = {"PIP_CERT": bundle, "SSL_CERT_FILE": bundle, **settings}
    if os.path.isfile("/etc/pip.conf"):
        settings.setdefault("PIP_CONFIG_FILE", "/etc/pip.conf")
    for name, value in settings.items():
        if not os.path.isabs(value) or not os.path.exists(value):
            continue
        if os.path.isdir(value):
            shutil.copytree(value, needs / name)
        else:
            shutil.copy(value, needs / name)
        settings[name] = f"/run/build/{name}"
    return [f"{name}={value}" for name, value in settings.items()]


def _prune() -> None:
    """Remove trees of former ingredients that nobody used for long, nor uses now."""
    for other in cache().iterdir():
        if not other.is_dir() or other == path().parent or time.time() - other.stat().st_mtime < _KEEP_SECONDS:
            continue
        with open(other / "in-use", "w") as mark:
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            say(f"removing {other}, unused for {_KEEP_SECONDS // 86400} days")
            shutil.rmtree(other)


def search_path() -> str:
    """PATH, with the places where tools for root are."""
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
