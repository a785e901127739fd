"""A symbolic link in the place of a worktree: what it leads to is a person's, never used nor removed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support.ghosts import doctor, found
from tests.faults.support.teams import IDLE, down, ps, states, toml
from tests.faults.support.trees import tree
from tests.support.instance import Instance
from tests.support.repos import git

_WHY = "a symbolic link, which Corral neither follows nor removes"


class _Scene:
    """A team that is up, and a linked worktree of its repository that a person made."""

    def __init__(self, instance: Instance, repo: Path) -> None:
        self.instance, self.repo = instance, repo
        self.mine = Path(instance.directory, "mine")
        self.path = Path(instance.home, "worktrees", "shop", "a")
        git(repo, "worktree", "add", "--quiet", "-b", "mine", str(self.mine))
        instance.spec(toml({"a": {"command": IDLE}}, repo=repo))
        instance.run("up")
        self.before = tree(self.mine)

    def link_agent(self) -> Path:
        """The agent's worktree goes, and a link to the person's takes its place."""
        git(self.repo, "worktree", "remove", "--force", "--force", str(self.path))
        self.path.symlink_to(self.mine)
        return self.path

    def link_team(self) -> Path:
        """The same one step higher: the person's worktree has the name of the agent, below a link."""
        git(self.repo, "worktree", "remove", "--force", "--force", str(self.path))
        above = Path(self.instance.directory, "above")
        above.mkdir()
        git(self.repo, "worktree", "move", str(self.mine), str(above / "a"))
        self.mine = above / "a"
        self.before = tree(self.mine)
        if self.path.parent.is_dir():
            self.path.parent.rmdir()
        self.path.parent.symlink_to(above)
        return self.path.parent

    def assert_untouched(self, link: Path) -> None:
        assert tree(self.mine) == self.before
        assert f"{self.mine} " in git(self.repo, "worktree", "list")
        assert git(self.mine, "status", "--porcelain") == ""
        assert "mine" in git(self.repo, "branch", "--format=%(refname:short)").split()
        assert link.is_symlink()


@pytest.fixture
def scene(instance: Instance, repo: Callable[..., Path]) -> _Scene:
    return _Scene(instance, repo())


_LINKS = pytest.mark.parametrize("put", [_Scene.link_agent, _Scene.link_team], ids=["agent", "team"])


@_LINKS
@pytest.mark.parametrize("options", [(), ("--discard",)], ids=["down", "down --discard"])
def test_down_keeps_it_and_says_what_it_is(
    scene: _Scene, put: Callable[[_Scene], Path], options: tuple[str, ...]
) -> None:
    link = put(scene)
    (kept,) = down(scene.instance, *options)["kept"]
    assert (kept["path"], kept["why"]) == (str(link), _WHY)
    scene.assert_untouched(link)


@_LINKS
@pytest.mark.parametrize("options", [(), ("--discard",)], ids=["rm", "rm --discard"])
def test_rm_keeps_it_and_says_what_it_is(
    scene: _Scene, put: Callable[[_Scene], Path], options: tuple[str, ...]
) -> None:
    link = put(scene)
    (agent,) = scene.instance.json("rm", "--force", *options, "a")["agents"]
    assert agent["kept"] == str(scene.path)
    assert "symbolic link" in agent["detail"]
    scene.assert_untouched(link)
    down(scene.instance)
    scene.assert_untouched(link)


@_LINKS
def test_up_is_refused_and_names_the_link(scene: _Scene, put: Callable[[_Scene], Path]) -> None:
    scene.instance.run("down")
    scene.instance.run("up")
    scene.instance.run("stop", "a")
    link = put(scene)
    scene.instance.run("down", "--discard")
    assert scene.instance.run("up", check=False).returncode == 1
    agent = ps(scene.instance)["a"]
    assert agent["state"] == "failed"
    assert f"{link} is in the way: it is a symbolic link" in agent["reason"]
    scene.assert_untouched(link)
    link.unlink()
    scene.instance.run("up")
    assert states(scene.instance) == {"a": "running"}
    assert not scene.path.is_symlink()


@_LINKS
def test_the_doctor_names_it_and_has_no_cure(scene: _Scene, put: Callable[[_Scene], Path]) -> None:
    link = put(scene)
    down(scene.instance)
    scene.instance.run("daemon", "stop")
    for options in ((), ("--fix",)):
        (finding,) = found(doctor(scene.instance, *options), "worktrees")
        assert (finding["path"], finding["fixable"]) == (str(link), False)
        assert "symbolic link" in finding["message"]
        scene.assert_untouched(link)


def test_a_link_that_leads_nowhere_is_none_of_gits_business_either(scene: _Scene) -> None:
    """git would follow it to the entry of a worktree whose disk is just not there."""
    link = scene.link_agent()
    away = scene.mine.rename(scene.mine.with_name("away"))
    (kept,) = down(scene.instance, "--discard")["kept"]
    assert (kept["path"], kept["why"]) == (str(link), _WHY)
    away.rename(scene.mine)
    scene.assert_untouched(link)


def test_a_worktree_that_git_has_elsewhere_is_not_ours(scene: _Scene) -> None:
    """No link, but a `.git` that leads to the person's."""
    git(scene.repo, "worktree", "remove", "--force", "--force", str(scene.path))
    scene.path.mkdir(parents=True)
    (scene.path / ".git").write_text((scene.mine / ".git").read_text())
    (kept,) = down(scene.instance, "--discard")["kept"]
    assert str(scene.mine) in kept["why"]
    assert tree(scene.mine) == scene.before


def test_a_home_that_leads_through_a_link_works_as_any_other(
    instance: Instance, repo: Callable[..., Path], own_directory: Path
) -> None:
    (own_directory / "disk").mkdir()
    (own_directory / "way").symlink_to(own_directory / "disk")
    instance.home = str(own_directory / "way" / "h")
    path = repo()
    instance.spec(toml({"a": {"command": IDLE}}, repo=path))
    instance.run("up")
    worktree = Path(instance.home, "worktrees", "shop", "a")
    assert ps(instance)["a"]["workspace"] == str(worktree)
    assert os.path.realpath(worktree) in git(path, "worktree", "list")
    (worktree / "new.txt").write_text("new\n")
    (kept,) = down(instance)["kept"]
    assert (kept["path"], kept["why"]) == (str(worktree), "1 untracked file")
    instance.run("up")
    assert states(instance) == {"a": "running"}
    assert down(instance, "--discard")["kept"] == []
    assert git(path, "worktree", "list").count("\n") == 0
