"""The tasks of one team as they are: which can be claimed, which wait for others, and who has what they wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from corral.domain.task_records import (
    CLOSED,
    DEAD,
    DELAYED,
    DONE,
    OPEN,
    READY,
    WAITING,
    Task,
    number_of,
    unknown_task,
)
from corral.domain.task_turns import Line, Place

#: Tasks that are looked at to find out who waits for whom.
_MOST_OBSTACLES = 100


class Books:
    """Tasks, with all that follows from them kept in order. What becomes of a task is decided elsewhere."""

    def __init__(self, tasks: Iterable[Task] = (), taken: Counter[str] | None = None) -> None:
        """`taken` counts, for several teams, what the tasks weigh that each person has added."""
        self._tasks: dict[int, Task] = {}
        #: Task that is not done → tasks that are not done and need it.
        self._needed_by: dict[int, set[int]] = {}
        self._keys: dict[str, int] = {}
        self._line = Line()
        #: Open, and not to be claimed before others are done, or before it has rested.
        self._held_up: dict[int, None] = {}
        #: In the order in which they were closed.
        self._closed: dict[str, dict[int, None]] = {DONE: {}, DEAD: {}}
        self._bytes = 0
        self._taken = Counter[str]() if taken is None else taken
        # What closed last comes last; and all are there before it is looked at what each needs.
        for task in sorted(tasks, key=lambda one: one.revision):
            self._remember(task)
        for task in self._tasks.values():
            self._line.had_turn(task.priority, task.person, task.token)
            self._settle(task)

    def get(self, task: str) -> Task:
        """The task of that id, or `NotFoundError`."""
        try:
            return self._tasks[number_of(task)]
        except KeyError:
            raise unknown_task(task) from None

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks.values())

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def ready(self) -> int:
        """How many can be claimed."""
        return len(self._line)

    def state(self, task: Task) -> str:
        """Its state, as it is told."""
        if task.state in (OPEN, DELAYED) and self.missing(task):
            return WAITING
        return READY if task.state == OPEN else task.state

    def missing(self, task: Task) -> list[int]:
        """The tasks that it needs and that are not done. One that is not known any more was done long ago."""
        return [need for need in task.needs if need in self._tasks and self._tasks[need].state != DONE]

    def first(self, labels: frozenset[str]) -> int | None:
        """The number of the task that is next for somebody with these labels; None if there is none."""
        return self._line.first(labels)

    def obstacles(self, labels: frozenset[str]) -> list[dict[str, str]] | None:
        """Why nothing comes for somebody with these labels: for each task that would, who has what it needs first.

        None if one may come without any of those who have a claim now, or if there are too many to look at: then
        there is nothing to say.
        """
        found: list[dict[str, str]] = []
        for number in self._held_up:
            task = self._tasks[number]
            if not labels.issuperset(task.labels):
                continue
            needed = self._claims_before(task)
            if not needed or len(found) >= _MOST_OBSTACLES:
                return None
            found.append(needed)
        return found

    def _claims_before(self, task: Task) -> dict[str, str]:
        """Who has a claim on what must be done before a task, be it through others, and on what."""
        found: dict[str, str] = {}
        seen: set[int] = set()
        ahead = self.missing(task)
        while ahead and len(seen) < _MOST_OBSTACLES:
            number = ahead.pop()
            if number in seen:
                continue
            seen.add(number)
            needed = self._tasks[number]
            if needed.claim is not None:
                found.setdefault(needed.claim.by, f"{needed.id}, which {task.id} needs")
            ahead += self.missing(needed)
        return found

    # Keeping the books

    def _keep(self, *tasks: Task) -> None:
        for task in tasks:
            self._remember(task)
        for task in tasks:
            self._settle(task)

    def _remember(self, task: Task) -> None:
        before = self._tasks.get(task.number)
        self._bytes += task.size - (before.size if before is not None else 0)
        self._taken[task.person] += task.weight - (before.weight if before is not None else 0)
        self._tasks[task.number] = task
        if task.key:
            self._keys[task.key] = task.number
        for closed in self._closed.values():
            closed.pop(task.number, None)
        if task.state in CLOSED:
            self._closed[task.state][task.number] = None

    def _settle(self, task: Task) -> None:
        """Have it in line exactly if it can be claimed, and so with those that waited for it."""
        self._stand(task)
        if task.state == DONE:
            self._untie(task)
        else:
            for need in self.missing(task):
                self._needed_by.setdefault(need, set()).add(task.number)
        if task.state == DONE:
            for number in self._needed_by.pop(task.number, ()):
                self._stand(self._tasks[number])

    def _stand(self, task: Task) -> None:
        if self.state(task) == READY:
            self._line.add(Place(task.number, frozenset(task.labels), task.priority, task.person))
        else:
            self._line.remove(task.number)
        if self.state(task) in (WAITING, DELAYED):
            self._held_up[task.number] = None
        else:
            self._held_up.pop(task.number, None)

    def _drop(self, number: int) -> None:
        task = self._tasks.pop(number)
        self._untie(task)
        self._bytes -= task.size
        self._taken[task.person] -= task.weight
        for closed in self._closed.values():
            closed.pop(number, None)
        self._line.remove(number)
        self._held_up.pop(number, None)
        if task.key and self._keys.get(task.key) == number:
            del self._keys[task.key]

    def _untie(self, task: Task) -> None:
        """Nobody has to keep for its sake what it needs."""
        for need in task.needs:
            ties = self._needed_by.get(need)
            if ties is not None:
                ties.discard(task.number)
                if not ties:
                    del self._needed_by[need]
