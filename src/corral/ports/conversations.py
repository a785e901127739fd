"""What the daemon asks a keeper of an agent's conversations, and of the state of its work when it is forked."""

from __future__ import annotations

from typing import Protocol

from corral.ports.record import Record


class ConversationsSeen(Record, frozen=True):
    """What there is of an agent's conversations, in the files of its program. See `domain.conversations.Seen`."""

    #: False if its program keeps none that could be looked at.
    looked: bool = False
    #: The conversation that was asked for is there.
    there: bool = False
    #: The one that was written to last in the agent's workspace since the time that was named.
    newest: str = ""


class TranscriptOrder(Record, frozen=True):
    """The transcript of a run, which is to be followed."""

    agent: str
    run: str
    #: Of the program that writes it.
    profile: str
    #: Where the agent works.
    directory: str
    #: What was written before is of earlier runs.
    since: float
    #: Its conversation; empty if it is the one that was written to last in the directory.
    session: str


class ForkPoint(Record, frozen=True):
    """The state of a worktree that another one is to begin with."""

    #: Its HEAD; empty if it has no commit.
    commit: str = ""
    #: What is in no commit, in words; empty if that is nothing.
    uncommitted: str = ""


class Conversing(Protocol):
    """Part of `ports.keeper.Keeper`."""

    async def look_for_conversation(
        self,
        *,
        team: str,
        agent: str,
        profile: str,
        directory: str,
        since: float,
        session: str,
        environment: dict[str, str] | None,
    ) -> ConversationsSeen:
        """Look through what the program of that profile keeps of conversations held in `directory`.

        Without an environment, that of the agent's last run says where that is. Changes nothing.
        """

    async def follow_transcript(self, team: str, order: TranscriptOrder) -> None:
        """Look for the transcript of a run, and report what it says from then on (`reports.RecordsSaid`).

        It is looked for a few times; a run that is still without one then has to be asked for again.
        """

    async def copy_environment(self, *, team: str, source: str, agent: str, own: dict[str, str]) -> None:
        """Keep the environment of one agent for another, which is started with it later, but for what is its own.

        So nobody but the keeper sees it: values may be secret. `NotFoundError` if it is gone.
        """

    async def fork_point(self, path: str) -> ForkPoint:
        """What a worktree that begins where the one at `path` is now would begin with."""
