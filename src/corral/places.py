"""Where an instance keeps its things: `CORRAL_HOME` (state, logs) and `CORRAL_RUNTIME_DIR` (sockets).

What a person configures is in `XDG_CONFIG_HOME/corral`; an instance with a home of its own has that there as well.
Two different pairs of directories are two instances that know nothing of each other. Read on every command, so
`os` is the only import.
"""

import os
import stat

from corral.domain import host_names
from corral.domain.errors import CorralError, RefusedError, WrongUseError

#: sockaddr_un.sun_path holds 108 bytes, the last of them NUL.
SOCKET_PATH_LIMIT = 107
#: Room for `/tmux/<40 characters of team>.sock`, the longest path below the runtime directory.
_LONGEST_SOCKET = len("/tmux/") + 40 + len(".sock")


class Places:
    """The paths of one instance. Making one touches nothing; `create` does."""

    __slots__ = ("config", "home", "runtime", "worktrees")

    def __init__(self, home: str, runtime: str, config: str = "", worktrees: str = "") -> None:
        self.home = os.path.abspath(home)
        self.runtime = os.path.abspath(runtime)
        #: What a person writes and Corral only reads. Nobody has to have it.
        self.config = os.path.abspath(config) if config else self.home
        #: On a shared server they are elsewhere.
        self.worktrees = os.path.abspath(worktrees) if worktrees else os.path.join(self.home, "worktrees")

    @classmethod
    def from_environment(cls, environ: "os._Environ[str] | dict[str, str] | None" = None) -> "Places":
        """The instance that the environment names; the defaults follow XDG. Where it names none, and this is a shared
        server whose daemon the caller may speak to, it is that one, also while that daemon is away.
        """
        env = os.environ if environ is None else environ
        names_one = env.get("CORRAL_HOME") or env.get("CORRAL_RUNTIME_DIR")
        if not names_one and (os.access(host_names.SOCKET, os.W_OK) or _daemon_is_away()):
            return cls(host_names.HOME, host_names.RUNTIME)
        return cls.own(env)

    @classmethod
    def own(cls, env: "os._Environ[str] | dict[str, str]") -> "Places":
        """The caller's own instance, also on a shared server."""
        usual = os.path.join(env.get("XDG_STATE_HOME") or os.path.join(_user_home(env), ".local", "state"), "corral")
        home = env.get("CORRAL_HOME") or usual
        runtime = env.get("CORRAL_RUNTIME_DIR")
        if not runtime:
            session_dir = env.get("XDG_RUNTIME_DIR")
            # Without a login session there is no runtime directory; one below the home is private and survives.
            runtime = (
                os.path.join(session_dir, _directory_of(home, usual)) if session_dir else os.path.join(home, "run")
            )
        if os.path.abspath(home) != os.path.abspath(usual):
            return cls(home, runtime)
        config = env.get("XDG_CONFIG_HOME") or os.path.join(_user_home(env), ".config")
        return cls(home, runtime, os.path.join(config, "corral"))

    @property
    def of_host(self) -> bool:
        """True for the instance of a shared server, which its service manager starts and nobody else."""
        return self.runtime == host_names.RUNTIME

    @property
    def writers(self) -> frozenset[int]:
        """Whose files count for it: root's, this user's, and on a shared server, whoever looks, its daemon's."""
        own = frozenset((0, os.geteuid()))
        try:
            return own | {os.stat(self.home).st_uid} if self.of_host else own
        except FileNotFoundError:
            return own  # not set up yet

    @property
    def profiles(self) -> str:
        """A person's own profiles of coding agents."""
        return os.path.join(self.config, "profiles")

    @property
    def config_file(self) -> str:
        """What whoever runs the instance configures; nobody has to have it."""
        return os.path.join(self.config, "config.toml")

    @property
    def audit_dir(self) -> str:
        """The audit trail."""
        return os.path.join(self.home, "audit")

    @property
    def policy(self) -> str:
        """Rules and roles of a host's own, over those that ship."""
        return os.path.join(self.config, "policy")

    @property
    def database(self) -> str:
        return os.path.join(self.home, "corral.db")

    @property
    def at_rest_mark(self) -> str:
        """Exists while no team is up, so that a reader without a daemon can tell nothing from unknown."""
        return os.path.join(self.home, "at-rest")

    @property
    def runtime_mark(self) -> str:
        """Names the runtime directory of the daemon that ran last: sockets and agents are found there alone."""
        return os.path.join(self.home, "runtime")

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
    def keeper_settings(self) -> str:
        """On a shared server, what the daemon tells the units of keepers: which instance they are of."""
        return os.path.join(self.runtime, "keeper.env")

    @property
    def tmux_dir(self) -> str:
        return os.path.join(self.runtime, "tmux")

    @property
    def launch_dir(self) -> str:
        """Launch files (0600): the command and the environment of a run, secrets included."""
        return os.path.join(self.runtime, "launch")

    @property
    def own_dir(self) -> str:
        """A directory for each run, where the agent's own tmux has its sockets. Short, or they would not fit."""
        return os.path.join(self.runtime, "own")

    def tmux_socket(self, team: str) -> str:
        return os.path.join(self.tmux_dir, team + ".sock")

    def host_socket(self, team: str) -> str:
        """Where the host of a team's processes listens."""
        return os.path.join(self.tmux_dir, team + ".host")

    def process_dir(self, team: str) -> str:
        """The records of a team's processes: what they are, how they ended, what they wrote."""
        return os.path.join(self.home, "processes", team)

    def agent_log(self, team: str, agent: str) -> str:
        return os.path.join(self.home, "logs", team, agent + ".log")

    def recordings(self, team: str, agent: str) -> str:
        return os.path.join(self.home, "recordings", team, agent)

    def worktree(self, team: str, agent: str) -> str:
        return os.path.join(self.worktrees, team, agent)

    def hooks(self, team: str, agent: str) -> str:
        """The git hooks of an agent's worktree."""
        return os.path.join(self.home, "hooks", team, agent)

    def merge_dir(self, team: str) -> str:
        """Where the gates of a team's merge queue run."""
        return os.path.join(self.home, "merges", team)

    @property
    def incoming(self) -> str:
        """Packs of other users' agents, until they may come into the repository."""
        return os.path.join(self.home, "incoming")

    @property
    def handed_in(self) -> str:
        """Where agents of other users have put their branches last."""
        return os.path.join(self.home, "handed-in")

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

    def create_shared(self) -> None:
        """Make the home, as `create` does. The runtime directory of a shared server is there already, root's or ours,
        and open to others, who find the daemon's socket there; nobody else may replace what is in it.
        """
        self.check_length()
        self._make_private(self.home)
        try:
            info = os.stat(self.runtime)
        except OSError as error:
            raise CorralError(
                f"there is no runtime directory {self.runtime}: {error.strerror}", "sudo corral host setup makes it"
            ) from error
        open_to_others = info.st_mode & 0o022 and not info.st_mode & stat.S_ISVTX
        if info.st_uid not in (0, os.getuid()) or open_to_others or info.st_mode & 0o002:
            raise RefusedError(
                f"{self.runtime} (uid {info.st_uid}, mode {stat.S_IMODE(info.st_mode):04o}) can be changed by others",
                "sudo corral host setup corrects it",
            )

    def create(self) -> None:
        """Make the directories, 0700 and ours; refuse ones that are somebody else's, or are for other things too."""
        self.check_length()
        every = (self.home, self.runtime, self.tmux_dir, self.launch_dir, self.own_dir)
        # All of them before the first is made: who is refused finds everything as it was.
        for path in every:
            self._refuse_if_not_for_us(path)
        for path in every:
            self._make_private(path)

    def _make_private(self, path: str) -> None:
        _make(path)
        # Somebody else may have been quicker.
        self._refuse_if_not_for_us(path)
        if os.stat(path).st_mode & 0o077:
            os.chmod(path, 0o700)

    def may_close(self, path: str) -> bool:
        """True if `path`, one of our directories, is for Corral alone: nobody else minds when it is closed to others.

        `CORRAL_HOME=/tmp` is soon said, and with `/tmp` closed nobody could work on this host any more.
        """
        ours = self.home if path == self.home else self.runtime
        marks = (self.database, self.daemon_lock, self.start_lock, self.keeper_lock, self.daemon_socket)
        try:
            return not os.listdir(path) or any(os.path.dirname(mark) == ours and _is_mine(mark) for mark in marks)
        except OSError:
            return False

    def _refuse_if_not_for_us(self, path: str) -> None:
        try:
            info = os.stat(path)
        except OSError:
            return  # to be made; if that fails, it says why
        if not stat.S_ISDIR(info.st_mode):
            raise CorralError(f"{path} is not a directory", "move it away, or set CORRAL_HOME or CORRAL_RUNTIME_DIR")
        if info.st_uid != os.getuid():
            raise RefusedError(
                f"{path} belongs to uid {info.st_uid}, not to you",
                "set CORRAL_HOME and CORRAL_RUNTIME_DIR to directories of your own",
            )
        if info.st_mode & 0o077 and not self.may_close(path):
            variable = "CORRAL_HOME" if path == self.home else "CORRAL_RUNTIME_DIR"
            raise RefusedError(
                f"{path} is open to others (mode {stat.S_IMODE(info.st_mode):04o}) and holds things that are not "
                "Corral's, so it was not closed to them",
                f"set {variable} to a directory for Corral alone, or if this is one: chmod 700 {path}",
            )


def _directory_of(home: str, usual: str) -> str:
    """The directory below that of the session: one for each home, so that another home alone is another instance."""
    home = os.path.abspath(home)
    if home == os.path.abspath(usual):
        return "corral"
    from binascii import crc32

    return f"corral-{crc32(os.fsencode(home)):08x}"


def _daemon_is_away(keepers: str = host_names.KEEPERS, socket: str = host_names.SOCKET) -> bool:
    """This is a shared server, its daemon has no socket at this moment, and the caller is root or one of those whom it
    serves: a team of theirs must not come up in an instance of their own meanwhile.
    """
    if not os.path.isdir(keepers) or os.path.lexists(socket):
        return False
    if os.geteuid() == 0:
        return True
    import grp

    own = {os.getgid(), *os.getgroups()}
    return any(group.gr_gid in own for group in grp.getgrall() if group.gr_name in host_names.GROUPS[1:])


def _user_home(env: "os._Environ[str] | dict[str, str]") -> str:
    return env.get("HOME") or os.path.expanduser("~")


def _is_mine(path: str) -> bool:
    """True if it is there, and nobody else put it there: in a directory like /tmp anybody can make a `corral.db`."""
    try:
        return os.lstat(path).st_uid == os.getuid()
    except OSError:
        return False


def _make(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise CorralError(
            f"cannot make the directory {path}: {error.strerror}",
            "make it writable for you, or set CORRAL_HOME and CORRAL_RUNTIME_DIR to directories that are",
        ) from error
