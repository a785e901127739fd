"""What it means that the daemon is not there: that nothing is up, or that nobody knows."""

import os

from corral.domain.errors import CorralError, NotFoundError, UnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from corral.places import Places


def nothing_is_up(places: "Places") -> bool:
    """True if the instance was never used or says of itself that it is at rest."""
    return not has_history(places) or os.path.exists(places.at_rest_mark)


def has_history(places: "Places") -> bool:
    """True if the instance was ever used: then it has a journal, which only a daemon reads."""
    return os.path.exists(places.database)


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


def error_of_absence(places: "Places") -> CorralError:
    """The error for a command that needs the daemon and must not start it."""
    pid = unreachable_daemon(places)
    if pid is not None:
        return UnavailableError(
            f"the daemon (pid {pid}) is alive, but its socket {places.daemon_socket} is gone or not there yet",
            "it ends by itself within ten seconds, then: corral daemon start",
        )
    if nothing_is_up(places):
        return NotFoundError("no team is up", "corral up starts the team of a corral.toml")
    return UnavailableError("the daemon is not running; its agents may be", "corral daemon start")
