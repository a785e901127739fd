"""Workspaces: git worktrees of the agents' own, and directories that were there before."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
import os
from dataclasses import asdict, replace
from shlex import quote

import msgspec

from corral.adapters.files.group_access import let_group
from corral.adapters.files.registration import register, register_hooks, unregister_hooks
from corral.adapters.git import copies, remains
from corral.adapters.git.branches import Names, Survey, choose
from corral.adapters.git.command import git
from corral.adapters.git.exclude import drop_unused
from corral.adapters.git.guard import Guard
from corral.adapters.git.work import branch_exists, forget_branch, lost_commits, uncommitted_in, work_in
from corral.adapters.git.worktree_locks import lock, lock_of_others, unlock
from corral.adapters.git.worktrees import (
    Worktree,
    branch_of,
    common_dir,
    deleted_branch_of,
    git_dirs_of,
    link_on_the_way,
    note_branch,
    registered_path,
    survey,
    turn,
    worktree_at,
)
from corral.domain.copies import COPY
from corral.domain.enforcement import ALLOW, Enforcement
from corral.domain.errors import BadSpecError, CorralError, RefusedError
from corral.git import GitError
from corral.places import Places
from corral.ports.conversations import ForkPoint
from corral.ports.workspace import Repository, Workspace, WorkspaceRemoval
from corral.repository import look

log = logging.getLogger("corral.keeper")

#: Somebody put something else there.
_NO_WORKTREE = "not a git worktree"
#: What it leads to may be a person's own.
_LINK = "a symbolic link, which Corral neither follows nor removes"


class GitWorkspaces:
    """See `ports.workspace.Workspaces`."""

    def __init__(self, places: Places, instance: str, daemon: Places | None = None) -> None:
        """`daemon` says where its daemon is, if that is another user's. Then room for worktrees is made by others."""
        self._places = places
        self._daemon = daemon or places
        self._given_room = daemon is not None
        self._instance = instance
        # CORRAL_HOME may lead through a link, and git writes down what a path really is. Resolved once, and never with
        # team and agent: what is a link there leads to something that is not ours.
        self._root = os.path.realpath(os.path.dirname(os.path.dirname(places.worktree("any", "any"))))

    async def repository(self, path: str) -> Repository:
        """See `Workspaces.repository`."""
        return Repository(**asdict(await asyncio.to_thread(look, path)))

    async def prepare(
        self, *, team: str, agent: str, kind: str, path: str, repo: str | None, start: str = "", access: str = "none"
    ) -> Workspace:
        """See `Workspaces.prepare`."""
        try:
            if kind != "worktree":
                return _directory(kind, path)
            if repo is None:
                raise BadSpecError(f"{agent} wants a worktree, but the team has no repo", 'set repo = "." in [team]')
            own = self._own(team, agent)
            if self._given_room and not link_on_the_way(own):
                let_group(own, access)
            common = await common_dir(repo)
            async with turn(common):
                known = await survey(common, repo)
                names = Names.of(team, agent, self._instance)
                made = await self._worktree(own, repo, names, known, start or "HEAD")
                return msgspec.structs.replace(made, path=path)
        except OSError as error:
            raise _cannot_make(path, error) from error

    async def fork_point(self, path: str) -> ForkPoint:
        """See `Workspaces.fork_point`."""
        return ForkPoint(
            commit=(await git(path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")).strip(),
            uncommitted=await uncommitted_in(path),
        )

    async def guard(self, *, team: str, agent: str, path: str, enforcement: Enforcement, target: str) -> str:
        """See `Workspaces.guard`. Only worktrees that Corral made are ever guarded."""
        own = self._own(team, agent)
        if path != self._places.worktree(team, agent) or link_on_the_way(own):
            return ""
        worktree = await worktree_at(own) if os.path.isdir(own) else None
        if worktree is None or registered_path(worktree.git_dir) != own:
            return ""
        if not enforcement.worktrees:
            await self._unguard(team, agent, worktree)
            return ""
        settings = {
            "home": self._daemon.home,
            "runtime": self._daemon.runtime,
            "instance": self._instance,
            "team": team,
            "agent": agent,
            "target": "" if enforcement.target == ALLOW else target,
        }
        async with turn(worktree.common):
            lock(worktree.git_dir, team, agent)
            return await self._guard(team, agent).put(own, worktree, enforcement, settings)

    def _guard(self, team: str, agent: str) -> Guard:
        return Guard(self._places.hooks(team, agent))

    async def _unguard(self, team: str, agent: str, worktree: Worktree) -> None:
        """Leave no trace of hooks, and no lock, in a worktree that stays: it is the person's."""
        async with turn(worktree.common, removing=True):
            unlock(worktree.git_dir)
            await self._guard(team, agent).take_away(worktree.common)

    async def register(self, path: str, profile: str) -> str:
        """See `Workspaces.register`."""
        return await asyncio.to_thread(register, path, profile)

    async def register_hooks(self, path: str, profile: str, *, remove: bool) -> str:
        """See `Workspaces.register_hooks`."""
        return await asyncio.to_thread(unregister_hooks if remove else register_hooks, path, profile)

    async def inspect(self, team: str) -> list[WorkspaceRemoval]:
        """See `Workspaces.inspect`."""
        root = os.path.dirname(self._places.worktree(team, "any"))
        if os.path.islink(root):
            return [_in_the_way(root, _LINK)]
        if not os.path.isdir(root):
            return []
        try:
            names = sorted(os.listdir(root))
        except OSError as error:
            return [_in_the_way(root, f"nobody could look what is in it: {error.strerror}")]
        found = []
        for name in names:
            path = os.path.join(root, name)
            if name == COPY:
                found += await copies.left(path)
                continue
            if remains.are_at(self._own(team, name)):
                found.append(WorkspaceRemoval(path=path, removed=False))
                continue
            worktree, why = await self._work(self._own(team, name), Names.of(team, name, self._instance))
            kept = WorkspaceRemoval(path=path, removed=False, why=why)
            found.append(_in_the_way(path, why) if worktree is None else kept)
        return found

    async def remove(self, *, team: str, agent: str, path: str, repo: str | None, discard: bool) -> WorkspaceRemoval:
        """See `Workspaces.remove`. Only worktrees that Corral made are ever removed."""
        if path != self._places.worktree(team, agent):
            return WorkspaceRemoval(path=path, removed=False)
        own = self._own(team, agent)
        if agent == COPY:
            return await copies.remove(own, discard=discard)
        names = Names.of(team, agent, self._instance)
        if not os.path.lexists(own) and not link_on_the_way(own):
            if repo is not None:
                await self._forget_deleted(own, repo, names, self._guard(team, agent))
            return WorkspaceRemoval(path=path, removed=False)
        if self._given_room and _is_empty(own):
            os.rmdir(own)  # room was made, and nothing came of it
            copies.remove_if_empty(os.path.dirname(own))
            return WorkspaceRemoval(path=path, removed=True)
        if remains.are_at(own) and not link_on_the_way(own):
            return await self._clear(path, own)
        worktree, work = await self._work(own, names)
        if worktree is None:
            return _in_the_way(path, work)
        if work and not discard:
            await self._unguard_kept(team, agent, worktree)
            return WorkspaceRemoval(path=path, removed=False, why=work)
        try:
            if repo is not None and await common_dir(repo) != os.path.realpath(worktree.common):
                return _in_the_way(path, f"not a worktree of {repo}")
            branch = await branch_of(own, worktree, names)
            last = await _last_state(own, branch) if work else ""
            async with turn(worktree.common, removing=True):
                # Waiting takes time, and git follows links.
                if why := _link(own):
                    return _in_the_way(path, why)
                unlock(worktree.git_dir)
                await self._give_up(worktree, own, discard=discard)
                known = await survey(worktree.common, worktree.common)
                if branch in known.branches and not known.holder(branch, own):
                    # What the branch holds is elsewhere too, or was to be thrown away.
                    await git(worktree.common, "branch", "-D", branch)
                await asyncio.to_thread(drop_unused, worktree.common)
                await self._guard(team, agent).take_away(worktree.common)
        except CorralError as error:
            return WorkspaceRemoval(path=path, removed=not os.path.lexists(own), why=error.message)
        discarded = f"discarded {work} ({last})" if work else ""
        if remains.are_at(own):
            return await self._clear(path, own, discarded)
        copies.remove_if_empty(os.path.dirname(own))
        return WorkspaceRemoval(path=path, removed=True, why=discarded)

    @staticmethod
    async def _give_up(worktree: Worktree, own: str, *, discard: bool) -> None:
        """Have git remove a worktree. What it cannot delete is marked: for git it is no worktree any more by then."""
        force = ["--force", "--force"] if discard else []
        try:
            await git(worktree.common, "worktree", "remove", *force, own)
        except GitError as git_said:
            if os.path.lexists(worktree.git_dir):
                raise  # it said no, and everything is as it was
            try:
                remains.mark(own)
            except FileNotFoundError:
                return  # of the directory nothing is left
            except OSError as error:
                log.warning("what is left at %s cannot be marked as ours: %s", own, error.strerror)
                raise git_said from error

    @staticmethod
    async def _clear(path: str, own: str, discarded: str = "") -> WorkspaceRemoval:
        """Go on with what a removal could not delete. What was thrown away by it is told, whether or not all goes."""
        problem = await asyncio.to_thread(remains.clear, own)
        told = "; ".join(filter(None, (problem, discarded)))
        if not problem:
            copies.remove_if_empty(os.path.dirname(own))
        return WorkspaceRemoval(path=path, removed=not problem, why=told)

    def _own(self, team: str, agent: str) -> str:
        """The path of an agent's worktree as git has it: canonical, unless somebody put a link in its place."""
        return os.path.join(self._root, team, agent)

    async def _work(self, path: str, names: Names) -> tuple[Worktree | None, str]:
        """The worktree at `path`, and the work or the lock that it is to stay for; of something else, why it stays."""
        if why := _link(path):
            return None, why
        if not os.path.isdir(path):
            return None, _NO_WORKTREE
        try:
            worktree = await worktree_at(path)
            if worktree is None:
                return None, _NO_WORKTREE
            if (registered := registered_path(worktree.git_dir)) != path:
                return None, f"not a worktree of this place: git has it at {registered}"
            work = await work_in(path, await branch_of(path, worktree, names))
            return worktree, ", ".join(filter(None, (work, lock_of_others(worktree.git_dir))))
        except CorralError as error:
            return None, f"not a worktree that git answers for: it cannot be checked ({error.message})"

    async def _unguard_kept(self, team: str, agent: str, worktree: Worktree) -> None:
        """The work in it is why it stays, whatever becomes of its hooks."""
        try:
            await self._unguard(team, agent, worktree)
        except (CorralError, OSError) as error:
            log.warning("the hooks of %s/%s may still be in force: %s", team, agent, error)

    async def _forget_deleted(self, path: str, repo: str, names: Names, guard: Guard) -> None:
        """Somebody deleted the worktree by hand: have git forget it. Its branch stays if it has commits of its own."""
        try:
            common = await common_dir(repo)
            async with turn(common, removing=True):
                known = await survey(common, repo)
                branch = deleted_branch_of(path, known, names)
                if path in known.worktrees and not os.path.lexists(path):
                    _unlock_deleted(common, path)
                    await git(repo, "worktree", "remove", path)
                await guard.take_away(common)
                await forget_branch(repo, known, branch, path)
        except (CorralError, OSError) as error:
            log.warning("%s is gone, and git still knows it: %s", path, error)

    async def _worktree(self, path: str, repo: str, names: Names, known: Survey, start: str) -> Workspace:
        if link := link_on_the_way(path):
            raise RefusedError(
                f"{link} is in the way: it is a symbolic link, and Corral follows none there",
                "look at where it leads and move the link away; Corral does not remove it",
            )
        if remains.are_at(path) and (problem := await asyncio.to_thread(remains.clear, path)):
            raise RefusedError(
                f"what is left of the last worktree at {path} cannot be removed: {problem}",
                f"remove it with the rights that it takes (sudo rm -r {path}), then run corral up again",
            )
        if os.path.isdir(path) and os.listdir(path):
            return await self._found_again(path, repo, names, known)
        if os.path.lexists(path) and not os.path.isdir(path):
            raise RefusedError(f"{path} is in the way: it is not a directory", "look at what it is and move it away")
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        branch = choose(names, known, path, repo)
        try:
            note = await self._add(path, repo, branch, known, start)
        except GitError as error:
            if "already" not in error.message or branch not in error.message:
                raise
            # Somebody is on it in a way that git does not list, such as in the middle of a rebase.
            known = replace(known, holders={**known.holders, branch: "another worktree"})
            branch = choose(names, known, path, repo)
            note = await self._add(path, repo, branch, known, start)
        if branch == names.own and (holder := known.holder(names.plain, path)):
            taken = f"on branch {branch}, because {names.plain} is taken by {holder}"
            note = f"{taken}; {note}" if note else taken
        return Workspace(path=path, kind="worktree", branch=branch, created=True, note=note)

    async def _add(self, path: str, repo: str, branch: str, known: Survey, start: str) -> str:
        """Make the worktree; what a person should know of it. If git refuses, nothing of it stays."""
        # --force: our own path may still be registered after somebody deleted the directory by hand.
        force = ["--force"] if path in known.worktrees else []
        if force:
            _unlock_deleted(known.common, path)
        there = branch in known.branches
        if there and (leads_to := await _leads_to(repo, branch)):
            raise RefusedError(
                f"the branch {branch} is another name of {leads_to}, so its commits would be made there",
                f"look who made it so; git -C {quote(repo)} symbolic-ref --delete refs/heads/{branch} removes the name "
                "alone",
            )
        source = [path, branch] if there else ["--no-track", "-b", branch, path, start]
        try:
            await git(repo, "worktree", "add", *force, *source, making=True)
        except GitError:
            # A hook that fails lets git make everything and then say no. Nobody has worked there yet.
            with contextlib.suppress(CorralError):
                if path in (await survey(known.common, repo)).worktrees and not link_on_the_way(path):
                    await git(repo, "worktree", "remove", "--force", path)
                if not there and await branch_exists(repo, branch):
                    await git(repo, "branch", "-D", branch)
            raise
        await note_branch(path, branch)
        return f"goes on with branch {branch} from last time" if there else ""

    async def _found_again(self, path: str, repo: str, names: Names, known: Survey) -> Workspace:
        """A worktree from last time is used again as it is, work included; anything else is left alone."""
        worktree = await worktree_at(path) if path in known.worktrees else None
        if worktree is None or registered_path(worktree.git_dir) != path:
            raise RefusedError(
                f"{path} is in the way: it is not a worktree of {repo}",
                "look at what is in it and move it away; Corral does not delete it",
            )
        branch = await branch_of(path, worktree, names)
        work = await work_in(path, branch)
        note = f"worktree from last time, with {work}" if work else "worktree from last time"
        return Workspace(path=path, kind="worktree", branch=branch, note=note)


async def _leads_to(repo: str, branch: str) -> str:
    """The ref that a branch is another name of; empty if it is a branch."""
    try:
        return (await git(repo, "symbolic-ref", "--quiet", f"refs/heads/{branch}")).strip()
    except GitError:
        return ""


def _link(path: str) -> str:
    """Why `path` stays if a link is there, or above it among what is ours; else empty."""
    link = link_on_the_way(path)
    return "" if not link else _LINK if link == path else f"below {_LINK} ({link})"


def _in_the_way(path: str, why: str) -> WorkspaceRemoval:
    """It stays, and not because of anybody's work: nothing that Corral does removes it."""
    return WorkspaceRemoval(path=path, removed=False, why=why, in_the_way=True)


def _unlock_deleted(common: str, path: str) -> None:
    """Our lock outlives the directory that it was for."""
    for git_dir in git_dirs_of(common, path):
        unlock(git_dir)


async def _last_state(path: str, branch: str) -> str:
    """By what a person can find again what was committed in a worktree that is about to go."""
    try:
        tip = (await git(path, "rev-parse", "--short", "--verify", "--quiet", "HEAD")).strip()
        lost = await lost_commits(path, branch)
    except GitError:
        return "it was at no commit"  # a branch that was begun anew, and has none yet
    return f"it was at {tip}; lost: {lost}" if lost and lost != tip else f"it was at {tip}"


def _directory(kind: str, path: str) -> Workspace:
    if os.path.isdir(path):
        return Workspace(path=path, kind=kind)
    if kind == "shared":
        _check_seen(path)
        raise BadSpecError(f"the shared workspace {path} is not a directory", "correct repo in [team]")
    if os.path.lexists(path):
        raise CorralError(f"the workspace {path} is not a directory", "choose another, or move away what is there")
    os.makedirs(path)
    return Workspace(path=path, kind=kind, created=True)


def _check_seen(path: str) -> None:
    """What nobody lets us see is not missing."""
    try:
        os.stat(path)
    except PermissionError as error:
        user = getpass.getuser()
        raise CorralError(
            f"{user} does not get to the shared workspace {path}: {error.strerror}",
            f'let {user} in, or leave workspace = "shared" out: a worktree is of a copy that is its own',
        ) from error
    except OSError:
        return


def _cannot_make(path: str, error: OSError) -> CorralError:
    place = str(error.filename or path)
    culprit = place if os.path.lexists(place) and not os.path.isdir(place) else os.path.dirname(place)
    return CorralError(
        f"cannot make the workspace {path}: {place}: {error.strerror}",
        f"make {culprit} a directory that you can write to, then run corral up again",
    )


def _is_empty(path: str) -> bool:
    return not link_on_the_way(path) and os.path.isdir(path) and not os.listdir(path)
