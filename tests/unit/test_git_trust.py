"""Whose repositories our git works with. That people of an agent's user are among them is tried in the lab."""

import os
from pathlib import Path

import pytest

from corral import git_trust
from corral.git import GitError, git
from tests.support import repos

#: An account that every Linux has, and that is no user of agents.
NOBODY = 65534


def test_what_is_ones_own_needs_no_words(tmp_path: Path) -> None:
    repo = repos.make(tmp_path / "shop")
    assert git_trust.settings_for(str(repo)) == ()
    assert git_trust.settings_for(str(tmp_path / "missing")) == ()


def test_who_is_no_user_of_agents_trusts_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repos.make(tmp_path / "shop")
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    assert git_trust.settings_for(str(repo)) == ()


class TestForAUserOfAgents:
    """As it is for one whom the person may use, whose repository it is."""

    @pytest.fixture(autouse=True)
    def as_user_of_agents(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trusted = {os.geteuid(), NOBODY}
        monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
        monkeypatch.setattr(git_trust, "_may_run_us", lambda uid: uid in trusted)

    def test_the_repository_and_its_git_directory_are_named_exactly(self, tmp_path: Path) -> None:
        repo = repos.make(tmp_path / "shop")
        (tmp_path / "by-a-link").symlink_to(repo)
        told = ("-c", f"safe.directory={repo}", "-c", f"safe.directory={repo}/.git")
        assert git_trust.settings_for(str(repo)) == told
        assert git_trust.settings_for(str(tmp_path / "by-a-link")) == told, "git compares what a path really is"
        assert git_trust.settings_for(f"{repo}/.git")[1] == f"safe.directory={repo}/.git"
        assert git(str(repo), "rev-parse", "--is-bare-repository") == "false\n", "git takes them"

    def test_what_leads_elsewhere_is_not_vouched_for(self, tmp_path: Path) -> None:
        elsewhere = repos.make(tmp_path / "elsewhere")
        for name in ("link", "file"):
            (tmp_path / name).mkdir()
        (tmp_path / "link" / ".git").symlink_to(elsewhere / ".git")
        (tmp_path / "file" / ".git").write_text(f"gitdir: {elsewhere}/.git\n")
        for name in ("link", "file"):
            assert git_trust.settings_for(str(tmp_path / name)) == ()

    def test_a_git_directory_of_a_third_one_is_not_vouched_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo = repos.make(tmp_path / "shop")
        monkeypatch.setattr(git_trust, "_may_run_us", lambda uid: uid == NOBODY)
        assert git_trust.settings_for(str(repo)) == ()


def test_a_repository_of_somebody_else_is_refused_with_what_helps(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    repo = repos.make(tmp_path / "shop")
    for path in (repo, repo / ".git"):
        os.chown(path, NOBODY, -1)
    with pytest.raises(GitError, match="dubious ownership") as refused:
        git(str(repo), "rev-parse", "--git-dir")
    assert f"safe.directory {repo}" in refused.value.remedy
