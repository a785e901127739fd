"""Who the daemon of a shared server takes callers for: real users, real scopes, the real unit."""

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.support.instances import LabInstance
from tests.lab.support.seeded import forget, know, scope_of, write_credential
from tests.lab.support.shared import shared_server, system, tidy
from tests.lab.support.shells import in_scope
from tests.lab.support.ssh import ssh_server
from tests.lab.support.users import Result, User
from tests.support.waiting import wait_for

ANN, BEN = User("ann"), User("ben")
#: Where a command finds the daemon that has nothing else in its environment.
HOST = "CORRAL_HOME=/var/lib/corral CORRAL_RUNTIME_DIR=/run/corral"
PS = f"env -i PATH=$PATH {HOST} corral ps --json"
#: By the service manager of whoever runs it.
IN_A_UNIT = "systemd-run --user --quiet --collect --pipe --wait"
BY_MANAGER = "by something that a user's service manager runs, and no log-in is behind it"


@pytest.fixture(scope="module")
def credentials() -> Iterator[dict[str, str]]:
    """A server that knows agents a and b of ann, and c of ben."""
    with shared_server(ANN, BEN):
        try:
            yield know((ANN, "a"), (ANN, "b"), (BEN, "c"))
        finally:
            forget()


@pytest.fixture
def server(credentials: dict[str, str]) -> Iterator[dict[str, str]]:
    yield credentials
    tidy(ANN, BEN)


@pytest.fixture
def sshd(own_directory: Path) -> Iterator[list[str]]:
    with ssh_server(own_directory) as ssh:
        yield ssh


def refusal(done: tuple[int, str]) -> str:
    code, said = done
    assert code == 4, said
    error = next(json.loads(line) for line in said.splitlines() if line.startswith("{"))["error"]
    assert error["code"] == "refused"
    return str(error["message"])


def denied(done: Result) -> dict[str, Any]:
    assert done.returncode == 4, done.stdout + done.stderr
    error: dict[str, Any] = json.loads(done.stderr)["error"]
    assert (error["code"], error["rule"]) == ("denied", "identity")
    return error


def with_credential(path: str, agent: str = "") -> str:
    """`corral ps` of somebody who shows what is in a file, and may say who it is."""
    says = f"CORRAL_TEAM=shop CORRAL_AGENT={agent}" if agent else ""
    return f"env -i PATH=$PATH {HOST} CORRAL_CREDENTIAL_FILE={path} {says} corral ps --json"


def journalled(why: str) -> dict[str, Any]:
    """The event of a refusal, as the journal has it."""
    found: list[dict[str, Any]] = []

    def look() -> bool:
        lines = system("runuser", "-l", "ann", "-c", "corral events --json -n all").stdout.splitlines()
        told = [json.loads(line) for line in lines]
        found[:] = [one for one in told if one["event"] == "caller.refused" and why in one["data"]["why"]]
        return bool(found)

    wait_for(look, 20, f"a refusal {why}")
    return found[-1]


def test_a_person_is_known_by_the_kernel(server: dict[str, str]) -> None:
    agents = json.loads(ANN.run("corral", "ps", "--json").stdout)
    assert {agent["agent"] for agent in agents} == {"a", "b", "c"}


def test_a_person_in_a_scope_of_their_own_is_a_person(server: dict[str, str]) -> None:
    """As somebody is who works in a tmux that knows systemd, or at a desktop."""
    with in_scope(ANN, "terminal-1") as shell:
        assert shell.run(PS)[0] == 0


def test_people_are_people_however_they_come(server: dict[str, str], sshd: list[str]) -> None:
    """And where that puts them: a session, or a service of the system."""
    session = r"/user\.slice/user-\d+\.slice/session-\w+\.scope"
    ways = {
        "ssh": ([*sshd, "ann@localhost"], session),
        "su": (["su", "--login", "ann", "--command"], session),
        "runuser": (["runuser", "--login", "ann", "--command"], session),
        "a service": (
            ["systemd-run", "--quiet", "--collect", "--pipe", "--wait", "--uid=ann", "sh", "-c"],
            r"/system\.slice/run-.*\.service",
        ),
        "a service with a log-in": (
            ["systemd-run", "--quiet", "--collect", "--pipe", "--wait", "--uid=ann", "-p", "PAMName=login", "sh", "-c"],
            session,
        ),
        # As cron has it, or an sshd that does not know PAM.
        "a process of the system's": (["runuser", "-u", "ann", "--", "sh", "-c"], r"/.*"),
    }
    for way, (argv, place) in ways.items():
        done = system(*argv, f"grep ^0:: /proc/self/cgroup; {PS}", check=False)
        assert done.returncode == 0, f"{way}: {done.stdout}{done.stderr}"
        found, agents = done.stdout.split("\n", 1)
        assert re.fullmatch(place, found.removeprefix("0::")), f"{way}: {found}"
        assert len(json.loads(agents)) == 3, way


def test_a_pane_of_ones_own_tmux_is_a_person_though_it_is_below_the_manager(
    server: dict[str, str], own_directory: Path
) -> None:
    os.chmod(own_directory, 0o777)
    said = own_directory / "said"
    tmux = f"tmux -S {own_directory}/tmux"
    moved = "until grep ^0::.*tmux-spawn- /proc/$$/cgroup; do sleep 0.1; done"
    pane = f"{{ {moved}; {PS}; }} >{said}.new; mv {said}.new {said}; sleep 1000"
    with ANN.start("sh", "-c", f"{tmux} new-session -d {shlex.quote(pane)}; read -r _; {tmux} kill-server") as login:
        wait_for(said.exists, 30, "the pane asked")
        assert login.stdin is not None
        login.stdin.close()
        login.wait(30)
    place, agents = said.read_text().split("\n", 1)
    assert re.search(r"user@\d+\.service/.*tmux-spawn-", place)
    assert len(json.loads(agents)) == 3


def test_what_the_manager_of_a_person_runs_is_not_that_person(server: dict[str, str]) -> None:
    done = ANN.run("sh", "-c", f"{IN_A_UNIT} {PS}", check=False)
    error = denied(done)
    assert error["message"] == f"this was asked {BY_MANAGER}"
    assert all(word in error["remedy"] for word in ("log-in", "credential", "trust_user_units"))
    told = journalled(BY_MANAGER)
    assert (told["who"]["user"], told["agent"], told["data"]["verb"]) == ("ann", "", "list_agents")


def test_an_agent_is_proved_by_its_credential_and_its_scope(server: dict[str, str], own_directory: Path) -> None:
    own = write_credential(ANN, own_directory, "a", server["a"])
    with in_scope(ANN, "corral-shop-a") as agent:
        code, said = agent.run("grep ^0:: /proc/self/cgroup")
        assert (code, said.strip()) == (0, f"0::{scope_of(ANN, 'a')}")
        for line in (with_credential(own), with_credential(own, "a")):
            assert agent.run(line)[0] == 0, agent.run(line)[1]
        # Also what it has had moved elsewhere, as its own tmux does with each pane.
        assert agent.run(f"systemd-run --user --quiet --scope {with_credential(own)}")[0] == 0


def test_an_agent_that_strips_its_environment_is_not_its_developer(server: dict[str, str]) -> None:
    with in_scope(ANN, "corral-shop-a") as agent:
        assert refusal(agent.run(PS)) == "this was asked from within shop/a, without its credential"
        for escape in ("setsid --wait", "systemd-run --user --quiet --scope", "nohup"):
            assert "from within shop/a" in refusal(agent.run(f"{escape} {PS}")), escape
    told = journalled("from within shop/a, without its credential")
    assert (told["team"], told["agent"], told["who"]["uid"]) == ("shop", "a", ANN.uid)
    assert told["who"]["agent"] == ""


def test_an_agent_with_the_credential_of_another_is_refused(server: dict[str, str], own_directory: Path) -> None:
    stolen = write_credential(ANN, own_directory, "b", server["b"])
    with in_scope(ANN, "corral-shop-a") as agent:
        for line in (with_credential(stolen), with_credential(stolen, "b")):
            said = refusal(agent.run(line))
            assert said == "this was asked with the credential of shop/b, from within shop/a"
    journalled("with the credential of shop/b, from within shop/a")


def test_an_agent_in_the_name_of_another_is_refused(server: dict[str, str], own_directory: Path) -> None:
    own = write_credential(ANN, own_directory, "a", server["a"])
    with in_scope(ANN, "corral-shop-a") as agent:
        assert "in the name of another agent" in refusal(agent.run(with_credential(own, "b")))


def test_a_credential_is_of_no_use_to_another_user(server: dict[str, str], own_directory: Path) -> None:
    stolen = write_credential(BEN, own_directory, "a", server["a"])
    with in_scope(BEN, "corral-shop-c") as agent:
        assert "by another user" in refusal(agent.run(with_credential(stolen)))
    # Nor in a scope of the same name, which is another one below another manager.
    with in_scope(BEN, "corral-shop-a") as agent:
        assert "by another user" in refusal(agent.run(with_credential(stolen)))
        assert "something that Corral started" in refusal(agent.run(PS))


def test_a_credential_is_of_no_use_outside_of_its_agent(server: dict[str, str], own_directory: Path) -> None:
    found = write_credential(ANN, own_directory, "a", server["a"])
    done = ANN.run("sh", "-c", with_credential(found), check=False)
    said = refusal((done.returncode, done.stdout + done.stderr))
    assert "outside of that agent's cgroup" in said


def test_a_name_alone_counts_for_nothing(server: dict[str, str]) -> None:
    named = {"CORRAL_TEAM": "shop", "CORRAL_AGENT": "a"}
    done = ANN.run("corral", "ps", "--json", env=named, check=False)
    assert "in the name of an agent" in refusal((done.returncode, done.stdout + done.stderr))


def test_an_agent_of_a_persons_own_instance_is_not_that_person(
    server: dict[str, str], lab_instance: LabInstance
) -> None:
    lab_instance.spec('[team]\nname = "own"\n[agents.x]\nworkspace = "shared"\ncommand = ["sleep", "1000"]\n')
    lab_instance.corral("up")
    done = lab_instance.corral("exec", "x", "--", "sh", "-c", f"env {HOST} corral ps --json", check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "something that Corral started" in done.stdout + done.stderr
    lab_instance.corral("down")


def test_in_an_instance_of_ones_own_agents_prove_themselves_too(lab_instance: LabInstance) -> None:
    Path(lab_instance.home).mkdir(mode=0o700)
    Path(lab_instance.home, "config.toml").write_text("[audit]\nenabled = true\n")
    system("chown", "-R", "ann:ann", lab_instance.home)
    lab_instance.spec('[team]\nname = "own"\n[agents.x]\nworkspace = "shared"\ncommand = ["sleep", "1000"]\n')
    lab_instance.corral("up")
    lab_instance.corral("exec", "x", "--", "corral", "kv", "put", "colour", "red")
    # From a tmux of its own, whose panes systemd has somewhere else.
    lab_instance.corral("exec", "x", "--", "tmux", "new-session", "-d", "corral kv put colour blue; sleep 1000")

    def entries() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = lab_instance.json("audit", "ls", "-n", "all", "--verb", "change_values")
        return found

    wait_for(lambda: len(entries()) == 4, 20, "both are in the trail")
    assert {entry["who"]["agent"] for entry in entries()} == {"own/x"}
    assert all(entry["who"]["run"] for entry in entries())
    lab_instance.corral("down")
