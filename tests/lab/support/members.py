"""Members of a shared server: `corral member` as root, and what the machine has of them."""

import grp
import json
import os

from tests.lab.support.shared import Document, system
from tests.lab.support.users import Result


def member(*words: str, check: bool = True) -> Result:
    """`corral member` as root."""
    return system("corral", "member", *words, check=check)


def told(*words: str) -> Document:
    document: Document = json.loads(member(*words, "--json").stdout)
    return document


def refused(done: Result) -> tuple[int, str]:
    """The exit code, and what was said with its remedy."""
    error = json.loads(done.stderr)["error"]
    return done.returncode, f"{error['message']} | {error['remedy']}"


def members() -> list[Document]:
    found: list[Document] = json.loads(member("ls", "--json").stdout)
    return found


def is_in(group: str) -> list[str]:
    return grp.getgrnam(group).gr_mem


def actions(document: Document) -> list[str]:
    return [step["action"] for step in document["steps"]]


def notes() -> list[str]:
    return os.listdir("/var/lib/corral-host/linger")


def events() -> list[tuple[str, str, str]]:
    lines = system("corral", "events", "-n", "all", "--json").stdout.splitlines()
    every = [event for event in map(json.loads, lines) if event["event"].startswith("member.")]
    return [(event["event"], event["data"]["user"], event["who"]["user"]) for event in every]
