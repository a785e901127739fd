"""Agents that cannot start or end at once: the exit code is right, and their last words are kept."""

import contextlib
import hashlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.support.population import population, send_signal, tmux_servers
from tests.faults.support.teams import IDLE, await_event, down, ps, toml
from tests.support.instance import Instance
from tests.support.processes import descendants, snapshot
from tests.support.waiting import wait_for

#: What ends at once: command, exit code, and what its last words have to say.
_ENDINGS = {
    "missing": (["/nowhere/agent"], 127, "/nowhere/agent"),
    "unknown": (["no-such-agent-anywhere"], 127, "no-such-agent-anywhere"),
    "plain-file": (["/etc/passwd"], 126, "/etc/passwd"),
    "directory": (["/usr"], 126, "/usr"),
    "failing": (["sh", "-c", "echo I cannot work like this; exit 3"], 3, "I cannot work like this"),
    "killed": (["sh", "-c", "echo so long; kill -KILL $$"], 137, "so long"),
    "shell": ("echo through a shell; exit 4", 4, "through a shell"),
    "silent": (["false"], 1, ""),
}


def test_agents_that_end_at_once_fail_up_by_name_and_leave_their_last_words(instance: Instance) -> None:
    agents: dict[str, dict[str, object]] = {name: {"command": command} for name, (command, _, _) in _ENDINGS.items()}
    instance.spec(toml({**agents, "well": {"command": IDLE}}))
    done = instance.run("up", check=False)
    assert done.returncode == 1
    # A program that a busy machine has not got to the end of by then is told by `ps` a moment later.
    assert any(f"{name}: failed: " in done.stderr for name in _ENDINGS), done.stderr
    assert "well: started" in done.stderr
    exits = {name: await_event(instance, "agent.exited", name) for name in _ENDINGS}
    table = ps(instance)
    assert table.pop("well")["state"] == "running"
    for name, (_, code, words) in _ENDINGS.items():
        exited = exits[name]
        assert (exited["outcome"], exited["data"]["exit_code"]) == ("failed", code), name
        assert words in exited["data"]["last_words"], name
        assert (table[name]["state"], table[name]["exit_code"], table[name]["pid"]) == ("failed", code, None), name
        assert words in instance.run("logs", name).stdout, name
    assert ps(instance)["killed"]["reason"] == "killed by SIGKILL"
    assert list(population(instance)) == ["well"]


def test_one_that_ends_well_at_once_is_stopped_and_no_failure(instance: Instance) -> None:
    instance.spec(toml({"done": {"command": ["sh", "-c", "echo all done"]}}))
    instance.run("up")
    exited = await_event(instance, "agent.exited", "done")
    assert (exited["data"]["exit_code"], exited["data"]["last_words"]) == (0, "all done")
    assert ps(instance)["done"]["state"] == "stopped"


def test_a_megabyte_before_death_is_kept_to_the_last_word(instance: Instance, own_directory: Path) -> None:
    talk = "\n".join(f"line {number} " + "x" * 80 for number in range(12_000)) + "\nmy last words are these\n"
    (own_directory / "talk").write_text(talk)
    assert len(talk) > 1 << 20
    instance.spec(toml({"talker": {"command": ["sh", "-c", "cat talk; exit 9"]}}))
    instance.run("up", check=False)  # whether it has ended by then is a matter of microseconds
    exited = await_event(instance, "agent.exited", "talker")
    assert exited["data"]["exit_code"] == 9
    assert exited["data"]["last_words"].endswith("my last words are these")
    assert instance.run("logs", "-n", "1", "talker").stdout == "my last words are these\n"
    kept = instance.run("logs", "-n", "all", "--raw", "talker").stdout.replace("\r\n", "\n")
    assert hashlib.sha256(kept.encode()).hexdigest() == hashlib.sha256(talk.encode()).hexdigest()


@pytest.mark.slow
def test_exit_codes_of_many_that_end_at_the_same_moment_are_all_right(instance: Instance) -> None:
    agents: dict[str, dict[str, object]] = {
        f"a{code}": {"command": ["sh", "-c", f"echo word {code}; exit {code}"]} for code in range(1, 101)
    }
    instance.spec(toml(agents))
    assert instance.run("up", check=False).returncode == 1
    for code in range(1, 101):
        exited = await_event(instance, "agent.exited", f"a{code}")
        assert (exited["data"]["exit_code"], exited["data"]["last_words"]) == (code, f"word {code}")
    down(instance)


def _is_asleep(pid: int) -> bool:
    return os.readlink(f"/proc/{pid}/exe").endswith("sleep")


def test_an_agent_that_fails_is_started_again_and_there_is_one_of_it(instance: Instance, own_directory: Path) -> None:
    count = own_directory / "count"
    script = f'echo x >>{count}; [ "$(wc -l <{count})" -ge 3 ] || exit 5; exec sleep 86400'
    instance.spec(toml({"a": {"command": ["sh", "-c", script], "restart": "on-failure"}}))
    instance.run("up", check=False)
    with instance.follow("events", "-f", "--json", "--after", "0") as stream:
        for _ in range(3):
            stream.until(lambda event: event["event"] == "agent.started")
    agent = ps(instance)["a"]
    assert (agent["state"], agent["restarts"]) == ("running", 2)
    wait_for(lambda: _is_asleep(agent["pid"]), what="it did what it was started for")
    assert count.read_text() == "x\nx\nx\n"
    assert population(instance) == {"a": [agent["pid"]]}


def test_what_an_ended_agent_left_running_is_gone_before_the_next_one_starts(
    instance: Instance, own_directory: Path
) -> None:
    script = (
        f"trap '' HUP TERM; [ -e {own_directory}/first ] && exec sleep 86400; touch {own_directory}/first;"
        " setsid sleep 86401 & exit 1"
    )
    instance.spec(toml({"a": {"command": ["sh", "-c", script], "restart": "always"}}))
    instance.run("up", check=False)
    with instance.follow("events", "-f", "--json", "--after", "0") as stream:
        for _ in range(2):
            stream.until(lambda event: event["event"] == "agent.started")
    pid = ps(instance)["a"]["pid"]
    assert population(instance) == {"a": [pid]}
    wait_for(lambda: _is_asleep(pid), what="it is the second one")
    down(instance, "--grace", "0")


def test_an_agent_that_is_asked_to_end_has_its_terminal_until_its_last_words(instance: Instance) -> None:
    bye = "echo cleaning up; sleep 0.3; echo good bye; exit 6"
    script = f"trap '' HUP; trap '{bye}' TERM; echo ready; while :; do sleep 0.05; done"
    instance.spec(toml({"a": {"command": ["sh", "-c", script]}}))
    instance.run("up")
    with instance.follow("logs", "-f", "a") as logs:
        assert logs.line() == "ready"
        instance.run("stop", "a")
        while logs.line() != "good bye":
            pass
    stopped = await_event(instance, "agent.stopped", "a")
    assert stopped["data"]["exit_code"] == 6
    assert population(instance) == {}


def test_an_agent_whose_terminal_a_person_closes_is_hung_up(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": ["sh", "-c", "trap 'touch hung-up; exit' HUP; sleep 86400 & wait"]}}))
    instance.run("up")
    socket = os.path.join(instance.runtime, "tmux", "shop.sock")
    subprocess.run(["tmux", "-N", "-S", socket, "kill-pane", "-t", "=a:"], check=True, capture_output=True)
    await_event(instance, "agent.exited", "a")
    wait_for(Path(instance.directory, "hung-up").exists, 5, "the agent was told")
    assert ps(instance)["a"]["state"] == "failed"
    instance.run("up")
    assert ps(instance)["a"]["state"] == "running"


def test_last_words_are_kept_though_tmux_is_held_up_when_the_program_ends(
    instance: Instance, own_directory: Path
) -> None:
    instance.spec(toml({"a": {"command": ["sh", "-c", "cat go; seq 1 60; echo good bye; touch over; exit 5"]}}))
    os.mkfifo(own_directory / "go")
    instance.run("up")
    (server,) = tmux_servers(instance)
    send_signal(server, signal.SIGSTOP)
    (own_directory / "go").write_text("go on\n")
    wait_for((own_directory / "over").exists, 10, "the program's end")
    time.sleep(1)  # a tmux that is this late, which is what is tested
    send_signal(server, signal.SIGCONT)
    exited = await_event(instance, "agent.exited", "a")
    assert (exited["data"]["exit_code"], exited["data"]["last_words"].splitlines()[-1]) == (5, "good bye")
    said = instance.run("logs", "-n", "all", "--raw", "a").stdout
    assert said == "go on\r\n" + "".join(f"{number}\r\n" for number in range(1, 61)) + "good bye\r\n"


def test_the_end_of_an_agent_is_noticed_though_its_terminal_was_halted(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": ["sh", "-c", "echo $$; while :; do echo again; sleep 0.05; done"]}}))
    instance.run("up")
    with instance.follow("logs", "-f", "a") as logs:
        logs.line()
    pid = ps(instance)["a"]["pid"]
    socket = os.path.join(instance.runtime, "tmux", "shop.sock")
    subprocess.run(["tmux", "-N", "-S", socket, "send-keys", "-t", "=a:", "C-s"], check=True, capture_output=True)
    os.kill(pid, signal.SIGKILL)
    exited = await_event(instance, "agent.exited", "a", seconds=5)
    assert exited["data"]["exit_code"] == 137


def test_the_end_of_a_shell_that_had_the_terminal_for_its_job_is_noticed(instance: Instance) -> None:
    instance.spec(toml({"a": {"command": ["bash", "--norc", "-i"], "prompt": "sleep 86400"}}))
    instance.run("up")
    shell = ps(instance)["a"]["pid"]
    job = wait_for(lambda: next(iter(descendants(shell, snapshot())), None), 20, "the shell's job")
    os.kill(shell, signal.SIGKILL)
    exited = await_event(instance, "agent.exited", "a", seconds=5)
    assert exited["data"]["exit_code"] == 137
    with contextlib.suppress(ProcessLookupError):  # it may have been hung up together with the terminal
        os.kill(job, signal.SIGKILL)
