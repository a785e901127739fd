"""What an answer to an entry of the inbox means: which keys are pressed for it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from corral.domain.errors import RefusedError, WrongUseError
from corral.domain.inbox_records import APPROVE, DENY, Entry

#: An answer in words.
TEXT = "text"
#: Bytes that an answer in words may have.
LARGEST_TEXT = 1 << 20
#: Letters that a field of a dialog is given: what is written there has to be seen, and a screen has but so much room.
LONGEST_IN_FIELD = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What somebody says to an entry: one of `approve` and `deny`, the number of a choice, or words."""

    say: str = ""
    option: int = 0
    text: str = ""

    @property
    def named(self) -> str:
        """How it is told and journalled; words are not."""
        return self.say or (str(self.option) if self.option else TEXT)


def must_have_been_shown(before: Entry, now: Entry, answer: Answer) -> None:
    """Refuse an answer to a question that nobody can have read: it was drawn after the entry was last looked at.

    To deny is safe whatever it asks.
    """
    if now.cause.mark and not before.cause.mark and answer.say != DENY:
        raise RefusedError(
            f"the question of entry {now.number} has only now been drawn: nobody has read it yet; nothing was pressed",
            f"corral inbox show {now.number}, then answer it",
            lines=list(now.cause.lines),
        )


def keys_of(entry: Entry, answer: Answer) -> tuple[str, ...]:
    """The keys that say so, as tmux names them; none for words, which are written.

    `RefusedError` if the entry cannot be answered so, with what a person can do instead.
    """
    cause = entry.cause
    if answer.say in (APPROVE, DENY):
        keys = cause.approve if answer.say == APPROVE else cause.deny
        if not keys or not cause.mark:
            raise RefusedError(f"nobody knows which key would {answer.say} entry {entry.number}", instead(entry))
        return keys
    if answer.option:
        if not cause.mark or not cause.choices:
            raise RefusedError(f"entry {entry.number} offers no numbered choice now", instead(entry))
        if all(choice.number != answer.option for choice in cause.choices):
            offered = ", ".join(f"{choice.number} ({choice.text})" for choice in cause.choices)
            raise WrongUseError(f"entry {entry.number} has no choice {answer.option}", f"it offers {offered}")
        return (str(answer.option),)
    if not answer.text.strip():
        raise WrongUseError("the answer is empty", "name a choice by its number, or write the words to be sent")
    if not cause.text:
        raise RefusedError(f"entry {entry.number} takes no words for an answer", instead(entry))
    if cause.mark and (len(answer.text) > LONGEST_IN_FIELD or not answer.text.isprintable()):
        raise WrongUseError(
            f"the field of entry {entry.number} takes one line, of at most {LONGEST_IN_FIELD} letters",
            "say it shorter, or answer so that it asks no more, and use corral send",
        )
    return ()


def instead(entry: Entry) -> str:
    """What a person can do about an entry, in words."""
    cause, number = entry.cause, entry.number
    if cause.remedy:
        return cause.remedy
    ways = []
    if cause.mark and cause.choices:
        ways.append(f"corral inbox answer {number} {cause.choices[0].number}")
    if cause.text:
        ways.append(f"corral inbox answer {number} TEXT")
    if cause.mark and cause.approve:
        ways.append(f"corral inbox approve {number}")
    ways.append(f"corral attach {cause.team}/{cause.agent}, and answer it there")
    return "; or ".join(ways)


def ways(entry: Entry) -> list[str]:
    """How an entry can be answered, if it waits: `approve`, `deny`, `option`, `text`."""
    cause = entry.cause
    if not entry.waits:
        return []
    offered = ((APPROVE, cause.approve), (DENY, cause.deny), ("option", cause.choices))
    return [word for word, is_there in offered if cause.mark and is_there] + ([TEXT] if cause.text else [])
