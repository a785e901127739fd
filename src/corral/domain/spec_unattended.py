"""`unattended` of the `[supervision]` table: what happens to a team that nobody looks after."""

from corral.domain.attendance import NOTIFY, PAUSE, REACTIONS, STOP, Unattended
from corral.domain.spec_durations import read_duration, shown_duration
from corral.domain.spec_table import Table

#: What other words there are for the key.
ALIASES = {"alone": "unattended", "orphan": "unattended", "orphaned": "unattended"}
_KEYS = ("after", "then", "notice")
_KEY_ALIASES = {"timeout": "after", "within": "after", "action": "then", "do": "then", "warn": "notice"}
_THEN_ALIASES = {
    "tell": NOTIFY, "warn": NOTIFY, "event": NOTIFY,
    "freeze": PAUSE, "hold": PAUSE, "suspend": PAUSE,
    "down": STOP, "end": STOP, "kill": STOP,
}  # fmt: skip
EXAMPLE = 'unattended = { after = "2h", then = "pause" }'
_AFTER_EXAMPLE = 'after = "2h"'
_NOTICE_EXAMPLE = 'notice = "10m"'
_SHORTEST, _SHORTEST_NOTICE, _LONGEST = 1.0, 0.1, 90 * 86400.0


def read_unattended(table: Table) -> Unattended | None:
    """What the key says; None if it is not there, or wrong, which is reported."""
    inner = table.table("unattended", EXAMPLE)
    if inner is None:
        return None
    inner.only(_KEYS, _KEY_ALIASES)
    then = inner.word("then", REACTIONS, PAUSE, wrong="is nothing that can be done", aliases=_THEN_ALIASES)
    if "after" not in inner.data:
        inner.missing("after", f"add it, such as {_AFTER_EXAMPLE}")
        return None
    after = read_duration(inner, "after", _AFTER_EXAMPLE, least=_SHORTEST, most=_LONGEST)
    notice = None
    if "notice" in inner.data:
        notice = read_duration(inner, "notice", _NOTICE_EXAMPLE, least=_SHORTEST_NOTICE, most=_LONGEST)
    if after is None:
        return None
    if notice is not None and notice > after:
        inner.wrong("notice", f"this is longer than after, which is {shown_duration(after)}", "choose a shorter notice")
    return Unattended(after=after, then=then, said_notice=notice)
