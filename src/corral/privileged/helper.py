#!/usr/bin/python3 -IS
"""The privileged helper of a shared server: the only code of Corral that becomes another user.

The daemon, which is the system user `corral`, runs it by `sudo -n /usr/local/libexec/corral/helper`: without arguments,
one JSON object on standard input, one JSON line on standard output. It does one of the verbs in `FIELDS` and nothing
else, for users who are members or agents of this host and for nobody else, and tells syslog what it did.

It trusts nothing that it is given: not the request, not the environment, not a path that somebody else can change. It
starts fixed programs by fixed paths with an environment of its own, and no shell. It needs the standard library alone.
tests/unit/privileged goes through it line by line; a change here has to be made there as well.
"""

from __future__ import annotations

import contextlib
import grp
import json
import os
import pwd
import re
import resource
import signal
import stat
import sys
import syslog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DAEMON = "corral"
GROUPS = ("corral-members", "corral-agents")
ROOT = 0
PROGRAM = "/usr/local/libexec/corral/helper"
KEEPERS = "/run/corral/keepers"
SETTINGS = "/etc/corral/host.json"
LINGERING = "/var/lib/systemd/linger"
#: A file for each user whose linger was turned on for Corral's sake: only that may be turned off again.
LINGER_NOTES = "/var/lib/corral-host/linger"
SYSTEMCTL = "/usr/bin/systemctl"
LOGINCTL = "/usr/bin/loginctl"
#: Instances are numbers of users. What has the user's manager asked runs as that user, and so it is PID 1's to start: a
#: process of theirs below the helper would be in the daemon's unit, and the user could make anything of it.
KEEPER_START, KEEPER_STOP = "corral-keeper-start", "corral-keeper-stop"
#: Mounts what a user's keeper has its socket in: so little fits into it that /run has room for everybody.
KEEPER_PLACE = "corral-keeper-place"

#: Below are system accounts. Above are those that systemd makes up, `nobody`, and what is no account at all.
LOWEST_UID = 1000
NOT_PEOPLE = (range(61184, 65536), range(2**31, 2**32))

LARGEST_REQUEST = 4096
LARGEST_SETTINGS = 4096
MOST_WORDS_OF_A_PROGRAM = 500
REQUEST_SECONDS = 5
WORK_SECONDS = 60
LIMITS = (
    (resource.RLIMIT_CORE, 0),
    (resource.RLIMIT_CPU, 20),
    (resource.RLIMIT_FSIZE, 1 << 20),
    (resource.RLIMIT_NOFILE, 256),
)

#: The closed list of verbs, with the fields that each takes: all of them, and no others.
FIELDS = {
    "keeper_start": ("user",),
    "keeper_stop": ("user",),
    "keeper_directory": ("user",),
    "workspace": ("user", "path", "group", "mode"),
    "linger": ("user", "state"),
}
_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,30}", re.ASCII)
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
PATTERNS = {
    "user": _NAME,
    "group": _NAME,
    "path": re.compile(rf"{_PART}(/{_PART}){{0,3}}", re.ASCII),
    "mode": re.compile(r"0700|0750|0770", re.ASCII),
    "state": re.compile(r"on|off", re.ASCII),
}

FAILED, WRONG_USE, REFUSED, UNAVAILABLE = "failed", "wrong_use", "refused", "unavailable"
EXIT_CODES = {FAILED: 1, WRONG_USE: 2, REFUSED: 4, UNAVAILABLE: 6}


class Stop(Exception):  # noqa: N818 - it is how the helper says no
    """The request is not done. `code` is one of `EXIT_CODES`; the message is for whoever asked."""

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy


def main() -> int:
    """Do what standard input asks for, say so on standard output; the exit code."""
    os.umask(0o077)
    os.chdir("/")
    syslog.openlog("corral-helper", syslog.LOG_PID, syslog.LOG_AUTHPRIV)
    signal.signal(signal.SIGALRM, _too_late)
    for limit, value in LIMITS:
        resource.setrlimit(limit, (value, value))
    asked = "a request"
    try:
        check_caller(sys.argv, dict(os.environ), os.getresuid(), os.getresgid(), pwd.getpwnam(DAEMON).pw_uid)
        signal.alarm(REQUEST_SECONDS)
        request = parse(read_request(0))
        asked = " ".join(request.values())
        signal.alarm(WORK_SECONDS)
        answer = {"ok": True, **perform(request)}
        code = 0
    except Stop as stop:
        answer = {"ok": False, "error": {"code": stop.code, "message": stop.message, "remedy": stop.remedy}}
        code = EXIT_CODES[stop.code]
    except (OSError, KeyError) as error:
        answer = {"ok": False, "error": {"code": FAILED, "message": f"{asked}: {error}", "remedy": ""}}
        code = EXIT_CODES[FAILED]
    signal.alarm(0)
    line = json.dumps(answer)
    syslog.syslog(syslog.LOG_WARNING if code else syslog.LOG_NOTICE, f"{asked}: {line[:600]}")
    os.write(1, line.encode("ascii") + b"\n")
    return code


def check_caller(
    words: list[str],
    environment: dict[str, str],
    uids: tuple[int, int, int],
    gids: tuple[int, int, int],
    daemon: int,
) -> None:
    """Nobody but the daemon's user is served, and that by way of sudo, without arguments, wholly as root."""
    if len(words) != 1:
        raise Stop(WRONG_USE, "the helper takes no arguments")
    if uids != (0, 0, 0) or gids != (0, 0, 0):
        raise Stop(REFUSED, "the helper is run by sudo, as root")
    if daemon == 0 or environment.get("SUDO_UID") != str(daemon) or environment.get("SUDO_USER") != DAEMON:
        raise Stop(REFUSED, f"the helper serves the user {DAEMON} alone")
    if environment.get("SUDO_COMMAND") != PROGRAM:
        raise Stop(REFUSED, f"the helper is run as {PROGRAM} alone")


def read_request(descriptor: int) -> bytes:
    """All of standard input, which must end and be short."""
    data = b""
    while len(data) <= LARGEST_REQUEST:
        more = os.read(descriptor, LARGEST_REQUEST + 1 - len(data))
        if not more:
            return data
        data += more
    raise Stop(WRONG_USE, f"the request is longer than {LARGEST_REQUEST} bytes")


def parse(data: bytes) -> dict[str, str]:
    """The request, verb first: exactly the fields of its verb, each of them a string of its pattern."""
    try:
        request = json.loads(data.decode("ascii"), object_pairs_hook=_no_doubles)
    except (ValueError, RecursionError):
        raise Stop(WRONG_USE, "the request is not one JSON object in ASCII, each field once") from None
    if not isinstance(request, dict) or not all(isinstance(value, str) for value in request.values()):
        raise Stop(WRONG_USE, "the request is not a JSON object of strings")
    verb = request.get("verb", "")
    if verb not in FIELDS:
        raise Stop(WRONG_USE, "the request names none of the verbs: " + " ".join(FIELDS))
    if set(request) != {"verb", *FIELDS[verb]}:
        raise Stop(WRONG_USE, f"{verb} takes exactly the fields: " + " ".join(FIELDS[verb]))
    for field in FIELDS[verb]:
        if not PATTERNS[field].fullmatch(request[field]):
            raise Stop(WRONG_USE, f"{verb}: the field {field} has none of the values that it may have")
    return {"verb": verb, **{field: request[field] for field in FIELDS[verb]}}


def _no_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a field twice")
    return dict(pairs)


def perform(request: dict[str, str]) -> dict[str, object]:
    """Do it; what there is to say of it."""
    verb, user = request["verb"], served(request["user"])
    if verb == "keeper_start":
        made = keeper_directory(user)
        need_manager(user)
        run([SYSTEMCTL, "--no-ask-password", "start", f"{KEEPER_START}@{user.pw_uid}.service"])
        return made
    if verb == "keeper_stop":
        need_manager(user)
        run([SYSTEMCTL, "--no-ask-password", "start", f"{KEEPER_STOP}@{user.pw_uid}.service"])
        return {"uid": user.pw_uid}
    if verb == "keeper_directory":
        return keeper_directory(user)
    if verb == "workspace":
        return workspace(user, request["path"], request["group"], int(request["mode"], 8))
    return linger(user, on=request["state"] == "on")


def served(name: str) -> pwd.struct_passwd:
    """The account of a user for whom something may be done: a person or an agent of this host."""
    try:
        user = pwd.getpwnam(name)
        back = pwd.getpwuid(user.pw_uid)
    except KeyError:
        raise Stop(REFUSED, f"there is no user {name}") from None
    if user.pw_name != name or back.pw_name != name:
        raise Stop(REFUSED, f"{name} is not the only name of that account")
    if name in ("root", DAEMON) or user.pw_uid < LOWEST_UID or user.pw_gid == 0:
        raise Stop(REFUSED, f"{name} is an account of the system", "do it as a member: corral member ls shows who is")
    if any(user.pw_uid in numbers for numbers in NOT_PEOPLE):
        raise Stop(REFUSED, f"{name} is nobody's account")
    if not {grp.getgrnam(group).gr_gid for group in GROUPS} & set(os.getgrouplist(name, user.pw_gid)):
        raise Stop(
            REFUSED,
            f"{name} is neither in the group " + " nor in ".join(GROUPS),
            f"sudo corral member add {name} --role ROLE lets {name} in again (a user of agents: --role agent --of USER)"
            "; then corral down takes down what is up",
        )
    return user


def keeper_directory(user: pwd.struct_passwd) -> dict[str, object]:
    """Where the user's keeper puts its socket: the user's own, and the daemon may go in. It is mounted before it is
    given away.
    """
    parent = opened(KEEPERS)
    try:
        with contextlib.suppress(FileExistsError):  # it is looked at like a new one
            os.mkdir(str(user.pw_uid), 0o700, dir_fd=parent)
        info = os.lstat(str(user.pw_uid), dir_fd=parent)
        if stat.S_ISDIR(info.st_mode) and info.st_uid == ROOT:
            run([SYSTEMCTL, "--no-ask-password", "start", f"{KEEPER_PLACE}@{user.pw_uid}.service"])
        make_directory(parent, str(user.pw_uid), user.pw_uid, grp.getgrnam(DAEMON).gr_gid, 0o750)
    finally:
        os.close(parent)
    return {"uid": user.pw_uid, "directory": f"{KEEPERS}/{user.pw_uid}"}


def workspace(user: pwd.struct_passwd, path: str, group: str, mode: int) -> dict[str, object]:
    """A directory of the user's below the place for workspaces. Only the first step is root's: the rest is made with
    the user's own rights, so that no link and no race can lead to anything that is not the user's already.
    """
    gid = grp.getgrnam(group).gr_gid
    if gid == 0 or gid not in os.getgrouplist(user.pw_name, user.pw_gid):
        raise Stop(REFUSED, f"{user.pw_name} is not in the group {group}")
    root = workspaces_root(SETTINGS)
    parent = opened(root)
    try:
        make_directory(parent, user.pw_name, user.pw_uid, user.pw_gid, 0o711)
    finally:
        os.close(parent)
    below = f"{root}/{user.pw_name}"

    def rest() -> None:
        become(user)
        make_path(below, path, user.pw_uid, gid, mode)

    in_a_child(rest)
    return {"uid": user.pw_uid, "directory": f"{below}/{path}"}


def linger(user: pwd.struct_passwd, *, on: bool) -> dict[str, object]:
    """Have the user's service manager run without a log-in, or no more; off only if it was turned on in this way."""
    notes = opened(LINGER_NOTES)
    name = user.pw_name
    try:
        is_on, is_ours = os.path.lexists(f"{LINGERING}/{name}"), os.path.lexists(f"{LINGER_NOTES}/{name}")
        if on and not is_on:
            # The note comes first: who is killed in between leaves nothing on that nobody would turn off.
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=notes))
            run([LOGINCTL, "enable-linger", name])
        if on:
            run([SYSTEMCTL, "--no-ask-password", "start", f"user@{user.pw_uid}.service"])
        if not on and is_ours:
            run([LOGINCTL, "disable-linger", name])
            os.unlink(name, dir_fd=notes)
    finally:
        os.close(notes)
    return {"uid": user.pw_uid, "changed": not is_on if on else is_ours}


def workspaces_root(path: str) -> str:
    """Where workspaces are, from root's own settings."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != ROOT or info.st_mode & 0o022:
            raise Stop(REFUSED, f"{path} is not root's alone to write")
        data = os.read(descriptor, LARGEST_SETTINGS)
    finally:
        os.close(descriptor)
    try:
        root = json.loads(data)["workspaces"]
    except (ValueError, KeyError, TypeError):
        raise Stop(FAILED, f"{path} does not say where workspaces are") from None
    if not isinstance(root, str) or not root.startswith("/") or os.path.normpath(root) != root:
        raise Stop(FAILED, f"{path} does not say where workspaces are")
    return root


def opened(path: str) -> int:
    """A directory, held open, to which no link led, and which nobody but root can replace, on the whole way."""
    descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    *before, last = path.strip("/").split("/")
    for part in (*before, last):
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
        info = os.fstat(descriptor)
        # On the way others may make things if the sticky bit keeps them from moving what is not theirs.
        sticky = info.st_mode & stat.S_ISVTX and part is not last
        if info.st_uid != ROOT or (info.st_mode & 0o022 and not sticky):
            os.close(descriptor)
            raise Stop(REFUSED, f"{part} of {path} can be changed by others")
    return descriptor


def make_directory(parent: int, name: str, uid: int, gid: int, mode: int) -> None:
    """A directory of `uid` below one that only we can write to; one that is there must be a directory, and theirs."""
    with contextlib.suppress(FileExistsError):  # it is checked like a new one
        os.mkdir(name, 0o700, dir_fd=parent)
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        # Ours is one that was made and not yet given away, just now or by somebody who was killed in between.
        if os.fstat(descriptor).st_uid not in (os.geteuid(), uid):
            raise Stop(REFUSED, f"{name} is there and belongs to somebody else")
        os.fchown(descriptor, uid, gid)
        os.fchmod(descriptor, mode)
    finally:
        os.close(descriptor)


def make_path(below: str, path: str, uid: int, gid: int, mode: int) -> None:
    """The directories of `path`, one below the other, all the user's own. Called with the user's rights."""
    parent = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    *before, last = path.split("/")
    for part in before:
        make_directory(parent, part, uid, -1, 0o711)
        parent = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    # What is made in it belongs to the group as well, if the group may have a look at all.
    make_directory(parent, last, uid, gid, mode | (stat.S_ISGID if mode & 0o070 else 0))


def need_manager(user: pwd.struct_passwd) -> None:
    """Refuse to have a service manager asked that does not run, and say what starts it."""
    unit, name = f"user@{user.pw_uid}.service", user.pw_name
    if run([SYSTEMCTL, "--no-ask-password", "show", "--property=ActiveState", "--value", unit]) == "active":
        return
    if os.path.lexists(f"{LINGERING}/{name}"):
        raise Stop(UNAVAILABLE, f"the service manager of {name} does not run", f"sudo systemctl start {unit} starts it")
    raise Stop(UNAVAILABLE, f"{name} has no service manager now: linger is off", "sudo corral host setup turns it on")


def run(argv: list[str]) -> str:
    """Run a program to its end, as root; it must succeed. What it said."""
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SYSTEMD_COLORS": "0"}

    def program() -> None:
        os.execve(argv[0], argv, environment)  # noqa: S606 - no shell is how it has to be # nosec B606

    return in_a_child(program)


def become(user: pwd.struct_passwd) -> None:
    """Be the user and nobody else, for good. Only in a child that starts no program, and checked.

    The kernel lets nobody trace a process that was another user, until it runs another program.
    """
    os.initgroups(user.pw_name, user.pw_gid)
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    if os.getresuid() != (user.pw_uid,) * 3 or os.getresgid() != (user.pw_gid,) * 3:
        raise Stop(FAILED, f"could not become {user.pw_name}")
    if set(os.getgroups()) != set(os.getgrouplist(user.pw_name, user.pw_gid)):
        raise Stop(FAILED, f"could not take the groups of {user.pw_name}")
    try:
        os.setresuid(0, 0, 0)
    except PermissionError:
        return
    raise Stop(FAILED, f"could be root again after becoming {user.pw_name}")


def in_a_child(work: Callable[[], None]) -> str:
    """Have a process of its own do it, in its own session and with no descriptor of ours; what it said. Raises that if
    it fails.
    """
    said, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_the_child(work, theirs)
    os.close(theirs)
    words = b""
    ended = False
    try:
        while more := os.read(said, 4096):
            words = (words + more)[:MOST_WORDS_OF_A_PROGRAM]
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        ended = True
    finally:
        os.close(said)
        if not ended:  # the time is over
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    shown = "".join(letter if letter.isprintable() else " " for letter in words.decode("ascii", "replace")).strip()
    if status:
        raise Stop(FAILED, shown or f"ended with {status}")
    return shown


def _be_the_child(work: Callable[[], None], theirs: int) -> None:
    code = 70
    try:
        os.setsid()
        os.dup2(os.open("/dev/null", os.O_RDWR), 0)
        os.dup2(theirs, 1)
        os.dup2(theirs, 2)
        os.closerange(3, 65536)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        work()
        code = 0
    except Stop as stop:
        os.write(2, stop.message.encode("ascii", "replace"))
    except BaseException as error:
        os.write(2, repr(error).encode("ascii", "replace"))
    finally:
        os._exit(code)


def _too_late(_number: int, _frame: object) -> None:
    raise Stop(FAILED, "it took too long")


if __name__ == "__main__":
    sys.exit(main())
