"""`corral member` on a real machine: groups, linger and records, by root and by others; twice, and taken back."""

import grp
import json
from collections.abc import Iterator

import pytest

from tests.lab.support.shared import Document, missing, shared_server, system, tidy
from tests.lab.support.users import Result, User


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """For all of this file: it takes a while to set one up. Nobody is a member of it."""
    with shared_server():
        yield


@pytest.fixture
def server(one_server: None) -> Iterator[None]:
    """A server without members, and without them again afterwards."""
    yield
    for _ in range(2):  # people can go when their users of agents are gone
        for one in members():
            member("rm", one["user"], "--force", check=False)
    assert members() == []
    tidy()


def member(*words: str, check: bool = True) -> Result:
    """`corral member` as root."""
    return system("corral", "member", *words, check=check)


def told(*words: str) -> Document:
    document: Document = json.loads(member(*words, "--json").stdout)
    return document


def refusal(done: Result) -> tuple[int, str, str]:
    error = json.loads(done.stderr)["error"]
    return done.returncode, error["code"], error["message"] + " | " + error["remedy"]


def members() -> list[Document]:
    found: list[Document] = json.loads(member("ls", "--json").stdout)
    return found


def is_in(group: str) -> list[str]:
    return grp.getgrnam(group).gr_mem


def actions(document: Document) -> list[str]:
    return [step["action"] for step in document["steps"]]


def test_root_makes_the_first_owner_who_is_served_from_the_next_log_in_on(server: None, ann: User) -> None:
    assert "sudo corral member add USER --role owner" in member("ls").stdout
    document = told("add", "ann", "--role", "owner")
    assert (document["change"], actions(document)) == ("added", ["join_members", "note_member"]), "she lingers anyway"
    assert "from the next log-in on" in document["notes"][0]
    assert f"user@{ann.uid}.service" in document["notes"][1], "her manager runs since before that"
    record = json.loads(ann.run("corral", "member", "show", "ann", "--json").stdout)
    assert (record["user"], record["uid"], record["role"], record["by"]) == ("ann", ann.uid, "owner", "root")
    assert record["problems"] == []
    assert missing() == [], "the set-up finds nothing to do about her"
