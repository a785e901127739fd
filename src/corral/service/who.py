"""The use case `who`: which agents and people changed, hold or claimed a file, from git, leases, tasks and journal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from corral.domain.errors import NotFoundError, RefusedError, WrongUseError
from corral.domain.path_patterns import Pattern, of_file, parse
from corral.domain.records import Agent, Event, Team
from corral.domain.spec_model import SHARED, WORKTREE
from corral.domain.task_records import Task
from corral.domain.timestamps import timestamp
from corral.domain.traces import (
    CHANGING,
    CLAIMS,
    COMMITTED,
    HOLDS,
    MERGED,
    Trace,
    agent_of_branch,
    mentions,
    names_of,
    newest_first,
    shown_all,
)
from corral.ports.history import AskedMerge, FileHistory
from corral.service.context import Context
from corral.service.journal_pages import Pages
from corral.service.lease_claims import files_of, realm_of, whose_is
from corral.service.leases import LeaseService
from corral.service.reaching import keeper_soon
from corral.service.real_patterns import RealPatterns
from corral.service.sight import EVERYTHING, Sight
from corral.service.tasks import Tasks
from corral.service.who_trees import Workspaces, by_user, with_others

#: The newest commits that are: more than are told, because it is told how many more there are.
_MOST_COMMITS = 10_000
#: Traces that are told, without and with a word about it.
DEFAULT_LIMIT, LARGEST_LIMIT = 50, 1000
_NO_HISTORY = FileHistory(known=False)
#: What became of merges. That one waits or is being tested says nothing about a file.
_MERGE_OUTCOMES = frozenset(["merged", "conflict", "failed", "refused"])


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTraces:
    """What there is to tell of one file."""

    path: str
    traces: Sequence[Trace]
    #: How many more there are than were asked for.
    more: int
    #: What could not be looked at.
    unseen: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which file, and how much of it."""

    team: Team
    #: Who asks, if it is an agent.
    agent: Agent | None
    #: Whose request it is.
    user: str
    path: str
    #: The directory of the caller; empty if it has none.
    cwd: str = ""
    #: Unix seconds: nothing older.
    since: float | None = None
    limit: int = DEFAULT_LIMIT


class Who:
    """The use case. It looks, and changes nothing."""

    def __init__(self, context: Context, leases: LeaseService, tasks: Tasks) -> None:
        self._registry = context.registry
        self._store = context.store
        self._supervisor = context.supervisor
        self._leases = leases
        self._tasks = tasks
        self._real = RealPatterns(context.supervisor)
        #: By who asks: of each one question at a time.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def of(self, question: Question, sight: Sight = EVERYTHING) -> FileTraces:
        """What is known of a file, the newest first. `NotFoundError` for one that nobody knows.

        What agents hold, held and have in their working trees is told of those that may be seen. Commits are told as
        the repository has them.
        """
        if not 0 < question.limit <= LARGEST_LIMIT:
            raise WrongUseError(f"limit={question.limit}: 1 to {LARGEST_LIMIT} are wanted")
        async with self._turns.setdefault(question.user, asyncio.Lock()):
            return await self._of(question, sight)

    async def _of(self, question: Question, sight: Sight) -> FileTraces:
        workspaces = await self._workspaces(question.team, sight)
        names = names_of(question.path, question.cwd, [*workspaces, files_of(question.team, None)])
        for name in names:
            found = await self._look(question, name, workspaces, sight)
            if found is not None:
                return found
        raise NotFoundError(
            f"nobody knows {shown_all(names)}: no commit, no working tree, no lease and no task has it",
            "name it from the top of the repository, or from the directory that you are in",
        )

    async def _look(self, question: Question, name: str, workspaces: Workspaces, sight: Sight) -> FileTraces | None:
        """What is known of the file of this name; None if nobody knows it."""
        team, limit = question.team, question.limit
        file = await self._pattern(question, name)
        # Who names it by way of a symbolic link means the file that it leads to.
        asked, name = name, "/".join(file.beginning)
        await self._registry.save()  # whoever has done something finds it
        events, unread = await self._read(question)
        history = _NO_HISTORY
        if team.repo is not None:
            keeper, keepers = await keeper_soon(self._supervisor, team.name), self._supervisor.keepers
            trees, path = by_user(keepers, workspaces, keepers.owner(team.name)), os.fsencode(name)
            own = trees.pop(keepers.owner(team.name))
            history = await keeper.file_history(
                repo=team.repo, path=path, workspaces=own, limit=_MOST_COMMITS, merges=_merges(events, team)
            )
            history = await with_others(keepers, history, path, trees)
        tasks = [seen.task for seen in self._tasks.list(team) if _is_about(seen.task, {name, asked})]
        journal = await self._seen(await self._from_journal(events, team, file, name, tasks, history), team, sight)
        leases = await self._seen(self._from_leases(team, file, name), team, sight)
        # A merge by the queue is told of as that, with who is accountable.
        merged = {one.commit for one in journal if one.what == MERGED}
        traces = [
            *(one for one in _from_git(workspaces, name, history) if one.commit not in merged),
            *leases,
            *_claims(tasks, name),
            *journal,
        ]
        # Of a file that only a pattern such as *.py would name nobody knows that there is one.
        if not history.known and not any(_names_it(one) or team.repo is None for one in traces):
            return None
        told = newest_first(traces, question.since)
        unseen, more = [*history.unseen, *unread], max(0, len(told) - limit)
        return FileTraces(path=name, traces=told[:limit], more=more, unseen=unseen)

    async def _read(self, question: Question) -> tuple[list[Event], list[str]]:
        """The newest events that may tell of files of the team's repository; and what of them is too much to read."""
        pages = Pages(realm_of(question.team), question.team.name, question.since)
        await pages.read(self._store)
        return pages.events, pages.unread

    async def _workspaces(self, team: Team, sight: Sight) -> Workspaces:
        """Of all teams that share the repository."""
        there = [one for one in self._registry.agents.values() if one.workspace_kind in (WORKTREE, SHARED)]
        sharing = {one.name for one in self._registry.teams.values() if realm_of(one) == realm_of(team)}
        found: dict[str, list[Agent]] = {}
        for agent in await sight.rows((one for one in there if one.team in sharing), lambda one: one.key):
            found.setdefault(agent.workspace, []).append(agent)
        return found

    async def _seen(self, traces: Iterable[Trace], team: Team, sight: Sight) -> list[Trace]:
        """Teams of one person share a repository: who may see one of them need not know of the others."""
        return await sight.rows(traces, lambda one: whose_is(one.agent or one.person, team, self._registry))

    async def _pattern(self, question: Question, name: str) -> Pattern:
        """What leases are compared with: the file that the name leads to."""
        file = of_file(name)
        try:
            name.encode()
            (file,) = await self._real.of(question.team.name, files_of(question.team, question.agent), [file])
        except WrongUseError as error:
            raise WrongUseError(
                error.message, "name a file that is in it; corral lease ls shows who holds what, directories too"
            ) from error
        except (UnicodeEncodeError, RefusedError):
            return file  # what leads out of the repository, or is no text, is compared as it is written
        return file

    # Where traces come from

    def _from_leases(self, team: Team, file: Pattern, name: str) -> Iterator[Trace]:
        for held in self._leases.held():
            claim = held.lease.claim
            pattern = _first_match(claim.patterns, file) if claim.realm == realm_of(team) else None
            if pattern is not None:
                until = f"until {timestamp(held.expires_at)}"
                detail = f"suspect, {until}" if held.lease.suspect else claim.mode
                yield self._of_party(
                    claim.party.name,
                    Trace(
                        what=HOLDS,
                        time=held.lease.since,
                        path=name,
                        lease=held.lease.lease,
                        pattern=pattern.text,
                        detail=detail,
                    ),
                )

    async def _from_journal(
        self,
        events: Sequence[Event],
        team: Team,
        file: Pattern,
        name: str,
        tasks: Sequence[Task],
        history: FileHistory,
    ) -> list[Trace]:
        held = {held.lease.lease for held in self._leases.held()}
        titles = {task.id: task.title for task in tasks}
        claims = {task.claim.token for task in tasks if task.claim is not None}
        about = _About(team, file, name, held, titles, claims, frozenset(history.merges))
        # Thousands of them: not while others wait for the event loop.
        return await asyncio.to_thread(_read_journal, events, about)

    def _of_party(self, party: str, trace: Trace) -> Trace:
        team, slash, agent = party.partition("/")
        if not slash:
            return replace(trace, person=party)
        known = self._registry.agents.get((team, agent))
        return replace(trace, agent=party, person=known.user if known is not None else "")


@dataclass(frozen=True, slots=True)
class _About:
    """What an event has to be about to be told."""

    team: Team
    file: Pattern
    name: str
    #: Leases that are held now, and are told of as that.
    held: set[str]
    #: Tasks that name the file, by id.
    titles: Mapping[str, str]
    #: Tokens of the claims on them, which are told of as that.
    claims: set[int]
    #: Merges that brought the file, or would have.
    merges: frozenset[AskedMerge]

    def matches(self, pattern: str) -> bool:
        return parse(pattern).overlaps(self.file)


def _from_git(workspaces: Workspaces, name: str, history: FileHistory) -> Iterator[Trace]:
    for change in history.open_changes:
        here = workspaces.get(change.workspace, [])
        alone = here[0] if len(here) == 1 and here[0].workspace_kind == WORKTREE else None
        yield Trace(
            what=CHANGING,
            time=change.time,
            agent="/".join(alone.key) if alone is not None else "",
            person=alone.user if alone is not None else "",
            path=name,
            workspace=change.workspace,
            detail=f"{change.how}, in no commit yet" + _shared_by(here if alone is None else []),
        )
    for commit in history.commits:
        yield Trace(
            what=COMMITTED,
            time=commit.time,
            agent=agent_of_branch(commit.branch),
            person=commit.author,
            path=os.fsdecode(commit.path) or name,
            commit=commit.commit,
            branch=commit.branch,
            detail=commit.subject,
        )


def _merges(events: Sequence[Event], team: Team) -> list[AskedMerge]:
    """The merges of the team that came to an end, the newest first."""
    found = (_asked(event) for event in reversed(events) if event.team == team.name and _is_merge(event))
    return list(dict.fromkeys(found))


def _is_merge(event: Event) -> bool:
    kind, _, what = event.event.partition(".")
    return kind == "merge" and what in _MERGE_OUTCOMES


def _asked(event: Event) -> AskedMerge:
    tip, base, commit, target = (str(event.data.get(key) or "") for key in ("tip", "base", "commit", "target"))
    return AskedMerge(tip=tip, base=base or target, commit=commit if event.event == "merge.merged" else "")


def _read_journal(events: Sequence[Event], about: _About) -> list[Trace]:
    """What the journal has of the file, its events being in order."""
    found = []
    for event in events:
        kind, _, what = event.event.partition(".")
        if kind == "lease":
            trace = _lease_trace(event, about)
        elif kind == "task" and event.team == about.team.name:
            trace = _task_trace(event, about)
        elif event.team == about.team.name and _is_merge(event):
            trace = _merge_trace(event, about)
        else:
            continue
        if trace is not None:
            found.append(_by(event, replace(trace, what=what, time=event.time, path=about.name)))
    return found


def _lease_trace(event: Event, about: _About) -> Trace | None:
    lease, patterns, realm = (event.data.get(key) for key in ("lease", "patterns", "realm"))
    if not isinstance(patterns, list) or lease in about.held:
        return None
    if realm != realm_of(about.team) if isinstance(realm, str) else event.team != about.team.name:
        return None
    pattern = next((str(text) for text in patterns if about.matches(str(text))), None)
    if pattern is None:
        return None
    return Trace(what="", time=None, lease=str(lease), pattern=pattern, detail=str(event.data.get("mode")))


def _task_trace(event: Event, about: _About) -> Trace | None:
    task = str(event.data.get("task"))
    if event.event == "task.claimed" and event.data.get("token") in about.claims:
        return None
    return Trace(what="", time=None, task=task, detail=about.titles[task]) if task in about.titles else None


def _merge_trace(event: Event, about: _About) -> Trace | None:
    """A merge that brought the file into the target, or would have."""
    if _asked(event) not in about.merges:
        return None
    branch, tip, commit, target = (str(event.data.get(key) or "") for key in ("branch", "tip", "commit", "target"))
    reason = str(event.data.get("reason") or "")
    return Trace(
        what="", time=None, branch=branch, commit=commit or tip, detail=reason or (f"into {target}" if target else "")
    )


def _by(event: Event, trace: Trace) -> Trace:
    """Whose it was: the agent that the event is about, else whoever caused it."""
    holder = event.data.get("holder") or event.data.get("person")
    agent = f"{event.team}/{event.agent}" if event.agent else "" if holder else event.who.agent
    person = str(holder) if holder else event.who.user if event.who.uid >= 0 else ""
    return replace(trace, agent=agent, person=person)


def _claims(tasks: Sequence[Task], name: str) -> Iterator[Trace]:
    """Tasks that name the file and that somebody has."""
    for task in tasks:
        claim = task.claim
        if claim is not None:
            yield Trace(
                what=CLAIMS,
                time=claim.time,
                agent=claim.by if claim.agent else "",
                person="" if claim.agent else claim.by,
                path=name,
                task=task.id,
                detail=task.title,
            )


def _is_about(task: Task, names: Collection[str]) -> bool:
    return any(mentions(task.title, name) or mentions(task.body, name) for name in names)


def _names_it(trace: Trace) -> bool:
    """True for what is about this very file, and not about all that a pattern may name."""
    return not trace.pattern or parse(trace.pattern).is_plain


def _first_match(patterns: Sequence[Pattern], file: Pattern) -> Pattern | None:
    return next((one for one in patterns if one.overlaps(file)), None)


def _shared_by(agents: Sequence[Agent]) -> str:
    if not agents:
        return ""
    return f"; the checkout is shared by {', '.join('/'.join(agent.key) for agent in agents[:5])}"
