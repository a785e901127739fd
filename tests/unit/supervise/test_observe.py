"""What a look at the host means for what is known."""

from dataclasses import replace

import msgspec
import pytest

from corral.domain import states
from corral.domain.records import PROMPT_SENDING, PROMPT_WAITING, Agent
from corral.ports.reports import RunReady
from corral.ports.runs import ExitStatus, Inventory, Run
from corral.supervise import observe
from tests.support.records import AGENT

ALIVE = Run(agent="a", run="r1", pid=7)


def look(agent: Agent, inventory: Inventory) -> tuple[Agent, observe.Findings]:
    findings = observe.from_inventory([agent], inventory, 9.0)
    return findings.agents.get(agent.key, agent), findings


def test_nothing_changes_while_everything_is_as_known() -> None:
    agent, findings = look(AGENT, Inventory(team="shop", server="present", runs=[ALIVE]))
    assert agent is AGENT
    assert not findings.events


@pytest.mark.parametrize("state", [states.STARTING, states.RUNNING, states.STOPPING])
def test_a_silent_server_makes_the_living_unknown_and_nothing_else(state: str) -> None:
    before = replace(AGENT, state=state)
    agent, findings = look(before, Inventory(team="shop", server="unknown", why="tmux is stopped"))
    assert (agent.state, agent.reason) == (states.UNKNOWN, "tmux is stopped")
    assert not findings.restart
    assert not findings.finish_stop


def test_an_unknown_agent_is_found_again() -> None:
    agent, _ = look(replace(AGENT, state=states.UNKNOWN), Inventory(team="shop", server="present", runs=[ALIVE]))
    assert agent.state == states.RUNNING


def test_an_exit_nobody_saw_is_told_as_such() -> None:
    agent, findings = look(AGENT, Inventory(team="shop", server="absent"))
    assert (agent.state, agent.exit_code) == (states.FAILED, None)
    assert "nobody saw how" in agent.reason
    assert findings.events[0].event == "agent.exited"


@pytest.mark.parametrize(("count", "words"), [(1, "1 task of it runs on"), (3, "3 tasks of it run on")])
def test_what_runs_on_without_a_terminal_has_not_ended(count: int, words: str) -> None:
    agent, _ = look(AGENT, Inventory(team="shop", server="absent", survivors={"a": count}))
    assert agent.state == states.FAILED
    assert words in agent.reason
    assert "corral stop ends" in agent.reason
    assert "ended" not in agent.reason


def test_what_ran_on_without_a_terminal_is_counted_again() -> None:
    agent, _ = look(AGENT, Inventory(team="shop", server="absent", survivors={"a": 3}))
    same, findings = look(agent, Inventory(team="shop", server="absent", survivors={"a": 3}))
    assert (same, findings.agents) == (agent, {})
    fewer, findings = look(agent, Inventory(team="shop", server="absent", survivors={"a": 1}))
    assert "1 task of it runs on" in fewer.reason
    assert not findings.events
    none, _ = look(fewer, Inventory(team="shop", server="absent", survivors={}))
    assert none.reason == "ended, and nobody saw how (the team's tmux server is gone)"
    uncounted, _ = look(agent, Inventory(team="shop", server="absent"))
    assert uncounted is agent


def test_how_an_agent_failed_is_not_forgotten_over_what_it_left() -> None:
    failed = replace(AGENT, state=states.FAILED, reason="exit 3", exit_code=3)
    agent, _ = look(failed, Inventory(team="shop", server="absent", survivors={"a": 1}))
    assert agent is failed


def test_an_agent_that_is_started_again_is_not_to_be_started_by_hand() -> None:
    always = replace(AGENT, restart="always")
    agent, findings = look(always, Inventory(team="shop", server="absent", survivors={"a": 1}))
    assert (agent.state, findings.restart) == (states.BACKOFF, [agent])
    assert "started again in 1 s" in agent.reason
    assert "corral stop" not in agent.reason


def test_an_exit_while_nobody_watched_is_judged_by_the_policy() -> None:
    dead = Run(agent="a", run="r1", pid=7, alive="absent", exit=ExitStatus(code=3), last_words="boom")
    agent, findings = look(replace(AGENT, restart="on-failure"), Inventory(team="shop", server="present", runs=[dead]))
    assert (agent.state, agent.exit_code) == (states.BACKOFF, 3)
    assert findings.restart == [agent]
    assert findings.events[0].data["last_words"] == "boom"


def test_a_death_by_signal_has_its_name_and_128_more() -> None:
    dead = Run(agent="a", run="r1", pid=7, alive="absent", exit=ExitStatus(signal=9))
    agent, findings = look(AGENT, Inventory(team="shop", server="present", runs=[dead]))
    assert (agent.exit_code, agent.exit_signal, agent.reason) == (137, 9, "killed by SIGKILL")
    assert findings.events[0].data["signal"] == "SIGKILL"


@pytest.mark.parametrize(
    ("status", "kills", "told"),
    [
        (ExitStatus(signal=9), 1, "killed by SIGKILL (out of memory: the kernel killed it)"),
        (ExitStatus(code=137), 2, "exit 137 (out of memory: the kernel killed it)"),
        (ExitStatus(code=1), 1, "exit 1 (out of memory: the kernel had killed a process of it)"),
        (ExitStatus(code=1), 3, "exit 1 (out of memory: the kernel had killed 3 processes of it)"),
        (ExitStatus(signal=9), 0, "killed by SIGKILL"),
    ],
)
def test_what_the_kernel_killed_for_want_of_memory_is_told_also_if_nobody_watched(
    status: ExitStatus, kills: int, told: str
) -> None:
    run = Run(agent="a", run=AGENT.run, alive="absent", exit=status, oom_kills=kills)
    agent, findings = look(replace(AGENT, restart="on-failure"), Inventory(team="shop", server="present", runs=[run]))
    assert agent.state == states.BACKOFF
    assert agent.reason.startswith(f"{told}; it is started again in ")
    (event,) = findings.events
    assert (event.data["reason"], event.data["oom_kills"]) == (told, kills or None)


def test_the_run_of_somebody_else_is_not_taken_for_ours() -> None:
    other = Run(agent="a", run="r0", pid=7)
    agent, _ = look(AGENT, Inventory(team="shop", server="present", runs=[other]))
    assert agent.state == states.FAILED


def test_a_start_that_was_interrupted_before_anything_began_has_failed() -> None:
    agent, _ = look(replace(AGENT, state=states.STARTING), Inventory(team="shop", server="absent"))
    assert (agent.state, agent.reason) == (states.FAILED, "its start was interrupted")


@pytest.mark.parametrize("state", [states.STARTING, states.UNKNOWN])
def test_what_ended_before_its_start_was_written_down_did_start(state: str) -> None:
    before = replace(AGENT, state=state, pid=None)
    dead = Run(agent="a", run="r1", pid=7, alive="absent", exit=ExitStatus(code=7), cgroup="/c", containment="cgroup")
    agent, findings = look(before, Inventory(team="shop", server="present", runs=[dead]))
    assert [event.event for event in findings.events] == ["agent.started", "agent.exited"]
    assert findings.events[0].data == {"run": "r1", "pid": 7, "workspace": "/x"}
    assert (agent.state, agent.pid, agent.exit_code) == (states.FAILED, None, 7)
    assert (agent.containment, agent.cgroup) == ("cgroup", "/c")


def test_what_is_proved_never_to_have_begun_is_not_told_as_started() -> None:
    _, findings = look(replace(AGENT, state=states.STARTING, pid=None), Inventory(team="shop", server="present"))
    assert [event.event for event in findings.events] == ["agent.failed"]


@pytest.mark.parametrize("restart", ["on-failure", "always"])
def test_a_start_that_was_interrupted_is_made_again_by_a_policy_that_restarts(restart: str) -> None:
    lost = replace(AGENT, state=states.UNKNOWN, pid=None, restart=restart, reason="tmux did not answer within 5 s")
    agent, findings = look(lost, Inventory(team="shop", server="present"))
    assert (agent.state, findings.restart) == (states.BACKOFF, [agent])
    assert agent.reason.startswith("tmux did not answer within 5 s")


@pytest.mark.parametrize("runs", [[ALIVE], []])
def test_a_stop_that_was_interrupted_is_finished(runs: list[Run]) -> None:
    stopping = replace(AGENT, state=states.STOPPING)
    _, findings = look(stopping, Inventory(team="shop", server="present", runs=runs))
    assert findings.finish_stop == [stopping]


def test_a_prompt_that_still_waits_is_watched_for_again() -> None:
    waiting = replace(AGENT, prompt_state=PROMPT_WAITING)
    _, findings = look(waiting, Inventory(team="shop", server="present", runs=[ALIVE]))
    assert findings.await_ready == [waiting]


def test_a_prompt_that_was_half_way_is_seen_through() -> None:
    sending = replace(AGENT, prompt_state=PROMPT_SENDING)
    agent, findings = look(sending, Inventory(team="shop", server="present", runs=[ALIVE]))
    assert agent.prompt_state == PROMPT_SENDING
    assert findings.resume_prompt == [sending]
    assert not findings.await_ready


def test_a_pause_before_a_restart_survives_the_daemon() -> None:
    waiting = replace(AGENT, state=states.BACKOFF, pid=None)
    _, findings = look(waiting, Inventory(team="shop", server="absent"))
    assert findings.restart == [waiting]


PLAIN = replace(AGENT, terminal="none")


def test_an_agent_without_a_terminal_does_not_mind_a_tmux_that_is_silent_or_gone() -> None:
    for server in ("unknown", "absent"):
        agent, _ = look(PLAIN, Inventory(team="shop", server=server, host="present", runs=[ALIVE], survivors={"a": 1}))
        assert agent is PLAIN


def test_an_agent_without_a_terminal_is_unknown_while_its_host_is_silent() -> None:
    agent, _ = look(PLAIN, Inventory(team="shop", server="present", host="unknown", host_why="it is stopped"))
    assert (agent.state, agent.reason) == (states.UNKNOWN, "it is stopped")
    same, _ = look(AGENT, Inventory(team="shop", server="present", host="unknown", runs=[ALIVE]))
    assert same is AGENT


def test_an_agent_without_a_terminal_that_nobody_has_a_record_of_ended_somehow() -> None:
    agent, _ = look(PLAIN, Inventory(team="shop", server="absent", survivors={"a": 2}))
    assert agent.state == states.FAILED
    assert agent.reason == "ended, and nobody saw how (the record of its process is gone)"


def test_a_run_is_ready_once_and_only_if_it_is_the_one() -> None:
    findings = observe.Findings()
    waits = replace(AGENT, ready=False)
    said = RunReady(team="shop", agent="a", run="r1", evidence="it wrote 'up'")
    observe.run_ready(findings, replace(waits, run="r0"), said)
    observe.run_ready(findings, replace(waits, state=states.STOPPING), said)
    observe.run_ready(findings, AGENT, said)
    observe.run_ready(findings, replace(waits, paused=True), said)
    assert not findings.events
    observe.run_ready(findings, waits, said)
    assert [event.event for event in findings.events] == ["agent.ready"]
    assert findings.agents["shop", "a"].ready


def test_a_run_that_is_found_and_not_known_to_be_ready_is_watched() -> None:
    waits = replace(AGENT, ready=False)
    inventory = Inventory(team="shop", server="present", runs=[Run(agent="a", run="r1", pid=7)])
    assert observe.from_inventory([waits], inventory, 1.0).await_ready == [waits]
    assert observe.from_inventory([AGENT], inventory, 1.0).await_ready == []


def test_where_a_run_is_gets_known_by_a_look_if_nobody_wrote_it_down() -> None:
    inventory = Inventory(team="shop", server="present", runs=[msgspec.structs.replace(ALIVE, cgroup="/x/a.scope")])
    agent, findings = look(replace(AGENT, state=states.STARTING, pid=None), inventory)
    assert (agent.state, agent.cgroup) == (states.RUNNING, "/x/a.scope")
    agent, findings = look(AGENT, inventory)
    assert (agent.cgroup, findings.events) == ("/x/a.scope", [])
    # What was written down at the start holds: whoever looks later may know less.
    known = replace(AGENT, cgroup="/y/a.scope")
    assert look(known, inventory)[0] is known
    assert look(known, Inventory(team="shop", server="present", runs=[ALIVE]))[0] is known
