"""What people are told of: something of the inbox, a team that is alone, a lifetime that is over, a guest. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from corral.domain.inbox_answers import ways
from corral.domain.inbox_records import KINDS, Entry
from corral.domain.timestamps import timestamp

#: What is told of and waits for no answer.
UNATTENDED, LIFETIME, SESSION = "unattended", "lifetime", "session"
#: All that can be told of, in the order in which people are told of them.
NOTICE_KINDS = (*KINDS, UNATTENDED, LIFETIME, SESSION)

#: Of what waits for no answer: it will happen; it has.
ANNOUNCED, DONE = "announced", "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something to tell people."""

    #: One of `NOTICE_KINDS`.
    kind: str
    team: str
    #: Empty if it is about no agent.
    agent: str = ""
    #: In a few words, with whose it is.
    headline: str
    #: In one line.
    what: str
    #: Unix time since when it is so.
    since: float
    #: The number in the inbox; None if it is not there.
    entry: int | None = None
    #: What else programs are told of it, by name; see `body`.
    more: Mapping[str, object] = field(default_factory=dict)
    #: What terminals that are attached to the team show, whatever its settings say, because it is about what they look
    #: at; empty if it is for the settings to say.
    shown: str = ""

    @property
    def whose(self) -> str:
        """The agent with its team, or the team."""
        return f"{self.team}/{self.agent}" if self.agent else self.team

    @property
    def body(self) -> dict[str, object]:
        """What a webhook or a command gets. The same names for every kind, so that who reads `text` needs no other."""
        return {
            "entry": self.entry,
            "team": self.team,
            "agent": self.agent,
            "kind": self.kind,
            "since": timestamp(self.since),
            "what": self.what,
            "lines": [],
            "options": [],
            "can": [],
            "text": f"{self.headline}: {self.what}",
            **self.more,
        }


def of_entry(entry: Entry) -> Notice:
    """Something waits for a person: told as `corral inbox show --json` does, without the whole screen."""
    cause = entry.cause
    whose = f"{cause.team}/{cause.agent}" if cause.agent else cause.team
    return Notice(
        kind=cause.kind,
        team=cause.team,
        agent=cause.agent,
        headline=f"{whose} waits for you ({cause.kind})",
        what=cause.what,
        since=entry.since,
        entry=entry.number,
        more={
            "lines": list(cause.lines),
            "options": [{"option": choice.number, "text": choice.text} for choice in cause.choices],
            "can": ways(entry),
        },
    )
