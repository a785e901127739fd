"""The API fuzzed as every role: whatever is asked, it is answered as its document says, and gives nothing away."""

import os
from collections import Counter
from typing import Any

import pytest

from corral.domain.policy import asked_as
from tests.fuzz.marks import KINDS
from tests.lab.roles.ground import CLEO, Server
from tests.lab.security.attacks import DAEMON, entries, now
from tests.lab.support.people import daemon
from tests.lab.support.users import User
from tests.support.waiting import wait_for

#: More of it, for whoever has the time: made-up requests of each operation, valid and not.
EXAMPLES = os.environ.get("CORRAL_FUZZ_EXAMPLES", "1")

#: What each may do with what is somebody else's, as far as marks tell of it.
ACTS = {
    "owner": {"read", "follow", "mail"},
    "senior": {"read", "follow"},
    "observer": {"read", "follow"},
    "junior": set(),
    "agent": set(),
    "nobody": set(),
}


@pytest.mark.parametrize("role", ACTS)
def test_a_role_is_told_what_it_may_know_and_nothing_else(server: Server, role: str) -> None:
    told = {kind for kind, act in KINDS.items() if act in ACTS[role]}
    with server.prey(mighty=role == "owner") as ground:
        if role in ("owner", "senior", "observer"):
            server.become(role)
        since = now()
        run = server.fuzz(who(role), ground, told, "--examples", EXAMPLES)
        asked: Counter[str] = Counter()
        for verb, count in run.report["asked"].items():
            asked[asked_as(verb)] += count
        wait_for(lambda: traced(since, role) == asked, what="each request is in the trail")
    assert not run.report["wrong"], "\n".join(f"{one}" for one in run.report["wrong"])
    assert run.done.returncode == 0
    # What may be told was told: else nothing was looked at.
    assert set(run.report["seen"]) >= told
    # Nothing ended the daemon, and nobody else's team was touched.
    assert daemon() == server.daemon
    assert server.shop() == server.before


def who(role: str) -> User | str:
    if role == "agent":
        return "prey-a"
    # Of those who are no members, the daemon's own user alone can connect.
    return DAEMON if role == "nobody" else CLEO


def traced(since: str, role: str) -> dict[str, int]:
    """How many requests of each verb the trail has of whoever has that role."""
    told = [entry for entry in entries(since) if is_of(role, entry["who"])]
    # What came of a request later has a verb of its own: `merge.merged`, of the same trace, or `message.submitted`.
    return Counter({entry["trace"]: entry["verb"] for entry in told if "." not in entry["verb"]}.values())


def is_of(role: str, who: dict[str, Any]) -> bool:
    if role == "nobody":
        return who["user"] == DAEMON and not who["member"]
    return who["user"] == "cleo" and who["role"] == role and (role == "agent") == bool(who["agent"])
