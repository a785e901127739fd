"""What happens to tasks when nothing happens: claims lapse, and those that rest after a failure can be tried again.

All on the event loop's clock, which nobody can set. It is not written down: after a restart every claim has its whole
time again, so a daemon that was away takes nothing from anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from corral.domain.task_records import CLAIMED, DELAYED, Claim, Task

#: A team, and the number of a task.
Key = tuple[str, int]
#: So often within the time of a claim it is looked whether its agent lives.
_LOOKS = 3


@dataclass(slots=True)
class _Alarm:
    #: The token of the claim, or the revision of the failure: an alarm is for that alone.
    mark: int
    #: On the loop's clock.
    deadline: float
    #: Of a claim; None if the task rests.
    claim: Claim | None
    timer: asyncio.TimerHandle | None = None


class TaskClock:
    """One alarm for each task that is claimed or rests."""

    def __init__(
        self,
        *,
        is_alive: Callable[[str, Claim], bool],
        lapse: Callable[[str, int, int], None],
        rested: Callable[[str, int, int], None],
    ) -> None:
        """`lapse` is told team, task and token, `rested` team, task and revision."""
        self._is_alive = is_alive
        self._lapse = lapse
        self._rested = rested
        self._alarms: dict[Key, _Alarm] = {}

    def follow(self, team: str, task: Task) -> None:
        """Have the alarm that fits the task as it is now. One that was set for just this goes on."""
        key = (team, task.number)
        alarm = self._alarms.get(key)
        if task.claim is not None and task.state == CLAIMED:
            if alarm is None or alarm.mark != task.claim.token:
                self._set(key, task.claim.token, task.claim.ttl, task.claim)
        elif task.state == DELAYED:
            if alarm is None or alarm.mark != task.revision:
                self._set(key, task.revision, task.rest, None)
        else:
            self._cancel(key)

    def follow_only(self, tasks: Iterable[tuple[str, Task]]) -> None:
        """As `follow`, for all tasks that there are."""
        there = set()
        for team, task in tasks:
            there.add((team, task.number))
            self.follow(team, task)
        for key in self._alarms.keys() - there:
            self._cancel(key)

    def renew(self, team: str, number: int) -> None:
        """Somebody who has the claim was heard of: it holds for its whole time again."""
        alarm = self._alarms.get((team, number))
        if alarm is not None and alarm.claim is not None:
            self._set((team, number), alarm.mark, alarm.claim.ttl, alarm.claim)

    def forget(self, team: str, number: int) -> None:
        """The task is gone, and with it whatever was to happen to it."""
        self._cancel((team, number))

    def remaining(self, team: str, number: int) -> float | None:
        """Seconds until a claim lapses or a rest is over, as it looks now; None if there is neither."""
        alarm = self._alarms.get((team, number))
        return None if alarm is None else max(0.0, alarm.deadline - asyncio.get_running_loop().time())

    def stop(self) -> None:
        """Nothing happens by itself any more."""
        for key in list(self._alarms):
            self._cancel(key)

    def _set(self, key: Key, mark: int, seconds: float, claim: Claim | None) -> None:
        self._cancel(key)
        alarm = self._alarms[key] = _Alarm(mark, asyncio.get_running_loop().time() + seconds, claim)
        self._wind(key, alarm)

    def _cancel(self, key: Key) -> None:
        alarm = self._alarms.pop(key, None)
        if alarm is not None and alarm.timer is not None:
            alarm.timer.cancel()

    def _wind(self, key: Key, alarm: _Alarm) -> None:
        """Ring at the deadline, or before it to look whether the agent lives."""
        loop = asyncio.get_running_loop()
        at = alarm.deadline
        if alarm.claim is not None and alarm.claim.agent:
            at = min(at, loop.time() + alarm.claim.ttl / _LOOKS)
        alarm.timer = loop.call_at(at, self._ring, key, alarm)

    def _ring(self, key: Key, alarm: _Alarm) -> None:
        now = asyncio.get_running_loop().time()
        if alarm.claim is not None and self._is_alive(key[0], alarm.claim):
            alarm.deadline = now + alarm.claim.ttl
        if now < alarm.deadline:
            self._wind(key, alarm)
            return
        del self._alarms[key]
        ring = self._rested if alarm.claim is None else self._lapse
        ring(*key, alarm.mark)
