"""Which entries of the audit trail somebody asks for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from corral.domain.audit import Entry
from corral.domain.audit_detail import names_in
from corral.domain.policy import names_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an entry has to be like. What is empty or None asks for nothing."""

    #: RFC 3339 in UTC, as entries have it: such times sort as text.
    since: str = ""
    until: str = ""
    #: A user by name or uid.
    who: str = ""
    #: AGENT or TEAM/AGENT: who did it, to whom it was done, or who was written to.
    agent: str = ""
    #: Patterns of verbs, of which one must fit.
    verbs: Sequence[str] = ()
    trace: str = ""
    #: Only what was not allowed.
    denied: bool = False

    def fits(self, entry: Entry) -> bool:
        """True if the entry is one of those."""
        note = entry.note
        return (
            not (self.since and note.time < self.since)
            and not (self.until and note.time >= self.until)
            and (not self.who or self.who in (note.who.user, str(note.who.uid)))
            and (not self.agent or self._has_agent(entry))
            and (not self.verbs or self._has_verb(note.verb))
            and (not self.trace or note.trace == self.trace)
            and not (self.denied and note.allowed)
        )

    def _has_verb(self, verb: str) -> bool:
        """By whichever of its names: older entries have others."""
        return any(fnmatchcase(name, pattern) for name in names_of(verb) for pattern in self.verbs)

    def _has_agent(self, entry: Entry) -> bool:
        who, on = entry.note.who, entry.note.on
        named = {who.agent, who.agent.rpartition("/")[2], on.agent, f"{on.team}/{on.agent}"}
        return self.agent in named or self._is_told(entry)

    def _is_told(self, entry: Entry) -> bool:
        """Whether it is one of those that a message goes to, as far as they are named."""
        to, team = entry.note.detail.get("to"), entry.note.on.team
        words = names_in(to) if isinstance(to, str) else []
        return any(self.agent in (word, word.rpartition("/")[2], f"{team}/{word}") for word in words)


EVERYTHING = Wanted()
