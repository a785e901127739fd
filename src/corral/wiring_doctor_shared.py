"""What the doctor looks at on a shared server as such: its daemon, its set-up, whose teams are up."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterable, Iterator

from corral.client.answers import ask_for_list, ask_present_daemon
from corral.client.daemon_seen import daemon_seen
from corral.client.own_instance import instance_of, own_instance
from corral.client.wire import DaemonAbsentError
from corral.domain import diagnosis_shared as rules
from corral.domain import host_trouble
from corral.domain.diagnosis import DAEMON, HOST_SETUP, MEMBERS, POLICY, Finding
from corral.domain.diagnosis_facts import Life
from corral.domain.errors import CorralError
from corral.domain.host_names import AGENTS
from corral.domain.host_names import MEMBERS as GROUP
from corral.domain.host_trouble import DaemonSeen
from corral.domain.own_instance import OwnInstance
from corral.peer import user_name
from corral.places import Places

_ABSENT = "the daemon of this host does not run"
_SILENT = "the daemon of this host gives no sign of life"
_REFUSES = "the daemon of this host refuses everything"


class Shared:
    """What is found, and why some of it could not be looked at."""

    def __init__(self, places: Places, lives: Iterable[Life]) -> None:
        """`lives` has the daemon, as far as it should be there."""
        self._places = places
        self._silent = any(one.of == DAEMON and (one.stopped or one.answers is False) for one in lives)
        self.not_checked: dict[str, str] = {}

    def of_caller(self) -> list[Finding]:
        """As a member: whether the daemon does its work, and what is up in an instance of their own."""
        own = own_instance(self._places)
        user = user_name(os.getuid())
        daemon = host_trouble.of_daemon(self._daemon())
        return [*rules.trouble(daemon), *rules.own_instances([(user, own)] if own is not None else [])]

    def of_everybody(self) -> list[Finding]:
        """As root: with all that `corral host setup --check` finds."""
        return [*self._host(), *self._members(), *rules.own_instances(_own_instances())]

    def persons(self) -> dict[str, str]:
        """Whose each user of agents is, as far as the daemon says so."""
        try:
            known = [] if self._silent else ask_for_list(self._places, "GET", "/v1/members")
        except (CorralError, DaemonAbsentError):
            return {}
        return {str(one["user"]): str(one["of"]) for one in known if one["of"]}

    def _host(self) -> list[Finding]:
        from corral.wiring_host import plan_setup

        daemon = host_trouble.of_daemon(self._daemon())
        try:
            plan = plan_setup(None, only_look=True)
        except CorralError as error:
            why = f"the set-up could not be looked at: {error.message}"
            self.not_checked |= dict.fromkeys({*rules.BY_SETUP, HOST_SETUP} - {DAEMON}, why)
            return [*rules.trouble(daemon), *rules.cannot_be_set_up(error)]
        if plan.unseen:
            self.not_checked[HOST_SETUP] = plan.unseen
        # It knows more of what it has found as well.
        known = {one.check for one in plan.trouble}
        found = [*plan.trouble, *(one for one in daemon if one.check not in known)]
        return [*rules.trouble(found), *rules.set_up(plan.steps, {one.check for one in found})]

    def _daemon(self) -> DaemonSeen:
        """How it answers. One that is known to give no sign of life is told of as such, and not asked."""
        if self._silent:
            self.not_checked[POLICY] = _SILENT
            return DaemonSeen()
        seen = daemon_seen(self._places)
        if seen.absent is not None:
            self.not_checked[POLICY] = _ABSENT
        elif seen.denied or seen.refuses is not None:
            self.not_checked[POLICY] = seen.denied or _REFUSES
        return seen

    def _members(self) -> list[Finding]:
        if self._silent:
            self.not_checked[MEMBERS] = _SILENT
            return []
        try:
            members = {
                str(one["user"]): int(str(one["uid"])) for one in ask_for_list(self._places, "GET", "/v1/members")
            }
            teams = ask_present_daemon(self._places, "GET", "/v1/teams")["teams"]
            agents = ask_for_list(self._places, "GET", "/v1/agents")
        except DaemonAbsentError:
            self.not_checked[MEMBERS] = _ABSENT
            return []
        except CorralError as error:
            self.not_checked[MEMBERS] = error.message
            return []
        users: dict[str, set[str]] = {}
        up = teams if isinstance(teams, list) else []
        for one in (*up, *agents):
            users.setdefault(str(one["team"]), set()).add(str(one["user"]))
        served = _served(name for names in users.values() for name in names)
        gone = {name: uid for name, uid in members.items() if not _has_account(name)}
        owners = {str(one["team"]): str(one["user"]) for one in up}
        return [*rules.without_member(users, members, served, owners), *rules.without_account(gone, users)]


def _has_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _served(names: Iterable[str]) -> set[str]:
    """Those who are in one of the groups of this host, members or not."""
    gids = {group.gr_gid for group in grp.getgrall() if group.gr_name in (GROUP, AGENTS)}
    served = set()
    for name in set(names):
        try:
            own = pwd.getpwnam(name).pw_gid
        except KeyError:
            continue  # deleted since
        if gids & set(os.getgrouplist(name, own)):
            served.add(name)
    return served


def _own_instances() -> Iterator[tuple[str, OwnInstance]]:
    """Of the people who may be members: users of agents have never had one."""
    try:
        names = grp.getgrnam(GROUP).gr_mem
    except KeyError:
        return
    for name in sorted(names):
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            continue  # in the group, and deleted since
        found = instance_of(account.pw_dir, account.pw_uid)
        if found is not None:
            yield name, found
