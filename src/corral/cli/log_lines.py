"""From pieces of terminal output to lines an agent, the last N of them or as they come."""

from collections import deque
from typing import Protocol

from corral.client.answers import Record
from corral.domain.terminal_text import TextCleaner


class Lines(Protocol):
    """Takes records of output; gives records to write, each with `team`, `agent`, `time` and `text`."""

    def take(self, record: Record, *, held_back: bool) -> list[Record]:
        """What to write now. What is held back stays for `backlog`."""

    def backlog(self) -> list[Record]:
        """What was held back, cut to the last lines of each agent, in the order of time."""

    def finish(self) -> None:
        """No more output comes: a line that was never finished is held back with the others."""

    def repainting(self) -> list[str]:
        """The agents, as TEAM/AGENT, whose output is pictures rather than lines."""


class _Agent:
    """The output of one agent on its way to lines."""

    __slots__ = ("cleaner", "held", "last")

    def __init__(self, limit: int | None) -> None:
        self.cleaner = TextCleaner()
        self.held: deque[Record] = deque(maxlen=limit)
        self.last: Record = {}


class CleanLines:
    """Lines of text, as `TextCleaner` reads them."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._agents: dict[tuple[object, object], _Agent] = {}

    def take(self, record: Record, *, held_back: bool) -> list[Record]:
        agent = self._agents.get(_key(record))
        if agent is None:
            agent = self._agents[_key(record)] = _Agent(self._limit)
        agent.last = record
        lines = _lines(record, agent.cleaner.feed(str(record.get("text", ""))))
        if not held_back:
            return lines
        agent.held.extend(lines)
        return []

    def backlog(self) -> list[Record]:
        held = [record for agent in self._agents.values() for record in agent.held]
        for agent in self._agents.values():
            agent.held.clear()
        return sorted(held, key=_time)

    def finish(self) -> None:
        for agent in self._agents.values():
            agent.held.extend(_lines(agent.last, agent.cleaner.finish()))

    def repainting(self) -> list[str]:
        return [f"{team}/{name}" for (team, name), agent in self._agents.items() if agent.cleaner.repaints]


class RawPieces:
    """Output as it came. What a line is can only be told by line feeds here."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._held: list[Record] = []

    def take(self, record: Record, *, held_back: bool) -> list[Record]:
        if held_back:
            self._held.append(record)
            return []
        return [record]

    def backlog(self) -> list[Record]:
        texts: dict[tuple[object, object], list[str]] = {}
        for record in self._held:
            texts.setdefault(_key(record), []).append(str(record.get("text", "")))
        too_old = {key: _before_last_lines("".join(pieces), self._limit) for key, pieces in texts.items()}
        kept = []
        for record in self._held:
            text = str(record.get("text", ""))
            dropped = min(len(text), too_old[_key(record)])
            too_old[_key(record)] -= dropped
            if text[dropped:]:
                kept.append({**record, "text": text[dropped:]})
        self._held.clear()
        return kept

    def finish(self) -> None:
        """Nothing is ever unfinished here."""

    def repainting(self) -> list[str]:
        """Nobody: what comes as it came is for whoever knows what to do with it."""
        return []


def _before_last_lines(text: str, count: int | None) -> int:
    """Where the last `count` lines of `text` begin."""
    if count is None:
        return 0
    if count == 0:
        return len(text)
    begin = len(text) - text.endswith("\n")
    for _ in range(count):
        begin = text.rfind("\n", 0, begin)
        if begin < 0:
            return 0
    return begin + 1


def _lines(like: Record, text: str) -> list[Record]:
    return [{**like, "text": line} for line in text.removesuffix("\n").split("\n")] if text else []


def _key(record: Record) -> tuple[object, object]:
    return record.get("team"), record.get("agent")


def _time(record: Record) -> float:
    moment = record.get("time")
    return float(moment) if isinstance(moment, int | float) else 0.0
