"""What the daemon gives: JSON, JSON lines, and for `ps` a table that is read without a JSON parser."""

from __future__ import annotations

import asyncio
import json as stdlib_json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

import msgspec
from starlette.responses import Response

from corral.api.access_answers import access_object, access_words
from corral.api.lasting import MEDIA_TYPE, Ending, Flow, Work
from corral.background import Background
from corral.domain.activity import NOT_KNOWN, Activity
from corral.domain.dependencies import is_ready
from corral.domain.errors import CorralError, DeniedError, UnauthorisedError, outline
from corral.domain.health import NOT_CHECKED
from corral.domain.lifecycle import stays_stopped
from corral.domain.records import Agent, Event
from corral.domain.states import LIVE, PAUSED, RUNNING, STOPPED, UNKNOWN
from corral.domain.timestamps import timestamp
from corral.service.progress import Progress, Tell
from corral.service.stats import WHOLE_TEAM, Stat
from corral.supervise.registry import Registry

log = logging.getLogger("corral.daemon")
_encode = msgspec.json.Encoder().encode

#: Status of an answer for each code of the error tree; anything else is a failure of ours.
_STATUS = {2: 400, 3: 404, 4: 409, 5: 500, 6: 503, 7: 409}

#: In the answer to `ps`: how many agents wait for a person.
WAITING_HEADER = "x-corral-waiting"

#: In the answer to a list: the teams of which nothing is known, each with why, as JSON.
UNKNOWN_HEADER = "x-corral-unknown"
#: So many of them are told, with so many letters and bytes. Headers have to be short, also for proxies.
_MOST_UNKNOWN, _MOST_LETTERS, _MOST_BYTES = 20, 200, 4096

#: `containment` of an agent that was never started: there is nothing of it that could be contained.
NOT_CONTAINED = "none"
#: In a field that has several texts.
BETWEEN = "\x1e"
#: Of its last words, as many lines as a list has room for.
_LAST_LINES = 5


#: In the place of what somebody may not read.
_HIDDEN = "(hidden)"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every answer that is a class: all keys are always there, but for those that are unset."""


class Document(Response):
    """Says no more of itself than it has to: most of what is answered is one of these, and short."""

    media_type = "application/json"
    #: What it tells, where the audit trail is to know what came of each of several things.
    result: object = None
    #: What the audit trail is to have of it besides: ids of what was made, and never what it opens or says.
    noted: Mapping[str, object] = MappingProxyType({})

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:  # noqa: ARG002 - there are no others
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]


def json(value: object, status: int = 200) -> Response:
    """One JSON document."""
    return Document(_encode(value), status)


def json_noting(value: object, **facts: object) -> Response:
    """One JSON document. What came of the request has these facts in the audit trail."""
    document = Document(_encode(value), 200)
    document.noted = facts
    return document


def json_of_some(value: object, unknown: Mapping[str, str]) -> Response:
    """One JSON document, a list; `unknown` are teams that are not in it because nothing is known of them, with why."""
    document = json(value)
    if unknown:
        document.headers[UNKNOWN_HEADER] = _unknown(unknown)
    return document


def _unknown(unknown: Mapping[str, str]) -> str:
    told: list[str] = []
    size = 0
    for team, why in islice(unknown.items(), _MOST_UNKNOWN):
        # A header has bytes: whatever is no ASCII in a reason is told as JSON can.
        row = stdlib_json.dumps({"team": team, "why": why[:_MOST_LETTERS]})
        size += len(row)
        if size > _MOST_BYTES:
            break
        told.append(row)
    if more := len(unknown) - len(told):
        told.append(stdlib_json.dumps({"team": "", "why": f"nor are {more} more teams known"}))
    return f"[{', '.join(told)}]"


def json_of_several(value: object, result: object = None) -> Response:
    """One JSON document about what became of several things; `result` tells of them, where that is not the document."""
    document = Document(_encode(value), 200)
    document.result = value if result is None else result
    return document


def failure(error: CorralError) -> Response:
    """The error object of the contract."""
    said: dict[str, object] = {"error": error.as_json()}
    response = json(said, status_of(error))
    if isinstance(error, UnauthorisedError):
        # Whoever has no token does not keep a connection either.
        response.raw_headers.extend(((b"www-authenticate", b"Bearer"), (b"connection", b"close")))
    return response


def of_error(error: Exception, asked: str) -> Response:
    """The answer that an error is; one that nobody foresaw is in the log, with what was asked."""
    if isinstance(error, CorralError):
        return failure(error)
    log.error("%s failed", asked, exc_info=error)
    return failure(CorralError(f"the daemon failed: {outline(error)}", "its log has more"))


def status_of(error: Exception) -> int:
    """The status of the answer that an error is."""
    if isinstance(error, UnauthorisedError):
        return 401
    if not isinstance(error, CorralError):
        return 500
    return 403 if isinstance(error, DeniedError) else _STATUS.get(error.exit_code, 500)


def lines(values: AsyncIterator[Any]) -> Response:
    """JSON lines, each sent as it comes; an error in between is the last line."""

    async def stream() -> AsyncIterator[bytes]:
        try:
            async for value in values:
                yield _encode(value) + b"\n"
        except CorralError as error:
            flow.over(Ending(error=error))
            yield last_line(flow.worded(error))
        except Exception as error:
            flow.over(Ending(error=error))
            raise
        flow.over(Ending())

    flow = Flow(stream(), media_type=MEDIA_TYPE)
    return flow


def pieces(data: AsyncIterator[bytes]) -> Response:
    """Lines that are there as bytes; an error in between breaks them off."""

    async def stream() -> AsyncIterator[bytes]:
        try:
            async for piece in data:
                yield piece
        except Exception as error:
            flow.over(Ending(error=error))
            raise
        flow.over(Ending())

    flow = Flow(stream(), media_type=MEDIA_TYPE)
    return flow


def last_line(error: CorralError) -> bytes:
    """The end of a stream that went wrong."""
    return _encode({"error": error.as_json()}) + b"\n"


def work(background: Background, do: Callable[[Tell], Awaitable[object]]) -> Response:
    """Long work: its progress as JSON lines, then its result. It goes on to its end if the caller goes away."""
    queue: asyncio.Queue[dict[str, object]] = asyncio.Queue()

    def end(ending: Ending, last: dict[str, object]) -> None:
        try:
            answer.over(ending)
        finally:
            queue.put_nowait(last)  # whatever came of telling: whoever waits for the end has it

    async def run() -> None:
        try:
            result = await do(lambda progress: queue.put_nowait({"progress": _progress(progress)}))
        except CorralError as error:
            end(Ending(error=error), {"error": answer.worded(error).as_json()})
        except Exception as error:
            said = CorralError(f"the daemon failed: {outline(error)}", "its log has more")
            end(Ending(error=error), {"error": said.as_json()})
            raise
        else:
            end(Ending(result=result), {"result": result})

    async def stream() -> AsyncIterator[bytes]:
        while True:
            pieces = [await queue.get()]
            while not queue.empty():
                pieces.append(queue.get_nowait())
            yield b"".join(_encode(piece) + b"\n" for piece in pieces)
            if "progress" not in pieces[-1]:
                return

    answer = Work(stream(), media_type=MEDIA_TYPE)
    background.spawn(run(), name="work")
    return answer


def _progress(progress: Progress) -> dict[str, object]:
    return {
        "agent": progress.agent,
        "step": progress.step,
        "detail": progress.detail,
        "done": progress.done,
        "of": progress.of,
    }


def event(entry: Event) -> dict[str, object]:
    """An entry of the journal as `corral events --json` prints it."""
    return {
        "seq": entry.seq,
        "time": timestamp(entry.time),
        "team": entry.team,
        "agent": entry.agent,
        "event": entry.event,
        "who": entry.who,
        "outcome": entry.outcome,
        "data": entry.data,
    }


def hidden_event(entry: Event) -> dict[str, object]:
    """The same for somebody who may know that it happened, and not more."""
    return {**event(entry), "data": {}, "hidden": True}


def activity(registry: Registry, agent: Agent) -> Activity:
    """What the agent does now; of one that does not run nothing is said."""
    if agent.state != RUNNING:
        return NOT_KNOWN
    return Activity(word=PAUSED, evidence="corral pause") if agent.paused else registry.activity(agent.key)


def is_paused(agent: Agent) -> bool:
    """True if it stands still, as far as anybody knows; what does not run cannot."""
    return agent.paused and agent.state in LIVE


def agent_object(registry: Registry, agent: Agent, *, hidden: bool = False) -> dict[str, object]:
    """An agent as `corral ps --json` prints it: a contract. `hidden`: without what only those are told who may read."""
    does = activity(registry, agent)
    return {
        "team": agent.team,
        "agent": agent.name,
        "state": agent.state,
        "activity": does.word,
        "activity_about": does.about,
        "activity_evidence": "" if hidden else does.evidence,
        "activity_since": timestamp(does.since) if does.since else None,
        "paused": is_paused(agent),
        "pid": agent.pid,
        "user": agent.user,
        "owner": _owner(registry, agent),
        "host": agent.host,
        "workspace": agent.workspace,
        "containment": agent.containment or NOT_CONTAINED,
        "containment_why": agent.containment_why,
        "access": access_object(agent),
        "restarts": agent.restarts,
        "since": timestamp(agent.since),
        "command": [] if hidden else agent.command,
        "processes": registry.processes.get(agent.key, 0),
        "exit_code": agent.exit_code,
        "reason": "" if hidden and _quotes(agent) else agent.reason,
        "prompt": agent.prompt_state,
        "terminal": agent.terminal,
        "kind": agent.kind,
        "ready": is_ready(agent),
        "after": agent.after,
        "session": agent.conversation.id,
        "resumed": agent.conversation.resumed,
        "fork_of": agent.fork_of,
        "last_words": "" if hidden else agent.last_words,
        "hidden": hidden,
        "crashes": agent.crashes,
        "health": registry.health[agent.key].word if agent.key in registry.health else NOT_CHECKED,
        "stuck_since": timestamp(agent.stuck_since) if agent.stuck_since else None,
        "notices": [] if hidden else [*registry.notices(agent.key), *registry.notices((agent.team, ""))],
    }


def stats(look: Sequence[Stat]) -> dict[str, object]:
    """What is used at one moment: a line of the stream behind `corral stats`."""
    return {"stats": [_stat_object(stat) for stat in look]}


def _stat_object(stat: Stat) -> dict[str, object]:
    """An agent, or a team, as `corral stats --json` prints it: a contract."""
    agent, usage = stat.agent, stat.usage
    return {
        "team": stat.team,
        "agent": WHOLE_TEAM if agent is None else agent.name,
        "state": "" if agent is None else agent.state,
        "paused": agent is not None and is_paused(agent),
        "time": timestamp(stat.time),
        "cpu_percent": stat.cpu_percent,
        "cpu_seconds": usage and usage.cpu_seconds,
        "memory_current": usage and usage.memory_current,
        "memory_peak": usage and usage.memory_peak,
        "memory_limit": usage and usage.memory_limit,
        "tasks": usage and usage.tasks,
        "tasks_limit": usage and usage.tasks_limit,
        "pressure": usage and usage.pressure,
        "oom_kills": usage and usage.oom_kills,
        "containment": usage.level if usage else NOT_CONTAINED,
        "cgroup": usage.cgroup if usage else "",
        "unknown": stat.unknown,
    }


def agent_table(registry: Registry, agents: Iterable[Agent], opened: Container[tuple[str, str]]) -> Response:
    """One line an agent, columns split by tabs: what `corral ps` reads without loading a parser."""
    rows = (_row(registry, agent, hidden=agent.key not in opened) for agent in agents)
    return Response("".join(row + "\n" for row in rows), media_type="text/tab-separated-values")


def _row(registry: Registry, agent: Agent, *, hidden: bool) -> str:
    does = activity(registry, agent)
    return "\t".join(
        (
            agent.team,
            agent.name,
            agent.state,
            does.word,
            "" if agent.pid is None else str(agent.pid),
            # Since when its run is up, also if nobody could see it for a while.
            str(agent.started_at or agent.since),
            str(agent.restarts),
            agent.containment,
            _one_field(agent.workspace),
            _one_field(_told_reason(agent, hidden=hidden)),
            _one_field(agent.containment_why),
            str(registry.processes.get(agent.key, 0)),
            does.about,
            _one_field(_HIDDEN if hidden and does.evidence else does.evidence),
            _told_notices(registry.notices(agent.key), hidden=hidden),
            _told_notices(registry.notices((agent.team, "")), hidden=hidden),
            _HIDDEN if hidden and agent.last_words else _joined(agent.last_words.splitlines()[-_LAST_LINES:]),
            agent.kind,
            "ready" if is_ready(agent) else "",
            agent.conversation.id,
            "resumed" if agent.conversation.resumed else "",
            access_words(agent),
            _one_field(agent.enforced.why),
            _whose(registry, agent),
            "" if agent.run else "new",
        )
    )


def _whose(registry: Registry, agent: Agent) -> str:
    """Whose it is, on a shared server: the person, with the user of agents that runs it, if any. Else empty."""
    owner = _owner(registry, agent)
    return f"{agent.user} ({owner})" if owner and agent.user not in ("", owner) else owner


def _owner(registry: Registry, agent: Agent) -> str:
    team = registry.teams.get(agent.team)
    return team.user if team is not None else ""


def _quotes(agent: Agent) -> bool:
    """Whether the reason of its state may quote what it was to run, or what it or its check printed: any may, but for
    why nobody can tell how it is."""
    return bool(agent.reason) and agent.state != UNKNOWN


def _told_reason(agent: Agent, *, hidden: bool) -> str:
    """The reason of its state, for people: how one ended that came to its end by itself is none that anybody needs."""
    if agent.state == STOPPED and not stays_stopped(agent):
        return ""
    return _HIDDEN if hidden and _quotes(agent) else agent.reason


def _told_notices(notices: Sequence[str], *, hidden: bool) -> str:
    """What a person should know now. It quotes checks, ways to tell people, and their output."""
    return _HIDDEN if hidden and notices else _joined(notices)


def _joined(texts: Sequence[str]) -> str:
    return BETWEEN.join(_one_field(text.replace(BETWEEN, " ")) for text in texts)


def _one_field(value: str) -> str:
    return " ".join(value.split()) if "\t" in value or "\n" in value or "\r" in value else value
