"""What it means that the daemon is not there: that nothing is up, or that nobody knows."""

import os

from corral.domain import host_names
from corral.domain.errors import CorralError, NotFoundError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.places import Places


def nothing_is_up(places: "Places") -> bool:
    """True if the instance was never used or says of itself that it is at rest.

    Never of a shared server whose home is closed to the caller: what cannot be seen is not gone.
    """
    return not _is_closed(places) and (not has_history(places) or os.path.exists(places.at_rest_mark))


def has_history(places: "Places") -> bool:
    """True if the instance was ever used: then it has a journal, which only a daemon reads."""
    return os.path.exists(places.database) or _is_closed(places)


def shared_server() -> str:
    """Where a machine has a shared server: that there is one, for somebody who may have meant it."""
    if not os.path.isdir(host_names.HOME):
        return ""
    return "the shared server of this machine is for its members: sudo corral member add USER --role ROLE lets one in"


def _is_closed(places: "Places") -> bool:
    return (
        (places.of_host or places.home == host_names.HOME)
        and os.path.isdir(places.home)
        and not os.access(places.home, os.X_OK)
    )


def unreachable_daemon(places: "Places") -> int | None:
    """The pid of a daemon that lives and cannot be reached, because its socket was removed; None if there is none."""
    import fcntl

    try:
        lock = os.open(places.daemon_lock, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.read(lock, 20) or b"0")
    finally:
        os.close(lock)
    return None


def reached_elsewhere(places: "Places") -> UnavailableError | None:
    """The error for a home whose daemon, or whose agents, are reached through another runtime directory than the
    caller's: with `sudo`, from cron or in a log-in without a session, `XDG_RUNTIME_DIR` is not what it was.

    None if that is not so: also if nothing is up, or that directory is gone, as after a reboot.
    """
    try:
        with open(places.runtime_mark, encoding="utf-8", errors="surrogateescape") as file:
            other = file.read()
    except OSError:
        return None
    if not other or other == places.runtime or not os.path.isdir(other):
        return None
    pid = unreachable_daemon(type(places)(places.home, other))
    if pid is None and nothing_is_up(places):
        return None
    what = f"the daemon of {places.home} (pid {pid})" if pid is not None else f"what was started from {places.home}"
    return UnavailableError(
        f"{what} is reached through {other}, and here the runtime directory is {places.runtime}",
        f"export CORRAL_HOME={places.home} CORRAL_RUNTIME_DIR={other}, then run it again",
    )


def how_to_start(places: "Places") -> str:
    """The command that starts the daemon, by whom it is started."""
    return f"sudo systemctl start {host_names.SERVICE}" if places.of_host else "corral daemon start"


def how_to_start_again(places: "Places") -> str:
    """As `how_to_start`, of one that should be there and is not: it may have ended as it started, and would again."""
    how = how_to_start(places)
    # Only the daemon of a shared server ends with words that go elsewhere than to whoever starts it.
    return f"{how}; journalctl --unit {host_names.SERVICE} says why it ended" if places.of_host else how


def error_of_absence(places: "Places") -> CorralError:
    """The error for a command that needs the daemon and must not start it."""
    if elsewhere := reached_elsewhere(places):
        return elsewhere
    pid = unreachable_daemon(places)
    if pid is not None:
        return UnavailableError(
            f"the daemon (pid {pid}) is alive, but its socket {places.daemon_socket} is gone or not there yet",
            "it ends by itself within ten seconds, "
            + (
                f"and systemd starts another ({host_names.SERVICE})"
                if places.of_host
                else f"then: {how_to_start(places)}"
            ),
        )
    if _is_closed(places) and not places.of_host:
        return UnavailableError(
            f"{places.home} is the home of this machine's shared server, and closed to you",
            "unset CORRAL_HOME: members reach the server without it. Root or an owner lets others in: "
            "sudo corral member add USER --role ROLE",
        )
    if nothing_is_up(places):
        remedies = ("corral up starts the team of a corral.toml", shared_server())
        return NotFoundError("no team is up", "; ".join(filter(None, remedies)))
    what = "daemon of this host is not running; agents" if places.of_host else "daemon is not running; its agents"
    return UnavailableError(f"the {what} may be", how_to_start_again(places))
