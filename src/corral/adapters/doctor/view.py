"""One look at the host, for the doctor. Cheap things first, nothing twice, and nothing is changed."""

from __future__ import annotations

import os
import time
from dataclasses import replace

from corral.adapters.doctor import ground, host, population, scopes
from corral.adapters.doctor.parts import Part
from corral.adapters.doctor.servers import Servers
from corral.agents import catalogue
from corral.domain.diagnosis_facts import AgentRecord, Facts, Host, Life, Records, Scope
from corral.domain.diagnosis_teams import may_be_orphan
from corral.domain.errors import CorralError
from corral.places import Places
from corral.ports.doctor import KnownRecords, UserUnits


class LocalHost:
    """See `ports.doctor.HostView`."""

    def __init__(
        self,
        places: Places,
        known: KnownRecords,
        units: UserUnits | None,
        *,
        no_units: str = "",
        lives: tuple[Life, ...] = (),
        of: Part | None = None,
        needs_manager: bool = False,
    ) -> None:
        """`of` is the part of another user, which root looks at: then not at what that user finds at a log-in.

        `needs_manager`: it is a part of a shared server, and all of it runs below the user's service manager.
        """
        self._places = places
        self._lives = lives
        self._of = of
        self._known = known
        self._units = units
        self._no_units = no_units
        self._needs_manager = needs_manager

    def facts(self) -> Facts:
        """See `HostView.facts`.

        Processes and worktrees come before records: a run that is in no record then is over for good, since runs are
        written down before they are started and never come back.
        """
        now = time.time()
        uid = self._of.uid if self._of is not None else None
        people = population.look(uid)
        servers = Servers(people, self._places, uid)
        found = servers.servers()
        plain = population.plain_runs(people, self._places.launch_dir)
        worktrees = ground.worktrees(self._places)
        records = self._with_runs(self._known())
        not_checked = {}
        if servers.incomplete:
            not_checked["ghost_servers"] = servers.incomplete
        units, why = self._scopes()
        if why:
            not_checked["scopes"] = why
        of = self._of
        offers = host.look(dict(os.environ), needs_manager=self._needs_manager) if of is None else Host(user=of.user)
        if offers.controllers is None:
            not_checked["controllers"] = "only cgroup v2 tells which there are"
        return Facts(
            now=now,
            home=self._places.home,
            records=records,
            servers=found,
            marked=tuple(people.marked(lambda marks: may_be_orphan(records, self._places.home, marks))),
            plain_runs=plain.get(records.instance, frozenset()),
            scopes=units,
            sockets=ground.socket_files(self._places, servers.listens),
            worktrees=worktrees,
            directories=ground.directories(self._places) if of is None else (),
            disks=ground.disks(self._places) if of is None else (),
            bad_profiles=tuple((one.file, one.message, one.remedy) for one in catalogue.problems()),
            host=offers,
            lives=self._lives,
            not_checked=not_checked,
        )

    def _scopes(self) -> tuple[tuple[Scope, ...], str]:
        if self._units is None:
            return (), self._no_units
        try:
            return scopes.look(self._units), ""
        except CorralError as error:
            return (), error.message

    def _with_runs(self, records: Records) -> Records:
        """The daemon does not say which run an agent is in; its process does."""
        if records.source != "daemon":
            return records
        return replace(records, agents=tuple(self._with_run(agent) for agent in records.agents))

    def _with_run(self, agent: AgentRecord) -> AgentRecord:
        if agent.run or agent.pid is None:
            return agent
        return replace(agent, run=population.run_of(agent.pid, self._places.launch_dir))
