"""What came of a request is in the audit trail once that is known: of streams and of work at their end, each agent."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.audited import listed, start_audited
from tests.support.instance import Instance
from tests.support.merging import Merging

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
    assert outcomes(entries) == {"well": "200", "ill": "failed", "team": "failed"}
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
    assert outcomes(again)
    assert "200" not in outcomes(again).values()
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
    assert outcomes(entries) == {"a": "200", "b": "failed"}
    failed = next(entry for entry in entries if entry["on"]["agent"] == "b" and entry["outcome"])
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


def test_what_a_merge_did_is_in_the_trail_with_who_submitted_it_and_the_trace_of_that(
    audited: Instance, own_directory: Path
) -> None:
    merging = Merging(audited, own_directory)
    merging.up("test ! -e bad", "echo a gate speaks")
    merging.commit("a", new="1\n")
    merging.branch("wrong", {"bad": "1\n"})
    merged, failed = merging.submit("--agent", "a"), merging.show(merging.queue("wrong"))
    assert (merged["state"], failed["state"]) == ("merged", "failed")
    entries = listed(audited, 3, "--verb", "merge.*")
    assert [(entry["verb"], entry["outcome"], entry["on"]["agent"], entry["rule"]) for entry in entries] == [
        ("merge.landing", "ok", "a", "queue"),
        ("merge.merged", "ok", "a", "queue"),
        ("merge.failed", "failed", "", "queue"),
    ]
    landed, refused = entries[1:]
    assert landed["detail"].items() >= {"merge": merged["merge"], "target": "main", "commit": merged["commit"]}.items()
    assert (landed["who"]["user"], landed["who"]["uid"]) == (merged["person"], os.getuid())
    submits = listed(audited, 4, "--verb", "submit_merge")
    assert [entry["trace"] for entry in (landed, refused)] == [
        next(one["trace"] for one in submits if one["detail"].get("merge") == merge["merge"])
        for merge in (merged, failed)
    ]
    assert "a gate speaks" not in str(entries)
    # Of one that is tried again, what comes of it belongs to that request; also when another daemon does it.
    again = audited.json("merge", "retry", failed["merge"])["merge"]
    audited.run("daemon", "stop")
    audited.run("daemon", "start")
    assert merging.show(again)["state"] == "failed"
    (*_, last) = listed(audited, 4, "--verb", "merge.*")
    assert last["trace"] == listed(audited, 1, "--verb", "retry_merge")[0]["trace"]
    audited.run("down", "-t", "shop")


def test_a_first_prompt_is_in_the_trail_and_what_it_says_is_not(audited: Instance) -> None:
    demo = f'["{sys.executable}", "-m", "corral", "demo-agent"]'
    said = "say: somethingsecret"
    audited.spec(f'[team]\nname = "shop"\n[agents.a]\ncommand = {demo}\nworkspace = "shared"\nprompt = "{said}"\n')
    audited.run("up")
    begun, done = listed(audited, 2, "--agent", "shop/a", "--verb", "prompt.*")
    assert [entry["verb"] for entry in (begun, done)] == ["prompt.sending", "prompt.submitted"]
    assert (done["who"]["user"], done["rule"], done["detail"]["bytes"]) == ("corral", "supervision", len(said))
    assert begun["detail"]["run"] == done["detail"]["run"]
    assert "somethingsecret" not in str(listed(audited, 2))
    audited.run("down", "-t", "shop")
