"""What the scripted model says: rules on what a person asked for, and the turns that follow.

A conversation is read from its last words of a person on: what was said before is history. The first rule whose words
are in them tells the turns; which of them is next is how many the model has taken since. So whatever an agent asks
besides (a title, a summary) gets an answer too, and a request that is sent again gets the same one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Say:
    """Words, and the end of the model's turn."""

    text: str


@dataclass(frozen=True)
class Call:
    """The use of one of the agent's tools; the agent comes back with what it gave."""

    tool: str
    arguments: Mapping[str, object]


Turn = Say | Call


@dataclass(frozen=True)
class Held:
    """A turn that the model takes when it is told to, and not before: until then the agent works."""

    turn: Turn
    until: threading.Event


@dataclass(frozen=True)
class Refuse:
    """No turn at all: the model's server says no, with this status."""

    status: int
    message: str = "refused by the script"


@dataclass(frozen=True)
class Rule:
    """`when` is what a person's words must hold."""

    when: str
    then: Sequence[Turn | Held | Refuse]


@dataclass(frozen=True)
class Asked:
    """A request, whatever dialect it was in."""

    #: What a person said last.
    words: str
    #: How many turns the model has taken since.
    taken: int
    #: What the tools gave for them, in order.
    results: Sequence[str]
    #: Which tools the agent offers; none for what it asks for itself, such as a title.
    tools: Sequence[str] = ()
    #: All of it, as it was sent: what the model is told of the past is in there.
    whole: str = ""


@dataclass
class Script:
    """The rules, and what was asked."""

    rules: Sequence[Rule]
    otherwise: str = "Nothing to do."
    asked: list[Asked] = field(default_factory=list)

    def next_turn(self, asked: Asked) -> Turn | Held | Refuse:
        """What the model does now."""
        self.asked.append(asked)
        for rule in self.rules:
            if rule.when in asked.words:
                return rule.then[asked.taken] if asked.taken < len(rule.then) else Say("Done.")
        return Say(self.otherwise)

    def turns_for(self, words: str) -> list[Asked]:
        """Each time that a person said these words to an agent with tools: the first request of the turn."""
        return [asked for asked in list(self.asked) if words in asked.words and not asked.taken and asked.tools]

    def results_of(self, words: str) -> list[str]:
        """What the agent's tools gave for what a person asked with these words, as the model was told last."""
        told = [list(asked.results) for asked in self.asked if words in asked.words]
        return max(told, key=len, default=[])
