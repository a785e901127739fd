"""What the doctor looks at on a shared server as such: its policy, whose teams are up, what is up beside it."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Iterator

from corral.client.answers import ask_for_list, ask_present_daemon
from corral.client.own_instance import instance_of, own_instance
from corral.client.wire import DaemonAbsentError
from corral.domain import diagnosis_shared as rules
from corral.domain.diagnosis import MEMBERS, POLICY, Finding
from corral.domain.errors import CorralError, DeniedError
from corral.domain.host_names import MEMBERS as GROUP
from corral.domain.own_instance import OwnInstance
from corral.domain.policy import NO_POLICY
from corral.peer import user_name
from corral.places import Places


class Shared:
    """What is found, and why some of it could not be looked at."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.not_checked: dict[str, str] = {}

    def of_caller(self) -> list[Finding]:
        """As a member: the policy, which all is denied by if it is none, and what is up in an instance of their own."""
        own = own_instance(self._places)
        user = user_name(os.getuid())
        return [*self._policy(), *rules.own_instances([(user, own)] if own is not None else [])]

    def of_everybody(self) -> list[Finding]:
        """As root."""
        return [*self._policy(), *self._members(), *rules.own_instances(_own_instances())]

    def _policy(self) -> list[Finding]:
        try:
            ask_present_daemon(self._places, "GET", "/v1/health")
        except DeniedError as error:
            if error.details.get("rule") == NO_POLICY:
                return rules.policy(error.message, error.remedy)
            self.not_checked[POLICY] = error.message
        except DaemonAbsentError:
            self.not_checked[POLICY] = "the daemon of this host does not run"
        except CorralError as error:
            self.not_checked[POLICY] = error.message
        return []

    def _members(self) -> list[Finding]:
        try:
            members = [str(one["user"]) for one in ask_for_list(self._places, "GET", "/v1/members")]
            teams = ask_present_daemon(self._places, "GET", "/v1/teams")["teams"]
            agents = ask_for_list(self._places, "GET", "/v1/agents")
        except DaemonAbsentError:
            self.not_checked[MEMBERS] = "the daemon of this host does not run"
            return []
        except CorralError as error:
            self.not_checked[MEMBERS] = error.message
            return []
        users: dict[str, set[str]] = {}
        for one in (*(teams if isinstance(teams, list) else ()), *agents):
            users.setdefault(str(one["team"]), set()).add(str(one["user"]))
        return rules.without_member(users, members)


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
