"""Puts the doctor together. It works in the process of the command, so that it can look where no daemon runs.

What only some rounds need (the store, the hands, the bus) is imported when it is: that is half of the time of the rest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from corral.adapters.doctor import life
from corral.adapters.doctor.view import LocalHost
from corral.adapters.systemd.address import bus_address
from corral.client.absence import unreachable_daemon
from corral.client.answers import ask, ask_present_daemon, raise_refusal
from corral.client.wire import DaemonAbsentError, request
from corral.domain.diagnosis import Finding, Report
from corral.domain.diagnosis_facts import AgentRecord, Life, Records
from corral.domain.errors import CorralError, DeniedError
from corral.domain.terminals import TMUX
from corral.places import Places
from corral.ports.doctor import Hands, UserUnits
from corral.service.doctor import examine


def run_doctor(places: Places, *, fix: bool) -> dict[str, object]:
    """Look at this host, heal if `fix` says so, and give the document of `corral doctor --json`."""
    if places.of_host:
        return _of_host(places, fix=fix).as_json()
    lives = life.look(places)
    with _user_units() as (units, no_units):
        view = LocalHost(places, lambda: records(places, lives), units, no_units=no_units, lives=lives)
        if not fix:
            return examine(view).as_json()
        return examine(view, _hands(places, units, lives), lambda healed: _journal(places, healed)).as_json()


def _of_host(places: Places, *, fix: bool) -> Report:
    """A shared server: for a member its own part of it and the daemon, for root the host and the parts of all."""
    return _own_part(places, fix=fix) if os.getuid() != 0 else _all_parts(places)


def _own_part(places: Places, *, fix: bool) -> Report:
    from corral.adapters.doctor.parts import part_of
    from corral.domain.diagnosis_parts import OF_CALLER, UNSEEN, of_server, together
    from corral.wiring_doctor_shared import Shared

    part = part_of(os.getuid())
    lives = life.look_at(_daemon_of(places), ("keeper", part.keeper, part.places.keeper_lock))
    shared = Shared(places, lives)
    server = of_server(shared.of_caller(), shared.not_checked)
    with _user_units() as (units, no_units):
        view = LocalHost(
            part.places,
            lambda: records(places, lives, part.user),
            units,
            no_units=no_units,
            lives=lives,
            needs_manager=True,
        )
        if not fix:
            return together([server, examine(view)], [UNSEEN], OF_CALLER)
        from corral.adapters.doctor.hands import LocalHands

        instance = records(places, lives, part.user).instance
        hands = LocalHands(part.places, instance, units, lambda: _have_daemon(places))
        return together([server, examine(view, hands, lambda healed: _journal(places, healed))], [UNSEEN], OF_CALLER)


def _all_parts(places: Places) -> Report:
    """As root, which heals nothing: what is another user's, that user heals."""
    from corral.adapters.doctor import parts
    from corral.domain.diagnosis_parts import OF_ANOTHER, OF_THE_HOST, of_nobody, of_server, of_user, part, together
    from corral.wiring_doctor_shared import Shared

    lives = life.look_at(_daemon_of(places))
    host = LocalHost(places, lambda: Records(source="none"), None, lives=lives)
    shared = Shared(places, lives)
    persons = shared.persons()
    reports = [of_server(shared.of_everybody(), shared.not_checked), part(examine(host), OF_THE_HOST), of_nobody()]
    everybody, unseen = parts.all_parts()
    for one in everybody:
        view = LocalHost(
            one.places,
            partial(records, places, lives, one.user),
            parts.SeenScopes(one.uid),
            lives=life.look_at(("keeper", one.keeper, one.places.keeper_lock)),
            of=one,
        )
        reports.append(of_user(part(examine(view), OF_ANOTHER), one.user, persons.get(one.user, one.user)))
    return together(reports, unseen)


def _daemon_of(places: Places) -> tuple[str, str, str]:
    return "daemon", places.daemon_socket, places.daemon_lock


def records(places: Places, lives: Sequence[Life], user: str = "") -> Records:
    """What is known of teams and agents, from the daemon if it answers, else from the store if no daemon has it.

    Of a shared server, where nobody but the daemon gets at the store, what it knows of the agents of a user.
    """
    for one in lives:
        if one.of == "daemon" and one.answers is False:
            return Records(source="unknown", why=f"the daemon (pid {one.pid}) has the store, and does not answer")
    try:
        return _of_daemon(places, user)
    except DaemonAbsentError:
        pid = unreachable_daemon(places)
    except DeniedError as error:
        return Records(source="unknown", why=f"the daemon tells nothing: denied by {error.details.get('rule')}")
    except (CorralError, KeyError, TypeError, ValueError) as error:
        return Records(source="unknown", why=f"the daemon does not answer as it should: {error}")
    if user:
        return Records(source="unknown", why="the daemon of this host does not run, and nobody else knows what is up")
    if pid is not None:
        why = f"a daemon (pid {pid}) has the store, and cannot be reached"
        return Records(source="unknown", why=why, hidden_daemon=pid)
    from corral.adapters.doctor import store

    return store.read(places.database)


def _of_daemon(places: Places, user: str = "") -> Records:
    health = ask_present_daemon(places, "GET", "/v1/health")
    # Also those whose agents are all users' of their own: the keeper of whose the team is serves it all the same.
    up: Any = ask_present_daemon(places, "GET", "/v1/teams")["teams"]
    teams = {str(one["team"]) for one in up if not user or one["user"] == user}
    response = request(places, "GET", "/v1/agents", headers=(("Accept", "application/json"),))
    raise_refusal(response)
    agents = tuple(
        AgentRecord(
            team=agent["team"],
            agent=agent["agent"],
            state=agent["state"],
            since=datetime.fromisoformat(agent["since"]).timestamp(),
            run="",
            workspace=agent["workspace"],
            pid=agent["pid"],
            containment=agent["containment"],
            containment_why=agent.get("containment_why", ""),
            terminal=agent.get("terminal", TMUX),
        )
        for agent in json.loads(response.body)
        # Nobody runs those yet that have no user.
        if not user or agent["user"] in (user, "")
    )
    return Records(
        source="daemon",
        instance=str(health["instance"]),
        teams=frozenset(teams | {agent.team for agent in agents}),
        agents=agents,
    )


def _hands(places: Places, units: UserUnits | None, lives: Sequence[Life]) -> Hands:
    from corral.adapters.doctor.hands import LocalHands

    return LocalHands(places, records(places, lives).instance, units, lambda: _have_daemon(places))


def _have_daemon(places: Places) -> None:
    from corral.client.start import ensure_daemon

    ensure_daemon(places)


def _journal(places: Places, tried: Sequence[Finding]) -> None:
    """Have the daemon write down what was done. Like every command that changes something, this may start it."""
    _have_daemon(places)
    fixes = [
        {
            "check": finding.check,
            "subject": finding.subject,
            "team": finding.details.get("team", ""),
            "agent": finding.details.get("agent", ""),
            "message": finding.message,
            "fixed": finding.fixed is True,
        }
        for finding in tried
    ]
    ask(places, "POST", "/v1/doctor/fixes", {"fixes": fixes})


@contextmanager
def _user_units() -> Iterator[tuple[UserUnits | None, str]]:
    """The user's service manager, or why it cannot be asked. A host without systemd has none to be asked."""
    if not os.path.isdir("/run/systemd/system"):
        yield None, ""
        return
    address = bus_address()
    if address is None:
        yield None, "there is no user bus, so nobody can tell which scopes there are"
        return
    from corral.adapters.doctor.units import BusUnits

    units = BusUnits(address)
    try:
        yield units, ""
    finally:
        units.close()
