"""What an agent proves itself with: its own, of this run, from within itself, and nowhere to be found by others."""

import glob
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import kill_daemon
from tests.faults.support.teams import IDLE, events, toml
from tests.support.instance import Instance
from tests.support.waiting import wait_for


@pytest.fixture
def team(instance: Instance) -> Instance:
    """Two agents, recorded and audited."""
    home = Path(instance.home)
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[audit]\nenabled = true\n")
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}) + "\n[recording]\non = true\n")
    instance.run("up")
    return instance


def credential_file(instance: Instance, agent: str) -> Path:
    return Path(instance.runtime, "launch", "shop", f"{agent}.credential")


def audited(instance: Instance, verb: str) -> list[dict[str, Any]]:
    """The entries of a verb that does nothing else in a test, once one is written."""
    found: list[dict[str, Any]] = []

    def look() -> bool:
        found[:] = instance.json("audit", "ls", "-n", "all", "--verb", verb)
        return bool(found)

    wait_for(look, 20, f"an entry of {verb}")
    return found


def contained(instance: Instance) -> bool:
    """Whether agents have cgroups here to be known by."""
    return all(agent["containment"] != "process" for agent in instance.json("ps"))


def within(instance: Instance, agent: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `corral` inside of an agent, with some variables of its own choice."""
    own = [f"{name}={value}" for name, value in variables.items()]
    return instance.run("exec", agent, "--", "env", *own, *instance.argv(*words), check=False)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 4, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_command_of_an_agent_is_known_as_the_agent(team: Instance) -> None:
    done = within(team, "a", "kv", "put", "colour", "red")
    assert done.returncode == 0, done.stderr
    entries = audited(team, "change_values")
    run = next(event["data"]["run"] for event in events(team) if event["event"] == "agent.started")
    assert {entry["who"]["agent"] for entry in entries} == {"shop/a"}
    assert {entry["who"]["run"] for entry in entries} == ({run} if contained(team) else {""})


def test_an_agent_is_known_though_it_says_nothing_of_itself(team: Instance) -> None:
    """The credential says enough. What is taken away is what an agent used to be known by."""
    hidden = ["-u", "CORRAL_AGENT", "-u", "CORRAL_TEAM"]
    team.run("exec", "a", "--", "env", *hidden, *team.argv("kv", "put", "-t", "shop", "colour", "red"))
    assert {entry["who"]["agent"] for entry in audited(team, "change_values")} == {"shop/a"}


def test_an_agent_with_the_credential_of_another_is_refused(team: Instance) -> None:
    if not contained(team):
        pytest.skip("NO CGROUPS HERE, so two agents of one user cannot be told apart")
    stolen = str(credential_file(team, "b"))
    said = refused(within(team, "a", "ps", CORRAL_AGENT="b", CORRAL_CREDENTIAL_FILE=stolen))
    assert "with the credential of shop/b, from within shop/a" in said
    wait_for(lambda: any(one["event"] == "caller.refused" for one in events(team)), 20, "it is journalled")
    told = next(one for one in events(team) if one["event"] == "caller.refused")
    assert (told["team"], told["agent"], told["outcome"]) == ("shop", "b", "refused")
    denied = [entry for entry in team.json("audit", "ls", "-n", "all") if not entry["allowed"]]
    assert [(entry["verb"], entry["rule"]) for entry in denied] == [("list_agents", "identity")]


def test_an_agent_in_the_name_of_another_is_refused(team: Instance) -> None:
    said = refused(within(team, "a", "ps", CORRAL_AGENT="b"))
    assert "in the name of another agent, with the credential of shop/a" in said


def test_the_credential_of_an_earlier_run_is_refused(team: Instance, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    shutil.copy(credential_file(team, "a"), kept)
    assert within(team, "a", "ps", CORRAL_CREDENTIAL_FILE=str(kept)).returncode == 0
    team.run("restart", "a")
    assert credential_file(team, "a").read_text() != kept.read_text()
    said = refused(within(team, "a", "ps", CORRAL_CREDENTIAL_FILE=str(kept)))
    assert "with a credential that its agent does not have, or has no more" in said
    assert within(team, "a", "ps").returncode == 0


def test_a_credential_is_good_for_the_next_daemon(team: Instance) -> None:
    kill_daemon(team)
    team.run("daemon", "start")
    assert within(team, "a", "kv", "put", "colour", "red").returncode == 0
    runs = {entry["who"]["run"] != "" for entry in audited(team, "change_values")}
    assert runs == {contained(team)}


@pytest.mark.parametrize("given", ["", "x", "corral.x.shop.a.y.z\nX-Corral-Agent: shop/b", "corral." + "x" * 9000])
def test_what_is_no_credential_makes_nobody_an_agent(team: Instance, tmp_path: Path, given: str) -> None:
    made_up = tmp_path / "made-up"
    made_up.write_text(given)
    done = team.run("ps", env={"CORRAL_CREDENTIAL_FILE": str(made_up)}, check=False)
    if given in ("", "corral.x.shop.a.y.z\nX-Corral-Agent: shop/b"):
        assert done.returncode == 0  # nothing that can be said in a header: it is not sent
    else:
        assert "with a credential that is none" in refused(done)


def test_it_goes_with_its_run(team: Instance) -> None:
    given = credential_file(team, "a")
    assert given.stat().st_mode & 0o777 == 0o600
    team.run("stop", "a")
    assert not given.exists()
    team.run("rm", "b", "--force")
    assert not credential_file(team, "b").exists()


def test_it_is_nowhere_to_be_found(team: Instance) -> None:
    secrets = [credential_file(team, agent).read_text().strip().encode() for agent in ("a", "b")]
    attach = team.json("attach", "a")["argv"]
    tmux = attach[: attach.index("-S") + 2]
    for agent in ("a", "b"):
        within(team, agent, "kv", "put", "colour", agent)
    refused(within(team, "a", "ps", CORRAL_AGENT="b"))
    for session in ([], ["-t", "a"]):
        for scope in ([], ["-g"]):
            shown = subprocess.run([*tmux, "show-environment", *scope, *session], capture_output=True, check=False)
            _must_not_have(shown.stdout + shown.stderr, secrets, "tmux's environment")
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try:
            found = Path(path).read_bytes()
        except OSError:
            continue
        _must_not_have(found, secrets, path)
    told = team.run("events", "--json").stdout + team.run("ps", "--json").stdout + team.run("audit", "ls").stdout
    _must_not_have(told.encode(), secrets, "what Corral tells")
    team.run("daemon", "stop")  # what waits to be written is written
    looked_at = 0
    for top in (team.home, team.runtime):
        for directory, _, files in os.walk(top):
            for name in files:
                kept = Path(directory, name)
                if kept.is_file() and not name.endswith(".credential"):
                    _must_not_have(kept.read_bytes(), secrets, str(kept))
                    looked_at += 1
    assert looked_at > 5
    team.run("daemon", "start")


def _must_not_have(data: bytes, secrets: list[bytes], where: str) -> None:
    for secret in secrets:
        assert secret not in data, where
        assert secret.rpartition(b".")[2] not in data, where


@pytest.mark.parametrize("terminal", ["tmux", "none"])
def test_who_prints_it_has_it_masked_in_the_log_and_in_the_journal(instance: Instance, terminal: str) -> None:
    show = [
        "sh",
        "-c",
        'cat "$CORRAL_CREDENTIAL_FILE"; echo $KEY shown; cat "$CORRAL_CREDENTIAL_FILE"; sleep 2; exit 3',
    ]
    instance.spec(toml({"a": {"command": show, "terminal": terminal, "env": {"KEY": "hunter2-secret"}}}))
    instance.run("up", check=False)
    following = subprocess.Popen(instance.argv("logs", "-f", "a"), env=instance.environment(), stdout=subprocess.PIPE)
    with following:
        assert following.stdout is not None
        followed = b"".join(following.stdout.readline() for _ in range(3))
        following.terminate()
    secret = credential_file(instance, "a").read_bytes().strip()
    assert followed.splitlines() == [b"********", b"******** shown", b"********"]
    wait_for(lambda: "agent.exited" in instance.run("events").stdout, 20, "it has ended")
    # What the host of processes keeps of the output of programs without a terminal is as it came, for its user alone.
    kept = Path(instance.home) if terminal == "tmux" else Path(instance.home, "logs")
    written = [path.read_bytes() for path in kept.rglob("*") if path.is_file()]
    assert any(b"******** shown" in data for data in written)
    assert not [data for data in written if secret.rpartition(b".")[2] in data]
    told = instance.run("events", "--json").stdout + instance.run("logs", "-n", "all", "a").stdout
    assert "hunter2" not in told


def test_who_shows_it_on_its_terminal_has_it_masked_in_the_recording(instance: Instance) -> None:
    show = ["sh", "-c", 'cat "$CORRAL_CREDENTIAL_FILE"; echo shown; exec sleep 86400']
    instance.spec(toml({"a": {"command": show}}) + "\n[recording]\non = true\n")
    instance.run("up")
    wait_for(lambda: "shown" in instance.run("logs", "a").stdout, 20, "it is shown")

    def recorded() -> str:
        return "".join(path.read_text() for path in Path(instance.home, "recordings").rglob("*.cast*"))

    wait_for(lambda: "shown" in recorded(), 20, "it is recorded")
    assert "********" in recorded()
    assert credential_file(instance, "a").read_text().strip() not in recorded()
