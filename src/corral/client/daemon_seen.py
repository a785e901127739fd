"""Asking the daemon of a shared server how it is, and telling what its answer means for the host."""

from corral.client.absence import error_of_absence, how_to_start_again, unreachable_daemon
from corral.client.answers import ask_present_daemon
from corral.client.wire import DaemonAbsentError
from corral.domain.errors import CorralError, DeniedError
from corral.domain.host_names import HOME, SERVICE
from corral.domain.host_trouble import DaemonSeen
from corral.domain.policy import NO_POLICY, is_undecided
from corral.places import Places

_LOG = f"journalctl --unit {SERVICE} has more"
_UNDECIDED = (
    f"look again in a moment; if it stays so, see [policy] in {HOME}/config.toml, and that its server answers; {_LOG}"
)


def daemon_seen(places: Places) -> DaemonSeen:
    """Ask it, as whoever this is. Whatever comes of that is told, and nothing is raised."""
    try:
        health = ask_present_daemon(places, "GET", "/v1/health")
    except DaemonAbsentError:
        if unreachable_daemon(places) is not None:
            error = error_of_absence(places)
            return DaemonSeen(absent=(error.message, error.remedy))
        # Of a shared server it is to be there, whether or not something is up.
        return DaemonSeen(absent=("the daemon of this host is not running", how_to_start_again(places)))
    except DeniedError as error:
        rule = str(error.details.get("rule"))
        if not is_undecided(rule):
            return DaemonSeen(denied=error.message)
        return DaemonSeen(undecided=(error.message, error.remedy if rule == NO_POLICY else _UNDECIDED))
    except CorralError as error:
        return DaemonSeen(refuses=(error.message, error.remedy or _LOG))
    audit = health.get("audit")
    return DaemonSeen(not_shipped=str(audit.get("not_shipped", "")) if isinstance(audit, dict) else "")
