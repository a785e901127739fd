"""What may go into an entry of the audit trail beside its fixed fields: little, and nothing that opens a door. Pure.

The trail is kept for long, is copied off the host and is read by many. So texts are cut, lists are counted, what has
the name of a secret is left out, and what looks like one is struck out. This is the last of several nets: whoever
notes something names the facts that matter, and never hands over what somebody typed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from itertools import islice

from corral.domain.audit import Actor, Note, Scalar, Target

#: Facts of one entry, and letters of a name, of a fact, and of a fixed field.
MOST_FACTS, LONGEST_NAME, LONGEST_FACT, LONGEST_FIELD = 16, 40, 200, 100
#: Of a list, so many are named, with this between them, and the rest is counted.
MOST_NAMED, BETWEEN = 10, ", "
#: All facts of an entry together, as they are written.
MOST_BYTES = 4096
#: What stands in the place of what is not kept.
NOT_KEPT = "(not kept)"
_CUT = "…"
#: How many facts were left out because there were too many.
_LEFT_OUT = "left_out"

#: Parts of the names of secrets, and of what people and agents write: the journal tells that by size and hash.
_SECRET_WORDS = frozenset(
    "argv authorization auth body bearer command cookie credential credentials env environment input key keys "
    "passphrase passwd password prompt secret secrets stdin text token tokens webhook".split()
)
_AND_MORE = re.compile(r" and \d+ more\Z")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SECRETS = re.compile(
    r"""
    -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*            # keys in PEM
    | \b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}              # keys of model providers and of payment services
    | \b(?:gh[opsur]_|github_pat_|glpat-|xox[abeprs]-)[A-Za-z0-9_-]{10,}
    | \bcorral_token_[0-9a-f]{12}_[A-Za-z0-9_-]{10,}     # our own
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*   # JSON web tokens
    | \b(?:bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}
    | (?<=://)[^/\s:@]{1,100}:[^/\s@]{1,100}(?=@)       # user and password of an address
    | \b(?:password|passwd|secret|token|api_?key)\s*[=:]\s*\S+
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def named(those: Collection[str]) -> str:
    """A list as a fact: the first of them, and how many more there are."""
    words = BETWEEN.join(islice(those, MOST_NAMED))
    return f"{words} and {len(those) - MOST_NAMED} more" if len(those) > MOST_NAMED else words


def names_in(fact: str) -> list[str]:
    """Those that `named` named."""
    return _AND_MORE.sub("", fact).split(BETWEEN)


def bounded(detail: Mapping[str, object]) -> dict[str, Scalar]:
    """The facts as they may be kept: scalars, short, and without secrets."""
    kept: dict[str, Scalar] = {}
    size = 0
    for name, value in detail.items():
        key = name[:LONGEST_NAME]
        fact = NOT_KEPT if _names_a_secret(name) else _fact(value)
        size += len(json.dumps(key)) + len(json.dumps(fact)) + 2
        if len(kept) == MOST_FACTS or size > MOST_BYTES:
            kept[_LEFT_OUT] = len(detail) - len(kept)
            break
        kept[key] = fact
    return kept


@lru_cache(maxsize=1024)
def field_text(text: str) -> str:
    """A text for a fixed field: short, and without secrets."""
    return _short(text, LONGEST_FIELD)


@lru_cache(maxsize=256)
def bounded_actor(who: Actor) -> Actor:
    """Who, with texts that may be kept: the agent is what the caller said, and may be anything."""
    return Actor(
        uid=who.uid,
        user=field_text(who.user),
        member=who.member,
        role=field_text(who.role),
        agent=field_text(who.agent),
        run=field_text(who.run),
        via=field_text(who.via),
    )


@lru_cache(maxsize=1024)
def bounded_target(on: Target) -> Target:
    """On what, with texts that may be kept: names may be those of things that do not exist."""
    return Target(kind=field_text(on.kind), team=field_text(on.team), agent=field_text(on.agent))


def bounded_note(
    time: str,
    who: Actor,
    verb: str,
    on: Target,
    allowed: bool,
    rule: str,
    outcome: str,
    detail: Mapping[str, object],
    trace: str,
) -> Note:
    """What an entry is to say, with texts and facts that may be kept."""
    return Note(
        time=time,
        who=bounded_actor(who),
        verb=field_text(verb),
        on=bounded_target(on),
        allowed=allowed,
        rule=field_text(rule),
        outcome=field_text(outcome),
        detail=bounded(detail) if detail else {},
        trace=trace,
    )


def _fact(value: object) -> Scalar:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else f"(a number of {value.bit_length()} bits)"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return _short(value, LONGEST_FACT)
    if isinstance(value, list | tuple | set | frozenset | dict):
        return f"({len(value)} of them)"
    return f"({type(value).__name__})"


def _short(text: str, most: int) -> str:
    # Struck out before it is cut: the first half of a secret is half a secret. Only what could be kept is looked at.
    clean = _SECRETS.sub(NOT_KEPT, text[: 4 * most])
    return clean if len(clean) <= most and len(text) <= 4 * most else clean[: most - 1] + _CUT


@lru_cache(maxsize=256)
def _names_a_secret(name: str) -> bool:
    return any(word.lower() in _SECRET_WORDS for word in _WORDS.findall(name[: 4 * LONGEST_NAME]))
