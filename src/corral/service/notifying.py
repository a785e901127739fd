"""Telling people of what they do not see: a bell, their desktop, a webhook, a command of theirs.

Nothing waits for any of it, and none of it can hold up another: each way is tried for itself, for a bounded time, and
what came of it is journalled, unless there was nobody to tell; `ps` tells of a way that failed. The address of a
webhook is told nowhere: it may hold a secret.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec

from corral.background import Background
from corral.domain.errors import CorralError
from corral.domain.notices import SESSION, Notice
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
#: What is under way at once of one person's teams by one means; beyond it nobody is told of them by that, and inbox
#: and journal have it all the same.
_MOST = 64

#: Posts bytes to an address; `CorralError`, without the address in it, if they were not taken.
Post = Callable[[str, bytes], Awaitable[None]]
#: Tells of a notice. Why somebody could not be told, in words, or nothing if they were; None if nobody was there.
_Way = Callable[[Team, Notice], Awaitable[str | None]]


class Notifier:
    """Tells of notices as the team's settings say."""

    def __init__(self, context: Context, post: Post) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._post = post
        self._background = Background()
        #: By whose the teams are, and by what means: nothing uses up the room of others.
        self._under_way: Counter[tuple[str, str]] = Counter()

    def end(self) -> None:
        """The daemon goes, and waits for none of it."""
        self._background.cancel()

    def tell(self, notice: Notice) -> None:
        """Begin to tell people of it; returns at once."""
        team = self._registry.teams.get(notice.team)
        if team is None:
            return
        is_wanted = notice.kind in team.notify.kinds
        ways: list[tuple[str, _Way]] = []
        # Who is at a terminal its status bar says, without a bell and without a line that hides what is there.
        if notice.shown or (is_wanted and team.notify.bell and notice.kind != SESSION):
            ways.append(("terminal", self._bell))
        if is_wanted and team.notify.desktop:
            ways.append(("desktop", self._desktop))
        if is_wanted and team.notify.webhook:
            ways.append(("webhook", self._webhook))
        if is_wanted and team.notify.command:
            ways.append(("command", self._command))
        owner = self._supervisor.keepers.owner(team.name)
        for name, way in ways:
            if self._under_way[owner, name] >= _MOST:
                log.warning("%s is not told by %s: %d are under way", _named(notice), name, _MOST)
                continue
            self._under_way[owner, name] += 1
            self._background.spawn(
                self._try(name, way, owner, team, notice), name=f"tell of {_named(notice)} by {name}"
            )

    async def _try(self, name: str, way: _Way, owner: str, team: Team, notice: Notice) -> None:
        try:
            problem, remedy = await way(team, notice), "mend [notify] in its file"
        except CorralError as error:  # a keeper cannot do it: that has nothing to do with how the team wants it
            problem, remedy = error.message, error.remedy
        finally:
            self._under_way[owner, name] -= 1
        if problem is None:
            return
        data: dict[str, object] = {"kind": notice.kind, "by": name}
        if notice.entry is not None:
            data = {"entry": notice.entry, **data}
        if "stage" in notice.more:
            data["stage"] = notice.more["stage"]
        if problem:
            log.warning("%s could not be told by %s: %s", _named(notice), name, problem)
            data["reason"] = problem
        self._show(team.name, name, problem, remedy)
        self._registry.note(
            SUPERVISOR,
            NewEvent(
                event="inbox.notified",
                team=team.name,
                agent=notice.agent,
                outcome="failed" if problem else "ok",
                data=data,
            ),
        )

    def _show(self, team: str, way: str, problem: str, remedy: str) -> None:
        """Have `ps` say that people are not told, until they are: whoever counts on it looks there, if anywhere."""
        if team not in self._registry.teams:
            return  # it is gone meanwhile, and what was said of it, too
        words = f"nobody could be told of the last notice by {way}: {' '.join(problem.split())}"
        words += f"; {remedy}" if remedy else ""
        self._registry.set_notice((team, ""), f"notify {way}", words if problem else "")

    async def _bell(self, team: Team, notice: Notice) -> str | None:
        keeper = await self._supervisor.keepers.of(team.name).open()
        title, text = (notice.whose, notice.shown) if notice.shown else (notice.headline, notice.what)
        announced = await keeper.announce(team.name, title, text, bell=True, desktop=False)
        return "" if announced.terminals else None

    async def _desktop(self, team: Team, notice: Notice) -> str:
        keeper = await self._supervisor.keepers.of(team.name).open()
        announced = await keeper.announce(team.name, notice.headline, notice.what, bell=False, desktop=True)
        return "; ".join(announced.problems)

    async def _webhook(self, team: Team, notice: Notice) -> str:
        body = msgspec.json.encode(notice.body)
        for pause in (*_BACK_OFF, None):
            try:
                await self._post(team.notify.webhook, body)
                return ""
            except CorralError as error:
                if pause is None:
                    return f"{error.message}; it was tried {len(_BACK_OFF) + 1} times"
            await asyncio.sleep(pause)
        return ""

    async def _command(self, team: Team, notice: Notice) -> str:
        agents = self._registry.of_team(team.name).values()
        order = GateOrder(
            gate=f"{NOTICE_PREFIX}{notice.entry or notice.kind}-{secrets.token_hex(4)}",
            command=shlex.join(team.notify.command),
            directory=team.directory,
            like={agent.name: declared_variables(agent.fingerprint) for agent in agents},
            environment={} if notice.entry is None else {"CORRAL_ENTRY": str(notice.entry)},
            systemd=team.systemd,
            team_limits=team.limits,
            input=msgspec.json.encode(notice.body) + b"\n",
        )
        keeper = await self._supervisor.keepers.of(team.name).open()
        seen = await keeper.run_notice(team.name, order, _COMMAND_SECONDS)
        if seen.running:
            return f"it had not ended after {_COMMAND_SECONDS:g} s, and was ended"
        return "" if seen.code == 0 else f"exit {seen.code}: {seen.output[-200:].decode('utf-8', 'replace').strip()}"


def _named(notice: Notice) -> str:
    return f"{notice.whose} ({notice.kind})" if notice.entry is None else f"entry {notice.entry} of {notice.team}"
