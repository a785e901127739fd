"""What a coding agent's hook is answered: may this file be written, and what does the agent know of it from now on?

The files are looked at by a keeper, which is where they are. What is decided rests on leases and on what each session
has read and written (`domain.file_notes`); what is noted is on the disk before the hook hears of it, so that it counts
after a crash as well.
"""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from corral.agents.catalogue import for_command, profiles
from corral.domain import hook_activity, hook_reasons
from corral.domain.errors import NotFoundError, WrongUseError
from corral.domain.file_notes import BEING_WRITTEN, GONE, Key, Note, Objection, Session
from corral.domain.hook_calls import AFTER, BEFORE, FAILED, OVER, WRITE, Call, NotUnderstoodError, Verdict
from corral.domain.hook_dialects import Dialect
from corral.domain.hook_words import words_of
from corral.domain.lease_model import Party
from corral.domain.records import SUPERVISOR, Agent, NewEvent, Team, Who
from corral.domain.writes import NoAccess, Refusal
from corral.ports.files import SeenFile
from corral.ports.store import Change, Item
from corral.service.context import Context
from corral.service.hook_notices import HookNotices
from corral.service.lease_claims import Asking, files_of, realm_of
from corral.service.leases import LeaseService
from corral.service.ledger import Ledger
from corral.service.noted_files import NotedFiles, OnePersons
from corral.service.writes import Refused, WriteService

_KIND = "file note"
#: A longer name of a conversation is cut.
_LONGEST_SESSION = 200
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a hook said, and who it was."""

    #: The event, in whichever spelling.
    event: str
    said: bytes
    #: Of the environment that the hook runs in; empty for a coding agent that a person started.
    team: str = ""
    agent: str = ""
    run: str = ""
    #: The directory that the hook was started in.
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class _Asker:
    """Whose hook it is."""

    who: Who
    dialect: Dialect
    #: What is known of the agent; None for a person, and for an agent of a team that is not up any more.
    agent: Agent | None
    #: The run that the hook is of, if it says so.
    run: str
    #: TEAM/AGENT, or a person.
    party: str
    session: Session
    #: What the person knows whose it is, and their agents.
    known: OnePersons


@dataclass(frozen=True, slots=True)
class _File:
    """A file that counts: it is in a repository that a team is up for."""

    seen: SeenFile
    team: Team


class AgentHooks:
    """The use case."""

    def __init__(self, context: Context, ledger: Ledger, leases: LeaseService, notices: HookNotices) -> None:
        self._store = context.store
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._now = context.now
        self._ledger = ledger
        self._leases = leases
        self._writes = WriteService(leases)
        #: What agents are told of by the way.
        self.notices = notices
        self._noted = NotedFiles(self._person_of)
        #: Told of what an agent was given to read, by its own hook.
        self.on_words: Callable[[tuple[str, str], str], Awaitable[None]] = _to_nobody
        ledger.keep(self._read)
        context.registry.watch_agents(self._agents_changed)

    async def _read(self) -> Callable[[], None]:
        found = [
            (*_key_of(item.key), msgspec.msgpack.decode(item.value, type=Note))
            for item in await self._store.items(_KIND)
        ]

        def put() -> None:
            self._noted.put(found)
            # Agents that went while nobody looked.
            self._agents_changed({_agent_of(session.party) for session, _, _ in found if "/" in session.party})

        return put

    async def hear(self, who: Who, dialect: Dialect, heard: Heard) -> Verdict:
        """The answer to one call of a hook. `WrongUseError` for what cannot be understood: nobody can judge that.

        Where the answer can carry it, the agent is told of messages that it does not know of, and words that wait for
        its keyboard. That counts once `notices` hears that it was handed on.
        """
        try:
            told = msgspec.json.decode(heard.said)
            call = dialect.read(heard.event, told)
        except (NotUnderstoodError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise WrongUseError(
                f"what {dialect.title} said at {heard.event} cannot be understood: {error}",
                "its hook protocol may have changed: corral hook --help names what is known",
            ) from None
        asker = self._asker(who, dialect, heard, call)
        self._show_life(asker)
        does = hook_activity.said(heard.event, told, self._now())
        if asker.agent is not None and does is not None:
            self._supervisor.activities.hooked(asker.agent.key, asker.run or asker.agent.run, does)
        if asker.agent is not None and (words := words_of(heard.event, told)):
            await self.on_words(asker.agent.key, words)
        if asker.agent is not None and call.session:
            await self._supervisor.conversations.heard(asker.agent.key, asker.run, dialect.name, call.session)
        verdict = await self._judge(asker, call, heard.cwd)
        agent = self._addressee(asker, call)
        if verdict.reason or agent is None or not dialect.can_inform(heard.event):
            return verdict
        offer = await self.notices.offer(agent.key, agent.run, at_work=call.when in (AFTER, FAILED))
        if offer is None:
            return verdict
        return Verdict(notice=offer.text, warning=offer.seen, receipt=offer.receipt)

    def _addressee(self, asker: _Asker, call: Call) -> Agent | None:
        """The agent that has a mailbox, if the answer goes to that one itself.

        What a person started is not, nor is a helper within the agent, whose memory ends with its work, nor another
        program that the agent has do something for it, nor what is left of an earlier run.
        """
        agent = asker.agent
        if agent is None or call.helper or asker.run not in ("", agent.run):
            return None
        profile = for_command(agent.command, agent.shell)
        return agent if profile is None or profile.name == asker.dialect.name else None

    async def _judge(self, asker: _Asker, call: Call, cwd: str) -> Verdict:
        if call.when == OVER:
            await self._finish(asker)
            return Verdict()
        if not call.act or not call.paths:
            return Verdict()
        if call.is_about_to_write:
            # One at a time, from the look to the decision: what is decided on must not be old by then.
            async with asker.known.deciding:
                busy = asker.known.notes.being_written(_clock())
                return await self._before_writing(asker, await self._files(asker, call, cwd), busy)
        await self._take_note(asker, call, await self._files(asker, call, cwd))
        return Verdict()

    def _asker(self, who: Who, dialect: Dialect, heard: Heard, call: Call) -> _Asker:
        agent = self._registry.agents.get((heard.team, heard.agent))
        party = "/".join(agent.key) if agent is not None else who.user
        run = heard.run or (agent.run if agent is not None else "")
        session = Session(party, _one_line(call.session or run or "-"))
        return _Asker(who, dialect, agent, heard.run, party, session, self._noted.of(party))

    def _person_of(self, party: str) -> str:
        """Whose an agent is, or the person; in the instance of one person it is all the same."""
        if not self._supervisor.keepers.shared:
            return ""
        team = self._registry.teams.get(_agent_of(party)[0])
        return party if "/" not in party else team.user if team is not None else ""

    def _show_life(self, asker: _Asker) -> None:
        """Renew what the agent, or the person, holds: that a hook is run is a sign of life."""
        run = asker.run or (asker.agent.run if asker.agent is not None else "")
        for realm in {realm_of(team) for team in self._concerned(asker)}:
            self._leases.renew_all(realm, Party(asker.party, run))

    def _concerned(self, asker: _Asker) -> list[Team]:
        """The teams that what the asker writes may be of. On a shared server those whose leases are its own matter: of
        what others hold, nobody is told by touching their files.
        """
        teams = self._registry.teams.values()
        if not self._supervisor.keepers.shared:
            return list(teams)
        if asker.agent is None:
            return [team for team in teams if team.user == asker.who.user]
        own = self._registry.teams.get(asker.agent.team)
        return [] if own is None else [team for team in teams if realm_of(team) == realm_of(own)]

    async def _files(self, asker: _Asker, call: Call, cwd: str) -> list[_File]:
        """Those of the files that are in a repository of some team that counts, wherever it is checked out."""
        concerned = {team.name: team for team in self._concerned(asker)}
        tops = {files_of(team, None): team for team in concerned.values()}
        for agent in self._registry.agents.values():
            team = concerned.get(agent.team)
            if team is not None:
                tops.setdefault(files_of(team, agent), team)
        if not tops:
            return []
        where = call.cwd or cwd
        seen = await self._supervisor.insist_for(
            asker.who.user, lambda keeper: keeper.look_at_files(cwd=where, paths=list(call.paths), tops=list(tops))
        )
        return [_File(file, tops[file.top]) for file in seen if file.top]

    # Before

    async def _before_writing(self, asker: _Asker, files: Sequence[_File], busy: Mapping[str, Session]) -> Verdict:
        """All of them, or none: a tool that writes several does not stop in the middle."""
        for file in files:
            asking = Asking(team=file.team, agent=asker.agent, user=asker.who.user)
            path = os.fsencode(file.seen.below)
            held = await self._writes.check(asking, [path], run=asker.run, ignore_case=False, shared=True)
            outside = _outside(asker, file, held)
            if outside is not None:
                self._tell_refusal(asker, file, outside.why)
                return Verdict(reason=hook_reasons.no_access(file.seen.below, outside))
            if held and isinstance(found := held[0].refusal, Refusal):
                self._tell_refusal(asker, file, found.why, holder=found.lease.claim.party.name, lease=found.lease.lease)
                return Verdict(reason=hook_reasons.held(file.seen.below, found, held[0].expires_at))
            objection = asker.known.notes.objection(asker.session, file.seen.real, file.seen.stamp, busy)
            if objection is not None:
                return await self._object(asker, file, objection)
        for file in files:
            asker.known.notes.begin_writing(asker.session, file.seen.real, file.seen.stamp, _clock())
        return Verdict()

    async def _object(self, asker: _Asker, file: _File, objection: Objection) -> Verdict:
        self._tell_refusal(asker, file, objection.why, **({"by": objection.by} if objection.by else {}))
        # Who cannot show that it looked again, because its readings are not told or nothing is there to be read, is
        # refused once for each change, and not for ever.
        once = objection.why == GONE or (objection.why != BEING_WRITTEN and not asker.dialect.tells_reads)
        if once:
            gone = asker.known.notes.was_told(asker.session, file.seen.real, file.seen.stamp, self._now())
            await self._write(asker, [file.seen.real], gone)
        return Verdict(reason=hook_reasons.objected(file.seen.below, asker.party, objection, once=once))

    def _tell_refusal(self, asker: _Asker, file: _File, why: str, **more: object) -> None:
        team, agent = _agent_of(asker.party)
        event = NewEvent(
            event="hook.refused",
            team=team,
            agent=agent,
            outcome="refused",
            data={"path": file.seen.below, "why": why, **more},
        )
        self._registry.note(asker.who, event)

    # Reading, and after

    async def _take_note(self, asker: _Asker, call: Call, files: Sequence[_File]) -> None:
        noted: list[str] = []
        gone: list[Key] = []
        for file in files:
            path, stamp = file.seen.real, file.seen.stamp
            if call.when == FAILED:
                asker.known.notes.failed(asker.session, path)
            elif call.when == BEFORE:
                asker.known.notes.begin_reading(asker.session, path, stamp, _clock())
            else:
                noted.append(path)
                if call.act == WRITE:
                    gone += asker.known.notes.wrote(asker.session, path, stamp, self._now())
                else:
                    gone += asker.known.notes.has_read(asker.session, path, stamp, self._now(), _clock())
        if noted:
            await self._write(asker, noted, gone)

    async def _finish(self, asker: _Asker) -> None:
        """Nothing is under way any more. What was begun and not said to be done may have happened or not."""
        paths = asker.known.notes.unfinished(asker.session, _clock())
        if paths:
            gone: list[Key] = []
            left = await self._files(asker, Call(when=AFTER, act=WRITE, paths=paths, cwd="/"), "")
            for file in left:
                gone += asker.known.notes.left(asker.session, file.seen.real, file.seen.stamp, self._now())
            await self._write(asker, [file.seen.real for file in left], gone)
        asker.known.notes.over(asker.session)

    async def _write(self, asker: _Asker, paths: Sequence[str], gone: Sequence[Key]) -> None:
        known = [(_key(asker.session, path), asker.known.notes.known(asker.session, path)) for path in paths]
        await self._ledger.write(
            Change(
                who=asker.who,
                time=self._now(),
                put_items=[Item(_KIND, key, _encode(note)) for key, note in known if note is not None],
                drop_items=[(_KIND, _key(*key)) for key in gone],
            )
        )

    # Registering

    async def register(self, who: Who, program: str, directory: str, *, remove: bool) -> str:
        """Have a coding agent run our hooks when it works in a directory, or no more.

        The answer is what a person should know of it; empty if all is well.
        """
        known = [profile.name for profile in profiles() if profile.hooks is not None]
        if program not in known:
            raise NotFoundError(
                f"Corral cannot register hooks with {program[:40]!r}", f"it can with: {', '.join(known)}"
            )
        if not os.path.isabs(directory):
            raise WrongUseError(f"{directory[:200]!r} is no absolute path", "name the directory with its whole path")
        note = await self._supervisor.insist_for(
            who.user, lambda keeper: keeper.register_hooks(path=directory, profile=program, remove=remove)
        )
        event = NewEvent(
            event="hook.unregistered" if remove else "hook.registered",
            data={"program": program, "directory": directory, "note": note},
        )
        self._registry.note(who, event)
        return note

    # What happens by itself

    def _agents_changed(self, keys: Collection[tuple[str, str]]) -> None:
        """What agents knew that are no more is nobody's."""
        gone = [note for key in keys if key not in self._registry.agents for note in self._noted.forget("/".join(key))]
        if gone:
            drop = [(_KIND, _key(*key)) for key in gone]
            written = self._ledger.submit(Change(who=SUPERVISOR, time=self._now(), drop_items=drop))
            # If that fails, the notes are read again, and forgotten again with the next change.
            written.add_done_callback(lambda done: done.exception())


def _outside(asker: _Asker, file: _File, held: Sequence[Refused]) -> NoAccess | None:
    """The file is not one that the agent is declared to write: by its name, or because it is of another checkout."""
    agent = asker.agent
    if agent is None or agent.access.write is None:
        return None
    if file.seen.top != files_of(file.team, agent) or agent.team != file.team.name:
        return NoAccess(path=file.seen.below, write=agent.access.write)
    return next((one.refusal for one in held if isinstance(one.refusal, NoAccess)), None)


def _clock() -> float:
    return asyncio.get_running_loop().time()


def _one_line(name: str) -> str:
    return " ".join(name[:_LONGEST_SESSION].split()) or "-"


def _key(session: Session, path: str) -> str:
    return f"{session.party}\n{session.name}\n{path}"


def _key_of(key: str) -> tuple[Session, str]:
    party, name, path = key.split("\n", 2)
    return Session(party, name), path


def _agent_of(party: str) -> tuple[str, str]:
    """The team and the name of an agent; of a person, nothing."""
    team, slash, agent = party.partition("/")
    return (team, agent) if slash else ("", "")


async def _to_nobody(_: tuple[str, str], __: str) -> None:
    """Where nobody wants to know what agents are given to read."""
