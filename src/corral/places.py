"""Where an instance keeps its things: `CORRAL_HOME` (state, logs) and `CORRAL_RUNTIME_DIR` (sockets).

Two different pairs of directories are two instances that know nothing of each other. Read on every command, so
`os` is the only import.
"""

import os
import stat

from corral.domain.errors import CorralError, RefusedError, WrongUseError

#: sockaddr_un.sun_path holds 108 bytes, the last of them NUL.
SOCKET_PATH_LIMIT = 107
#: Room for `/tmux/<40 characters of team>.sock`, the longest path below the runtime directory.
_LONGEST_SOCKET = len("/tmux/") + 40 + len(".sock")


class Places:
    """The paths of one instance. Making one touches nothing; `create` does."""

    __slots__ = ("home", "runtime")

    def __init__(self, home: str, runtime: str) -> None:
        self.home = os.path.abspath(home)
        self.runtime = os.path.abspath(runtime)

    @classmethod
    def from_environment(cls, environ: "os._Environ[str] | dict[str, str] | None" = None) -> "Places":
        """The instance that the environment names; the defaults follow XDG."""
        env = os.environ if environ is None else environ
        home = env.get("CORRAL_HOME") or os.path.join(
            env.get("XDG_STATE_HOME") or os.path.join(_user_home(env), ".local", "state"), "corral"
        )
        runtime = env.get("CORRAL_RUNTIME_DIR")
        if not runtime:
            session_dir = env.get("XDG_RUNTIME_DIR")
            # Without a login session there is no runtime directory; one below the home is private and survives.
            runtime = os.path.join(session_dir, "corral") if session_dir else os.path.join(home, "run")
        return cls(home, runtime)

    @property
    def database(self) -> str:
        return os.path.join(self.home, "corral.db")

    @property
    def at_rest_mark(self) -> str:
        """Exists while no team is up, so that a reader without a daemon can tell nothing from unknown."""
        return os.path.join(self.home, "at-rest")

    @property
    def daemon_socket(self) -> str:
        return os.path.join(self.runtime, "daemon.sock")

    @property
    def daemon_lock(self) -> str:
        return os.path.join(self.runtime, "daemon.lock")

    @property
    def start_lock(self) -> str:
        return os.path.join(self.runtime, "start.lock")

    @property
    def daemon_log(self) -> str:
        return os.path.join(self.home, "daemon.log")

    @property
    def keeper_socket(self) -> str:
        return os.path.join(self.runtime, "keeper.sock")

    @property
    def keeper_lock(self) -> str:
        return os.path.join(self.runtime, "keeper.lock")

    @property
    def keeper_log(self) -> str:
        return os.path.join(self.home, "keeper.log")

    @property
    def tmux_dir(self) -> str:
        return os.path.join(self.runtime, "tmux")

    @property
    def launch_dir(self) -> str:
        """Launch files (0600): the command and the environment of a run, secrets included."""
        return os.path.join(self.runtime, "launch")

    def tmux_socket(self, team: str) -> str:
        return os.path.join(self.tmux_dir, team + ".sock")

    def agent_log(self, team: str, agent: str) -> str:
        return os.path.join(self.home, "logs", team, agent + ".log")

    def worktree(self, team: str, agent: str) -> str:
        return os.path.join(self.home, "worktrees", team, agent)

    def check_length(self) -> None:
        """Refuse a runtime directory below which a socket could not be bound, before anything is made."""
        room = SOCKET_PATH_LIMIT - _LONGEST_SOCKET
        length = len(os.fsencode(self.runtime))
        if length > room:
            raise WrongUseError(
                f"the runtime directory {self.runtime} is {length} bytes long; sockets below it would not fit "
                f"into the {SOCKET_PATH_LIMIT} bytes that Linux allows",
                f"set CORRAL_RUNTIME_DIR to a directory of at most {room} bytes, such as /run/user/{os.getuid()}/c",
            )

    def create(self) -> None:
        """Make the directories, 0700 and ours; refuse ones that others could reach into."""
        self.check_length()
        for path in (self.home, self.runtime, self.tmux_dir, self.launch_dir):
            _private_directory(path)


def _user_home(env: "os._Environ[str] | dict[str, str]") -> str:
    return env.get("HOME") or os.path.expanduser("~")


def _private_directory(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
        info = os.stat(path)
    except OSError as error:
        raise CorralError(
            f"cannot make the directory {path}: {error.strerror}",
            "make it writable for you, or set CORRAL_HOME and CORRAL_RUNTIME_DIR to directories that are",
        ) from error
    if not stat.S_ISDIR(info.st_mode):
        raise CorralError(f"{path} is not a directory", "move it away, or set CORRAL_HOME or CORRAL_RUNTIME_DIR")
    if info.st_uid != os.getuid():
        raise RefusedError(
            f"{path} belongs to uid {info.st_uid}, not to you",
            "set CORRAL_HOME and CORRAL_RUNTIME_DIR to directories of your own",
        )
    if info.st_mode & 0o077:
        os.chmod(path, 0o700)
