"""Attacks: coming in over TCP, on loopback, where every user of the host can connect."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.lab.security.attacks import BEN, DEV, WEB, Attack, Trail, entries
from tests.lab.security.ground import ANN, Ground


@dataclass(frozen=True, kw_only=True)
class FromAfar(Trail):
    """A refusal over TCP, where nobody knows which user that is."""

    verb: str = "list_agents"
    rule: str = "identity"
    user: str = "unknown"

    def find(self, since: str, who: str) -> bool:
        return any(
            entry["who"]["user"] == self.user
            and entry["who"]["via"] == "tcp"
            and (entry["verb"], entry["rule"], entry["allowed"]) == (self.verb, self.rule, False)
            and self.why in entry["detail"]["why"]
            and entry["detail"]["from"] == "127.0.0.1"
            for entry in entries(since)
            if "via" in entry["who"]
        )


def far(name: str, who: str, headers: str, why: str, says: str = "401", user: str = "unknown") -> Attack:
    told = FromAfar(why=why, user=user)
    return Attack(name=name, who=who, what=f"$FAR GET /v1/agents {headers}", says=says, told=told)


GUESS = '"Authorization: Bearer corral_token_${TOKEN_ID}_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"'
TABLE = (
    far("somebody who has no token", DEV, "", "without a token"),
    far("a member with what looks like another's token", BEN, GUESS, "that there is not"),
    far(
        "somebody with another's password",
        DEV,
        '"Authorization: Basic YW5uOmFubg=="',
        "something that is no token",
    ),
    far("an agent of ann's that is ann by her token, and says who it is", WEB,
        '"Authorization: Bearer $TOKEN" "X-Corral-Agent: shop/web"', "in the name of the agent shop/web", "409", "ann"),
    Attack(
        name="an agent that makes a token for its developer",
        who=WEB,
        what="corral token add",
        says="may not",
        told=Trail(verb="token_add", rule="agent.tokens"),
    ),
    Attack(
        name="a member who makes a token for another",
        who=BEN,
        what="corral token add --for ann",
        says="only",
        told=Trail(verb="token_add", rule="junior.tokens"),
    ),
    Attack(
        name="a member who revokes another's token",
        who=BEN,
        what="corral token rm $TOKEN_ID",
        says="there is no token",
        told=Trail(verb="token_rm", rule="not_asked"),
    ),
)  # fmt: skip


@pytest.mark.parametrize("attack", TABLE, ids=lambda attack: attack.name)
def test_it_fails_and_is_told_of(attack: Attack, fails: Callable[[Attack], None]) -> None:
    fails(attack)


def test_a_token_that_was_revoked_cannot_be_replayed(ground: Ground, fails: Callable[[Attack], None]) -> None:
    token = json.loads(ANN.run("corral", "token", "add", "--json").stdout)
    replayed = far("a revoked token", DEV, f'"Authorization: Bearer {token["token"]}"', "that there is not")
    before = ground.attempt(DEV, replayed.what)
    assert before.returncode == 0, before.stdout
    ANN.run("corral", "token", "rm", token["id"])
    fails(replayed)


def test_whoever_has_anns_token_is_ann_and_the_trail_says_by_which(ground: Ground) -> None:
    done = ground.attempt(DEV, '$FAR GET /v1/agents "Authorization: Bearer $TOKEN"')
    assert done.returncode == 0, done.stdout
    found = [entry["who"] for entry in entries("") if entry["who"].get("via", "") == f"tcp:{ground.names['TOKEN_ID']}"]
    assert [(who["user"], who["uid"], who["role"], who["agent"]) for who in found] == [("ann", ANN.uid, "junior", "")]
    # What it lets nobody do: to be at ann's keyboard, and to make others.
    for asked in ("GET '/v1/attach?agent=api&team=shop'", "POST /v1/tokens"):
        denied = ground.attempt(DEV, f'$FAR {asked} "Authorization: Bearer $TOKEN"')
        assert denied.returncode != 0, denied.stdout
        assert "ssh" in denied.stdout or "does not fit" in denied.stdout
    assert ground.harm() == []
