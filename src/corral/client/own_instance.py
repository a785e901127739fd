"""An instance of somebody's own beside the shared server that they are a member of: from before they became one.

What is up there is not seen any more by commands that mean the host, and goes on all the same.
"""

import os

from corral.client.wire import is_remote
from corral.domain.names import is_valid
from corral.domain.own_instance import OwnInstance
from corral.places import Places

_SOCKETS = (".sock", ".host")


def own_instance(places: Places) -> OwnInstance | None:
    """The caller's, if the command is about a shared server and something may be up in theirs."""
    if not places.of_host or is_remote() or os.environ.get("CORRAL_HOME") or os.environ.get("CORRAL_RUNTIME_DIR"):
        return None
    return look_at(Places.own(os.environ))


def instance_of(home: str, uid: int) -> OwnInstance | None:
    """That of another user, by the home of the account, if something may be up in it."""
    state = os.path.join(home, ".local", "state", "corral")
    session = f"/run/user/{uid}"
    return look_at(Places(state, os.path.join(session if os.path.isdir(session) else state, "corral")))


def look_at(own: Places) -> OwnInstance | None:
    """Only names of files are looked at: whoever looks may be root, and the files are another's."""
    if not os.path.lexists(own.database) or os.path.lexists(own.at_rest_mark):
        return None
    try:
        names = os.listdir(own.tmux_dir)
    except OSError:
        names = []  # after a reboot, or closed to the caller: what is up there is not known by name
    teams = {name.removesuffix(end) for name in names for end in _SOCKETS if name.endswith(end)}
    return OwnInstance(home=own.home, teams=tuple(sorted(filter(is_valid, teams))))
