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
    return look_at(*_wherever(dict(os.environ), os.getuid()))


def instance_of(home: str, uid: int) -> OwnInstance | None:
    """That of another user, by the home of the account, if something may be up in it."""
    return look_at(*_wherever({"HOME": home}, uid))


def _wherever(env: dict[str, str], uid: int) -> list[Places]:
    """The instance, with each runtime directory that it can have: whether it was started from a log-in, by `su` or by
    cron, is not known."""
    without = {name: value for name, value in env.items() if name != "XDG_RUNTIME_DIR"}
    ways = (env, {**env, "XDG_RUNTIME_DIR": f"/run/user/{uid}"}, without)
    return list({places.runtime: places for places in map(Places.own, ways)}.values())


def look_at(own: Places, *others: Places) -> OwnInstance | None:
    """Only names of files are looked at: whoever looks may be root, and the files are another's. `others` are the
    same instance with other runtime directories."""
    if not os.path.lexists(own.database) or os.path.lexists(own.at_rest_mark):
        return None
    names = [name for places in (own, *others) for name in _names_in(places.tmux_dir)]
    teams = {name.removesuffix(end) for name in names for end in _SOCKETS if name.endswith(end)}
    return OwnInstance(home=own.home, teams=tuple(sorted(filter(is_valid, teams))))


def _names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []  # after a reboot, or closed to the caller: what is up there is not known by name
