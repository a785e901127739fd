"""Forks: an agent beside another, with the same declaration and the past of the other. Pure.

No file declares a fork. It is part of its team until somebody removes it: `up` leaves it as it is, or starts it if it
does not run, `down` takes it down, `rm` removes it.
"""

from __future__ import annotations

from corral.domain import names
from corral.domain.conversations import Ways
from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.records import NO_CONVERSATION, Agent, Conversation

#: What a fork has of the other: all that was declared of it. What became of the other is its own.
DECLARED = (
    *("command", "shell", "workspace_kind", "restart", "fingerprint", "limits", "terminal", "stdin", "declared_as"),
    *("labels", "bind", "access", "kind", "ready_when", "after", "upkeep", "mcp", "hooks", "run_as"),
)


def check_name(name: str, taken: Agent | None) -> None:
    """Raises unless an agent of that name may be made."""
    if not names.is_valid(name):
        suggested = names.suggestion(name)
        meant = f"; did you mean '{suggested}'?" if suggested else ""
        raise WrongUseError(f"{name[:80]!r} cannot be the name of an agent", f"a name has {names.RULE}{meant}")
    if taken is not None:
        raise RefusedError(
            f"team {taken.team} has an agent {name} already, which is {taken.state}",
            f"choose another name, or remove it first: corral rm {taken.team}/{name}",
        )


def forked(
    source: Agent, name: str, *, position: int, workspace: str, prompt: str, session: str, since: float
) -> Agent:
    """The new agent. It goes on with the conversation `session` of the other, if there is one."""
    return Agent(
        team=source.team,
        name=name,
        position=position,
        workspace=workspace,
        prompt=prompt,
        since=since,
        # Of an agent that is a fork itself, the one that a file may declare.
        fork_of=source.fork_of or source.name,
        conversation=Conversation(forked_from=session) if session else NO_CONVERSATION,
        **{field: getattr(source, field) for field in DECLARED},
    )


def why_fresh(source: Agent, title: str, ways: Ways | None, session: str) -> str:
    """Why a fork begins a conversation of its own, in words; empty if it goes on with the other's."""
    if ways is None:
        return f"it begins a new conversation: Corral does not know how {title} continues one"
    if not ways.fork:
        return f"it begins a new conversation: {title} cannot go on with one of another directory"
    if not session:
        return f"it begins a new conversation: {source.name} has none, or none that is known"
    return ""
