"""Telling people that something waits for them: a bell, their desktop, a webhook, a command of theirs.

Nothing waits for any of it, and none of it can hold up another: each way is tried for itself, for a bounded time, and
what came of it is journalled. The address of a webhook is not: it may hold a secret.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shlex
from collections.abc import Awaitable, Callable

import msgspec

from corral.background import Background
from corral.domain.errors import CorralError
from corral.domain.inbox_records import Entry
from corral.domain.notify import headline, told
from corral.domain.records import SUPERVISOR, NewEvent, Team
from corral.domain.spec_fingerprint import declared_variables
from corral.ports.merging import GateOrder
from corral.ports.notices import NOTICE_PREFIX
from corral.service.context import Context

log = logging.getLogger("corral.daemon")

#: Seconds to wait before a webhook is tried once more; as often as there are numbers.
_BACK_OFF = (1.0, 4.0, 16.0)
#: A command that has not ended after so long is ended, with all that it started.
_COMMAND_SECONDS = 30.0
#: What is under way at once; beyond it nobody is told by this means, and the inbox has it all the same.
_MOST = 64

#: Posts bytes to an address; `CorralError`, without the address in it, if they were not taken.
Post = Callable[[str, bytes], Awaitable[None]]


class Notifier:
    """Tells of entries as the team's settings say."""

    def __init__(self, context: Context, post: Post) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._post = post
        self._background = Background()
        self._under_way = 0

    def end(self) -> None:
        """The daemon goes, and waits for none of it."""
        self._background.cancel()

    def tell(self, entry: Entry) -> None:
        """Begin to tell people of an entry; returns at once."""
        team = self._registry.teams.get(entry.cause.team)
        if team is None or entry.cause.kind not in team.notify.kinds:
            return
        ways: list[tuple[str, Callable[[Team, Entry], Awaitable[str]]]] = []
        if team.notify.bell or team.notify.desktop:
            ways.append(("terminal", self._announce))
        if team.notify.webhook:
            ways.append(("webhook", self._webhook))
        if team.notify.command:
            ways.append(("command", self._command))
        for name, way in ways:
            if self._under_way >= _MOST:
                log.warning("entry %d is not told by %s: %d are under way", entry.number, name, self._under_way)
                continue
            self._under_way += 1
            self._background.spawn(self._try(name, way, team, entry), name=f"tell of entry {entry.number} by {name}")

    async def _try(self, name: str, way: Callable[[Team, Entry], Awaitable[str]], team: Team, entry: Entry) -> None:
        try:
            problem = await way(team, entry)
        except CorralError as error:
            problem = error.message
        finally:
            self._under_way -= 1
        data: dict[str, object] = {"entry": entry.number, "kind": entry.cause.kind, "by": name}
        if problem:
            log.warning("entry %d of %s could not be told by %s: %s", entry.number, team.name, name, problem)
            data["reason"] = problem
        self._registry.note(
            SUPERVISOR,
            NewEvent(
                event="inbox.notified",
                team=team.name,
                agent=entry.cause.agent,
                outcome="failed" if problem else "ok",
                data=data,
            ),
        )

    async def _announce(self, team: Team, entry: Entry) -> str:
        keeper = await self._supervisor.link.open()
        rules = team.notify
        announced = await keeper.announce(
            team.name, headline(entry), entry.cause.what, bell=rules.bell, desktop=rules.desktop
        )
        return "; ".join(announced.problems)

    async def _webhook(self, team: Team, entry: Entry) -> str:
        body = msgspec.json.encode(told(entry))
        for pause in (*_BACK_OFF, None):
            try:
                await self._post(team.notify.webhook, body)
                return ""
            except CorralError as error:
                if pause is None:
                    return f"{error.message}; it was tried {len(_BACK_OFF) + 1} times"
            await asyncio.sleep(pause)
        return ""

    async def _command(self, team: Team, entry: Entry) -> str:
        agents = self._registry.of_team(team.name).values()
        order = GateOrder(
            gate=f"{NOTICE_PREFIX}{entry.number}-{secrets.token_hex(4)}",
            command=shlex.join(team.notify.command),
            directory=team.directory,
            like={agent.name: declared_variables(agent.fingerprint) for agent in agents},
            environment={"CORRAL_ENTRY": str(entry.number)},
            systemd=team.systemd,
            team_limits=team.limits,
            input=msgspec.json.encode(told(entry)) + b"\n",
        )
        keeper = await self._supervisor.link.open()
        seen = await keeper.run_notice(team.name, order, _COMMAND_SECONDS)
        if seen.running:
            return f"it had not ended after {_COMMAND_SECONDS:g} s, and was ended"
        return "" if seen.code == 0 else f"exit {seen.code}: {seen.output[-200:].decode('utf-8', 'replace').strip()}"
