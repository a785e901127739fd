"""The tasks of one team: who gets which, what becomes of a claim, and when nothing becomes of a task any more.

Every change is numbered by its caller, with revisions that only grow. A claim's token is such a revision. What is done
in the name of a claim that is over is refused, so of all attempts at a task at most one can bring it to its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice

from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.task_books import Books
from corral.domain.task_records import (
    CLAIMED,
    CLOSED,
    DEAD,
    DELAYED,
    DONE,
    KEPT_NOTES,
    LARGEST_TEXT,
    LONGEST_NOTE,
    MOST_NEEDS,
    OPEN,
    Claim,
    NewTask,
    Note,
    Task,
    check_new,
    check_text,
)

#: Tasks of a team that are not closed, and what they may take together.
MOST_OPEN, MOST_BYTES = 50_000, 256 << 20
#: Tasks that are done, and dead ones, that are kept of each: those closed last.
KEPT_CLOSED = 1000


@dataclass(frozen=True, slots=True)
class Moment:
    """A change: its number, when it is made and by whom."""

    revision: int
    time: float
    by: str


@dataclass(slots=True)
class Changed:
    """What a change did to the records: the task that it is about comes first."""

    put: list[Task]
    dropped: list[int] = field(default_factory=list)
    #: False if all is as it was.
    is_change: bool = True
    #: The claim that is over by it.
    ended: Claim | None = None

    @property
    def task(self) -> Task:
        return self.put[0]


class Backlog(Books):
    """Every change either is made, or raises and changes nothing."""

    # Adding

    def known(self, new: NewTask) -> Task | None:
        """The task that has this key already. Raises `RefusedError` if it is another task than this one."""
        number = self._keys.get(new.key) if new.key else None
        if number is None:
            return None
        task = self._tasks[number]
        if (task.title, task.body) != (new.title, new.body):
            message = f"the key {new.key!r} belongs to {task.id}, which says something else"
            raise RefusedError(message, f"corral task show {task.id}; take another key", task=task.id)
        return task

    def add(self, new: NewTask, moment: Moment, person: str) -> Changed:
        """Add a task, unless one with its key is there: then nothing changes, and it is that one.

        Raises `RefusedError` with the cycle if tasks would need each other in a circle.
        """
        check_new(new)
        known = self.known(new)
        if known is not None:
            return Changed([known], is_change=False)
        is_open = len(self._tasks) - sum(map(len, self._closed.values()))
        if is_open >= MOST_OPEN:
            raise RefusedError(f"the team has {is_open} open tasks, and may have {MOST_OPEN}", "get some done first")
        needs = [self._dependency(need) for need in dict.fromkeys(new.after)]
        held_up = [self._dependent(task) for task in dict.fromkeys(new.before)]
        self._check_circle(needs, held_up)
        task = Task(
            number=moment.revision,
            title=new.title,
            body=new.body,
            priority=new.priority,
            labels=tuple(sorted(set(new.labels))),
            needs=tuple(need.number for need in needs),
            key=new.key,
            max_attempts=new.max_attempts,
            backoff=new.backoff,
            by=moment.by,
            person=person,
            added=moment.time,
            revision=moment.revision,
            time=moment.time,
        )
        if self._bytes + task.size > MOST_BYTES:
            raise RefusedError(f"the team's tasks take {self._bytes} bytes", "get some done first, or say less in them")
        later = [replace(one, needs=(*one.needs, task.number), revision=moment.revision) for one in held_up]
        return self._put(task, *later)

    def _dependency(self, task: str) -> Task:
        found = self.get(task)
        if found.state == DEAD:
            raise RefusedError(f"{task} is dead, and would never be done", f"corral task release {task} revives it")
        return found

    def _dependent(self, task: str) -> Task:
        found = self.get(task)
        if found.state in CLOSED:
            raise RefusedError(f"{task} is {found.state}: nothing can come before it any more")
        if len(found.needs) >= MOST_NEEDS:
            raise RefusedError(f"{task} needs {len(found.needs)} tasks, and that is the most")
        return found

    def _check_circle(self, needs: list[Task], held_up: list[Task]) -> None:
        """Raise if one that is to come after the new task is needed by it, be it through others."""
        targets = {task.number for task in held_up}
        ahead = [[task.number] for task in needs] if targets else []
        seen: set[int] = set()
        while ahead:
            way = ahead.pop()
            if way[-1] in targets:
                names = [f"t{number}" for number in way]
                told = ", which needs ".join(names)
                raise RefusedError(
                    f"that is a circle: the new task needs {told}, which would need the new task",
                    "leave out one of them",
                    cycle=names,
                )
            if way[-1] not in seen:
                seen.add(way[-1])
                ahead += [[*way, need] for need in self.missing(self._tasks[way[-1]])]

    # Claiming, and what comes of it

    def claim(self, number: int, claim: Claim, time: float) -> Changed:
        """Give the task that `first` named to somebody. An attempt is counted."""
        task = self._tasks[number]
        assert number in self._line, task.id
        self._line.had_turn(task.priority, task.person, claim.token)
        return self._put(
            replace(
                task,
                state=CLAIMED,
                claim=claim,
                token=claim.token,
                attempt=task.attempt + 1,
                revision=claim.token,
                time=time,
            )
        )

    def renew(self, task: str, token: int, moment: Moment, note: str = "") -> Changed:
        """Raise `RefusedError` if the claim is over. Only a note changes something."""
        found = self._claimed(task, token)
        return self._put(_noted(found, moment, note)) if note else Changed([found], is_change=False)

    def done(self, task: str, token: int, moment: Moment, result: str = "", note: str = "") -> Changed:
        """It is done, and what only waited for it is ready. Again with the token that did it changes nothing."""
        known = self.get(task)
        if known.state == DONE and known.token == token:
            return Changed([known], is_change=False)
        found = self._claimed(task, token)
        check_text("the result", result, LARGEST_TEXT)
        return self._end(_noted(found, moment, note), moment, DONE, result)

    def fail(self, task: str, token: int, moment: Moment, note: str = "", *, final: bool = False) -> Changed:
        """The attempt failed. Another one comes after a rest, unless there have been enough, or it is final."""
        found = _noted(self._claimed(task, token), moment, note)
        if final or found.attempt >= found.max_attempts:
            return self._end(found, moment, DEAD)
        return self._back(found, moment, DELAYED if found.backoff else OPEN)

    def lapse(self, number: int, token: int, moment: Moment) -> Changed | None:
        """Whoever had this claim was not heard of in time. None if the claim was over before."""
        found = self._tasks.get(number)
        if found is None or found.claim is None or found.claim.token != token:
            return None
        if found.attempt >= found.max_attempts:
            return self._end(found, moment, DEAD)
        return self._back(found, moment, OPEN)

    def release(self, task: str, token: int | None, moment: Moment, note: str = "") -> Changed:
        """Give a claim back: it does not count as an attempt.

        Without a token it is about a task that nobody has: a dead one is revived, with all its attempts before it, and
        one that rests after a failure need not rest any longer.
        """
        if token is not None:
            found = self._claimed(task, token)
            return self._back(replace(_noted(found, moment, note), attempt=found.attempt - 1), moment, OPEN)
        found = self.get(task)
        if found.state == CLAIMED:
            assert found.claim is not None
            raise RefusedError(
                f"{task} is claimed by {found.claim.by}",
                f"give the token of that claim: corral task show {task}",
                task=task,
                holder=found.claim.by,
            )
        if found.state not in (DEAD, DELAYED):
            raise RefusedError(f"{task} is {self.state(found)}: there is nothing to release", task=task)
        kept = _noted(found, moment, note)
        return self._back(replace(kept, attempt=0) if found.state == DEAD else kept, moment, OPEN)

    def remove(self, task: str, *, force: bool = False) -> Task:
        """Forget a task that is done or dead, and that nobody waits for. The task as it was.

        With `force` any: a claim on it is over, and what waited for it waits for it no more.
        """
        found = self.get(task)
        waiting = sorted(self._needed_by.get(found.number, ()))
        if not force and found.state not in CLOSED:
            state = self.state(found)
            raise RefusedError(
                f"{task} is {state}: only what is done or dead is removed",
                f"corral task rm --force {task} removes it all the same",
                task=task,
                state=state,
            )
        if not force and waiting:
            names = [f"t{number}" for number in waiting]
            raise RefusedError(
                f"{task} is needed by {', '.join(names[:10])}, which would never know that it was not done",
                f"corral task release {task} revives it; with --force they wait for it no more",
                task=task,
                needed_by=names,
            )
        self._drop(found.number)
        self._needed_by.pop(found.number, None)
        for number in waiting:
            self._stand(self._tasks[number])
        return found

    def rested(self, number: int, revision: int) -> bool:
        """A task has rested since the change of that revision, and can be claimed. False if it is not so any more.

        Nothing of this has to be written down: after a restart it rests anew.
        """
        found = self._tasks.get(number)
        if found is None or found.state != DELAYED or found.revision != revision:
            return False
        self._put(replace(found, state=OPEN))
        return True

    def _claimed(self, task: str, token: int) -> Task:
        found = self.get(task)
        if found.claim is not None and found.claim.token == token:
            return found
        state = self.state(found)
        whose = f"{state} by {found.claim.by}" if found.claim is not None else state
        details = {"holder": found.claim.by} if found.claim is not None else {}
        raise RefusedError(
            f"the token {token} of {task} is not valid: {task} is {whose} now",
            f"stop working on it: it is not yours any more, and corral task show {task} tells what became of it",
            task=task,
            state=state,
            **details,
        )

    # What a change leaves behind

    def _back(self, task: Task, moment: Moment, state: str) -> Changed:
        changed = self._put(replace(task, state=state, claim=None, revision=moment.revision, time=moment.time))
        changed.ended = task.claim
        return changed

    def _end(self, task: Task, moment: Moment, state: str, result: str = "") -> Changed:
        changed = self._back(replace(task, result=result), moment, state)
        changed.dropped = self._forget_oldest(state)
        return changed

    def _forget_oldest(self, state: str) -> list[int]:
        """Drop what was closed so long ago that nobody asks for it. A dead one that others wait for stays."""
        closed = self._closed[state]
        dropped = []
        for number in list(islice(closed, max(0, len(closed) - KEPT_CLOSED))):
            if not self._needed_by.get(number):
                dropped.append(number)
                self._drop(number)
        return dropped

    def _put(self, *tasks: Task) -> Changed:
        self._keep(*tasks)
        return Changed(list(tasks))


def _noted(task: Task, moment: Moment, text: str) -> Task:
    """The task with one more note; the oldest go when there are too many."""
    if not text:
        return task
    check_text("the note", text, LONGEST_NOTE)
    if "\0" in text:
        raise WrongUseError("the note has a NUL character in it", "leave it out")
    notes = (*task.notes, Note(moment.time, moment.by, text))
    return replace(task, notes=notes[-KEPT_NOTES:], revision=moment.revision)
