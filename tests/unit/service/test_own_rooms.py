"""Checks and notices on a shared server: however many of one person's are under way, others have theirs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from corral.domain import health
from corral.domain.notices import Notice
from corral.domain.notify import Notify
from corral.domain.upkeep import Check, Upkeep
from corral.places import Places
from corral.ports.checking import Checked
from corral.ports.dialogs import Announced
from corral.ports.keeper import Keeper
from corral.ports.processes import ProcessOrder
from corral.service.context import Context
from corral.service.health import HealthChecks
from corral.service.notifying import Notifier
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor
from tests.support.records import AGENT, PERSON, TEAM
from tests.unit.service.fake_keeper import FakeKeeper, soon
from tests.unit.service.test_ledger import opened

#: Of these ben has more than one person may have at once.
_MANY = 100
_CHECK = Check(command="true", every=0.001)


class _Keeper(FakeKeeper):
    """One whose checks and notices do not end, if it is ben's."""

    def __init__(self, user: str) -> None:
        super().__init__()
        self.user = user
        self.under_way = 0
        self.announced = 0

    async def check(self, _team: str, _order: ProcessOrder, _within: float) -> Checked:
        await self.hang()
        return Checked(code=0)

    async def announce(self, _team: str, _title: str, _text: str, **_how: bool) -> Announced:
        self.announced += 1
        return Announced(terminals=1)

    async def hang(self) -> None:
        self.under_way += 1
        if self.user == "ben":
            await asyncio.Event().wait()


def _play(directory: Path, act: Callable[[Context, dict[str, _Keeper]], Awaitable[None]]) -> None:
    async def run() -> None:
        keepers = {user: _Keeper(user) for user in ("ann", "ben")}

        async def connect(user: str, *_: object) -> Keeper:
            return cast("Keeper", keepers[user])

        disk = await opened(directory)
        registry = Registry(disk, lambda: 0.0, str(directory / "at-rest"))
        shop = replace(TEAM, user="ann", notify=Notify(bell=False, webhook="https://ann"))
        mill = replace(TEAM, name="mill", user="ben", notify=Notify(bell=False, webhook="https://ben"))
        of_ben = [
            replace(AGENT, team="mill", name=f"b{number}", upkeep=Upkeep(check=_CHECK)) for number in range(_MANY)
        ]
        await registry.commit(PERSON, teams=[mill, shop], agents=[*of_ben, replace(AGENT, upkeep=Upkeep(check=_CHECK))])
        supervisor = Supervisor(registry, connect, lambda: 0.0, shared=True)
        places = Places(str(directory), str(directory))
        context = Context(registry=registry, supervisor=supervisor, store=disk, places=places, now=lambda: 0.0)
        try:
            await act(context, keepers)
        finally:
            await disk.close()

    asyncio.run(run())


def test_checks_that_do_not_end_keep_nobody_elses_from_running(tmp_path: Path) -> None:
    async def act(context: Context, keepers: dict[str, _Keeper]) -> None:
        checks = HealthChecks(context)
        checks.begin()
        known = context.registry.health
        await soon(lambda: keepers["ben"].under_way and known[AGENT.key].word == health.HEALTHY)
        checks.end()
        assert keepers["ben"].under_way < _MANY, "and of one person only so many run at once"

    _play(tmp_path, act)


def test_notices_that_reach_nobody_keep_nobody_elses_from_being_told(tmp_path: Path) -> None:
    async def act(context: Context, keepers: dict[str, _Keeper]) -> None:
        told: list[str] = []

        async def post(url: str, _body: bytes) -> None:
            told.append(url)
            await keepers[url.removeprefix("https://")].hang()

        notifier = Notifier(context, post)
        for _ in range(_MANY):
            notifier.tell(Notice(kind="stuck", team="mill", agent="b0", headline="x", what="x", since=0.0))
        notifier.tell(Notice(kind="stuck", team="shop", agent="a", headline="x", what="x", since=0.0))
        await soon(lambda: "https://ann" in told)
        notifier.end()
        assert told.count("https://ben") < _MANY

    _play(tmp_path, act)


def test_a_webhook_that_gives_no_answer_keeps_no_terminal_from_ringing(tmp_path: Path) -> None:
    async def act(context: Context, keepers: dict[str, _Keeper]) -> None:
        registry = context.registry
        mill = replace(registry.teams["mill"], notify=Notify(bell=True, webhook="https://ben"))
        await registry.commit(PERSON, teams=[mill])

        async def post(_url: str, _body: bytes) -> None:
            await keepers["ben"].hang()

        notifier = Notifier(context, post)
        for told in range(2, _MANY + 1, 2):
            for _ in range(2):
                notifier.tell(Notice(kind="stuck", team="mill", agent="b0", headline="x", what="x", since=0.0))
            await soon(lambda told=told: keepers["ben"].announced == told)  # type: ignore[misc]
        notifier.end()

    _play(tmp_path, act)
