"""Conversations that go on: how a coding agent's last one is known, and with which words it is continued. Pure.

A *conversation* is what an agent remembers of its work: a coding agent keeps it in a file of its own and has a name for
it, its id. Each start of an agent either goes on with the one it had, or begins a new one (`opening`). What a program's
words for that are is data of its profile (`Ways`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from corral.domain.records import (
    NO_CONVERSATION,
    PROMPT_NONE,
    PROMPT_SENDING,
    PROMPT_SENT,
    PROMPT_UNKNOWN,
    PROMPT_WAITING,
    Agent,
    Conversation,
)
from corral.domain.told_records import RecordRule

# How the id of a conversation is known.
#: Its hook told it.
HOOK = "hook"
#: We chose it, and gave it to the program.
GIVEN = "given"
#: It is the newest in the agent's workspace.
TRANSCRIPT = "transcript"

#: Words in a profile that stand for the id of a conversation, for the id of a new one, and for where the agent works.
SESSION, NEW, DIRECTORY = "{session}", "{new}", "{directory}"

#: A run that continued a conversation and ended with an error this soon could not continue it.
SOON = 20.0
#: What an id may be: it becomes a word of a command line, so nothing that begins like an option.
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Transcripts:
    """Where a program keeps its conversations, one a file."""

    #: Directories, `~` and `$NAME` being those of the agent's environment. The first whose variables are set counts.
    roots: tuple[str, ...]
    #: Glob patterns below it.
    files: tuple[str, ...]
    #: Regular expression for a whole file name; the group `session` is the id.
    session: str
    #: The member, as `a.b`, that names the directory it was held in: in one of the first lines, which are JSON objects.
    directory: str
    #: Which of its lines say what the program does, and the member that names the moment of a line.
    records: tuple[RecordRule, ...] = ()
    time: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ways:
    """How a program continues conversations."""

    #: Words after the program that continue the conversation `SESSION`.
    resume: tuple[str, ...]
    #: Words that continue it as another one, so that it stays as it is; none if the program cannot do that.
    fork: tuple[str, ...] = ()
    #: Words that begin a conversation with the id `NEW`; none if the program chooses itself.
    begin: tuple[str, ...] = ()
    #: A command that has one of these words says itself which conversation it has: it is started as it is.
    unless: tuple[str, ...] = ()
    transcripts: Transcripts | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is of an agent's conversations, in the files of its program."""

    #: False if the program keeps none that could be looked at.
    looked: bool = False
    #: The conversation that was asked for is there.
    there: bool = False
    #: The one that was written to last in the agent's workspace since its run began; empty if there is none.
    newest: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a run is to begin."""

    #: Words to put behind the program.
    words: tuple[str, ...]
    conversation: Conversation
    prompt_state: str


def is_id(text: str) -> bool:
    """True for what can be the id of a conversation."""
    return _ID.fullmatch(text) is not None


def decides_itself(words: Sequence[str], ways: Ways) -> bool:
    """True if the words of a command say which conversation it has."""
    return any(word.partition("=")[0] in ways.unless for word in words)


def present(known: Conversation, seen: Seen, *, alone: bool) -> tuple[str, str]:
    """The id of the conversation that an agent had last, and how it is known; empty if it had none that is left.

    `alone` is False if others use the same program in the same directory: then the newest there may be theirs.
    """
    newest = seen.newest if alone else ""
    if newest and known.evidence in ("", TRANSCRIPT):
        return newest, TRANSCRIPT  # it may have begun another one meanwhile
    if known.id and (seen.there or not seen.looked):
        return known.id, known.evidence
    # What nobody ever said a word in was never written.
    return (newest, TRANSCRIPT) if newest else ("", "")


def opening(
    agent: Agent, ways: Ways | None, seen: Seen, *, alone: bool, now: float, new_id: Callable[[], str]
) -> Opening:
    """How the next run of an agent begins: with the conversation it had, with a fork of another's, or anew.

    Without `ways`, nobody knows how its program does that, or its command says itself.
    """
    past = agent.conversation
    asked = PROMPT_WAITING if agent.prompt else PROMPT_NONE
    if ways is None:
        return Opening((), Conversation(begun_at=now), asked)
    session, evidence = present(past, seen, alone=alone)
    if session:
        going_on = Conversation(id=session, evidence=evidence, resumed=True, begun_at=now, forked_from=past.forked_from)
        return Opening(_filled(ways.resume, agent, session, ""), going_on, _prompt_of(agent, asked))
    if past.forked_from and ways.fork:
        own = new_id() if NEW in ways.fork else ""
        forked = Conversation(
            id=own,
            evidence=GIVEN if own else "",
            resumed=True,
            begun_at=now,
            forked_from=past.forked_from,
        )
        return Opening(_filled(ways.fork, agent, past.forked_from, own), forked, _prompt_of(agent, asked))
    own = new_id() if ways.begin else ""
    begun = Conversation(id=own, evidence=GIVEN if own else "", begun_at=now, unresumed=past.unresumed)
    return Opening(_filled(ways.begin, agent, "", own), begun, asked)


def _prompt_of(agent: Agent, asked: str) -> str:
    """What was said in a conversation is not said again when it goes on; nor what may have been."""
    said = {PROMPT_SENT: PROMPT_SENT, PROMPT_SENDING: PROMPT_UNKNOWN, PROMPT_UNKNOWN: PROMPT_UNKNOWN}
    return said.get(agent.prompt_state, asked)


def _filled(words: Sequence[str], agent: Agent, session: str, new: str) -> tuple[str, ...]:
    values = {SESSION: session, NEW: new, DIRECTORY: agent.workspace}
    return tuple(values.get(word, word) for word in words)


def after_exit(agent: Agent, code: int | None, signal: int | None, now: float) -> tuple[Agent, str]:
    """A run ended. If that was because its conversation could not be continued, which one; else nothing.

    Then the next start is a fresh one. If that one fails as soon, the conversation was not to blame, and the start
    after it tries it again: nothing is given up for a program that cannot start at all.
    """
    known = agent.conversation
    soon = signal is None and bool(code) and now - known.begun_at < SOON
    if soon and known.resumed:
        lost = known.id or known.forked_from
        return replace(agent, conversation=Conversation(begun_at=known.begun_at, unresumed=known.id)), lost
    if soon and known.unresumed:
        # Nothing was said in the fresh one: a run that took words did not fail at its start.
        back = Conversation(id=known.unresumed, evidence=GIVEN, begun_at=known.begun_at)
        return replace(agent, conversation=back), ""
    return agent, ""


def found(agent: Agent, session: str, evidence: str) -> Agent | None:
    """The agent with the id of its conversation; None if that is known already, or if it is none.

    What a hook told is not replaced by a guess.
    """
    known = agent.conversation
    if not is_id(session) or (known.id == session and known.evidence == evidence):
        return None
    if evidence == TRANSCRIPT and known.id and known.evidence != TRANSCRIPT:
        return None
    return replace(agent, conversation=replace(known, id=session, evidence=evidence))


def forgotten(agent: Agent) -> Agent:
    """The agent as if it had never had a conversation: its next run begins anew."""
    return replace(agent, conversation=NO_CONVERSATION, prompt_state=PROMPT_NONE)


def carried_over(before: Agent, after: Agent, *, same_program: bool) -> Agent:
    """An agent that is declared anew keeps its conversation, if the program and the place are still the same."""
    if not same_program or before.workspace != after.workspace:
        return after
    prompt_state = before.prompt_state if before.prompt == after.prompt else PROMPT_NONE
    return replace(after, conversation=before.conversation, prompt_state=prompt_state)
