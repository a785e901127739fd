"""What a host lacks, and how bad that is."""

from dataclasses import replace

import pytest

from corral.domain import diagnosis_host as rules
from corral.domain.diagnosis import INFO, PROBLEM, WARNING
from corral.domain.diagnosis_cures import MakePrivate
from corral.domain.diagnosis_facts import AgentRecord, Directory, Disk, Facts, Host, Records

WELL = Host(
    user="ada",
    systemd=True,
    user_manager=True,
    user_bus="/run/user/1000/bus",
    linger=True,
    cgroups="v2",
    delegated="/user.slice/user-1000.slice/user@1000.service",
    controllers=frozenset({"cpu", "memory", "pids"}),
    tmux_version="tmux 3.5a",
)
AGENT = AgentRecord(team="shop", agent="api", state="running", since=0, run="r", workspace="/w", containment="process")
OWN = Directory(path="/run/user/1000/corral", owner="ada", trusted=True, mode=0o700, own=True)
ABOVE = Directory(path="/srv", owner="root", trusted=True, mode=0o755)
DISK = Disk(paths=("/h",), free=10**11, size=10**12, inodes=10**6, free_inodes=10**6)


def facts(host: Host = WELL, *agents: AgentRecord) -> Facts:
    return Facts(now=0, home="/h", records=Records(source="store", agents=agents), host=host)


def test_a_host_that_has_everything_is_no_finding() -> None:
    assert rules.user_bus(WELL) == rules.cgroups(WELL) == rules.controllers(WELL) == []
    assert rules.tmux(facts(WELL, AGENT)) == rules.linger(facts(WELL, AGENT)) == []


class TestTmux:
    @pytest.mark.parametrize("said", ["tmux 3.2a", "tmux 3.3", "tmux 3.10", "tmux next-3.7", "tmux master"])
    def test_is_new_enough(self, said: str) -> None:
        assert rules.tmux(facts(replace(WELL, tmux_version=said))) == []

    @pytest.mark.parametrize("said", ["tmux 3.2", "tmux 3.1c", "tmux 2.9a", "tmux 1.8", ""])
    def test_is_too_old_or_missing(self, said: str) -> None:
        (finding,) = rules.tmux(facts(replace(WELL, tmux_version=said)))
        assert finding.severity == PROBLEM

    def test_is_missed_less_where_nobody_who_is_up_needs_it(self) -> None:
        without, plain = replace(WELL, tmux_version=""), replace(AGENT, terminal="none")
        (finding,) = rules.tmux(facts(without, plain))
        assert finding.severity == WARNING
        (finding,) = rules.tmux(facts(without, plain, AGENT))
        assert finding.severity == PROBLEM


class TestSystemd:
    def test_without_linger_a_team_that_is_up_is_in_danger(self) -> None:
        (finding,) = rules.linger(facts(replace(WELL, linger=False), AGENT))
        assert (finding.severity, finding.is_well, finding.remedy) == (WARNING, False, "loginctl enable-linger")

    def test_without_linger_and_without_a_team_it_is_only_said(self) -> None:
        (finding,) = rules.linger(facts(replace(WELL, linger=False)))
        assert finding.is_well

    def test_a_member_of_a_shared_server_needs_a_manager_that_stays(self) -> None:
        member = replace(WELL, needed_manager="user@1000.service")
        assert rules.user_bus(member) == rules.linger(facts(member)) == []
        for runs in (True, False):  # who is logged in has one for as long as that
            (finding,) = rules.linger(facts(replace(member, linger=False, user_manager=runs)))
            assert (finding.is_well, "sudo corral host setup" in finding.remedy) == (False, True)
        (finding,) = rules.user_bus(replace(member, user_manager=False, user_bus=""))
        assert (finding.severity, finding.is_well) == (PROBLEM, False)
        assert finding.remedy == "sudo systemctl start user@1000.service"

    def test_linger_means_nothing_without_a_user_manager(self) -> None:
        assert rules.linger(facts(replace(WELL, linger=False, user_manager=False), AGENT)) == []

    def test_a_lost_bus_is_a_warning_and_a_host_without_systemd_is_not(self) -> None:
        (lost,) = rules.user_bus(replace(WELL, user_bus=""))
        (none,) = rules.user_bus(replace(WELL, user_bus="", systemd=False))
        assert (lost.severity, none.severity) == (WARNING, INFO)
        assert lost.is_well

    @pytest.mark.parametrize("kind", ["v1", "hybrid", "none"])
    def test_anything_but_cgroup_v2_is_a_warning(self, kind: str) -> None:
        (finding,) = rules.cgroups(replace(WELL, cgroups=kind))
        assert (finding.severity, finding.is_well) == (WARNING, True)

    def test_controllers_that_are_missing_are_named(self) -> None:
        (finding,) = rules.controllers(replace(WELL, controllers=frozenset({"pids"})))
        assert finding.details["missing"] == ["cpu", "memory"]

    def test_the_level_of_agents_is_told_with_the_reason(self) -> None:
        (finding,) = rules.containment(facts(replace(WELL, user_bus=""), AGENT))
        assert (finding.severity, finding.details["agents"]) == (INFO, ["shop/api"])
        assert "there is no user bus of ada" in finding.message

    def test_why_an_agent_is_not_held_better_is_what_was_seen_when_it_started(self) -> None:
        off = replace(AGENT, agent="web", containment_why="[containment] systemd is off")
        (one, other) = rules.containment(facts(WELL, replace(AGENT, containment="systemd"), off))
        assert (one.details["level"], one.details["why"], one.remedy) == ("systemd", "", "")
        assert (other.details["agents"], other.details["why"]) == (["shop/web"], "[containment] systemd is off")
        assert "not by systemd: [containment] systemd is off" in other.message


class TestDirectories:
    def findings(self, directory: Directory) -> list[tuple[str, object]]:
        found = rules.directories(replace(facts(), directories=(directory,)))
        return [(finding.severity, finding.cure) for finding in found]

    def test_that_are_private_are_well(self) -> None:
        assert self.findings(OWN) == self.findings(ABOVE) == []

    @pytest.mark.parametrize("mode", [0o701, 0o710, 0o755, 0o777])
    def test_of_ours_that_are_open_are_closed(self, mode: int) -> None:
        assert self.findings(replace(OWN, mode=mode)) == [(PROBLEM, MakePrivate(OWN.path))]

    def test_of_somebody_else_are_left_to_him(self) -> None:
        assert self.findings(replace(OWN, trusted=False)) == [(PROBLEM, None)]
        assert self.findings(replace(ABOVE, trusted=False)) == [(PROBLEM, None)]

    @pytest.mark.parametrize(
        ("mode", "private", "well"),
        [(0o777, True, False), (0o1777, False, True), (0o775, False, False), (0o775, True, True)],
        ids=["everybody", "sticky", "a group", "a group of one"],
    )
    def test_above_ours_must_not_be_writable_by_others(self, mode: int, private: bool, well: bool) -> None:
        found = self.findings(replace(ABOVE, mode=mode, private_group=private))
        assert found == ([] if well else [(PROBLEM, None)])


class TestDisks:
    @pytest.mark.parametrize(
        "disk",
        [replace(DISK, free=4 * 10**10), replace(DISK, free=9 * 10**7, size=10**9), replace(DISK, free_inodes=10)],
        ids=["5 %", "100 MB", "files"],
    )
    def test_that_are_nearly_full(self, disk: Disk) -> None:
        (finding,) = rules.disk(replace(facts(), disks=(disk,)))
        assert finding.severity == PROBLEM

    def test_that_have_room_and_those_without_a_number_of_files(self) -> None:
        assert rules.disk(replace(facts(), disks=(DISK, replace(DISK, inodes=0, free_inodes=0)))) == []
