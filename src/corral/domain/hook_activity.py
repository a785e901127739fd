"""What an agent does, as an event of its hooks tells. Pure.

An event that can come at any time, such as the end of an agent below it, tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from corral.domain.activity import HOOK, IDLE, PERMISSION, QUESTION, WAITING, WORKING, Said
from corral.domain.hook_calls import event_word, text_of

_WORDS: dict[str, tuple[str, str]] = {
    # Claude Code, Codex, and our plugins in OpenCode and pi
    "user-prompt-submit": (WORKING, ""),
    "pre-tool-use": (WORKING, ""),
    "post-tool-use": (WORKING, ""),
    "post-tool-use-failure": (WORKING, ""),
    "permission-request": (WAITING, PERMISSION),
    "permission-reply": (WORKING, ""),
    "pre-compact": (WORKING, ""),
    "stop": (IDLE, ""),
    "interrupt": (IDLE, ""),
    # Gemini CLI
    "before-agent": (WORKING, ""),
    "before-tool": (WORKING, ""),
    "after-tool": (WORKING, ""),
    "after-agent": (IDLE, ""),
    # Cursor
    "before-submit-prompt": (WORKING, ""),
}
#: A notification says what it is about.
_NOTIFICATIONS: dict[str, tuple[str, str]] = {
    "permission_prompt": (WAITING, PERMISSION),
    "ToolPermission": (WAITING, PERMISSION),
    "elicitation_dialog": (WAITING, QUESTION),
    "idle_prompt": (IDLE, ""),
}


def said(event: str, told: object, now: float) -> Said | None:
    """What the event says, in whichever spelling it came; None if nothing."""
    name = event_word(event)
    found = _WORDS.get(name)
    if name == "notification" and isinstance(told, Mapping):
        found = _NOTIFICATIONS.get(text_of(told, ("notification_type",)))
    if found is None:
        return None
    word, about = found
    return Said(word=word, about=about, by="".join(part.capitalize() for part in name.split("-")), at=now, source=HOOK)
