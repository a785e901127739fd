"""Names of teams and agents.

A name becomes part of a path, a socket, a git branch, a tmux session and a systemd unit, so it is made of what all
of them take as it is: lower-case letters, digits and inner dashes. Nothing ever needs quoting.
"""

MAX_LENGTH = 40
_EDGE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_INNER = _EDGE | {"-"}

RULE = f"lower-case letters, digits and dashes inside, at most {MAX_LENGTH} characters, such as 'builder' or 'api-2'"


def is_valid(name: str) -> bool:
    """True if `name` may name a team or an agent."""
    return (
        0 < len(name) <= MAX_LENGTH
        and name[0] in _EDGE
        and name[-1] in _EDGE
        and all(letter in _INNER for letter in name)
        and "--" not in name
    )


def suggestion(name: str) -> str:
    """The nearest valid name, or an empty string if nothing of `name` is left."""
    kept = "".join(letter if letter in _EDGE else "-" for letter in name.lower())
    while "--" in kept:
        kept = kept.replace("--", "-")
    return kept[:MAX_LENGTH].strip("-")
