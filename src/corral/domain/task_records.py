"""What a task is, what can be one, and how long it rests after an attempt that failed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from corral.domain.errors import NotFoundError, WrongUseError

# States, as they are told.
#: It can be claimed.
READY = "ready"
#: It needs other tasks, and not all of them are done.
WAITING = "waiting"
#: An attempt failed, and the next has to wait for a while.
DELAYED = "delayed"
CLAIMED = "claimed"
DONE = "done"
#: Its attempts are used up: a dead letter. Somebody has to look at it.
DEAD = "dead"
STATES = (READY, WAITING, DELAYED, CLAIMED, DONE, DEAD)
#: Nothing will become of it by itself.
CLOSED = frozenset({DONE, DEAD})
#: In a record, for ready and waiting alike: which of them it is follows from the tasks that it needs.
OPEN = "open"

LONGEST_TITLE, LARGEST_TEXT, LONGEST_NOTE, LONGEST_KEY, LONGEST_LABEL = 300, 64 << 10, 4096, 200, 60
LOWEST_PRIORITY, HIGHEST_PRIORITY = -1000, 1000
MOST_LABELS, MOST_NEEDS, MOST_ATTEMPTS, KEPT_NOTES = 16, 64, 1000, 20
DEFAULT_ATTEMPTS = 3
#: Seconds after the first attempt that failed; after each further one it is twice as long, up to the longest.
DEFAULT_BACKOFF, LONGEST_BACKOFF = 5.0, 3600.0
#: Seconds that a claim holds if nobody renews it.
SHORTEST_TTL, DEFAULT_TTL, LONGEST_TTL = 1.0, 60.0, 86400.0
_LONGEST_NUMBER = 18

#: What a task weighs in a share besides what is said in it.
WEIGHT_OF_ONE = 1024


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody had to say about a task."""

    time: float
    #: An agent, or a person.
    by: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Whose a task is now."""

    #: Greater than that of every claim before it. What is done in the name of another one is refused.
    token: int
    #: The agent as TEAM/AGENT, or the person.
    by: str
    #: The name of the agent and its run; empty if it is a person's. While that run lives, so does the claim.
    agent: str
    run: str
    #: Seconds that it holds from the last sign of life on.
    ttl: float
    time: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task that is about to be added. The greater its priority, the sooner it is claimed."""

    title: str
    body: str = ""
    priority: int = 0
    #: Only who has all of them gets it.
    labels: Sequence[str] = ()
    #: Tasks that must be done before this one.
    after: Sequence[str] = ()
    #: Tasks that this one must be done before.
    before: Sequence[str] = ()
    #: With the same key, it is the same task: it is added once, however often that is asked for.
    key: str = ""
    max_attempts: int = DEFAULT_ATTEMPTS
    backoff: float = DEFAULT_BACKOFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as it is now."""

    #: The revision of the change that added it: no other task ever has this number.
    number: int
    title: str
    body: str
    priority: int
    labels: tuple[str, ...]
    #: Numbers of tasks.
    needs: tuple[int, ...]
    key: str
    max_attempts: int
    backoff: float
    #: Who added it: the agent or the person, and the person behind it, whose turn it counts as.
    by: str
    person: str
    added: float

    #: OPEN, DELAYED, CLAIMED, DONE or DEAD.
    state: str = OPEN
    #: Of the change that made it what it is, and when that was.
    revision: int = 0
    time: float = 0.0
    #: How often it was claimed; a claim that was given back does not count.
    attempt: int = 0
    #: Of the last claim; 0 before the first.
    token: int = 0
    claim: Claim | None = None
    result: str = ""
    notes: tuple[Note, ...] = ()

    @property
    def id(self) -> str:
        """As it is named to everybody."""
        return f"t{self.number}"

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return len(self.title) + len(self.body) + len(self.result) + sum(len(note.text) for note in self.notes)

    @property
    def weight(self) -> int:
        """What it costs in a share to keep it: bytes, roughly."""
        return self.size + WEIGHT_OF_ONE

    @property
    def rest(self) -> float:
        """Seconds until it can be tried again, counted from an attempt that failed."""
        # The power is bounded, for a float is: a thousand attempts are possible.
        return min(LONGEST_BACKOFF, self.backoff * 2.0 ** min(max(self.attempt, 1) - 1, 30))


def number_of(task: str) -> int:
    """The number in a task's id; `NotFoundError` for what is no id."""
    digits = task[1:]
    # As it is written by us: another spelling of a number would be another name of the same task.
    if task[:1] != "t" or not digits.isascii() or not digits.isdigit() or digits[0] == "0":
        raise unknown_task(task)
    if len(digits) > _LONGEST_NUMBER:
        raise unknown_task(task)
    return int(digits)


def unknown_task(task: str) -> NotFoundError:
    """There is none of that name, or not any more."""
    shown = task if task.isprintable() and len(task) <= 40 else repr(task[:40])
    return NotFoundError(f"there is no task {shown}", "corral task ls shows those that are not done")


def check_new(new: NewTask) -> None:
    """Raise `WrongUseError` for what can be no task."""
    if not new.title.strip():
        raise WrongUseError("a task needs a title", "say in a line what is to be done; the rest is its body")
    check_text("the title", new.title, LONGEST_TITLE)
    if not new.title.isprintable():
        raise WrongUseError("the title has something in it that cannot be seen", "write one line; the rest is the body")
    check_text("the body", new.body, LARGEST_TEXT)
    if not LOWEST_PRIORITY <= new.priority <= HIGHEST_PRIORITY:
        raise WrongUseError(
            f"the priority {new.priority} is out of range", f"{LOWEST_PRIORITY} to {HIGHEST_PRIORITY}; 0 is usual"
        )
    check_labels(new.labels)
    if new.key:
        check_text("the key", new.key, LONGEST_KEY)
    if len(new.after) + len(new.before) > MOST_NEEDS:
        raise WrongUseError(
            f"the task is tied to {len(new.after) + len(new.before)} others", f"at most {MOST_NEEDS} are possible"
        )
    if not 1 <= new.max_attempts <= MOST_ATTEMPTS:
        raise WrongUseError(f"{new.max_attempts} attempts are not possible", f"1 to {MOST_ATTEMPTS} are")
    if not 0 <= new.backoff <= LONGEST_BACKOFF:
        raise WrongUseError(
            f"{new.backoff:g} seconds between attempts are not possible", f"0 to {LONGEST_BACKOFF:g} are"
        )


def check_labels(labels: Collection[str]) -> None:
    """Raise `WrongUseError` for what can be no labels."""
    if len(labels) > MOST_LABELS:
        raise WrongUseError(f"{len(labels)} labels are too many", f"at most {MOST_LABELS} are possible")
    for label in labels:
        if not 0 < len(label) <= LONGEST_LABEL or not label.isprintable() or label != label.strip():
            raise WrongUseError(
                f"{label[:LONGEST_LABEL]!r} cannot be a label", f"1 to {LONGEST_LABEL} letters, such as gpu"
            )
        check_text("a label", label, LONGEST_LABEL * 4)


def check_ttl(ttl: float) -> None:
    """Raise `WrongUseError` for what can be no time-out of a claim."""
    if not SHORTEST_TTL <= ttl <= LONGEST_TTL:
        raise WrongUseError(
            f"a claim cannot hold for {ttl:g} seconds", f"{SHORTEST_TTL:g} to {LONGEST_TTL:g} are possible"
        )


def check_text(what: str, text: str, most: int) -> None:
    """Raise `WrongUseError` for text that is too long, or none."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise WrongUseError(f"{what} must be text", "use UTF-8") from None
    if size > most:
        raise WrongUseError(
            f"{what} has {size} bytes, and {most} are the most", "put it into a file, and the file's name here"
        )
