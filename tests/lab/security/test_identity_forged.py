"""Attacks: saying to be somebody else."""

from collections.abc import Callable

from tests.lab.security.attacks import BEN, SPY, WEB, Attack, Trail, denied, each

ALONE = "env -u CORRAL_CREDENTIAL_FILE -u CORRAL_TEAM -u CORRAL_AGENT"


def forged(name: str, who: str, what: str, why: str, verb: str = "list_agents") -> Attack:
    return Attack(name=name, who=who, what=what, says="asked", told=Trail(verb=verb, rule="identity", why=why))


TABLE = (
    forged(
        "a person in the name of somebody's agent",
        BEN,
        "$RAW GET /v1/agents '' 'x-corral-agent: shop/api'",
        "in the name of an agent",
    ),
    forged(
        "a person with a credential that was found",
        BEN,
        '$RAW GET /v1/agents "" "x-corral-credential: $AGENTS"',
        "by another user",
    ),
    forged(
        "an agent with the credential of the one beside it",
        WEB,
        '$RAW POST /v1/down "{}" "x-corral-credential: $AGENTS"',
        "with the credential of shop/api, from within shop/web",
        "down",
    ),
    forged(
        "an agent with the credential of somebody else's",
        SPY,
        '$RAW GET /v1/agents "" "x-corral-credential: $AGENTS"',
        "by another user",
    ),
    forged(
        "an agent with the credential of its own run before this one",
        WEB,
        '$RAW GET /v1/agents "" "x-corral-credential: $ENDED"',
        "with a credential that its agent does not have, or has no more",
    ),
    forged(
        "an agent that is its developer: without its credential",
        WEB,
        f"{ALONE} corral stop shop/api",
        "from within shop/web, without its credential",
        "stop",
    ),
    forged(
        "an agent that is its developer: in a session of its own",
        WEB,
        f"{ALONE} setsid --wait corral stop shop/api",
        "from within shop/web, without its credential",
        "stop",
    ),
    forged(
        "a credential that is none",
        BEN,
        "$RAW GET /v1/agents '' 'x-corral-credential: let me in'",
        "with a credential that is none",
    ),
    forged(
        "a credential with another secret",
        BEN,
        '$RAW GET /v1/agents "" "x-corral-credential: ${AGENTS%????}AAAA"',
        "with a credential that its agent does not have, or has no more",
    ),
    forged(
        "a credential of fifty thousand dots",
        BEN,
        "$RAW GET /v1/agents '' \"x-corral-credential: $(printf '%.0s.' $(seq 50000))\"",
        "with a credential that is none",
    ),
    denied(
        "headers that other programs believe",
        BEN,
        "$RAW POST /v1/daemon/stop '{}' 'x-forwarded-user: root' 'authorization: Bearer root'"
        " 'x-forwarded-for: 127.0.0.1' 'x-remote-user: root' 'x-corral-user: root' 'x-corral-uid: 0'",
        says="junior.host",
        verb="stop_daemon",
        rule="junior.host",
    ),
)


@each(TABLE)
def test_nobody_is_taken_for_somebody_else(fails: Callable[[Attack], None], attack: Attack) -> None:
    fails(attack)
