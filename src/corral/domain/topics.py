"""What may be published, and under which name."""

from __future__ import annotations

from corral.domain.errors import WrongUseError

LONGEST_NAME = 200
#: Bytes of one entry. A topic tells of something; what is larger belongs into a file, or into a value.
LARGEST_ENTRY = 256 << 10

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")
_RULE = f"letters, digits, . _ - and /, at most {LONGEST_NAME} characters, such as build/done"


def check_name(name: str) -> None:
    """Raise `WrongUseError` for what can be no topic."""
    if not name:
        raise WrongUseError("a topic needs a name", _RULE)
    if len(name) > LONGEST_NAME:
        raise WrongUseError(f"a name of {len(name)} characters is too long for a topic", _RULE)
    if not _LETTERS.issuperset(name):
        raise WrongUseError(f"{name!r} cannot be a topic", _RULE)


def check_entry(data: bytes) -> None:
    """Raise `WrongUseError` for what cannot be published."""
    if not data:
        raise WrongUseError("there is nothing to publish", "write it after the topic, or pipe it in")
    if len(data) > LARGEST_ENTRY:
        raise WrongUseError(
            f"that has {len(data)} bytes, and {LARGEST_ENTRY} are the most that can be published at once",
            "put it into a file, or into a value (corral kv put), and publish its name",
        )


def name_in_log(name: str) -> str:
    """What the topic is called in the log, where other things are followed as well (`kv`): never as one of these."""
    return "topic:" + name
