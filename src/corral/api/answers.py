"""What the daemon gives: JSON, JSON lines, and for `ps` a table that is read without a JSON parser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.responses import Response, StreamingResponse

from corral.background import Background
from corral.domain.errors import CorralError
from corral.domain.records import Agent, Event
from corral.domain.states import LIVE, PAUSED, RUNNING
from corral.domain.timestamps import timestamp
from corral.service.progress import Progress, Tell
from corral.service.stats import WHOLE_TEAM, Stat
from corral.supervise.registry import Registry

_encode = msgspec.json.Encoder().encode

#: Status of an answer for each code of the error tree; anything else is a failure of ours.
_STATUS = {2: 400, 3: 404, 4: 409, 5: 500, 6: 503}

#: `containment` of an agent that was never started: there is nothing of it that could be contained.
NOT_CONTAINED = "none"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every answer that is a class: all keys are always there, but for those that are unset."""


class _Document(Response):
    """Says no more of itself than it has to: most of what is answered is one of these, and short."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:  # noqa: ARG002 - there are no others
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]


def json(value: object, status: int = 200) -> Response:
    """One JSON document."""
    return _Document(_encode(value), status)


def failure(error: CorralError) -> Response:
    """The error object of the contract."""
    return json({"error": error.as_json()}, _STATUS.get(error.exit_code, 500))


def lines(values: AsyncIterator[Any]) -> Response:
    """JSON lines, each sent as it comes; an error in between is the last line."""

    async def stream() -> AsyncIterator[bytes]:
        try:
            async for value in values:
                yield _encode(value) + b"\n"
        except CorralError as error:
            yield _encode({"error": error.as_json()}) + b"\n"

    return StreamingResponse(stream(), media_type="application/x-ndjson")


def work(background: Background, do: Callable[[Tell], Awaitable[object]]) -> Response:
    """Long work: its progress as JSON lines, then its result. It goes on to its end if the caller goes away."""
    queue: asyncio.Queue[dict[str, object]] = asyncio.Queue()

    async def run() -> None:
        try:
            result = await do(lambda progress: queue.put_nowait({"progress": _progress(progress)}))
            queue.put_nowait({"result": result})
        except CorralError as error:
            queue.put_nowait({"error": error.as_json()})
        except Exception as error:
            queue.put_nowait({"error": CorralError(f"the daemon failed: {error!r}", "its log has more").as_json()})
            raise

    async def stream() -> AsyncIterator[bytes]:
        while True:
            pieces = [await queue.get()]
            while not queue.empty():
                pieces.append(queue.get_nowait())
            yield b"".join(_encode(piece) + b"\n" for piece in pieces)
            if "progress" not in pieces[-1]:
                return

    background.spawn(run(), name="work")
    return StreamingResponse(stream(), media_type="application/x-ndjson")


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


def activity(registry: Registry, agent: Agent) -> str:
    """What the agent does now; of one that does not run nothing is said."""
    if agent.state != RUNNING:
        return "unknown"
    return PAUSED if agent.paused else registry.activity(agent.key).word


def is_paused(agent: Agent) -> bool:
    """True if it stands still, as far as anybody knows; what does not run cannot."""
    return agent.paused and agent.state in LIVE


def agent_object(registry: Registry, agent: Agent) -> dict[str, object]:
    """An agent as `corral ps --json` prints it: a contract."""
    return {
        "team": agent.team,
        "agent": agent.name,
        "state": agent.state,
        "activity": activity(registry, agent),
        "paused": is_paused(agent),
        "pid": agent.pid,
        "user": agent.user,
        "host": agent.host,
        "workspace": agent.workspace,
        "containment": agent.containment or NOT_CONTAINED,
        "containment_why": agent.containment_why,
        "restarts": agent.restarts,
        "since": timestamp(agent.since),
        "command": agent.command,
        "processes": registry.processes.get(agent.key, 0),
        "exit_code": agent.exit_code,
        "reason": agent.reason,
        "prompt": agent.prompt_state,
        "terminal": agent.terminal,
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
    }


def agent_table(registry: Registry, agents: Iterable[Agent]) -> Response:
    """One line an agent, columns split by tabs: what `corral ps` reads without loading a parser."""
    rows = (
        "\t".join(
            (
                agent.team,
                agent.name,
                agent.state,
                activity(registry, agent),
                "" if agent.pid is None else str(agent.pid),
                str(agent.since),
                str(agent.restarts),
                agent.containment,
                _one_field(agent.workspace),
                _one_field(agent.reason),
                _one_field(agent.containment_why),
                str(registry.processes.get(agent.key, 0)),
            )
        )
        for agent in agents
    )
    return Response("".join(row + "\n" for row in rows), media_type="text/tab-separated-values")


def _one_field(value: str) -> str:
    return " ".join(value.split()) if "\t" in value or "\n" in value or "\r" in value else value
