"""Keeping a team's repository and the copies of it that its guests work in up with each other (ADR 32).

A guest is another user than the team's own, who runs agents of the team. What those commit is handed in: looked at, and
put on the branch of each by the keeper whose repository it is. What is new in the repository is brought to the copy by
the guest's keeper. Both are done before anything relies on it, and besides whenever a branch moves on either side.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from weakref import WeakValueDictionary

import msgspec

from corral.background import Background
from corral.domain.copies import MOST_REFS, branch_of, brought, copy_beside, guest_of, lent
from corral.domain.errors import CorralError, RefusedError, UnavailableError
from corral.domain.foreign_words import foreign_words, told_error
from corral.domain.records import Agent, NewEvent, Team
from corral.domain.states import LIVE
from corral.ports.keeper import Keeper
from corral.ports.lending import PIECE_BYTES, Refs
from corral.supervise.keepers import Keepers
from corral.supervise.registry import Registry
from corral.supervise.supervisor import Supervisor

log = logging.getLogger("corral.daemon")

#: Who commits without an end is not followed faster than this, in seconds.
_PAUSE = 0.5
#: What an agent has committed is sent within so many seconds: others wait for it.
_HANDING_SECONDS = 900.0


class Lending:
    """The use case of all of it. Nothing in it is written down: what is where, the repositories say."""

    def __init__(self, registry: Registry, supervisor: Supervisor, instance: str) -> None:
        self._registry = registry
        self._keepers: Keepers = supervisor.keepers
        self._instance = instance
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._background = Background()
        #: Teams that are brought up to date now, and those in which something has moved since that began.
        self._at_work: set[str] = set()
        self._again: set[str] = set()
        #: Which keeper was asked last to tell of branches, by team, since when that is up, and directory. Of which of
        #: these it was said that nobody does.
        self._asked: dict[tuple[str, float, str], Keeper] = {}
        self._unheard: set[tuple[str, float, str]] = set()
        #: Guests with a worktree since this daemon is there, by team and since when that is up.
        self._made: set[tuple[str, float, str]] = set()
        #: What kept an agent's commits from being handed in, as it was told last.
        self._told: dict[tuple[str, str], CorralError] = {}
        supervisor.on_branches = self.moved
        supervisor.on_looked = self.looked

    def end(self) -> None:
        """The daemon goes; the next one looks at everything again."""
        self._background.cancel()

    def moved(self, team: str) -> None:
        """A branch moved in the team's repository, or in a copy of it."""
        if not self._guests(team):
            return
        if team in self._at_work:
            self._again.add(team)
            return
        self._at_work.add(team)
        self._background.spawn(self._keep_up(team), name=f"copies of {team}")

    def looked(self, team: str) -> None:
        """The keepers of a team were seen: they may be others than were asked to tell of branches."""
        record, new = self._registry.teams.get(team), False
        for user, directory in self._directories(record) if record is not None else ():
            assert record is not None
            keeper, about = self._keepers.of_user(user).connected, (team, record.created_at, directory)
            if keeper is not None and self._asked.get(about) is not keeper:
                self._asked[about] = keeper
                self._background.spawn(self._watch(keeper, about), name=f"branches of {team}")
                new = True
        if new:
            self._forget()
            self.moved(team)

    def made(self, team: Team, agent: Agent) -> None:
        """The agent has a worktree by now. The copy that it is of, if any, is followed from now on."""
        if guest := guest_of(team, agent):
            self._made.add((team.name, team.created_at, guest))
            self.looked(team.name)
            self.moved(team.name)

    async def exchange(self, team: Team, agent: Agent, *, making: bool = False) -> None:
        """Have what the guest who runs this agent has, and what is in the repository, be in both. Nothing to do for an
        agent that works in the repository itself. Only who is `making` a worktree has a copy made.
        """
        guest = guest_of(team, agent)
        if not guest or team.repo is None:
            return
        async with self._turns.setdefault((team.name, guest), asyncio.Lock()):
            await self._exchange(team, team.repo, guest, copy_beside(agent.workspace), making=making)
        self.looked(team.name)

    @contextlib.asynccontextmanager
    async def at_rest(self, team: str, guest: str) -> AsyncIterator[None]:
        """Nothing is carried to or from the copy of this guest meanwhile."""
        async with self._turns.setdefault((team, guest), asyncio.Lock()):
            yield

    async def hand_in(self, team: Team, agent: Agent) -> None:
        """As `exchange`. Raises what keeps the commits of this agent from coming into the repository."""
        await self.exchange(team, agent)
        if not guest_of(team, agent):
            return
        if error := self._told.get(agent.key):
            told = RefusedError(f"what {agent.name} committed did not come in: {error.message}", error.remedy)
            told.said_by = error.said_by
            raise told

    async def in_copy_alone(self, team: Team, agent: Agent, branch: str) -> bool:
        """Whether a branch is not as it is in the repository, because somebody changed it in the agent's copy."""
        guests = await self._keepers.of_user(guest_of(team, agent)).open()
        refs = (await guests.refs(copy_beside(agent.workspace))).refs
        return refs.get(f"refs/heads/{branch}") != brought(refs).get(f"refs/heads/{branch}")

    # In the background

    async def _keep_up(self, team: str) -> None:
        try:
            while True:
                self._again.discard(team)
                record = self._registry.teams.get(team)
                for agent in self._guests(team).values() if record is not None else ():
                    assert record is not None
                    try:
                        await self.exchange(record, agent)
                    except CorralError as error:
                        log.warning("the copy of %s for %s is not up to date: %s", team, agent.run_as, error.message)
                await asyncio.sleep(_PAUSE)
                if team not in self._again:
                    return
        finally:
            self._at_work.discard(team)

    async def _watch(self, keeper: Keeper, about: tuple[str, float, str]) -> None:
        team, _, directory = about
        try:
            await keeper.watch_branches(team=team, directory=directory)
        except CorralError as error:
            if self._asked.get(about) is keeper:
                del self._asked[about]  # to be asked again with the next look
            if about in self._unheard:
                return
            self._unheard.add(about)
            log.warning("nobody tells when branches of %s move in %s: %s", team, directory, error.message)

    def _forget(self) -> None:
        """Of teams that are gone."""
        there = {(one.name, one.created_at) for one in self._registry.teams.values()}
        self._asked = {about: keeper for about, keeper in self._asked.items() if about[:2] in there}
        self._unheard = {about for about in self._unheard if about[:2] in there}
        self._made = {about for about in self._made if about[:2] in there}

    def _guests(self, team: str) -> dict[str, Agent]:
        """By user, one agent of each guest who has a copy."""
        record = self._registry.teams.get(team)
        if record is None or record.repo is None:
            return {}
        agents = [one for one in self._registry.of_team(team).values() if guest_of(record, one)]
        made = {guest for *about, guest in self._made if about == [record.name, record.created_at]}
        return {one.run_as: one for one in agents if one.state in LIVE or one.run_as in made}

    def _directories(self, team: Team) -> list[tuple[str, str]]:
        """By whose they are, the repository and its copies; none if there are no copies."""
        copies = [(guest, copy_beside(agent.workspace)) for guest, agent in self._guests(team.name).items()]
        return [(team.user, team.repository or team.repo or ""), *copies] if copies else []

    # Between two keepers

    async def _exchange(self, team: Team, repo: str, guest: str, copy: str, *, making: bool) -> None:
        owners = await self._keepers.of_user(team.user).open()
        guests = await self._keepers.of_user(guest).open()
        there = await owners.refs(repo)
        if making:
            await guests.make_copy(copy=copy, of=there.common, object_format=there.object_format)
        here = await guests.refs(copy)
        if len(here.refs) > MOST_REFS:
            raise RefusedError(
                f"the keeper of {guest} tells of {len(here.refs):,} branches and tags in its copy",
                f"at most {MOST_REFS:,} are possible",
            )
        if await self._hand_in(team, repo, guest, copy, (owners, guests), here=here.refs, there=there.refs):
            there = await owners.refs(repo)
        await self._bring(team.name, repo, copy, (owners, guests), here=here, there=there)

    async def _hand_in(
        self,
        team: Team,
        repo: str,
        guest: str,
        copy: str,
        keepers: tuple[Keeper, Keeper],
        *,
        here: Mapping[str, str],
        there: Mapping[str, str],
    ) -> bool:
        """Whether anything was: what one agent cannot hand in keeps no other from it."""
        owners, guests = keepers
        done = False
        for agent in list(self._registry.of_team(team.name).values()):
            branch = f"refs/heads/{branch_of(team.name, agent.name)}"
            # In the copy it has another name if an agent beside it has switched to that one.
            tip = here.get(f"{branch}.{self._instance}") or here.get(branch, "")
            if guest_of(team, agent) != guest:
                continue
            if not tip or there.get(branch) == tip:
                self._told.pop(agent.key, None)
                continue
            try:
                pack = ""
                if tip not in there.values():
                    async with asyncio.timeout(_HANDING_SECONDS):
                        pack = await carry((guests, copy), (owners, repo), [tip], there.values(), apart=True)
                put = await owners.hand_in(repo=repo, team=team.name, agent=agent.name, tip=tip, pack=pack, by=guest)
            except TimeoutError:
                late = f"the keeper of {guest} did not have it sent within {_HANDING_SECONDS:.0f} s"
                await self._tell(agent, UnavailableError(late, "it is tried again with the next commit"))
            except CorralError as error:
                await self._tell(agent, error)
            else:
                done = True
                self._told.pop(agent.key, None)
                if put.moved:
                    await self._journal(agent, guest, put.before, tip)
        return done

    async def _bring(
        self, team: str, repo: str, copy: str, keepers: tuple[Keeper, Keeper], *, here: Refs, there: Refs
    ) -> None:
        owners, guests = keepers
        theirs = lent(there.refs)
        # What the repository has got the history of since, and the copy has not.
        deepened = not set(here.shallow) <= set(there.shallow)
        if theirs == brought(here.refs) and here.head == (there.head or here.head) and not deepened:
            return
        # HEAD may be at a commit that is on no branch. Worktrees begin there.
        at_head = {there.head} - {"", here.head} if not there.head.startswith("refs/") else set()
        have = () if deepened else here.refs.values()
        wanted = sorted((set(theirs.values()) | at_head) - set(have))
        pack = ""
        if wanted:
            pack = await carry((owners, repo), (guests, copy), wanted, have, apart=False)
        await guests.follow(
            copy=copy,
            team=team,
            there=msgspec.structs.replace(there, refs=theirs),
            pack=pack,
        )

    async def _journal(self, agent: Agent, guest: str, before: str, tip: str) -> None:
        """A branch moved in somebody's repository, and nobody had asked for it just then."""
        data: dict[str, object] = {
            "branch": branch_of(agent.team, agent.name),
            "before": foreign_words(before),
            "commit": tip,
            "user": guest,
        }
        event = NewEvent(event="agent.handed_in", team=agent.team, agent=agent.name, data=data)
        await self._registry.observe((), [event])

    async def _tell(self, agent: Agent, error: CorralError) -> None:
        """Say once what keeps an agent's commits from coming into the repository."""
        before = self._told.get(agent.key)
        self._told[agent.key] = error
        if before is not None and before.message == error.message:
            return
        reason = f"what it committed did not come into the repository: {told_error(error)}"
        log.warning("%s/%s: %s", agent.team, agent.name, reason)
        event = NewEvent(
            event="agent.degraded", team=agent.team, agent=agent.name, outcome="degraded", data={"reason": reason}
        )
        await self._registry.observe((), [event])


async def carry(
    source: tuple[Keeper, str], target: tuple[Keeper, str], want: Sequence[str], have: Collection[str], *, apart: bool
) -> str:
    """Carry what is wanted from one repository to another, in pieces; the pack as the other keeper knows it."""
    (sender, from_directory), (receiver, to_directory) = source, target
    sent = await sender.send_pack(directory=from_directory, want=list(want), have=sorted(set(have)))
    try:
        taken = await receiver.receive_pack(directory=to_directory, apart=apart)
        try:
            while piece := await sender.read_pack(sent):
                if len(piece) > PIECE_BYTES:
                    raise RefusedError(f"a piece of {len(piece):,} bytes was sent", "at most 1 MiB is possible")
                await receiver.write_pack(taken, piece)
        except BaseException:
            await receiver.drop_pack(taken)
            raise
    except BaseException:
        await sender.drop_pack(sent)
        raise
    return taken
