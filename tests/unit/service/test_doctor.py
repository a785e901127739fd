"""The doctor's round: it looks, says what it found, and heals only when asked."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from corral.adapters.doctor import scopes
from corral.adapters.doctor.hands import LocalHands
from corral.domain.diagnosis import CHECKS, Finding
from corral.domain.diagnosis_cures import Cure, Healed, StopScope
from corral.domain.diagnosis_facts import Facts, Host, Records, Scope
from corral.domain.errors import UnavailableError
from corral.places import Places
from corral.ports.doctor import ScopeUnit
from corral.service.doctor import examine

HOST = Host(user="ada", user_bus="/bus", cgroups="v2", tmux_version="tmux 3.5a")


class FakeUnits:
    """A service manager with scopes of the test's choice, whose cgroups are directories of the test's own."""

    def __init__(self, root: Path, **processes: int) -> None:
        self.root = root
        self.units: list[ScopeUnit] = []
        self.stopped: list[str] = []
        for name, count in processes.items():
            self.add(name.replace("_", "-") + ".scope", count)

    def add(self, name: str, processes: int, description: str = "") -> None:
        directory = self.root / "user.slice" / name
        directory.mkdir(parents=True)
        (directory / "cgroup.events").write_text(f"populated {int(processes > 0)}\nfrozen 0\n")
        (directory / "cgroup.procs").write_text(f"{os.getpid()}\n" * processes)
        self.units.append(ScopeUnit(name, True, f"/user.slice/{name}", description))

    def list_scopes(self) -> Sequence[ScopeUnit]:
        return self.units

    def stop(self, name: str) -> None:
        self.stopped.append(name)


class FakeView:
    def __init__(self, **facts: object) -> None:
        given = {"now": 0.0, "home": "/h", "records": Records(source="none"), "host": HOST, **facts}
        self._facts = Facts(**given)  # type: ignore[arg-type]

    def facts(self) -> Facts:
        return self._facts


class FakeHands:
    def __init__(self, fixed: bool = True) -> None:
        self.cures: list[Cure] = []
        self.fixed = fixed

    def heal(self, cures: Sequence[Cure]) -> list[Healed]:
        self.cures.extend(cures)
        return [Healed(self.fixed, "it was tried") for _ in cures]


RECORDS = Records(source="store", instance="0123456789ab")


def empty() -> Scope:
    description = "Corral agent shop/api (instance 0123456789ab)"
    name = "corral-shop-api.scope"
    return Scope(name=name, active=True, control_group="/x", description=description, populated=False)


def test_a_well_host_is_healthy_and_every_check_is_named() -> None:
    document = examine(FakeView()).as_json()
    assert document["healthy"] is True
    assert document["findings"] == []
    checked = document["checked"]
    assert isinstance(checked, list)
    assert [check["check"] for check in checked] == list(CHECKS)
    assert all(check["done"] for check in checked)


def test_without_hands_nothing_is_tried() -> None:
    (finding,) = examine(FakeView(records=RECORDS, scopes=(empty(),))).findings
    assert (finding.fixed, finding.is_well) == (None, False)


def test_what_was_healed_does_not_count_any_more() -> None:
    hands = FakeHands()
    report = examine(FakeView(records=RECORDS, scopes=(empty(),)), hands)
    assert hands.cures == [StopScope("corral-shop-api.scope", "/x")]
    (finding,) = report.findings
    assert (finding.fixed, finding.remedy) == (True, "")
    assert finding.message.endswith("; it was tried")
    assert report.healthy


def test_what_could_not_be_healed_still_counts_and_keeps_its_remedy() -> None:
    report = examine(FakeView(records=RECORDS, scopes=(empty(),)), FakeHands(fixed=False))
    (finding,) = report.findings
    assert finding.fixed is False
    assert finding.remedy
    assert not report.healthy


class TestTheJournal:
    """Everything that was tried is written down, with its outcome."""

    @pytest.mark.parametrize("fixed", [True, False])
    def test_what_was_tried_is_told_to_it(self, fixed: bool) -> None:
        told: list[Finding] = []
        examine(FakeView(records=RECORDS, scopes=(empty(),)), FakeHands(fixed), told.extend)
        assert [(finding.subject, finding.fixed) for finding in told] == [("corral-shop-api.scope", fixed)]

    def test_a_round_that_changed_nothing_says_nothing(self) -> None:
        def chronicle(_: Sequence[Finding]) -> None:
            raise AssertionError("nothing was tried")

        assert examine(FakeView(), FakeHands(), chronicle).healthy
        assert not examine(FakeView(records=RECORDS, scopes=(empty(),)), None, chronicle).healthy

    def test_one_that_cannot_be_written_is_a_finding_and_undoes_nothing(self) -> None:
        def chronicle(_: Sequence[Finding]) -> None:
            raise UnavailableError("no daemon starts here", "look at its log")

        report = examine(FakeView(records=RECORDS, scopes=(empty(),)), FakeHands(), chronicle)
        (journal,) = [finding for finding in report.findings if finding.check == "journal"]
        assert "no daemon starts here" in journal.message
        assert journal.remedy == "look at its log"
        assert [finding.fixed for finding in report.findings if finding.check == "scopes"] == [True]
        assert not report.healthy


def test_what_rests_on_records_is_not_checked_without_them() -> None:
    report = examine(FakeView(records=Records(source="unknown", why="nobody knows")), None)
    assert report.not_checked["orphans"] == report.not_checked["transitions"] == "nobody knows"


class TestScopes:
    """The story of 80 leaked scopes: 77 with nothing in them, 3 with a shell."""

    @pytest.fixture
    def units(self, own_directory: Path, monkeypatch: pytest.MonkeyPatch) -> FakeUnits:
        root = own_directory / "cgroup"
        monkeypatch.setattr(scopes, "ROOT", str(root))
        units = FakeUnits(root)
        for number in range(80):
            ghost = f"tmux child pane {number} launched by process 17000"
            units.add(f"tmux-spawn-{number:02}.scope", 1 if number < 3 else 0, ghost)
        units.add("session-1.scope", 0)
        return units

    def test_the_empty_ones_are_stopped_and_no_other(self, units: FakeUnits, own_directory: Path) -> None:
        hands = LocalHands(Places(str(own_directory / "h"), str(own_directory / "r")), "i", units, lambda: None)
        report = examine(FakeView(scopes=scopes.look(units, str(units.root))), hands)
        assert units.stopped == [f"tmux-spawn-{number:02}.scope" for number in range(3, 80)]
        shown = [finding for finding in report.findings if finding.fixed is None]
        assert [finding.details["processes"] for finding in shown] == [
            [{"pid": os.getpid(), "command": (shown[0].details["processes"])[0]["command"]}]  # type: ignore[index]
        ] * 3
        assert all("pid 17000) is gone" in finding.message for finding in shown)
        assert report.healthy

    def test_one_that_got_a_process_meanwhile_is_left_alone(self, units: FakeUnits, own_directory: Path) -> None:
        view = FakeView(scopes=scopes.look(units, str(units.root)))
        for unit in units.units:
            (units.root / unit.control_group[1:] / "cgroup.events").write_text("populated 1\n")
        hands = LocalHands(Places(str(own_directory / "h"), str(own_directory / "r")), "i", units, lambda: None)
        report = examine(view, hands)
        assert units.stopped == []
        assert {finding.fixed for finding in report.findings} == {None, False}

    def test_a_cgroup_that_is_gone_counts_as_empty(self, own_directory: Path) -> None:
        assert scopes.populated("/user.slice/none.scope", str(own_directory)) is False

    def test_under_cgroup_v1_the_processes_are_counted(self, own_directory: Path) -> None:
        group = own_directory / "systemd" / "user.slice" / "x.scope"
        (group / "below").mkdir(parents=True)
        (group / "cgroup.procs").touch()
        (group / "below" / "cgroup.procs").write_text("1\n")
        assert scopes.populated("/user.slice/x.scope", str(own_directory)) is True
        (group / "below" / "cgroup.procs").write_text("")
        assert scopes.populated("/user.slice/x.scope", str(own_directory)) is False
