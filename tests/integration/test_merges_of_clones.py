"""A merge goes into the repository that it was submitted in, whatever a team of that name does elsewhere."""

from pathlib import Path

from tests.faults.support.teams import IDLE, down, toml
from tests.support.instance import Instance
from tests.support.merging import Merging
from tests.support.repos import git
from tests.support.waiting import wait_for


def test_what_waits_is_not_merged_into_a_clone(instance: Instance, own_directory: Path) -> None:
    merging = Merging(instance, own_directory, agents=("a",))
    merging.up()
    merging.branch("work", {"new": "1\n"})
    (merging.repo / "README.md").write_text("# Mine\n")
    merge = merging.queue("work")
    wait_for(lambda: instance.json("merge", "show", merge)["step"].startswith("waits: ") or None, 20)
    assert down(instance)["waiting"]["merges"] == 1
    # With its branch, so that the commit is there as well.
    clone = own_directory / "clone"
    git(own_directory, "clone", "--quiet", str(merging.repo), str(clone))
    git(clone, "branch", "work", "origin/work")
    before = git(clone, "rev-parse", "main")
    instance.spec(toml({"a": {"command": IDLE}}, repo=clone))
    said = instance.run("up").stdout
    assert f"1 merge is of another repository ({merging.repo}/.git): {merge}" in said
    assert "of another repository" in instance.run("merge", "ls").stderr
    (clone / "own").write_text("1\n")
    git(clone, "switch", "--quiet", "-c", "own")
    git(clone, "add", "own")
    git(clone, "commit", "--quiet", "--message=Own")
    git(clone, "switch", "--quiet", "main")
    assert instance.json("merge", "submit", "own", "--wait", "60s", cwd=clone)["state"] == "merged"
    assert git(clone, "rev-parse", "main^1") == before, "nothing else went in"
    assert instance.json("merge", "show", merge)["state"] == "queued"
    down(instance)
    git(merging.repo, "restore", ".")
    merging.up()
    assert merging.show(merge)["state"] == "merged"
    assert merging.file("new") == "1"


def test_up_says_what_it_took_over_and_that_a_target_is_missing(instance: Instance, own_directory: Path) -> None:
    merging = Merging(instance, own_directory, agents=("a",))
    merging.up("true")
    text = Path(instance.directory, "corral.toml").read_text()
    instance.spec(text.replace('["true"]', '["false"]') + 'target = "nowhere"\n')
    said = instance.run("up").stdout
    assert "nothing to do" not in said
    assert "taken over for the merge queue: merge.target, merge.gates" in said
    assert "nothing can be merged" in said
    assert "no branch nowhere" in said
    assert "nothing to do" in instance.run("up").stdout
