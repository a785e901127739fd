"""A repository and a copy of it, with real git on both sides, and the daemon's part between them."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from corral.adapters.git.lending import GitLending
from corral.adapters.git.work import work_in
from corral.adapters.git.workspaces import GitWorkspaces
from corral.adapters.sqlite.store import SqliteStore
from corral.domain import states
from corral.domain.copies import COPY
from corral.domain.records import Agent, Team
from corral.keeper.lending import LendingVerbs
from corral.places import Places
from corral.ports.keeper import Keeper
from corral.ports.lending import LendingGit
from corral.ports.reports import BranchesMoved, Report
from corral.service.lending import Lending
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry
from tests.support import repos
from tests.support.records import AGENT, PERSON, TEAM
from tests.support.waiting import wait_for

_T = TypeVar("_T")
BRANCH = "corral/shop/bot"
WHO = ("-c", "user.name=x", "-c", "user.email=x@example.org")


class Keeping(LendingVerbs):
    """What a keeper does of it."""

    def __init__(self, lending: LendingGit) -> None:
        self._lending = lending
        self.told = asyncio.Event()
        self._tell = self._report
        self.on_report: Callable[[Report], None] = lambda _: None

    async def hello(self) -> object:
        return object()

    def _report(self, report: Report) -> None:
        self.told.set()
        self.on_report(report)


class Both:
    """Two keepers' git, and the daemon's part between them."""

    def __init__(self, directory: Path) -> None:
        self.repo = repos.make(directory / "repo")
        self.loop = asyncio.new_event_loop()
        self.places = Places(str(directory / "owner"), str(directory / "o"))
        self.owner = Keeping(GitLending(self.places))
        guests = Places(str(directory / "guest"), str(directory / "g"))
        self.guest = Keeping(GitLending(guests))
        self.workspaces = GitWorkspaces(guests, "i1")
        self.path = Path(guests.worktree("shop", "bot"))
        self.copy = self.path.parent / COPY
        self.copy.parent.mkdir(parents=True)
        self.supervisor: Any = SimpleNamespace()
        self.lost: list[Callable[[], None]] = []
        self.directory = directory
        #: One that does not run is not followed: what is asked for is done, and nothing else.
        self.state = states.STOPPED
        #: Since when the team is up.
        self.since = 0.0

    async def begin(self) -> None:
        self.store = await SqliteStore.open(str(self.directory / "corral.db"))
        self.registry = Registry(self.store, lambda: 0.0, str(self.directory / "at-rest"))
        self.supervisor.keepers = Keepers(self.registry, self._connect, self._told, lambda *_: None, shared=True)
        self.lending = Lending(self.registry, self.supervisor, "i1")

    async def replace_keepers(self) -> None:
        """Both are others now."""
        await self.unwatch()
        self.owner, self.guest = Keeping(self.owner._lending), Keeping(self.guest._lending)
        for tell in self.lost:
            tell()

    async def unwatch(self) -> None:
        """As keepers do that end, or whose team is taken down."""
        self.owner._lending.watch_no_more("shop")
        self.guest._lending.watch_no_more("shop")

    async def _connect(self, user: str, on_report: Callable[[Report], None], on_lost: Callable[[], None]) -> Keeper:
        keeper = {"ann": self.owner, "bot": self.guest}[user]
        keeper.on_report = on_report
        self.lost.append(on_lost)
        return cast("Keeper", keeper)

    def _told(self, report: Report) -> None:
        assert isinstance(report, BranchesMoved)
        self.supervisor.on_branches(report.team)

    async def up(self) -> tuple[Team, Agent]:
        """The team, with an agent of another user in it."""
        team = replace(TEAM, user="ann", agent_users=("bot",), repo=str(self.repo), created_at=self.since)
        agent = replace(
            AGENT, name="bot", run_as="bot", workspace_kind="worktree", workspace=str(self.path), state=self.state
        )
        if team not in self.registry.teams.values():
            await self.registry.commit(PERSON, teams=[team], agents=[agent])
        return team, agent

    async def end(self) -> None:
        """Leave nothing of it: nor of what goes on in the background."""
        self.lending.end()
        loop, me = asyncio.get_running_loop(), asyncio.current_task()
        await asyncio.gather(*(one for one in asyncio.all_tasks() if one is not me), return_exceptions=True)
        await loop.shutdown_default_executor()
        await self.unwatch()
        for keeper in (self.owner, self.guest):
            assert isinstance(keeper._lending, GitLending)
            keeper._lending.end()
        await self.store.close()

    def git(self, where: Path, *words: str, check: bool = True) -> str:
        done = subprocess.run(["git", *WHO, *words], cwd=where, check=False, capture_output=True, text=True)
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def commit(self, where: Path, file: str) -> str:
        (where / file).write_text(file)
        self.git(where, "add", file)
        self.git(where, "commit", "--quiet", "--message", file)
        return self.git(where, "rev-parse", "HEAD")

    def do(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 60))

    def bring(self) -> None:
        self.do(self._do(partial(self.lending.exchange, making=True)))

    def hand_in(self, tip: str) -> None:
        """Whatever its branch is at: it comes from somebody who may have had git write anything there."""
        (self.copy / "refs" / "heads" / BRANCH).parent.mkdir(parents=True, exist_ok=True)
        (self.copy / "refs" / "heads" / BRANCH).write_text(f"{tip}\n")
        self.do(self._do(self.lending.hand_in))

    async def _do(self, act: Callable[[Team, Agent], Awaitable[None]]) -> None:
        await act(*await self.up())

    async def forget(self) -> None:
        """The team is down."""
        await self.registry.commit(PERSON, drop_agents=[("shop", "bot")], drop_teams=["shop"])

    async def made(self) -> None:
        self.lending.made(*await self.up())

    def told(self) -> list[str]:
        """What was said of it in the journal."""
        seen = self.do(self.store.events(agent="bot", named=["agent.degraded"]))
        return [str(event.data["reason"]) for event in seen]

    def until(self, there: Callable[[], bool]) -> None:
        """Wait for what happens in the background."""
        self.do(asyncio.to_thread(wait_for, there, what="the other one has it"))

    def until_told(self, times: int) -> None:
        """Wait until so much was said in the journal."""
        while len(self.told()) < times:
            self.do(asyncio.sleep(0.05))

    def worktree(self) -> Path:
        self.bring()
        self.do(
            self.workspaces.prepare(team="shop", agent="bot", kind="worktree", path=str(self.path), repo=str(self.copy))
        )
        return self.path

    def work(self) -> str:
        return self.do(work_in(str(self.path), BRANCH))

    def branch(self, name: str = BRANCH) -> str:
        return self.git(self.repo, "rev-parse", "--verify", "--quiet", f"refs/heads/{name}", check=False)
