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


#: Letters of Latin alphabets that Unicode does not take apart into a plain one and its marks.
_PLAIN = {"æ": "ae", "ð": "d", "đ": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "œ": "oe", "þ": "th"}


def suggestion(name: str) -> str:
    """The nearest valid name, or an empty string if nothing of `name` is left."""
    kept = "".join(letter if letter in _EDGE else "-" for letter in _plain(name))
    while "--" in kept:
        kept = kept.replace("--", "-")
    return kept[:MAX_LENGTH].strip("-")


def _plain(name: str) -> str:
    """`name` in lower case and without accents, as far as its letters have a plain form."""
    if name.isascii():
        return name.lower()
    from unicodedata import combining, normalize

    letters = (letter for letter in normalize("NFKD", name.casefold()) if not combining(letter))
    return "".join(_PLAIN.get(letter, letter) for letter in letters)
