"""Puts `corral host` together. It works in the process of the command, as root: there may be no daemon yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Protocol

from corral.adapters.host import installation, look, sudo_rights, tools
from corral.adapters.host.hands import Hands
from corral.adapters.policy.engine_lines import NEEDS
from corral.client.absence import nothing_is_up
from corral.client.answers import ask_for_list
from corral.client.daemon_seen import daemon_seen
from corral.client.wire import is_remote, somebody_listens
from corral.config import audit_terms, policy_settings, problem_of
from corral.domain import host_plan, host_trouble
from corral.domain.diagnosis import POLICY
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.domain.host_layout import Layout, as_it_is, layout
from corral.domain.host_names import AGENTS, HELPER, HOME, MEMBERS, RUNTIME, SERVICE_FILE, SUDOERS, USER
from corral.domain.host_plan import Step
from corral.domain.host_seen import ServiceSeen
from corral.domain.host_trouble import Trouble
from corral.domain.host_trust import refuse_weak, refuse_weak_ground
from corral.failpoint import point
from corral.places import Places


class Doing(Protocol):
    """Takes the steps of a plan."""

    def do(self, step: Step) -> None:
        """Take one step, or raise what is in the way."""


@dataclass(frozen=True)
class Plan:
    """Steps that were planned and none of which is taken yet; what `remove` leaves."""

    steps: Sequence[Step]
    left: Sequence[str]
    hands: Doing
    #: What could not be looked at, in words.
    unseen: str = ""
    #: Of a host that was only looked at: what keeps it from working.
    trouble: Sequence[Trouble] = ()

    def carry_out(self, on_step: Callable[[Step], None]) -> None:
        """Take the steps in order; `on_step` hears of each before it is taken."""
        for step in self.steps:
            on_step(step)
            point(f"host.{step.action}")
            self.hands.do(step)


def plan_setup(workspaces: str | None, *, only_look: bool) -> Plan:
    """What is missing on this host. Refuses, before anything is planned, what must not be set up or cannot be."""
    _refuse_unless_root("setup")
    places = Places(HOME, RUNTIME)
    misconfigured = problem_of(places)
    if misconfigured is None:
        _refuse_without_engine()
    elif not only_look:
        raise misconfigured
    wanted = wanted_layout(workspaces, "" if misconfigured else audit_terms(places).checkpoint_directory)
    refuse_weak(sys.executable, installation.entries())
    wanted = replace(wanted, directories=(*wanted.directories, *look.private_directories()))
    ours = {one.path for one in wanted.directories} | {one.path for one in wanted.files}  # the plan puts these right
    ground = (one for one in installation.ways("/usr/bin/python3", HELPER) if one.path not in ours)
    refuse_weak_ground(HELPER, ground)
    hands = Hands(wanted)
    members, unseen = _members()
    seen = look.look(wanted, members)
    if misconfigured:
        # What the daemon's unit has to say depends on it.
        wanted = as_it_is(wanted, SERVICE_FILE, seen.paths.get(SERVICE_FILE))
    steps = host_plan.setup(wanted, seen)
    if steps and not only_look:
        host_plan.refuse_obstacles(steps)
        hands.check_sudoers()
    trouble = _trouble(seen.service, misconfigured) if only_look else []
    if only_look and all(step.subject not in (USER, SUDOERS) for step in steps):
        trouble += host_trouble.of_sudo(sudo_rights.refusal(), sudo_rights.rights())
    return Plan(steps, (), hands, unseen, trouble)


def _trouble(service: ServiceSeen, misconfigured: CorralError | None) -> list[Trouble]:
    """What keeps a host from working. A daemon that is not up is not asked: that it is not, is known by then."""
    found = host_trouble.of_service(service)
    if service.active and not found:
        found += host_trouble.of_daemon(daemon_seen(Places(HOME, RUNTIME)))
    if misconfigured is not None:
        return [*host_trouble.of_config(misconfigured), *found]
    policy = host_trouble.of_policy(*_problem_of_policy())
    # The daemon decides by what it read when it started, and says the same of that.
    return policy + [one for one in found if not policy or one.check != POLICY]


def plan_removal(*, purge: bool, force: bool) -> Plan:
    """What takes the set-up away again."""
    _refuse_unless_root("remove")
    if not force and not nothing_is_up(Places(HOME, RUNTIME)):
        raise _teams_are_up(Places(HOME, RUNTIME))
    wanted = wanted_layout(None)
    seen = look.look(wanted)
    return Plan(
        host_plan.remove(wanted, seen, purge=purge), host_plan.left_behind(wanted, seen, purge=purge), Hands(wanted)
    )


def _members() -> tuple[dict[str, tuple[int, str]], str]:
    """The members by name, with their numbers and the groups that they must be in, as the daemon of this host has them;
    else why it does not say: a host is also set up without one.
    """
    places = Places(HOME, RUNTIME)
    if is_remote() or not somebody_listens(places):
        return {}, ""
    try:
        told = ask_for_list(places, "GET", "/v1/members")
    except CorralError as error:
        return {}, f"whether members are in their groups is not known, the daemon does not say: {error.message}"
    return {str(one["user"]): (int(str(one["uid"])), AGENTS if one["of"] else MEMBERS) for one in told}, ""


def _teams_are_up(places: Places) -> RefusedError:
    from corral.wiring_doctor import records

    # The daemon knows which; without one its store does, which root may read.
    known = records(places, ())
    named = f": {', '.join(sorted(known.teams))}" if known.teams else ""
    start = "" if known.source == "daemon" else "sudo systemctl start corral.service; "
    return RefusedError(
        f"teams are up on this host, and nobody could look after them any more{named}",
        f"take them down first ({start}sudo corral down --team NAME), or leave them to themselves with --force",
    )


def wanted_layout(workspaces: str | None, checkpoints: str = "") -> Layout:
    """What a shared server has that this Corral sets up."""
    helper = files("corral.privileged").joinpath("helper.py").read_text(encoding="utf-8")
    return layout(sys.executable, helper, workspaces or look.workspaces(), checkpoints)


def _problem_of_policy() -> tuple[str, str]:
    """What is wrong with the rules of this host's own, and what helps; those that ship are in order."""
    places = Places(HOME, RUNTIME)
    if not os.path.lexists(places.policy):
        return "", ""
    from corral import wiring_policy

    return wiring_policy.problem_of(places)


def _refuse_without_engine() -> None:
    """A daemon that cannot decide denies everything: better to know that before."""
    if policy_settings(Places(HOME, RUNTIME)).url:
        return
    problem = installation.cannot_load("regopy")
    if problem:
        raise UnavailableError(f"the engine of policies cannot be loaded: {problem}", NEEDS)


def _refuse_unless_root(command: str) -> None:
    if os.geteuid() != 0:
        raise RefusedError(f"corral host {command} looks at and changes what is root's", f"sudo corral host {command}")
    if not os.path.isdir("/run/systemd/system"):
        raise UnavailableError("this host does not run systemd, which a shared server needs", "use single-user mode")
    missing = tools.missing()
    if missing:
        raise UnavailableError(f"this host lacks {', '.join(missing)}", "install sudo, systemd and shadow (passwd)")
