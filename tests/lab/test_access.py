"""What an agent of an ordinary user may touch, under her own systemd: whatever `ps` says sees to it does."""

import pytest

from corral.adapters.landlock.confine import FILES_VERSION, no_filter, version
from tests.lab.support.instances import LabInstance
from tests.lab.support.users import User

_TEAM = """\
[team]
name = "shop"
repo = "repo"

[agents.api]
command = ["sleep", "86400"]
access = { write = ["src/**"] }

[agents.docs]
command = ["sleep", "86400"]
"""


def test_what_sees_to_writing_is_told_and_does(lab_instance: LabInstance) -> None:
    lab_instance.repo()
    lab_instance.spec(_TEAM)
    lab_instance.corral("up")
    agent = next(agent for agent in lab_instance.json("ps") if agent["agent"] == "api")
    by = agent["access"]["enforced"]["write"]
    assert by == ("kernel" if version() >= FILES_VERSION else "commit")
    assert agent["containment"] == "systemd"
    lab_instance.corral("exec", "api", "-c", "mkdir -p src && echo x >src/x && git add src && git commit -qm x")
    outside = "echo x >README.md && git commit -qam y"
    refused = lab_instance.corral("exec", "api", "-c", outside, check=False)
    assert refused.returncode != 0
    said = refused.stdout + refused.stderr
    assert ("Permission denied" if by == "kernel" else "this agent may write src/** only") in said
    lab_instance.corral("exec", "docs", "-c", outside)
    merged = lab_instance.json("merge", "submit", "--agent", "api", "--wait", "60s")
    assert merged["state"] == "merged"
    lab_instance.corral("down", "--discard")


@pytest.mark.full_machine
def test_on_a_kernel_of_its_own_the_kernel_sees_to_it(lab_instance: LabInstance) -> None:
    """A container of systemd-nspawn has no Landlock."""
    assert version() >= FILES_VERSION
    test_what_sees_to_writing_is_told_and_does(lab_instance)


@pytest.mark.full_machine
def test_neither_others_files_nor_others_environments_can_be_read(lab_instance: LabInstance) -> None:
    lab_instance.repo()
    lab_instance.spec(
        _TEAM.replace('write = ["src/**"]', 'write = ["src/**"], read = ["src/**"]')
        + 'env = { SECRET = "of docs alone" }\n'
    )
    lab_instance.corral("up")
    pid = next(agent["pid"] for agent in lab_instance.json("ps") if agent["agent"] == "docs")
    env, home = f"{lab_instance.runtime}/launch/shop/docs.env", lab_instance.home
    look = f"cat /proc/{pid}/environ {env} {home}/worktrees/shop/docs/README.md; ls ~; kill -0 {pid} && echo seen"
    said = lab_instance.corral("exec", "api", "-c", look, check=False)
    text = said.stdout + said.stderr
    assert text.count("Permission denied") == 4, text
    assert "of docs alone" not in text
    # Without the table, the same user reads all of it.
    assert "of docs alone" in lab_instance.corral("exec", "docs", "-c", f"cat /proc/{pid}/environ {env}").stdout
    lab_instance.corral("down")


@pytest.mark.skipif(bool(no_filter()), reason=no_filter() or "there is a filter")
def test_an_agent_without_a_network_still_reaches_corral(lab_instance: LabInstance, ann: User) -> None:
    lab_instance.repo()
    lab_instance.spec(_TEAM.replace('write = ["src/**"]', 'network = "none"'))
    lab_instance.corral("up")
    code = "import socket; socket.create_connection(('127.0.0.1', 22), 5)"
    refused = lab_instance.corral("exec", "api", "--", "python3", "-c", code, check=False)
    assert "PermissionError" in refused.stdout + refused.stderr
    asked = lab_instance.corral("exec", "api", "-c", "corral ps -q && corral lease acquire src/")
    assert asked.stdout.splitlines()[:2] == ["api", "docs"]
    lab_instance.corral("down")
