"""A repository of a person's with agents of another user: both work in it, and what git runs there is the person's."""

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.support.people import down, leave, rows, spec
from tests.lab.support.shared import remove_keeper_place, shared_server, system, tidy
from tests.lab.support.users import Result, User

BUILDER = User("agent-builder")
REPO = Path("/srv/git-of-the-lab/shop")
GIT = REPO / ".git"
TEAM = f"""
[team]
name = "shop"
repo = "{REPO}"
[agents.api]
command = ["sleep", "1000"]
[agents.builder]
command = ["sleep", "1000"]
run_as = "agent-builder"
"""
WHO = "-c user.name=x -c user.email=x@example.org"


@pytest.fixture(scope="module")
def one_server() -> Iterator[None]:
    """With a user for agents of ann's, made as the documentation says; her service manager is not started again."""
    system("useradd", "--create-home", "--shell", "/bin/bash", BUILDER.name)
    try:
        with shared_server(User("ann"), User("ben")):
            system("corral", "member", "add", BUILDER.name, "--role", "agent", "--of", "ann")
            BUILDER.systemctl("start", "dbus.service")
            yield
            system("loginctl", "disable-linger", BUILDER.name)
    finally:
        system("systemctl", "stop", f"user@{BUILDER.uid}.service", check=False)
        system("gpasswd", "--delete", "ann", BUILDER.name)
        system("userdel", "--remove", BUILDER.name)


@pytest.fixture
def server(one_server: None, ann: User, ben: User) -> Iterator[None]:
    system("install", "-d", "-m", "0755", str(REPO.parent))
    system("install", "-d", "-o", "ann", "-g", "ann", "-m", "0750", str(REPO))
    yield
    leave(ann, ben)
    BUILDER.systemctl("stop", "corral-keeper.service", check=False)
    system("rm", "-rf", f"{BUILDER.home}/.local", f"{BUILDER.runtime_dir}/corral-host", f"/srv/corral/{BUILDER.name}")
    remove_keeper_place(BUILDER)
    system("rm", "-rf", str(REPO.parent))
    tidy(ann, ben)


def made(ann: User, *words: str) -> None:
    """A repository of ann's, whose umask lets nobody see anything."""
    begin = f"git init --quiet {shlex.join(words)} . && git {WHO} commit --quiet --allow-empty --message begin"
    ann.run("sh", "-c", f"umask 077; cd {REPO} && {begin}")


def up(ann: User, *, check: bool = True) -> Result:
    return ann.run("corral", "up", "--json", cwd=spec(ann, "shop", TEAM), check=check)


def agent(ann: User, name: str, script: str, *, check: bool = True) -> Result:
    """Have an agent's shell do something."""
    return ann.run("corral", "exec", f"shop/{name}", "--", "sh", "-c", script, check=check)


def committed(ann: User, name: str, file: str) -> None:
    done = agent(ann, name, f"echo x >{file} && git add {file} && git {WHO} commit --quiet --message {file}")
    assert done.stdout + done.stderr == ""


def traces() -> dict[str, tuple[str, ...]]:
    """All of the repository's own directories and settings that have an ACL or a mode of their own."""
    found: dict[str, tuple[str, ...]] = {"config": ((GIT / "config").read_text(),)}
    for directory, _, files in os.walk(GIT):
        for path in (directory, *(os.path.join(directory, name) for name in files)):
            acls = tuple(name for name in os.listxattr(path) if name.startswith("system.posix_acl"))
            # What is made of commits stays, whoever made it, and is read by whoever owns the repository.
            if acls and not path.startswith(str(GIT / "objects")):
                found[path] = acls
    return found


def test_both_work_in_it_and_clean_up_in_it_whatever_their_umasks(server: None, ann: User) -> None:
    made(ann)
    before = traces()
    up(ann)
    for turn in ("one", "two"):
        committed(ann, "builder", turn)
        committed(ann, "api", turn)
        # She merges, and cleans up, in the middle of it.
        ann.run("git", "-C", str(REPO), *WHO.split(), "merge", "--quiet", "corral/shop/builder")
        assert "builder" not in ann.run("git", "-C", str(REPO), "worktree", "prune", "--dry-run", "-v").stdout
        ann.run("git", "-C", str(REPO), "gc", "--quiet")
        kept = ann.run("git", "-C", str(REPO), "branch", "-d", "corral/shop/builder", check=False)
        assert kept.returncode != 0, "somebody works on it"
        assert "error" not in ann.run("git", "-C", str(REPO), "fsck", "--no-dangling").stderr
    # A file of Corral's is hidden from git also where info/exclude is not its user's to change.
    hide = "from corral.adapters.git import exclude; exclude.exclude('.', 'ours.json')"
    agent(ann, "builder", f"/opt/corral-venv/bin/python -c {shlex.quote(hide)} && touch ours.json")
    assert agent(ann, "builder", "git status --porcelain; rm ours.json").stdout == ""
    ann.run("git", "-C", str(REPO), *WHO.split(), "merge", "--quiet", "corral/shop/api")
    receipt = down(ann, "shop")
    assert (receipt["clean"], receipt["kept"]) == (True, [])
    assert ann.run("git", "-C", str(REPO), "branch", "--list", "corral/*").stdout == ""
    assert traces() == before


@pytest.mark.parametrize(
    "deed",
    [
        f"echo '#!/bin/sh' >{GIT}/hooks/post-checkout",
        f"mv {GIT}/hooks {GIT}/hooks.away",
        f"git config --file {GIT}/config core.fsmonitor x",
        f"echo >>{GIT}/config",
        f"touch {GIT}/config.worktree",
        f"touch {GIT}/commondir",
        f"touch {GIT}/info/attributes",
        f"touch {GIT}/worktrees/api/config.worktree.new && mv {GIT}/worktrees/api/config.worktree.new "
        f"{GIT}/worktrees/api/config.worktree",
        f"mv {GIT}/worktrees/api {GIT}/worktrees/gone",
        f"git update-ref refs/heads/main $(git {WHO} commit-tree -m x HEAD^{{tree}})",
        f"git update-ref refs/heads/corral/shop/api $(git {WHO} commit-tree -m x HEAD^{{tree}})",
        f"rm -f {GIT}/objects/pack/*.pack && ! ls {GIT}/objects/pack/*.pack",
        f"mv {REPO}/.git {REPO}/away",
        f"ln -s /home/ann {GIT}/worktrees/evil",
        f"mkdir -p {GIT}/logs/refs/heads/corral/shop; ln -s /home/ann/.profile {GIT}/logs/refs/heads/corral/shop/web",
        f"echo x | git hash-object --stdin -w | git pack-objects --quiet {GIT}/objects/pack/pack",
        f"rmdir {GIT}/objects/0a && ln -s /home/ann {GIT}/objects/0a",
        f"rm -f {GIT}/corral-packed-refs/packed-refs",
        f"echo >>{GIT}/packed-refs",
    ],
)
def test_what_git_runs_and_what_is_hers_is_not_the_agents_to_change(server: None, ann: User, deed: str) -> None:
    made(ann)
    up(ann)
    ann.run("git", "-C", str(REPO), "gc", "--quiet")
    before = ann.run("git", "-C", str(REPO), "for-each-ref").stdout
    done = agent(ann, "builder", deed, check=False)
    assert done.returncode != 0, done.stdout + done.stderr
    assert ann.run("git", "-C", str(REPO), "for-each-ref").stdout == before
    assert down(ann, "shop")["clean"]


def test_a_repository_in_which_it_could_is_refused_and_the_remedy_helps(server: None, ann: User) -> None:
    system("install", "-d", "-o", "ann", "-g", BUILDER.name, "-m", "2770", str(REPO))
    made(ann, "--shared=group")
    done = up(ann, check=False)
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["code"]) == (4, "refused")
    assert "agent-builder can change" in error["message"]
    assert str(REPO) in error["message"]
    assert rows(ann) == []
    for command in (f"git -C {GIT} config --unset core.sharedRepository", f"chmod -R go-w {GIT}", f"chmod go-w {REPO}"):
        assert command in error["remedy"]
        ann.run("sh", "-c", command)
    up(ann)
    committed(ann, "builder", "one")
    assert down(ann, "shop", "--discard")["clean"]


def test_work_that_is_kept_stays_shared_until_it_is_gone(server: None, ann: User) -> None:
    made(ann)
    before = traces()
    up(ann)
    committed(ann, "builder", "one")
    receipt = down(ann, "shop")
    assert [kept["path"] for kept in receipt["kept"]] == [f"/srv/corral/{BUILDER.name}/shop/builder"]
    pruned = ann.run("git", "-C", str(REPO), "worktree", "prune", "--dry-run", "-v").stdout
    assert "builder" not in pruned, "she cannot see the directory"
    up(ann)
    committed(ann, "builder", "two")
    receipt = down(ann, "shop", "--discard")
    assert receipt["clean"]
    assert len(receipt["discarded"]) == 1
    assert ann.run("git", "-C", str(REPO), "branch", "--list", "corral/*").stdout == ""
    assert traces() == before
