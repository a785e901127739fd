"""A worktree from last time: work in it is never lost, and nothing that is not ours is touched."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support.population import assert_one_of_each
from tests.faults.support.teams import IDLE, down, events, ps, toml
from tests.faults.support.trees import tree, working_tree
from tests.support.instance import Instance
from tests.support.repos import git


def _team(instance: Instance, repo: Path, agents: int = 1) -> None:
    instance.spec(toml({"a": {"command": IDLE, "count": agents}}, repo=repo))


def _worktree(instance: Instance, agent: str = "a") -> Path:
    return Path(instance.home, "worktrees", "shop", agent)


def _uncommitted(path: Path) -> None:
    (path / "README.md").write_text("changed by an agent\n")


def _staged(path: Path) -> None:
    (path / "src" / "main.py").write_text("staged by an agent\n")
    git(path, "add", "src/main.py")


def _untracked(path: Path) -> None:
    (path / "new").mkdir()
    (path / "new" / "file.txt").write_text("new\n")


def _committed(path: Path) -> None:
    (path / "more.txt").write_text("more\n")
    git(path, "add", "-A")
    git(path, "commit", "--quiet", "--message=Work of an agent")


def _detached(path: Path) -> None:
    git(path, "checkout", "--quiet", "--detach")
    _committed(path)


_WORK: dict[str, tuple[Callable[[Path], None], str]] = {
    "uncommitted": (_uncommitted, "1 changed file"),
    "staged": (_staged, "1 changed file"),
    "untracked": (_untracked, "1 untracked file"),
    "committed": (_committed, "1 commit"),
    "committed on no branch": (_detached, "1 commit"),
}


@pytest.mark.parametrize("kind", _WORK)
def test_work_stays_over_down_and_is_there_again_after_up(
    instance: Instance, repo: Callable[..., Path], kind: str
) -> None:
    do, word = _WORK[kind]
    path = repo()
    _team(instance, path)
    instance.run("up")
    worktree = _worktree(instance)
    do(worktree)
    before = tree(worktree)
    head = git(worktree, "rev-parse", "HEAD")
    (kept,) = down(instance)["kept"]
    assert kept["path"] == str(worktree)
    assert word in kept["why"]
    assert tree(worktree) == before
    instance.run("up")
    ready = [event for event in events(instance) if event["event"] == "workspace.ready"][-1]
    assert "from last time" in ready["data"]["note"]
    assert word in ready["data"]["note"]
    assert ps(instance)["a"]["workspace"] == str(worktree)
    assert tree(worktree) == before
    assert git(worktree, "rev-parse", "HEAD") == head


def test_down_removes_what_is_empty_keeps_what_has_work_and_discards_only_when_told(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    before = working_tree(path)
    _team(instance, path, agents=3)
    instance.run("up")
    _uncommitted(_worktree(instance, "a-1"))
    _committed(_worktree(instance, "a-2"))
    tip = git(_worktree(instance, "a-2"), "rev-parse", "--short", "HEAD")
    kept = down(instance)["kept"]
    assert [item["path"] for item in kept] == [str(_worktree(instance, "a-1")), str(_worktree(instance, "a-2"))]
    assert not _worktree(instance, "a-3").exists()
    assert git(path, "branch", "--format=%(refname:short)").split() == ["corral/shop/a-1", "corral/shop/a-2", "main"]
    instance.run("up")
    receipt = down(instance, "--discard")
    assert receipt["kept"] == []
    discarded = {item["path"]: item["why"] for item in receipt["discarded"]}
    assert set(discarded) == {str(_worktree(instance, "a-1")), str(_worktree(instance, "a-2"))}
    assert tip in discarded[str(_worktree(instance, "a-2"))]  # whoever regrets it finds the commit by this
    assert not _worktree(instance).parent.exists()
    assert git(path, "branch", "--format=%(refname:short)") == "main"
    assert git(path, "worktree", "list").count("\n") == 0
    assert working_tree(path) == before
    recorded = [event for event in events(instance) if event["event"] == "team.down"][-1]["data"]["discarded"]
    assert any(tip in entry for entry in recorded)


def test_work_that_is_merged_elsewhere_is_no_reason_to_keep(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    _team(instance, path)
    instance.run("up")
    _committed(_worktree(instance))
    git(path, "merge", "--quiet", "corral/shop/a")
    assert down(instance)["kept"] == []
    assert not _worktree(instance).exists()
    assert git(path, "show", "main:more.txt") == "more"


def test_rm_keeps_work_and_discards_only_when_told(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    _team(instance, path, agents=3)
    instance.run("up")
    code, error = instance.error("rm", "a-1")
    assert (code, error["code"]) == (4, "refused")  # it still runs
    for agent in ("a-1", "a-2"):
        _untracked(_worktree(instance, agent))
    removed = _removed(instance.json("rm", "--force", "a-1", "a-3"))
    assert removed["a-1"]["kept"] == str(_worktree(instance, "a-1"))
    assert removed["a-3"]["kept"] is None
    assert (_worktree(instance, "a-1") / "new" / "file.txt").read_text() == "new\n"
    assert not _worktree(instance, "a-3").exists()
    removed = _removed(instance.json("rm", "--force", "--discard", "a-2"))
    assert removed["a-2"]["kept"] is None
    assert "1 untracked file" in removed["a-2"]["detail"]
    assert not _worktree(instance, "a-2").exists()
    assert ps(instance) == {}
    (kept,) = down(instance)["kept"]
    assert kept["path"] == str(_worktree(instance, "a-1"))


def _removed(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {agent["agent"]: agent for agent in result["agents"]}


@pytest.mark.parametrize("kind", ["files", "a file", "another repository", "a worktree of another repository"])
def test_what_is_in_the_way_and_no_worktree_of_ours_is_refused_and_untouched(
    instance: Instance, repo: Callable[..., Path], kind: str
) -> None:
    path = repo()
    worktree = _worktree(instance)
    worktree.parent.mkdir(parents=True)
    Path(instance.home).chmod(0o700)
    if kind == "files":
        worktree.mkdir()
        (worktree / "precious.txt").write_text("mine\n")
    elif kind == "a file":
        worktree.write_text("mine\n")
    elif kind == "another repository":
        shutil.copytree(repo("dirty", name="other"), worktree)
    else:
        git(repo(name="other"), "worktree", "add", "--quiet", str(worktree))
        _untracked(worktree)
    before = tree(worktree.parent)
    _team(instance, path)
    done = instance.run("up", check=False)
    assert done.returncode == 1
    agent = ps(instance)["a"]
    assert agent["state"] == "failed"
    assert str(worktree) in agent["reason"]
    assert tree(worktree.parent) == before
    receipt = instance.run("down", "--json", "--discard", check=False)
    assert tree(worktree.parent) == before, receipt.stdout
    assert git(path, "branch", "--format=%(refname:short)") == "main"


def test_a_directory_deleted_by_hand_is_made_again_with_what_was_committed(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    _team(instance, path)
    instance.run("up")
    worktree = _worktree(instance)
    _committed(worktree)
    down(instance)
    shutil.rmtree(worktree)
    instance.run("up")
    assert (worktree / "more.txt").read_text() == "more\n"
    assert git(worktree, "symbolic-ref", "--short", "HEAD") == "corral/shop/a"
    assert git(worktree, "status", "--porcelain") == ""


def test_a_directory_deleted_while_the_team_is_up_does_not_hold_up_down(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    path = repo()
    _team(instance, path, agents=2)
    instance.run("up")
    _committed(_worktree(instance, "a-1"))
    tip = git(_worktree(instance, "a-1"), "rev-parse", "HEAD")
    shutil.rmtree(_worktree(instance, "a-1"))
    shutil.rmtree(_worktree(instance, "a-2"))
    down(instance)
    assert git(path, "rev-parse", "corral/shop/a-1") == tip  # what was committed is still there
    instance.run("up")
    assert git(_worktree(instance, "a-1"), "rev-parse", "HEAD") == tip
    assert_one_of_each(instance, {"a-1", "a-2"})


def test_a_branch_without_a_worktree_is_gone_on_with(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    git(path, "branch", "corral/shop/a")
    git(path, "commit", "--quiet", "--allow-empty", "--message=Later")
    tip = git(path, "rev-parse", "corral/shop/a")
    _team(instance, path)
    instance.run("up")
    assert git(_worktree(instance), "rev-parse", "HEAD") == tip
    assert git(_worktree(instance), "symbolic-ref", "--short", "HEAD") == "corral/shop/a"


def test_a_branch_that_is_checked_out_elsewhere_stays_there_and_the_agent_gets_another(
    instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    path = repo()
    elsewhere = own_directory / "elsewhere"
    git(path, "worktree", "add", "--quiet", "-b", "corral/shop/a", str(elsewhere))
    _untracked(elsewhere)
    before = tree(elsewhere)
    _team(instance, path)
    (note,) = instance.json("up")["notes"]
    assert str(elsewhere) in note
    assert git(_worktree(instance), "branch", "--show-current").startswith("corral/shop/a.")
    down(instance, "--discard")
    assert tree(elsewhere) == before
    assert git(path, "branch", "--format=%(refname:short)").split() == ["corral/shop/a", "main"]


def test_a_commit_that_only_the_reflog_knows_is_work(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    _team(instance, path)
    instance.run("up")
    worktree = _worktree(instance)
    _detached(worktree)
    tip = git(worktree, "rev-parse", "HEAD")
    git(worktree, "checkout", "--quiet", "corral/shop/a")
    (kept,) = down(instance)["kept"]
    assert kept["why"] == "1 commit that is nowhere else"
    git(path, "branch", "rescued", tip)
    assert down(instance)["kept"] == []
    assert git(path, "show", "rescued:more.txt") == "more"


def test_a_commit_whose_branch_was_deleted_is_work(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    _team(instance, path)
    instance.run("up")
    worktree = _worktree(instance)
    git(worktree, "switch", "--quiet", "-c", "feature")
    _committed(worktree)
    git(worktree, "switch", "--quiet", "corral/shop/a")
    git(worktree, "branch", "--quiet", "-D", "feature")
    (kept,) = down(instance)["kept"]
    assert kept["why"] == "1 commit that is nowhere else"


def test_what_was_amended_or_rebased_is_no_reason_to_keep(instance: Instance, repo: Callable[..., Path]) -> None:
    path = repo()
    _team(instance, path)
    instance.run("up")
    worktree = _worktree(instance)
    _committed(worktree)
    git(worktree, "commit", "--quiet", "--amend", "--message=Better words")
    git(path, "commit", "--quiet", "--allow-empty", "--message=Meanwhile")
    git(worktree, "rebase", "--quiet", "main")
    git(path, "merge", "--quiet", "corral/shop/a")
    assert down(instance)["kept"] == []
    assert git(path, "branch", "--format=%(refname:short)") == "main"


def test_a_home_behind_a_symbolic_link_finds_its_worktrees_again(
    instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    (own_directory / "real").mkdir(mode=0o700)
    (own_directory / "link").symlink_to("real")
    instance.home = str(own_directory / "link" / "h")
    path = repo()
    _team(instance, path)
    instance.run("up")
    _untracked(_worktree(instance))
    assert len(down(instance)["kept"]) == 1
    instance.run("up")
    assert_one_of_each(instance, {"a"})
    assert (_worktree(instance) / "new" / "file.txt").exists()


def test_two_teams_of_one_repository_have_worktrees_of_their_own(
    instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    path = repo()
    for team in ("one", "two"):
        (own_directory / team).mkdir()
        instance.spec(toml({"a": {"command": IDLE}}, name=team, repo=path), own_directory / team)
        instance.run("up", cwd=own_directory / team)
    _untracked(Path(instance.home, "worktrees", "one", "a"))
    down(instance, "--discard", team="two")
    assert Path(instance.home, "worktrees", "one", "a", "new", "file.txt").exists()
    assert len(down(instance, team="one")["kept"]) == 1


def test_what_holds_no_work_and_cannot_go_is_told_with_the_words_of_git(
    instance: Instance, repo: Callable[..., Path]
) -> None:
    """git removes no worktree with submodules in it unless it is forced to."""
    path, part = repo(), repo(name="part")
    allow = ("-c", "protocol.file.allow=always")
    git(path, *allow, "submodule", "--quiet", "add", str(part), "part")
    git(path, "commit", "--quiet", "--message=With a part")
    _team(instance, path)
    instance.run("up")
    git(_worktree(instance), *allow, "submodule", "--quiet", "update", "--init")
    done = instance.run("down", "--json", check=False)
    receipt = json.loads(done.stdout)
    assert done.returncode == 5
    (left,) = next(check["residue"] for check in receipt["checks"] if check["what"] == "worktrees")
    assert left["name"] == str(_worktree(instance))
    assert "holds no work, and could not be removed: git worktree in" in left["why"]
    assert "submodules cannot be moved or removed" in left["why"]
    assert down(instance, "--discard")["clean"]
