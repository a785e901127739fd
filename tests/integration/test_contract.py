"""What scripts rely on: places, JSON, exit codes, the daemon. See docs/reference/contract.md."""

import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.instance import Instance

pytestmark = pytest.mark.tmux

SHOP = '[team]\nname = "shop"\n[agents.a]\ncommand = ["cat"]\n'
#: Of containment, the best first.
LEVELS = ("systemd", "cgroup", "process")
PS_FIELDS = {
    "team",
    "agent",
    "state",
    "activity",
    "paused",
    "pid",
    "user",
    "host",
    "workspace",
    "containment",
    "restarts",
    "since",
}


def test_both_directories_are_made_private(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    for path in (instance.home, instance.runtime):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700


def test_the_defaults_follow_xdg(instance: Instance, own_directory: Path) -> None:
    instance.spec(SHOP)
    state, runtime = own_directory / "state", own_directory / "run"
    runtime.mkdir(mode=0o700)
    env = {
        "CORRAL_HOME": "",
        "CORRAL_RUNTIME_DIR": "",
        "XDG_STATE_HOME": str(state),
        "XDG_RUNTIME_DIR": str(runtime),
    }
    instance.run("up", env=env)
    assert (state / "corral" / "corral.db").exists()
    assert stat.S_ISSOCK(os.stat(runtime / "corral" / "daemon.sock").st_mode)
    instance.run("down", env=env)
    instance.run("daemon", "stop", env=env)


def test_events_of_what_never_was_end_with_3(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    for of in (["--agent", "nope"], ["--agent", "shop/nope"], ["--team", "nope"], ["--team", "nope", "-n", "0"]):
        code, error = instance.error("events", *of)
        assert (code, error["code"]) == (3, "not_found"), of
    assert instance.run("events", "--agent", "a", "-n", "0").stdout == ""
    with instance.follow("events", "-f", "--json", "--agent", "b") as stream:
        instance.spec(SHOP + '[agents.b]\ncommand = ["cat"]\n')
        instance.run("up")
        assert stream.until(lambda event: event["event"] == "agent.started", 20)["agent"] == "b"
    instance.run("down")
    assert instance.run("events", "--team", "shop").stdout  # what was, was


def test_ps_lists_in_the_order_of_the_file_also_after_it_changed(instance: Instance) -> None:
    def agent(name: str, count: int = 1) -> str:
        return f'[agents.{name}]\ncommand = ["cat"]\ncount = {count}\n'

    def listed() -> list[str]:
        return [agent["agent"] for agent in instance.json("ps")]

    team = '[team]\nname = "shop"\n'
    instance.spec(team + agent("b", 2) + agent("a"))
    instance.run("up")
    assert listed() == ["b-1", "b-2", "a"]
    instance.spec(team + agent("b", 3) + agent("a"))
    instance.run("up")
    assert listed() == ["b-1", "b-2", "b-3", "a"]
    instance.spec(team + agent("c") + agent("a") + agent("b", 3))
    instance.run("up", "c")
    assert listed() == ["c", "a", "b-1", "b-2", "b-3"]
    instance.spec(team + agent("b", 2) + agent("c"))
    instance.run("up", "--dry-run")
    assert listed() == ["c", "a", "b-1", "b-2", "b-3"]
    instance.run("up")  # nothing to start, but what the file does not have any more goes last
    assert listed() == ["b-1", "b-2", "c", "a", "b-3"]
    instance.run("daemon", "stop")
    instance.run("daemon", "start")
    assert listed() == ["b-1", "b-2", "c", "a", "b-3"]


def test_an_agent_that_was_never_started_is_contained_by_nothing(instance: Instance, own_directory: Path) -> None:
    (own_directory / "occupied").write_text("a file, and no directory")
    instance.spec(SHOP + '[agents.b]\ncommand = ["cat"]\nworkspace = "occupied"\n')
    assert instance.run("up", check=False).returncode == 1
    agents = {agent["agent"]: agent for agent in instance.json("ps")}
    assert agents["a"]["containment"] in LEVELS
    assert agents["b"]["containment"] == "none"
    assert (agents["b"]["state"], agents["b"]["pid"]) == ("failed", None)


def test_ps_has_the_fields_of_the_contract(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    (agent,) = instance.json("ps")
    assert agent.keys() >= PS_FIELDS
    assert agent["containment"] in LEVELS
    assert bool(agent["containment_why"]) == (agent["containment"] != LEVELS[0])


def test_no_secret_reaches_an_argv_tmux_or_the_journal(instance: Instance) -> None:
    instance.spec(SHOP + 'env = { TOKEN = "s3cr3t-of-the-file" }\n')
    instance.run("up", env={"AMBIENT_KEY": "s3cr3t-of-the-caller"})
    (agent,) = instance.json("ps")
    assert b"s3cr3t-of-the-caller" in Path(f"/proc/{agent['pid']}/environ").read_bytes()
    assert b"s3cr3t-of-the-file" in Path(f"/proc/{agent['pid']}/environ").read_bytes()
    socket = os.path.join(instance.runtime, "tmux", "shop.sock")
    for question in (
        ["show-environment", "-g"],
        ["show-environment", "-t", "=a"],
        ["list-panes", "-a", "-F", "#{pane_start_command}"],
    ):
        asked = ["tmux", "-N", "-S", socket, *question]
        assert "s3cr3t" not in subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            argv = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        assert b"s3cr3t" not in argv
    assert "s3cr3t" not in instance.run("events", "--json", "-n", "500").stdout
    for name in ("corral.db", "corral.db-wal", "daemon.log", "keeper.log"):
        assert b"s3cr3t" not in Path(instance.home, name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["ps", "--no-such-flag"], 2),
        (["send", "nobody", "hello"], 3),
        (["logs", "nobody"], 3),
        (["attach", "nobody"], 3),
        (["stop", "nobody"], 3),
        (["ps", "--team", "nobody"], 3),
        (["down", "--team", "nobody"], 3),
    ],
)
def test_errors_are_one_json_object_with_a_remedy_and_an_exit_code(
    instance: Instance, arguments: list[str], code: int
) -> None:
    instance.spec(SHOP)
    instance.run("up")
    found, error = instance.error(*arguments)
    assert found == code
    assert error.keys() >= {"code", "message", "remedy"}
    assert error["message"]
    assert error["remedy"]


@pytest.mark.parametrize(
    "arguments", [["ps"], ["logs"], ["events"], ["daemon", "status"], ["send", "a", "x"], ["down"]]
)
def test_reading_starts_nothing(instance: Instance, arguments: list[str]) -> None:
    instance.spec(SHOP)
    instance.run(*arguments, check=False)
    assert not os.path.exists(instance.runtime)
    assert not os.path.exists(instance.home)


def test_without_a_daemon_ps_says_unknown_and_not_nothing(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    pid = instance.json("daemon", "status")["pid"]
    os.kill(pid, signal.SIGKILL)
    code, error = instance.error("ps")
    assert (code, error["code"]) == (6, "unavailable")
    assert "daemon start" in error["remedy"]


def test_a_stopped_daemon_leaves_agents_running_and_the_next_one_finds_them(instance: Instance) -> None:
    instance.spec(SHOP)
    instance.run("up")
    before = instance.json("ps")
    instance.run("daemon", "stop")
    assert os.path.exists(f"/proc/{before[0]['pid']}")
    instance.run("daemon", "start")
    after = instance.json("ps")
    assert [(agent["state"], agent["pid"]) for agent in after] == [("running", before[0]["pid"])]


def test_many_who_start_the_daemon_get_one(instance: Instance) -> None:
    many = [
        subprocess.Popen(
            instance.argv("daemon", "start", "--json"),
            env=instance.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(8)
    ]
    answers = [process.communicate(timeout=60) for process in many]
    assert [process.returncode for process in many] == [0] * 8
    found = [json.loads(out) for out, _ in answers]
    assert len({answer["pid"] for answer in found}) == 1
    assert sum(answer["started"] for answer in found) == 1


def test_the_daemon_says_whether_it_runs(instance: Instance) -> None:
    assert instance.run("daemon", "status", check=False).returncode == 3
    instance.run("daemon", "start")
    assert instance.json("daemon", "status")["running"] is True
    assert instance.json("daemon", "stop") == {"stopped": True}
    assert instance.json("daemon", "stop") == {"stopped": False}


def test_two_instances_do_not_know_each_other(instance: Instance, own_directory: Path) -> None:
    instance.spec(SHOP)
    other = Instance(str(own_directory / "o"))
    os.mkdir(other.directory)
    other.spec(SHOP)
    try:
        instance.run("up")
        other.run("up")
        (mine,), (theirs,) = instance.json("ps"), other.json("ps")
        assert mine["pid"] != theirs["pid"]
        assert other.json("down")["clean"] is True
        assert instance.json("ps") == [mine] or instance.json("ps")[0]["pid"] == mine["pid"]
    finally:
        other.close()
