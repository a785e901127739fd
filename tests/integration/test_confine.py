"""The launcher that keeps a program to what it may touch, alone, on the real kernel: what works, and every way out."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from corral.adapters.landlock.confine import FILES_VERSION, PORTS_VERSION, __file__, no_filter, version

needs_files = pytest.mark.skipif(
    version() < FILES_VERSION, reason="this kernel has no Landlock that knows of truncating (Linux 6.2)"
)
needs_filter = pytest.mark.skipif(bool(no_filter()), reason=no_filter() or "there is a filter")
needs_ports = pytest.mark.skipif(
    version() < PORTS_VERSION or bool(no_filter()), reason="this kernel has no Landlock that knows of ports (Linux 6.7)"
)
Ran = subprocess.CompletedProcess[str]
#: In every attempt: what is refused, and what the kernel says to it.
HEAD = """
import errno, os, socket, subprocess, sys
def tried(do):
    try:
        do()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
def write(path, flags=os.O_WRONLY):
    os.write(os.open(path, flags), b"broken")
"""


class Ground:
    """A workspace with `src`, something outside of it, and rules that allow `src` alone."""

    def __init__(self, directory: Path) -> None:
        self.workspace = directory / "w"
        self.outside = directory / "outside"
        for path in (self.workspace / "src", self.workspace / "docs", self.outside):
            path.mkdir(parents=True)
        self.precious = self.outside / "precious"
        self.precious.write_text("whole")
        (self.workspace / "docs" / "d").write_text("whole")
        self.own = directory / "own"
        self.tmpdir = "/tmp"
        self.rules: dict[str, object] = {
            "workspace": str(self.workspace),
            "write": True,
            "read": False,
            "below": [["src", "rw"]],
            "declared": [],
            "besides": [[f"{self.own}/", "rw"], ["/dev/null", "rw"]],
            "temporary": str(self.own / "temporary"),
            "cache": str(directory / "cache"),
            "ports": None,
            "network": True,
        }

    def run(self, *argv: str, **rules: object) -> Ran:
        told = json.dumps(self.rules | rules)
        command = [sys.executable, "-I", "-S", __file__, told, *argv]
        environment = {**os.environ, "TMPDIR": self.tmpdir}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.workspace, env=environment, timeout=60
        )

    def python(self, text: str, *arguments: str, **rules: object) -> str:
        done = self.run(sys.executable, "-c", HEAD + text, str(self.outside), *arguments, **rules)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def is_whole(self) -> bool:
        return self.precious.read_text() == "whole" and sorted(os.listdir(self.outside)) == ["precious"]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@needs_files
def test_inside_all_can_be_done(ground: Ground) -> None:
    said = ground.python(
        "f = open('src/a', 'w'); f.write('11'); f.close(); os.mkdir('src/d'); os.rename('src/a', 'src/d/b')\n"
        "os.link('src/d/b', 'src/c'); os.symlink('/etc', 'src/l'); os.truncate('src/c', 1); os.unlink('src/c')\n"
        "os.mkfifo('src/f'); s = socket.socket(socket.AF_UNIX); s.bind('src/s')\n"
        "print(open('src/d/b').read(), os.listdir('docs'))"
    )
    assert said == "1 ['d']"


#: Ways out, each as the words of a program. argv[1] is the directory outside.
ATTEMPTS = {
    "straight": "write(sys.argv[1] + '/precious')",
    "a new file": "write(sys.argv[1] + '/new', os.O_CREAT | os.O_WRONLY)",
    "another part of the workspace": "write('docs/d')",
    "the top of the workspace": "write('new', os.O_CREAT | os.O_WRONLY)",
    "dots": "write('src/../../outside/precious')",
    "truncating by name": "os.truncate(sys.argv[1] + '/precious', 0)",
    "truncating when opened": "os.open(sys.argv[1] + '/precious', os.O_RDONLY | os.O_TRUNC)",
    "a symbolic link": "(os.symlink(sys.argv[1] + '/precious', 'src/l'), write('src/l'))",
    "a symbolic link to a directory": "(os.symlink(sys.argv[1], 'src/l'), write('src/l/precious'))",
    "a hard link in": "(os.link(sys.argv[1] + '/precious', 'src/h'), write('src/h'))",
    "a hard link out": "(open('src/x', 'w'), os.link('src/x', sys.argv[1] + '/x'))",
    "a rename in": "os.rename(sys.argv[1] + '/precious', 'src/p')",
    "a rename out": "(open('src/x', 'w'), os.rename('src/x', sys.argv[1] + '/precious'))",
    "a rename of the allowed directory": "os.rename('src', 'elsewhere')",
    "a rename over the allowed directory": "os.rename('docs', 'src')",
    "removing": "os.unlink(sys.argv[1] + '/precious')",
    "removing a directory": "(os.rmdir('docs'))",
    "making a directory": "os.mkdir(sys.argv[1] + '/d')",
    "a link outside": "os.symlink('x', sys.argv[1] + '/l')",
    "a socket outside": "socket.socket(socket.AF_UNIX).bind(sys.argv[1] + '/s')",
    "by a descriptor": "write('/proc/self/fd/%d' % os.open(sys.argv[1] + '/precious', os.O_RDONLY))",
    "from a descriptor of the directory": (
        "os.write(os.open('precious', os.O_WRONLY, dir_fd=os.open(sys.argv[1], os.O_RDONLY)), b'x')"
    ),
    "by way of another's root": "write('/proc/%d/root%s/precious' % (os.getppid(), sys.argv[1]))",
    "from another directory": "(os.chdir(sys.argv[1]), write('precious'))",
}


@needs_files
@pytest.mark.parametrize("way", ATTEMPTS)
def test_no_way_leads_out(ground: Ground, way: str) -> None:
    refused = ground.python(f"print(tried(lambda: {ATTEMPTS[way]}))")
    assert refused in ("EACCES", "EXDEV", "EPERM")
    assert ground.is_whole()
    assert (ground.workspace / "docs" / "d").read_text() == "whole"
    assert sorted(os.listdir(ground.workspace)) == ["docs", "src"]


@needs_files
def test_the_attempts_do_succeed_without_it(ground: Ground) -> None:
    """Else the test above would prove nothing."""
    done = {}
    for number, (way, attempt) in enumerate(ATTEMPTS.items()):
        other = Ground(ground.own / str(number))
        done[way] = other.python(f"print(tried(lambda: {attempt}))", write=False, below=[], besides=[])
    failed = {way for way, said in done.items() if said != "done"}
    # A directory with something in it cannot be removed.
    assert failed == {"removing a directory"}


@needs_files
def test_what_it_starts_is_confined_too_and_cannot_shake_it_off(ground: Ground) -> None:
    said = ground.python(
        'do = \'import os,sys; os.setsid(); os.write(os.open(sys.argv[1] + "/precious", os.O_WRONLY), b"x")\'\n'
        "one = subprocess.run([sys.executable, '-c', do, sys.argv[1]], capture_output=True)\n"
        "again = [sys.executable, '-I', '-S', sys.argv[2], sys.argv[3], sys.executable, '-c', do, sys.argv[1]]\n"
        "two = subprocess.run(again, capture_output=True)\n"
        "print(b'PermissionError' in one.stderr, b'PermissionError' in two.stderr)",
        __file__,
        json.dumps(ground.rules | {"declared": [[str(ground.outside), "rw"]]}),
    )
    assert said == "True True"
    assert ground.is_whole()


@needs_files
def test_others_can_not_be_traced_nor_their_environment_be_read(ground: Ground) -> None:
    """Of a user who is not root: root may look at every process, whatever Landlock says."""
    nobody = 65534 if os.getuid() == 0 else os.getuid()
    with subprocess.Popen(["sleep", "60"], env={"SECRET": "x"}, user=nobody) as other:
        look = f"os.setuid({nobody}); print(tried(lambda: open('/proc/{other.pid}/environ').read()))"
        try:
            confined, free = ground.python(look), ground.python(look, write=False, below=[], besides=[])
        finally:
            other.kill()
    assert (confined, free) == ("EACCES", "done")


@needs_files
@needs_filter
def test_who_has_no_network_can_not_have_others_use_theirs(ground: Ground) -> None:
    """Neither traced nor robbed of a socket that they have; files can be moved about as before."""
    nobody = 65534 if os.getuid() == 0 else os.getuid()
    with socket.socket() as theirs, subprocess.Popen(["sleep", "60"], stdin=theirs.fileno(), user=nobody) as other:
        os.chmod(ground.workspace / "src", 0o777)
        os.chmod(ground.workspace / "docs", 0o777)
        take = (
            "import ctypes\n"
            f"os.setuid({nobody})\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            f"taken = libc.syscall(438, os.pidfd_open({other.pid}), 0, 0)\n"
            "print(taken >= 0 or errno.errorcode[ctypes.get_errno()],"
            f" tried(lambda: open('/proc/{other.pid}/environ').read()),"
            " tried(lambda: open('src/a', 'w').close()), tried(lambda: os.rename('src/a', 'docs/a')))"
        )
        try:
            confined = ground.python(take, write=False, below=[], besides=[], network=False)
            free = ground.python(take, write=False, below=[], besides=[])
        finally:
            other.kill()
    assert (confined, free) == ("EPERM EACCES done done", "True done done done")


@needs_files
def test_a_directory_that_is_not_there_yet_is_made(ground: Ground) -> None:
    said = ground.python(
        "write('new/deep/x', os.O_CREAT | os.O_WRONLY); print(tried(lambda: write('new/x', os.O_CREAT | os.O_WRONLY)))",
        below=[["new/deep", "rw"]],
    )
    assert said == "EACCES"
    assert (ground.workspace / "new" / "deep" / "x").read_text() == "broken"


@needs_files
def test_a_link_in_the_place_of_what_is_declared_is_not_followed(ground: Ground) -> None:
    (ground.workspace / "link").symlink_to(ground.outside)
    for path in ("link", "link/below"):
        for word in ("rw", "r"):
            done = ground.run("true", below=[[path, word]])
            assert done.returncode == 126
            assert "symbolic link link" in done.stderr
    assert ground.is_whole()


@needs_files
@pytest.mark.parametrize("where", ["declared", "besides"])
def test_a_link_that_the_agent_could_have_made_is_not_followed_elsewhere_either(ground: Ground, where: str) -> None:
    (ground.workspace / "src" / "cache").symlink_to(ground.outside)
    before = [["/dev/null", "rw"]]
    done = ground.run("true", **{where: [*before, [f"{ground.workspace}/src/cache", "rw"]]})
    assert (done.returncode, done.stdout) == (126, "")
    assert "which its agent could have made" in done.stderr
    person = ground.outside.with_name("link")
    person.symlink_to(ground.workspace / "docs")
    assert ground.python("write('docs/d'); print('ran')", **{where: [*before, [str(person), "rw"]]}) == "ran"
    assert ground.is_whole()


@needs_files
def test_what_cannot_be_as_declared_is_not_started(ground: Ground) -> None:
    for told, said in (
        ({"below": [["docs/d", "rw"]]}, "docs/d, which [agents.….access] declares, is not a directory"),
        ({"declared": [["/no/such", "rw"]]}, "/no/such, which [agents.….access] declares, cannot be opened"),
        ({"workspace": str(ground.workspace / "gone")}, "No such file"),
        ({"below": 1}, ""),
    ):
        done = ground.run(sys.executable, "-c", "print('ran')", **told)
        assert (done.returncode, done.stdout) == (126 if said else 1, "")
        assert said in done.stderr


@needs_files
def test_what_is_not_to_be_had_besides_is_left_out(ground: Ground) -> None:
    besides = [["/no/such", "rw"], ["/dev/null/x/", "rw"], [f"{ground.workspace}/made/", "rw"]]
    said = ground.python("write('made/x', os.O_CREAT | os.O_WRONLY); print('ran')", besides=besides)
    assert said == "ran"


@needs_files
def test_reading_is_kept_to_what_is_declared(ground: Ground) -> None:
    (ground.workspace / "src" / "s").write_text("seen")
    system = [[path, "r"] for path in ("/usr", "/lib", "/lib64", "/etc", "/proc", sys.prefix, sys.base_prefix)]
    library = [[os.path.dirname(os.path.realpath(sys.executable)), "r"]]
    said = ground.python(
        "print(open('src/s').read(), os.listdir('docs'), tried(lambda: open('docs/d')), "
        "tried(lambda: open(sys.argv[1] + '/precious')), tried(lambda: os.listdir(sys.argv[1])), "
        "tried(lambda: open('src/../docs/d')), tried(lambda: os.execv(sys.argv[1] + '/precious', ['x'])))",
        write=False,
        read=True,
        below=[["src", "r"], ["", "names"], ["not-there", "r"]],
        besides=[*system, *library],
    )
    assert said == "seen ['d'] EACCES EACCES EACCES EACCES EACCES"


@needs_files
def test_temporary_files_have_a_place_of_their_own(ground: Ground) -> None:
    show = [sys.executable, "-c", "import os, tempfile; print(tempfile.mkstemp()[1])"]
    assert ground.run(*show).stdout.startswith(f"{ground.own}/temporary/")
    cache = [sys.executable, "-c", "import os; print(os.environ.get('XDG_CACHE_HOME'))"]
    assert ground.run(*cache).stdout.strip() == f"{ground.own}/temporary/cache"
    ground.own.with_name("cache").mkdir()
    assert ground.run(*cache).stdout.strip() == str(os.environ.get("XDG_CACHE_HOME"))
    ground.tmpdir = str(ground.workspace / "src")
    assert ground.run(*show).stdout.startswith(ground.tmpdir)


@needs_filter
def test_without_a_network_there_are_local_sockets_only(ground: Ground) -> None:
    said = ground.python(
        "families = (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, 40)\n"
        "kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM)\n"
        "print({tried(lambda: socket.socket(family, kind)) for family in families for kind in kinds},\n"
        "      tried(lambda: socket.socket(socket.AF_UNIX)), tried(lambda: socket.socketpair()),\n"
        "      tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)))\n"
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.syscall(425, 8, ctypes.create_string_buffer(256)), errno.errorcode[ctypes.get_errno()])\n"
        "code = 'import socket; socket.socket()'\n"
        "print(b'PermissionError' in subprocess.run([sys.executable, '-c', code], capture_output=True).stderr)",
        write=False,
        network=False,
    )
    assert said.splitlines() == ["{'EACCES'} done done done", "-1 ENOSYS", "True"]


@needs_filter
def test_a_pair_of_sockets_of_another_family_is_a_way_out_as_well(ground: Ground) -> None:
    look = "print(tried(lambda: socket.socketpair(30)), tried(lambda: socket.socketpair(socket.AF_INET)))"
    assert ground.python(look, write=False, network=False) == "EACCES EACCES"


@needs_ports
def test_a_port_that_may_not_be_listened_on_is_closed_by_every_name_of_tcp(ground: Ground) -> None:
    look = (
        "def listen(family, protocol, kind=socket.SOCK_STREAM):\n"
        "    with socket.socket(family, kind, protocol) as one:\n"
        "        one.bind(('::1' if family == socket.AF_INET6 else '127.0.0.1', int(sys.argv[2])))\n"
        "        one.listen() if kind == socket.SOCK_STREAM else None\n"
        "print(*(tried(lambda: listen(family, protocol)) for family in (socket.AF_INET, socket.AF_INET6)"
        " for protocol in (0, 6, 262, 256)), tried(lambda: listen(43, 0)),"
        " tried(lambda: listen(socket.AF_INET, 0, socket.SOCK_DGRAM)), tried(lambda: socket.socket(socket.AF_UNIX)))"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    closed = ground.python(look, str(port), write=False, ports=[])
    ways = "EACCES EACCES EPROTONOSUPPORT EPROTONOSUPPORT"
    assert closed == f"{ways} {ways} EPROTONOSUPPORT done done"
    opened = ground.python(look, str(port), write=False, ports=[[port, port]]).split()
    assert (opened[:2], opened[4:6], opened[2]) == (["done"] * 2, ["done"] * 2, "EPROTONOSUPPORT")
