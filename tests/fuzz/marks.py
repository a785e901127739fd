"""Marks: texts that are planted in everything which somebody has, to be looked for in what others are answered.

Each is of a kind, and a kind is for those whom the policy lets do one act with whatever it was planted in. So where a
mark is found says what was given away, and to whom.
"""

import base64
from collections.abc import Iterator

#: By kind, the act of the policy that it takes to be told of it; none for what Corral tells nobody.
KINDS = {
    # In the environment of an agent, and of a command.
    "environment": "",
    "command-environment": "",
    # The command line of an agent, what one printed at its end, and what is on the screen of another.
    "argv": "read",
    "last-words": "read",
    "screen": "read",
    # A command: its words, the directory that it runs in, and its output.
    "command": "read",
    "output": "read",
    # Words to an agent, and from one person to another.
    "message": "mail",
    "letter": "mail",
    # What a team agrees on: a value and its key, news, a task, a file that is held, a lock, a branch.
    "key": "follow",
    "value": "follow",
    "news": "follow",
    "task": "follow",
    "task-text": "follow",
    "file": "follow",
    "lock": "follow",
    "branch": "follow",
}


def mark(whose: str, kind: str) -> str:
    """The text. It is a name as Corral wants names, and no other begins with it."""
    assert kind in KINDS, kind
    return f"{whose}-{kind}-mark"


def spellings(text: str) -> Iterator[str]:
    """How it may be written in an answer: as it is, or somewhere in base64, which has three ways for each text."""
    yield text
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + text.encode()).decode().rstrip("=")
        # What the neighbours have a part in is left away.
        yield coded[(0, 2, 3)[before] : len(coded) - 1]
