"""What git says when it refuses, made into one sentence and a remedy."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.domain.errors import UnavailableError
from corral.git import GitError, git, in_one_line, remedy
from corral.repository import STATUS
from tests.support import repos
from tests.support.processes import is_alive
from tests.support.waiting import wait_for


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "Preparing worktree (new branch 'x')\nfatal: cannot lock ref 'x': it exists\n",
            "cannot lock ref 'x': it exists",
        ),
        ("error: one\nerror: two\nhint: try this\n", "one; two"),
        ("error: the cause\nerror: more\nfatal: what came of it\n", "the cause; what came of it"),
        ("no commits on a Friday\n", "no commits on a Friday"),
        (
            "error: These files would be overwritten:\n\ta b\n\tc\n\td\n\te\nPlease move them.\nAborting\n",
            "These files would be overwritten: a b, c, d and 1 more",
        ),
        ("\n", ""),
    ],
)
def test_the_complaint_is_one_line(said: str, sentence: str) -> None:
    assert in_one_line(said) == sentence


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("fatal: detected dubious ownership in repository at '/r'", "safe.directory /r"),
        ("fatal: Unable to create '/r/.git/index.lock': File exists.", "lock file"),
        ("error: unable to write file: No space left on device", "room"),
        ("error: unable to write file large.bin", "room"),
        ("fatal: something nobody foresaw", "git -C /r fsck"),
    ],
)
def test_the_remedy_fits_the_complaint(said: str, word: str) -> None:
    assert word in remedy(said, "/r")


def test_a_remedy_can_be_run_whatever_the_directory_is_called() -> None:
    assert "git -C '/my repo' fsck" in remedy("fatal: something nobody foresaw", "/my repo")


def test_an_error_has_what_and_which_and_a_remedy() -> None:
    with pytest.raises(GitError) as refused:
        git("/", "rev-parse", "--git-dir")
    assert refused.value.message.startswith("git rev-parse in /: not a git repository")
    assert "\n" not in refused.value.message
    assert refused.value.remedy


class TestWhatARepositoryWouldHaveUsRun:
    """Its configuration is shared by all worktrees, so an agent can write there."""

    @pytest.fixture
    def ran(self, own_directory: Path) -> Path:
        """Exists once the planted program ran."""
        return own_directory / "ran"

    @pytest.fixture
    def program(self, own_directory: Path, ran: Path) -> Path:
        script = own_directory / "x.sh"
        script.write_text(f"#!/bin/sh\ntouch {ran}\n")
        script.chmod(0o755)
        return script

    def test_no_monitor_is_run(self, repo: Callable[..., Path], program: Path, ran: Path) -> None:
        path = repo()
        repos.git(path, "config", "core.fsmonitor", str(program))
        repos.git(path, "status")
        assert ran.exists()  # git itself does
        ran.unlink()
        git(str(path), *STATUS)
        git(str(path), "worktree", "add", "-b", "new", str(path.parent / "new"), making=True)
        git(str(path), "worktree", "remove", str(path.parent / "new"))
        assert not ran.exists()

    def test_hooks_are_run_only_for_what_makes_something(
        self, repo: Callable[..., Path], program: Path, ran: Path
    ) -> None:
        path = repo()
        hooks = path.parent / "hooks"
        hooks.mkdir()
        for hook in ("post-checkout", "reference-transaction", "post-index-change"):
            (hooks / hook).symlink_to(program)
        repos.git(path, "config", "core.hooksPath", str(hooks))
        git(str(path), "worktree", "add", "-b", "new", str(path.parent / "new"), making=True)
        assert ran.exists()
        ran.unlink()
        git(str(path), *STATUS)
        git(str(path), "worktree", "remove", str(path.parent / "new"))
        git(str(path), "branch", "-D", "new")
        assert not ran.exists()

    def test_what_hangs_ends_with_its_children_when_time_is_up(
        self, repo: Callable[..., Path], own_directory: Path
    ) -> None:
        """A filter still has its say: without it, git could not tell what was changed."""
        path, pid = repo(), own_directory / "pid"
        script = own_directory / "slow.sh"
        script.write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}; sleep 600\n")
        script.chmod(0o755)
        repos.git(path, "config", "filter.slow.clean", str(script))
        (path / ".git" / "info").mkdir(exist_ok=True)
        (path / ".git" / "info" / "attributes").write_text("README.md filter=slow\n")
        (path / "README.md").write_text("# A Project\n")  # as long as before, so that git has to look inside
        began = time.monotonic()
        with pytest.raises(UnavailableError, match=r"git status in .* did not end within 2 s"):
            git(str(path), *STATUS, seconds=2.0)
        assert time.monotonic() - began < 10
        wait_for(lambda: not is_alive(int(pid.read_text())), 5, "the filter is gone")

    def test_it_carries_no_marker_and_nothing_of_another_git(
        self, repo: Callable[..., Path], own_directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, seen = repo(), own_directory / "seen"
        hook = path / ".git" / "hooks" / "post-checkout"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nenv > {seen}\n")
        hook.chmod(0o755)
        for name in ("GIT_DIR", "GIT_INDEX_FILE", "CORRAL_RUN", "CORRAL_AGENT", "CORRAL_TEAM", "CORRAL_INSTANCE"):
            monkeypatch.setenv(name, "x")
        git(str(path), "worktree", "add", "-b", "new", str(path.parent / "new"), making=True)
        names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
        assert not names & {"GIT_INDEX_FILE", "CORRAL_RUN", "CORRAL_AGENT", "CORRAL_TEAM", "CORRAL_INSTANCE"}
