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


def error_of_absence(places: "Places") -> CorralError:
    """The error for a command that needs the daemon and must not start it."""
    if nothing_is_up(places):
        return NotFoundError("no team is up", "corral up starts the team of a corral.toml")
    return UnavailableError("the daemon is not running; its agents may be", "corral daemon start")
