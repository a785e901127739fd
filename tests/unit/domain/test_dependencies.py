"""What an agent that comes after others waits for, and whether that passes by itself."""

from dataclasses import replace

import pytest

from corral.domain import lifecycle, states
from corral.domain.admission_rules import AdmissionRules
from corral.domain.dependencies import is_ready, needs_a_sign, obstacle
from corral.domain.ready_rules import ReadyRule
from corral.domain.records import Agent, Place
from corral.domain.restarts import RestartLimits
from corral.domain.upkeep import Upkeep
from tests.support.records import AGENT, PERSON

DB = replace(AGENT, name="db", ready=True)
API = replace(AGENT, name="api", state=states.PENDING, after=("db",))
PLACE = Place(turn=1, since=0.0, who=PERSON)


def test_an_agent_is_ready_while_it_runs_and_was_seen_to_be() -> None:
    assert is_ready(DB)
    assert not is_ready(replace(DB, ready=False))
    assert not is_ready(replace(DB, state=states.STOPPED)), "its last run was"
    assert not is_ready(replace(DB, state=states.UNKNOWN)), "nobody can tell"


def test_nothing_keeps_an_agent_whose_others_are_ready() -> None:
    assert obstacle(API, {"db": DB}) is None
    assert obstacle(replace(API, after=()), {}) is None


@pytest.mark.parametrize(
    ("db", "told", "passes"),
    [
        (replace(DB, ready=False), "waits for db to be ready", True),
        (replace(DB, ready=False, late="it is not ready 1m after its start"), "ready: it is not ready 1m after", False),
        (replace(DB, state=states.STARTING), "waits for db to be ready", True),
        (replace(DB, state=states.UNKNOWN), "waits for db to be ready", True),
        (replace(DB, state=states.BACKOFF), "waits for db to be ready", True),
        (replace(DB, state=states.PENDING, place=PLACE), "waits for db to be ready", True),
        (replace(DB, state=states.PENDING), "corral up", False),
        (replace(DB, state=states.FAILED, reason="exit 1"), "which is failed (exit 1): corral restart shop/db", False),
        (replace(DB, state=states.STOPPED), "which is stopped: corral restart shop/db", False),
        (None, "which is not up: corral up db", False),
    ],
)
def test_what_it_waits_for_is_told(db: Agent | None, told: str, passes: bool) -> None:
    kept = obstacle(API, {} if db is None else {"db": db})
    assert kept is not None
    assert told in kept.reason
    assert kept.passes is passes


def test_of_a_long_reason_the_cause_alone_is_told_and_the_remedy_once() -> None:
    limits = RestartLimits(attempts=1)
    late = replace(DB, restart="on-failure", crashes=1, upkeep=Upkeep(restarts=limits), reason="it is not ready")
    failed = lifecycle.exited(late, 0, None, "it is not ready 4s after its start", 101.0, unwell=True)
    assert "crash loop" in failed.reason
    kept = obstacle(API, {"db": failed})
    assert kept is not None
    assert kept.reason == (
        "waits for db, which is failed (it is not ready 4s after its start): corral restart shop/db starts it"
    )


def test_what_does_not_pass_by_itself_is_told_first() -> None:
    kept = obstacle(
        replace(API, after=("db", "web")), {"db": replace(DB, ready=False), "web": replace(DB, state=states.FAILED)}
    )
    assert kept is not None
    assert kept.reason.startswith("waits for web, which is failed")


def test_who_has_to_be_seen_ready() -> None:
    plain = AdmissionRules()
    assert not needs_a_sign(AGENT, plain)
    assert needs_a_sign(replace(AGENT, prompt="go"), plain)
    assert needs_a_sign(replace(AGENT, ready_when=ReadyRule(log="x")), plain)
    assert needs_a_sign(AGENT, AdmissionRules(start_at_once=2)), "or nobody could tell when it has started up"
