"""The script of the hooks, run by a real shell: whom it asks, with which words, and what it does with the answer."""

import subprocess
from pathlib import Path

import pytest

from corral.adapters.git.hook_scripts import HOOKS, ONLY_IF_THEIRS, Hook, script
from tests.support import repos

_ODD = 'it\'s a "dir" $HOME `x` \\ é'

_STAND_IN = """#!/bin/sh
here=${0%/*}
{ printf '%s\\n' "$@"; cat; } >>"$here/asked"
exit "$(cat "$here/code")"
"""


class Stage:
    """A repository, a stand-in for Python that writes down its words and input, and the script under any name."""

    def __init__(self, directory: Path, *, unreachable: str = "deny") -> None:
        self.directory = directory / _ODD
        self.repo = repos.make(self.directory / "repo")
        self.asked = self.directory / "asked"
        python = self.directory / "python"
        python.write_text(_STAND_IN)
        python.chmod(0o755)
        self.answer(0)
        hook = Hook(
            python=str(python),
            library=f"/lib/{_ODD}",
            default=str(self.repo / ".git" / "hooks"),
            unreachable=unreachable,
            settings=(("home", _ODD), ("team", "shop")),
        )
        self.text = script(hook)

    def answer(self, code: int) -> None:
        (self.directory / "code").write_text(str(code))

    def theirs(self, name: str, text: str) -> None:
        hook = self.repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{text}\n")
        hook.chmod(0o755)

    def run(self, name: str, *words: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        path = self.directory / name
        path.write_text(self.text)
        path.chmod(0o755)
        return subprocess.run([path, *words], cwd=self.repo, input=said, capture_output=True, text=True, check=False)


def test_the_words_arrive_as_they_are(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    assert stage.run("pre-commit").returncode == 0
    words = stage.asked.read_text().splitlines()
    assert words[:3] == ["-I", "-S", "-c"]
    assert words[4:] == [f"/lib/{_ODD}", "pre-commit", f"home={_ODD}", "team=shop"]


@pytest.mark.parametrize(("code", "ends"), [(0, 5), (3, 1), (1, 1), (127, 1)])
def test_only_a_plain_yes_lets_the_persons_hook_run(tmp_path: Path, code: int, ends: int) -> None:
    stage = Stage(tmp_path)
    stage.theirs("pre-commit", "echo theirs; exit 5")
    stage.answer(code)
    done = stage.run("pre-commit")
    assert (done.returncode, done.stdout) == (ends, "theirs\n" if code == 0 else "")
    # A refusal was told by whoever refused; that there was no answer is told here.
    assert ("hook failed" in done.stderr) == (code in (1, 127))


def test_what_could_not_be_asked_passes_where_the_team_wants_that(tmp_path: Path) -> None:
    stage = Stage(tmp_path, unreachable="allow")
    stage.answer(1)
    done = stage.run("pre-commit")
    assert done.returncode == 0
    assert "NOT CHECKED" in done.stderr
    stage.answer(3)
    assert stage.run("pre-commit").returncode == 1


def test_nobody_is_asked_about_what_moves_nothing_of_interest(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    fetched = "0 1 refs/remotes/origin/main\n0 1 refs/notes/commits\n"
    heads = "0 1 HEAD\n0 1 refs/heads/main\n"
    assert stage.run("reference-transaction", "prepared", said=fetched).returncode == 0
    assert stage.run("reference-transaction", "committed", said=heads).returncode == 0
    assert stage.run("commit-msg", "FILE").returncode == 0
    assert not stage.asked.exists()
    assert stage.run("reference-transaction", "prepared", said=heads).returncode == 0
    assert stage.asked.read_text().endswith(heads)
    tag = "0 1 refs/tags/v1\n"
    assert stage.run("reference-transaction", "prepared", said=tag).returncode == 0
    assert stage.asked.read_text().endswith(tag)


def test_the_persons_hook_gets_the_same_input_and_words(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.theirs("reference-transaction", 'echo "$# $1"; cat; exit 6')
    said = "0 1 refs/heads/main\n0 1 refs/tags/$(x)\n"
    done = stage.run("reference-transaction", "prepared", said=said)
    assert (done.returncode, done.stdout) == (6, f"1 prepared\n{said}")
    stage.theirs("pre-push", 'printf "%s|" "$@"; cat')
    done = stage.run("pre-push", "origin", "a b", said="lines\n")
    assert (done.returncode, done.stdout) == (0, "origin|a b|lines\n")


def test_the_last_place_that_is_named_outside_of_the_worktree_counts(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    own = stage.repo / "my hooks"
    own.mkdir()
    (own / "commit-msg").write_text("#!/bin/sh\necho mine\n")
    (own / "commit-msg").chmod(0o755)
    repos.git(stage.repo, "config", "core.hooksPath", "my hooks")
    repos.git(stage.repo, "config", "extensions.worktreeConfig", "true")
    repos.git(stage.repo, "config", "--worktree", "core.hooksPath", "/ours")
    assert stage.run("commit-msg").stdout == "mine\n"


def test_every_kind_that_git_documents_is_there() -> None:
    documented = """applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg
    commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive
    post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate p4-changelist
    p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change""".split()
    assert sorted(documented) == sorted([*HOOKS, *ONLY_IF_THEIRS])
