"""Every agent is in a scope with its name on it, and with it everything that it starts."""

from collections.abc import Callable

from tests.lab.support.instances import LabInstance
from tests.lab.support.teams import (
    IDLE,
    agents_of,
    corral_units,
    daemon_of,
    keeper_of,
    pid_from,
    pid_of,
    ps,
    server_of,
    team,
    unit_of,
    up,
)
from tests.lab.support.units import units
from tests.lab.support.users import User, cgroup
from tests.support.processes import is_alive
from tests.support.waiting import wait_for

#: Tries to get away in every way that a process has without another's help. `$$` in single quotes is the inner shell.
_FUGITIVES = """
setsid sh -c 'echo $$ >setsid; exec sleep 1001' &
(setsid sh -c 'echo $$ >forked; exec sleep 1002' &)
(env -i /usr/bin/setsid /bin/sh -c 'echo $$ >bare; exec /bin/sleep 1003' </dev/null >/dev/null 2>&1 &)
(trap '' HUP; exec nohup sh -c 'echo $$ >nohup; exec sleep 1004' >/dev/null 2>&1 &)
exec sleep 1000
"""


def test_an_agent_and_all_that_it_starts_is_in_its_scope_in_the_slice_of_its_team(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    agents = up(lab_instance, team(api=_FUGITIVES, docs=IDLE))
    manager = f"/user.slice/user-{ann.uid}.slice/user@{ann.uid}.service"
    everything = [pid_from(f"{lab_instance.directory}/{name}") for name in ("setsid", "forked", "bare", "nohup")]

    assert {agent["containment"] for agent in agents.values()} == {"systemd"}
    for pid in (pid_of(agents["api"]), *everything):
        assert cgroup(pid) == f"{manager}/corral.slice/corral-shop.slice/corral-shop-api.scope"
    assert cgroup(pid_of(agents["docs"])) == f"{manager}/corral.slice/corral-shop.slice/corral-shop-docs.scope"

    # tmux tried to have it otherwise: the one scope that is left of its own is that of the hub, which is no agent.
    assert len([name for name in units(ann, "scope") if name.startswith("tmux-spawn-")]) <= 1
    tree = ann.bare("systemd-cgls", "--no-pager", "--user-unit", "corral-shop.slice").stdout
    for part in ("corral-shop-api.scope", "sleep 1003", "corral-shop-docs.scope"):
        assert part in tree

    receipt = lab_instance.json("down")
    assert receipt["clean"] is True
    assert {check["what"] for check in receipt["checks"]} >= {"processes", "cgroups", "units", "tmux_servers"}
    assert not [pid for pid in everything if is_alive(pid)]


def test_daemon_keeper_tmux_server_and_agents_are_each_in_a_unit_of_their_own(lab_instance: LabInstance) -> None:
    agents = up(lab_instance, team(api=IDLE, docs=IDLE))
    found = {
        "daemon": unit_of(daemon_of(lab_instance)),
        "keeper": unit_of(keeper_of(lab_instance)),
        "server": unit_of(server_of(lab_instance)),
        "api": unit_of(pid_of(agents["api"])),
        "docs": unit_of(pid_of(agents["docs"])),
    }
    assert len(set(found.values())) == len(found), found
    assert found["daemon"].startswith("corral.daemon.")
    assert found["keeper"].startswith("corral.keeper.")
    assert found["server"].startswith("corral.tmux-shop.")
    lab_instance.corral("down")


def test_a_slice_is_there_while_somebody_is_in_it_and_not_longer(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    up(lab_instance, team(api=IDLE, docs=IDLE))
    lab_instance.corral("stop", "api")
    assert "corral-shop.slice" in corral_units(ann)
    lab_instance.corral("stop", "docs")
    wait_for(lambda: "corral-shop.slice" not in corral_units(ann), what="the slice went")
    lab_instance.corral("restart", "api")
    assert "corral-shop.slice" in corral_units(ann)
    lab_instance.corral("down")
    lab_instance.corral("daemon", "stop")
    wait_for(lambda: not corral_units(ann), what="every unit went")


def test_names_that_look_alike_are_not_mixed_up(lab_instance: LabInstance) -> None:
    """A dash in a slice's name means "below", and `corral-a-b-c.scope` is a name for two agents."""
    lab_instance.spec(agents_of("a", {"b-c": IDLE}))
    lab_instance.corral("up")
    first = pid_of(ps(lab_instance)["b-c"])
    lab_instance.spec(agents_of("a-b", {"c": IDLE}), where=lab_instance.repo("other"))
    lab_instance.corral("up", cwd=f"{lab_instance.directory}/other")
    second = pid_of(ps(lab_instance)["c"])

    assert cgroup(first).endswith("/corral.slice/corral-a.slice/corral-a-b-c.scope")
    assert "/corral.slice/corral-a\\x2db.slice/corral-a-b-c." in cgroup(second)
    assert unit_of(first) != unit_of(second)

    assert lab_instance.json("down", "--team", "a")["clean"] is True
    assert [is_alive(pid) for pid in (first, second)] == [False, True]
    assert lab_instance.json("down", "--team", "a-b")["clean"] is True


def test_the_longest_names_fit(lab_instance: LabInstance) -> None:
    name = "-".join("x" * 20) + "y"  # as many dashes as forty characters can hold, and each of them takes four
    agent = up(lab_instance, agents_of(name, {name: IDLE}))[name]
    assert agent["containment"] == "systemd"
    assert unit_of(pid_of(agent)) == f"corral-{name}-{name}.scope"
    lab_instance.corral("down")


def test_two_instances_have_a_team_of_the_same_name(instance_of: Callable[..., LabInstance], ann: User) -> None:
    one, two = instance_of(ann, "one"), instance_of(ann, "two")
    limit = "tasks_max = 100"
    first = pid_of(up(one, agents_of("shop", {"api": IDLE}).replace('"shop"', f'"shop"\n{limit}'))["api"])
    second = pid_of(up(two, team())["api"])
    assert unit_of(first) == "corral-shop-api.scope"
    assert unit_of(second).startswith("corral-shop-api.")
    # In slices of their own: neither lives under the limits of the other.
    assert cgroup(first).split("/")[-2] == "corral-shop.slice" != cgroup(second).split("/")[-2]

    assert one.json("down")["clean"] is True
    assert not is_alive(first)
    assert is_alive(second)
    assert ps(two)["api"]["state"] == "running"
    assert two.json("down")["clean"] is True


def test_a_foreign_unit_of_our_name_is_left_alone(lab_instance: LabInstance) -> None:
    ann = lab_instance.user
    command = ["systemd-run", "--user", "--quiet", "--collect", "--scope", "--unit=corral-shop-api.scope"]
    with ann.start(*command, "--", "sleep", "1000") as session:
        foreign = wait_for(lambda: units(ann, "scope").get("corral-shop-api.scope"), what="the foreign unit")
        agent = up(lab_instance, team())["api"]
        assert agent["containment"] == "systemd"
        assert unit_of(pid_of(agent)).startswith("corral-shop-api.")
        assert unit_of(pid_of(agent)) != foreign.name
        assert lab_instance.json("down")["clean"] is True
        assert units(ann, "scope")[foreign.name].state == "active"
        ann.systemctl("kill", "--signal=KILL", foreign.name)
        session.wait(20)
