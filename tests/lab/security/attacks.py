"""What an attack is: who tries what, how it must fail, and where it must be told of.

Attacks are rows of tables in the files beside this one. Each is a line of shell that a real user, or a real agent, runs
on a server where ann has the team `shop` up. `Ground` has names for what is there to be attacked: see its `names`.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.lab.support.shared import system
from tests.support.waiting import wait_for

Entry = dict[str, Any]

#: Who tries. ben is a member with the role of juniors, cleo is in the group and no member, dev is neither.
BEN, CLEO, DEV = "ben", "cleo", "dev"
#: Agents: shop/web is ann's, beside the one that is attacked (shop/api); mill/spy is ben's.
WEB, SPY = "shop/web", "mill/spy"
#: The system user of the daemon: what somebody has who has taken that over. It may connect, and is no member.
DAEMON = "corral"


@dataclass(frozen=True, kw_only=True)
class Trail:
    """An entry of the audit trail: a denial of this verb, by this rule."""

    verb: str
    rule: str
    why: str = ""

    def find(self, since: str, who: str) -> bool:
        return any(self._fits(entry, who) for entry in entries(since))

    def _fits(self, entry: Entry, who: str) -> bool:
        by = entry["who"]
        # Whoever is not believed to be an agent is told of as the user that the kernel says it is.
        meant = by["agent"] == who if "/" in who and self.rule != "identity" else by["user"] == _user_of(who)
        return (
            meant
            and not entry["allowed"]
            and (entry["verb"], entry["rule"]) == (self.verb, self.rule)
            and self.why in entry["detail"].get("why", "")
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An entry of the audit trail of something that the policy allows, and that came to nothing."""

    verb: str
    #: Empty if any will do.
    outcome: str

    def find(self, since: str, who: str) -> bool:
        return any(
            entry["verb"] == self.verb
            and entry["outcome"] == (self.outcome or entry["outcome"])
            and who in (entry["who"]["user"], entry["who"]["agent"])
            for entry in entries(since)
        )


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event of Corral's own journal, with these words in it."""

    event: str
    words: str = ""

    def find(self, since: str, who: str) -> bool:
        told = system("corral", "events", "-n", "all", "--json").stdout.splitlines()
        found = [line for line in told if json.loads(line)["time"] >= since and self.words in line]
        return any(
            event["event"] == self.event and event["who"]["user"] == _user_of(who) for event in map(json.loads, found)
        )


@dataclass(frozen=True, kw_only=True)
class Syslog:
    """A line of the system's journal, by what said it, that fits this expression."""

    identifier: str
    line: str

    def find(self, since: str, who: str) -> bool:
        lines = system(
            "journalctl",
            f"--since={since[:19].replace('T', ' ')} UTC",
            "--output=cat",
            f"--identifier={self.identifier}",
        )
        return re.search(self.line, lines.stdout) is not None


@dataclass(frozen=True, kw_only=True)
class Nowhere:
    """Refused by the kernel, or by a program that is not Corral's, before anything of Corral hears of it.

    There is nothing that Corral could tell; who wants a record of that has the audit of the kernel.
    """

    by: str = "the kernel"

    def find(self, since: str, who: str) -> bool:
        return not [entry for entry in entries(since) if who in (entry["who"]["user"], entry["who"]["agent"])]


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A row of a table."""

    name: str
    who: str
    #: Run by `sh`. `exit 0`, or a canary in what is said, means that it worked.
    what: str
    #: What must be said, as a regular expression.
    says: str
    told: Trail | Outcome | Event | Syslog | Nowhere


def kept_out(name: str, who: str, what: str, *, says: str = "Permission denied", by: str = "the kernel") -> Attack:
    """What nothing of Corral's hears of."""
    return Attack(name=name, who=who, what=what, says=says, told=Nowhere(by=by))


def denied(name: str, who: str, what: str, *, says: str, verb: str, rule: str) -> Attack:
    """What the policy denies, and the trail has."""
    return Attack(name=name, who=who, what=what, says=says, told=Trail(verb=verb, rule=rule))


def asked(
    verb: str, rule: str, who: str, line: str, says: str = "may .* only|may (not|.* no) ", *, terminal: bool = False
) -> Attack:
    """What a command of Corral's asks, and the policy denies."""
    what = f"script -qec 'corral {line}' /dev/null" if terminal else f"corral {line}"
    return denied(f"{line} ({who})", who, what, says=says, verb=verb, rule=rule)


def fruitless(name: str, who: str, what: str, *, says: str, verb: str, outcome: str) -> Attack:
    """What the policy allows, and what comes to nothing."""
    return Attack(name=name, who=who, what=what, says=says, told=Outcome(verb=verb, outcome=outcome))


def each(table: Sequence[Attack]) -> pytest.MarkDecorator:
    """A test of every row."""
    names = [attack.name.replace(" ", "-").replace("/", ".") for attack in table]
    return pytest.mark.parametrize("attack", table, ids=names)


def entries(since: str) -> list[Entry]:
    """The trail from that time on, as root reads it."""
    told = system("corral", "audit", "export", "--format", "jsonl").stdout
    return [entry for entry in map(json.loads, told.splitlines()) if entry["time"] >= since]


def now() -> str:
    """The time as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_told(attack: Attack, since: str) -> None:
    """Wait until it is told of where it must be."""
    try:
        # What came before from the same address over TCP is counted for ten seconds, and then told of.
        wait_for(lambda: attack.told.find(since, attack.who), 15, f"{attack.name} is told of: {attack.told}")
    except AssertionError as error:
        error.add_note("the trail has:\n" + "\n".join(map(json.dumps, entries(since)[:5])))
        raise


def _user_of(who: str) -> str:
    return {WEB: "ann", SPY: "ben"}.get(who, who)
