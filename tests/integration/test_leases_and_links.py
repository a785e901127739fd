"""Leases in a repository with symbolic links and directories: what is held is what is meant, however it is named."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.faults.support.teams import IDLE, toml
from tests.support import repos
from tests.support.instance import Instance


@pytest.fixture
def repo(instance: Instance) -> Path:
    path = repos.make(Path(instance.directory, "repo"))
    for name in ("src", "docs"):
        (path / name).mkdir(exist_ok=True)
        (path / name / "a.py").write_text("x\n")
    (path / "esc").symlink_to("/etc")
    (path / "inlink").symlink_to("src")
    repos.git(path, "add", "--all")
    repos.git(path, "commit", "--quiet", "-m", "Links")
    instance.spec(toml({"a": {"command": IDLE}, "b": {"command": IDLE}}, repo=path))
    instance.run("up")
    return path


@pytest.mark.usefixtures("repo")
def test_wildcards_do_not_walk_around_links(instance: Instance) -> None:
    for pattern in ("es?/passwd", "es?/*", "*/passwd"):
        code, error = instance.error("lease", "acquire", "--agent", "a", pattern)
        assert (code, "by the symbolic link esc" in error["message"]) == (4, True), pattern
    instance.json("lease", "acquire", "--agent", "a", "src/")
    code, error = instance.error("lease", "acquire", "--agent", "b", "inl*/a.py")
    assert (code, error["holder"], error["pattern"]) == (4, "shop/a", "src/")
    mine = instance.json("lease", "acquire", "--agent", "a", "inl*/a.py")
    assert mine["patterns"] == ["inl*/a.py", "src/a.py"]
    assert instance.json("lease", "acquire", "--agent", "b", "docs/")["patterns"] == ["docs/"]


@pytest.mark.usefixtures("repo")
def test_a_directory_is_not_held_as_if_it_were_a_file(instance: Instance) -> None:
    for verb in (["acquire"], ["wait", "--wait", "1"], ["check"], ["acquire", "--literal"]):
        code, error = instance.error("lease", verb[0], *verb[1:], "--agent", "a", "docs")
        assert (code, error["message"]) == (2, "docs is a directory, and not a file"), verb
        assert "docs/ means everything below it" in error["remedy"]
    assert instance.json("lease", "acquire", "--agent", "a", "later")["patterns"] == ["later"]
    instance.json("lease", "acquire", "--agent", "a", "--literal", "docs/")
    assert instance.run("lease", "check", "--agent", "b", "docs/", check=False).returncode == 4


def test_who_is_about_files(instance: Instance, repo: Path) -> None:
    for name in ("src", "src/"):
        code, error = instance.error("who", name, cwd=repo)
        assert (code, error["message"]) == (2, "src is a directory, and not a file")


def test_thousands_of_paths_are_checked_at_once_and_the_one_that_is_held_is_named(
    instance: Instance, repo: Path
) -> None:
    names = [f"docs/{number:04}.py" for number in range(3000)]
    assert instance.run("lease", "check", "--agent", "b", *names).returncode == 0
    instance.json("lease", "acquire", "--agent", "a", "docs/2*.py")
    code, error = instance.error("lease", "check", "--agent", "b", *names)
    assert (code, error["pattern"]) == (4, "docs/2*.py")
    assert error["message"].startswith("docs/2000.py: shop/a holds docs/2*.py")
    piped = subprocess.run(
        f"git -C {repo} ls-files | grep py | xargs {shlex.join(instance.argv())} lease check --agent b",
        shell=True,
        cwd=instance.directory,
        env={**os.environ, **instance.env},
        check=False,
    )
    assert piped.returncode == 0


@pytest.mark.usefixtures("repo")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["lease", "check"], 2, "has 100000 characters"),
        (["kv", "get"], 2, "the key that was given has 100000 characters"),
        (["sub"], 2, "the topic that was given has 100000 characters"),
        (["who"], 2, "the path that was given has 100000 characters"),
        (["task", "show"], 3, "there is no task"),
        (["merge", "show"], 3, "is no merge"),
        (["msg", "read"], 3, "there is no message"),
        (["proc", "output"], 3, "there is no process"),
        (["lease", "release"], 3, "there is no lease"),
    ],
)
def test_what_is_far_too_long_is_the_callers_mistake(
    instance: Instance, words: list[str], code: int, said: str
) -> None:
    done, error = instance.error(*words, "a" * 100_000)
    assert (done, said in error["message"]) == (code, True), error
    assert len(error["message"]) < 400
    assert "daemon stop" not in error["remedy"]
