"""What those are told who wait for a write that failed as nobody expects."""

from __future__ import annotations

import logging

from corral.domain.errors import CorralError, outline

log = logging.getLogger("corral.daemon")


def not_written(error: Exception, what: str) -> CorralError:
    """Why `what` could not be written down: an error of ours as it is, and any other by its kind, with all of it in the
    log. Whoever waits is answered in every case.
    """
    if isinstance(error, CorralError):
        return error
    log.error("%s could not be written down", what, exc_info=error)
    message = f"{what} could not be written down: {outline(error)}"
    return CorralError(message, "daemon.log in CORRAL_HOME has the details")
