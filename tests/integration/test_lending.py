"""A repository and a copy of it, with real git on both sides and no keeper between them."""

import asyncio
import hashlib
import os
import subprocess
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from corral.adapters.git.handing_in import HandedIn
from corral.adapters.git.lending import GitLending
from corral.adapters.git.work import work_in
from corral.adapters.git.workspaces import GitWorkspaces
from corral.adapters.sqlite.store import SqliteStore
from corral.domain import states
from corral.domain.copies import COPY
from corral.domain.errors import CorralError, NotFoundError, RefusedError
from corral.domain.records import Agent, Team
from corral.keeper.lending import LendingVerbs
from corral.places import Places
from corral.ports.keeper import Keeper
from corral.ports.lending import PIECE_BYTES, LendingGit
from corral.ports.reports import BranchesMoved, Report
from corral.service import lending
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
        self.lending.end()
        await self.unwatch()
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


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    scene = Both(tmp_path)
    scene.do(scene.begin())
    yield scene
    scene.do(scene.end())
    scene.loop.close()


def test_what_one_commits_comes_into_the_repository_and_what_is_new_there_comes_back(both: Both) -> None:
    worktree = both.worktree()
    assert both.git(worktree, "rev-parse", "HEAD") == both.git(both.repo, "rev-parse", "HEAD")
    tip = both.commit(worktree, "one")
    assert both.work() == "1 commit that is nowhere else"
    both.hand_in(tip)
    assert both.branch() == tip
    both.git(both.repo, "merge", "--quiet", "--no-ff", "--message", "merged", BRANCH)
    both.bring()
    for name in ("main", "refs/corral/theirs/heads/main"):
        assert both.git(worktree, "rev-parse", name) == both.git(both.repo, "rev-parse", "main")
    assert both.git(worktree, "rev-parse", "HEAD") == tip, "its own branch is where it left it"
    assert both.work() == "", "all of it is on main"
    assert both.git(both.repo, "fsck", "--strict", "--no-dangling") == ""
    assert os.listdir(both.places.incoming) == []


def test_each_move_of_its_branch_is_in_the_journal(both: Both) -> None:
    worktree = both.worktree()
    first = both.commit(worktree, "one")
    both.hand_in(first)
    both.hand_in(first)
    second = both.commit(worktree, "two")
    both.hand_in(second)
    seen = both.do(both.store.events(agent="bot", named=["agent.handed_in"]))
    assert [
        (event.data["branch"], event.data["before"], event.data["commit"], event.data["user"]) for event in seen
    ] == [
        (BRANCH, "", first, "bot"),
        (BRANCH, first, second, "bot"),
    ]


def test_what_it_rewrites_takes_the_place_of_what_it_handed_in_and_of_nothing_else(both: Both) -> None:
    worktree = both.worktree()
    both.hand_in(both.commit(worktree, "one"))
    both.git(worktree, "commit", "--quiet", "--amend", "--message", "better")
    tip = both.git(worktree, "rev-parse", "HEAD")
    both.hand_in(tip)
    assert both.branch() == tip
    # She works on it as well, while nobody has it checked out.
    both.git(both.repo, "switch", "--quiet", BRANCH)
    with pytest.raises(RefusedError, match="is checked out in"):
        both.hand_in(both.commit(worktree, "two"))
    hers = both.commit(both.repo, "hers")
    both.git(both.repo, "switch", "--quiet", "main")
    with pytest.raises(RefusedError, match="has commits that bot has not"):
        both.hand_in(both.git(worktree, "rev-parse", "HEAD"))
    assert both.branch() == hers
    both.bring()
    both.git(worktree, "merge", "--quiet", "--message", "both", f"refs/corral/theirs/heads/{BRANCH}")
    both.hand_in(both.git(worktree, "rev-parse", "HEAD"))
    assert both.git(both.repo, "merge-base", "--is-ancestor", hers, BRANCH) == ""


def _without_a_blob(both: Both, worktree: Path) -> str:
    blob = both.git(worktree, "rev-parse", "HEAD:one")
    (both.copy / "objects" / blob[:2] / blob[2:]).unlink()
    return both.git(worktree, "rev-parse", "HEAD")


def _with_other_content(both: Both, worktree: Path) -> str:
    """The object of a file has what another object should have."""
    blob, other = both.git(worktree, "rev-parse", "HEAD:one"), both.git(worktree, "rev-parse", "HEAD^{tree}")
    path = both.copy / "objects" / blob[:2] / blob[2:]
    path.unlink()
    path.write_bytes((both.copy / "objects" / other[:2] / other[2:]).read_bytes())
    return both.git(worktree, "rev-parse", "HEAD")


def _with_a_tree_that_leads_into_git(both: Both, worktree: Path) -> str:
    blob = both.git(worktree, "rev-parse", "HEAD:one")
    (both.copy / "evil").write_bytes(b"100644 .git\0" + bytes.fromhex(blob))
    tree = both.git(worktree, "hash-object", "-t", "tree", "-w", "--literally", str(both.copy / "evil"))
    return both.git(worktree, "commit-tree", "-m", "x", tree)


def _with_a_submodule_that_is_a_command(both: Both, worktree: Path) -> str:
    (worktree / ".gitmodules").write_text('[submodule "x"]\npath = x\nurl = -u./payload\n')
    both.git(worktree, "add", ".gitmodules")
    both.git(worktree, "commit", "--quiet", "--message", "evil")
    return both.git(worktree, "rev-parse", "HEAD")


def _a_file(both: Both, worktree: Path) -> str:
    return both.git(worktree, "rev-parse", "HEAD:one")


@pytest.mark.parametrize(
    "forged",
    [
        _without_a_blob,
        _with_other_content,
        _with_a_tree_that_leads_into_git,
        _with_a_submodule_that_is_a_command,
        _a_file,
    ],
)
def test_what_is_not_whole_or_not_as_git_wants_it_does_not_come_in(
    both: Both, forged: Callable[[Both, Path], str]
) -> None:
    worktree = both.worktree()
    both.commit(worktree, "one")
    before = both.git(both.repo, "count-objects", "-v")
    with pytest.raises(CorralError):
        both.hand_in(forged(both, worktree))
    assert both.branch() == ""
    assert both.git(both.repo, "count-objects", "-v") == before, "nothing of it"
    assert os.listdir(both.places.incoming) == []


def test_a_branch_that_is_changed_in_the_copy_is_left_as_it_is_there_and_counts_as_work(both: Both) -> None:
    both.git(both.repo, "branch", "old")
    worktree = both.worktree()
    both.git(worktree, "branch", "-D", "old")
    both.git(worktree, "switch", "--quiet", "main")
    mine = both.commit(worktree, "mine")
    both.git(worktree, "switch", "--quiet", BRANCH)
    both.git(worktree, "branch", "feature/x", BRANCH)
    hers = both.commit(both.repo, "hers")
    both.git(both.repo, "branch", "feature")
    both.bring()
    assert both.git(worktree, "rev-parse", "main") == mine
    assert both.git(worktree, "rev-parse", "refs/corral/theirs/heads/main") == hers
    branches = both.git(worktree, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert branches == [BRANCH, "feature/x", "main"], "old was deleted there, and feature has no place"
    assert both.work() == "1 commit that is nowhere else", "it goes with the copy, whatever branch it is on"


def test_branches_of_agents_that_work_elsewhere_follow_and_its_own_do_not(both: Both) -> None:
    others = "corral/shop/api"
    both.git(both.repo, "branch", others)
    worktree = both.worktree()
    both.hand_in(tip := both.commit(worktree, "one"))
    both.git(worktree, "switch", "--quiet", "--detach")
    both.commit(both.repo, "two")
    for branch in (others, BRANCH):
        both.git(both.repo, "branch", "--force", branch, "main")
    both.bring()
    assert both.git(worktree, "rev-parse", others) == both.branch("main"), "it can merge what the other has committed"
    assert both.git(worktree, "rev-parse", BRANCH) == tip
    both.git(both.repo, "branch", "-D", others)
    both.bring()
    assert others not in both.git(worktree, "branch", "--list", "corral/*").split()


def test_a_stash_goes_with_the_copy_so_it_is_work(both: Both) -> None:
    worktree = both.worktree()
    assert both.work() == ""
    (worktree / "README.md").write_text("later")
    both.git(worktree, "stash")
    assert both.work() == "2 commits that are nowhere else"


def test_a_branch_takes_the_place_of_branches_below_it_and_the_other_way_round(both: Both) -> None:
    both.git(both.repo, "branch", "a/b")
    both.git(both.repo, "branch", "c")
    both.bring()
    for words in (("-D", "a/b"), ("a",), ("-D", "c"), ("c/d",)):
        both.git(both.repo, "branch", *words)
    both.bring()
    listing = both.git(both.copy, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    assert listing == ["a", "c/d", "main"]


def test_a_copy_goes_when_nothing_is_in_it_alone(both: Both) -> None:
    worktree = both.worktree()

    def inspected() -> dict[str, str]:
        return {Path(one.path).name: one.why for one in both.do(both.workspaces.inspect("shop"))}

    def removed(agent: str, *, discard: bool = False) -> str:
        path = str(both.path.parent / agent)
        done = both.do(
            both.workspaces.remove(team="shop", agent=agent, path=path, repo=str(both.copy), discard=discard)
        )
        return done.why if done.removed else f"kept: {done.why}"

    assert inspected() == {"bot": ""}
    assert removed(COPY) == "kept: worktrees are of it"
    both.git(worktree, "branch", "mine", both.commit(worktree, "one"))
    both.git(worktree, "reset", "--quiet", "--hard", "HEAD~")
    assert removed("bot").startswith("kept: 1 commit"), "the branch goes with the copy"
    both.git(worktree, "worktree", "remove", "--force", "--force", str(worktree))
    assert inspected() == {COPY: "1 commit that is nowhere else"}
    assert removed(COPY).startswith("kept: 1 commit")
    assert removed(COPY, discard=True).startswith("discarded 1 commit")
    assert not both.copy.parent.exists()


def test_a_copy_of_another_repository_stays_for_the_work_in_it_and_else_makes_room(both: Both, tmp_path: Path) -> None:
    worktree = both.worktree()
    both.hand_in(both.commit(worktree, "one"))
    first, both.repo = both.repo, repos.make(tmp_path / "other", "bare")
    both.do(both.forget())
    with pytest.raises(RefusedError, match=r"is a copy of .*, with work in it, and not of"):
        both.bring()
    assert both.git(both.copy, "rev-parse", "main") == both.git(first, "rev-parse", "main")
    both.git(worktree, "worktree", "remove", "--force", "--force", str(worktree))
    both.git(both.copy, "branch", "-D", BRANCH)
    both.bring()
    assert both.git(both.copy, "rev-parse", "main") == both.git(both.repo, "rev-parse", "main")


def test_what_it_fetches_itself_without_its_history_stays_so(both: Both, tmp_path: Path) -> None:
    worktree = both.worktree()
    other = repos.make(tmp_path / "other")
    both.commit(other, "more")
    both.git(worktree, "fetch", "--quiet", "--depth=1", f"file://{other}", "main:theirs")
    for file in ("one", "two"):
        both.commit(both.repo, file)
        both.bring()
        assert both.git(worktree, "log", "--format=%s", "theirs") == "more"
    assert both.git(worktree, "log", "-1", "--format=%s", "main") == "two"


@pytest.mark.parametrize("kind", ["bare", "detached", "sha256", "shallow", "dirty"])
def test_repositories_of_every_kind_are_lent(both: Both, kind: str, tmp_path: Path) -> None:
    if kind == "bare":
        both.repo = repos.make(tmp_path / "other", "bare")
    elif kind == "dirty":
        both.repo = repos.make(tmp_path / "other", "dirty")
    elif kind == "detached":
        both.git(both.repo, "switch", "--quiet", "--detach")
    elif kind == "sha256":
        both.repo = tmp_path / "other"
        both.git(tmp_path, "init", "--quiet", "--object-format=sha256", "other")
        both.commit(both.repo, "begin")
    else:
        both.commit(both.repo, "second")
        both.git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{both.repo}", "other")
        both.repo = tmp_path / "other"
    worktree = both.worktree()
    tip = both.commit(worktree, "one")
    both.hand_in(tip)
    assert both.branch() == tip
    assert both.git(worktree, "log", "--format=%H") == both.git(both.repo, "log", "--format=%H", BRANCH)
    assert both.work() == "1 commit that is nowhere else"


def test_that_a_branch_moves_is_told_also_of_one_in_a_new_directory(both: Both) -> None:
    async def scene() -> None:
        await both.owner.watch_branches(team="shop", directory=str(both.repo))
        for words in (("branch", "one"), ("branch", "deep/er/two"), ("branch", "-f", "deep/er/two", "one")):
            both.owner.told.clear()
            if words[1] == "-f":
                await asyncio.to_thread(both.git, both.repo, "commit", "--quiet", "--allow-empty", "--message=x")
            await asyncio.to_thread(both.git, both.repo, *words)
            await asyncio.wait_for(both.owner.told.wait(), 20)
        both.owner._lending.watch_no_more("shop")

    both.do(scene())


def test_what_a_keeper_that_was_killed_had_taken_in_is_removed_by_the_next_one(both: Both) -> None:
    async def scene() -> None:
        await both.owner.receive_pack(directory=str(both.repo), apart=True)
        killed = both.owner._lending
        assert len(os.listdir(both.places.incoming)) == 1
        following = GitLending(both.places)
        following.begin()
        assert not os.path.exists(both.places.incoming)
        await following.receive_pack(str(both.repo), apart=True)
        following.end()
        assert os.listdir(both.places.incoming) == [], "one that ends in order leaves nothing either"
        assert isinstance(killed, GitLending)
        killed.end()

    both.do(scene())


def test_a_pack_that_is_not_under_way_is_told_and_one_that_was_dropped_leaves_nothing(both: Both) -> None:
    async def scene() -> None:
        with pytest.raises(NotFoundError):
            await both.owner.read_pack("nothing")
        pack = await both.owner.receive_pack(directory=str(both.repo), apart=True)
        await both.owner.write_pack(pack, b"PACK")
        await both.owner.drop_pack(pack)
        assert os.listdir(both.places.incoming) == []
        with pytest.raises(NotFoundError):
            await both.owner.write_pack(pack, b"x")

    both.do(scene())


def test_what_cannot_come_in_is_told_once_and_forgotten_when_it_can(both: Both) -> None:
    worktree = both.worktree()
    both.git(both.repo, "switch", "--quiet", "--create", BRANCH)
    tip = both.commit(worktree, "one")
    for _ in range(2):
        both.bring()
    (reason,) = both.told()
    assert f"{BRANCH} is checked out in {both.repo}" in reason
    with pytest.raises(RefusedError, match="what bot committed did not come in"):
        both.hand_in(tip)
    # It is not so any more, because it takes it back.
    both.git(worktree, "reset", "--quiet", "--hard", "HEAD~")
    both.hand_in(both.git(worktree, "rev-parse", "HEAD"))
    both.git(both.repo, "switch", "--quiet", "main")
    both.hand_in(tip)
    assert both.branch() == tip


def test_both_follow_each_other_while_an_agent_runs_also_tags_and_branches_of_others(both: Both) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)
    for words in (("tag", "v1"), ("update-ref", "refs/remotes/origin/main", "main"), ("branch", "more")):
        both.git(both.repo, *words)
        name = words[1]
        both.until(lambda: both.git(worktree, "rev-parse", "--verify", "--quiet", name, check=False) != "")  # noqa: B023


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_waits_comes_in_when_its_branch_is_not_checked_out_any_more(both: Both, elsewhere: bool) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)
    hers = both.directory / "hers" if elsewhere else both.repo
    if elsewhere:
        both.git(both.repo, "worktree", "add", "--quiet", str(hers), BRANCH)
    else:
        both.git(hers, "switch", "--quiet", BRANCH)
    later = both.commit(worktree, "two")
    both.until_told(1)
    # As the refusal says. No branch moves by it.
    both.git(hers, *(("switch", "--quiet", "--detach") if elsewhere else ("switch", "--quiet", "main")))
    both.until(lambda: both.branch() == later)
    if elsewhere:
        both.git(hers, "switch", "--quiet", BRANCH)
        last = both.commit(worktree, "three")
        both.until_told(2)
        both.git(both.repo, "worktree", "remove", str(hers))
        both.until(lambda: both.branch() == last)


def test_one_that_has_not_started_yet_is_followed_from_when_it_has_a_worktree(both: Both) -> None:
    both.state = states.PENDING
    worktree = both.worktree()
    assert both.branch() == ""
    both.do(both.made())
    both.until(lambda: both.branch() == both.branch("main"))
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)


def test_a_team_that_is_down_and_up_again_is_followed_again(both: Both) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    both.do(both.unwatch())
    both.do(both.forget())
    both.since += 1
    both.bring()
    tip = both.commit(worktree, "one")
    both.until(lambda: both.branch() == tip)


def test_keepers_that_come_in_the_place_of_others_are_asked_to_tell(both: Both) -> None:
    both.state = states.RUNNING
    worktree = both.worktree()
    both.do(both.replace_keepers())
    tip = both.commit(worktree, "one")
    both.bring()
    assert both.branch() == tip
    tip = both.commit(worktree, "two")
    both.until(lambda: both.branch() == tip)


def test_a_name_may_hold_what_ends_a_line_elsewhere_or_be_no_text(both: Both) -> None:
    odd = "a\u2028b\x85c"
    both.git(both.repo, "branch", odd)
    subprocess.run(["git", "branch", b"caf\xe9"], cwd=both.repo, check=True)
    worktree = both.worktree()
    assert both.git(worktree, "for-each-ref", "--format=%(refname:short)", "refs/heads").split("\n") == [
        odd,
        BRANCH,
        "main",
    ], "that which is no text is not brought"
    both.git(worktree, "branch", f"{odd}d")
    subprocess.run(["git", "branch", b"th\xe9"], cwd=worktree, check=True)
    both.git(worktree, "commit", "--quiet", "--allow-empty", "--message", "x\u2028--not")
    both.git(worktree, "commit", "--quiet", "--allow-empty", "--message", "y")
    tip = both.git(worktree, "rev-parse", "HEAD")
    both.hand_in(tip)
    assert both.branch() == tip
    both.git(worktree, "reset", "--quiet", "--hard", "HEAD~2")
    (found,) = both.do(both.workspaces.inspect("shop"))
    assert found.why == "2 commits that are nowhere else"


def test_worktrees_begin_where_head_of_the_repository_is_also_at_a_commit_on_no_branch(both: Both) -> None:
    both.bring()
    both.git(both.repo, "branch", "other")
    both.git(both.repo, "switch", "--quiet", "--detach")
    tip = both.commit(both.repo, "in between")
    worktree = both.worktree()
    assert both.git(worktree, "rev-parse", "HEAD") == tip
    both.git(both.repo, "switch", "--quiet", "other")
    both.bring()
    assert both.git(both.copy, "symbolic-ref", "HEAD") == "refs/heads/other", "nothing else has changed"


def test_a_history_that_is_deepened_in_the_repository_is_so_in_the_copy(both: Both, tmp_path: Path) -> None:
    for name in ("second", "third"):
        both.commit(both.repo, name)
    both.git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{both.repo}", "other")
    both.repo = tmp_path / "other"
    worktree = both.worktree()
    both.git(both.repo, "fetch", "--quiet", "--unshallow")
    both.hand_in(both.commit(worktree, "one"))
    assert both.git(worktree, "log", "--format=%H") == both.git(both.repo, "log", "--format=%H", BRANCH)
    assert both.git(worktree, "fsck") == ""


def test_a_copy_that_a_worktree_elsewhere_is_of_stays_and_it_is_told(both: Both) -> None:
    worktree = both.worktree()
    both.git(worktree, "worktree", "add", "--quiet", "--detach", str(both.directory / "elsewhere"))
    (both.copy / "worktrees" / "nothing").mkdir()

    def removed(agent: str, *, discard: bool = False) -> str:
        path = str(both.path.parent / agent)
        done = both.do(
            both.workspaces.remove(team="shop", agent=agent, path=path, repo=str(both.copy), discard=discard)
        )
        return done.why if done.removed else f"kept: {done.why}"

    assert removed("bot") == ""
    why = f"the worktree {both.directory}/elsewhere is of it"
    assert [(one.path, one.why) for one in both.do(both.workspaces.inspect("shop"))] == [(str(both.copy), why)]
    assert removed(COPY) == f"kept: {why}"
    assert removed(COPY, discard=True) == f"discarded {why}"
    assert not both.copy.exists()


@pytest.mark.parametrize("what", ["fifo", "file"])
def test_what_somebody_put_into_a_copy_is_not_waited_for(both: Both, what: str) -> None:
    both.worktree()
    if what == "fifo":
        os.mkfifo(both.copy / "shallow")
        both.bring()
    else:
        (both.copy / "worktrees").rename(both.directory / "worktrees")
        (both.copy / "worktrees").write_text("")
    assert both.do(both.workspaces.inspect("shop"))[0].path == str(both.copy if what == "file" else both.path)


def test_who_works_in_the_repository_now_is_not_told_of_what_was(both: Both) -> None:
    worktree = both.worktree()
    both.git(both.repo, "switch", "--quiet", "--create", BRANCH)
    both.commit(worktree, "one")
    both.bring()
    team, agent = both.do(both.up())
    both.do(both.lending.hand_in(team, replace(agent, run_as="")))


def test_a_copy_that_is_gone_is_not_made_again_by_looking_at_it(both: Both) -> None:
    with pytest.raises(CorralError):
        both.do(both._do(both.lending.exchange))
    assert not both.copy.exists()


def test_a_small_pack_that_fits_nowhere_is_refused(both: Both) -> None:
    """An object that is 24 GB, as the difference to one of 16 MB."""
    base, times = bytes(0xFFFFFF), 1500
    copied = _size(len(base)) + _size(len(base) * times) + b"\xf0\xff\xff\xff" * times
    kept = hashlib.sha1(b"blob %d\0" % len(base) + base).digest()
    body = b"PACK" + (2).to_bytes(4, "big") * 2
    body += _object(3, len(base)) + zlib.compress(base) + _object(7, len(copied)) + kept + zlib.compress(copied)

    async def scene() -> None:
        pack = await both.owner.receive_pack(directory=str(both.repo), apart=True)
        await both.owner.write_pack(pack, body + hashlib.sha1(body).digest())
        tip = both.git(both.repo, "rev-parse", "HEAD")
        with pytest.raises(CorralError, match="Out of memory"):
            await both.owner.hand_in(repo=str(both.repo), team="shop", agent="bot", tip=tip, pack=pack, by="bot")

    both.do(scene())
    assert os.listdir(both.places.incoming) == []


def _size(number: int) -> bytes:
    digits = [number >> at & 0x7F for at in range(0, number.bit_length(), 7)]
    return bytes([*(digit | 0x80 for digit in digits[:-1]), digits[-1]])


def _object(kind: int, size: int) -> bytes:
    return bytes([kind << 4 | size & 15 | 0x80]) + _size(size >> 4)


def test_a_piece_that_is_too_large_is_not_passed_on(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other keeper would hang up on the daemon that sends it a frame of that size."""
    both.commit(both.worktree(), "one")
    passed: list[int] = []

    async def read(_: str) -> bytes:
        return bytes(PIECE_BYTES + 1)

    async def write(_: str, data: bytes) -> None:
        passed.append(len(data))

    monkeypatch.setattr(both.guest, "read_pack", read)
    monkeypatch.setattr(both.owner, "write_pack", write)
    both.bring()
    assert passed == []
    assert "a piece of 1,048,577 bytes was sent" in both.told()[0]


def test_an_agent_without_an_end_to_what_it_sends_holds_up_nobody(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    both.commit(both.worktree(), "one")

    async def read(_: str) -> bytes:
        await asyncio.sleep(0.01)
        return b"x"

    async def write(_: str, data: bytes) -> None:
        """Git would say no, in the end."""

    monkeypatch.setattr(both.guest, "read_pack", read)
    monkeypatch.setattr(both.owner, "write_pack", write)
    monkeypatch.setattr(lending, "_HANDING_SECONDS", 0.5)
    both.bring()
    assert "within 0 s" in both.told()[0]
    assert os.listdir(both.places.incoming) == []


def test_a_keeper_that_is_killed_when_the_branch_has_moved_is_no_matter(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    worktree = both.worktree()
    both.hand_in(both.commit(worktree, "one"))
    tip, note, notes = both.commit(worktree, "two"), HandedIn._note, list[object]()

    def killed(*words: Any) -> None:
        notes.append(words)
        if len(notes) == 2:
            raise CorralError("killed")
        note(*words)

    monkeypatch.setattr(HandedIn, "_note", killed)
    both.bring()
    assert both.branch() == tip
    both.git(worktree, "commit", "--quiet", "--amend", "--message", "better")
    tip = both.git(worktree, "rev-parse", "HEAD")
    both.hand_in(tip)
    assert both.branch() == tip


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_room_that_is_closed_to_its_own_keeper_is_told_of(both: Both) -> None:
    both.worktree()
    both.path.parent.chmod(0)
    try:
        (found,) = both.do(both.workspaces.inspect("shop"))
    finally:
        both.path.parent.chmod(0o700)
    assert (found.path, found.in_the_way) == (str(both.path.parent), True)
