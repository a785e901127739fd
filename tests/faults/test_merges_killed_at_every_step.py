"""Daemon and keeper die (-9) at every step of a merge, in turn: nothing is lost, or in twice, or left behind."""

from pathlib import Path

import pytest

from tests.faults.support.population import everything, kill_daemon
from tests.faults.support.teams import down
from tests.support.instance import Instance
from tests.support.merging import Merging
from tests.support.repos import git
from tests.support.waiting import wait_for

#: Steps that a branch comes by on its way in.
GOING_IN = (
    "daemon.merge_submitted",
    "daemon.merge_testing_written",
    "daemon.merge_checked_out",
    "keeper.gate_waits",
    "keeper.gate_runs",
    "daemon.merge_gate_started",
    "keeper.gates_ended",
    "daemon.merge_tested",
    "daemon.merge_landing_written",
    "keeper.merge_landed",
    "daemon.merge_landed",
)
#: And on its way back.
GOING_BACK = ("daemon.merge_letter_sent",)


@pytest.mark.slow
@pytest.mark.parametrize("step", [*GOING_IN, *GOING_BACK])
def test_killed_on_the_way(instance: Instance, own_directory: Path, step: str) -> None:
    merging = Merging(instance, own_directory)
    once = own_directory / "once"
    deadly = {"CORRAL_FAILPOINT": f"{step}:{once}"}
    merging.up("test ! -e bad", "sleep 0.1", env=deadly)
    names = ["one", "bad", "two"]
    for name in names:
        merging.branch(name, {name: "1\n"})
    once.touch()
    for name in names:
        instance.run("merge", "submit", name, cwd=merging.repo, check=False)
    wait_for(lambda: not once.exists(), 30, "somebody dies at the step")
    instance.run("daemon", "start", env=deadly)
    known = {merge["branch"]: merge for merge in instance.json("merge", "ls", "--all")["merges"]}
    # What was not answered may not have been written; whoever was not answered says it again.
    ids = {name: known[name]["merge"] if name in known else merging.queue(name) for name in names}
    found = {name: merging.show(merge) for name, merge in ids.items()}
    assert {name: one["state"] for name, one in found.items()} == {"one": "merged", "bad": "failed", "two": "merged"}
    merged = [merge for merge in merging.merges() if merge in ids.values()]
    assert sorted(merged) == sorted([ids["one"], ids["two"]])
    assert git(merging.repo, "status", "--porcelain") == ""
    assert git(merging.repo, "rev-parse", "main") in (found["one"]["commit"], found["two"]["commit"])
    assert instance.json("merge", "ls")["merges"] == []
    assert not list(Path(instance.home, "merges").iterdir())
    assert "merges" not in git(merging.repo, "worktree", "list")
    assert instance.json("msg", "inbox")["messages"], "whose branch failed was told"
    assert down(instance, "--grace", "0.3")["kept"] == []
    instance.run("daemon", "stop")
    wait_for(lambda: not everything(instance), 10, "daemon and keeper end")


@pytest.mark.slow
def test_a_gate_of_a_killed_daemon_does_not_live_on(instance: Instance, own_directory: Path) -> None:
    merging = Merging(instance, own_directory)
    count = own_directory / "count"
    merging.up("echo $$ >> $COUNT; test -e $COUNT.quick || sleep 86398", env={"COUNT": str(count)})
    merging.branch("one", {"one": "1\n"})
    merge = merging.queue("one")
    first = int(wait_for(lambda: (count.exists() and count.read_text().split()) or None, 20, "the gate runs")[0])
    kill_daemon(instance)
    assert Path(f"/proc/{first}").exists()
    (own_directory / "count.quick").touch()
    instance.run("daemon", "start")
    assert merging.show(merge)["state"] == "merged"
    assert not Path(f"/proc/{first}").exists()
    assert len(count.read_text().split()) == 2


@pytest.mark.slow
def test_killed_again_and_again_under_load(instance: Instance, own_directory: Path) -> None:
    merging = Merging(instance, own_directory)
    merging.up("test ! -e bad4", "sleep 0.05", batch=4)
    names = [f"bad{number}" if number == 4 else f"good{number}" for number in range(10)]
    for name in names:
        merging.branch(name, {name: "1\n"})
    ids = {name: merging.queue(name) for name in names}
    for _ in range(6):
        kill_daemon(instance)
        instance.run("daemon", "start")
        _await_progress(merging, len(merging.merges()))
    found = {name: merging.show(merge) for name, merge in ids.items()}
    assert {name: one["state"] for name, one in found.items()} == {
        name: "failed" if name == "bad4" else "merged" for name in names
    }
    # In order, each once, none lost.
    assert merging.merges() == [ids[name] for name in names if name != "bad4"]
    assert git(merging.repo, "status", "--porcelain") == ""
    assert not list(Path(instance.home, "merges").iterdir())


def _await_progress(merging: Merging, before: int) -> None:
    """Each daemon gets as far as the next merge, which finds it at another place every time."""

    def went_on() -> bool:
        return len(merging.merges()) > before or not merging.instance.json("merge", "ls")["merges"]

    wait_for(went_on, 60, "it goes on")
