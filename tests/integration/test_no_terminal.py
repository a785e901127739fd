"""Agents without a terminal: the same commands, over pipes, on a host that need not have tmux at all."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.faults.support.population import keepers
from tests.faults.support.teams import await_event, await_states, down, events, ps, states, toml
from tests.support.instance import Instance
from tests.support.processes import is_alive, snapshot
from tests.support.tmux import Tmux
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

#: Says what it hears, line by line, and when there is no more to hear.
ECHO = ["sh", "-c", 'echo ready; while IFS= read -r line; do echo "got <$line>"; done; echo no more']


@pytest.fixture(autouse=True)
def no_tmux(instance: Instance) -> None:
    """There is no tmux, unless a test says otherwise."""
    instance.env["CORRAL_TMUX"] = "/nonexistent"


def plain(command: list[str], **more: object) -> dict[str, object]:
    return {"command": command, "terminal": "none", **more}


def logged(instance: Instance, agent: str) -> str:
    return instance.run("logs", "-n", "all", agent).stdout


def await_log(instance: Instance, agent: str, text: str) -> str:
    """The log of an agent once it has this text."""

    def log() -> str | None:
        now = logged(instance, agent)
        return now if text in now else None

    return wait_for(log, what=f"{agent} says {text!r}")


def test_a_team_without_terminals_needs_no_tmux_from_up_to_down(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": plain(ECHO), "b": plain(["sleep", "86400"])}))
    result = instance.json("up")
    assert [(agent["action"], agent["state"]) for agent in result["agents"]] == [("start", "running")] * 2
    agents = ps(instance)
    assert {agent["terminal"] for agent in agents.values()} == {"none"}
    assert not (Path(instance.runtime) / "tmux" / "shop.sock").exists()
    await_log(instance, "a", "ready")
    assert instance.json("up")["changed"] is False
    assert [agent["pid"] for agent in ps(instance).values()] == [agent["pid"] for agent in agents.values()]
    assert down(instance)["stopped"] == ["a", "b"]
    assert not any(is_alive(agent["pid"]) for agent in agents.values())
    assert not os.listdir(Path(instance.runtime) / "tmux")


def test_words_go_to_standard_input_as_they_are(instance: Instance) -> None:
    instance.spec(toml({"a": plain(ECHO)}))
    instance.run("up")
    receipt = instance.json("send", "a", "tabs\tand \x1b[A keys")
    assert receipt["state"] == "submitted"
    instance.run("send", "--no-enter", "a", "half a line, ")
    instance.run("send", "a", "and the rest\n")
    await_log(instance, "a", "got <half a line, and the rest>")
    raw = instance.run("logs", "--raw", "a").stdout
    assert raw == "ready\ngot <tabs\tand \x1b[A keys>\ngot <half a line, and the rest>\n"
    assert instance.json("logs", "--screen", "a")["lines"][-1] == "got <half a line, and the rest>"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"prompt": "first words"}, ["ready", "got <first words>"]),
        ({"prompt": "first words", "stdin": False}, ["ready", "got <first words>", "no more"]),
        ({"stdin": False}, ["ready", "no more"]),
    ],
)
def test_what_is_read_is_the_prompt_and_then_the_end_if_so_declared(
    instance: Instance, more: dict[str, object], says: list[str]
) -> None:
    instance.spec(toml({"a": plain(ECHO, **more)}))
    instance.run("up")
    assert await_log(instance, "a", says[-1]).splitlines() == says
    if "stdin" in more:
        await_states(instance, {"a": "stopped"})
        assert ps(instance)["a"]["exit_code"] == 0
    if "prompt" in more:
        assert ps(instance)["a"]["prompt"] == "sent"
        instance.run("restart", "a")
        wait_for(lambda: logged(instance, "a").splitlines() == [*says, *says] or None, what="the prompt comes again")


def test_to_one_whose_input_is_at_its_end_nothing_can_be_sent(instance: Instance) -> None:
    instance.spec(toml({"a": plain(["sleep", "86400"], stdin=False)}))
    instance.run("up")
    code, error = instance.error("send", "a", "hello")
    assert (code, error["code"]) == (4, "refused")
    assert "standard input is at its end" in error["message"]
    assert "stdin = false" in error["remedy"]


def test_how_it_ends_is_told_with_last_words_and_the_policy_decides(instance: Instance, own_directory: Path) -> None:
    (own_directory / "once").touch()
    fails_once = f"echo try; rm {own_directory}/once || exec sleep 86400; echo last words; exit 7"
    instance.spec(
        toml(
            {
                "never": plain(["sh", "-c", "seq 1000; echo oops; exit 3"]),
                "killed": plain(["sh", "-c", "kill -9 $$"]),
                "missing": plain(["/no/such/program"]),
                "again": plain(["sh", "-c", fails_once], restart="on-failure"),
            }
        )
    )
    done = instance.run("up", "--json", check=False)
    assert done.returncode == 1
    await_states(instance, {"never": "failed", "killed": "failed", "missing": "failed", "again": "running"})
    now = ps(instance)
    assert [now[agent]["exit_code"] for agent in ("never", "killed", "missing")] == [3, 137, 127]
    assert "SIGKILL" in now["killed"]["reason"]
    assert "not found" in now["missing"]["reason"]
    assert logged(instance, "never").splitlines() == [*map(str, range(1, 1001)), "oops"]
    (exited,) = [one for one in events(instance, "--agent", "never") if one["event"] == "agent.exited"]
    assert exited["data"]["last_words"].endswith("\n1000\noops")
    wait_for(lambda: ps(instance)["again"]["restarts"] == 1 or None, what="it was started again")
    assert await_log(instance, "again", "try\nlast words\ntry").splitlines().count("try") == 2


def test_stop_takes_everything_along_and_restart_begins_anew(instance: Instance, own_directory: Path) -> None:
    script = (
        "trap '' HUP; trap 'echo asked to end; exit 5' TERM; "
        f"setsid sleep 86399 & echo $! >{own_directory}/child; echo up; while :; do sleep 0.05; done"
    )
    instance.spec(toml({"a": plain(["sh", "-c", script]), "b": plain(["sleep", "86400"])}))
    instance.run("up")
    await_log(instance, "a", "up")
    child, beside = int((own_directory / "child").read_text()), ps(instance)["b"]["pid"]
    instance.run("stop", "a")
    assert not is_alive(child)
    assert ps(instance)["a"]["exit_code"] == 5
    assert logged(instance, "a").splitlines()[-1] == "asked to end"
    instance.run("restart", "a")
    assert states(instance) == {"a": "running", "b": "running"}
    assert ps(instance)["b"]["pid"] == beside
    assert instance.json("rm", "--force", "a")["agents"][0]["removed"] is True
    assert states(instance) == {"b": "running"}


@pytest.mark.parametrize("systemd", ["auto", "off"])
def test_pause_stats_and_census_hold_for_it_too(instance: Instance, own_directory: Path, systemd: str) -> None:
    count = "while :; do echo x >>ticks; sleep 0.01; done"
    text = toml({"a": plain(["sh", "-c", f"(setsid sh -c '{count}' &); exec sleep 86400"])})
    instance.spec(f'{text}[containment]\nsystemd = "{systemd}"\n')
    instance.run("up")
    ticks = own_directory / "ticks"
    wait_for(lambda: ticks.exists() and ticks.stat().st_size > 10, what="it ticks")
    instance.run("pause", "a")
    stood_at = ticks.stat().st_size
    code, error = instance.error("send", "a", "hello")
    assert (code, error["code"]) == (4, "refused")
    (usage,) = [one for one in instance.json("stats") if one["agent"] == "a"]
    assert usage["tasks"] >= 2
    assert ticks.stat().st_size == stood_at
    instance.run("resume", "a")
    wait_for(lambda: ticks.stat().st_size > stood_at, what="it ticks again")
    down(instance)
    assert not [one for one in snapshot().values() if count in one.describe()]


def test_to_attach_is_to_follow_and_to_leave_it_ends_nothing(instance: Instance, own_directory: Path) -> None:
    instance.spec(toml({"a": plain(ECHO)}))
    instance.run("up")
    pid = ps(instance)["a"]["pid"]
    env = [f"{name}={value}" for name, value in instance.environment().items() if name.startswith("CORRAL_")]
    with Tmux(own_directory, ["env", *env, *instance.argv("attach", "a")], own_directory) as terminal:
        terminal.shows("a has no terminal")
        terminal.shows("ready")
        instance.run("send", "a", "to you")
        terminal.shows("got <to you>")
        follower = terminal.program()
        terminal("send-keys", "these keys reach nobody", "Enter", "C-c")
        wait_for(lambda: not is_alive(follower), what="ctrl-c leaves it")
    assert ps(instance)["a"]["pid"] == pid
    assert logged(instance, "a").splitlines() == ["ready", "got <to you>"]


def test_the_doctor_finds_nothing_wrong_with_it(instance: Instance) -> None:
    instance.spec(toml({"a": plain(ECHO)}))
    instance.run("up")
    wait_for(lambda: _age(instance, "a") > 2.5, what="the doctor has to look at it")
    report = json.loads(instance.run("doctor", "--json", check=False).stdout)
    about = [finding["check"] for finding in report["findings"] if finding["severity"] in ("problem", "warning")]
    assert not {"lost_sessions", "stray_sessions", "orphans", "sockets"} & set(about), report
    (tmux,) = [finding for finding in report["findings"] if finding["check"] == "tmux"]
    assert tmux["severity"] == "warning"


def test_a_change_of_terminal_is_named_and_restarts(instance: Instance) -> None:
    instance.env.clear()
    instance.spec(toml({"a": {"command": ECHO}}))
    instance.run("up")
    instance.spec(toml({"a": plain(ECHO)}))
    (changed,) = instance.json("up")["agents"]
    assert (changed["action"], changed["differs"]) == ("changed", ["terminal"])
    assert ps(instance)["a"]["terminal"] == "tmux"
    instance.run("up", "--restart-changed")
    assert (ps(instance)["a"]["terminal"], ps(instance)["a"]["state"]) == ("none", "running")
    instance.run("send", "a", "over a pipe")
    await_log(instance, "a", "got <over a pipe>")
    instance.spec(toml({"a": {"command": ECHO}}))
    instance.run("up", "--restart-changed")
    assert ps(instance)["a"]["terminal"] == "tmux"
    instance.run("send", "a", "over a terminal")
    await_log(instance, "a", "got <over a terminal>")
    down(instance)


def test_fifty_come_and_go_together(instance: Instance) -> None:
    instance.spec(toml({"a": plain(["sh", "-c", "echo I am $CORRAL_AGENT; exec sleep 86400"], count=50)}))
    instance.run("up")
    assert set(states(instance).values()) == {"running"}
    assert len(states(instance)) == 50
    for number in (1, 25, 50):
        await_log(instance, f"a-{number}", f"I am a-{number}")
    assert len(down(instance)["stopped"]) == 50


def test_one_that_never_stops_writing_harms_nobody(instance: Instance) -> None:
    instance.spec(toml({"a": plain(["yes", "and so on"]), "b": plain(ECHO)}))
    instance.run("up")
    log = Path(instance.home, "logs", "shop", "a.log")
    wait_for(lambda: Path(f"{log}.1").exists(), what="more is written than is kept")
    assert instance.run("logs", "-n", "3", "a", timeout=30).stdout.startswith("and so on\n")
    instance.run("send", "b", "hello")
    await_log(instance, "b", "got <hello>")
    (keeper,) = keepers(instance)
    assert _resident(keeper.pid) < 120 << 20
    instance.run("stop", "a")
    sizes = [Path(path).stat().st_size for path in (log, f"{log}.1")]
    assert all(size < 11 << 20 for size in sizes), sizes
    down(instance)


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_it_finds_around_it(instance: Instance, own_directory: Path) -> None:
    show = (
        "import json, os, sys; print(json.dumps({'tty': [os.isatty(n) for n in range(3)], 'env': dict(os.environ),"
        " 'cwd': os.getcwd(), 'leads': os.getsid(0) == os.getppid()}))"
    )
    instance.spec(toml({"a": plain([sys.executable, "-c", show], env={"MINE": "x y"})}))
    instance.run("up")
    seen = json.loads(await_log(instance, "a", "}\n"))
    assert seen["tty"] == [False, False, False]
    assert (seen["cwd"], seen["leads"]) == (str(own_directory), True)
    env = seen["env"]
    assert (env["TERM"], env["MINE"], env["CORRAL_AGENT"], env["CORRAL_TEAM"]) == ("dumb", "x y", "a", "shop")
    # It is the agent, and no command that somebody started for it.
    assert (env.keys() - os.environ.keys()) & {"CORRAL_HOST", "GIT_TERMINAL_PROMPT", "PAGER", "NO_COLOR"} == set()


def test_a_run_is_no_command_of_its_agent(instance: Instance) -> None:
    instance.spec(toml({"a": plain(ECHO)}))
    instance.run("up")
    assert ps(instance)["a"]["processes"] == 0
    await_event(instance, "agent.started", "a")
    assert instance.json("proc", "ls") == []


def _age(instance: Instance, agent: str) -> float:
    import time
    from datetime import datetime

    return time.time() - datetime.fromisoformat(ps(instance)[agent]["since"]).timestamp()
