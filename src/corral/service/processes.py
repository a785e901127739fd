"""The use cases around processes: commands that are run for agents, and what becomes of them.

A process is the keeper's: it says what there is and how it ended. Here is decided whether a command may run, how long
somebody waits for it, and what is written down about it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from corral.domain import states
from corral.domain.errors import CorralError, NotFoundError, RefusedError, UnavailableError
from corral.domain.process_ids import is_process_id
from corral.domain.process_output import Shown
from corral.domain.records import Agent, NewEvent, Who
from corral.domain.signal_names import name_of
from corral.ports.processes import Execution, Process, Survivor
from corral.service import process_orders
from corral.service.context import Context
from corral.service.lists import Asked
from corral.service.patience import Patience
from corral.service.process_finding import ProcessFinding, no_process
from corral.service.process_notes import ProcessNotes
from corral.service.process_orders import OTHER_SHELL, Plan, Wanted
from corral.service.process_owners import Owner
from corral.service.process_reading import Place, ProcessReader, Question, Reading
from corral.service.reaching import keeper_soon
from corral.service.resolve import find_agent, find_team
from corral.service.running import must_run
from corral.service.turn import MayGoOn, as_decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """What became of a command that was to be run."""

    team: str
    process: Process
    shown: Shown
    timed_out: bool
    #: It ended in `&`, and was run without it in the background.
    promoted: bool
    survivors: Sequence[Survivor]
    #: What a person should know besides; empty if there is nothing.
    note: str


class Processes:
    """The use cases."""

    def __init__(self, context: Context) -> None:
        self._registry = context.registry
        self._supervisor = context.supervisor
        self._reader = ProcessReader(context.supervisor)
        self._notes = ProcessNotes(context.registry)
        self._known = ProcessFinding(context.registry, context.supervisor)

    async def settled(self) -> None:
        """Wait until everything that was done is in the journal."""
        await self._notes.settled()

    # Starting

    async def execute(self, who: Who, agent: Agent, wanted: Wanted, may_go_on: MayGoOn = as_decided) -> Executed:
        """Run a command in an agent's place, and wait for its end as long as the caller likes.

        One that is to run in the background, or ends in `&`, is answered for at once, even if it is about to fail.
        A command that has not ended when time is up goes on. `NotFoundError` for an id that is another agent's.
        """
        process_orders.check(wanted)
        # An id that is made here is nobody's.
        has_waited = bool(wanted.process) and await self._known.look_for(wanted.process)
        if agent.state == states.UNKNOWN:
            # A keeper may just have died, and the next one sees the agent again: it is looked for first.
            async with self._supervisor.lock(agent.team):
                await self._supervisor.be_certain(agent.team, [agent.name])
            has_waited = True
        if has_waited:
            await may_go_on()
            agent = self._registry.agent(agent.team, agent.name)
        must_run(
            agent,
            ended="nothing can be run for it",
            paused="what it runs would stand still until it goes on",
            then="run it",
        )
        patience = Patience(wanted.timeout)
        plan, seen = await self._started(who, agent, wanted, patience)
        place = Place(agent.team, agent.name, seen.process.process)
        unread = "" if wanted.input is None else await self._feed(place, wanted.input)
        if seen.process.running and not plan.background and (wanted.input is not None or not patience.over):
            await self._until_ended(place, patience)
            seen = await self._reader.look(place, 0, wanted.limit, 0.0)
        return Executed(
            team=agent.team,
            process=seen.process,
            shown=await self._reader.ends(place, seen, wanted.limit),
            timed_out=seen.process.running and not plan.background,
            promoted=plan.promoted,
            survivors=seen.survivors,
            note="; ".join(part for part in (unread, *_remarks(plan, seen, wanted.timeout)) if part),
        )

    async def _started(self, who: Who, agent: Agent, wanted: Wanted, patience: Patience) -> tuple[Plan, Execution]:
        """The command, started, and seen when it ended or a portion of the time was over."""
        team = find_team(self._registry, name=agent.team)
        plan = process_orders.plan(team, agent, wanted)
        try:
            return plan, await self._start(who, agent, wanted, plan, patience)
        except NotFoundError:
            if wanted.command is None:
                raise
        # There is no bash, or no such directory. With the shell that every host has, it will be known which.
        plan = process_orders.plan(team, agent, wanted, OTHER_SHELL)
        return plan, await self._start(who, agent, wanted, plan, patience)

    async def _start(self, who: Who, agent: Agent, wanted: Wanted, plan: Plan, patience: Patience) -> Execution:
        order = plan.order
        owner = self._known.owner_before(order.process)
        if owner is None:
            # Written before it is so: a command may be over before anybody hears that it began.
            about = {"process": order.process, **process_orders.fingerprint(wanted)}
            self._note(who, agent.key, "process.started", about)
            self._known.remember(order.process, agent.key)
        elif owner != agent.key:
            raise no_process(order.process)  # as of any id that is not the agent's
        wait = 0.0 if plan.background or wanted.input is not None else patience.portion
        try:
            # The keeper knows an order again by its id: whichever keeper gets it, it is started once.
            return await self._supervisor.insist(
                agent.team, lambda keeper: keeper.execute(agent.team, order, wait, wanted.limit), [agent.name]
            )
        except CorralError as error:
            is_unknown = isinstance(error, UnavailableError)
            outcome = "unknown" if is_unknown else "failed"
            self._note(who, agent.key, "process.failed", {"process": order.process, "error": error.code}, outcome)
            if owner is None and not is_unknown:
                # What may run keeps its id, and so does what had it before.
                self._known.forget(order.process, agent.key)
            raise

    async def _feed(self, place: Place, data: bytes) -> str:
        """Give it its input. One that did not want to read it all is not failed, but told of."""
        keeper = await keeper_soon(self._supervisor, place.team, place.agent)
        try:
            await keeper.write_process(place.team, place.agent, place.process, data=data, eof=True)
        except UnavailableError:
            raise
        except CorralError as error:
            return f"it has not read all of its input: {error.message}"
        return ""

    # Looking

    async def list(
        self, *, team: str, agent: str, cwd: str, teams: Sequence[str] | None = None
    ) -> Asked[Sequence[Process]]:
        """Processes by team, the oldest first: of an agent, of a team, or of `teams` (None: of all there are)."""
        if agent:
            found = find_agent(self._registry, team=team, agent=agent, cwd=cwd)
            return await self._known.of_each([found.team], found.name, named=True)
        if team:
            return await self._known.of_each([find_team(self._registry, name=team).name], "", named=True)
        return await self._known.of_each(sorted(self._registry.teams) if teams is None else teams, "", named=False)

    async def find(
        self,
        process: str,
        *,
        team: str,
        agent: str,
        cwd: str,
        teams: Sequence[str] | None = None,
        sees: Callable[[Owner], Awaitable[bool]] | None = None,
    ) -> Place:
        """Where the process of that id is. With a team or an agent, only theirs are meant, and else those of `teams`,
        of agents that whoever asks `sees`.

        `NotFoundError` if there is none; `UnavailableError` if some of those that would know do not answer;
        `RefusedError` if several have it.
        """
        if not is_process_id(process):
            raise no_process(process)
        if agent:
            found = find_agent(self._registry, team=team, agent=agent, cwd=cwd)
            return Place(found.team, found.name, process)
        owner = self._known.owner(process)
        if owner is None and not self._known.is_contested(process):
            listed = await self.list(team=team, agent="", cwd="", teams=teams)
            owner = self._known.owner(process)
            if owner is None and listed.unknown:
                silent, why = next(iter(listed.unknown.items()))
                raise UnavailableError(
                    f"nobody can tell whether there is a process {process}: nothing is known of {silent}, {why}",
                    "name its agent with --agent, if you know whose it is",
                )
        if self._known.is_contested(process):
            meant = [one for one in self._known.rivals(process) if team in ("", one[0])]
            owner = await _only([one for one in meant if teams is None or one[0] in teams], process, sees)
        if owner is None or (team and owner[0] != team):
            raise no_process(process)
        return Place(*owner, process)

    async def get(self, place: Place) -> Process:
        """A process as it is now."""
        return await self._ended(place, 0.0)

    async def wait(self, place: Place, seconds: float | None) -> Process:
        """The process once its command has ended, or time is up."""
        process_orders.check_seconds("wait", seconds)
        return await self._until_ended(place, Patience(seconds))

    async def read(self, place: Place, question: Question) -> Reading:
        """What it wrote; see `ProcessReader.read`."""
        _check(question)
        return await self._reader.read(place, question)

    def follow(self, place: Place, question: Question) -> AsyncIterator[Reading]:
        """What it writes, as it comes; see `ProcessReader.follow`."""
        _check(question)
        return self._reader.follow(place, question)

    # Steering

    async def write(self, who: Who, place: Place, data: bytes, *, eof: bool) -> None:
        """Give it something to read; with `eof` nothing after it."""
        keeper = await keeper_soon(self._supervisor, place.team, place.agent)
        await keeper.write_process(place.team, place.agent, place.process, data=data, eof=eof)
        self._notes.add_written(who, place.team, place.agent, place.process, len(data))

    async def signal(self, who: Who, place: Place, number: int) -> int:
        """Send a signal to everything of it; to how many it went."""
        keeper = await keeper_soon(self._supervisor, place.team, place.agent)
        reached = await keeper.signal_process(place.team, place.agent, place.process, number=number)
        self._note_about(who, place, "process.signalled", signal=name_of(number), reached=reached)
        return reached

    async def kill(self, who: Who, place: Place, grace: float) -> Execution:
        """End everything of it: politely, then after `grace` seconds by force. `survivors` is what would not end."""
        process_orders.check_seconds("grace", grace)
        try:
            ended = await self._supervisor.insist(
                place.team,
                lambda keeper: keeper.end_process(place.team, place.agent, place.process, grace=grace),
                [place.agent],
            )
        except UnavailableError as error:
            self._note_about(who, place, "process.killed", "unknown", error=error.code)
            raise
        left = [survivor.pid for survivor in ended.survivors]
        self._note_about(who, place, "process.killed", "failed" if left else "ok", **({"left": left} if left else {}))
        return ended

    async def resize(self, place: Place, columns: int, rows: int) -> None:
        """Change the size of its terminal."""
        process_orders.check_size(columns, rows)
        keeper = await keeper_soon(self._supervisor, place.team, place.agent)
        await keeper.resize_process(place.team, place.agent, place.process, columns=columns, rows=rows)

    async def remove(self, who: Who, place: Place) -> None:
        """Forget a process of which nothing runs, with its output."""
        keeper = await keeper_soon(self._supervisor, place.team, place.agent)
        await keeper.forget_processes(place.team, place.agent, [place.process])
        self._known.forget(place.process, (place.team, place.agent))
        self._note_about(who, place, "process.removed")

    async def _until_ended(self, place: Place, patience: Patience) -> Process:
        while True:
            process = await self._ended(place, patience.portion)
            if not process.running or patience.over:
                return process

    async def _ended(self, place: Place, wait: float) -> Process:
        return await self._supervisor.insist(
            place.team,
            lambda keeper: keeper.wait_process(place.team, place.agent, place.process, wait=wait),
            [place.agent],
        )

    def _note_about(self, who: Who, place: Place, event: str, outcome: str = "ok", **data: object) -> None:
        self._note(who, (place.team, place.agent), event, {"process": place.process, **data}, outcome)

    def _note(self, who: Who, owner: tuple[str, str], event: str, data: dict[str, object], outcome: str = "ok") -> None:
        team, agent = owner
        self._notes.add(who, NewEvent(event=event, team=team, agent=agent, outcome=outcome, data=data))


async def _only(rivals: Sequence[Owner], process: str, sees: Callable[[Owner], Awaitable[bool]] | None) -> Owner | None:
    """The one of several agents that is meant by such an id: who cannot see the others means none of them."""
    seen = [one for one in rivals if sees is None or await sees(one)]
    if len(seen) > 1:
        raise RefusedError(f"two agents have a process {process}", "name whose is meant: --agent TEAM/AGENT")
    return seen[0] if seen else None


def _check(question: Question) -> None:
    process_orders.check_limit(question.limit)
    process_orders.check_seconds("wait", question.wait)


def _remarks(plan: Plan, seen: Execution, timeout: float | None) -> list[str]:
    """What a person should know besides the result."""
    process = seen.process
    said = [plan.note]
    if plan.promoted:
        said.append(f"it ended in &, so it runs in the background as {process.process}")
    elif process.running and not plan.background:
        said.append(f"it has not ended after {timeout:g} s and goes on as {process.process}")
    if seen.survivors:
        count = len(seen.survivors)
        what = "1 process" if count == 1 else f"{count} processes"
        said.append(f"{what} that it started did not end with it: corral proc kill {process.process} ends them")
    return [*said, process.trouble]
