"""Values by key that a whole team sees: what a transaction does to them, and when it does nothing.

A value has the revision of the change that put it there. A transaction names what it relies on: of each key the
revision that it has seen, 0 for one that it has not seen. If one of them is another by now, nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corral.domain.errors import NotFoundError, RefusedError, WrongUseError

LONGEST_KEY = 512
LARGEST_VALUE = 1 << 20
#: Keys that one transaction may name, and values that one team may have.
MOST_IN_ONE, MOST_KEYS = 128, 100_000
#: Of all values of a team together: they are in memory.
MOST_BYTES = 64 << 20
#: What a value weighs in a share, besides its key and what it is.
_WEIGHT_OF_ONE = 256


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it is now."""

    value: bytes
    #: Of the change that put it there, and of the one that made the key.
    revision: int
    created: int
    #: By whom: an agent, or a person.
    by: str
    #: Unix seconds.
    time: float
    #: In whose share it counts (`shares`): of whoever put it there.
    person: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """What is to be changed together, and what that relies on."""

    #: Key → the revision that it must have; 0: it must not be there.
    if_revisions: Mapping[str, int] = field(default_factory=dict)
    puts: Mapping[str, bytes] = field(default_factory=dict)
    drops: Sequence[str] = ()


class Values:
    """The values of one team."""

    def __init__(self, values: Mapping[str, Value] | None = None, taken: Counter[str] | None = None) -> None:
        """`taken` counts, for several teams, what the values of each person weigh."""
        self._values = dict(values or {})
        self._bytes = sum(len(one.value) for one in self._values.values())
        self._taken = Counter[str]() if taken is None else taken
        for key, value in self._values.items():
            self._taken[value.person] += weight_of(key, value.value)

    def get(self, key: str) -> Value:
        """The value of a key, or `NotFoundError`."""
        check_key(key)
        try:
            return self._values[key]
        except KeyError:
            raise NotFoundError(f"there is no value of {key}", "corral kv ls shows the keys that there are") from None

    def below(self, prefix: str) -> list[tuple[str, Value]]:
        """Keys that begin so, in their order, with their values."""
        return sorted((key, value) for key, value in self._values.items() if key.startswith(prefix))

    def growth(self, transaction: Transaction, person: str) -> int:
        """By how much a person's values would weigh more."""
        put = sum(weight_of(key, value) for key, value in transaction.puts.items())
        gone = [(key, self._values.get(key)) for key in (*transaction.puts, *transaction.drops)]
        return put - sum(weight_of(key, one.value) for key, one in gone if one is not None and one.person == person)

    def transact(
        self, transaction: Transaction, revision: int, by: str, time: float, person: str = ""
    ) -> dict[str, Value | None]:
        """Do all of it, or raise and do nothing. What changed: new values, and None for a key that is gone.

        A key that is dropped and was not there is no change.
        """
        check(transaction)
        for key, seen in transaction.if_revisions.items():
            known = self._values.get(key)
            now = known.revision if known is not None else 0
            if now != seen:
                raise _lost(key, seen, now)
        changed: dict[str, Value | None] = {key: None for key in transaction.drops if key in self._values}
        for key, value in transaction.puts.items():
            known = self._values.get(key)
            created = known.created if known is not None else revision
            changed[key] = Value(value, revision, created, by, time, person)
        new = sum(value is not None and key not in self._values for key, value in changed.items())
        gone = sum(value is None for value in changed.values())
        if len(self._values) + new - gone > MOST_KEYS and new > gone:
            raise RefusedError(f"the team has {len(self._values)} keys, and may have {MOST_KEYS}", "remove some first")
        grown = sum(self._growth(key, value) for key, value in changed.items())
        if grown > 0 and self._bytes + grown > MOST_BYTES:
            raise RefusedError(
                f"the values of the team have {self._bytes} bytes, and may have {MOST_BYTES} (64 MiB) together",
                "remove some first, or put what is large into files",
            )
        self._bytes += grown
        for key, now_it_is in changed.items():
            for one, sign in ((self._values.get(key), -1), (now_it_is, 1)):
                if one is not None:
                    self._taken[one.person] += sign * weight_of(key, one.value)
            if now_it_is is None:
                del self._values[key]
            else:
                self._values[key] = now_it_is
        return changed

    def _growth(self, key: str, value: Value | None) -> int:
        """By how many bytes the values get more if a key has this one, or none."""
        known = self._values.get(key)
        return (len(value.value) if value is not None else 0) - (len(known.value) if known is not None else 0)


def weight_of(key: str, value: bytes) -> int:
    """What a value weighs in a share: bytes, roughly."""
    return len(key) + len(value) + _WEIGHT_OF_ONE


def check(transaction: Transaction) -> None:
    """Raise `WrongUseError` for what no transaction can be."""
    named = [*transaction.if_revisions, *transaction.puts, *transaction.drops]
    if not transaction.puts and not transaction.drops:
        raise WrongUseError("the transaction changes nothing", "name keys to put or to remove")
    if len(named) > MOST_IN_ONE:
        raise WrongUseError(f"the transaction names {len(named)} keys", f"at most {MOST_IN_ONE} are possible at once")
    for key in named:
        check_key(key)
    for key in transaction.drops:
        if key in transaction.puts:
            raise WrongUseError(f"{key} is to be put and removed at once", "choose one")
    for key, value in transaction.puts.items():
        if len(value) > LARGEST_VALUE:
            raise WrongUseError(
                f"the value of {key} has {len(value)} bytes, and {LARGEST_VALUE} are the most", "put it into a file"
            )
    for key, seen in transaction.if_revisions.items():
        if seen < 0:
            raise WrongUseError(f"{key} cannot have revision {seen}", "0 means that it must not be there")


def check_key(key: str) -> None:
    """Raise `WrongUseError` for what can be no key."""
    if not key:
        raise WrongUseError("a key cannot be empty", "name it, such as build/status")
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        raise WrongUseError("a key must be text", "use UTF-8") from None
    if size > LONGEST_KEY:
        raise WrongUseError(f"a key of {size} bytes is too long", f"at most {LONGEST_KEY} are possible")
    if not key.isprintable() or key != key.strip():
        raise WrongUseError(
            f"{key!r} cannot be a key", "letters, digits, punctuation and spaces inside, nothing that cannot be seen"
        )


def _lost(key: str, seen: int, now: int) -> RefusedError:
    """Somebody else was faster: a key is not as it was seen."""
    was = f"had revision {seen}" if seen else "was not there"
    has = f"has revision {now}" if now else "is not there"
    message = f"{key} {was}, and {has} now: nothing was changed"
    return RefusedError(message, f"look at it again (corral kv get {key}), then decide", key=key, revision=now)
