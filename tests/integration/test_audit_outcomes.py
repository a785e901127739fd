"""What came of a request is in the audit trail once that is known: of streams and of work at their end, each agent."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.audited import listed, start_audited
from tests.support.instance import Instance

pytestmark = pytest.mark.tmux

TEAM = """
[team]
name = "shop"
[agents.well]
command = ["cat"]
workspace = "shared"
[agents.ill]
command = ["/nowhere/at/all"]
workspace = "shared"
"""


@pytest.fixture
def audited(instance: Instance) -> Instance:
    return start_audited(instance)


def outcomes(entries: list[dict[str, Any]]) -> dict[str, str]:
    """By agent, or by what else it is about, what came of it; all of one trace."""
    assert len({entry["trace"] for entry in entries}) == 1
    return {entry["on"]["agent"] or entry["on"]["kind"]: entry["outcome"] for entry in entries if entry["outcome"]}


def test_up_and_down_have_the_outcome_that_they_came_to_and_one_for_each_agent(
    audited: Instance, own_directory: Path
) -> None:
    audited.spec(TEAM)
    assert audited.run("up", check=False).returncode == 1
    entries = listed(audited, 4, "--verb", "up")
    assert outcomes(entries) == {"well": "200", "ill": "failed", "host": "failed"}
    assert entries[0]["outcome"] == ""
    failed = next(entry for entry in entries if entry["on"]["agent"] == "ill")
    assert failed["on"] == {"kind": "agent", "team": "shop", "agent": "ill"}
    assert failed["detail"]["state"] == "failed"
    assert failed["detail"]["reason"]
    assert failed["number"] in {entry["number"] for entry in listed(audited, 1, "--agent", "shop/ill")}
    # What is asked for in vain is no success either, although its stream began.
    Path(own_directory, "corral.toml").write_text(TEAM.replace('"shared"', '"worktree"'))
    assert audited.run("up", cwd=own_directory, check=False).returncode != 0
    again = listed(audited, 6, "--verb", "up")[4:]
    assert outcomes(again)["host"] not in ("", "200")
    audited.run("down", "-t", "shop")
    assert outcomes(listed(audited, 3, "--verb", "down")) == {"well": "200", "team": "200"}
    assert audited.json("audit", "verify")["ok"] is True


def test_a_down_of_what_is_not_up_is_told_as_such(audited: Instance) -> None:
    audited.spec(TEAM)
    audited.run("up", "well")
    audited.run("down", "-t", "shop")
    assert audited.run("down", "-t", "shop", check=False).returncode == 3
    entries = listed(audited, 5, "--verb", "down")
    assert (entries[-1]["outcome"], entries[-1]["detail"]) == ("404", {"error": "not_found"})


def test_a_broadcast_has_an_outcome_for_each_agent_also_for_the_one_that_got_nothing(audited: Instance) -> None:
    demo = f'["{sys.executable}", "-m", "corral", "demo-agent"]'
    agents = "".join(f'[agents.{name}]\ncommand = {demo}\nworkspace = "shared"\n' for name in ("a", "b"))
    audited.spec(f'[team]\nname = "shop"\n{agents}')
    audited.run("up", "--wait", "60")
    audited.run("stop", "b")
    assert outcomes(listed(audited, 2, "--verb", "stop"))["b"] == "200"
    audited.run("broadcast", "-t", "shop", "hello", check=False)
    entries = listed(audited, 4, "--verb", "broadcast")
    assert outcomes(entries) == {"a": "200", "b": "failed", "team": "failed"}
    failed = next(entry for entry in entries if entry["on"]["agent"] == "b")
    assert failed["detail"]["state"] == "failed"
    assert "hello" not in str(entries)
    audited.run("down", "-t", "shop")


def test_a_stream_has_its_outcome_when_it_is_over(audited: Instance) -> None:
    audited.spec(TEAM)
    audited.run("up", "well")
    with audited.follow("events", "-f", "--json") as stream:
        stream.line()
        (begun,) = listed(audited, 1, "--verb", "events")
        assert begun["outcome"] == ""
    begun, ended = listed(audited, 2, "--verb", "events")
    assert ended["trace"] == begun["trace"]
    assert (ended["outcome"], ended["detail"]) == ("200", {"ended": "left"})
    audited.run("events", "-n", "1")
    assert [entry["detail"] for entry in listed(audited, 4, "--verb", "events")[2:]] == [{}, {}]
    audited.run("down", "-t", "shop")


def test_a_restart_by_policy_is_in_the_trail_of_its_agent(audited: Instance) -> None:
    restart = 'restart = { policy = "on-failure", attempts = 2, delay = "50ms" }'
    audited.spec(
        f'[team]\nname = "shop"\n[agents.crash]\ncommand = "sleep 0.3; exit 3"\nworkspace = "shared"\n{restart}\n'
    )
    audited.run("up", check=False)
    acts = listed(audited, 2, "--agent", "shop/crash", "--verb", "agent.starting")
    # The first start was asked for; both restarts were not.
    assert {(entry["who"]["user"], entry["rule"], entry["allowed"]) for entry in acts} == {
        ("corral", "supervision", True)
    }
    assert len({entry["detail"]["run"] for entry in acts}) == 2
    verbs = [entry["verb"] for entry in listed(audited, 5, "--agent", "crash")]
    assert verbs.count("agent.starting") == 2
    assert "up" in verbs
    assert "agent.started" in verbs
    audited.run("down", "-t", "shop")
