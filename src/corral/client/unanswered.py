"""What it means that the daemon closed a connection with no answer. Loaded if it did, and not otherwise."""

from corral.client.absence import how_to_start_again
from corral.client.wire import Connection, DaemonAbsentError, broken, remote_daemon, somebody_listens
from corral.domain.errors import UnavailableError


def never_came(asked: Connection) -> DaemonAbsentError | UnavailableError:
    """The error for a request whose connection was closed with no answer, or with the beginning of one.

    The kernel takes connections for a daemon that is being killed, and closes them with it. If nobody listens any more,
    a request that only reads is told that the daemon is absent. Any other may have been carried out: it must not look
    like one that was not, which may be sent again.
    """
    if _is_gone(asked):
        if asked.method == "GET":
            return DaemonAbsentError()
        return UnavailableError(
            "the daemon ended before it answered, and may have done what was asked",
            f"{how_to_start_again(asked.places)}; look whether it is done before you ask again",
        )
    error = broken("ended before it began" if asked.buffer else "never came: it closed the connection")
    remote = remote_daemon()
    if remote is None or remote.tls:
        return error
    return UnavailableError(error.message, f"does it speak TLS there? Then CORRAL_URL is https://{remote.name}")


def _is_gone(asked: Connection) -> bool:
    try:
        return not somebody_listens(asked.places)
    except UnavailableError:
        # Of what takes no connections nobody knows whether it is there.
        return False
