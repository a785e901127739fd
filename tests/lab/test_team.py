"""A small team in the account of a real user, with her own systemd and a tmux that knows it."""

from collections.abc import Callable

from tests.lab.support.instances import LabInstance
from tests.lab.support.users import User
from tests.support.waiting import wait_for

_TEAM = """\
[team]
name = "shop"
repo = "repo"

[agents.api]
command = ["corral", "demo-agent"]

[agents.docs]
command = ["corral", "demo-agent"]
"""


def test_a_team_lives_through_log_outs_and_leaves_nothing(lab_instance: LabInstance) -> None:
    lab_instance.repo()
    lab_instance.spec(_TEAM)
    lab_instance.corral("up")
    agents = {agent["agent"]: agent for agent in lab_instance.json("ps")}
    assert {name: agent["state"] for name, agent in agents.items()} == {"api": "running", "docs": "running"}

    lab_instance.corral("send", "docs", "write note.md: from the lab")
    wait_for(lambda: "wrote note.md" in lab_instance.corral("logs", "docs").stdout, what="the agent did it")
    lab_instance.corral("send", "docs", "commit: A note")
    wait_for(lambda: "done." in lab_instance.corral("logs", "docs").stdout, what="the agent committed")

    receipt = lab_instance.json("down")
    assert receipt["clean"] is True
    assert lab_instance.json("ps") == []


def test_two_users_have_teams_of_the_same_name(
    instance_of: Callable[[User], LabInstance], ann: User, ben: User
) -> None:
    instances = [instance_of(ann), instance_of(ben)]
    for one in instances:
        one.repo()
        one.spec(_TEAM)
        one.corral("up")
    instances[0].corral("down")
    assert {agent["state"] for agent in instances[1].json("ps")} == {"running"}
    instances[1].corral("down")
