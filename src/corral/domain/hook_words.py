"""What an agent's hook says it was given to read: the proof that a message arrived. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from corral.domain.hook_calls import event_word, text_of

#: The events of all dialects at which somebody's words reach the agent.
_EVENTS = frozenset({"user-prompt-submit", "before-submit-prompt", "before-agent"})


def words_of(event: str, said: object) -> str:
    """The words that were submitted, at an event in any spelling; empty if the event tells of none."""
    if event_word(event) not in _EVENTS or not isinstance(said, Mapping):
        return ""
    return text_of(said, ("prompt", "user_prompt"))
