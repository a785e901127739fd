"""What is known of one branch on its way into the target. Immutable; a change is a new record."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.errors import NotFoundError

#: On the way: in line; being merged and tested with others; the target is about to be moved.
QUEUED, TESTING, LANDING = "queued", "testing", "landing"
#: At an end: it is in the target; it conflicts with it; a gate failed; somebody holds what it changes, or its token is
#: stale, or its commit is gone; somebody wants it no more.
MERGED, CONFLICT, FAILED, REFUSED, CANCELLED = "merged", "conflict", "failed", "refused", "cancelled"
ON_THE_WAY = frozenset((QUEUED, TESTING, LANDING))
#: How the step of one begins that waits for somebody.
WAITS = "waits: "
STATES = (QUEUED, TESTING, LANDING, MERGED, CONFLICT, FAILED, REFUSED, CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRun:
    """How a gate ended that was run for a merge."""

    command: str
    #: As a shell tells it; None if it was ended because its time was up, or nobody saw how it ended.
    code: int | None
    seconds: float
    #: The end of what it wrote, and how many bytes came before that.
    output: str = ""
    omitted: int = 0
    timed_out: bool = False
    #: Processes that it started and left; they were ended.
    left: int = 0

    @property
    def passed(self) -> bool:
        return self.code == 0 and not self.timed_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A branch that was submitted."""

    number: int
    team: str
    branch: str
    #: The commit that is merged: that of the branch when it was submitted, or tried again.
    tip: str
    subject: str
    target: str
    #: The repository that it was submitted in, by the directory that git keeps it in. A team of this name can be up in
    #: another one later, a clone, and it is not merged there. Empty if it is not known.
    repository: str = ""
    #: Who is accountable: the agent whose work it is, empty if it is a person's own; and the person, as the kernel
    #: says.
    agent: str
    person: str
    uid: int
    #: The run of the agent that submitted it: what that run lost to somebody else, it must not write any more.
    run: str = ""
    #: Under which trace the audit trail has the request that put it in line; empty if there is none.
    trace: str = ""
    #: The tokens of leases that it relies on.
    tokens: tuple[int, ...] = ()
    #: Its place in line: the least is first. A new one when it is tried again.
    place: int
    #: Others with the same number are tried together with it, and nobody else; 0 as long as no batch with it failed.
    group: int = 0
    state: str = QUEUED
    attempt: int = 1
    #: Of its last change.
    revision: int
    submitted_at: float
    changed_at: float
    #: What is done with it now, or why nothing is; in words.
    step: str = ""
    #: Why it is at its end, and what helps.
    reason: str = ""
    remedy: str = ""
    #: Files that are in conflict.
    files: tuple[str, ...] = ()
    #: Where the target was, and the merge commit, once there is one.
    base: str = ""
    commit: str = ""
    #: With which others it was tested last, itself included.
    batch: tuple[int, ...] = ()
    gates: tuple[GateRun, ...] = ()
    #: Whose it is has been told by a message that it waits for somebody.
    told_to_wait: bool = False

    @property
    def name(self) -> str:
        return name_of(self.number)

    @property
    def party(self) -> str:
        """Whose it is: the agent as TEAM/AGENT, or the person."""
        return f"{self.team}/{self.agent}" if self.agent else self.person

    @property
    def is_on_the_way(self) -> bool:
        return self.state in ON_THE_WAY

    @property
    def waits(self) -> bool:
        """Nothing is done with it until something else has changed; `step` says what."""
        return self.is_on_the_way and self.step.startswith(WAITS)

    def belongs_to(self, repository: str) -> bool:
        """False if it was submitted in another repository."""
        return not self.repository or not repository or self.repository == repository


def name_of(number: int) -> str:
    """What a merge is called."""
    return f"q{number}"


def number_of(name: str) -> int:
    """The number in the name of a merge; `NotFoundError` for what is none."""
    digits = name.removeprefix("q")
    if name.startswith("q") and digits.isascii() and digits.isdigit() and len(digits) <= 18:
        return int(digits)
    raise NotFoundError(f"{name[:80]!r} is no merge", "corral merge ls shows those that there are; such as q12")
